"""The suite cannot shrink unnoticed. Tests are counted by reading, so a file that fails to import counts too."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

from tests.conftest import cells_left_out

TESTS = Path(__file__).resolve().parents[1]
AT_LEAST = 500  # test functions, not cases; raise it as the suite grows
ROOMS = ("unit", "claims", "house", "surfaces")


def names_of(text: str) -> list[str]:
    """Names of the test functions in a source, those of test classes included."""
    bodies = [(ast.parse(text).body, "")]
    found = []
    while bodies:
        body, prefix = bodies.pop()
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found.append(prefix + node.name)
            elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                bodies.append((node.body, f"{node.name}."))
    return found


def files() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def test_at_least_as_many_tests_as_recorded():
    count = sum(len(names_of(path.read_text("utf-8"))) for path in files())
    assert count >= AT_LEAST, f"{count} test functions, {AT_LEAST} were recorded: where have they gone?"


def test_every_test_file_holds_a_test():
    assert [path.name for path in files() if not names_of(path.read_text("utf-8"))] == []


def test_no_two_tests_of_a_file_share_a_name():
    """The second would silently replace the first."""
    found = {}
    for path in files():
        names = names_of(path.read_text("utf-8"))
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            found[path.name] = twice
    assert found == {}


def test_file_names_are_unique_and_stand_in_one_of_four_rooms():
    names = [path.name for path in files()]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    assert {path.relative_to(TESTS).parts[0] for path in files()} <= set(ROOMS)
    assert list(TESTS.rglob("__init__.py")) == []


def test_counting():
    text = (
        "def test_a(): ...\ndef check(): ...\nclass TestB:\n    def test_c(self): ...\nclass C:\n    def test_d(): ..."
    )
    assert names_of(text) == ["test_a", "TestB.test_c"]


class Cell:
    """A stand-in for a collected test."""

    def __init__(self, nodeid: str, **markers: tuple[int, ...]) -> None:
        self.nodeid, self.markers = nodeid, markers

    def get_closest_marker(self, name: str) -> SimpleNamespace | None:
        return SimpleNamespace(args=self.markers[name]) if name in self.markers else None


def test_a_slow_grid_keeps_a_few_cells_spread_evenly():
    grid = [Cell(f"test_a[{at}]", cells=(3,)) for at in range(10)]
    long = [Cell("test_a[long]", cells=(3,), full=())]  # left out by its own mark
    others = [Cell("test_b[1]"), Cell("test_c", cells=(1,))]
    left = cells_left_out([*grid, *long, *others])
    assert [cell.nodeid for cell in grid if cell not in left] == ["test_a[0]", "test_a[3]", "test_a[6]"]
    assert set(left) <= set(grid)
