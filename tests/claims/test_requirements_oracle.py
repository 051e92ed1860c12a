"""Requirements against slow, obvious definitions in exact fractions and 50-digit decimals."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import linprog

from sfumato.claims import (
    MECHANISM_TOLERANCE,
    AlphaK,
    BetaLikeness,
    Ground,
    KAnonymity,
    LDiversity,
    SemanticPrivacy,
    TCloseness,
)

# ---------------------------------------------------------------------------------------------
# The definitions, one class at a time. Nothing here is shared with the package.


def shares(counts):
    total = sum(counts)
    return [Fraction(int(count), int(total)) for count in counts]


def decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def ln(x: Fraction) -> Decimal:
    return decimal(x).ln()


def entropy(p) -> Decimal:
    return -sum((decimal(x) * ln(x) for x in p if x), Decimal(0))


def js(p, q) -> Decimal:
    total = Decimal(0)
    for x, y in zip(p, q, strict=True):
        middle = (x + y) / 2
        total += decimal(x) * ln(x / middle) if x else 0
        total += decimal(y) * ln(y / middle) if y else 0
    return total / 2


def log_ratio(p, q, *, sides, absent) -> Decimal:
    worst = Decimal(0)
    for x, y in zip(p, q, strict=True):
        if not y:
            continue
        if not x:
            worst = Decimal("Infinity") if absent == "fail" else worst
        else:
            change = ln(x / y)
            worst = max(worst, abs(change) if sides == "two" else change)
    return worst


def ground_matrix(ground: Ground, overall) -> list[list[Fraction]]:
    values = range(len(overall))
    if ground.kind == "equal":
        return [[Fraction(int(a != b)) for b in values] for a in values]
    if ground.kind == "ordered":
        rank = np.cumsum(np.asarray(overall) > 0)
        steps = max(1, int(rank[-1]) - 1)
        return [[Fraction(abs(int(rank[a] - rank[b])), steps) for b in values] for a in values]

    def ancestors(node):
        return [node] if ground.parents[node] < 0 else [node, *ancestors(ground.parents[node])]

    def height(node):
        below = [child for child, parent in enumerate(ground.parents) if parent == node]
        return 1 + max(map(height, below)) if below else 0

    whole = max(1, height(ground.parents.index(-1)))

    def apart(a, b):
        mine = ancestors(ground.leaves[a])
        return Fraction(height(next(node for node in ancestors(ground.leaves[b]) if node in mine)), whole)

    return [[apart(a, b) for b in values] for a in values]


def emd(p, q, ground, overall) -> float:
    """The cheapest transport, by linear programming over all flows."""
    cost = [float(cell) for row in ground_matrix(ground, overall) for cell in row]
    size = len(p)
    leave = [[1.0 if i // size == a else 0.0 for i in range(size * size)] for a in range(size)]
    arrive = [[1.0 if i % size == b else 0.0 for i in range(size * size)] for b in range(size)]
    bounds = [float(x) for x in (*p, *q)]
    # The last equation follows from the others; with it rounding could make them inconsistent.
    return float(linprog(cost, A_eq=(leave + arrive)[:-1], b_eq=bounds[:-1]).fun)


def exact_emd(p, q, ground, overall) -> Fraction:
    """Equal and ordered distance in closed form; ordered moves mass between neighbours only."""
    if ground.kind == "equal":
        return sum((abs(x - y) for x, y in zip(p, q, strict=True)), Fraction()) / 2
    occurring = [i for i, count in enumerate(overall) if count]
    carried = [sum((p[i] - q[i] for i in occurring[: rank + 1]), Fraction()) for rank in range(len(occurring))]
    return sum(map(abs, carried), Fraction()) / max(1, len(occurring) - 1)


def defined(requirement, counts, overall, ground=None, rows_per_person=1):
    """(whether it holds, distance from the limit where logarithms decide else None)."""
    p, q, n = shares(counts), shares(overall), sum(counts)
    match requirement:
        case KAnonymity(k=k):
            return n >= k * rows_per_person, None
        case AlphaK(alpha=alpha, k=k):
            return n >= k * rows_per_person and max(p) <= alpha, None
        case LDiversity(l=level, kind="probability"):
            return max(p) <= 1 / level, None
        case LDiversity(l=level, kind="distinct"):
            return sum(x > 0 for x in p) >= level, None
        case LDiversity(l=level, kind="entropy"):
            gap = entropy(p) - ln(level)
            return gap >= 0, gap
        case LDiversity(l=level, c=c):
            ranked = sorted(counts, reverse=True)
            return ranked[0] < c * sum(ranked[int(level) - 1 :]), None
        case TCloseness(t=t, distance="js"):
            gap = decimal(t) - js(p, q)
            return gap >= 0, gap
        case TCloseness(t=t):
            return exact_emd(p, q, ground or Ground.equal(), overall) <= t, None
        case SemanticPrivacy(delta=delta, sides=sides, absent=absent):
            gap = decimal(delta) - log_ratio(p, q, sides=sides, absent=absent)
            return gap > 0, gap
        case BetaLikeness(beta=beta):
            return all((x - y) / y <= beta for x, y in zip(p, q, strict=True) if x > y), None
    raise AssertionError(requirement)


# ---------------------------------------------------------------------------------------------
# Cases: named awkward shapes, and tables drawn by hypothesis.

SHAPES = {
    "one row": [[1, 0, 0]],
    "all equal": [[5, 0, 0], [3, 0, 0]],
    "all unique": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "one huge class": [[900, 90, 10], [1, 0, 0]],
    "a missing category": [[4, 2, 0], [2, 4, 0]],
    "skewed pair": [[9, 1, 0], [1, 9, 0]],
    "tie everywhere": [[2, 2, 2], [4, 4, 4], [2, 2, 2]],
    "exactly at the share": [[1, 1, 0], [2, 1, 1], [3, 2, 1]],
    "absent in one": [[3, 2, 1], [3, 2, 0]],
}
MIXED_UP_TO = [Fraction(n, d) for n, d in ((1, 1), (3, 2), (2, 1), (5, 2), (3, 1), (4, 1))]


def requirements():
    """Every requirement in every reading, at parameters where ties happen."""
    fraction = st.sampled_from([Fraction(n, 12) for n in range(1, 13)])
    whole = st.integers(1, 5)
    return st.one_of(
        whole.map(KAnonymity),
        st.builds(AlphaK, fraction, k=whole),
        st.sampled_from(MIXED_UP_TO).map(LDiversity),
        whole.map(lambda level: LDiversity(level, kind="distinct")),
        st.sampled_from(MIXED_UP_TO).map(lambda level: LDiversity(level, kind="entropy")),
        st.builds(lambda level, c: LDiversity(level, kind="recursive", c=c), whole, st.sampled_from([1, 2, "1/2", 3])),
        fraction.map(TCloseness),
        fraction.map(lambda t: TCloseness(t, distance="emd")),
        st.builds(
            lambda delta, sides, absent: SemanticPrivacy(delta, sides=sides, absent=absent),
            fraction,
            st.sampled_from(["two", "one"]),
            st.sampled_from(["fail", "ignore"]),
        ),
        fraction.map(lambda beta: BetaLikeness(beta * 4)),
    )


@st.composite
def tables(draw, values=4):
    """A few classes with at least one row each."""
    row = st.lists(st.integers(0, 6), min_size=values, max_size=values).filter(any)
    return draw(st.lists(row, min_size=1, max_size=5))


def agree(requirement, table, decided, ground=None) -> int:
    """Number of classes where `decided` and the definition differ; too close to call counts as agreement."""
    overall = np.sum(table, axis=0).tolist()
    wrong = 0
    with localcontext() as context:
        context.prec = 50
        for counts, answer in zip(table, decided, strict=True):
            truth, gap = defined(requirement, counts, overall, ground)
            near = gap is not None and abs(gap) < Decimal("1e-11")
            wrong += (not near) and bool(answer) != truth
    return wrong


@given(tables(), requirements(), st.sampled_from([Ground.equal(), Ground.ordered()]))
@settings(max_examples=400)
def test_equals_the_definition(table, requirement, ground):
    overall = np.sum(table, axis=0)
    assert agree(requirement, table, requirement.check(table, overall, ground=ground), ground) == 0


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "requirement",
    [
        KAnonymity(3),
        AlphaK("1/2", k=2),
        LDiversity(2),
        LDiversity(3, kind="distinct"),
        LDiversity(2, kind="entropy"),
        LDiversity(2, kind="recursive", c=2),
        TCloseness(0.1),
        TCloseness("1/4", distance="emd"),
        SemanticPrivacy(1),
        SemanticPrivacy(1, absent="ignore"),
        SemanticPrivacy(1, sides="one"),
        BetaLikeness("1/2"),
    ],
    ids=str,
)
def test_equals_the_definition_on_named_shapes(shape, requirement):
    table = SHAPES[shape]
    assert agree(requirement, table, requirement.check(table, np.sum(table, axis=0))) == 0


# Wrong readings which the comparison above must notice (theory E, traps 28, 29, 35, 36, 38).


def root_of_js(table, overall):
    q = shares(overall)
    return [float(js(shares(row), q)) ** 0.5 <= 0.1 for row in table]


def js_in_bits(table, overall):
    q = shares(overall)
    return [float(js(shares(row), q) / Decimal(2).ln()) <= 0.1 for row in table]


WRONG = {
    "t ignores its threshold": (TCloseness("1/10"), lambda table, _: [True] * len(table)),
    "t is the root of js": (TCloseness("1/10"), root_of_js),
    "t is js in bits": (TCloseness("1/10"), js_in_bits),
    "t is emd where js is meant": (
        TCloseness("1/10"),
        lambda table, overall: TCloseness("1/10", distance="emd").check(table, overall),
    ),
    "l read as distinct": (
        LDiversity(2),
        lambda table, overall: LDiversity(2, kind="distinct").check(table, overall),
    ),
    "missing values dropped from k": (KAnonymity(4), lambda table, _: [sum(row[1:]) >= 4 for row in table]),
    "delta one-sided": (
        SemanticPrivacy(1),
        lambda table, overall: SemanticPrivacy(1, sides="one").check(table, overall),
    ),
    "delta passes over absent values": (
        SemanticPrivacy(1),
        lambda table, overall: SemanticPrivacy(1, absent="ignore").check(table, overall),
    ),
    "recursive sorted upwards": (
        LDiversity(2, kind="recursive", c=2),
        lambda table, _: [min(row) < 2 * sum(sorted(row)[1:]) for row in table],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_reading_is_noticed(name):
    requirement, mutant = WRONG[name]
    generator = np.random.default_rng(11)
    cases = [*SHAPES.values(), *(generator.integers(1, 30, size=(6, 3)).tolist() for _ in range(20))]
    mistakes = right = 0
    for table in cases:
        overall = np.sum(table, axis=0)
        mistakes += agree(requirement, table, mutant(table, overall))
        right += agree(requirement, table, requirement.check(table, overall))
    assert mistakes > 0
    assert right == 0


# ---------------------------------------------------------------------------------------------
# Union of good classes earth mover's distance, margins, published numbers, sizes.


@given(tables(), requirements(), st.data())
@settings(max_examples=400)
def test_union_of_good_classes_is_good(table, requirement, data):
    assume(requirement.monotone)
    overall = np.sum(table, axis=0)
    ground = data.draw(st.sampled_from([Ground.equal(), Ground.ordered()]))
    good = np.asarray(table)[requirement.check(table, overall, ground=ground)]
    assume(len(good) > 1)
    # One class may appear several times: any mixture of good classes must be good.
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(good), max_size=len(good)))
    union = (good * np.array(weights)[:, None]).sum(axis=0)
    # The limit may be passed by rounding only, which 1e-11 covers and no error of definition does.
    assert requirement.holds(union, overall, ground=ground, tolerance=1e-11)


def test_ignoring_absent_values_on_two_sides_is_not_closed_under_union():
    overall, without, with_all = np.array([60, 40]), np.array([0, 200]), np.array([40, 20])
    ignoring = SemanticPrivacy(1, absent="ignore")
    assert ignoring.holds(without, overall)  # ln(1 / .4) = .92
    assert ignoring.holds(with_all, overall)
    assert not ignoring.holds(without + with_all, overall)  # ln(.154 / .6) = -1.36
    assert not ignoring.monotone
    assert SemanticPrivacy(1).monotone
    assert SemanticPrivacy(1, sides="one").monotone


TREES = [
    Ground.hierarchical([-1, 0, 0, 1, 1, 2, 2], [3, 4, 5, 6]),
    Ground.hierarchical([-1, 0, 0, 1, 1, 0], [3, 4, 2, 5]),  # leaves at different depths
    Ground.hierarchical([4, 4, 5, 5, 5, -1], [0, 1, 2, 3]),  # parents after children
    Ground.hierarchical([-1, 0, 1, 2, 2, 0, 0], [3, 4, 5, 6]),  # a chain above two leaves
]


@given(tables(), st.sampled_from([Ground.equal(), Ground.ordered(), *TREES]))
@settings(max_examples=120)
def test_emd_is_the_cheapest_transport(table, ground):
    overall = np.sum(table, axis=0).tolist()
    cheapest = max(emd(shares(row), shares(overall), ground, overall) for row in table)
    found = TCloseness(1, distance="emd").found(table, overall, ground=ground)
    assert isinstance(found, Fraction)
    assert float(found) == pytest.approx(cheapest, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("js", TCloseness),
        ("entropy", lambda level: LDiversity(level, kind="entropy")),
        ("delta", SemanticPrivacy),
    ],
)
def test_a_class_at_the_limit_passes_the_verifier_and_no_mechanism(kind, make):
    overall, row = [10, 20, 30], [3, 4, 3]
    attained = make(1).found([row], overall)
    at_limit = make(attained)
    assert at_limit.holds(row, overall)
    assert not at_limit.holds(row, overall, tolerance=MECHANISM_TOLERANCE)
    # A hundredth of the mechanism's margin is ten thousand times the verifier's.
    stricter = make(attained + 1e-11) if kind == "entropy" else make(attained - 1e-11)
    assert not stricter.holds(row, overall)


def test_equality_that_integers_can_see_needs_no_margin():
    assert TCloseness(0).holds([1, 2, 3], [10, 20, 30], tolerance=MECHANISM_TOLERANCE)
    assert not TCloseness(0).holds([1, 2, 4], [10, 20, 30])
    assert LDiversity(3, kind="entropy").holds([7, 7, 7], tolerance=MECHANISM_TOLERANCE)
    assert not LDiversity(3, kind="entropy").holds([7, 7, 8], tolerance=MECHANISM_TOLERANCE)


OCCUPATIONS = [314, 1331, 1063, 1196, 1323, 1329, 452, 657, 1225, 327, 512, 52, 216, 3]  # of 10,000: lili.js.armed


def test_published_numbers():
    alone = np.eye(14, dtype=np.int64)
    assert TCloseness(1).found(alone[13:], OCCUPATIONS) == pytest.approx(0.6917803988496988, abs=1e-12)
    assert TCloseness(1).found(alone[1:2], OCCUPATIONS) == pytest.approx(0.4881442960345714, abs=1e-12)
    assert TCloseness(1).found([OCCUPATIONS], OCCUPATIONS) == pytest.approx(0, abs=1e-15)  # lili.js.self
    assert LDiversity(1).found([OCCUPATIONS], OCCUPATIONS) == Fraction(10_000, 1331)  # lili.l.max
    assert SemanticPrivacy(1).found([[3, 2, 1]], [4, 4, 2]) == pytest.approx(0.22314355131420976, abs=1e-12)


@pytest.mark.parametrize("million", [10**3, 10**6, 10**9])
@pytest.mark.parametrize("ground", [Ground.equal(), Ground.ordered(), TREES[0]], ids=lambda g: g.kind)
def test_one_row_decides_among_billions(million, ground):
    """Exactly at the limit holds, one row beyond does not, up to 10^15 rows: no overflow, no rounding."""
    base = np.array([[1, 2, 3, 4]], dtype=np.int64) * million * 10**5
    overall = np.array([4, 3, 2, 1], dtype=np.int64) * million * 10**5
    beyond = base + np.array([[-1, 0, 0, 1]])
    emd_limit = TCloseness(1, distance="emd").found(base, overall, ground=ground)
    for requirement in (
        TCloseness(emd_limit, distance="emd"),
        BetaLikeness(3),
        LDiversity("5/2"),
        AlphaK("2/5", k=1),
        LDiversity(3, kind="recursive", c=Fraction(4, 3) + Fraction(1, 3 * int(base[0, :2].sum()))),
    ):
        assert requirement.holds(base[0], overall, ground=ground), requirement
        assert not requirement.holds(beyond[0], overall, ground=ground), requirement
