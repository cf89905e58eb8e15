"""Teacher-forced logits of Wootz and llama.cpp on the same model files.

parity.py WOOTZ TEXT MODEL.gguf [MODEL.gguf ...]

WOOTZ is the `wootz` command, TEXT a file of at least 256 tokens. What is compared depends on how llama.cpp was built:

- As it is by default, it rounds activations to 8 bits before quantised products, in another way than Wootz does by default.
  It is compared with itself too, reading the tokens one by one instead of all at once: sums in another order differ
  in their last bits, now and then that moves an activation to the next of its codes, and layers carry it on. No two programs
  that round agree better than that.
- With BLAS it multiplies decoded weights by floats, and `wootz` has to give the same logits:

      CMAKE_ARGS="-DGGML_BLAS=ON -DGGML_BLAS_VENDOR=OpenBLAS -DGGML_CPU_REPACK=OFF" \\
          pip install --no-binary llama-cpp-python llama-cpp-python

  Without BLAS the same is had from a copy of the file whose weights are decoded to floats, which `--decoded` makes (needs gguf).

`--reference` compares both with NumPy too, for the families that `reference.py` has, and lists the positions where Wootz differs
most, with the closest choice of an expert there or before.
"""
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

POSITIONS = 256  # or as many as the model was made for

arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
program, text, *models = arguments
text = open(text, encoding="utf-8").read()


def decoded(path, folder):
    """A copy of a model whose weights are floats."""
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

    reader = GGUFReader(path)
    target = pathlib.Path(folder) / "decoded.gguf"
    writer = GGUFWriter(target, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        sub_type = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(key, field.contents(), field.types[0], sub_type)
    for tensor in reader.tensors:
        shape = [int(extent) for extent in reversed(tensor.shape)]
        writer.add_tensor(tensor.name, quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(target)


def theirs(path, batch=512):
    # Floats everywhere, keys and values too, where weights are.
    cache = dict(type_k=0, type_v=0, flash_attn=False) if "--decoded" in sys.argv else {}
    llama = llama_cpp.Llama(path, n_ctx=512, n_batch=batch, n_threads=2, logits_all=True, verbose=False, **cache)
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
    """Prints how much two programs differ, and returns the divergence at each position."""
    a, b = log_softmax(x), log_softmax(y)
    divergence = (np.exp(a) * (a - b)).sum(-1)
    same = (a.argmax(-1) == b.argmax(-1)).mean()
    print(f"  {name:32} same top-1 {same:.2%}   mean KL {divergence.mean():.1e}   median {np.median(divergence):.1e}"
          f"   max {divergence.max():.1e}")
    return divergence


def judge(path, tokens, theirs, ours):
    """Compares both programs with NumPy."""
    import reference

    expected, margins = reference.logits(path, tokens)
    compare("NumPy, llama.cpp", expected, theirs)
    divergence = compare("NumPy, wootz", expected, ours)
    for position in np.argsort(-divergence)[:4]:
        if divergence[position] > 20 * np.median(divergence) and np.isfinite(margins).all():
            print(f"    position {position}: KL {divergence[position]:.1e}, closest choice of an expert {margins[position]:.1e}"
                  f" there, {margins[: position + 1].min():.1e} up to there")
    print(f"    median of the closest choices {np.median(margins):.1e}")


has_blas = any(pathlib.Path(llama_cpp.__file__).parent.glob("lib/*ggml-blas*"))
print(f"llama-cpp-python {llama_cpp.__version__}, {'with' if has_blas else 'without'} BLAS")
for model in models:
    if "--decoded" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            tokens, expected = theirs(decoded(model, folder))
        print(f"{pathlib.Path(model).name}, {len(tokens)} positions")
        got = ours(model, tokens, "--cache", "f32")
        compare("llama.cpp (floats), wootz", expected, got)
        if "--reference" in sys.argv:
            judge(model, tokens, expected, got)
        continue
    tokens, expected = theirs(model)
    print(f"{pathlib.Path(model).name}, {len(tokens)} positions")
    compare("llama.cpp, wootz", expected, ours(model, tokens))
    compare("llama.cpp, wootz --fast", expected, ours(model, tokens, "--fast"))
    if not has_blas:
        compare("llama.cpp, llama.cpp one by one", expected, theirs(model, batch=1)[1])
