"""The map in CONTRIBUTING leads where it says: every file of it exists, and defines the names beside it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "sfumato"
_PLACE = re.compile(r"`([\w/]+\.py)`(?:: ((?:`\w+`(?:, | and )?)+))?")


def places(text: str) -> list[tuple[str, list[str]]]:
    """Files in a table of the map, each with the names said to be in it."""
    return [(file, re.findall(r"`(\w+)`", names)) for file, names in _PLACE.findall(text)]


def defined(path: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)}


def test_every_answer_is_where_the_map_says():
    map_text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Questions")[1].split("\n## ")[0]
    found = places(map_text)
    assert len(found) >= 10
    wrong = [f"{file}: {name}" for file, names in found for name in names if name not in defined(SRC / file)]
    assert wrong == []


def test_every_package_is_in_the_map():
    listed = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Where things live")[1].split("\n## ")[0]
    packages = [path.parent.name for path in SRC.glob("*/__init__.py")]
    files = [path.name for path in SRC.glob("*.py") if path.name not in ("__init__.py", "__main__.py", "version.py")]
    assert [name for name in (*packages, *files) if f"`{name}`" not in listed] == []


def test_a_wrong_answer_is_seen():
    text = "| a | `io/decode_cell.py`: `code_of`, `no_such_name`; `errors.py` |"
    assert places(text) == [("io/decode_cell.py", ["code_of", "no_such_name"]), ("errors.py", [])]


_FILE = re.compile(r"(?<![\w/.*{\"])((?:[\w-]+/)*[\w-]+\.(?:py|md))\b(?!\.)")
WRITTEN = {"dictionary.md"}  # by a release


def lost_files(text: str, here: Path) -> list[str]:
    """Files that a source names and that are neither in the repository, nor in the package, nor beside it."""
    found = set(_FILE.findall(text)) - WRITTEN
    return sorted(name for name in found if not any((place / name).exists() for place in (ROOT, SRC, here)))


def test_every_file_that_the_source_names_exists():
    found = {
        path.relative_to(SRC).as_posix(): lost_files(path.read_text("utf-8"), path.parent) for path in SRC.rglob("*.py")
    }
    assert {name: lost for name, lost in found.items() if lost} == {}


def test_a_lost_file_is_seen():
    text = "# see reading/estimate.py, docs/limits.md, schema/tree.py and `tree.py`\n_PAGE = 'page.md.j2'"
    assert lost_files(text, SRC / "schema") == ["reading/estimate.py"]
