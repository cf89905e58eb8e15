"""Golden dequantisation with the `gguf` package.

make.py        rewrites the golden files beside this script
make.py DIR    dequantises each file DIR/FORMAT to 32-bit floats in DIR/FORMAT.f32
"""
import pathlib
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

FORMATS = ("F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4 "
           "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S TQ1_0 TQ2_0 NVFP4 Q1_0").split()
# Byte offsets of the half-precision fields, which get finite values in the golden blocks.
HALVES = dict(F16=[0], BF16=[], Q4_0=[0], Q4_1=[0, 2], Q5_0=[0], Q5_1=[0, 2], Q8_0=[0], Q2_K=[80, 82],
              Q3_K=[108], Q4_K=[0, 2], Q5_K=[0, 2], Q6_K=[208], IQ4_NL=[0], IQ4_XS=[0], IQ1_S=[0], IQ2_XXS=[0], IQ2_XS=[0],
              IQ2_S=[0], IQ3_XXS=[0], IQ3_S=[0], TQ1_0=[52], TQ2_0=[64], Q1_0=[0])


def q1_0(raw):
    """The package has the size of Q1_0 and does not read it: the bits are signs of one scale."""
    blocks = raw.reshape(-1, 18)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    return np.where(np.unpackbits(blocks[:, 2:], axis=1, bitorder="little") == 1, scale, -scale)


def convert(name, raw):
    if name == "Q1_0":
        return q1_0(raw)
    kind = GGMLQuantizationType[name]
    with np.errstate(all="ignore"):
        return dequantize(raw.reshape(-1, GGML_QUANT_SIZES[kind][1]), kind).astype(np.float32)


def golden(name, rng):
    size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
    count = 3 if size > 40 else 8
    raw = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for at in HALVES.get(name, []):
        values = rng.standard_normal(count).astype(np.float16)
        values[0], values[1] = -0.0, 6e-8  # a signed zero and a subnormal
        raw[:, at:at + 2] = values.view(np.uint8).reshape(count, 2)
    if name == "F32":
        raw = rng.standard_normal((count, 1)).astype(np.float32).view(np.uint8)
    if name == "BF16":
        raw[:, 1] &= 0xBF  # exponents below infinity
    return raw


if len(sys.argv) == 2:
    for name in FORMATS:
        path = pathlib.Path(sys.argv[1], name)
        convert(name, np.fromfile(path, np.uint8)).tofile(path.with_suffix(".f32"))
else:
    rng = np.random.default_rng(3)
    for name in FORMATS:
        raw = golden(name, rng)
        path = pathlib.Path(__file__).with_name(name.lower() + ".bin")
        path.write_bytes(raw.tobytes() + convert(name, raw).tobytes())
