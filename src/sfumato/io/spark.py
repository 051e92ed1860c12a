"""Frames of Spark, classic and Connect: compared by bytes, collected as Arrow, read from files, and their session.

Nothing here starts Spark by itself except `spark_frame`, which a command asks for by name.
"""

from __future__ import annotations

import contextlib
import re
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import ParameterError, SfumatoError, count_of
from sfumato.io.read_errors import refused

_NEEDS = "pip install 'sfumato[spark]'"
_BROKEN = "_corrupt_record"
_REMOTE = re.compile(r"sc://(\[[^\]\s]+\]|[^\s/:]+)(?::(\d{1,5}))?(?:/.*)?")
_PORT = 15002  # of Spark Connect, where none is given
_SECONDS = 10  # for a server to answer at all
_RETRIES = 6  # a few seconds: by default Spark waits ten minutes for a server that is gone


def is_spark(frame: Any) -> bool:
    """True for a DataFrame of pyspark, classic or Connect."""
    return type(frame).__module__.startswith("pyspark.sql") and hasattr(frame, "mapInArrow")


def is_session(value: Any) -> bool:
    """True for a session of Spark, classic or Connect."""
    return type(value).__module__.startswith("pyspark.sql") and hasattr(value, "createDataFrame")


def spark_name(name: str) -> str:
    """Return a column's name as Spark's SQL has it."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, eq=False, slots=True)
class Sql:
    """A number or a truth value written in Spark's SQL, so that formulas read as those of other libraries.

    Through narwhals a quotient would be `try_divide`, which some servers have for whole numbers only.
    """

    text: str

    def _with(self, sign: str, other: Sql | float) -> Sql:
        right = other.text if isinstance(other, Sql) else f"CAST('{other!r}' AS DOUBLE)"
        return Sql(f"({self.text} {sign} {right})")

    def __add__(self, other: Sql | float) -> Sql:
        return self._with("+", other)

    def __sub__(self, other: Sql | float) -> Sql:
        return self._with("-", other)

    def __mul__(self, other: Sql | float) -> Sql:
        return self._with("*", other)

    def __truediv__(self, other: Sql | float) -> Sql:
        return self._with("/", other)

    def __lt__(self, other: Sql | float) -> Sql:
        return self._with("<", other)

    def __ge__(self, other: Sql | float) -> Sql:
        return self._with(">=", other)

    def __eq__(self, other: object) -> Any:
        assert isinstance(other, Sql | float)
        return self._with("=", other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Sql) -> Sql:
        return self._with("AND", other)

    def floor(self) -> Sql:
        """The greatest whole number that is not above it."""
        return Sql(f"FLOOR({self.text})")

    def abs(self) -> Sql:
        """Its size."""
        return Sql(f"ABS({self.text})")

    def if_(self, condition: Sql, otherwise: Sql) -> Sql:
        """This where the condition holds, else the other."""
        return Sql(f"CASE WHEN {condition.text} THEN {self.text} ELSE {otherwise.text} END")


def counted(frame: Any, names: Sequence[str], middles: Mapping[str, Sql]) -> Any:
    """Return a frame of the distinct combinations of some columns and how many rows have each: one job of Spark.

    A column in `middles` is replaced by that expression first. The columns are called k0, k1, ... and n.
    """
    keys = [f"k{at}" for at in range(len(names))]
    cells = [middles[name].text if name in middles else spark_name(name) for name in names]
    chosen = [f"{cell} AS {key}" for cell, key in zip(cells, keys, strict=True)]
    return frame.selectExpr(*chosen).groupBy(*keys).count().toDF(*keys, "n")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Spark's remark about newer versions of pandas to itself: nothing here goes through pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def by_bytes(frame: Any) -> Any:
    """Have Spark compare texts by their bytes: under another collation it would count `a` and `A` as one of them."""
    others = {
        field.name
        for field in frame.schema.fields
        if getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY"
    }
    if not others:
        return frame
    named = [(name, spark_name(name)) for name in frame.columns]
    plain = [f"collate({x}, 'UTF8_BINARY') AS {x}" if name in others else x for name, x in named]
    return frame.selectExpr(*plain)


def collected(frame: Any) -> pl.DataFrame:
    """Return the rows of a small frame. They come as Arrow: through pandas a null would make floats of integers."""
    import pyarrow as pa

    with quiet():
        if hasattr(frame, "toArrow"):
            table = frame.toArrow()
        elif hasattr(frame, "_collect_as_arrow"):  # classic 3.5
            batches = frame._collect_as_arrow()  # noqa: SLF001
            if not batches:
                from pyspark.sql.pandas.types import to_arrow_schema

                return framed(to_arrow_schema(frame.schema).empty_table())
            table = pa.Table.from_batches(batches)
        else:  # Connect 3.5
            client = frame._session.client  # noqa: SLF001
            table = client.to_table(frame._plan.to_proto(client))[0]  # noqa: SLF001
    return framed(table)


def frame_in(session: Any, frame: pl.DataFrame) -> Any:
    """Return a frame of numbers without nulls as a frame of Spark."""
    with quiet():
        if not frame.height:
            columns_ddl = ", ".join(f"{spark_name(name)} BIGINT" for name in frame.columns)
            return session.createDataFrame([], columns_ddl)
        arrow = frame.to_arrow()
        return session.createDataFrame(arrow.to_pandas() if session.version.startswith("3.") else arrow)


def spark_session(*, master: str | None = None, remote: str | None = None) -> Any:
    """Return a session of Spark: of a Connect server (`remote`), or of a cluster or this machine (`master`)."""
    if (master is None) == (remote is None):
        hint = "--master local[2], or --remote sc://host:15002"
        raise ParameterError("engine", "spark", "needs either a master or a remote server", hint=hint)
    found = None if remote is None else _REMOTE.fullmatch(remote)
    if remote is not None and found is None:
        raise ParameterError("remote", remote, "must be sc://host:port", hint="sc://localhost:15002")
    try:
        if found is not None:
            address = (found[1].strip("[]"), int(found[2] or _PORT))
            socket.create_connection(address, timeout=_SECONDS).close()
        with quiet():
            if remote is not None:
                from pyspark.sql.connect.session import SparkSession as Remote

                # getOrCreate would return any open session, even of another server
                return impatient(Remote.builder.remote(remote).create(), _RETRIES)
            from pyspark.sql import SparkSession

            plain = SparkSession.builder.master(master).config("spark.ui.showConsoleProgress", "false")
            return plain.getOrCreate()
    except ImportError:
        raise ParameterError("engine", "spark", "needs the spark extra", hint=_NEEDS) from None
    except Exception as error:  # noqa: BLE001  (of Java, of gRPC, of the cluster)
        where = remote or master
        hint = "check that the server runs, or that Java is installed" if remote is None else "check that it runs"
        raise refused(str(where), f"Spark cannot be reached ({type(error).__name__})", hint) from None


def impatient(session: Any, retries: int) -> Any:
    """Have a Connect session give up in seconds when its server is gone: nothing is lost by asking again."""
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
    except ImportError:  # 3.5
        session.client._retry_policy["max_retries"] = retries  # noqa: SLF001
        return session
    session.client.set_retry_policies([DefaultPolicy(max_retries=retries)])
    return session


def spark_frame(path: str, session: Any, *, delimiter: str | None = None, encoding: str | None = None) -> Any:
    """Open Parquet or CSV with Spark, where it finds the path; every column of a CSV is text.

    A CSV has a header line; its delimiter is a comma and its encoding UTF-8 unless stated, so that nothing is guessed.
    Lines with more or fewer cells than the header are refused when they are read.
    """
    name = path.rstrip("/").rpartition("/")[2]
    here = Path(path)
    path = str(here.resolve()) if "://" not in path and here.exists() else path  # a server starts from another folder
    try:
        with quiet():
            if _is_parquet(path):
                return session.read.parquet(path)
            form = {"header": True, "sep": delimiter or ",", "encoding": encoding or "utf-8", "multiLine": True}
            form |= {"quote": '"', "escape": '"', "inferSchema": False}
            names = _header(session.read.csv(path, **form), name)
            columns_ddl = ", ".join(f"{spark_name(column)} STRING" for column in names)
            _refuse_ragged(session, path, columns_ddl, form, name)
            return session.read.csv(path, schema=columns_ddl, **form, mode="FAILFAST")
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001
        rule = f"cannot be opened by Spark ({type(error).__name__})"
        raise refused(name, rule, "give a path that the cluster can read: Parquet, or CSV with a header") from None


def _header(frame: Any, name: str) -> list[str]:
    """Return the names of the columns; some servers see an absent file as one without columns."""
    if not frame.columns:
        raise refused(name, "no such file, or it is empty", "give a path that the cluster can read")
    return list(frame.columns)


def _refuse_ragged(session: Any, path: str, columns_ddl: str, form: dict[str, Any], name: str) -> None:
    """Raise where lines have more or fewer cells than the header, which Spark would fill up or cut off.

    A server that cannot mark such lines refuses them itself when it reads them (FAILFAST).
    """
    marked = {"columnNameOfCorruptRecord": _BROKEN, "columnPruning": False, "mode": "PERMISSIVE"}
    reader = session.read.options(**marked)
    try:
        frame = reader.csv(path, schema=f"{columns_ddl}, {spark_name(_BROKEN)} STRING", **form)
        first = spark_name(frame.columns[0])
        both = frame.selectExpr(f"count({first}) AS n", f"count({spark_name(_BROKEN)}) AS wrong")
        rows = collected(both)["wrong"].item()
    except Exception:  # noqa: BLE001  (a server without this option)
        return
    if rows:
        rule = f"{count_of(rows, 'line has', 'lines have')} more or fewer cells than the header"
        raise refused(name, rule, "check the delimiter and the quotes")


def _is_parquet(path: str) -> bool:
    return not path.lower().endswith((".csv", ".csv.gz", ".txt", ".tsv"))


# What Spark's Python workers run for us: work on batches and on all lines of a key, whose errors tell no cell.


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
    """Return an error of a worker that says only of what kind it was."""
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
