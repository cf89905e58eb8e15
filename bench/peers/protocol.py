"""The protocol of peers: one command per line of JSON, one answer per line. README.md beside describes it."""

import json
import sys
import time


def warm(function):
    """Runs it untimed, at least once: threads wake up and spread over the cores, caches fill."""
    end = time.perf_counter() + 0.01
    function()
    while time.perf_counter() < end:
        function()


def serve(version, prepare):
    """`prepare(op, inputs, extra)` returns a function to time, or None when the library does not have the operation."""
    function = None
    # What a library prints must not end up between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            command = json.loads(line)
            if "hello" in command:
                answer = {"version": version}
            elif "prepare" in command:
                case = command["prepare"]
                function = prepare(case["op"], case["inputs"], case["extra"])
                answer = {"ready": function is not None}
            else:
                repeats = command["turn"]
                warm(function)
                begin = time.perf_counter()
                for _ in range(repeats):
                    function()
                answer = {"seconds": (time.perf_counter() - begin) / repeats}
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
