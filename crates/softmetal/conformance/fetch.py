"""Finds the Metal sources of two public packages: downloaded into a cache folder, never committed."""
import io, json, os, pathlib, re, subprocess, tarfile, urllib.parse, urllib.request

CACHE = pathlib.Path(os.environ.get("SOFTMETAL_CONFORMANCE", pathlib.Path.home() / ".cache/softmetal-conformance"))


def candle() -> pathlib.Path:
    """The .metal files of the `candle-metal-kernels` crate, through cargo's own registry cache."""
    scratch = CACHE / "candle"
    (scratch / "src").mkdir(parents=True, exist_ok=True)
    (scratch / "Cargo.toml").write_text('[package]\nname = "scratch"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n[dependencies]\ncandle-metal-kernels = "*"\n')
    (scratch / "src/main.rs").write_text("fn main() {}\n")
    out = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=scratch, capture_output=True, text=True, check=True)
    package = next(p for p in json.loads(out.stdout)["packages"] if p["name"] == "candle-metal-kernels")
    return pathlib.Path(package["manifest_path"]).parent / "src/metal_src"


def package_index() -> str:
    """The index that pip itself would ask."""
    from pip._internal.models.index import PyPI

    return os.environ.get("PIP_INDEX_URL", PyPI.simple_url).rstrip("/")


def llama(version: str) -> pathlib.Path:
    """ggml's Metal folder in a source package of `llama-cpp-python`; version "" is the newest."""
    folder = CACHE / ("llama-" + (version or "newest"))
    if not folder.exists():
        index = package_index() + "/llama-cpp-python/"
        page = urllib.request.urlopen(index, timeout=120).read().decode()
        links = re.findall(r'href="([^"#]+/llama_cpp_python-([0-9.]+)\.tar\.gz)', page)
        newest = max(links, key=lambda l: [int(n) for n in l[1].split(".")])
        link = next((l for l in links if l[1] == version), newest)[0]
        data = urllib.request.urlopen(urllib.parse.urljoin(index, link), timeout=600).read()
        with tarfile.open(fileobj=io.BytesIO(data)) as t:
            wanted = [m for m in t.getmembers() if re.search(r"/ggml/src/(ggml-metal/|ggml-common\.h|ggml-impl\.h)", m.name)]
            t.extractall(folder, members=wanted, filter="data")
    return next(folder.glob("**/ggml-metal"))
