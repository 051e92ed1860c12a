"""A small table with something to hide, for sweeps that take moments; how Hypothesis runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import sfumato as sf
from sfumato.counts import Table
from sfumato.schema import Schema

# A machine that does other work would fail a test for being slow; speed is measured in benchmarks/.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")

SHARE, FEWEST = 4, 8  # the ordinary tier tries a quarter of a test's random cases, and no fewer than these


def pytest_collection_modifyitems(config, items):
    """`make test` leaves most random cases, and most cells of slow grids, to `make claims`."""
    if config.getoption("markexpr") != "not full":
        return
    for item in items:
        function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
        given = getattr(function, "_hypothesis_internal_use_settings", None)
        if given is not None and not hasattr(function, "all_cases"):
            fewer = max(min(given.max_examples, FEWEST), given.max_examples // SHARE)
            function._hypothesis_internal_use_settings = settings(given, max_examples=fewer)
            function.all_cases = given.max_examples
    left = cells_left_out(items)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]


def cells_left_out(items):
    """Return the cells of grids that are not among the few which `cells` asks for: these are spread evenly."""
    grids = {}
    for item in items:
        if item.get_closest_marker("cells") and not item.get_closest_marker("full"):
            grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = []
    for cells in grids.values():
        few = min(cells[0].get_closest_marker("cells").args[0], len(cells))
        chosen = {at * len(cells) // few for at in range(few)}
        left += [cell for at, cell in enumerate(cells) if at not in chosen]
    return left


CLINIC = """
name = "clinic"
source = "public"

[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 60]
step = 1

[attribute.town]
role = "quasi"
kind = "nominal"
hierarchy = { North = ["a", "b"], South = ["c", "d"] }

[attribute.ill]
role = "sensitive"
kind = "nominal"
values = ["flu", "cold", "asthma", "gout"]
"""

ILLS = ("flu", "cold", "asthma", "gout")


def clinic_codes(seed, rows):
    rng = np.random.default_rng(seed)
    age, town = rng.integers(0, 40, rows), rng.integers(0, 4, rows)
    ill = np.where(rng.random(rows) < 0.5, (age // 10 + town) % 4, rng.integers(0, 4, rows))
    return np.column_stack([age, town, ill])


@pytest.fixture(scope="session")
def public_data():
    """Find public data that the repository does not ship; a test that needs it is skipped where it is not there."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"

    def find(name, what):
        if not (folder / name).exists():
            pytest.skip(f"{what}: public data that this repository does not ship; {name} is not beside the checkout")
        return folder / name

    return find


@pytest.fixture(scope="session")
def clinic_files(tmp_path_factory):
    """The table and its schema as a steward has them: (data.csv, schema.toml)."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "clinic.toml").write_text(CLINIC)
    lines = [f"{20 + age},{'abcd'[town]},{ILLS[ill]}" for age, town, ill in clinic_codes(3, 600)]
    (folder / "clinic.csv").write_text("\n".join(["age,town,ill", *lines]) + "\n")
    return folder / "clinic.csv", folder / "clinic.toml"


@pytest.fixture(scope="session")
def clinic(clinic_files):
    return Table.from_codes(Schema.load(clinic_files[1]), clinic_codes(3, 600))


@pytest.fixture(scope="session")
def another_clinic(clinic):
    return Table.from_codes(clinic.schema, clinic_codes(11, 500))


@pytest.fixture(scope="session")
def clinic_front(clinic):
    """Generalization, buckets, noise and a method that cannot be applied, with everything a report shows."""
    points = sf.sweep(
        sf.sweep(sf.Mondrian, k=[5, 20, 60, 5000]),
        sf.sweep(sf.Mondrian, sf.Bucketize, t=["0.03", "0.1"]),
        sf.sweep(sf.DiffGen, epsilon=["0.5", 2]),
        sf.Suppress(),
    )
    return sf.frontier(clinic, points, workers=0, repeats=3, progress=False)
