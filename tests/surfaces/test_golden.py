"""What is published, printed and computed is what it was when the golden files were made (see tests/golden/make.py)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sfumato as sf

MAKER = Path(__file__).resolve().parents[1] / "golden" / "make.py"


def _maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_make", MAKER)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _maker()


@pytest.mark.parametrize("name", make.CASES)
def test_golden(name: str) -> None:
    found = make.difference(name)
    assert not found, (
        f"{name} is no longer what was stored. If that is meant: python tests/golden/make.py {name}\n{found}"
    )


def test_nothing_is_stored_that_no_case_makes() -> None:
    held = {path.parent.relative_to(make.HERE).as_posix() for path in make.HERE.rglob("*") if path.is_file()}
    assert held - {".", "__pycache__"} == set(make.CASES)


def test_everything_that_can_be_explained_has_a_golden_file() -> None:
    """Every mechanism, requirement, guarantee, measure and attack: a new one is named here until it has a case."""
    mechanisms = {name.split(".")[0] for name in make.MADE}
    promised = {promise["json"]["kind"] for promise in json.loads(make.stored("requirements")["promises.json"])}
    measured = set(json.loads(make.stored("measures/mondrian")["measures.json"]))
    raw = json.loads(make.stored("releases/raw")["facts.json"])["claim"]["promise"]["kind"]
    names = set(make.explained())
    assert len(names) > 30
    assert names - {"schema", "against", raw} - promised == mechanisms | measured | set(sf.attacks.REGISTRY)


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("releases/mondrian", "data.csv", "flu", "pox"),
        ("releases/mondrian", "manifest.json", '"cut": "best"', '"cuts": "best"'),
        ("releases/mondrian", "manifest.json", '\n  "format"', '\n "format"'),
        ("releases/noisy-table", "manifest.json", '"epsilon": 8', '"epsilon": 9'),
        ("requirements", "promises.json", '"3/20"', '"3/2"'),
    ],
)
def test_a_small_change_is_seen(name: str, file: str, old: str, new: str) -> None:
    made = make.stored(name)
    assert old in made[file]
    assert make.difference(name, made) == ""
    found = make.difference(name, made | {file: made[file].replace(old, new, 1)})
    assert f"stored/{name}/{file}" in found
    assert sum(line.startswith(("+", "-")) for line in found.splitlines()) >= 4


def test_last_digits_may_differ_and_no_others() -> None:
    name, file = "measures/mondrian", "measures.json"
    data = json.loads(make.stored(name)[file])

    def times(factor: float) -> str:
        other = json.loads(json.dumps(data))
        other["utility_loss"]["value"] *= factor
        return make.difference(name, {file: make.as_json(other)})

    assert times(1 + 1e-12) == ""
    assert "utility" not in times(1)
    assert times(1 + 1e-6) != ""
