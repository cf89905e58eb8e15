"""The protocol of peers: one command per line of JSON, one answer per line. README.md beside describes it."""

import json
import sys
import time


def serve(version, pause_ms, prepare):
    """`prepare(op, inputs, extra)` returns a function to time, or None when the library does not have the operation."""
    function = None
    # What a library prints must not end up between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            command = json.loads(line)
            if "hello" in command:
                answer = {"version": version, "pause_ms": pause_ms}
            elif "prepare" in command:
                case = command["prepare"]
                function = prepare(case["op"], case["inputs"], case["extra"])
                answer = {"ready": function is not None}
            else:
                repeats = command["turn"]
                function()  # not timed: threads wake up, caches fill
                begin = time.perf_counter()
                for _ in range(repeats):
                    function()
                answer = {"seconds": (time.perf_counter() - begin) / repeats}
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
