"""Compiled conditions against exact fractions, emd against a transport problem, and convexity."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy.optimize import linprog
from tests.oracles.compiled import holds_compiled

import sfumato as sf
from sfumato.kernels import conditions as sc
from sfumato.kernels.conditions import all_hold, earth_mover, one_holds, product_at_most

QUIET = settings(max_examples=150, suppress_health_check=list(HealthCheck))
LOW, HIGH, PARENT = (0, 1, 2, 3, 4, 0, 2, 0), (1, 2, 3, 4, 5, 2, 5, 5), (5, 5, 6, 6, 6, 7, 7, -1)


def conditions(overall) -> dict[str, sc.Condition]:
    grounds = {
        "equal": sc.GroundEdges.equal(5),
        "ordered": sc.GroundEdges.ordered(overall),
        "hierarchical": sc.GroundEdges.hierarchical(LOW, HIGH, PARENT),
    }
    return {
        "size": sc.size(7),
        "distinct": sc.distinct(3),
        "frequency": sc.frequency(Fraction(2, 5)),
        "entropy": sc.entropy(Fraction(5, 2)),
        "recursive": sc.recursive(Fraction(3, 2), 2),
        "js": sc.js(Fraction(1, 20)),
        "ratio": sc.ratio(Fraction(7, 4)),
        "delta strict": sc.delta_disclosure(Fraction(1), two_sided=True, absent_fails=True),
        "delta two": sc.delta_disclosure(Fraction(1), two_sided=True, absent_fails=False),
        "delta one": sc.delta_disclosure(Fraction(1), two_sided=False, absent_fails=False),
        "delta one, absent fails": sc.delta_disclosure(Fraction(1), two_sided=False, absent_fails=True),
    } | {f"emd {name}": sc.emd(Fraction(1, 5), ground) for name, ground in grounds.items()}


NAMES = list(conditions([1] * 5))


def fast(one: sc.Condition, part, overall) -> bool:
    bound = sc.bind([one], [overall], int(sum(overall)))
    return bool(holds_compiled(bound, int(sum(part)), np.asarray(part, dtype=np.int64)))


def drawn(seed: int, tables: int, parts: int):
    """Tables of five values cut into parts, some even, some with values missing or piled up."""
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        steep = rng.random() * 3
        found = [(rng.integers(0, 10, 5) * rng.random(5) ** steep).round().astype(int) for _ in range(parts)]
        if all(part.any() for part in found):
            yield [part.tolist() for part in found], np.sum(found, axis=0).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_the_exact_reference(name):
    seen = set()
    for (part, _), overall in drawn(1, 400, 2):
        one = conditions(overall)[name]
        expected = all_hold([one], [part], [overall], sum(part))
        seen.add(expected)
        assert fast(one, part, overall) is expected
    assert seen == {True, False}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "delta two"])
def test_union_of_two_parts_that_hold_holds(name):
    """Why a part that fails cannot be repaired by cutting it (docs/theory/partition.md)."""
    tried = 0
    for (part, other, _), overall in drawn(2, 800, 3):
        one = conditions(overall)[name]
        if fast(one, part, overall) and fast(one, other, overall):
            tried += 1
            assert fast(one, [a + b for a, b in zip(part, other, strict=True)], overall)
    assert tried > 5


def test_delta_that_ignores_absent_values_is_the_exception():
    """Absent from one part, just often enough in the other: their union has the value too rarely."""
    overall = [30, 30, 30, 30, 30]
    one = conditions(overall)["delta two"]
    part, other = [0, 10, 10, 10, 10], [1, 3, 3, 3, 2]
    assert fast(one, part, overall)
    assert fast(one, other, overall)
    assert not fast(one, [a + b for a, b in zip(part, other, strict=True)], overall)


@pytest.mark.parametrize("kind", ["equal", "ordered", "hierarchical"])
def test_emd_is_the_cheapest_transport(kind):
    rng = np.random.default_rng(1)
    for _ in range(15):
        overall, part = rng.integers(0, 6, 5) + 1, rng.integers(0, 6, 5)
        overall[rng.integers(0, 5)] *= rng.integers(0, 2)  # a value that no row has
        part = np.minimum(part, overall)
        if part.sum() == 0:
            continue
        ground, distance = ground_and_distance(kind, overall)
        p, q = ([Fraction(int(c), int(counts.sum())) for c in counts] for counts in (part, overall))
        found = earth_mover(p, q, ground)
        assert float(found) == pytest.approx(cheapest(p, q, distance), abs=1e-9)
        assert fast(sc.emd(found, ground), part, overall)
        assert found == 0 or not fast(sc.emd(found - Fraction(1, 10**6), ground), part, overall)


def ground_and_distance(kind, overall):
    if kind == "equal":
        return sc.GroundEdges.equal(5), 1.0 - np.eye(5)
    if kind == "ordered":
        rank = np.cumsum(overall > 0) - 1
        steps = max(1, np.count_nonzero(overall) - 1)
        return sc.GroundEdges.ordered(overall), np.abs(rank[:, None] - rank[None, :]) / steps
    distance = np.ones((5, 5))
    distance[:2, :2] = distance[2:, 2:] = 0.5
    np.fill_diagonal(distance, 0)
    return sc.GroundEdges.hierarchical(LOW, HIGH, PARENT), distance


def cheapest(p, q, distance) -> float:
    """The transport problem, as a linear programme."""
    m = len(p)
    leave, arrive = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    masses = [float(share) for share in (*p, *q)]
    return float(linprog(distance.ravel(), A_eq=np.vstack([leave, arrive]), b_eq=masses).fun)


def test_limits_are_met_exactly_at_a_billion_rows():
    """One row more or less decides, with products far beyond 64 bits."""
    overall = np.array([10**9, 10**9 - 1])
    half = np.array([500_000_001, 499_999_999])  # p = 0.500000001
    n, rows = int(half.sum()), int(overall.sum())
    ground = sc.GroundEdges.equal(2)
    exact = abs(Fraction(int(half[0]), n) - Fraction(int(overall[0]), rows))
    assert exact == earth_mover([Fraction(int(c), n) for c in half], [Fraction(int(c), rows) for c in overall], ground)
    near = exact.limit_denominator(2**31 - 1)
    below, above = sorted([near, near + Fraction(1, 2**31 - 1) * (1 if near < exact else -1)])
    for limit in (below, above):
        if max(limit.numerator, limit.denominator) < 2**31:
            assert fast(sc.emd(limit, ground), half, overall) == (exact <= limit)
    share = Fraction(500_000_001, 10**9)
    assert fast(sc.frequency(share), half, overall)
    assert not fast(sc.frequency(share - Fraction(1, 10**9)), half, overall)
    lift = Fraction(int(half[0]) * rows, n * int(overall[0]))
    assert fast(sc.ratio(Fraction(500_000_002, 500_000_000)), half, overall) == (
        lift <= Fraction(500_000_002, 500_000_000)
    )
    assert not fast(sc.ratio(Fraction(1)), half, overall)


@numba.njit
def _at_most(a, b, c, d):
    return product_at_most(a, b, c, d)


@QUIET
@given(*(st.integers(0, 2**63 - 1) for _ in range(4)))
def test_products_are_compared_by_all_their_bits(a, b, c, d):
    assert _at_most(a, b, c, d) == (a * b <= c * d)
    assert _at_most(a, b, b, a)
    if a and b < 2**63 - 1:
        assert not _at_most(a, b + 1, b, a)


def test_floats_keep_a_margin():
    """A divergence equal to the limit is refused, one 2e-9 below is taken."""
    part, overall = [3, 1, 0, 0, 0], [3, 3, 3, 3, 3]
    entropy = -(0.75 * log(0.75) + 0.25 * log(0.25))
    exactly = Fraction(np.exp(entropy)).limit_denominator(10**9)
    assert not one_holds(sc.entropy(exactly), part, overall)
    assert not fast(sc.entropy(exactly), part, overall)
    assert fast(sc.entropy((exactly - Fraction(1, 10**8)).limit_denominator(10**9)), part, overall)
    lift = Fraction(15, 4)
    assert not fast(sc.delta_disclosure(Fraction(log(lift)), two_sided=False, absent_fails=False), part, overall)
    wider = Fraction(log(lift) + 2e-9)
    assert fast(sc.delta_disclosure(wider, two_sided=False, absent_fails=False), part, overall)


def test_what_integers_can_tell_needs_no_margin():
    assert fast(sc.entropy(Fraction(3)), [4, 4, 4, 0, 0], [9, 9, 9, 9, 9])
    assert not fast(sc.entropy(Fraction(3)), [4, 4, 3, 0, 0], [9, 9, 9, 9, 9])
    assert not fast(sc.entropy(Fraction(7, 2)), [4, 4, 4, 0, 0], [9, 9, 9, 9, 9])
    assert fast(sc.js(Fraction(0)), [1, 2, 0, 3, 1], [2, 4, 0, 6, 2])
    assert not fast(sc.js(Fraction(0)), [1, 2, 0, 3, 2], [2, 4, 0, 6, 2])
    for one, part in ((sc.entropy(Fraction(3)), [4, 4, 4, 0, 0]), (sc.js(Fraction(0)), [1, 2, 0, 3, 1])):
        assert one_holds(one, part, [2 * count for count in part])


# -- spellings of one value -------------------------------------------------------------------------

PROMISES = [
    sf.Mondrian(sf.LDiversity(2)),
    sf.Mondrian(sf.KAnonymity(2) & sf.TCloseness("0.5")),
    sf.Mondrian(sf.KAnonymity(2) & sf.Linkability(2, alpha="0.5")),
    sf.Bucketize(sf.LDiversity(2, kind="distinct")),
    sf.Anatomy(2),
    sf.DLink(sf.Mondrian(sf.KAnonymity(2)), d=2, alpha="0.5"),
]


def ill(*values, **more):
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "ill": {"role": "sensitive", "values": list(values), **more},
    }
    return sf.Schema.parse({"name": "clinic", "attribute": attributes})


@pytest.mark.parametrize("mechanism", PROMISES, ids=str)
@pytest.mark.parametrize("other", ["Flu", "\uff46lu", "f\u200blu", "f\u00adlu"])
def test_a_promise_about_values_refuses_two_spellings_of_one(mechanism, other):
    """Before data are read: the schema alone tells."""
    with pytest.raises(sf.SchemaError, match="2 values differ from another only in case") as error:
        mechanism.claim(ill("flu", other, "ulcer"))
    problem = error.value.problems[0]
    assert (problem.path, problem.count) == ("attribute.ill", 2)
    assert "same = {" in problem.hint
    assert other not in str(error.value)
    assert mechanism.claim(ill("flu", "ulcer", same={"flu": [other]}))
    assert mechanism.claim(ill("flu", "fluke", "ulcer"))


def test_what_counts_people_alone_takes_any_spelling():
    spelled = ill("flu", "Flu")
    assert sf.Mondrian(sf.KAnonymity(2)).claim(spelled).kind == "checked"
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["flu", "Flu"] * 2})
    table = sf.read(frame, spelled)
    assert sf.publish(table, sf.Mondrian(sf.KAnonymity(2))).rows == 4
    with pytest.raises(sf.SchemaError):
        sf.publish(table, sf.Mondrian(sf.LDiversity(2)))
