"""From published text back to boxes in groups: our own files, and anybody's published table (`read`).

Each distinct text of a column is read once. Labels are understood as `schema.parse_label` says: `[20, 40[`, `20-40`,
`>=40`, `*`, `{a, b}`, masks, names. Of somebody else's table rows are of one class where their texts are the same, not
where they only mean the same: readers can tell them apart. Bare days and numbers are read as the schema says that the
table's file writes them, or ISO and with a point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.claims import Claim, Nothing
from sfumato.errors import ParameterError, Problem, ReleaseError, count_of
from sfumato.release.files import TIMES, as_texts, distinct_texts, marked, opened, tally, unmarked, with_values
from sfumato.release.release import Release, assemble, summed
from sfumato.schema import Attribute, Labels, Schema, parse_label
from sfumato.schema.labels import Intervals, is_ambiguous

_NUMBER = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)
_FROM_TO = re.compile(r"\s*([0-9.,]+)\s*[-\N{EN DASH}]\s*([0-9.,]+)\s*")
_MOST = 1 << 62  # of all counts together


def single_code(intervals: Intervals | None) -> int | None:
    """Return the code of a label that holds exactly one."""
    if intervals is None or len(intervals) != 1 or intervals[0][1] - intervals[0][0] != 1:
        return None
    return intervals[0][0]


def dense(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Number the distinct combinations of several columns of small whole numbers."""
    key = np.zeros(rows, np.int64)
    for column in columns:
        span = int(column.max()) + 1 if rows else 1
        _, key = np.unique(key * span + column, return_inverse=True)
    return key.astype(np.int64)


@dataclass(slots=True)
class TextReader:
    """Reads columns of labels and of values; problems gather, none stops the reading.

    `foreign` also takes what other tools mean: a blank cell is a missing value, and a name that stands
    on several levels of the hierarchy is asked for rather than guessed. Two texts that mean the same are two labels,
    and a note says so. Days and numbers may be written as the
    schema's `format` and `decimal` say, but for the attributes `plain`, whose columns hold typed days.
    """

    foreign: bool = False
    _: KW_ONLY
    plain: frozenset[str] = frozenset()
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def labels(self, attribute: Attribute, texts: pl.Series) -> tuple[Labels, np.ndarray]:
        """Return the labels of a column and the label id of each row."""
        distinct, places = distinct_texts(texts)
        found = [self._label(attribute, text) for text in distinct]
        if self.foreign:
            found = self._settled(attribute, distinct, found)
        self._note(
            attribute, distinct, [label is None for label in found], "label cannot be read", "labels cannot be read"
        )
        whole: Intervals = ((0, attribute.size),)
        table, ids = Labels.from_sets(attribute, [label or whole for label in found])
        if self.foreign:
            table, ids = self._as_written(table, ids)
            self._note_shared_ends(attribute, distinct)
        return table, ids[places] if len(ids) else np.zeros(0, np.int32)

    def _as_written(self, table: Labels, ids: np.ndarray) -> tuple[Labels, np.ndarray]:
        """Make each text a label of its own: whoever reads the file can tell rows apart that only mean the same."""
        several = int((np.bincount(ids) > 1).sum()) if len(ids) else 0
        if several:
            written = count_of(several, "label is", "labels are")
            self.notes.append(
                f"{table.attribute.name}: {written} written in several ways; rows that are written differently are not "
                "of one class"
            )
        order = np.argsort(ids, kind="stable")
        return table.take(ids[order]), np.argsort(order).astype(np.int32)

    def _note_shared_ends(self, attribute: Attribute, texts: Sequence[str | None]) -> None:
        """Say how `20-40` is read where another label is `40-60`: whoever wrote them may have meant 20 to 39."""
        found = [match.groups() for text in texts if (match := _FROM_TO.fullmatch(text or "")) is not None]
        shared = {low for low, high in found if low != high} & {high for low, high in found if low != high}
        if shared:
            ends = count_of(
                len(shared),
                "number ends one label and begins another, and is",
                "numbers each end one label and begin another, and are",
            )
            self.notes.append(f"{attribute.name}: {ends} read as part of both; [20-40) leaves 40 out")

    def codes(self, attribute: Attribute, texts: pl.Series) -> np.ndarray:
        """Return the code of each row of a carried column."""
        distinct, places = distinct_texts(texts)
        found = [single_code(self._label(attribute, text)) for text in distinct]
        bad = [code is None for code in found]
        self._note(attribute, distinct, bad, "value is not in the domain", "values are not in the domain")
        codes = np.array([code or 0 for code in found], dtype=np.int32)
        return codes[places] if len(codes) else codes

    def _label(self, attribute: Attribute, text: str | None) -> Intervals | None:
        written = self.foreign and attribute.name not in self.plain
        found = None if text is None else parse_label(attribute, text, written=written)
        if found is None and self.foreign and text is not None and text != unmarked(text):
            found = parse_label(attribute, unmarked(text), written=written)  # a CSV file of ours, outside its folder
        if found is None and self.foreign and (text is None or not text.strip()):
            missing = attribute.missing_code
            return None if missing is None else ((missing, missing + 1),)
        return found

    def _note(
        self, attribute: Attribute, texts: Sequence[str | None], bad: Sequence[bool], one: str, many: str
    ) -> None:
        wrong = tuple("" if text is None else text for text, is_bad in zip(texts, bad, strict=True) if is_bad)
        if not wrong:
            return
        blank = any(not text.strip() for text in wrong)
        hint = (
            "blank cells: declare missing in the schema, or write * where a value was suppressed"
            if blank
            else "write them as the schema's hierarchy names them, [low-high), {a, b} or *"
        )
        self.problems.append(
            Problem(attribute.where, count_of(len(wrong), one, many), hint, count=len(wrong), values=wrong),
        )

    def _settled(
        self, attribute: Attribute, texts: Sequence[str | None], found: Sequence[Intervals | None]
    ) -> list[Intervals | None]:
        """Read names that stand on several levels by the one level on which the whole column stands."""
        unclear = [text for text in texts if text is not None and is_ambiguous(attribute, text)]
        if not unclear:
            return list(found)
        readings = _by_level(attribute, [text for text in texts if text is not None])
        if len(readings) == 1:
            settled = readings[0]
            return [settled.get(text or "", known) for text, known in zip(texts, found, strict=True)]
        stand = count_of(len(unclear), "name stands", "names stand")
        rule = f"{stand} for different values on different levels of the hierarchy"
        hint = "rename them in the hierarchy and in the file"
        self.problems.append(Problem(attribute.where, rule, hint, count=len(unclear), values=tuple(unclear)))
        return list(found)


def _by_level(attribute: Attribute, texts: Sequence[str]) -> list[dict[str, Intervals]]:
    """Return each way to read all names of a column on one level of the tree (`*` and missing apart)."""
    tree = attribute.nodes
    named = [text for text in texts if text.strip() in tree.by_name and tree.by_name[text.strip()] != (0,)]
    ways: list[dict[str, Intervals]] = []
    for level in range(1, tree.height + 1):
        there: dict[str, Intervals] = {}
        for node, name in enumerate(tree.names):
            if tree.depth[node] == level or (tree.depth[node] < level and not tree.children[node]):
                there[name] = ((int(tree.low[node]), int(tree.high[node])),)
        if all(text.strip() in there for text in named):
            way = {text: there[text.strip()] for text in named}
            if way not in ways:
                ways.append(way)
    return ways


def rebuilt(
    schema: Schema,
    *,
    boxes: tuple[Mapping[str, tuple[Labels, np.ndarray]], np.ndarray, np.ndarray | None],
    carried: tuple[Mapping[str, np.ndarray], np.ndarray, np.ndarray | None],
    **rest: Any,
) -> Release:
    """Return the release of columns that were read: (columns, times, group), of the boxes and of what is carried.

    Without groups both come from the same rows, and equal labels make a group.
    """
    columns, times, group = boxes
    values, carried_times, carried_group = carried
    tables = tuple(columns[attribute.name][0] for attribute in schema.quasi)
    ids = [columns[attribute.name][1] for attribute in schema.quasi]
    if group is None:
        group = carried_group = dense(ids, len(times))
    assert carried_group is not None
    box = dense([group, *ids], len(times))
    first = np.zeros(int(box.max()) + 1 if len(box) else 0, np.int64)
    first[box[::-1]] = np.arange(len(box))[::-1]
    release, _ = assemble(
        schema,
        tables=tables,
        labels=np.column_stack([column[first] for column in ids]) if ids else np.zeros((len(first), 0), np.int32),
        weight=summed(box, times, len(first)),
        group=group[first],
        carried_group=carried_group,
        carried_codes=np.column_stack([values[a.name] for a in schema.carried])
        if schema.carried
        else np.zeros((len(carried_times), 0), np.int32),
        carried_weight=carried_times,
        **rest,
    )
    return release


def times_of(frame: pl.DataFrame) -> np.ndarray:
    """Return how often each distinct row occurs in the file."""
    return frame[TIMES].to_numpy()


def counts_of(texts: pl.Series, times: np.ndarray, *, least: int = 1) -> np.ndarray | None:
    """Return whole numbers, written plainly, each as often as its line stands there.

    None if some text is not a number of at least `least` and at most 18 digits, or all together are more than 2^62.
    """
    distinct, places = distinct_texts(texts)
    if not all(text is not None and _NUMBER.fullmatch(text) and int(text) >= least for text in distinct):
        return None
    numbers = [int(text or 0) for text in distinct]
    often = np.zeros(len(numbers), np.int64)
    np.add.at(often, places, times)
    if sum(number * many for number, many in zip(numbers, often.tolist(), strict=True)) > _MOST:
        return None
    counted: np.ndarray = np.array(numbers, np.int64)[places] * times
    return counted


def suppressed_group(release: Release) -> int | None:
    """Return the group whose every label is `*`."""
    boxes = release.boxes
    whole = np.ones(len(boxes), bool)
    for at, table in enumerate(boxes.tables):
        full = np.array([table.intervals(label) == ((0, table.attribute.size),) for label in range(len(table))], bool)
        whole &= full[boxes.labels[:, at]]
    found = np.flatnonzero(whole)
    return int(boxes.group[found[0]]) if boxes.tables and len(found) else None


_COUNT = "\0count"


def read(source: Any, schema: Schema, *, groups: str | None = None, counts: str | None = None) -> Release:
    """Return the release that a CSV or Parquet file, or a frame, holds. It promises nothing.

    `groups` names the column of group numbers where sensitive values are linked to groups only, `counts` one that
    says for how many rows a line stands.
    Every label that cannot be read is listed at once.
    """
    typed, name = _opened(source)
    types = typed.collect_schema()
    lazy, present = as_texts(typed, name), types.names()
    if groups is not None and groups not in present:
        raise ParameterError("groups", groups, "is not a column of the table", hint="name the column of group numbers")
    columns = columns_of(schema, present)
    refuse_no_counts(counts, present, (*columns.values(), groups))
    if not any(attribute.name in columns for attribute in schema.quasi):
        hint = "columns are found by the attribute's name or its `column`"
        raise ReleaseError(f"{name} has no column of a quasi-identifier", hint=hint)
    schema, notes = _noted(schema, columns, present, (groups, counts))
    picked = lazy.select(
        *(pl.col(column).alias(attribute) for attribute, column in columns.items()),
        *([pl.col(groups).alias("\0group")] if groups is not None else []),
        *([pl.col(counts).alias(_COUNT)] if counts is not None else []),
    )
    rows = tally(picked, picked.collect_schema().names(), name)
    plain = frozenset(attribute for attribute, column in columns.items() if types[column].is_temporal())
    found = _release(schema, rows, columns, notes=notes, bucketed=groups is not None, plain=plain)
    return replace(found, source=Path(source)) if isinstance(source, str | PathLike) else found


def _opened(source: Any) -> tuple[pl.LazyFrame, str]:
    """Return a path or any frame, lazily, and what to call it."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        if path.is_dir():
            raise ReleaseError(f"{path.name} is a folder", hint="Release.load reads a saved release")
        return opened(path), path.name
    if isinstance(source, pl.LazyFrame):
        return with_values(source, "table"), "table"
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError:
        kind = type(source).__name__
        raise ParameterError("source", kind, "must be a path or a frame", hint="CSV, Parquet, pandas, polars") from None
    eager = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    try:
        frame = eager.to_polars().lazy()
    except Exception:  # noqa: BLE001  (each library has its own error, and it quotes the cell)
        raise ReleaseError("the table has a column of mixed types", hint="make each one text, or one type") from None
    return with_values(frame, "table"), "table"


def columns_of(schema: Schema, present: list[str]) -> dict[str, str]:
    """Return the column of each published attribute that the table has: by its name, else by its `column`."""
    found = {}
    for attribute in schema.published:
        for column in (attribute.name, attribute.column, marked(attribute.name)):
            if column in present:
                found[attribute.name] = column
                break
    return found


def refuse_no_counts(counts: str | None, present: Sequence[str], taken: Sequence[str | None]) -> None:
    """Raise if a column of counts is named that the table lacks, or that is one of its other columns."""
    if counts is not None and (counts not in present or counts in taken):
        hint = "name the column that says how many rows a line stands for"
        raise ParameterError("counts", counts, "is not a column of counts in the table", hint=hint)


def _noted(
    schema: Schema, columns: dict[str, str], present: list[str], known: tuple[str | None, ...]
) -> tuple[Schema, tuple[str, ...]]:
    """Say what the table lacks or has beside; a carried attribute it lacks is not part of the release."""
    notes = []
    attributes: list[Attribute] = []
    for attribute in schema.attributes:
        carried = attribute.role in ("sensitive", "target")
        absent = (carried or attribute.role == "quasi") and attribute.name not in columns
        if absent:
            notes.append(f"{attribute.name} is not in the table" + ("" if carried else ": read as *"))
        attributes.append(attribute.with_role("other") if absent and carried else attribute)
    extra = [column for column in present if column not in (*columns.values(), *known)]
    if extra:
        notes.append(f"columns not read: {', '.join(extra)}")
    return replace(schema, attributes=tuple(attributes)), tuple(notes)


def _release(
    schema: Schema,
    rows: pl.DataFrame,
    columns: dict[str, str],
    *,
    notes: tuple[str, ...],
    bucketed: bool,
    plain: frozenset[str],
) -> Release:
    reading = TextReader(foreign=True, plain=plain)
    labels = {
        attribute.name: reading.labels(attribute, rows[attribute.name])
        if attribute.name in columns
        else _suppressed_column(attribute, len(rows))
        for attribute in schema.quasi
    }
    codes = {attribute.name: reading.codes(attribute, rows[attribute.name]) for attribute in schema.carried}
    if reading.problems:
        raise _unread(reading.problems)
    times = times_of(rows)
    if _COUNT in rows.columns:
        counted = counts_of(rows[_COUNT], times)
        if counted is None:
            raise ReleaseError("the column of counts must hold whole numbers of at least 1", hint="name another column")
        times = counted
    group = distinct_texts(rows["\0group"])[1] if bucketed else None
    release = rebuilt(
        schema,
        boxes=(labels, times, group),
        carried=(codes, times, group),
        claim=Claim(Nothing()),
        form="buckets" if bucketed else "generalized",
        mechanism={"name": "foreign"},
        notes=(*notes, *reading.notes),
        savable=False,
    )
    # A table of nothing but * is one class; beside other classes such rows were suppressed.
    return replace(release, suppressed_group=suppressed_group(release)) if len(release.groups) > 1 else release


def _suppressed_column(attribute: Attribute, rows: int) -> tuple[Labels, np.ndarray]:
    table, _ = Labels.from_sets(attribute, [((0, attribute.size),)])
    return table, np.zeros(rows, np.int32)


def _unread(problems: list[Problem]) -> ReleaseError:
    count = sum(problem.count or 0 for problem in problems)
    return ReleaseError(
        f"{count_of(count, 'label')} of the table cannot be read with this schema",
        hint="each is listed under its attribute",
        problems=problems,
    )
