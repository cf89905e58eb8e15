"""The macOS wheel of MLX: its metallib, which Apple's compiler made, and the headers that it was made from.

It is downloaded by pip into a cache folder, and neither installed nor committed.
"""
import pathlib, subprocess, sys, zipfile
import fetch


def folder() -> pathlib.Path:
    """The unpacked wheel. Raises where pip cannot get it."""
    place = fetch.CACHE / "mlx-metal"
    if not (place / "mlx/lib/mlx.metallib").exists():
        place.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--platform", "macosx_15_0_arm64", "--only-binary=:all:"]
        subprocess.run([*pip, "--dest", str(place), "mlx-metal"], check=True)
        wheel = next(place.glob("mlx_metal-*.whl"))
        with zipfile.ZipFile(wheel) as z:
            z.extractall(place, [n for n in z.namelist() if n.endswith(("mlx.metallib", ".h"))])
    return place


def metallib() -> pathlib.Path:
    return folder() / "mlx/lib/mlx.metallib"


def include() -> pathlib.Path:
    return folder() / "mlx/include"
