"""The package offers what it lists, with real types: a wrong call does not pass a strict type checker."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "sfumato"
PACKAGES = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))

GOOD = """
import sfumato as sf

table: sf.Table = sf.read("patients.csv", sf.Schema.load("patients.toml"))
release: sf.Release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2")), seed=3)
verdict: sf.Verdict = sf.verify("out/")
release.save("out/")
"""
WRONG = {
    "sf.publish(1, 2, sead=3)": 'Unexpected keyword argument "sead"',
    "sf.publish('table', sf.Raw())": 'Argument 1 to "publish"',
    "sf.Mondrian(sf.KAnonymity(10), cut='wide')": 'Argument "cut" to "Mondrian"',
    "sf.KAnonymity(10, 20)": "Too many arguments",
    "sf.no_such_name": 'has no attribute "no_such_name"',
    "sf.verify('out/').held": 'has no attribute "held"',
}


def said_of(text: str, folder: Path) -> str:
    """What `mypy --strict` says of a program that uses the package."""
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), str(program)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def test_a_type_checker_accepts_right_calls_and_refuses_wrong_ones(tmp_path):
    wrong = "".join(f"{line}\n" for line in WRONG)
    said = said_of(GOOD + wrong, tmp_path)
    first = GOOD.count("\n") + 1
    for number, (line, fault) in enumerate(WRONG.items(), first):
        assert f"program.py:{number}: error: " in said, f"{line} passes"
        assert any(fault in found for found in said.splitlines() if f"program.py:{number}:" in found), said
    assert [found for found in said.splitlines() if re.search(r":(\d+): error", found) and _line(found) < first] == []


def _line(found: str) -> int:
    return int(re.findall(r":(\d+): error", found)[0])


def test_what_a_type_checker_reads_is_what_is_imported():
    tree = ast.parse((SRC / "__init__.py").read_text("utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING")
    typed = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == {**sfumato._WHERE, **dict.fromkeys(sfumato._PACKAGES, "sfumato")}


def test_names_are_listed_once_and_all_can_be_had():
    names = list(sfumato.__all__)
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(sfumato, name)] == []
    assert {name for name in dir(sfumato) if not name.startswith("_")} == {n for n in names if not n.startswith("_")}


def test_a_verb_stays_a_verb_when_every_package_is_imported():
    for package in PACKAGES:
        import_module(f"sfumato.{package}")
    assert [name for name in sfumato._WHERE if type(getattr(sfumato, name)) is type(sfumato)] == []


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sfumato.no_such_name


@pytest.mark.parametrize("package", PACKAGES)
def test_each_name_a_package_offers_can_be_had(package):
    module = import_module(f"sfumato.{package}")
    assert [name for name in getattr(module, "__all__", []) if not hasattr(module, name)] == []
