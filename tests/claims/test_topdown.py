"""TopDown: every class has k, the search equals a slow one, a forgetful mutant is caught."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms.topdown import class_gain

SMALL = {
    "name": "small",
    "source": "public",
    "attribute": {
        "a": {"role": "quasi", "kind": "numeric", "range": [0, 6]},
        "b": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2", "y3"]}},
        "y": {"role": "target", "values": ["no", "yes"]},
    },
}
ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 1)), min_size=4, max_size=50)


def table(rows: list[tuple[int, ...]]) -> Table:
    return Table.from_codes(sf.Schema.parse(SMALL), np.array(rows))


def entropy(counts: list[int]) -> float:
    total = sum(counts)
    return -sum(c / total * math.log2(c / total) for c in counts if c)


def gain(rows: list[tuple[int, ...]], at: int, children: list[tuple[int, int]]) -> float:
    parts = [[row[2] for row in rows if low <= row[at] < high] for low, high in children]
    whole = [label for part in parts for label in part]
    if not whole:
        return 0.0
    before = entropy(list(Counter(whole).values()))
    return before - sum(len(part) / len(whole) * entropy(list(Counter(part).values())) for part in parts if part)


def slow_cut(rows: list[tuple[int, ...]], k: int) -> list[list[tuple[int, int]]]:
    """Everything recomputed from the rows at every step."""
    tree = {(0, 5): [(0, 2), (2, 5)], (0, 2): [(0, 1), (1, 2)], (2, 5): [(2, 3), (3, 4), (4, 5)]}
    cuts = [[(0, 6)], [(0, 5)]]

    def children(at: int, node: tuple[int, int]) -> list[tuple[int, int]]:
        if at == 1:
            return tree.get(node, [])
        splits = [[(node[0], s), (s, node[1])] for s in range(node[0] + 1, node[1])]
        gains = [gain(rows, 0, split) for split in splits]
        return next((s for s, g in zip(splits, gains, strict=True) if g > max(gains) - 1e-12), [])

    def smallest(trial: list[list[tuple[int, int]]]) -> int:
        label = [next(n for n in trial[at] if n[0] <= row[at] < n[1]) for row in rows for at in (0, 1)]
        return min(Counter(zip(label[::2], label[1::2], strict=True)).values())

    while True:
        best = None
        for at, node in [(which, known) for which in (0, 1) for known in sorted(cuts[which])]:
            parts = children(at, node)
            trial = [list(c) for c in cuts]
            trial[at] = [n for n in trial[at] if n != node] + parts
            if len(parts) < 2 or smallest(trial) < k or gain(rows, at, parts) <= 1e-12:
                continue
            score = gain(rows, at, parts) / (smallest(cuts) - smallest(trial) + 1)
            if best is None or score > best[0] + 1e-12:
                best = (score, trial)
        if best is None:
            return [sorted(c) for c in cuts]
        cuts = best[1]


@settings(max_examples=80)
@given(rows=ROWS, k=st.integers(1, 5))
def test_the_cut_equals_a_slow_search(rows: list[tuple[int, ...]], k: int) -> None:
    if len(rows) < k:
        return
    release = sf.publish(table(rows), sf.TopDown(k), allow_void=True)
    found = [[labels.intervals(i)[0] for i in range(len(labels))] for labels in release.boxes.tables]
    assert found == slow_cut(rows, k)


@settings(max_examples=80)
@given(rows=ROWS, k=st.integers(1, 12))
def test_every_class_has_k(rows: list[tuple[int, ...]], k: int) -> None:
    if len(rows) < k:
        with pytest.raises(sf.Infeasible):
            sf.publish(table(rows), sf.TopDown(k), allow_void=True)
        return
    assert sf.publish(table(rows), sf.TopDown(k), allow_void=True).groups.weight.min() >= k


def test_a_mutant_that_forgets_the_small_classes_is_caught(tmp_path: Path) -> None:
    rows = list(itertools.product(range(6), range(5), (0, 1)))
    release = sf.publish(table([*rows, (0, 0, 1)]), sf.TopDown(2))
    mutant = replace(release, claim=sf.TopDown(50).claim(release.schema))
    mutant.save(tmp_path / "out")
    assert not sf.verify(tmp_path / "out").holds


def test_on_adult_the_cuts_are_public_and_apply(tmp_path: Path) -> None:
    adult = sf.datasets.adult("train").with_roles(sensitive=[])
    release = sf.publish(adult, sf.TopDown(5))
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds
    assert release.summary().classes > 20
    again = sf.apply(release, adult)
    assert again.sort(again.columns).equals(release.frame())


def test_gain_of_the_diffgen_example() -> None:
    assert class_gain(np.array([[4, 3], [0, 1]])) == pytest.approx(1 - 7 / 8 * entropy([4, 3]))
    assert class_gain(np.zeros((2, 2))) == 0.0
