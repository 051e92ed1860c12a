"""Rows that come in batches of codes, again and again: a file that is scanned, arrays in memory.

Source    Ours.
Claim     Counts, counts of pairs and lines of parts are those of all rows, whatever the batches are.
Because   each batch is added up by combination of codes, and sums do not depend on how rows are divided.
Checked   tests/unit/engines/test_batches.py::test_answers_do_not_depend_on_the_batches
Silent on rows that change between two passes; a file is compared with the number of rows it had.
Cost      one pass for each question; memory for the combinations that are counted, not for the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from sfumato.engines.engine import Engine, Finish, Lines, PairCounts, PersonLines, finish_here
from sfumato.engines.grouping import CodeTally, packed, shares_of
from sfumato.engines.parts import Parts
from sfumato.errors import Problem, ReadError
from sfumato.io.decode_cell import ASK
from sfumato.io.encode import Encoded, first_look, settle, supported
from sfumato.io.read_errors import DECODE, ONE_VALUE
from sfumato.schema import Attribute

# Codes of a frame in memory: what a worker does with its batch of rows, by the same rules as for a file.
#
# Source    Ours.
# Claim     Every cell gets the code that `code_of` gives it, in every batch and on every worker.
# Because   the expressions of `io.encode` settle what they are sure of and ask `code_of` about the rest; neither reads
#           another row.
# Checked   tests/unit/engines/test_coding.py::test_a_batch_is_coded_like_the_whole_file
# Silent on rows that repeat the header, which are looked for in files only.


def plain_texts(values: pl.Series) -> pl.Series:
    """Return categories as texts, and any other column as it is."""
    return values.cast(pl.String) if isinstance(values.dtype, pl.Categorical | pl.Enum) else values


def refuse_types(attributes: Sequence[Attribute], types: dict[str, pl.DataType], person: Sequence[str] = ()) -> None:
    """Raise for columns whose cells are not single values; `person` are those of a key."""
    asked = [*(("person", name) for name in person), *((a.where, a.column_name) for a in attributes)]
    odd = [(where, name) for where, name in asked if not supported(types[name]) and types[name] != pl.Object]
    if odd:
        raise ReadError(
            Problem(
                where,
                f"the column {name} holds {types[name].base_type()} cells",
                DECODE if types[name] == pl.Binary else ONE_VALUE,
            )
            for where, name in odd
        )


def code_frame(attributes: Sequence[Attribute], frame: pl.DataFrame, *, padded: bool = False) -> list[Encoded]:
    """Return the codes of the attributes' columns (negative where a cell has none), with the texts behind those."""
    types = dict(frame.schema)
    refuse_types(attributes, types)
    looks = [first_look(attribute, types[attribute.column_name], padded=padded) for attribute in attributes]
    found = frame.select(looks)
    return [
        settled_column(attribute, found[attribute.name].to_numpy(), frame[attribute.column_name])
        for attribute in attributes
    ]


def settled_column(attribute: Attribute, codes: np.ndarray, raw: pl.Series) -> Encoded:
    """Return one column's codes, what the expressions could not decide settled one distinct value at a time."""
    asked = codes == ASK
    if not asked.any():
        return Encoded(codes, offending={})
    return settle(attribute, codes, plain_texts(raw.filter(pl.Series(asked))))


_DENSE = 1 << 22  # cells of a table of pairs that is added to in place

Batch = tuple[Sequence[np.ndarray], np.ndarray | None]
"""One array of codes for each column, and the weight of each row (None: 1)."""


@dataclass(frozen=True, slots=True)
class Batches:
    """An engine over rows that can be gone through again and again, a batch at a time."""

    names: tuple[str, ...]
    _: KW_ONLY
    sizes: tuple[int, ...]
    rows: int
    again: Callable[[Sequence[int]], Iterator[Batch]] = field(repr=False)

    def counts(self, names: Sequence[str], limit: int, parts: Parts | None = None) -> Lines | None:
        """Add up the batches by the combinations of some columns; stop where there are too many."""
        places = [self.names.index(name) for name in names]
        return self._added(places, Parts.whole(self.rows) if parts is None else parts, limit)

    def pairs(self, parts: Parts, wanted: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], PairCounts]:
        """Add to one table for each pair: in place where it is small, else by the pairs that occur."""
        if not wanted:
            return {}
        tables = {pair: _Pairs(parts.number, self.sizes[pair[0]], self.sizes[pair[1]]) for pair in wanted}
        read = sorted({place for pair in wanted for place in pair} | _asked_of(parts))
        for columns, weights in self.again(read):
            found = dict(zip(read, columns, strict=True))
            part = parts.of([found.get(at, np.zeros(0)) for at in range(len(self.names))], len(columns[0]))
            known = part >= 0
            whole = bool(known.all())
            here = part if whole else part[known]
            kept = found if whole else {at: column[known] for at, column in found.items()}
            weight = weights if weights is None or whole else weights[known]
            for (one, other), table in tables.items():
                table.add(here, kept[one], kept[other], weight)
        return {pair: table.result() for pair, table in tables.items()}

    def lines(self, parts: Parts) -> Lines:
        """Add up the rows of the parts asked for by all columns."""
        found = self._added(range(len(self.names)), parts, None)
        assert found is not None
        return found

    def finish(self, parts: Parts, work: Finish, limit: int) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
        """Finish parts in this process."""
        return finish_here(self, parts, work, limit)

    def _added(self, places: Sequence[int], parts: Parts, limit: int | None) -> Lines | None:
        tally = CodeTally([max(parts.number, 1), *(self.sizes[at] for at in places)])
        read = sorted({*places} | _asked_of(parts)) or [0]  # of no column nobody could say how many rows there are
        for columns, weights in self.again(read):
            found = dict(zip(read, columns, strict=True))
            part = parts.of([found.get(at, np.zeros(0)) for at in range(len(self.names))], len(columns[0]))
            known = part >= 0
            kept = [part, *(found[at] for at in places)]
            kept = kept if known.all() else [column[known] for column in kept]
            tally.add(kept, weights if weights is None or known.all() else weights[known])
            if limit is not None and tally.exceeds(limit):
                return None
        codes, weight = tally.result()
        if limit is not None and len(weight) > limit:
            return None
        return Lines(np.ascontiguousarray(codes[:, 1:]), weight=weight, part=np.ascontiguousarray(codes[:, 0]))


def _asked_of(parts: Parts) -> set[int]:
    """Return the columns that a walk reads."""
    return {int(at) for at in parts.attribute if at >= 0}


class _Pairs:
    """The counts of one pair of columns in every part."""

    def __init__(self, parts: int, one: int, other: int) -> None:
        self.sizes = (max(parts, 1), one, other)
        self.table = np.zeros(math.prod(self.sizes), np.int64) if math.prod(self.sizes) <= _DENSE else None
        self.tally = CodeTally(self.sizes)

    def add(self, part: np.ndarray, one: np.ndarray, other: np.ndarray, weights: np.ndarray | None) -> None:
        if self.table is None:
            self.tally.add([part, one, other], weights)
            return
        keys = packed([part, one, other], self.sizes)
        if weights is None:
            self.table += np.bincount(keys, minlength=len(self.table))
        else:
            np.add.at(self.table, keys, weights)

    def result(self) -> PairCounts:
        if self.table is None:
            codes, weight = self.tally.result()
            return PairCounts(codes[:, 0], first=codes[:, 1], second=codes[:, 2], weight=weight)
        keys = np.flatnonzero(self.table)
        weight = self.table[keys]
        keys, second = np.divmod(keys, self.sizes[2])
        part, first = np.divmod(keys, self.sizes[1])
        return PairCounts(part, first=first, second=second, weight=weight)


def batches_of(
    codes: np.ndarray, weights: np.ndarray | None, size: int = 1 << 20
) -> Callable[[Sequence[int]], Iterator[Batch]]:
    """Return arrays in memory (rows x columns) as batches."""

    def again(places: Sequence[int]) -> Iterator[Batch]:
        for start in range(0, len(codes), size):
            here = codes[start : start + size]
            kept = None if weights is None else weights[start : start + size]
            yield [np.ascontiguousarray(here[:, at]) for at in places], kept

    return again


@dataclass(frozen=True, slots=True)
class ArraysOfPeople(Batches):
    """Lines in memory with who has which: `person[i]` has line `line[i]`, `times[i]` rows of it."""

    codes: np.ndarray = field(repr=False)
    person: np.ndarray = field(repr=False)
    line: np.ndarray = field(repr=False)
    times: np.ndarray = field(repr=False)
    people: int

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        sizes: Sequence[int],
        codes: np.ndarray,
        weights: np.ndarray,
        *,
        person: np.ndarray,
        line: np.ndarray,
        times: np.ndarray,
    ) -> ArraysOfPeople:
        """Return the engine of lines in the order of their codes."""
        return cls(
            tuple(names),
            sizes=tuple(sizes),
            rows=int(weights.sum()),
            again=batches_of(codes, weights),
            codes=codes,
            person=person,
            line=line,
            times=times,
            people=len(np.unique(person)),
        )

    def shares(self) -> tuple[Engine, int]:
        """Return the same lines weighed by shares of people, and the whole of each person."""
        weights, whole = shares_of(self.person, self.line, len(self.codes))
        again = batches_of(self.codes, weights)
        return Batches(self.names, sizes=self.sizes, rows=int(weights.sum()), again=again), whole

    def members(self, parts: Parts) -> PersonLines:
        """Return who has which line of the parts asked for."""
        part = parts.of(list(self.codes.T), len(self.codes))[self.line]
        kept = part >= 0
        line = self.line[kept]
        return PersonLines(self.person[kept], codes=self.codes[line], rows=self.times[kept], part=part[kept])
