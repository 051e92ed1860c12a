"""Hierarchies that follow from a rule: widths of intervals, masked characters, calendar, dyadic halves."""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np

from sfumato.errors import Problem, count_of
from sfumato.limits import LEAVES, MASK_CODES
from sfumato.schema.domain import Days, Domain, Edges, Grid, decimal_text
from sfumato.schema.tree import ROOT, Branch, Tree

__all__ = ["LEAVES_LIMIT", "calendar", "dyadic", "flat", "half_open", "interval_name", "masked", "widths"]

LEAVES_LIMIT = LEAVES  # named leaves held in memory; a grid has none
DYADIC_DEPTH = 4  # down to 1/16 of the range

DateLevel = Literal["week", "month", "quarter", "year", "decade"]


def _nested(size: int, levels: Iterable[Sequence[int]], name: Callable[[int, int], str], missing: str | None) -> Tree:
    """Build a tree from ever finer lists of inner edges (each list holds the one before)."""
    known = [(0, size, ROOT, -1)]
    stages = [sorted(set(edges)) for edges in levels]

    def split(low: int, high: int, parent: int, stage: int) -> None:
        if stage == len(stages):
            return
        edges = stages[stage]
        inner = edges[bisect.bisect_right(edges, low) : bisect.bisect_left(edges, high)]
        if not inner:
            split(low, high, parent, stage + 1)
            return
        for start, end in itertools.pairwise([low, *inner, high]):
            known.append((start, end, name(start, end), parent))
            split(start, end, len(known) - 1, stage + 1)

    split(0, size, 0, 0)
    if missing is not None:
        if len(known) == 1:  # nothing was split, yet the values are a part of the root beside the missing ones
            known.append((0, size, name(0, size), 0))
        known.append((size, size + 1, missing, 0))
        known[0] = (0, size + 1, ROOT, -1)
    low, high, names, parent = zip(*known, strict=True)
    return Tree.of(low, high, parent, names)


def interval_name(domain: Domain, low: int, high: int) -> str:
    """Return `[20-40)` for numbers, `[2020-01-01..2020-02-01)` for days, a value for one cell."""
    return domain.text(low) if high - low == 1 else half_open(domain, low, high)


def half_open(domain: Domain, low: int, high: int) -> str:
    """Return the interval form also for one cell; listed values read `first..last`."""
    if isinstance(domain, Grid | Edges):
        return f"[{decimal_text(domain.edge(low))}-{decimal_text(domain.edge(high))})"
    if isinstance(domain, Days):
        return f"[{domain.edge(low).isoformat()}..{domain.edge(high).isoformat()})"
    return f"{domain.text(low)}..{domain.text(high - 1)}"


def dyadic(domain: Domain, missing: str | None) -> Tree:
    """Halve the range down to 1/16: the tree of an ordered attribute for which none was declared."""
    size = domain.size
    levels = [[size * part // 2**depth for part in range(1, 2**depth)] for depth in range(1, DYADIC_DEPTH + 1)]
    return _nested(size, levels, lambda low, high: interval_name(domain, low, high), missing)


def flat(size: int, names: Sequence[str], missing: str | None) -> Tree:
    """Leaves below a root."""
    extra = [missing] if missing is not None else []
    total = size + len(extra)
    low = np.concatenate([[0], np.arange(total)]).astype(np.int64)
    high = np.concatenate([[total], np.arange(1, total + 1)]).astype(np.int64)
    parent = np.concatenate([[-1], np.zeros(total)]).astype(np.int64)
    return Tree(low, high, parent, (ROOT, *names, *extra))


def widths(grid: Grid, steps: Sequence[Decimal], where: str, missing: str | None) -> tuple[Tree | None, list[Problem]]:
    """Equal intervals of the given widths, each a multiple of the one before, starting at the range's low end."""
    cells = []
    for width in sorted(set(steps)):
        count = Fraction(width) / Fraction(grid.step)
        if width <= 0 or count.denominator != 1:
            return None, [
                Problem(
                    where,
                    f"the width {decimal_text(width)} is not a multiple of the step {decimal_text(grid.step)}",
                    "use widths like 5, 10, 20 on a step of 1",
                )
            ]
        cells.append(int(count))
    for finer, coarser in itertools.pairwise(cells):
        if coarser % finer:
            return None, [
                Problem(
                    where,
                    "each width must be a multiple of the one before",
                    "5, 10, 20 works; 5, 12 does not",
                )
            ]
    if grid.size // cells[0] > LEAVES_LIMIT:
        rule = f"the smallest width makes {grid.size // cells[0]} intervals, more than can be listed"
        return None, [Problem(where, rule, "use larger widths")]
    levels = [list(range(width, grid.size, width)) for width in reversed(cells)]
    return _nested(grid.size, levels, lambda low, high: interval_name(grid, low, high), missing), []


def calendar(days: Days, levels: Sequence[DateLevel], missing: str | None) -> Tree:
    """Weeks, months, quarters, years, decades; coarse levels first."""
    order: list[DateLevel] = ["decade", "year", "quarter", "month", "week"]
    edges: list[list[int]] = []
    for level in [name for name in order if name in levels]:
        finer = [code for code in range(1, days.size) if _starts(days.edge(code - 1), days.edge(code), level)]
        edges.append(sorted({*finer, *(edges[-1] if edges else [])}))
    return _nested(days.size, edges, lambda low, high: _date_name(days, low, high), missing)


def _period(day: dt.date, level: DateLevel) -> tuple[int, ...]:
    if level == "week":
        return tuple(day.isocalendar()[:2])
    months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[level]
    return ((day.year * 12 + day.month - 1) // months,)


def _starts(before: dt.date, day: dt.date, level: DateLevel) -> bool:
    """True when a cell begins a new period (for cells of several days: when its first day lies in another)."""
    return _period(before, level) != _period(day, level)


def _date_name(days: Days, low: int, high: int) -> str:
    """Return `2020`, `2020-Q1`, `2020-03` for whole periods, the interval otherwise."""
    first, after = days.edge(low), days.edge(high)
    if first.day == 1 and after.day == 1:
        months = (after.year - first.year) * 12 + after.month - first.month
        if months == 12 and first.month == 1:
            return f"{first.year:04d}"
        if months == 3 and first.month % 3 == 1:
            return f"{first.year:04d}-Q{first.month // 3 + 1}"
        if months == 1:
            return f"{first.year:04d}-{first.month:02d}"
    return interval_name(days, low, high)


def _said(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{len(str(number)) - 1}"


def masked(
    values: Sequence[str] | None, length: int, side: str, alphabet: str, where: str
) -> tuple[Branch, list[Problem]]:
    """50951 -> 5095* -> 509** -> ...; without declared values, all texts of that length over the alphabet."""
    if values is None:
        if any(letter == "*" or letter.isspace() or not letter.isprintable() for letter in alphabet):
            return Branch(ROOT, []), [
                Problem(where, "the alphabet holds a star, a blank or a control character", "letters and digits only")
            ]
        total = len(set(alphabet)) ** length
        if total > MASK_CODES:
            return Branch(ROOT, []), [
                Problem(
                    where,
                    f"the mask spans {_said(total)} values, more than can be listed ({MASK_CODES:,})",
                    "declare the attribute's `values`",
                )
            ]
        values = ["".join(letters) for letters in itertools.product(sorted(set(alphabet)), repeat=length)]
    wrong = [value for value in values if len(value) != length]
    if wrong:
        return Branch(ROOT, []), [
            Problem(
                where,
                f"{count_of(len(wrong), 'value is', 'values are')} not {count_of(length, 'character')} long",
                "pad the values, or change the mask's length",
                count=len(wrong),
                values=tuple(wrong),
            )
        ]
    starred = tuple(value for value in values if "*" in value)
    if starred:
        return Branch(ROOT, []), [
            Problem(
                where,
                f"{count_of(len(starred), 'value holds', 'values hold')} a star, which stands for a masked character",
                "replace the star in the values",
                count=len(starred),
                values=starred,
            )
        ]
    root = Branch(ROOT, [])
    nodes: dict[str, Branch] = {}
    for value in values:
        above = root
        for kept in range(1, length + 1):
            name = (
                value[:kept] + "*" * (length - kept)
                if side == "right"
                else "*" * (length - kept) + value[length - kept :]
            )
            branch = nodes.get(name)
            if branch is None:
                branch = nodes[name] = Branch(name, [])
                above.children.append(branch)
            above = branch
    return root, []
