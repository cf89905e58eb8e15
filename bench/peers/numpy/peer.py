"""NumPy as a peer of `wootz bench`: one command per line of JSON, one answer per line."""

import json
import sys
import time

import numpy as np


def main():
    function, names = None, {}
    for line in sys.stdin:
        command = json.loads(line)
        if "hello" in command:
            answer = {"version": np.__version__}
        elif "prepare" in command:
            case = command["prepare"]
            inputs = [np.load(path) for path in case["inputs"]]
            names = dict(zip("xy", inputs), np=np)
            function = eval(compile("lambda: " + case["numpy"], case["name"], "eval"), names)
            function()
            answer = {"ready": True}
        else:
            repeats = command["turn"]
            function()  # not timed: threads wake up, caches fill
            begin = time.perf_counter()
            for _ in range(repeats):
                function()
            answer = {"seconds": (time.perf_counter() - begin) / repeats}
        print(json.dumps(answer), flush=True)


main()
