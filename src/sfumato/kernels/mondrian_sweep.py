"""The compiled `best` rule: every allowed cut of every attribute, by one sweep per attribute.

Source    Ours (docs/theory/partition.md); LeFevre, DeWitt & Ramakrishnan, Mondrian, ICDE 2006 (the frame).
Claim     of all allowed cuts the one with the least cost is chosen; ties go to the first attribute, then
          to the lowest cut. cost(part) = sum over attributes of n (w - 1) / (size - 1) + weight x excess / w,
          w codes in the label, excess = sum over codes of max(0, count x w - n).
Because   excess / w is n x the total variation from uniform over the label: what a reader who spreads
          the rows evenly over the label gets wrong. Rows move from right to left in the order of one
          attribute, so the counts of all attributes on both sides are at hand at each cut.
Checked   tests/claims/test_mondrian_kernel.py::test_compiled_equals_the_twin
          tests/claims/test_mondrian_kernel.py::test_chosen_cut_is_the_cheapest_of_all_cuts
Silent on the best partition: the rule is greedy. An empty stretch between two codes is given whole to one side.
Cost      per part rows x attributes^2, and cuts x codes that occur; many codes: rows and cuts x log (mondrian_excess).
"""

# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# Compiled code: numba's int64 is no `int` to mypy, and arrays are passed one by one because a compiled call with many
# arrays in a tuple costs more than the work it does.

from __future__ import annotations

import numpy as np

from sfumato.kernels.cache import inlined
from sfumato.kernels.conditions import Conditions
from sfumato.kernels.conditions_check import holds
from sfumato.kernels.mondrian_counts import add_sensitive, count_codes, sort_rows
from sfumato.kernels.mondrian_excess import begin_sweep, excess, note_move, occupied
from sfumato.kernels.mondrian_layout import BOX, ON, SET, Codes, Ints, Layout, Part, Scratch
from sfumato.kernels.mondrian_median import held_back, side_mass

__all__ = ["choose_best"]


@inlined
def _tight_widths(
    s: Scratch, trees: bool, b: int, one: np.void, code: Codes, left: Codes, whole: Codes, first: int, last: int
) -> tuple[int, int]:
    """Return how many codes the tight label has on the left and on the right."""
    if trees:
        some, other_side, span, other_span = occupied(s, b, code)
        widths = (some, other_side) if one["label"] == SET else (span, other_span)
    elif one["label"] == SET:
        found, other = np.int32(0), np.int32(0)
        for at in range(first, last):
            found += np.int32(left[at] > 0)
            other += np.int32(whole[at] > left[at])
        widths = np.int64(found), np.int64(other)
    else:
        low, high, low_right, high_right = first, last - 1, first, last - 1
        while low < high and left[low] == 0:
            low += 1
        while low < high and left[high] == 0:
            high -= 1
        while low_right < high_right and left[low_right] == whole[low_right]:
            low_right += 1
        while low_right < high_right and left[high_right] == whole[high_right]:
            high_right -= 1
        widths = np.int64(code[high]) - code[low] + 1, np.int64(code[high_right]) - code[low_right] + 1
    if one["missing"] and code[last - 1] == one["codes"] - 1:
        on_left, on_right = left[last - 1] > 0, whole[last - 1] > left[last - 1]
        if on_left and widths[0] > 1:
            widths = one["codes"], widths[1]
        if on_right and widths[1] > 1:
            widths = widths[0], one["codes"]
    return widths


@inlined
def _term(codes: int, n: int, width: int, even: int, above: int, many: int, weight: float) -> float:
    """One term: n (w - 1) / (size - 1) + weight x excess / w, where `many` codes are `above` the even share in all."""
    excess = width * np.int64(above) + (width * np.int64(even) - n) * np.int64(many)
    return (n * (width - 1)) / (codes - 1) + weight * (excess / width)


@inlined
def _costs(
    s: Scratch,
    sweeping: bool,
    attribute: np.ndarray,
    box: np.ndarray,
    first: Ints,
    code: Codes,
    left: Codes,
    whole: Codes,
    n_left: int,
    n_right: int,
    a: int,
    position: int,
    weight: float,
    most: float,
) -> tuple[float, float]:
    """Costs of the two sides of a cut of attribute a at `position`; infinite once they reach `most`."""
    cost_left, cost_right = 0.0, 0.0
    for b in range(attribute.shape[0]):
        one, begin, end = attribute[b], first[b], first[b + 1]
        trees = sweeping and s.wide[b, ON] == 1
        if one["label"] != BOX:
            if end - begin == 1:
                continue
            width_left, width_right = _tight_widths(s, trees, b, one, code, left, whole, begin, end)
        elif b == a:
            width_left, width_right = position - box[b]["low"], box[b]["high"] - position
        else:
            width_left = box[b]["high"] - box[b]["low"]
            width_right = width_left
        if one["codes"] == 1:
            continue
        width_left, width_right = max(width_left, 1), max(width_right, 1)  # a side without rows
        even_left, even_right = np.int32(n_left / width_left), np.int32(n_right / width_right)  # exact below 2^31
        above_left, above_right, many_left, many_right = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        if trees:
            all_left, number_left = excess(s, b, 0, np.int64(even_left))
            all_right, number_right = excess(s, b, 1, np.int64(even_right))
            above_left, above_right = np.int32(all_left), np.int32(all_right)
            many_left, many_right = np.int32(number_left), np.int32(number_right)
        for at in range(begin, begin if trees else end):
            over_left = np.int32(left[at] - even_left)
            over_right = np.int32(np.int32(whole[at] - left[at]) - even_right)
            above_left += np.int32(max(over_left, np.int32(0)))
            above_right += np.int32(max(over_right, np.int32(0)))
            many_left += np.int32(over_left > 0)
            many_right += np.int32(over_right > 0)
        cost_left += _term(one["codes"], n_left, width_left, even_left, above_left, many_left, weight)
        cost_right += _term(one["codes"], n_right, width_right, even_right, above_right, many_right, weight)
        if cost_left + cost_right >= most:
            return np.inf, np.inf
    return cost_left, cost_right


@inlined
def _move(part: Part, s: Scratch, sweeping: bool, offset: Ints, begin: int, end: int) -> int:
    """Move rows order[begin:end] to the left; return their weight."""
    rows, weights, order, place, left, sensitive = part.rows, part.weights, s.order, s.place, s.left, s.sensitive
    q, half = place.shape[1], sensitive.size // 3
    moved = np.int64(0)
    for at in range(begin, end):
        i = order[at]
        weight = weights[i]
        moved += weight
        for b in range(q):
            left[place[i, b]] += weight
            if sweeping and s.wide[b, ON] == 1:
                note_move(s, b, place[i, b], weight)
        for j in range(offset.size - 1):
            sensitive[half + offset[j] + rows[i, q + j]] += weight
    return moved


@inlined
def _clear(left: Codes, codes: int, sensitive: Ints) -> None:
    for at in range(codes):
        left[at] = 0
    for at in range(sensitive.size // 3, 2 * (sensitive.size // 3)):
        sensitive[at] = 0


@inlined
def _take_right(sensitive: Ints) -> None:
    half = sensitive.size // 3
    for at in range(half):
        sensitive[2 * half + at] = sensitive[at] - sensitive[half + at]


@inlined
def _spared(
    c: Conditions, sensitive: Ints, box: np.ndarray, a: int, position: int, n_left: int, n_right: int, budget: int
) -> int:
    """-1: both sides hold; 0 or 1: that side may be suppressed, the other holds; 2: not allowed."""
    half = sensitive.size // 3
    mass = side_mass(c, box, a, box[a]["low"], position)
    left = n_left >= c.fewest and holds(c, n_left, sensitive[half : 2 * half], mass)
    if not left and n_left > budget:
        return 2
    mass = side_mass(c, box, a, position, box[a]["high"])
    right = n_right >= c.fewest and holds(c, n_right, sensitive[2 * half :], mass)
    if left and right:
        return -1
    if left and n_right <= budget:
        return 1
    return 0 if right else 2


@inlined
def _sweep_cuts(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, a: int, budget: int, weight: float, best: float
) -> float:
    """Try every cut of attribute a between two codes; return the least cost so far."""
    attribute, box, first, code, left, whole = t.attribute, part.box, s.first, s.code, s.left, s.whole
    begin, end, one = first[a], first[a + 1], attribute[a]
    lost = attribute.shape[0] * (1.0 + weight)  # what a suppressed row costs: every label *, nothing known
    only = end - 2 if one["missing"] and code[end - 1] == one["codes"] - 1 else -1  # values | missing
    sort_rows(s.place, part.rows.shape[0], a, begin, end, s.occurs, left, s.order)
    _clear(left, first[attribute.shape[0]], s.sensitive)
    begin_sweep(s, attribute.shape[0], a, part.rows.shape[0])
    n_left, row = np.int64(0), np.int64(0)
    for at in range(begin, end - 1):
        n_left += _move(part, s, True, c.offset, row, row + s.occurs[at])
        row += s.occurs[at]
        n_right = n - n_left
        if (n_left < c.fewest and n_left > budget) or (only >= 0 and at != only):
            continue
        if n_right < c.fewest and n_right > budget:
            if budget == 0:
                break
            continue
        _take_right(s.sensitive)
        most = np.int64(code[at + 1])
        least = np.int64(code[at]) + 1 if only < 0 else most  # missing alone: the empty stretch belongs to the values
        side = np.int64(-1)
        for turn in range(2 if one["label"] == BOX and most > least else 1):
            position = most if turn else least
            if budget > 0 and (turn == 0 or c.link.d > 0):  # the place of an empty stretch matters to LINK only
                side = _spared(c, s.sensitive, box, a, position, n_left, n_right, budget)
            if side == 2:
                continue
            limit = best if side < 0 else np.inf
            cost, other = _costs(
                s, True, attribute, box, first, code, left, whole, n_left, n_right, a, position, weight, limit
            )
            if side == 0:
                cost = n_left * lost
            elif side == 1:
                other = n_right * lost
            cost += other
            if cost < best:
                if budget == 0 and _spared(c, s.sensitive, box, a, position, n_left, n_right, budget) != -1:
                    if c.link.d > 0:
                        continue
                    break
                best = cost
                s.cut[0], s.cut[1], s.cut[2] = a, position, side
    return best


@inlined
def _try_children(
    t: Layout, c: Conditions, s: Scratch, part: Part, n: int, a: int, weight: float, best: float
) -> float:
    """Try to cut attribute a's node into its children; every child with rows must hold."""
    attribute, box, first, code, left, whole = t.attribute, part.box, s.first, s.code, s.left, s.whole
    parent, half = t.node[box[a]["node"]], s.sensitive.size // 3
    sort_rows(s.place, part.rows.shape[0], a, first[a], first[a + 1], s.occurs, left, s.order)
    cost, row, at = 0.0, np.int64(0), first[a]
    for x in range(parent["child"], parent["last_child"]):
        node = t.node[t.child[x]]
        begin = row
        while at < first[a + 1] and code[at] < node["high"]:
            row += s.occurs[at]
            at += 1
        if row == begin:
            continue
        _clear(left, first[attribute.shape[0]], s.sensitive)
        n_left = _move(part, s, False, c.offset, begin, row)
        mass = side_mass(c, box, a, node["low"], node["high"])
        if n_left < c.fewest or not holds(c, n_left, s.sensitive[half : 2 * half], mass):
            return best
        position = box[a]["low"] + node["high"] - node["low"]  # the same width as the child
        n_right = n - n_left
        cost += _costs(
            s, False, attribute, box, first, code, left, whole, n_left, n_right, a, position, weight, np.inf
        )[0]
    if cost < best:
        best = cost
        s.cut[0], s.cut[1], s.cut[2] = a, -1, -1
    return best


@inlined
def choose_best(t: Layout, c: Conditions, s: Scratch, part: Part, n: int, budget: int, weight: float) -> bool:
    """Write the cheapest allowed cut to `s.cut`; False where no allowed cut lowers the cost."""
    first, sensitive, q = s.first, s.sensitive, t.attribute.shape[0]
    count_codes(part.rows, part.weights, part.box, first, s.code, s.place, s.order, s.seen, s.occurs, s.whole)
    for at in range(sensitive.size // 3):
        sensitive[at] = 0
    for i in range(part.rows.shape[0] if c.offset.size > 1 else 0):
        add_sensitive(part.rows[i], q, part.weights[i], c.offset, sensitive, 0)
    for a in range(q):  # missing leaves first: once its rows are scattered over parts, it never can
        last = first[a + 1] - 1
        mixed = t.attribute[a]["missing"] and last > first[a] and s.code[last] == t.attribute[a]["codes"] - 1
        if mixed and t.attribute[a]["root"] < 0 and _sweep_cuts(t, c, s, part, n, a, 0, weight, np.inf) < np.inf:
            return True
    start, _ = _costs(
        s,
        False,
        t.attribute,
        part.box,
        first,
        s.code,
        s.whole,
        s.whole,
        n,
        0,
        np.int64(0),
        part.box[0]["high"],
        weight,
        np.inf,
    )
    best = start
    for a in range(q):
        if first[a + 1] - first[a] < 2 or held_back(t, c, part.box, a):
            continue
        if t.attribute[a]["root"] < 0:
            best = _sweep_cuts(t, c, s, part, n, a, budget, weight, best)
        elif t.node[part.box[a]["node"]]["child"] < t.node[part.box[a]["node"]]["last_child"]:
            best = _try_children(t, c, s, part, n, a, weight, best)
    return best < start
