"""Imports point one way only. The rules are data; the checker is tried on wrong imports first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src" / "sfumato"

# A room may import only rooms above it.
ROOMS = (
    "visible", "errors", "limits", "kernels", "schema", "randomness", "counts", "datasets", "claims", "release",
    "ledger", "mechanisms", "reading", "measures", "attacks", "frontier", "commuting", "report", "reproduce", "api",
    "cli", "web",
)  # fmt: skip

# The package itself takes its names from every room, so only the surfaces may use it. `__version__` is a constant.
MAY_IMPORT_THE_PACKAGE = ("cli", "web", "__main__")
PACKAGE_CONSTANTS = ("__version__",)
ABOVE_ALL = ("__init__", "__main__")


@dataclass(frozen=True)
class Ban:
    """Modules under `importer` must not import anything under `banned`."""

    importer: str
    banned: tuple[str, ...]
    reason: str
    reaches: bool = False  # also through the modules it imports


BANS = (
    Ban(
        "release.verify",
        ("kernels", "mechanisms"),
        "a verifier must not share code with what it verifies",
        reaches=True,
    ),
    Ban("randomness", ("schema",), "randomness does not know what a schema is"),
    Ban("report", ("counts",), "what is printed never sees counts"),
    Ban("cli", ("counts", "web"), "parse, one verb, print"),
    Ban("web", ("counts", "cli"), "request, one verb, page"),
)

# Modules of mechanisms/ that every mechanism may import; others only where the first word of the name is the same
# (dirichlet.py and dirichlet_rules.py are one mechanism in several files).
SHARED_BY_MECHANISMS = {
    "base": "the protocol and the plan",
    "conditions": "a requirement as the kernels take it",
    "noisy_cells": "noise on every cell of a table whose cuts are public",
    "bucket_release": "from groups of exact rows to a release",
    "dirichlet": "the certified prior of the urn",
    "dirichlet_rules": "what a prior guarantees",
    "dirichlet_sample": "drawing from the urn",
    "dirichlet_shape": "public shapes of a prior",
    "dirichlet_shrink": "the prior on a shrunk domain",
    "dirichlet_tails": "bounds rounded outward",
    "linkability_model": "the population model that DLink and Mondrian's cuts ask",
    "partition": "cutting a table by the kernel",
    "people": "counting people where a person may have several rows",
    "partition_release": "from a partition to a release",
}
MAY_IMPORT_EVERY_MECHANISM = {
    "__init__": "the public face of the room",
    "registry": "the one list of mechanisms",
}


def modules() -> dict[str, str]:
    """Source text by dotted name below the package: `schema.tree`, `schema.__init__`, `errors`."""
    return {
        ".".join(path.relative_to(SRC).with_suffix("").parts): path.read_text("utf-8") for path in SRC.rglob("*.py")
    }


def imports(module: str, text: str) -> Iterator[tuple[str, int]]:
    """Every name below the package that a module imports, wherever in it, with its line; "" is the package itself."""
    package = ["sfumato", *module.split(".")][:-1]
    tree = ast.parse(text)
    used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "sfumato"}
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
            if found == ["sfumato"] and used and used <= set(PACKAGE_CONSTANTS):
                found = [f"sfumato.{name}" for name in used]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            found = [f"{home}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            found = [str(node.args[0].value)] if called in ("import_module", "__import__") else []
        for name in found:
            if name == "sfumato" or name.startswith("sfumato."):
                yield name.removeprefix("sfumato").removeprefix("."), node.lineno


def under(name: str, room: str) -> bool:
    return name == room or name.startswith(room + ".")


def wrong_directions(sources: dict[str, str]) -> list[str]:
    """Imports of a room below or beside one's own, and of the package by a room."""
    found = []
    for module, text in sources.items():
        room = module.split(".")[0]
        if room in ABOVE_ALL:
            continue
        if room not in ROOMS:
            found.append(f"{module}: {room} is not a room of the design")
            continue
        for name, line in imports(module, text):
            target = name.split(".")[0]
            if name == "" or target not in ROOMS:
                if target not in PACKAGE_CONSTANTS and room not in MAY_IMPORT_THE_PACKAGE:
                    found.append(f"{module}:{line} imports the package; import from the room that owns {name or 'it'}")
            elif target != room and ROOMS.index(target) >= ROOMS.index(room):
                found.append(f"{module}:{line} imports {name}; {target} does not stand above {room}")
    return found


def reached(module: str, sources: dict[str, str]) -> dict[str, str]:
    """Modules a module reaches through its imports, each with the module that imports it.

    `from room import name` reaches the whole room's `__init__` when python runs it; only what is used counts here,
    so the name is followed to the module that the `__init__` takes it from.
    """
    came_from: dict[str, str] = {}
    pending = [(module, module)]
    while pending:
        at, above = pending.pop()
        if at in came_from:
            continue
        came_from[at] = above
        pending += [(home, at) for name, _ in imports(at, sources[at]) for home in homes(name, sources)]
    return came_from


def homes(name: str, sources: dict[str, str]) -> list[str]:
    """The modules an imported name comes from."""
    if name in sources:
        return [name]
    if f"{name}.__init__" in sources:
        return [f"{name}.__init__"]
    above, _, last = name.rpartition(".")
    if above in sources:
        return [above]
    face = f"{above}.__init__"
    if face not in sources:
        return []
    given = [inner for inner, _ in imports(face, sources[face]) if inner.rpartition(".")[2] == last]
    return [home for inner in given for home in homes(inner, sources)] or [face]


def banned_imports(sources: dict[str, str], bans: tuple[Ban, ...] = BANS) -> list[str]:
    found = []
    for ban in bans:
        for module, text in sources.items():
            if not under(module.removesuffix(".__init__"), ban.importer):
                continue
            names = [name for name, _ in imports(module, text)]
            if ban.reaches:
                names += list(reached(module, sources))
            found += [
                f"{module} reaches {name}: {ban.reason}" for name in names for room in ban.banned if under(name, room)
            ]
    return sorted(set(found))


def mixed_mechanisms(sources: dict[str, str]) -> list[str]:
    """A mechanism that sees another mechanism."""
    found = []
    for module, text in sources.items():
        room, _, own = module.partition(".")
        if room != "mechanisms" or own in MAY_IMPORT_EVERY_MECHANISM:
            continue
        for name, line in imports(module, text):
            parts = name.split(".")
            if parts[0] != "mechanisms":
                continue
            other = parts[1] if len(parts) > 1 else "__init__"
            if f"mechanisms.{other}" not in sources:
                other = "__init__"
            if other not in SHARED_BY_MECHANISMS and other.split("_")[0] != own.split("_")[0]:
                found.append(f"{module}:{line} imports {name}: a mechanism sees no other (take it as a value)")
    return found


def test_there_is_something_to_check():
    assert {"errors", "schema.tree", "claims.__init__"} <= set(modules())


def test_a_room_imports_only_rooms_above_it():
    assert wrong_directions(modules()) == []


def test_bans_are_kept():
    assert banned_imports(modules()) == []


def test_mechanisms_do_not_see_each_other():
    assert mixed_mechanisms(modules()) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("kernels.sweep", "import numpy\nfrom sfumato.schema import Tree"),
        ("schema.tree", "def f():\n    from sfumato.counts.table import Table"),
        ("schema.tree", "def f():\n    import sfumato.counts"),
        ("schema.tree", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sfumato.release import Release"),
        ("schema.tree", "from ..counts import Table"),
        ("schema.tree", "from .. import counts"),
        ("schema.tree", "from importlib import import_module\nx = import_module('sfumato.counts')"),
        ("measures.loss", "from sfumato.attacks import linkage"),
        ("api", "from sfumato.cli.main import main"),
        ("schema.tree", "import sfumato as sf"),
        ("schema.tree", "import sfumato\nx = sfumato.__version__, sfumato.Release"),
        ("schema.tree", "from sfumato import Release"),
        ("cellar.rats", "x = 1"),
    ],
)
def test_a_wrong_direction_is_caught(module, text):
    assert len(wrong_directions({module: text})) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "schema.tree",
            "from sfumato.errors import Problem\nfrom . import domain\nfrom .domain import Grid\nimport sfumatology",
        ),
        ("cli.main", "import sfumato as sf\nfrom sfumato.claims import Claim"),
        ("release.manifest", "from sfumato import __version__"),
        ("release.manifest", "import sfumato\nx = sfumato.__version__"),
        ("api", "from sfumato.pages import explain"),
    ],
)
def test_a_right_direction_is_not(module, text):
    assert wrong_directions({module: text}) == []


def test_wrong_bans_are_caught_also_two_steps_away():
    sources = {
        "release.verify": "from sfumato.release import examine",
        "release.__init__": "from sfumato.release.check_classes import examine",
        "release.examine": "def f():\n    from sfumato.commuting.urn_kernel import draw",
        "kernels.urn": "",
        "report.page": "from sfumato.counts import Table",
        "cli.check": "import sfumato.counts.table",
        "randomness.choice": "from sfumato.schema.tree import Tree",
    }
    found = banned_imports(sources)
    assert [line.split(" ")[0] for line in found] == ["cli.check", "randomness.choice", "release.verify", "report.page"]
    emptied = dict.fromkeys(("release.examine", "report.page", "cli.check", "randomness.choice"), "")
    assert banned_imports({**sources, **emptied}) == []


def test_a_mechanism_that_sees_another_is_caught():
    sources = {
        "mechanisms.__init__": "from sfumato.mechanisms.mondrian.mondrian import Mondrian",
        "mechanisms.base": "",
        "mechanisms.mondrian": "from sfumato.mechanisms import base\nfrom sfumato.mechanisms.mondrian_rules import x",
        "mechanisms.mondrian_rules": "",
        "mechanisms.dlink": "from sfumato.mechanisms.mondrian.mondrian import Mondrian\nfrom sfumato.mechanisms import Raw",
    }
    assert [line.split(" ")[0] for line in mixed_mechanisms(sources)] == ["mechanisms.dlink:1", "mechanisms.dlink:2"]
