"""Names, sizes and leftovers that the house does not have."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "sfumato"

BANNED_WORDS = ("utils", "util", "helpers", "helper", "common", "misc", "aux", "manager", "v2")
LARGEST = 900  # a module is a concept, not a size; beyond this it must say why it is one
LONG_BECAUSE = re.compile(r"\b(long|lines|one file)\b", re.IGNORECASE)  # how a docstring says why it is above the limit

# Texts that must not stand in a file that is published: where we work, and where packages are fetched from.
SECRETS = {
    "a path of this machine": re.compile("/" + r"(?:work|home/\w+|Users/\w+|root)" + "/"),
    "a folder beside the repository": re.compile(
        r"(?<![\w.\"'/])" + "shared/" + r"(?:data|design|theory|house|papers|anchors)"
    ),
    "a registry address": re.compile(r"https?://[^\s\"']*(?:simple/?\b|artifactory|nexus|:\d{4,5}/)", re.IGNORECASE),
    "a library of the workshop": re.compile(r"\." + "library" + r"\b"),
}
TODO = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!\s*\(?#\d+)")
TEXT_ENDINGS = {
    ".py",
    ".md",
    ".toml",
    ".txt",
    ".cfg",
    ".yml",
    ".yaml",
    ".json",
    ".sh",
    ".html",
    ".css",
    ".js",
    ".csv",
    "",
}
# Files that must name what others may not.
MAY_NAME = {"tests/house/test_names.py"}


def published_files() -> list[Path]:
    """Files git tracks or would track; without git, all files outside hidden and build folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {"build", "dist", "__pycache__", "_build"}
        paths = [
            p for p in ROOT.rglob("*") if not any(x in skipped or x.startswith(".") for x in p.relative_to(ROOT).parts)
        ]
    return sorted(path for path in paths if path.is_file() and path.suffix in TEXT_ENDINGS)


def banned_names(text: str, stem: str) -> list[str]:
    """Banned words in the name of a module, its classes and its functions."""
    tree = ast.parse(text)
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = [stem, *(node.name for node in ast.walk(tree) if isinstance(node, kinds))]
    words = {name: re.findall(r"v\d+|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name) for name in names}
    bad = [name for name in names if any(word.lower() in BANNED_WORDS for word in words[name])]
    return bad + [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and re.match("_?Base[A-Z]|Base$", node.name)
    ]


def too_long(text: str) -> bool:
    """True for more lines than the house takes without a reason in the docstring."""
    if len(text.splitlines()) <= LARGEST:
        return False
    return not LONG_BECAUSE.search(ast.get_docstring(ast.parse(text)) or "")


PYTHON = sorted([*SRC.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])


def test_no_banned_names():
    found = {path.relative_to(ROOT).as_posix(): banned_names(path.read_text("utf-8"), path.stem) for path in PYTHON}
    assert {name: bad for name, bad in found.items() if bad} == {}, "say what it is"


def test_no_banned_folders():
    folders = {parent.name for path in PYTHON for parent in path.relative_to(ROOT).parents}
    assert folders & set(BANNED_WORDS) == set()


def test_no_file_is_too_long():
    found = [path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py") if too_long(path.read_text("utf-8"))]
    assert found == [], f"more than {LARGEST} lines: make it two, or say why not"


def defined_twice(texts: dict[str, str]) -> dict[str, list[str]]:
    """Public classes and named types that two modules define under one name: name -> modules."""
    found: dict[str, list[str]] = {}
    for module, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_type(node):
                found.setdefault(node.targets[0].id, []).append(module)
    return {name: places for name, places in found.items() if len(places) > 1 and not name.startswith("_")}


def _is_type(node: ast.Assign) -> bool:
    """Whether a name in CamelCase is given to a type; a `TypeVar` means nothing outside its module."""
    name, value = node.targets[0].id, node.value
    made = isinstance(value, ast.Call)
    return bool(re.fullmatch("[A-Z][a-z]+([A-Z][a-z]*)*", name)) and not made


def one_letter_apart(names: list[str]) -> list[tuple[str, str]]:
    """Pairs of module names that differ by one letter more: `distance` and `distances`."""
    return [
        (a, b)
        for a in names
        for b in names
        if len(b) == len(a) + 1 and any(b[:i] + b[i + 1 :] == a for i in range(len(b)))
    ]


def test_no_two_public_classes_have_one_name():
    found = defined_twice({path.relative_to(SRC).as_posix(): path.read_text("utf-8") for path in SRC.rglob("*.py")})
    assert found == {}, "one word, one meaning: say in the name which it is"


def test_no_files_of_a_folder_are_one_letter_apart():
    folders = {path.parent for path in SRC.rglob("*.py")}
    found = {folder.name: one_letter_apart([path.stem for path in folder.glob("*.py")]) for folder in folders}
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


def test_a_second_class_of_one_name_is_caught():
    both = {"a.py": "class Cells: ...", "b.py": "Cells = dict[int, int]\nclass _Own: ...", "c.py": "class _Own: ..."}
    assert defined_twice(both) == {"Cells": ["a.py", "b.py"]}
    assert defined_twice({"a.py": "class Cells: ...", "b.py": "T = TypeVar('T')\nCELLS = 3"}) == {}
    assert one_letter_apart(["distance", "distances", "build"]) == [("distance", "distances")]


def test_no_leftovers_without_an_issue():
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in published_files()
        if path.relative_to(ROOT).as_posix() not in MAY_NAME and path.suffix in {".py", ".toml", ".md", ".sh"}
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if TODO.search(line)
    ]
    assert found == [], "write TODO(#12), or do it"


def test_nothing_published_names_our_machine():
    found = [
        f"{path.relative_to(ROOT)}:{number}: {what}"
        for path in published_files()
        if path.relative_to(ROOT).as_posix() not in MAY_NAME
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        for what, pattern in SECRETS.items()
        if pattern.search(line)
    ]
    assert found == []


def test_there_is_something_to_check():
    files = {path.relative_to(ROOT).as_posix() for path in published_files()}
    assert {"pyproject.toml", "src/sfumato/errors.py", "tests/house/test_names.py"} <= files


@pytest.mark.parametrize(
    ("text", "stem"),
    [("", "utils"), ("", "csv_helpers"), ("", "scores_v2"), ("class BaseMechanism: ...", "x"), ("class Base: ...", "x"),
     ("class LedgerManager: ...", "x"), ("def common_part(): ...", "x"), ("def aux(): ...", "x")],
)  # fmt: skip
def test_banned_names_are_caught(text, stem):
    assert banned_names(text, stem) != []


@pytest.mark.parametrize(
    "name", ["baseline", "Baselines", "auxiliary", "managed", "commonly", "miscount", "Basement", "base"]
)
def test_names_that_only_sound_alike_are_not(name):
    assert banned_names(f"class {name}: ...", name) == []


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "work/main/src",
        "open('/" + "home/ann/x.csv')",
        "described in shared" + "/design.md",
        "--index" + "-url https:" + "//pypi.internal.example:8443/" + "simple",
        "https://repo.example/" + "artifactory/api/pypi",
        "taken from ." + "library/search",
    ],
)
def test_machine_paths_and_addresses_are_caught(line):
    assert any(pattern.search(line) for pattern in SECRETS.values())


@pytest.mark.parametrize(
    "line",
    [
        "https://arxiv.org/abs/2010.12603",
        "parents[2].parent / 'shared' / 'data'",
        "a framework/library",
        "https://docs.python.org/3/",
    ],
)
def test_harmless_lines_are_not(line):
    assert not any(pattern.search(line) for pattern in SECRETS.values())


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("# TODO later", True),
        ("# FIXME: x", True),
        ("XXX", True),
        ("# TODO(#12) later", False),
        ("# TODO #12", False),
        ("toDo", False),
    ],
)
def test_leftovers_are_caught(line, caught):
    assert bool(TODO.search(line)) is caught


def test_a_long_file_is_caught():
    assert too_long('"""What it is."""\n' + "x = 1\n" * LARGEST)
    assert not too_long('"""What it is. Long because the tables stand here."""\n' + "x = 1\n" * LARGEST)
    assert not too_long("x = 1\n" * LARGEST)
