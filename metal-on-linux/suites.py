"""What scripts that run other projects' suites on the framework share: findings, expectations, and rows of the table in the docs."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs/metal-on-linux.md"
EXPECTED = pathlib.Path(__file__).resolve().parent / "expected"


def reports(text):
    """Distinct findings of the framework, and how often each was said; addresses and numbers do not tell findings apart."""
    lines = re.findall(r"metal host: .*", text)
    return collections.Counter(re.sub(r"0x[0-9a-f]+|\b\d+\b", "N", line) for line in lines)


def say_reports(found):
    for line, count in found.most_common(20):
        print(f"  {count} × {line}")


def read_expected(name):
    """The rows of a file of expectations: a first word or quoted case, and what it is expected to do."""
    rows = {}
    for line in (EXPECTED / name).read_text().splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition(" | ")
            rows[key] = value
    return rows


def write_expected(name, rows):
    """Replaces the rows of a file, whose comments at the head stay."""
    path = EXPECTED / name
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    path.write_text("\n".join(head + [f"{key} | {value}" for key, value in rows.items()]) + "\n")


def table_row(script, key, cells, write):
    """Puts a row into the docs' table, or says that the row there is another one. The first cell begins with `key`; None is what
    the docs have."""
    text = DOCS.read_text()
    (old,) = [line for line in text.splitlines() if line.startswith(f"| {key} ")]
    there = old.strip("| ").split(" | ")
    row = "| " + " | ".join(was if cell is None else str(cell) for cell, was in zip(cells, there, strict=True)) + " |"
    print(f"{script}: {row}")
    if old == row:
        return True
    if write:
        DOCS.write_text(text.replace(old, row))
        return True
    print(f"{script}: the docs say {old}; --write changes them", file=sys.stderr)
    return False
