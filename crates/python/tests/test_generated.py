"""What is generated is not stale, and the documentation's examples run."""

import ast
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import array_api_strict as strict
import pytest

import wootz

ROOT = pathlib.Path(__file__).parents[3]
TOOLS = pathlib.Path(__file__).parents[1] / "tools"
DOCS = ROOT / "docs"


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["_native.pyi", "_elementwise.pyi"])
def test_stubs_are_those_of_the_op_table(name):
    stubs = tool("stubs")
    (path, make), = [(path, make) for path, make in stubs.FILES.items() if path.name == name]
    made = make()
    ast.parse(made)
    assert path.read_text(encoding="utf-8") == made, "stale: run python crates/python/tools/stubs.py"


def test_the_coverage_page_is_not_stale():
    coverage = tool("coverage")
    assert coverage.PAGE.read_text(encoding="utf-8") == coverage.page(), "stale: run python crates/python/tools/coverage.py"


def test_the_coverage_page_knows_the_whole_standard_and_a_reason_for_each_gap():
    coverage = tool("coverage")
    names = {name for names in coverage.STANDARD.values() for name in names.split()}
    theirs = {name for name in strict.__all__ if not name.startswith("_")} | {f"linalg.{name}" for name in strict.linalg.__all__}
    other = {"Device", "ArrayAPIStrictFlags", "set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags", "ArrayAPIStrictDeprecationWarning", "linalg", "fft"}
    newer = {name for name in theirs - names - other}
    assert not {name for name in newer if name in ("abs", "add")} and all(reason for reason in coverage.missing().values())
    assert len(newer) <= 3, newer


def test_the_package_is_typed():
    assert (pathlib.Path(wootz.__file__).parent / "py.typed").exists()


PAGES = sorted(page.name for page in DOCS.glob("python*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_documentation_run(page, tmp_path):
    """Every block of Python, in order, in one program; blocks marked `no-run` are left out."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert blocks
    program = tmp_path / "examples.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    model = ROOT / "crates" / "llm" / "tests" / "golden" / "tiny-llama.model"
    environment = {**os.environ, "MODEL": str(model)}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr


def test_docstring_examples():
    import doctest

    import wootz.compute
    import wootz.softmetal

    for module in (wootz.compute, wootz.softmetal):
        assert doctest.testmod(module).failed == 0
