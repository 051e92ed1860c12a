"""Whole rows downcoded: the law by enumeration, Cohen's construction, planted tables, mutants."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import DowncodingRows, Knowledge, downcoding as module
from sfumato.attacks.downcoding import at_least, best_rows, parts_of
from sfumato.counts import Table
from sfumato.schema import Labels, Schema

EVERYTHING = Knowledge()
COLUMNS, CLUSTERS, CORE, RIM = 6, 40, 3, 5


def tree():
    """Clusters, each with a core of three values and a rim of five."""
    return {
        f"c{at}": {
            f"core{at}": [f"c{at}-{v}" for v in range(CORE)],
            f"rim{at}": [f"c{at}-{CORE + v}" for v in range(RIM)],
        }
        for at in range(CLUSTERS)
    }


COHEN = Schema.parse(
    {
        "name": "cohen",
        "source": "public",
        "attribute": {f"x{at}": {"role": "quasi", "kind": "nominal", "hierarchy": tree()} for at in range(COLUMNS)},
    }
)
WIDTH = CORE + RIM


def construction(seed, people, outliers, clusters=CLUSTERS):
    """Clusters of people in the core of every column, of whom `outliers` lie in the rim of every column."""
    rng = np.random.default_rng(seed)
    rows = []
    for cluster in range(clusters):
        for person in range(people):
            far = person < outliers
            values = rng.integers(CORE, WIDTH, COLUMNS) if far else rng.integers(0, CORE, COLUMNS)
            rows.append(cluster * WIDTH + values)
    return np.array(rows)


def minimal(rows, people):
    """Generalize each cluster as little as a hierarchy allows: the release of any minimal k-anonymizer here."""
    labels = []
    for start in range(0, len(rows), people):
        block = rows[start : start + people]
        cluster = block[0, 0] // WIDTH
        inside = block % WIDTH < CORE
        label = [f"core{cluster}" if c.all() else f"rim{cluster}" if not c.any() else f"c{cluster}" for c in inside.T]
        alike = (block == block[0]).all(axis=0)
        label = [f"c{cluster}-{block[0, at] % WIDTH}" if alike[at] else text for at, text in enumerate(label)]
        labels += [label] * people
    return sf.Release.read(pl.DataFrame({f"x{at}": [row[at] for row in labels] for at in range(COLUMNS)}), COHEN)


def drawn_alike(seed, many):
    """The law of the construction: somebody is an outlier in every column, or in none."""
    rng = np.random.default_rng(seed)
    far = rng.random(many) < 0.05
    values = np.where(far[:, None], rng.integers(CORE, WIDTH, (many, COLUMNS)), rng.integers(0, CORE, (many, COLUMNS)))
    return Table.from_codes(COHEN, rng.integers(0, CLUSTERS, many)[:, None] * WIDTH + values)


def test_succeeds_on_cohens_construction():
    """Four people in the core, one beyond it in all columns: every row is narrowed rightly, all columns together."""
    rows = construction(1, 5, 1)
    table = Table.from_codes(COHEN, rows)
    release = minimal(rows, 5)
    assert release.groups.weight.tolist() == [5] * CLUSTERS
    knows = Knowledge(population=drawn_alike(2, 20_000))
    found = DowncodingRows().run([release], knows, table, drawn_alike(3, 20_000))
    assert found.targets.rate == 1.0
    assert found.details["classes right as a whole"] == CLUSTERS
    assert 0.8 < found.controls.rate < 0.9
    assert found.value > 0.1
    assert found.interval[0] > 0
    assert found.better_than_baseline
    # Whoever takes columns for independent writes rows that nobody has.
    alone = DowncodingRows().run([release], EVERYTHING, table)
    assert alone.targets.rate < 0.5


def test_planted_tables():
    # Labels wider than they must be: what is said to be there is not.
    rows = construction(4, 5, 0)
    wide = pl.DataFrame({f"x{at}": [f"c{row[at] // WIDTH}" for row in rows] for at in range(COLUMNS)})
    release = sf.Release.read(wide, COHEN)
    found = DowncodingRows().run([release], EVERYTHING, Table.from_codes(COHEN, rows))
    assert not found.better_than_baseline
    # Two people apart in one column: minimality says that there is one of each.
    pairs = construction(5, 2, 1)
    pairs[:, 1:] = pairs[:, 1:] // WIDTH * WIDTH
    sure = DowncodingRows().run([minimal(pairs, 2)], EVERYTHING, Table.from_codes(COHEN, pairs))
    assert sure.targets.rate == 1.0
    # Exact values have nothing to narrow.
    assert not DowncodingRows().fits(sf.publish(Table.from_codes(COHEN, rows), sf.Raw()))


def small_parts(*kinds):
    """Parts of an interval of three values, and of a node with children of one value and of two."""
    schema = Schema.parse(
        {
            "name": "small",
            "source": "public",
            "attribute": {
                "n": {"role": "quasi", "kind": "numeric", "range": [0, 20], "step": 1},
                "h": {
                    "role": "quasi",
                    "kind": "nominal",
                    "hierarchy": {"p": {"q": ["a"], "r": ["b", "c"]}, "s": ["d"]},
                },
            },
        }
    )
    codes = {"interval": ("n", (3, 6)), "pair": ("n", (3, 5)), "node": ("h", (0, 3))}
    found = []
    for kind in kinds:
        name, label = codes[kind]
        found.append(parts_of(Labels.from_sets(schema[name], [(label,)])[0], 0))
    return found


def keeps(parts, world):
    """Whether every column of a world keeps its rule: no broken set of parts holds all of it."""
    for at, one in enumerate(parts):
        here = {cell[at] for cell in world}
        if any(here <= set(np.flatnonzero(rule)) for rule in one.rules[1:]):
            return False
    return True


@pytest.mark.parametrize(
    ("kinds", "people"),
    [(["node"], 2), (["interval"], 3), (["pair", "node"], 3), (["interval", "node"], 3), (["node", "node"], 4)],
)
@pytest.mark.parametrize("even", [True, False])
def test_the_law_equals_all_worlds(kinds, people, even):
    parts = small_parts(*kinds)
    shape = tuple(len(one.size) for one in parts)
    rng = np.random.default_rng(len(kinds) + people)
    law = np.full(shape, 1 / np.prod(shape)) if even else rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    cells = list(product(*(range(many) for many in shape)))
    total, counted = 0.0, np.zeros((len(cells), people + 1))
    for world in product(cells, repeat=people):
        chance = float(np.prod([law[cell] for cell in world]))
        if keeps(parts, world):
            total += chance
            for at, cell in enumerate(cells):
                counted[at, world.count(cell)] += chance
    expected = np.cumsum(counted[:, :0:-1] / total, axis=1)[:, ::-1]
    found = at_least(law, parts, people)
    assert found == pytest.approx(expected, abs=1e-12)
    # The rows given are the best of all ways to give them.
    best = max(
        sum(expected[at, :times].sum() for at, times in enumerate(np.bincount(given, minlength=len(cells))))
        for given in product(range(len(cells)), repeat=people)
    )
    chosen = best_rows(found, people)
    assert sum(expected[at, :times].sum() for at, times in enumerate(chosen)) == pytest.approx(best)


def test_rules_are_those_of_minimal_labels():
    interval, pair, node = small_parts("interval", "pair", "node")
    assert interval.size.tolist() == [1, 1, 1]
    assert [keeps([interval], world) for world in ([(0,), (2,)], [(0,), (1,)], [(1,), (1,)])] == [True, False, False]
    assert [keeps([pair], world) for world in ([(0,), (1,)], [(0,), (0,)])] == [True, False]
    assert node.size.tolist() == [1, 2]
    assert [keeps([node], world) for world in ([(0,), (1,)], [(1,), (1,)])] == [True, False]


MUTANTS = {
    "knows nothing of minimality": ("at_least", lambda _: lambda law, _, people: module._plain(law, people)),
    "gives rows at random": ("best_rows", lambda real: lambda chances, people: real(chances[::-1], people)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch):
    what, broken = MUTANTS[name]
    monkeypatch.setattr(module, what, broken(getattr(module, what)))
    with pytest.raises(AssertionError):
        test_succeeds_on_cohens_construction()


def test_rows_of_classes_that_are_not_worked_out_are_not_spoken_of():
    """Two rows of a small class are narrowed; the forty of a large one are not tried, and the rate is not theirs."""
    schema = Schema.parse({"name": "t", "source": "public", "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 40], "step": 1}}})  # fmt: skip
    ages = [0, 3, *(10 + at % 20 for at in range(40))]
    table = Table.from_codes(schema, np.array(ages)[:, None])
    release = sf.Release.read(pl.DataFrame({"age": ["0-3"] * 2 + ["10-29"] * 40}), schema)
    found = DowncodingRows().run([release], EVERYTHING, table)
    assert found.targets.trials == 2 < table.rows
    assert "in the table" not in found.sentence
