"""The merge loop of dLink against a search of all pairs, on named shapes and on any classes hypothesis finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.oracles.compiled import distance_between
from tests.oracles.merging import join_labels, unite_reference

from sfumato.kernels.dlink.merging import GONE, JoinAxis, UnitedClasses, join_rules, new_index, unite
from sfumato.kernels.dlink.score import CELLS, EXACT, INDEPENDENT, OWN, Link

QUIET = settings(max_examples=60, suppress_health_check=list(HealthCheck))
TREE = JoinAxis(
    7,
    missing=True,
    nodes=(
        (0, 7, -1, 1.0),
        (0, 3, 0, 0.5),
        (0, 1, 1, 0.0),
        (1, 2, 1, 0.0),
        (2, 3, 1, 0.0),
        (3, 6, 0, 0.5),
        (3, 4, 5, 0.0),
        (4, 5, 5, 0.0),
        (5, 6, 5, 0.0),
        (6, 7, 0, 0.0),
    ),
)
AXES = (TREE, JoinAxis(12), JoinAxis(5, missing=True), JoinAxis(1))


def a_link(axes, *, d=2, alpha=0.6, n=60.0, source=INDEPENDENT, values=4, rows=200, seed=0) -> Link:
    rng = np.random.default_rng(seed)
    prefix = [np.concatenate([[0], np.cumsum(rng.dirichlet(np.ones(axis.size)))]) for axis in axes]
    for sums in prefix:
        sums[-1] = 1.0
    share = np.sort(rng.dirichlet(np.ones(values)))[::-1].copy()
    cells = 6 if source == CELLS else 0
    low = np.array([[rng.integers(0, axis.size) for axis in axes] for _ in range(cells)], np.int64)
    high = np.array(
        [[rng.integers(l + 1, a.size + 1) for l, a in zip(row, axes, strict=True)] for row in low], np.int64
    )
    return Link(
        offset=np.array([0, values]),
        share=share,
        ranked=np.arange(values),
        sizes=np.array([n]),
        start=np.cumsum([0, *(len(sums) for sums in prefix)]),
        prefix=np.concatenate(prefix),
        cell_low=low.reshape(cells, len(axes)),
        cell_high=high.reshape(cells, len(axes)),
        cell_value=rng.integers(0, values, cells),
        cell_weight=rng.dirichlet(np.ones(cells)) if cells else np.zeros(0),
        d=d,
        alpha=alpha,
        mode=EXACT,
        source=source,
        draws=0,
        rows=rows,
    )


def some_classes(axes, link, boxes, rows, counts, *, uniform=False, seed=0) -> UnitedClasses:
    boxes = np.asarray(boxes, np.int64).reshape(len(rows), len(axes), 2)
    loss = np.array([[join_labels(axis, *box)[2] for axis, box in zip(axes, row, strict=True)] for row in boxes])
    mass = np.ones(len(rows))
    for a in range(len(axes)):
        mass *= link.prefix[link.start[a] + boxes[:, a, 1]] - link.prefix[link.start[a] + boxes[:, a, 0]]
    sizes = [axis.size for axis in axes]
    start = np.cumsum([0, *sizes])[:-1] if uniform else np.full(len(axes), -1)
    codes = np.zeros((len(rows), sum(sizes) if uniform else 0), np.int64)
    spread = np.zeros(len(rows))
    rng = np.random.default_rng(seed)
    for i in range(len(rows) if uniform else 0):
        for a in range(len(axes)):
            low, high = boxes[i, a]
            drawn = np.bincount(rng.integers(low, high, rows[i]), minlength=sizes[a])
            codes[i, start[a] : start[a] + sizes[a]] = drawn
            spread[i] += np.maximum(0, drawn[low:high] - rows[i] / (high - low)).sum()
    return UnitedClasses(
        low=boxes[:, :, 0].copy(),
        high=boxes[:, :, 1].copy(),
        loss=loss.reshape(len(rows), len(axes)),
        mass=mass,
        rows=np.asarray(rows, np.int64),
        counts=np.asarray(counts, np.int64),
        codes=codes,
        code_start=start.astype(np.int64),
        spread=spread,
    )


def copied(classes: UnitedClasses) -> UnitedClasses:
    return UnitedClasses(*(np.array(part) for part in classes))


def same_as_all_pairs(axes, link, classes, *, weight=0.0, failing_first=True, lost=0.0, budget=0):
    slow = unite_reference(
        axes, link, copied(classes), weight=weight, failing_first=failing_first, lost=lost, budget=budget
    )
    changed = copied(classes)
    fast = unite(join_rules(axes), link, changed, new_index(changed), weight, failing_first, lost, budget)
    assert list(zip(fast.first.tolist(), fast.second.tolist(), strict=True)) == list(slow.unions)
    assert {i for i in range(len(fast.into)) if fast.into[i] == i} == set(slow.boxes)
    for i, box in slow.boxes.items():
        assert list(zip(changed.low[i].tolist(), changed.high[i].tolist(), strict=True)) == list(box)
        assert fast.score[i] == pytest.approx(slow.scores[i], abs=1e-12)
    gone = {i for i in range(len(fast.into)) if fast.into[i] == GONE}
    assert set(slow.suppressed) <= gone
    assert fast.suppressed == sum(int(classes.rows[i]) for i in gone)
    return slow


def grid_of_classes(axes, seed, many):
    """Random boxes that nodes and intervals can label."""
    rng = np.random.default_rng(seed)
    boxes = []
    for _ in range(many):
        row = []
        for axis in axes:
            low = int(rng.integers(0, axis.size))
            high = int(min(axis.size, low + 1 + rng.geometric(0.6) - 1))
            row.append(join_labels(axis, low, max(high, low + 1))[:2])
        boxes.append(row)
    rows = rng.integers(3, 20, many)
    counts = np.array([rng.multinomial(n, rng.dirichlet(np.ones(4))) for n in rows])
    return boxes, rows, counts


@pytest.mark.cells(3)
@pytest.mark.parametrize("source", [INDEPENDENT, OWN, CELLS])
@pytest.mark.parametrize("weight", [0.0, 0.3])
@pytest.mark.parametrize("failing_first", [True, False])
def test_indexed_merge_equals_all_pairs(source, weight, failing_first) -> None:
    unions = 0
    for seed in range(4):
        link = a_link(AXES, source=source, seed=seed)
        classes = some_classes(AXES, link, *grid_of_classes(AXES, seed, 40), uniform=weight > 0, seed=seed)
        unions += len(same_as_all_pairs(AXES, link, classes, weight=weight, failing_first=failing_first).unions)
    assert unions > 40  # something was united


@QUIET
@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans(), st.sampled_from([0.0, 0.3]), st.floats(0.05, 0.95))
def test_any_classes_are_united_as_by_all_pairs(seed, many, failing_first, weight, alpha) -> None:
    axes = (AXES[seed % 3], AXES[(seed + 1) % 3])
    link = a_link(axes, seed=seed, alpha=alpha, n=10.0 ** (seed % 4))
    classes = some_classes(axes, link, *grid_of_classes(axes, seed, many), uniform=weight > 0, seed=seed)
    same_as_all_pairs(axes, link, classes, weight=weight, failing_first=failing_first)


@pytest.mark.parametrize(
    "name", ["one class", "all equal", "ties everywhere", "one huge class", "all pass", "none can"]
)
def test_named_shapes(name) -> None:
    axes = (JoinAxis(12), TREE)
    boxes = [[(at % 12, at % 12 + 1), (at % 7, at % 7 + 1)] for at in range(20)]
    rows, counts = [4] * 20, [[1, 1, 1, 1]] * 20
    alpha, d = 0.6, 2
    if name == "one class":
        boxes, rows, counts = boxes[:1], rows[:1], counts[:1]
    elif name == "all equal":
        boxes = [boxes[0]] * 20
    elif name == "ties everywhere":
        boxes = [[(at % 12, at % 12 + 1), (0, 1)] for at in range(20)]
    elif name == "one huge class":
        boxes[7], rows[7] = [(0, 12), (0, 7)], 10_000
    elif name == "all pass":
        alpha = 1e-12
    elif name == "none can":
        d, counts = 4, [[4, 0, 0, 0]] * 20
    link = a_link(axes, alpha=alpha, d=d)
    found = same_as_all_pairs(axes, link, some_classes(axes, link, boxes, rows, counts))
    if name == "all pass":
        assert found.unions == ()
    if name == "none can":
        assert len(found.boxes) == 1


def test_last_failing_class_joins_a_passing_one() -> None:
    """Trap 21: a loop that unites failing classes with failing ones only would never end here."""
    axes = (JoinAxis(10),)
    link = a_link(axes, alpha=0.5, n=1000.0)
    boxes, rows = [[(0, 4)], [(4, 9)], [(9, 10)]], [9, 9, 9]
    counts = [[3, 3, 3, 0], [3, 3, 3, 0], [9, 0, 0, 0]]
    found = same_as_all_pairs(axes, link, some_classes(axes, link, boxes, rows, counts))
    assert found.unions == ((1, 2),)
    assert all(score >= link.alpha for score in found.scores.values())


def test_suppression_takes_what_costs_more_to_unite() -> None:
    axes = (JoinAxis(100), JoinAxis(50))
    link = a_link(axes, alpha=0.5, n=1000.0)
    boxes = [[(0, 40), (0, 25)], [(10, 40), (0, 20)], [(99, 100), (49, 50)]]
    classes = some_classes(axes, link, boxes, [50, 50, 3], [[20, 20, 10, 0], [20, 20, 10, 0], [3, 0, 0, 0]])
    kept = same_as_all_pairs(axes, link, classes, lost=2.0, budget=0)
    assert kept.suppressed == ()
    freed = same_as_all_pairs(axes, link, classes, lost=2.0, budget=3)
    assert freed.suppressed == (2,)
    assert freed.unions == ()
    assert same_as_all_pairs(axes, link, classes, lost=2.0, budget=2).suppressed == ()


def test_remembered_neighbours_are_caught() -> None:
    """A union can bring a class nearer to others, so what was nearest before may not be nearest now."""
    differs = 0
    for seed in range(30):
        link = a_link(AXES, seed=seed)
        classes = some_classes(AXES, link, *grid_of_classes(AXES, seed, 25))
        truth = unite_reference(AXES, link, copied(classes)).unions
        rules = join_rules(AXES)
        many = range(len(classes.rows))
        nearest = {i: min((distance_between(rules, classes, i, j, 0.0), j) for j in many if j != i)[1] for i in many}
        for keep, drop in truth:  # would the list made at the start have chosen these pairs?
            if nearest[keep] != drop and nearest[drop] != keep:
                differs += 1
                break
    assert differs > 5


def test_stale_labels_are_caught() -> None:
    """Trap 24: a class keeps its label and share after a union."""
    axes = (JoinAxis(10),)
    link = a_link(axes, alpha=0.9, n=1000.0)
    boxes, rows, counts = [[(0, 2)], [(6, 8)]], [9, 9], [[9, 0, 0, 0], [0, 9, 0, 0]]
    classes = some_classes(axes, link, boxes, rows, counts)
    found = same_as_all_pairs(axes, link, classes)
    assert found.boxes == {0: ((0, 8),)}
    changed = copied(classes)
    unite(join_rules(axes), link, changed, new_index(changed), 0.0, True, 0.0, 0)
    assert changed.mass[0] == pytest.approx(link.prefix[8] - link.prefix[0])
    assert changed.mass[0] > classes.mass[0] + classes.mass[1]  # more than the sum of what was stale
