"""Hierarchies that follow from a rule: widths of intervals, masked characters, calendar, dyadic halves."""

from __future__ import annotations

import bisect
import csv
import datetime as dt
import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sfumato.errors import Problem, count_of
from sfumato.limits import HIERARCHY_BYTES, LEAVES, MASK_CODES
from sfumato.raw_files import read_regular, western_encoding
from sfumato.schema.domain import Days, Domain, Edges, Grid, Values, decimal_text, whole_of
from sfumato.schema.tree import LEVELS_LIMIT, ROOT, Branch, Tree, branch_from_paths, grow

LEAVES_LIMIT = LEAVES  # named leaves held in memory; a grid has none
DYADIC_DEPTH = 4  # down to 1/16 of the range

DateLevel = Literal["week", "month", "quarter", "year", "decade"]
CALENDAR_STEPS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}  # in months


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
    return ((day.year * 12 + day.month - 1) // CALENDAR_STEPS[level],)


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


_NO_BLANKS = (
    'letters and digits only; codes with a blank ("3511 AA") are listed in `values` beside the mask, put together in '
    "`groups`, or written without the blank in the file"
)


def masked(
    values: Sequence[str] | None, length: int, side: str, alphabet: str, where: str
) -> tuple[Branch, list[Problem]]:
    """50951 -> 5095* -> 509** -> ...; without declared values, all texts of that length over the alphabet."""
    if values is None:
        if any(letter == "*" or letter.isspace() or not letter.isprintable() for letter in alphabet):
            return Branch(ROOT, []), [
                Problem(where, "the alphabet holds a star, a blank or a control character", _NO_BLANKS)
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


# All codes of one length as a rule, so that a manifest says "five digits" and does not list 100,000 codes.

RULE_LIMIT = MASK_CODES  # codes a manifest may ask its reader to make; more are listed in it one by one


@dataclass(frozen=True, slots=True)
class Mask:
    """Every text of `length` letters of the alphabet; characters are hidden from one side on."""

    length: int
    _: KW_ONLY
    side: Literal["right", "left"]
    alphabet: str

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int(len(set(self.alphabet)) ** self.length)

    def grown(self, missing: str | None) -> tuple[Values, Tree]:
        """Return the codes and their tree, as the schema builds them."""
        if not 1 <= self.length <= 64 or not self.alphabet or self.size > RULE_LIMIT:
            msg = "the rule makes no codes, or too many"
            raise ValueError(msg)
        branch, problems = masked(None, self.length, self.side, self.alphabet, "mask")
        if problems:
            raise ValueError(problems[0].rule)
        tree, names = grow(branch, missing=missing)
        return Values(names), tree

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, worded as in a schema file."""
        return {"length": self.length, "from": self.side, "alphabet": self.alphabet}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mask:
        """Return the rule that `to_json` wrote."""
        if data["from"] not in ("right", "left") or not isinstance(data["alphabet"], str):
            msg = "is not a mask"
            raise ValueError(msg)
        return cls(whole_of(data["length"]), side=data["from"], alphabet=data["alphabet"])


# Hierarchy files: ARX's (`value;group;...;*`, ragged or padded) exactly as they come, and plain CSV.
#
# A file whose header is `value,parent` or `child,parent` is read as a list of edges.

_QUOTED = re.compile(r'"[^"]*"')
_ENDLESS = -1  # in place of a depth: the way up leads into a cycle
_EDGE_HEADERS = {("value", "parent"), ("child", "parent")}


def read_text(path: Path, where: str, *, most: int = HIERARCHY_BYTES) -> tuple[str, list[Problem]]:
    """Return a small text file (UTF-8, else Latin-1 or Windows-1252), or the reason why it cannot be read."""
    try:
        raw, reason = read_regular(path, most=most), ""
    except (OSError, ValueError) as error:  # ValueError: a path that no file system takes
        raw, reason = b"", getattr(error, "strerror", None) or "no such file"
    if reason:
        hint = "check the path" if where == path.name else "check the path; it is relative to the schema file"
        return "", [Problem(where, f"the file {path.name} cannot be read ({reason})", hint)]
    if b"\0" in raw:
        return "", [Problem(where, f"the file {path.name} is not text", "save it as UTF-8 text, one value a line")]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode(western_encoding(raw)), []


def read_hierarchy(path: Path, where: str) -> tuple[Branch, list[Problem]]:
    """Read a hierarchy file; all problems at once."""
    text, problems = read_text(path, where)
    if problems:
        return Branch(ROOT, []), problems
    delimiter = _delimiter([line for line in re.split(r"[\r\n]", _QUOTED.sub("", text)) if line.strip()])
    try:
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [[cell.strip() for cell in row] for row in cells if len(row) > 1 or "".join(row).strip()]
    except csv.Error:
        return Branch(ROOT, []), [
            Problem(
                where,
                f"the file {path.name} is not a hierarchy",
                "write one line for each value: value;group;*",
            )
        ]
    if rows and tuple(cell.lower() for cell in rows[0]) in _EDGE_HEADERS:
        return _from_edges(rows[1:], where)
    return branch_from_paths([_trimmed(row) for row in rows], where)


def _delimiter(lines: Sequence[str]) -> str:
    """Return the separator most lines share; `;` (ARX's) wins where it occurs in every line."""
    for candidate in (";", "\t", ","):
        if lines and all(candidate in line for line in lines):
            return candidate
    return max((";", "\t", ","), key=lambda mark: sum(mark in line for line in lines))


def _trimmed(row: list[str]) -> list[str]:
    """Drop the empty cells that end a ragged line."""
    while len(row) > 1 and row[-1] == "":
        row = row[:-1]
    return row


def _from_edges(rows: Sequence[Sequence[str]], where: str) -> tuple[Branch, list[Problem]]:
    parents: dict[str, str] = {}
    twice: dict[str, None] = {}
    empty = 0
    for row in rows:
        if len(row) < 2 or not row[0] or not row[1]:
            empty += 1
        elif parents.setdefault(row[0], row[1]) != row[1]:
            twice[row[0]] = None
    problems = []
    if empty:
        problems.append(
            Problem(
                where,
                f"{count_of(empty, 'line has', 'lines have')} an empty node",
                "write value,parent on every line",
                count=empty,
            )
        )
    if twice:
        problems.append(
            Problem(
                where,
                f"{count_of(len(twice), 'value stands', 'values stand')} under two parents",
                "keep one parent for each value",
                count=len(twice),
                values=tuple(twice),
            )
        )
    inner = set(parents.values())
    paths: list[list[str]] = []
    loops: dict[str, None] = {}
    depth: dict[str, int] = {}  # steps to the top; each name is walked once, however many lie below it
    for leaf in [name for name in parents if name not in inner]:
        way, at = {leaf: None}, leaf
        while at not in depth and at in parents and parents[at] not in way:
            at = parents[at]
            way[at] = None
        if at not in depth and at in parents:  # its parent is already on the way
            loops.update(dict.fromkeys(list(way)[list(way).index(parents[at]) :]))
        steps = depth.get(at, _ENDLESS if at in parents else 0)
        for above, name in enumerate(reversed(way)):
            depth[name] = _ENDLESS if steps == _ENDLESS else steps + above
        if steps == _ENDLESS:
            continue
        path = [leaf]
        while path[-1] in parents and len(path) <= LEVELS_LIMIT + 1:  # a longer one is refused for its length
            path.append(parents[path[-1]])
        paths.append(path)
    cycles = (*loops, *(name for name in parents if name not in depth))
    if cycles:
        problems.append(
            Problem(
                where,
                f"{count_of(len(cycles), 'name is its', 'names are their')} own ancestor (a cycle)",
                "follow the parents up: they must end at *",
                count=len(cycles),
                values=cycles,
            )
        )
    branch, more = branch_from_paths(paths, where) if paths or not problems else (Branch(ROOT, []), [])
    return branch, problems + more


def arx_lines(tree: Tree, leaves: Sequence[str]) -> list[str] | None:
    """Return an ARX hierarchy file, one line a leaf, all of one length; None if no such file means this tree.

    Short lines end in more `*`, or begin with the leaf repeated where only that keeps equal names apart.
    Cells of a grid that are not a node of the tree hang below the narrowest interval that holds them.
    """
    ways = []
    for code, leaf in enumerate(leaves):
        node, way = tree.ancestor(code, code + 1), []
        if tree.high[node] - tree.low[node] != 1 or node == 0:
            way.append(leaf)
        while node != 0:
            way.append(tree.names[node])
            node = int(tree.parent[node])
        ways.append(way)
    depth = max((len(way) for way in ways), default=0)
    ended = [[*way, *[ROOT] * (depth - len(way) + 1)] for way in ways]
    begun = [[*way[:1] * (depth - len(way)), *way, ROOT] for way in ways]
    for rows in (ended, begun):
        branch, problems = branch_from_paths(rows, "")
        if not problems and list(branch.leaves()) == list(leaves):
            return [";".join(_quoted(cell) for cell in row) for row in rows]
    return None


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ';"\r\n') else cell
