"""Published tables in Spark: as frames that workers expand, or as files that a worker writes.

Source    Ours.
Claim     A frame of Spark holds the rows of `Release.frame`, in no order; a file that a worker wrote is the file that
          `Release.save` writes here.
Because   workers get the distinct rows and how often each stands in the table, and expand and write them by the same
          code; a file takes its name when it is whole, so that a task run twice changes nothing.
Checked   tests/claims/test_spark.py::test_a_release_is_a_frame_of_spark_when_asked
          tests/claims/test_spark.py::test_a_worker_writes_the_same_folder
Silent on where the workers' disks are: a folder is written where the driver and the workers see one path.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.errors import ParameterError, ReleaseError, SfumatoError
from sfumato.io.spark import Guarded, by_key, collected, frame_in, framed, is_session, quiet, spark_name
from sfumato.release.files import digest
from sfumato.release.tables import Column, PublishedTable

_BATCH = 100_000  # rows of a batch that a worker hands to Spark


def spark_frame_of(table: PublishedTable, session: Any) -> Any:
    """Return a published table as a frame of Spark."""
    columns_ddl = ", ".join(f"{spark_name(c.name)} {'BIGINT' if c.texts is None else 'STRING'}" for c in table.columns)
    with quiet():
        return _distinct(table, session).mapInArrow(Guarded(_Expanding(_texts_only(table))), columns_ddl)


def write_in_spark(table: PublishedTable, file: Path, form: Literal["parquet", "csv", "xlsx"], session: Any) -> None:
    """Have a worker write a published table to a file that the driver sees as well."""
    work = _Writing(_texts_only(table), str(file), form)
    try:
        lines = _distinct(table, session).selectExpr("0 AS part", "*")
        wrote = collected(by_key(lines, "part", work, "sha256 STRING"))["sha256"].to_list()
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001  (of Java, of gRPC, of a worker)
        hint = "save without an engine: this process then writes the folder"
        raise ReleaseError(f"{file.name} was not written by Spark ({type(error).__name__})", hint=hint) from None
    for left in file.parent.glob(f".{file.name}.*"):  # of a task that was stopped and run again
        shutil.rmtree(left)
    if not file.is_file() or wrote != [digest(file)]:
        hint = "name a folder that this process and the workers share, or save without an engine"
        raise ReleaseError(f"{file.name} is not where Spark should have written it", hint=hint)


def _distinct(table: PublishedTable, session: Any) -> Any:
    """Return the distinct rows as numbers: their place, how often each occurs, and the texts by number."""
    if not is_session(session):
        hint = "spark = SparkSession.builder.getOrCreate()"
        raise ParameterError("engine", type(session).__name__, "is not a session of Spark", hint=hint)
    columns = {"place": np.arange(len(table.times)), "times": table.times}
    columns |= {f"i{at}": column.ids for at, column in enumerate(table.columns)}
    frame = pl.DataFrame({name: pl.Series(ids, dtype=pl.Int64) for name, ids in columns.items()})
    return frame_in(session, frame)


def _texts_only(table: PublishedTable) -> PublishedTable:
    """Return the names and texts of a table, without rows."""
    none = np.zeros(0, np.int64)
    return PublishedTable(tuple(replace(column, ids=none) for column in table.columns), none)


def _with_rows(table: PublishedTable, found: pl.DataFrame) -> PublishedTable:
    """Return a table with the rows that a worker got, in their order."""
    found = found.sort("place")
    columns = (Column(c.name, ids=found[f"i{at}"].to_numpy(), texts=c.texts) for at, c in enumerate(table.columns))
    return PublishedTable(tuple(columns), found["times"].to_numpy())


@dataclass(frozen=True, slots=True)
class _Expanding:
    """The rows of a table, each as often as it occurs."""

    table: PublishedTable

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        types = [(c.name, pa.int64() if c.texts is None else pa.string()) for c in self.table.columns]
        for batch in batches:
            for rows in _with_rows(self.table, framed(batch)).batches(_BATCH):
                yield from rows.to_arrow().cast(pa.schema(types)).to_batches()


@dataclass(frozen=True, slots=True)
class _Writing:
    """The file of a table; another task that writes it too leaves it as it is."""

    table: PublishedTable
    file: str
    form: Literal["parquet", "csv", "xlsx"]

    def __call__(self, found: Any) -> Any:
        import pyarrow as pa

        from sfumato.release.store import write_table

        file = Path(self.file)
        own = file.with_name(f".{file.name}.{socket.gethostname()}.{os.getpid()}")
        own.mkdir(exist_ok=True)
        partial = own / file.name
        write_table(_with_rows(self.table, framed(found)), partial, self.form)
        wrote = digest(partial)
        partial.replace(file)
        own.rmdir()
        return pa.table({"sha256": pa.array([wrote], pa.string())})
