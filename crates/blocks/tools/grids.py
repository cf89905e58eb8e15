"""Writes src/formats/grid_points.rs from the tables of the `gguf` package (needs gguf and numpy)."""
import pathlib

import numpy as np
from gguf import quants

DOC = """//! The points of the grids, packed: value `i` of a point is a code of `BITS` bits, the first in the lowest bits.
//! Written by `tools/grids.py`.

"""
GRIDS = [("IQ1", "IQ1_S", 2), ("IQ2_XXS", "IQ2_XXS", 2), ("IQ2_XS", "IQ2_XS", 2), ("IQ2_S", "IQ2_S", 2),
         ("IQ3_XXS", "IQ3_XXS", 3), ("IQ3_S", "IQ3_S", 3)]

out = DOC
for name, source, bits in GRIDS:
    kind = getattr(quants, source)
    kind.init_grid()
    values = kind.grid.reshape(kind.grid_shape)
    codes = np.searchsorted(np.array(kind.grid_map, np.float32), values)
    packed = (codes << (bits * np.arange(values.shape[1]))).sum(axis=1)
    out += f"#[rustfmt::skip]\npub(super) const {name}: [u16; {len(packed)}] = [\n"
    for row in range(0, len(packed), 14):
        out += "    " + " ".join(f"0x{p:x}," for p in packed[row:row + 14]) + "\n"
    out += "];\n\n"
pathlib.Path(__file__).parents[1].joinpath("src/formats/grid_points.rs").write_text(out.rstrip() + "\n")
