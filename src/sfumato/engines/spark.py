"""Coded rows in Spark, classic or Connect: workers read, count and finish; counts and boxes come to the driver.

Source    Ours.
Claim     Answers are those of all rows, whatever the partitions, their order, and how often a task is run again.
Because   a worker codes each cell by itself (`engines.batches`) and adds up its partition; Spark sums integers by key.
          No worker draws: randomness is the driver's, from counts, so that a task run twice draws nothing twice.
Checked   tests/claims/test_spark.py::test_spark_and_sail_answer_as_arrays_do
          tests/claims/test_spark.py::test_the_same_boxes_in_memory_and_on_spark
          tests/claims/test_spark.py::test_a_worker_tells_no_cell
Silent on rows that change between two passes, and on what Spark itself logs about a file it cannot read.
Cost      one pass of Python workers over the raw rows where Spark keeps the coded lines, else one for each question.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.engines.batches import Batch, Batches, code_frame
from sfumato.engines.engine import Finish, Lines, PairCounts
from sfumato.engines.parts import Parts
from sfumato.errors import Problem
from sfumato.io.decode_cell import LEFT_OUT
from sfumato.io.read_errors import cell_problems
from sfumato.io.source import guarded
from sfumato.io.spark import Guarded, by_bytes, by_key, collected, framed, quiet, spark_name
from sfumato.schema import Attribute

_WHERE = "the frame"
PART, ROWS = "p", "w"  # the part of a line, and its rows
_VALUES = 1000  # offending values that are fetched to word a problem
_GATHERED = 1 << 18  # rows of a partition that are coded at once


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """An engine over a Spark frame of lines: columns c0, c1, ... of codes and the rows of each line in w."""

    names: tuple[str, ...]
    _: KW_ONLY
    sizes: tuple[int, ...]
    rows: int
    frame: Any = field(repr=False)
    left_out: int = 0

    def counts(self, names: Sequence[str], limit: int, parts: Parts | None = None) -> Lines | None:
        """Have workers add up their partitions by some columns, and Spark add up the workers."""
        places = tuple(self.names.index(name) for name in names)
        asked = Parts.whole(self.rows) if parts is None else parts
        summed = self._summed(_Counting(self.names, self.sizes, asked, places), [PART, *code_columns(len(places))])
        found = self._fetched(summed.limit(limit + 1))
        return None if found.height > limit else _lines(found, len(places))

    def pairs(self, parts: Parts, wanted: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], PairCounts]:
        """Count all pairs in one job."""
        if not wanted:
            return {}
        keys = ["pair", PART, "a", "b"]
        found = self._fetched(self._summed(_Pairing(self.names, self.sizes, parts, tuple(wanted)), keys))
        tables = {}
        for number, pair in enumerate(wanted):
            mine = found.filter(pl.col("pair") == number)
            part, first, second, weight = (mine[name].to_numpy() for name in (PART, "a", "b", ROWS))
            tables[pair] = PairCounts(part, first=first, second=second, weight=weight)
        return tables

    def lines(self, parts: Parts) -> Lines:
        """Fetch the lines of the parts asked for: they are distinct already."""
        routing = _Routing(self.names, parts)
        width = len(self.names)
        return _lines(self._fetched(mapped(self.frame, routing, [PART, *code_columns(width)])), width)

    def finish(self, parts: Parts, work: Finish, limit: int) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
        """Finish each part on a worker: only what `work` returns comes back."""
        width = len(self.names)
        routed = mapped(self.frame, _Routing(self.names, parts), [PART, *code_columns(width)])
        found = self._fetched(by_key(routed, PART, _Finishing(work, width), f"{PART} int, name string, data binary"))
        for part in sorted(found[PART].unique().to_list()):
            mine = found.filter(pl.col(PART) == part)
            yield part, {name: _array(data) for name, data in mine.select("name", "data").iter_rows()}

    def _summed(self, adding: Callable[[Iterable[Any]], Iterator[Any]], keys: Sequence[str]) -> Any:
        return totals(mapped(self.frame, adding, keys), keys)

    def _fetched(self, frame: Any) -> pl.DataFrame:
        return guarded(_WHERE, lambda: collected(frame))


def spark_engine(frame: Any, attributes: Sequence[Attribute]) -> tuple[dict[str, list[Problem]], SparkEngine]:
    """Return every problem of the cells by attribute, and the engine: coded by the workers, equal rows as one line.

    Where there are problems, the engine has the rows without any.
    """
    raw = raw_columns(frame, [attribute.column_name for attribute in attributes])
    width = len(attributes)
    coding = Coding(tuple(attributes))
    every = kept_there(totals(mapped(raw, coding, code_columns(width)), code_columns(width)))
    refused = refusals(every, width)
    problems = problems_of(raw, attributes, refused)
    without = guarded(_WHERE, lambda: rows_of(every.filter(any_negative(width))))
    lines = every.filter(f"NOT ({any_negative(width)})") if without else every
    rows = guarded(_WHERE, lambda: rows_of(lines))
    names = tuple(attribute.name for attribute in attributes)
    sizes = tuple(attribute.size for attribute in attributes)
    return problems, SparkEngine(names, sizes=sizes, rows=rows, frame=lines, left_out=without)


def raw_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return some columns of a frame as they are, texts to be compared by their bytes."""
    return by_bytes(frame).selectExpr(*[spark_name(name) for name in dict.fromkeys(names)])


# What is asked of Spark: it maps batches through Python workers and sums integers by key, and that is all.


def code_columns(width: int) -> list[str]:
    """Return the names of columns of codes."""
    return [f"c{at}" for at in range(width)]


def mapped(frame: Any, work: Callable[[Iterable[Any]], Iterator[Any]], keys: Sequence[str]) -> Any:
    """Send batches of a frame through workers; they return keys (int) and how many rows have them."""
    columns_ddl = ", ".join([*(f"{key} int" for key in keys), f"{ROWS} bigint"])
    with quiet():
        return frame.mapInArrow(Guarded(work), columns_ddl)


def totals(frame: Any, keys: Sequence[str]) -> Any:
    """Sum the rows of equal keys."""
    if not keys:
        return frame.selectExpr(f"CAST(COALESCE(SUM({ROWS}), 0) AS BIGINT) AS {ROWS}").filter(f"{ROWS} > 0")
    summed = frame.groupBy(*keys).sum(ROWS)
    return summed.toDF(*keys, ROWS)


def kept_there(frame: Any) -> Any:
    """Have Spark keep the coded lines, where it can: else workers code the rows for each question anew.

    Spark takes two equal plans for one, also where a file was written anew in between: a sign of their own keeps the
    lines of another reading apart.
    """
    with quiet():
        try:
            return frame.filter(f"'{uuid.uuid4()}' <> ''").persist()
        except Exception:  # noqa: BLE001  (a server that cannot)
            return frame


def rows_of(frame: Any) -> int:
    """Return how many rows the lines of a frame stand for."""
    total = collected(frame.selectExpr(f"CAST(COALESCE(SUM({ROWS}), 0) AS BIGINT) AS {ROWS}"))
    return int(total[ROWS].item())


def any_negative(width: int) -> str:
    """Return the condition that some cell has no code."""
    return " OR ".join(f"{name} < 0" for name in code_columns(width)) or "FALSE"


def _lines(found: pl.DataFrame, width: int) -> Lines:
    codes = np.empty((found.height, width), np.int32)
    for at, name in enumerate(code_columns(width)):
        codes[:, at] = found[name].to_numpy()
    return Lines(codes, weight=found[ROWS].to_numpy(), part=found[PART].to_numpy().astype(np.int32))


# Cells without a code.


def refusals(every: Any, width: int) -> dict[tuple[int, int], int]:
    """Return how many rows have a cell of each wrong kind, by column and kind."""
    wrong = every.filter(any_negative(width))
    counted = totals(mapped(wrong, _Refusing(width), ["at", "code"]), ["at", "code"])
    found = guarded(_WHERE, lambda: collected(counted))
    return {(at, code): rows for at, code, rows in found.iter_rows() if code != LEFT_OUT}


def problems_of(
    raw: Any, attributes: Sequence[Attribute], refused: Mapping[tuple[int, int], int]
) -> dict[str, list[Problem]]:
    """Return what is wrong with cells, by attribute; the values behind it are fetched only where there are any."""
    found: dict[str, list[Problem]] = {attribute.name: [] for attribute in attributes}
    if not refused:
        return found
    with quiet():
        offending = raw.mapInArrow(Guarded(_Offending(tuple(attributes))), "at int, code int, value string")
    texts = guarded(_WHERE, lambda: collected(offending.distinct().limit(_VALUES)))
    for at, attribute in enumerate(attributes):
        kinds = {code: rows for (place, code), rows in refused.items() if place == at}
        values = {
            code: tuple(sorted(texts.filter((pl.col("at") == at) & (pl.col("code") == code))["value"].to_list()))
            for code in kinds
        }
        codes, rows = np.array([*kinds], np.int64), np.array([*kinds.values()], np.int64)
        found[attribute.name] = cell_problems(attribute, codes, rows, values)
    return found


# What runs on workers. Each is a plain value that can be pickled; none of them says a cell in an error.


def numbers(columns: Mapping[str, np.ndarray], weights: np.ndarray) -> Any:
    """Return a batch of keys (int32) and rows (int64)."""
    import pyarrow as pa

    arrays = {name: pa.array(np.ascontiguousarray(column), pa.int32()) for name, column in columns.items()}
    return pa.RecordBatch.from_pydict({**arrays, ROWS: pa.array(np.ascontiguousarray(weights), pa.int64())})


def gathered(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Put small batches together, so that they are coded at once."""
    held: list[pl.DataFrame] = []
    rows = 0
    for batch in batches:
        found = framed(batch)
        held.append(found)
        rows += found.height
        if rows >= _GATHERED:
            yield pl.concat(held, rechunk=False)
            held, rows = [], 0
    if rows:
        yield pl.concat(held, rechunk=False)


def _again(batches: Iterable[Any]) -> Callable[[Sequence[int]], Iterator[Batch]]:
    """Return a partition as batches of codes; it can be gone through once."""

    def again(places: Sequence[int]) -> Iterator[Batch]:
        for found in gathered(batches):
            yield [found[f"c{at}"].to_numpy() for at in places], found[ROWS].to_numpy()

    return again


@dataclass(frozen=True, slots=True)
class Coding:
    """Codes of raw rows, equal ones added up."""

    attributes: tuple[Attribute, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Code and add up batches."""
        columns = code_columns(len(self.attributes))
        for found in gathered(batches):
            coded = code_frame(self.attributes, found)
            series = {
                name: pl.Series(name, column.codes, dtype=pl.Int32) for name, column in zip(columns, coded, strict=True)
            }
            if not series:
                yield numbers({}, np.array([found.height]))
                continue
            lines = pl.DataFrame(series).group_by(columns).len(ROWS)
            yield numbers({name: lines[name].to_numpy() for name in columns}, lines[ROWS].to_numpy())


@dataclass(frozen=True, slots=True)
class _Offending:
    """The texts of cells without a code, by column and kind; for the steward, who asked why."""

    attributes: tuple[Attribute, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for found in gathered(batches):
            lines: list[tuple[int, int, str]] = []
            for at, column in enumerate(code_frame(self.attributes, found)):
                lines += [(at, code, text) for code, texts in column.offending.items() for text in texts]
            types = {"at": pa.int32(), "code": pa.int32(), "value": pa.string()}
            arrays = {name: pa.array([line[place] for line in lines], types[name]) for place, name in enumerate(types)}
            yield pa.RecordBatch.from_pydict(arrays)


@dataclass(frozen=True, slots=True)
class _Refusing:
    """How many rows have a cell without a code, by column and kind."""

    width: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for found in gathered(batches):
            for at, name in enumerate(code_columns(self.width)):
                wrong = found.filter(pl.col(name) < 0).group_by(name).agg(pl.col(ROWS).sum())
                if wrong.height:
                    places = np.full(wrong.height, at)
                    yield numbers({"at": places, "code": wrong[name].to_numpy()}, wrong[ROWS].to_numpy())


@dataclass(frozen=True, slots=True)
class _Counting:
    """Counts of some columns in each part."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    parts: Parts
    places: tuple[int, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        engine = Batches(self.names, sizes=self.sizes, rows=0, again=_again(batches))
        found = engine.counts([self.names[at] for at in self.places], 1 << 62, self.parts)
        assert found is not None
        codes = {name: found.codes[:, at] for at, name in enumerate(code_columns(len(self.places)))}
        if len(found.weight):
            yield numbers({PART: found.part, **codes}, found.weight)


@dataclass(frozen=True, slots=True)
class _Pairing:
    """Counts of pairs of columns in each part."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    parts: Parts
    wanted: tuple[tuple[int, int], ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        engine = Batches(self.names, sizes=self.sizes, rows=0, again=_again(batches))
        for number, found in enumerate(engine.pairs(self.parts, self.wanted).values()):
            if len(found.weight):
                keys = {PART: found.part, "a": found.first, "b": found.second}
                yield numbers({"pair": np.full(len(found.weight), number), **keys}, found.weight)


@dataclass(frozen=True, slots=True)
class _Routing:
    """The part of each line; lines of parts that are not asked for stay where they are."""

    names: tuple[str, ...]
    parts: Parts

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        columns = code_columns(len(self.names))
        for found in gathered(batches):
            codes = [found[name].to_numpy() for name in columns]
            part = self.parts.of(codes, found.height)
            known = part >= 0
            if known.any():
                kept = {name: column[known] for name, column in zip(columns, codes, strict=True)}
                yield numbers({PART: part[known], **kept}, found[ROWS].to_numpy()[known])


@dataclass(frozen=True, slots=True)
class _Finishing:
    """What is made of one part, as bytes of arrays."""

    work: Finish
    width: int

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        found = framed(table)
        lines = _lines(found, self.width)
        order = np.lexsort(lines.codes.T[::-1]) if self.width else np.arange(len(lines.weight))
        part = int(lines.part[0])
        made = self.work(part, np.ascontiguousarray(lines.codes[order]), lines.weight[order])
        arrays = {PART: pa.array([part] * len(made), pa.int32()), "name": pa.array(list(made), pa.string())}
        return pa.table({**arrays, "data": pa.array([_bytes(array) for array in made.values()], pa.binary())})


def _bytes(array: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, array, allow_pickle=False)
    return held.getvalue()


def _array(data: bytes) -> np.ndarray:
    found: np.ndarray = np.load(io.BytesIO(data), allow_pickle=False)
    return found
