"""llama.cpp as a peer of `wootz bench`: language models."""

import os
import pathlib
import sys

# This folder has the library's name, so it must not be on the path; the one above has the protocol.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import llama_cpp  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from protocol import serve  # noqa: E402

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
loaded = {}


def prepare(op, _, extra):
    if op not in ("prefill", "decode"):
        return None
    path, tokens = extra["model"], extra["tokens"]
    if path not in loaded:
        loaded.clear()
        loaded[path] = llama_cpp.Llama(
            path, n_ctx=512, n_batch=512, n_threads=THREADS, n_threads_batch=THREADS, logits_all=False, verbose=False
        )
    llama = loaded[path]

    def run():
        llama.reset()
        if op == "prefill":
            llama.eval(tokens)
        else:
            for token in tokens:
                llama.eval([token])

    return run


serve(f"llama.cpp by llama-cpp-python {llama_cpp.__version__}", prepare)
