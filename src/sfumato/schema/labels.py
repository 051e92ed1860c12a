"""The distinct labels of one attribute in one release: each a sorted union of half-open code intervals."""

from __future__ import annotations

import bisect
import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.schema.attribute import KNOWN, MISSING, Attribute
from sfumato.schema.domain import Days, Edges, Grid, Values, decimal_or_none
from sfumato.schema.formats import looks_like_day, parse_day
from sfumato.schema.hierarchies import half_open, interval_name
from sfumato.schema.tree import ROOT

# Names of labels and back: `Professional`, `[20-40)`, `Divorced | Widowed`, `*`.
#
# What we write can be read back to the same codes: a name is used only where reading it gives those codes.
# Reading also takes what other tools write: `[20, 40[`, `20-40` (both ends included, as ARX and anonypy mean it),
# `>=40`, `{a, b}`, `509**`. A table of others may write bare days and numbers as the attribute's file does
# (`written`):
# 5,5 is then five and a half where the schema says so, never the pair 5 to 5, and days are read in `format`.

Intervals = tuple[tuple[int, int], ...]
_Reader = Callable[[Attribute, str], Intervals | None]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}"
_PAIR = re.compile(
    rf"^([\[\](]?)\s*({_DATE}|{_NUMBER})\s*(?:\.\.|-|–|,|;|:|\bto\b)\s*({_DATE}|{_NUMBER})\s*([\])\[]?)$", re.ASCII
)
_BOUND = re.compile(rf"^(>=|<=|>|<|≥|≤)\s*({_DATE}|{_NUMBER})$", re.ASCII)
_MOST_INTERVAL = 200  # characters of an interval: two numbers of 30 digits on either side of the point are shorter
_BAR = " | "
# A bar that stands alone would read as the sign between two names; a backslash before a bar or backslash as an escape.
_TO_ESCAPE = re.compile(r"\\(?=[\\|])|(?<![^ ])\|(?![^ ])")
_ESCAPE = re.compile(r"\\([\\|])")


def merged(intervals: Iterable[tuple[int, int]]) -> Intervals:
    """Sort and join touching intervals."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def label_name(attribute: Attribute, intervals: Sequence[tuple[int, int]]) -> str:
    """Name a label, given as sorted disjoint code intervals."""
    return _BAR.join(
        _TO_ESCAPE.sub(r"\\\g<0>", name) for low, high in intervals for name in _names(attribute, low, high)
    )


def _names(attribute: Attribute, low: int, high: int) -> list[str]:
    """Names whose union is `[low, high)`; one name where there is one that reads back."""
    missing = attribute.missing_code
    if (low, high) == (0, attribute.size):
        return [ROOT]
    if (low, high) == (0, missing):
        return [KNOWN]
    if missing is not None and high == missing + 1:
        return [*(_names(attribute, low, missing) if low < missing else []), MISSING]
    tree = attribute.nodes
    node = tree.by_interval.get((low, high))
    candidates = [tree.names[node]] if node is not None else []
    if high - low == 1 or attribute.ordered:
        candidates.append(interval_name(attribute.values, low, high))
    for name in candidates:
        if _read(attribute, name) == ((low, high),):
            return [name]
    if high - low == 1:
        return [half_open(attribute.values, low, high)]  # the cell's number is also a text that means missing
    return [name for part in _cover(attribute, low, high) for name in _names(attribute, *part)]


def _cover(attribute: Attribute, low: int, high: int) -> list[tuple[int, int]]:
    """Split `[low, high)` at the borders of the children of the narrowest node that holds it and has several."""
    tree = attribute.nodes
    node = tree.ancestor(low, high)
    below = tree.children[node]
    first = max(bisect.bisect_right(below, low, key=tree.low.__getitem__) - 1, 0)
    last = bisect.bisect_left(below, high, key=tree.low.__getitem__)
    parts = [(max(low, int(tree.low[c])), min(high, int(tree.high[c]))) for c in below[first:last]]
    return parts or [(code, code + 1) for code in range(low, high)]


def is_ambiguous(attribute: Attribute, text: str) -> bool:
    """True when a name stands for different sets of values on different levels of the hierarchy."""
    return len(attribute.nodes.by_name.get(text.strip(), ())) > 1


def parse_label(attribute: Attribute, text: str, *, written: bool = False) -> Intervals | None:
    """Return the codes a label stands for, None when it cannot be understood.

    A name that stands on several levels is read as the lowest, as we write it. With `written`, a bare day or number
    is read as the attribute's file writes it (`format`, `decimal`); our own labels are ISO and have points.
    """
    text = text.strip()
    parts = text.split(_BAR)
    read = _read_written if written else _read
    return (
        (_union(attribute, [_unescaped(part) for part in parts], read) if len(parts) > 1 else None)
        or read(attribute, _unescaped(text))
        or read(attribute, text)
        or _parse_braces(attribute, text, read)
    )


def _unescaped(name: str) -> str:
    return _ESCAPE.sub(r"\1", name)


def _union(attribute: Attribute, names: Sequence[str], read: _Reader) -> Intervals | None:
    found = [read(attribute, name.strip()) for name in names] if len(names) <= attribute.size else [None]
    if not all(found):
        return None
    return merged(interval for part in found if part is not None for interval in part)


def _parse_braces(attribute: Attribute, text: str, read: _Reader) -> Intervals | None:
    """Read `{a, b}` and `{a; b}`, as other tools write a set; with commas in numbers {1,5} may be one number or two."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    commas = attribute.numbers.commas and read is _read_written
    if commas and "," in text and ";" not in text and ", " not in text:
        return None
    for mark in (", ", ";") if commas else (",", ";"):
        found = _union(attribute, [part.strip().strip("'\"") for part in text[1:-1].split(mark)], read)
        if found is not None:
            return found
    return None


def _read(attribute: Attribute, name: str) -> Intervals | None:
    """Read one name, without escapes."""
    return _parse_name(attribute, name) or _parse_interval(attribute, name) or _parse_mask(attribute, name)


def _read_written(attribute: Attribute, name: str) -> Intervals | None:
    """Read one name, a bare day or number as the attribute's file writes it."""
    texts = attribute.missing.texts if attribute.missing else ()
    form, domain = attribute.format, attribute.values
    code = None
    if form is not None and looks_like_day(name, form):
        day = parse_day(name, form)
        gone = day is not None and any(parse_day(text, form) == day for text in texts)
        code = None if day is None else domain.code(day.isoformat())
    elif not attribute.numbers.plain and (number := attribute.numbers.number(name)) is not None:
        gone = any(attribute.numbers.number(text) == number for text in texts)
        code = domain.code(str(number))
    else:
        return _read(attribute, name)
    code = attribute.missing_code if gone else code
    return None if code is None else ((code, code + 1),)


def _parse_name(attribute: Attribute, text: str) -> Intervals | None:
    if text == ROOT:
        return ((0, attribute.size),)
    missing = attribute.missing_code
    if missing is not None:
        if text == MISSING or (attribute.missing is not None and text in attribute.missing.texts):
            return ((missing, missing + 1),)
        if text == KNOWN:
            return ((0, missing),)
    code = attribute.values.code(attribute.same.get(text, text))
    if code is not None:
        return ((code, code + 1),)
    tree = attribute.nodes
    nodes = tree.by_name.get(text)
    if nodes is None:
        return None
    node = min(nodes, key=lambda n: int(tree.high[n] - tree.low[n]))
    return ((int(tree.low[node]), int(tree.high[node])),)


def _parse_interval(attribute: Attribute, text: str) -> Intervals | None:
    domain = attribute.values
    if isinstance(domain, Values) and len(text) <= 2 * domain.longest + 2:
        for dots in re.finditer(r"(?=\.\.)", text):
            first, last = domain.code(text[: dots.start()]), domain.code(text[dots.start() + 2 :])
            if first is None or last is None:
                continue
            if first == last or (attribute.ordered and first < last):  # a..a: a value whose name reads as missing
                return ((first, last + 1),)
    if len(text) > _MOST_INTERVAL:
        return None
    pair = _PAIR.match(text)
    if pair:
        opening, low, high, closing = pair.groups()
        return _between(attribute, low, high, opening in ("", "["), closing in ("", "]"))
    bound = _BOUND.match(text)
    if bound:
        sign, end = bound.groups()
        low, high = (end, None) if sign in (">", ">=", "≥") else (None, end)
        return _between(attribute, low, high, sign != ">", sign != "<")
    return None


def _between(
    attribute: Attribute, low: str | None, high: str | None, from_low: bool, to_high: bool
) -> Intervals | None:
    """Return the codes between two ends written as text; a None is an open end, what is not a number fails."""
    domain = attribute.values
    read: Callable[[str], Any] = _day if isinstance(domain, Days) else decimal_or_none
    first, last = (None if end is None else read(end) for end in (low, high))
    if (first is None and low is not None) or (last is None and high is not None):
        return None
    if isinstance(domain, Values):
        return _listed_between(domain, first, last, from_low, to_high)
    start = 0 if first is None else _start(domain, first, from_low)
    end = domain.size if last is None else _end(domain, last, to_high)
    start, end = max(start, 0), min(end, domain.size)
    return ((start, end),) if start < end else None


def _start(domain: Grid | Edges | Days, first: Any, included: bool) -> int:
    """Return the first code of an interval; a cell that is cut counts."""
    if isinstance(domain, Days):
        return domain.place(first, 0 if included else 1)
    if isinstance(domain, Edges):
        return bisect.bisect_right(domain.points, first) - 1
    return math.floor(domain.place(first)) + (domain.whole and not included)


def _end(domain: Grid | Edges | Days, last: Any, included: bool) -> int:
    """Return the code after the last of an interval; a cell that is cut counts."""
    if isinstance(domain, Days):
        return domain.place(last, 0 if included else -1) + 1
    if isinstance(domain, Edges):
        return (bisect.bisect_right if included else bisect.bisect_left)(domain.points, last)
    return math.floor(domain.place(last)) + 1 if included else math.ceil(domain.place(last))


def _listed_between(
    domain: Values, low: Decimal | None, high: Decimal | None, from_low: bool, to_high: bool
) -> Intervals | None:
    """Return the values of a list that are numbers between two ends, wherever they stand in it."""
    found = []
    for code, name in enumerate(domain.names):
        number = decimal_or_none(name)
        if number is None:
            continue
        above = low is None or number > low or (from_low and number == low)
        below = high is None or number < high or (to_high and number == high)
        if above and below:
            found.append((code, code + 1))
    return merged(found) or None


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def _parse_mask(attribute: Attribute, text: str) -> Intervals | None:
    """Read `509**`: each star is one character."""
    if "*" not in text or not isinstance(attribute.domain, Values) or len(text) > attribute.domain.longest:
        return None
    pattern = re.compile(re.escape(text).replace(r"\*", "."), re.DOTALL)
    found = [code for code, name in enumerate(attribute.domain.names) if pattern.fullmatch(name)]
    return merged((code, code + 1) for code in found) if found else None


@dataclass(frozen=True)
class Labels:
    """Label i is the union of `[starts[j], ends[j])` for j in `offsets[i] .. offsets[i + 1] - 1`."""

    attribute: Attribute
    offsets: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.offsets, self.starts, self.ends):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_hulls(cls, attribute: Attribute, low: np.ndarray, high: np.ndarray) -> tuple[Labels, np.ndarray]:
        """Return the distinct intervals, in order, and the label id of each given one."""
        span = np.int64(attribute.size) + 1
        keys, ids = np.unique(np.asarray(low, np.int64) * span + np.asarray(high, np.int64), return_inverse=True)
        labels = cls(attribute, np.arange(len(keys) + 1), keys // span, keys % span)
        return labels, ids.astype(np.int32)

    @classmethod
    def from_sets(cls, attribute: Attribute, sets: Sequence[Intervals]) -> tuple[Labels, np.ndarray]:
        """Return the distinct labels, in order of their codes, and the label id of each given one."""
        distinct = sorted(set(sets))
        place = {intervals: at for at, intervals in enumerate(distinct)}
        lengths = np.array([len(intervals) for intervals in distinct], dtype=np.int64)
        flat = np.array([pair for intervals in distinct for pair in intervals], dtype=np.int64).reshape(-1, 2)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        labels = cls(attribute, offsets, flat[:, 0].copy(), flat[:, 1].copy())
        return labels, np.array([place[intervals] for intervals in sets], dtype=np.int32)

    @classmethod
    def of_codes(cls, attribute: Attribute) -> Labels:
        """One label for each code: what an exact column publishes."""
        codes = np.arange(attribute.size, dtype=np.int64)
        return cls(attribute, np.arange(attribute.size + 1, dtype=np.int64), codes, codes + 1)

    @classmethod
    def exact(cls, attributes: Sequence[Attribute], codes: np.ndarray) -> tuple[tuple[Labels, ...], np.ndarray]:
        """Return one label for each code that occurs, by attribute, and the label ids of rows of codes."""
        found = [cls.from_hulls(one, codes[:, at], codes[:, at] + 1) for at, one in enumerate(attributes)]
        ids = np.empty((len(codes), len(found)), np.int32)
        for at, (_, column) in enumerate(found):
            ids[:, at] = column.reshape(-1)
        return tuple(labels for labels, _ in found), ids

    @classmethod
    def joined(cls, attribute: Attribute, parts: Sequence[tuple[Labels, np.ndarray]]) -> tuple[Labels, np.ndarray]:
        """Return the labels that some ids of several tables use, and all ids in it; an id of -1 stays -1."""
        taken, ids, count = [], [], 0
        for table, column in parts:
            used, places = np.unique(column[column >= 0], return_inverse=True)
            taken.append(table.take(used))
            numbered = np.full(len(column), -1, np.int32)
            numbered[column >= 0] = places.reshape(-1) + count
            ids.append(numbered)
            count += len(used)
        none = np.zeros(0, np.int64)
        lengths = np.concatenate([none, *(np.diff(table.offsets) for table in taken)])
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        starts = np.concatenate([table.starts for table in taken]) if taken else none
        ends = np.concatenate([table.ends for table in taken]) if taken else none
        return cls(attribute, offsets, starts, ends), np.concatenate([none.astype(np.int32), *ids])

    def intervals(self, label: int) -> Intervals:
        """Return the intervals of one label."""
        part = slice(int(self.offsets[label]), int(self.offsets[label + 1]))
        return tuple(zip(self.starts[part].tolist(), self.ends[part].tolist(), strict=True))

    @cached_property
    def size(self) -> np.ndarray:
        """How many codes each label holds."""
        return np.add.reduceat(self.ends - self.starts, self.offsets[:-1]) if len(self) else np.zeros(0, np.int64)

    @cached_property
    def low(self) -> np.ndarray:
        """First code of each label."""
        return np.asarray(self.starts[self.offsets[:-1]])

    @cached_property
    def high(self) -> np.ndarray:
        """Code after the last of each label."""
        return np.asarray(self.ends[self.offsets[1:] - 1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the public reads."""
        return tuple(label_name(self.attribute, self.intervals(label)) for label in range(len(self)))

    def name(self, label: int) -> str:
        """What the public reads of one label; `names` would write out all of them."""
        return label_name(self.attribute, self.intervals(label))

    def take(self, labels: np.ndarray) -> Labels:
        """Return the table of some of the labels, in the order given."""
        lengths = np.diff(self.offsets)[labels]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        pieces = np.repeat(self.offsets[:-1][labels] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Labels(self.attribute, offsets, self.starts[pieces], self.ends[pieces])

    def below(self, codes: np.ndarray) -> np.ndarray:
        """Return how many codes of each label lie below each of some codes: labels x codes."""
        codes = np.asarray(codes, np.int64)
        found = np.empty((len(self), len(codes)), np.int64)
        single = len(self.starts) == len(self)
        for label in range(0 if single else len(self)):
            first, last = int(self.offsets[label]), int(self.offsets[label + 1])
            starts, ends = self.starts[first:last], self.ends[first:last]  # rising
            begun = np.searchsorted(starts, codes, side="right")
            at = np.maximum(begun - 1, 0)
            before = np.cumsum(ends - starts, dtype=np.int64) - (ends - starts)
            found[label] = np.where(begun > 0, before[at] + np.minimum(codes, ends[at]) - starts[at], 0)
        if single:
            np.subtract(codes[None, :], self.starts[:, None], out=found)
            np.minimum(found, (self.ends - self.starts)[:, None], out=found)
            np.maximum(found, 0, out=found)
        return found

    def overlap(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return |label n [low, high)| as a labels x intervals matrix of code counts."""
        found = self.below(high)
        found -= self.below(low)
        return found

    def coverage(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return |label n [low, high)| / |label|: the share of a label a region holds under the uniform reading."""
        return np.asarray(self.overlap(low, high) / self.size[:, None])

    def within(self, label: int, codes: np.ndarray) -> np.ndarray:
        """Whether one label holds each of some codes: the last interval that starts at or before a code may."""
        here = slice(self.offsets[label], self.offsets[label + 1])
        starts, ends = self.starts[here], self.ends[here]
        before = np.searchsorted(starts, codes.astype(starts.dtype), side="right")
        return np.asarray((before > 0) & (codes < ends[before - 1]))

    def holds(self, codes: np.ndarray) -> np.ndarray:
        """Return a labels x codes matrix: does the label hold the code?"""
        codes = np.asarray(codes, np.int64)
        return self.overlap(codes, codes + 1) > 0
