"""Teacher-forced logits of Wootz and llama.cpp on the same model file, against the same weights as floats.

parity.py MODEL.gguf MODEL-F32.gguf WOOTZ TEXT [POSITIONS]

WOOTZ is the `wootz` command; MODEL-F32.gguf is `wootz quantize MODEL.gguf MODEL-F32.gguf --type f32`, the same weights
without blocks. llama.cpp on that file rounds no activations, so it stands for the truth: both programs round activations
to 8 bits on the quantised file, each in its own way, and the question is who is nearer to it. llama.cpp is also compared with
itself, reading the tokens one by one instead of all at once: sums in another order differ in their last bits, now and then that
moves an activation to the next of its 8-bit codes, and layers carry it on. No two programs agree better than that.
"""
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

model, floats, program, text = sys.argv[1:5]
count = int(sys.argv[5]) if len(sys.argv) > 5 else 256
text = open(text, encoding="utf-8").read()


def theirs(path, batch=512):
    llama = llama_cpp.Llama(path, n_ctx=512, n_batch=batch, n_threads=2, logits_all=True, verbose=False)
    tokens = llama.tokenize(text.encode(), add_bos=True, special=False)[:count]
    llama.eval(tokens)
    scores = np.array(llama.scores[: len(tokens)], np.float64)
    llama.close()
    return tokens, scores


def ours(path, tokens):
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        ids = ",".join(map(str, tokens))
        command = [program, "logits", "-m", path, "--tokens", ids, "--out", out.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return np.load(out.name).astype(np.float64)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def compare(name, x, y):
    a, b = log_softmax(x), log_softmax(y)
    divergence = (np.exp(a) * (a - b)).sum(-1)
    same = (a.argmax(-1) == b.argmax(-1)).mean()
    print(f"{name:34} same top-1 {same:.4f}   mean KL {divergence.mean():.2e}   max KL {divergence.max():.2e}")


tokens, quantised = theirs(model)
_, truth = theirs(floats)
print(f"{len(tokens)} positions")
compare("floats: llama.cpp, wootz", truth, ours(floats, tokens))
wootz = ours(model, tokens)
compare("truth, llama.cpp quantised", truth, quantised)
compare("truth, wootz quantised", truth, wootz)
compare("llama.cpp quantised, wootz quantised", quantised, wootz)
compare("llama.cpp quantised, one by one", quantised, theirs(model, batch=1)[1])
