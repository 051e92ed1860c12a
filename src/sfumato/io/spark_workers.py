"""What Spark's Python workers run for us: work on batches and on all lines of a key, whose errors tell no cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.io.spark import quiet

__all__ = ["Guarded", "WorkerError", "by_key", "framed"]


def by_key(frame: Any, key: str, work: Callable[[Any], Any], columns_ddl: str) -> Any:
    """Give all lines of equal key to one worker, as an Arrow table; it returns the columns of `columns_ddl`."""
    with quiet():
        groups = frame.groupBy(key)
        if hasattr(groups, "applyInArrow"):
            return groups.applyInArrow(_of_arrow(work), columns_ddl)
        return groups.applyInPandas(_of_pandas(work), columns_ddl)  # Spark 3.5


def framed(data: Any) -> pl.DataFrame:
    """Return an Arrow batch or table as a polars frame."""
    found = pl.from_arrow(data)
    assert isinstance(found, pl.DataFrame)
    return found


class WorkerError(RuntimeError):
    """Something failed on a worker; says what kind of error, and nothing of the rows."""


def hidden(error: Exception) -> WorkerError:
    return WorkerError(f"a worker of sfumato failed ({type(error).__name__})")


@dataclass(frozen=True, slots=True)
class Guarded:
    """Runs work on batches; an error leaves without the cells that other libraries quote."""

    work: Callable[[Iterable[Any]], Iterator[Any]]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Run it."""
        try:
            yield from self.work(batches)
        except Exception as error:  # noqa: BLE001
            raise hidden(error) from None


def _of_arrow(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return work on the Arrow table of a part as a function of one argument: Spark counts them."""

    def made(table):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  (Spark reads types as instructions)
        try:
            return work(table)
        except Exception as error:  # noqa: BLE001
            raise hidden(error) from None

    return made


def _of_pandas(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return work on the pandas frame of a part, as Spark 3.5 gives it."""
    run = _of_arrow(work)

    def made(frame):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        import pyarrow as pa

        return run(pa.Table.from_pandas(frame, preserve_index=False)).to_pandas()

    return made
