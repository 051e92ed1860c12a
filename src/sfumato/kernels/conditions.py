"""Requirements on a part of a table, as plain arrays that a compiled loop can check.

Source    docs/theory/partition.md. EMD: Li, Li & Venkatasubramanian, ICDE 2007, 5.1-5.2.
Claim     `holds` decides size, distinct, frequency, recursive, emd and ratio conditions exactly for up
          to 2^31 - 1 rows; js, entropy and delta keep 1e-9 inside the asked value.
Because   counts are integers and parameters fractions. A product of two counts is below 2^62; where
          one more factor comes in, two products are compared by their 128 bits. Every emd is a sum
          of |mass that crosses an edge| (see `GroundEdges`), kept as whole + rest / (n x N).
Checked   tests/claims/test_mondrian_conditions.py::test_compiled_equals_the_exact_reference
          tests/claims/test_mondrian_conditions.py::test_emd_is_the_cheapest_transport
          tests/claims/test_mondrian_conditions.py::test_union_of_two_parts_that_hold_holds
          tests/claims/test_mondrian_conditions.py::test_delta_that_ignores_absent_values_is_the_exception
Silent on what the requirement is good for; see claims/. Two-sided delta that ignores absent values is not convex:
          a partition under it is still right, but a cut below a forbidden one may be missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, expm1, log, log1p, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfumato.arrays import Floats, Ints
from sfumato.errors import ParameterError
from sfumato.kernels.cache import inlined
from sfumato.kernels.dlink.score import EXACT, OWN, ROBUST, Link, further_values, link_score, no_link

SIZE, DISTINCT, FREQUENCY, ENTROPY, RECURSIVE, JS, EMD, DELTA, RATIO, LINK = range(10)
MARGIN = 1e-9
MOST_CUT_ROWS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class GroundEdges:
    """A ground distance between sensitive codes, as weighted edges.

    An edge separates the codes low <= code < high from the rest and has a whole length; the distance
    between two codes is the length of the edges that part them, divided by `scale`.
    """

    edges: tuple[tuple[int, int, int], ...]
    _: KW_ONLY
    scale: int

    @classmethod
    def equal(cls, codes: int) -> GroundEdges:
        """Every two codes are 1 apart."""
        return cls(tuple((code, code + 1, 1) for code in range(codes)), scale=2)

    @classmethod
    def ordered(cls, counts: npt.ArrayLike) -> GroundEdges:
        """Codes that occur, of ranks i and j of m, are |i - j| / (m - 1) apart."""
        occurring = np.flatnonzero(np.asarray(counts))
        edges = tuple((0, int(code) + 1, 1) for code in occurring[:-1])
        return cls(edges, scale=max(1, occurring.size - 1))

    @classmethod
    def hierarchical(cls, low: npt.ArrayLike, high: npt.ArrayLike, parent: npt.ArrayLike) -> GroundEdges:
        """Codes are height(lowest common ancestor) / height(root) apart; nodes are code intervals.

        Leaves must be among the nodes. `parent` of the root is -1.
        """
        lows, highs, parents = (np.asarray(a, dtype=np.int64) for a in (low, high, parent))
        heights = np.zeros(lows.size, dtype=np.int64)
        for _ in range(lows.size):  # settles after as many rounds as the tree is high
            raised = heights.copy()
            np.maximum.at(raised, parents[parents >= 0], heights[parents >= 0] + 1)
            if np.array_equal(raised, heights):
                break
            heights = raised
        else:
            raise ParameterError("parent", f"{lows.size} nodes", "must be a tree, without a circle")
        edges = tuple(
            (int(lows[i]), int(highs[i]), int(heights[parents[i]] - heights[i]))
            for i in range(lows.size)
            if parents[i] >= 0
        )
        return cls(edges, scale=max(1, 2 * int(heights.max(initial=0))))


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a part: an operation, the sensitive column it reads, and its parameters."""

    operation: int
    _: KW_ONLY
    sensitive: int = 0
    limit: Fraction = Fraction(1)
    count: int = 0
    low: float = 0.0
    high: float = 0.0
    absent_fails: bool = True
    ground: GroundEdges | None = None
    link: Link | None = None


def size(k: int) -> Condition:
    """At least k rows."""
    return Condition(SIZE, count=k)


def distinct(l: int, *, sensitive: int = 0) -> Condition:  # noqa: E741
    """At least l different sensitive codes."""
    return Condition(DISTINCT, sensitive=sensitive, count=l)


def frequency(most: Fraction, *, sensitive: int = 0) -> Condition:
    """No code has more than the share `most`: probability l is 1/l, alpha is alpha."""
    return Condition(FREQUENCY, sensitive=sensitive, limit=most)


def entropy(l: Fraction, *, sensitive: int = 0) -> Condition:  # noqa: E741
    """Entropy at least ln l, with the margin; l or more equally frequent codes are counted, not rounded."""
    return Condition(ENTROPY, sensitive=sensitive, limit=l, low=log(l) + MARGIN)


def recursive(c: Fraction, l: int, *, sensitive: int = 0) -> Condition:  # noqa: E741
    """r_1 < c (r_l + r_(l+1) + ...), counts in falling order."""
    return Condition(RECURSIVE, sensitive=sensitive, limit=c, count=l)


def js(t: Fraction, *, sensitive: int = 0) -> Condition:
    """Jensen-Shannon divergence to the overall distribution at most t nats, with the margin; 0 is 0."""
    return Condition(JS, sensitive=sensitive, high=float(t) - MARGIN)


def emd(t: Fraction, ground: GroundEdges, *, sensitive: int = 0) -> Condition:
    """Earth mover's distance to the overall distribution at most t."""
    return Condition(EMD, sensitive=sensitive, limit=t, ground=ground)


def delta_disclosure(delta: Fraction, *, two_sided: bool, absent_fails: bool, sensitive: int = 0) -> Condition:
    """|ln(p/q)| < delta (one-sided: ln(p/q) < delta) for every code that occurs overall, with the margin.

    Two-sided with absent codes ignored is the one condition that a union of parts may break.
    """
    low = exp(-float(delta) + MARGIN) if two_sided else 0.0
    high = exp(float(delta) - MARGIN)
    return Condition(DELTA, sensitive=sensitive, low=low, high=high, absent_fails=absent_fails)


def ratio(most: Fraction, *, sensitive: int = 0) -> Condition:
    """p/q at most `most` for every code: beta-likeness is 1 + beta."""
    return Condition(RATIO, sensitive=sensitive, limit=most)


_FIELDS = (
    ("operation", "i8"),
    ("sensitive", "i8"),
    ("numerator", "i8"),  # the limit, times the ground's scale
    ("denominator", "i8"),
    ("count", "i8"),
    ("absent_fails", "i8"),
    ("edge", "i8"),  # its edges: edge .. last_edge
    ("last_edge", "i8"),
    ("low", "f8"),
    ("high", "f8"),
)
_EDGE = (("low", "i8"), ("high", "i8"), ("length", "i8"))


def linkable(link: Link) -> Condition:
    """The linkability score of the part in its box at least alpha, with the margin; reads all sensitive columns."""
    return Condition(LINK, count=link.d, link=link)


class Conditions(NamedTuple):
    """A conjunction bound to a table: the arrays a compiled loop reads."""

    table: npt.NDArray[np.void]
    edges: npt.NDArray[np.void]
    offset: Ints  # codes of sensitive column j: offset[j] .. offset[j + 1] of a part's counts
    overall: Ints  # counts of the whole table, all sensitive columns one after another
    plogp: Floats  # sum of q ln q for each sensitive column
    rows: int
    fewest: int  # rows that any part must have
    link: Link  # reads the box beside the counts; d = 0 where no LINK condition is asked


def bind(conditions: Sequence[Condition], overall: Sequence[npt.ArrayLike], rows: int) -> Conditions:
    """Return the conjunction for a table of `rows` rows with these overall counts per sensitive column."""
    if rows > MOST_CUT_ROWS:
        raise ParameterError("rows", rows, f"must be at most {MOST_CUT_ROWS}", hint="split the table by a column")
    counts = [np.asarray(column, dtype=np.int64) for column in overall]
    table: list[tuple[float, ...]] = []
    edges: list[tuple[int, int, int]] = []
    for one in sorted(conditions, key=lambda c: c.operation):  # the cheap ones refuse first
        _check(one, counts, rows)
        ground = one.ground or GroundEdges((), scale=1)
        limit = one.limit * ground.scale
        last = len(edges) + len(ground.edges)
        integers = (one.count, int(one.absent_fails), len(edges), last)
        asked = (one.operation, one.sensitive, limit.numerator, limit.denominator)
        table.append((*asked, *integers, one.low, one.high))
        edges.extend(ground.edges)
    return Conditions(
        table=np.array(table, dtype=list(_FIELDS)),
        edges=np.array(edges, dtype=list(_EDGE)),
        offset=_ints(np.cumsum([0, *(c.size for c in counts)])),
        overall=np.concatenate([*counts, np.zeros(0, dtype=np.int64)]),
        plogp=np.array([_plogp(c) for c in counts], dtype=np.float64),
        rows=rows,
        fewest=max([1, *(c.count for c in conditions if c.operation in (SIZE, DISTINCT, LINK))]),
        link=next((c.link for c in conditions if c.link is not None), no_link()),
    )


def _ints(values: npt.ArrayLike) -> Ints:
    return np.asarray(values, dtype=np.int64)


def _plogp(counts: Ints) -> float:
    total = int(counts.sum())
    shares = [int(count) / total for count in counts if count]
    return sum((share * log(share) for share in shares), 0.0)


def _check(condition: Condition, counts: list[Ints], rows: int) -> None:
    if condition.operation == SIZE:
        return
    if condition.operation == LINK:
        _check_link(condition.link, counts)
        return
    if not 0 <= condition.sensitive < len(counts):
        rule = f"must be one of {len(counts)} sensitive columns"
        raise ParameterError("sensitive", condition.sensitive, rule)
    column = counts[condition.sensitive]
    if int(column.sum()) != rows:
        raise ParameterError("overall", f"{int(column.sum())} rows", f"must count all {rows} rows")
    if max(condition.limit.numerator, condition.limit.denominator) > MOST_CUT_ROWS:
        rule = "needs a numerator and denominator below 2^31"
        raise ParameterError("limit", condition.limit, rule, hint="round the parameter")
    if condition.ground is not None:
        _check_ground(condition.ground, column.size)


def _check_link(link: Link | None, counts: list[Ints]) -> None:
    columns = [0, *np.cumsum([column.size for column in counts]).tolist()]
    if link is None or link.offset.tolist() != columns:
        raise ParameterError("link", "columns", f"must describe {len(counts)} sensitive columns")


def _check_ground(ground: GroundEdges, codes: int) -> None:
    if any(not (0 <= low < high <= codes and length >= 0) for low, high, length in ground.edges):
        raise ParameterError("ground", f"{len(ground.edges)} edges", f"must separate codes 0 to {codes - 1}")
    if ground.scale < 1 or ground.scale > 2**31:
        raise ParameterError("ground", ground.scale, "needs a scale from 1 to 2^31")


# The compiled check of a conjunction on one part: integers wherever integers decide.
#
# The readable reference, in exact fractions, is `all_hold` below.

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is not an `int` to mypy, and arrays are passed one by one because a compiled call with
# many arrays in a tuple costs more than the work it does.


_LOW32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


@inlined
def _product(a: int, b: int) -> tuple[np.uint64, np.uint64]:
    """Return a x b of two non-negative int64 as (upper 64 bits, lower 64 bits)."""
    x, y = np.uint64(a), np.uint64(b)
    x_high, x_low, y_high, y_low = x >> _32, x & _LOW32, y >> _32, y & _LOW32
    low = x_low * y_low
    middle = x_high * y_low + (low >> _32)
    other = x_low * y_high + (middle & _LOW32)
    return x_high * y_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW32)


@inlined
def product_at_most(a: int, b: int, c: int, d: int) -> bool:
    """Say whether a x b <= c x d, exactly, for non-negative int64."""
    left_high, left_low = _product(a, b)
    right_high, right_low = _product(c, d)
    return left_high < right_high or (left_high == right_high and left_low <= right_low)


@inlined
def _distinct(counts: Ints, first: int, last: int) -> int:
    found = 0
    for s in range(first, last):
        if counts[s] > 0:
            found += 1
    return found


@inlined
def _largest(counts: Ints, first: int, last: int) -> int:
    largest = np.int64(0)
    for s in range(first, last):
        largest = max(largest, counts[s])
    return largest


@inlined
def _entropy(n: int, counts: Ints, first: int, last: int) -> float:
    total = 0.0
    for s in range(first, last):
        if counts[s] > 0:
            p = counts[s] / n
            total -= p * log(p)
    return total


@inlined
def _evenly(one: np.void, n: int, counts: Ints, first: int, last: int) -> bool:
    """Say whether at least l codes occur, all equally often: their entropy is ln(codes), no rounding."""
    codes = _distinct(counts, first, last)
    return _largest(counts, first, last) * codes == n and codes * one["denominator"] >= one["numerator"]


@inlined
def _same(rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    """Say whether a part is distributed exactly as the whole table."""
    different = False
    for s in range(first, last):
        different = different or counts[s] * rows != overall[s] * n
    return not different


@inlined
def _recursive(one: np.void, n: int, counts: Ints, first: int, last: int) -> bool:
    """r_1 < c (n - r_1 - ... - r_(l-1)); an insertion sort, since compiling `np.sort` takes seconds."""
    falling = np.zeros(last - first, dtype=np.int64)
    for s in range(last - first):
        at = s
        while at > 0 and falling[at - 1] < counts[first + s]:
            falling[at] = falling[at - 1]
            at -= 1
        falling[at] = counts[first + s]
    tail = np.int64(n)
    for s in range(min(one["count"] - 1, last - first)):
        tail -= falling[s]
    return falling[0] * one["denominator"] < one["numerator"] * tail


@inlined
def _js(rows: int, overall: Ints, plogq: float, n: int, counts: Ints, first: int, last: int) -> float:
    """JS = 1/2 (sum p ln p + sum q ln q) - sum m ln m with m = (p + q) / 2."""
    ours, middle = 0.0, 0.0
    for s in range(first, last):
        p, q = counts[s] / n, overall[s] / rows
        if p > 0.0:
            ours += p * log(p)
        if p + q > 0.0:
            middle += 0.5 * (p + q) * log(0.5 * (p + q))
    return 0.5 * (ours + plogq) - middle


@inlined
def _emd_at_most(one: np.void, edges: np.ndarray, rows: int, overall: Ints, n: int, counts: Ints, first: int) -> bool:
    """Sum over edges of length x |n_inside N - N_inside n|, kept as whole x nN + rest."""
    unit = n * rows
    most, over = one["numerator"] // one["denominator"], one["numerator"] % one["denominator"]
    whole, rest = np.int64(0), np.int64(0)
    inside, outside = np.int64(0), np.int64(0)
    low, high = np.int64(-1), np.int64(-1)
    for number in range(one["edge"], one["last_edge"]):
        edge = edges[number]
        if edge["low"] != low or edge["high"] < high:  # else go on from the last interval
            inside, outside, high = np.int64(0), np.int64(0), edge["low"]
        for s in range(first + high, first + edge["high"]):
            inside += counts[s]
            outside += overall[s]
        low, high = edge["low"], edge["high"]
        crossing = abs(inside * rows - outside * n)  # at most nN < 2^62
        for _ in range(edge["length"]):
            rest += crossing
            if rest >= unit:
                rest -= unit
                whole += 1
        if whole > most:
            return False
    return whole < most or (whole == most and product_at_most(rest, one["denominator"], over, unit))


@inlined
def _delta(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    for s in range(first, last):
        if overall[s] == 0:
            continue
        if counts[s] == 0:
            if one["absent_fails"]:
                return False
            continue
        lift = (counts[s] * rows) / (n * overall[s])
        if not one["low"] < lift < one["high"]:
            return False
    return True


@inlined
def _ratio(one: np.void, rows: int, overall: Ints, n: int, counts: Ints, first: int, last: int) -> bool:
    for s in range(first, last):
        left, right = counts[s] * rows, n * overall[s]
        if not product_at_most(left, one["denominator"], right, one["numerator"]):
            return False
    return True


@inlined
def holds(c: Conditions, n: int, counts: Ints, mass: float) -> bool:
    """Say whether a part of n rows with these sensitive counts satisfies the whole conjunction.

    `mass` is the population share of the part's box, which only a LINK condition reads.
    """
    for i in range(c.table.shape[0]):
        one = c.table[i]
        operation = one["operation"]
        if operation == SIZE:
            if n < one["count"]:
                return False
            continue
        if operation == LINK:
            if link_score(c.link, mass, counts, c.plogp) < c.link.alpha:  # no cells here: the last array is not read
                return False
            continue
        j = one["sensitive"]
        first, last = c.offset[j], c.offset[j + 1]
        if operation == DISTINCT:
            kept = _distinct(counts, first, last) >= one["count"]
        elif operation == FREQUENCY:
            kept = _largest(counts, first, last) * one["denominator"] <= n * one["numerator"]
        elif operation == ENTROPY:
            kept = _entropy(n, counts, first, last) >= one["low"] or _evenly(one, n, counts, first, last)
        elif operation == RECURSIVE:
            kept = _recursive(one, n, counts, first, last)
        elif operation == JS:
            near = _js(c.rows, c.overall, c.plogp[j], n, counts, first, last) <= one["high"]
            kept = near or _same(c.rows, c.overall, n, counts, first, last)
        elif operation == EMD:
            kept = _emd_at_most(one, c.edges, c.rows, c.overall, n, counts, first)
        elif operation == DELTA:
            kept = _delta(one, c.rows, c.overall, n, counts, first, last)
        elif operation == RATIO:
            kept = _ratio(one, c.rows, c.overall, n, counts, first, last)
        else:
            kept = False
        if not kept:
            return False
    return True


# The readable reference of `holds` and of `score.link_score`: exact fractions, one line for each definition.


def presence_of_all(rhos: Sequence[float], n: float, *, exact: bool = True) -> float:
    """Probability that all values occur among n draws: inclusion and exclusion, or the paper's product."""
    product = prod(1.0 if rho >= 1 else -expm1(n * log1p(-rho)) for rho in rhos)
    if not exact or product < 1e-9:
        return product
    total = 0.0
    for size in range(len(rhos) + 1):
        for subset in combinations(rhos, size):
            absent = sum(subset)
            total += (-1) ** size * (exp(n * log1p(-absent)) if absent < 1 else 0.0)
    return min(max(total, 0.0), product)


def linkage_score(link: Link, parts: Sequence[npt.ArrayLike], box: Sequence[tuple[int, int]] | None) -> float:
    """Score of a class with these counts of each sensitive column; no box is the whole domain."""
    mass = 1.0
    for a, (low, high) in enumerate(box or ()):
        if link.start.size > 1:
            mass *= float(link.prefix[link.start[a] + high] - link.prefix[link.start[a] + low])
    worst = 1.0
    for j, part in enumerate(parts):
        counts = np.asarray(part)
        share = link.share[link.offset[j] : link.offset[j + 1]]
        held = np.flatnonzero(counts)
        own = [counts[s] / link.rows if link.source == OWN else mass * share[s] for s in held]
        if len(held) < link.d:
            return 0.0
        if link.mode == ROBUST:
            rest = np.sort(share[held])[::-1][1:]
            if link.sizes.size == 1:
                worst = min(worst, further_values(np.ascontiguousarray(rest), link.d - 1, link.draws))
            else:
                worst = min(worst, presence_of_all(rest[: link.d - 1].tolist(), link.draws) ** link.sizes.size)
            continue
        best = sorted((float(rho) for rho in own), reverse=True)[: link.d]
        scores = (presence_of_all(best, float(n), exact=link.mode == EXACT) for n in link.sizes)
        worst = min(worst, prod(scores))
    return worst


Shares = list[Fraction]


def all_hold(
    conditions: Sequence[Condition],
    parts: Sequence[npt.ArrayLike],
    overall: Sequence[npt.ArrayLike],
    n: int,
    box: Sequence[tuple[int, int]] | None = None,
) -> bool:
    """Say whether a part of n rows, one array of counts per sensitive column, satisfies every condition.

    `box` is (low, high) for each attribute, None for the whole domain; only a LINK condition reads it.
    """
    for condition in conditions:
        if condition.operation == SIZE:
            held = n >= condition.count
        elif condition.operation == LINK:
            assert condition.link is not None
            held = linkage_score(condition.link, parts, box) >= condition.link.alpha
        else:
            held = one_holds(condition, parts[condition.sensitive], overall[condition.sensitive])
        if not held:
            return False
    return True


def one_holds(condition: Condition, part: npt.ArrayLike, overall: npt.ArrayLike) -> bool:
    """Say whether one condition on one sensitive column holds."""
    counts = [int(count) for count in np.asarray(part)]
    n, limit, p, q = sum(counts), condition.limit, _shares(counts), _shares(np.asarray(overall))
    falling = sorted(counts, reverse=True)
    match condition.operation:
        case code if code == DISTINCT:
            return sum(count > 0 for count in counts) >= condition.count
        case code if code == FREQUENCY:
            return falling[0] <= n * limit
        case code if code == ENTROPY:
            held = [count for count in counts if count]
            evenly = len(set(held)) == 1 and len(held) >= limit  # then the entropy is ln(codes), no rounding
            return evenly or -sum(float(x) * log(x) for x in p if x) >= condition.low
        case code if code == RECURSIVE:
            return falling[0] < limit * sum(falling[condition.count - 1 :])
        case code if code == JS:
            return p == q or jensen_shannon(p, q) <= condition.high
        case code if code == EMD:
            assert condition.ground is not None
            return earth_mover(p, q, condition.ground) <= limit
        case code if code == DELTA:
            return all(_discloses_little(condition, x, y) for x, y in zip(p, q, strict=True) if y)
        case code if code == RATIO:
            return all(x <= limit * y for x, y in zip(p, q, strict=True))
    raise AssertionError(condition.operation)


def jensen_shannon(p: Shares, q: Shares) -> float:
    """JS divergence in nats."""
    total = 0.0
    for x, y in zip(p, q, strict=True):
        middle = (x + y) / 2
        total += sum(float(share) * log(share / middle) for share in (x, y) if share) / 2
    return total


def earth_mover(p: Shares, q: Shares, ground: GroundEdges) -> Fraction:
    """Every edge carries the mass by which its two sides differ."""
    work = Fraction(0)
    for low, high, length in ground.edges:
        work += length * abs(sum(p[low:high], Fraction(0)) - sum(q[low:high], Fraction(0)))
    return work / ground.scale


def _discloses_little(condition: Condition, x: Fraction, y: Fraction) -> bool:
    if x == 0:
        return not condition.absent_fails
    return condition.low < float(x / y) < condition.high


def _shares(counts: npt.ArrayLike) -> Shares:
    whole = [int(count) for count in np.asarray(counts)]
    n = sum(whole)
    return [Fraction(count, n) if n else Fraction(0) for count in whole]
