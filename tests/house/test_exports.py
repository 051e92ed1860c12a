"""What is public is listed, and what is listed exists."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import sfumato

SRC = Path(__file__).resolve().parents[2] / "src" / "sfumato"
FILES = sorted(path for path in SRC.rglob("*.py"))
# Files that are run, not imported.
RUN_ONLY = {"__main__.py": "python -m sfumato"}


def public_names(tree: ast.Module) -> list[str]:
    """Functions, classes and constants that a module defines without an underscore."""
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in found if not name.startswith("_")]


def exported(tree: ast.Module) -> list[str] | None:
    """The literal `__all__` of a module, None without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if (
                any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)
                and node.value is not None
            ):
                try:
                    return list(ast.literal_eval(node.value))
                except ValueError:
                    return []  # computed: the importing test looks at it
    return None


def available(tree: ast.Module) -> set[str]:
    """Names bound at the top level of a module, imports and branches included."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def faults(text: str, beside: set[str] = frozenset()) -> list[str]:
    """What is wrong with the exports of a source; `beside` names the modules of its folder."""
    tree = ast.parse(text)
    names = exported(tree)
    if names is None:
        return [f"no __all__, but it defines {', '.join(public_names(tree))}"] if public_names(tree) else []
    lazy = "__getattr__" in available(tree)
    absent = [] if lazy else sorted(set(names) - available(tree) - beside)
    twice = sorted({name for name in names if names.count(name) > 1})
    return [f"__all__ names {name}, which is not there" for name in absent] + [
        f"__all__ names {n} twice" for n in twice
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_each_module_lists_what_it_offers(path):
    if path.name in RUN_ONLY:
        return
    beside = {other.stem for other in path.parent.iterdir()} if path.name == "__init__.py" else set()
    assert faults(path.read_text("utf-8"), beside) == [], path


ROOMS = sorted(path.parent.name for path in SRC.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_each_name_a_room_offers_can_be_had(room):
    module = import_module(f"sfumato.{room}")
    assert [name for name in getattr(module, "__all__", []) if not hasattr(module, name)] == []


def test_the_package_lists_its_names_sorted_once_and_all_can_be_had():
    names = list(sfumato.__all__)
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(sfumato, name)] == []


def test_the_package_shows_what_it_lists_and_no_more():
    assert {name for name in dir(sfumato) if not name.startswith("_")} == {
        n for n in sfumato.__all__ if not n.startswith("_")
    }


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = sfumato.no_such_name


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def f(): ...", "no __all__, but it defines f"),
        ("LIMIT = 3", "no __all__, but it defines LIMIT"),
        ("__all__ = ['f', 'g']\ndef f(): ...", "__all__ names g, which is not there"),
        ("__all__ = ['f', 'f']\ndef f(): ...", "__all__ names f twice"),
    ],
)
def test_wrong_exports_are_caught(text, fault):
    assert faults(text) == [fault]


@pytest.mark.parametrize(
    "text", ["def _f(): ...", "__all__: list[str] = []", "__all__ = ['f']\nfrom x import f", "'''Doc.'''"]
)
def test_right_exports_are_not(text):
    assert faults(text) == []
