"""Every package that the project installs is pinned, and what its pages embed is named in NOTICE."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def pinned() -> dict[str, str]:
    """Exact versions of constraints.txt."""
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line.strip()]
    found = [re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s=<>~!*]+)", line) for line in lines]
    assert all(found), "each line is name==version"
    return {canonicalize_name(match[1]): match[2] for match in found if match}


def needed(requirement: Requirement, extras: frozenset[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}) | {""})


def closure() -> set[str]:
    """Names of all distributions that `.[test]` installs here, found by what each one requires."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    own, extras = canonicalize_name(project["name"]), project["optional-dependencies"]
    pending = [Requirement(text) for text in [*project["dependencies"], *extras["test"]]]
    found: set[tuple[str, frozenset[str]]] = set()
    while pending:
        asked = pending.pop()
        name, wanted = canonicalize_name(asked.name), frozenset(asked.extras)
        if name == own:
            pending += [Requirement(text) for extra in wanted for text in extras[extra]]
            continue
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        required = [Requirement(text) for text in metadata.requires(name) or ()]
        pending += [one for one in required if needed(one, wanted)]
    return {name for name, _ in found}


def test_every_installed_package_is_pinned():
    """Item 12: a package that is not pinned may be another one tomorrow."""
    known = pinned()
    installed = closure()
    assert {"numpy", "click", "joblib", "markupsafe", "pluggy"} <= installed, "the closure reaches what is indirect"
    assert sorted(installed - set(known)) == []


def test_constraints_are_sorted_and_name_a_package_once():
    names = [line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text("utf-8").split()]
    assert names == sorted(set(names), key=lambda name: name.replace("_", "-")) or names == sorted(set(names))


def test_notice_names_what_pages_embed():
    import vl_convert

    answer = (ROOT / "NOTICE").read_text("utf-8")
    for name in ("Vega", "Vega-Lite", "Vega-Embed", "D3", "vl-convert"):
        assert re.search(rf"^  {re.escape(name)}\b", answer, re.MULTILINE), name
    assert vl_convert.get_vega_version() in answer
    assert vl_convert.get_vega_embed_version() in answer
    assert vl_convert.get_vegalite_versions()[-1] in answer
    assert vl_convert.__version__.partition(".post")[0] in answer
