"""Rows of people in Spark: keys are read, capped and counted by the workers, person by person.

Source    Ours; the rules are those of `counts.people`.
Claim     The same rows of each person are kept, and the same people counted, as where the table is held in memory.
Because   keys that could be one person's go to one bucket (a hash of their letters and digits), a worker has all rows
          of a bucket, and no rule reads two people except the one about keys written alike.
Checked   tests/claims/test_spark.py::test_people_in_spark_are_those_in_memory
          tests/claims/test_spark.py::test_the_same_boxes_in_memory_and_on_spark
Silent on how many keys fall into one bucket: a bucket must fit in a worker's memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.counts.frequent_keys import crowd_of, filler_of, shown_by_keys
from sfumato.counts.key_spellings import bare_keys, key_texts
from sfumato.counts.people import alike_problem, blank_problem, nines_problem, read_people, rounded_problem, rows_kept
from sfumato.engines import Engine, Parts, PersonLines
from sfumato.engines.batches import code_frame, plain_texts
from sfumato.engines.grouping import whole_of
from sfumato.engines.spark import (
    PART,
    ROWS,
    SparkEngine,
    any_negative,
    code_columns,
    gathered,
    kept_there,
    mapped,
    numbers,
    problems_of,
    raw_columns,
    refusals,
    rows_of,
    totals,
)
from sfumato.errors import Problem
from sfumato.io.decode_cell import WHOLE_FLOATS, WHOLE_SINGLES
from sfumato.io.source import guarded
from sfumato.io.spark import Guarded, by_key, collected, framed, quiet, spark_name
from sfumato.schema import Attribute

_WHERE = "the frame"
_BUCKET = 100_000  # lines of people that a worker should have at once
_FEWEST = 8
_TOLD = ("blank", "worded", "nines", "alike")


@dataclass(frozen=True, slots=True)
class SparkPeople(SparkEngine):
    """An engine over a Spark frame that knows whose each line is; keys stay on the workers.

    `held` has a line for each person (bucket b, number i within it) and distinct row: its codes, its rows w, how many
    such lines the person has (m) and whether it is the first of them (f).
    """

    held: Any = field(repr=False, kw_only=True)
    offsets: tuple[int, ...] = field(repr=False, kw_only=True)
    people: int = field(kw_only=True)
    most: int = field(kw_only=True)
    surplus: int = field(default=0, kw_only=True)
    filler: int = field(default=0, kw_only=True)  # as `people.filler_of` and `people.crowd_of` have them
    crowd: int = field(default=0, kw_only=True)

    def shares(self) -> tuple[Engine, int]:
        """Return the same rows weighed by shares of people, and the whole of each person."""
        whole = whole_of(self.people, self.most) if self.people else 1
        columns = code_columns(len(self.names))
        lines = kept_there(totals(mapped(self.held, _Sharing(columns, whole), columns), columns))
        return SparkEngine(self.names, sizes=self.sizes, rows=self.people * whole, frame=lines), whole

    def lonely(self, names: Sequence[str]) -> int:
        """Return how many people have a combination of some columns that nobody else has."""
        columns = [f"c{self.names.index(name)}" for name in names]
        who = "CAST(b AS BIGINT) * 4294967296 + i"
        each = self.held.selectExpr(*columns, f"{who} AS who", f"-({who}) AS less").distinct()
        ends = each.groupBy(*columns).max("who", "less").toDF(*columns, "most", "least")
        alone = ends.filter("most = -least").selectExpr("most").distinct()
        return int(guarded(_WHERE, alone.count))

    def members(self, parts: Parts) -> PersonLines:
        """Return who has which line of these parts."""
        columns = code_columns(len(self.names))
        columns_ddl = ", ".join(
            [f"{PART} int", "person bigint", *(f"{name} int" for name in columns), f"{ROWS} bigint"]
        )
        with quiet():
            frame = self.held.mapInArrow(Guarded(_Membership(columns, self.offsets, parts)), columns_ddl)
        found = guarded(_WHERE, lambda: collected(frame))
        codes = np.column_stack([found[name].to_numpy() for name in columns]).astype(np.int32)
        person, rows, part = (found[name].to_numpy() for name in ("person", ROWS, PART))
        return PersonLines(person, codes=codes.reshape(-1, len(columns)), rows=rows, part=part.astype(np.int32))


def spark_people(
    frame: Any, attributes: Sequence[Attribute], keys: Sequence[str], *, cap: int | None, exact: bool
) -> tuple[dict[str, list[Problem]], list[Problem], SparkPeople]:
    """Return the problems of cells by attribute, those of keys, and the engine of a frame whose rows are about people.

    `keys` are the columns of a person's key, `cap` is how many rows of each stay, `exact` is the schema's word that
    keys that are written alike are different people. Where keys have problems, the engine has no rows.
    """
    columns, texts = code_columns(len(attributes)), [f"k{at}" for at in range(len(keys))]
    raw = raw_columns(frame, [*(attribute.column_name for attribute in attributes), *keys])
    columns_ddl = ", ".join(["h int", *(f"{name} string" for name in texts), *(f"{name} int" for name in columns)])
    with quiet():
        keyed = raw.mapInArrow(Guarded(_Keying(tuple(attributes), tuple(keys))), f"{columns_ddl}, {ROWS} bigint")
    every = kept_there(totals(keyed, ["h", *texts, *columns]))
    lines = int(guarded(_WHERE, every.count))
    buckets = max(_FEWEST, lines // _BUCKET)
    placed = every.selectExpr(f"CAST(pmod(h, {buckets}) AS INT) AS b", *texts, *columns, ROWS)
    shown = "what string, value bigint, many bigint"
    seen = guarded(_WHERE, lambda: collected(by_key(placed, "b", _Looking(tuple(texts)), shown)))
    blank, worded, nines, alike = (int(seen.filter(pl.col("what") == name)["many"].sum()) for name in _TOLD)
    wrong = blank_problem(keys, blank, worded)
    wrong += [] if exact else alike_problem(alike) + nines_problem(nines)
    wrong += rounded_problem(keys, _rounded(frame, keys))
    width = len(columns)
    problems = problems_of(raw, attributes, refusals(every.selectExpr(*columns, ROWS), width))
    stays = placed.filter(f"NOT ({any_negative(width)})" if not blank else "FALSE")
    shape = ", ".join(["b int", "i int", *(f"{name} int" for name in columns), f"{ROWS} bigint", "m int", "f int"])
    held = kept_there(by_key(stays, "b", _Numbering(tuple(texts), tuple(columns), cap), shape))
    ends = guarded(_WHERE, lambda: collected(held.groupBy("b").max("i", "m").toDF("b", "last", "most")))
    people = np.zeros(buckets, np.int64)
    people[ends["b"].to_numpy()] = ends["last"].to_numpy() + 1
    rows, kept, total = (guarded(_WHERE, lambda lines=lines: rows_of(lines)) for lines in (held, stays, every))  # type: ignore[misc]
    engine = SparkPeople(
        tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.size for attribute in attributes),
        rows=rows,
        frame=kept_there(totals(held.selectExpr(*columns, ROWS), columns)),
        left_out=total - kept,
        held=held,
        offsets=tuple((np.cumsum(people) - people).tolist()),
        people=int(people.sum()),
        most=int(ends["most"].max() or 0),  # type: ignore[arg-type]
        surplus=kept - rows,
        filler=filler_of(seen),
        crowd=crowd_of(seen),
    )
    return problems, wrong, engine


def _rounded(frame: Any, keys: Sequence[str]) -> int:
    """Return how many rows have a key that is a float and may stand for several whole numbers."""
    limits = {"double": WHOLE_FLOATS, "float": WHOLE_SINGLES}
    floats = {spark_name(name): limits[kind] for name, kind in frame.dtypes if name in keys and kind in limits}
    if not floats:
        return 0
    large = " OR ".join(f"(NOT isnan({name}) AND abs({name}) >= {limit:.0f}D)" for name, limit in floats.items())
    return int(guarded(_WHERE, frame.filter(large).count))


# What runs on workers.


@dataclass(frozen=True, slots=True)
class _Keying:
    """The codes of raw rows beside the texts of their keys, and a hash that is one for all ways to write a key."""

    attributes: tuple[Attribute, ...]
    keys: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        columns = code_columns(len(self.attributes))
        for found in gathered(batches):
            coded = code_frame(self.attributes, found)
            codes = [pl.Series(name, one.codes, dtype=pl.Int32) for name, one in zip(columns, coded, strict=True)]
            texts = [key_texts(plain_texts(found[name])) for name in self.keys]
            named = [text.alias(f"k{at}") for at, text in enumerate(texts)]
            lines = pl.DataFrame([*named, *codes])
            lines = lines.group_by(lines.columns).len(ROWS)
            spelt = [lines[f"k{at}"] for at in range(len(self.keys))]
            arrays: dict[str, Any] = {"h": pa.array(_hashes(spelt), pa.int32())}
            arrays |= {text.name: pa.array(text.to_list(), pa.string()) for text in spelt}
            arrays |= {name: pa.array(lines[name].to_numpy(), pa.int32()) for name in columns}
            rows = lines[ROWS].cast(pl.Int64).to_numpy()
            yield pa.RecordBatch.from_pydict({**arrays, ROWS: pa.array(rows, pa.int64())})


def _hashes(texts: Sequence[pl.Series]) -> np.ndarray:
    """Return 31 bits for each key, equal for keys that are written alike."""
    bare = pl.DataFrame([text.alias(str(at)) for at, text in enumerate(bare_keys(texts))]).fill_null("")
    distinct = bare.unique()
    keyed = [zlib.crc32("\0".join(row).encode()) & 0x7FFFFFFF for row in distinct.iter_rows()]
    found = bare.join(distinct.with_columns(pl.Series("h", keyed, dtype=pl.Int32)), on=bare.columns, how="left")
    hashes: np.ndarray = found["h"].to_numpy()
    return hashes


@dataclass(frozen=True, slots=True)
class _Looking:
    """What is wrong with the keys of a bucket, and what they show: numbers, and no key."""

    texts: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        found = framed(table)
        kinds = {"what": pa.string(), "value": pa.int64(), "many": pa.int64()}
        texts, many = [found[name] for name in self.texts], found[ROWS].to_numpy()
        people = read_people(texts, many)
        known = people.ids >= 0
        rows = np.bincount(people.ids[known], weights=many[known]).astype(np.int64)
        first = np.flatnonzero(known)[np.unique(people.ids[known], return_index=True)[1]]
        wrong = {"what": _TOLD, "value": [0] * len(_TOLD), "many": [getattr(people, name) for name in _TOLD]}
        shown = pl.concat([shown_by_keys(texts, first, rows), pl.DataFrame(wrong)])
        return pa.table({name: pa.array(shown[name].to_list(), kind) for name, kind in kinds.items()})


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The people of a bucket by number, their rows capped."""

    texts: tuple[str, ...]
    columns: tuple[str, ...]
    cap: int | None

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        found = framed(table)
        rows = found[ROWS].to_numpy()
        people = read_people([found[name] for name in self.texts], rows)
        ids, codes = people.ids, [found[name].to_numpy() for name in self.columns]
        stay = rows if self.cap is None else rows_kept(ids, people.digest, codes, rows, self.cap)
        kept = stay > 0
        ids, codes, stay = ids[kept], [column[kept] for column in codes], stay[kept]
        order = np.lexsort((*codes[::-1], ids))
        first = np.ones(len(order), bool)
        first[1:] = ids[order][1:] != ids[order][:-1]
        many = np.bincount(ids)[ids[order]]
        arrays = {"b": np.full(len(order), found["b"][0]), "i": ids[order]}
        arrays |= {name: column[order] for name, column in zip(self.columns, codes, strict=True)}
        columns = {name: pa.array(array, pa.int32()) for name, array in arrays.items()}
        columns[ROWS] = pa.array(stay[order], pa.int64())
        return pa.table({**columns, "m": pa.array(many, pa.int32()), "f": pa.array(first.astype(np.int32), pa.int32())})


@dataclass(frozen=True, slots=True)
class _Sharing:
    """The share of a person that each line has."""

    columns: Sequence[str]
    whole: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for found in gathered(batches):
            many = found["m"].to_numpy().astype(np.int64)
            share = self.whole // many + np.where(found["f"].to_numpy() > 0, self.whole % many, 0)
            yield numbers({name: found[name].to_numpy() for name in self.columns}, share)


@dataclass(frozen=True, slots=True)
class _Membership:
    """Whose each line of some parts is."""

    columns: Sequence[str]
    offsets: tuple[int, ...]
    parts: Parts

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        offsets = np.array(self.offsets, np.int64)
        for found in gathered(batches):
            codes = {name: found[name].to_numpy() for name in self.columns}
            part = self.parts.of(list(codes.values()), found.height)
            known = part >= 0
            person = offsets[found["b"].to_numpy()] + found["i"].to_numpy()
            arrays = {PART: pa.array(part[known], pa.int32()), "person": pa.array(person[known], pa.int64())}
            arrays |= {name: pa.array(column[known], pa.int32()) for name, column in codes.items()}
            yield pa.RecordBatch.from_pydict({**arrays, ROWS: pa.array(found[ROWS].to_numpy()[known], pa.int64())})
