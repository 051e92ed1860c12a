"""Reading a table that is too large to hold: a file in batches, a table in a database or on a cluster where it is.

Source    Ours.
Claim     Rows left out, problems and codes are those of the same table in memory.
Because   every cell is coded by the same rules (`coding.code_frame`), and what is wrong is counted over all rows.
Checked   tests/claims/test_engines_agree.py::test_every_engine_gives_the_release_of_the_table_in_memory
          tests/claims/test_engines_agree.py::test_problems_are_the_same_in_a_stream
Silent on tables keyed by person, whose rows are held, except in Spark (`counts.people_in_spark`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.engines.batches import Batch, Batches, code_frame, refuse_types
from sfumato.engines.engine import Engine
from sfumato.engines.grouping import CodeTally
from sfumato.engines.sql import coded_by_dictionary
from sfumato.errors import Problem
from sfumato.io.database import SqlTable, sql_name
from sfumato.io.decode_cell import LEFT_OUT
from sfumato.io.encode import may_have_no_value
from sfumato.io.frames import Grouped
from sfumato.io.read_errors import cell_problems, refused
from sfumato.io.source import Source, guarded
from sfumato.io.spark import is_spark
from sfumato.limits import HELD_ROWS
from sfumato.schema import Attribute

_BATCH = 1 << 20  # rows of a file that are coded at once
_BELOW = -LEFT_OUT  # negative codes mark what has no code; this is the lowest


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that was gone through once: its lines where they are few enough, else the engine that has the rows."""

    problems: dict[str, list[Problem]]
    _: KW_ONLY
    codes: np.ndarray | None = None
    weights: np.ndarray | None = None
    engine: Engine | None = None
    left_out: int = 0
    empty: bool = False  # some row may have no value, by the codes of the columns that were read


def is_large(source: Source) -> bool:
    """Whether a file has enough rows to be read in batches."""
    return isinstance(source.frame, pl.LazyFrame) and source.streaming and source.height() > HELD_ROWS


def stream(
    source: Source, attributes: Sequence[Attribute], limit: int, progress: Callable[[str], None] | None = None
) -> Opened:
    """Go through a file once, a batch at a time; keep its lines as long as there are at most `limit` of them."""
    columns = list(dict.fromkeys(attribute.column_name for attribute in attributes))
    refuse_types(attributes, source.types(source.scan(columns)))
    tally: CodeTally | None = CodeTally([attribute.size + _BELOW for attribute in attributes])
    wrong: dict[str, dict[int, int]] = {attribute.name: {} for attribute in attributes}
    texts: dict[str, dict[int, set[str]]] = {attribute.name: {} for attribute in attributes}
    rows, left_out, empty = 0, 0, False
    for frame in _frames(source, columns):
        coded = code_frame(attributes, frame, padded=source.padded)
        rows += frame.height
        empty = empty or may_have_no_value(attributes, [column.codes for column in coded])
        gone = np.zeros(frame.height, bool)
        for attribute, column in zip(attributes, coded, strict=True):
            below = column.codes[column.codes < 0]
            for code, many in zip(*np.unique(below, return_counts=True), strict=True):
                wrong[attribute.name][int(code)] = wrong[attribute.name].get(int(code), 0) + int(many)
            for code, said in column.offending.items():
                texts[attribute.name].setdefault(code, set()).update(said)
            gone |= column.codes == LEFT_OUT
        left_out += int(gone.sum())
        if tally is not None:
            tally.add([column.codes.astype(np.int64) + _BELOW for column in coded])
            tally = None if tally.exceeds(limit) else tally
        if progress is not None:
            progress(f"{rows:,} rows read")
    source.same_rows(rows)
    problems = {
        attribute.name: cell_problems(
            attribute,
            np.array(list(wrong[attribute.name]), np.int64),
            np.array(list(wrong[attribute.name].values()), np.int64),
            {code: tuple(sorted(said)) for code, said in texts[attribute.name].items()},
        )
        for attribute in attributes
    }
    if tally is not None:
        codes, weights = tally.result()
        return Opened(problems, codes=codes - _BELOW, weights=weights, left_out=left_out, empty=empty)
    engine = Batches(
        tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.size for attribute in attributes),
        rows=rows - left_out,
        again=_coded_batches(source, attributes),
    )
    return Opened(problems, engine=engine, left_out=left_out, empty=empty)


def _frames(source: Source, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of some columns in batches; what the engine says of an error is not passed on."""
    batches = guarded(
        source.name,
        lambda: iter(source.scan(columns).collect_batches(chunk_size=_BATCH, maintain_order=False, engine="streaming")),
    )
    while True:
        frame = guarded(source.name, lambda: next(batches, None))
        if frame is None:
            return
        yield frame


def _coded_batches(source: Source, attributes: Sequence[Attribute]) -> Callable[[Sequence[int]], Iterator[Batch]]:
    """Return a function that goes through the rows that stay, coded anew each time."""
    leaving = [at for at, a in enumerate(attributes) if a.missing and a.missing.action == "suppress"]

    def again(places: Sequence[int]) -> Iterator[Batch]:
        read = sorted({*places, *leaving})
        wanted = [attributes[at] for at in read]
        columns = list(dict.fromkeys(attribute.column_name for attribute in wanted))
        for frame in _frames(source, columns):
            coded = dict(zip(read, code_frame(wanted, frame, padded=source.padded), strict=True))
            stays = np.ones(frame.height, bool)
            for at in leaving:
                stays &= coded[at].codes != LEFT_OUT
            whole = bool(stays.all())
            yield [coded[at].codes if whole else coded[at].codes[stays] for at in places], None

    return again


def spark_of(source: Source) -> Any:
    """Return the Spark frame of a source, or None."""
    native = source.frame.frame.to_native() if isinstance(source.frame, Grouped) else None
    return native if is_spark(native) else None


def engine_of(source: Source, attributes: Sequence[Attribute]) -> Opened:
    """Return the engine of a table that answers GROUP BY and has more combinations than may be held."""
    frame = source.frame
    if isinstance(frame, SqlTable):
        cells = {attribute.name: frame.cell(attribute.column_name) for attribute in attributes}
        exact = {attribute.name for attribute in attributes if frame.exact(attribute.column_name)}
        return _by_dictionary(source, attributes, frame.table, cells, frame.run, exact)
    assert isinstance(frame, Grouped)
    native = frame.frame.to_native()
    if type(native).__module__.partition(".")[0] == "duckdb":
        cells = {attribute.name: sql_name(frame.name_inside(attribute.column_name)) for attribute in attributes}

        rows = f"sfumato_rows_{id(native)}"  # a name that no table of the database has

        def run(statement: str) -> pl.DataFrame:
            found: pl.DataFrame = guarded(source.name, lambda: native.query(rows, statement).pl())
            return found

        return _by_dictionary(source, attributes, rows, cells, run)
    if is_spark(native):
        from sfumato.engines.spark import spark_engine

        problems, engine = spark_engine(native, attributes)
        return Opened(problems, engine=engine, left_out=engine.left_out)
    rule = "has more combinations than driver_cells, and its library has no engine here"
    raise refused(source.name, rule, "raise driver_cells, or write it as Parquet and read that")


def _by_dictionary(
    source: Source,
    attributes: Sequence[Attribute],
    table: str,
    cells: dict[str, str],
    run: Callable[[str], pl.DataFrame],
    exact: Collection[str] = (),
) -> Opened:
    found = coded_by_dictionary(attributes, name=source.name, table=table, cells=cells, run=run, exact=exact)
    return Opened(found.problems, engine=found.engine, left_out=found.left_out)
