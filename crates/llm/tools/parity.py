"""Teacher-forced logits of Wootz and llama.cpp on the same model files.

parity.py WOOTZ TEXT MODEL.gguf [MODEL.gguf ...]

WOOTZ is the `wootz` command, TEXT a file of at least 256 tokens. What is compared depends on how llama.cpp was built:

- As it is by default, it rounds activations to 8 bits before quantised products, in another way than Wootz does by default.
  It is compared with itself too, reading the tokens one by one instead of all at once: sums in another order differ
  in their last bits, now and then that moves an activation to the next of its codes, and layers carry it on. No two programs
  that round agree better than that.
- With BLAS it multiplies decoded weights by floats, and `wootz --precise` has to say the same:

      CMAKE_ARGS="-DGGML_BLAS=ON -DGGML_BLAS_VENDOR=OpenBLAS -DGGML_CPU_REPACK=OFF" \\
          pip install --no-binary llama-cpp-python llama-cpp-python
"""
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

POSITIONS = 256  # or as many as the model was made for

program, text, *models = sys.argv[1:]
text = open(text, encoding="utf-8").read()


def theirs(path, batch=512):
    llama = llama_cpp.Llama(path, n_ctx=512, n_batch=batch, n_threads=2, logits_all=True, verbose=False)
    tokens = llama.tokenize(text.encode(), add_bos=True, special=False)[: min(POSITIONS, llama._model.n_ctx_train())]
    llama.eval(tokens)
    scores = np.array(llama.scores[: len(tokens)], np.float64)
    llama.close()
    return tokens, scores


def ours(path, tokens, *flags):
    with tempfile.NamedTemporaryFile(suffix=".npy") as out:
        ids = ",".join(map(str, tokens))
        command = [program, "logits", "-m", path, "--device", "cpu", "--tokens", ids, "--out", out.name, *flags]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return np.load(out.name).astype(np.float64)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def compare(name, x, y):
    a, b = log_softmax(x), log_softmax(y)
    divergence = (np.exp(a) * (a - b)).sum(-1)
    same = (a.argmax(-1) == b.argmax(-1)).mean()
    print(f"  {name:32} same top-1 {same:.2%}   mean KL {divergence.mean():.1e}   max KL {divergence.max():.1e}")


has_blas = any(pathlib.Path(llama_cpp.__file__).parent.glob("lib/*ggml-blas*"))
print(f"llama-cpp-python {llama_cpp.__version__}, {'with' if has_blas else 'without'} BLAS")
for model in models:
    tokens, expected = theirs(model)
    print(f"{pathlib.Path(model).name}, {len(tokens)} positions")
    compare("llama.cpp, wootz --precise", expected, ours(model, tokens, "--precise"))
    compare("llama.cpp, wootz", expected, ours(model, tokens))
    if not has_blas:
        compare("llama.cpp, llama.cpp one by one", expected, theirs(model, batch=1)[1])
