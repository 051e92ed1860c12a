"""What an engine answers about coded rows: counts of a few columns, of pairs of columns, and the lines of a part.

An engine holds rows whose cells are codes (`sfumato.io.encode`), one column for each published attribute,
quasi-identifiers first. It never hands out rows: equal rows come as one line with a weight. What it is asked follows
from the schema and from cuts that were already decided, and each answer is exact (int64).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.engines.parts import Parts

Finish = Callable[[int, np.ndarray, np.ndarray], Mapping[str, np.ndarray]]
"""What finishes a part: (its number, codes m x columns int32, weights m int64) -> named arrays. Can be pickled."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How much weight has each pair of codes of two columns, by part: entries of one table, each place at most once.

    Of a column with itself these are its one-way counts, and `first` equals `second`.
    """

    part: np.ndarray
    _: KW_ONLY
    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, slots=True)
class Lines:
    """Distinct rows of codes (m x columns int32) with their weight (int64) and part (int32), in no order."""

    codes: np.ndarray
    _: KW_ONLY
    weight: np.ndarray
    part: np.ndarray


@runtime_checkable
class Engine(Protocol):
    """Coded rows somewhere else."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its columns: the published attributes, quasi-identifiers first."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each column has."""
        ...

    @property
    def rows(self) -> int:
        """How much weight all rows have."""
        ...

    def counts(self, names: Sequence[str], limit: int, parts: Parts | None = None) -> Lines | None:
        """Return the distinct rows of some columns in each part (without parts: of the whole table, part 0).

        None where there are more than `limit`.
        """
        ...

    def pairs(self, parts: Parts, wanted: Sequence[tuple[int, int]]) -> Mapping[tuple[int, int], PairCounts]:
        """Return the counts of pairs of columns (by place; a column with itself: one-way) in every part."""
        ...

    def lines(self, parts: Parts) -> Lines:
        """Return the distinct rows of all parts asked for; the caller sees to it that they are not too many."""
        ...

    def finish(self, parts: Parts, work: Finish, limit: int) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
        """Run `work` on the lines of each part, here or where the data is, and yield what it made, in any order.

        At most `limit` lines are to be held at once; `finish_here` does so in this process.
        """
        ...


@dataclass(frozen=True, slots=True)
class PersonLines:
    """Who has which distinct row: each (person, row of codes) once, with how many rows they are, and its part."""

    person: np.ndarray
    _: KW_ONLY
    codes: np.ndarray
    rows: np.ndarray
    part: np.ndarray


@runtime_checkable
class EngineOfPeople(Engine, Protocol):
    """An engine that knows who each row is about; people are numbered from 0 in any order, keys stay where they are."""

    @property
    def people(self) -> int:
        """How many people there are."""
        ...

    def shares(self) -> tuple[Engine, int]:
        """Return the same rows weighed by shares of people, and the whole that each person's shares add up to.

        As in `sfumato.mechanisms.people.shares`: a person's whole is divided evenly among their distinct rows, the
        remainder to the first of them in the order of the codes; the whole is `whole_of(people, most)`, where `most` is
        the largest number of distinct rows of a person.
        """
        ...

    def members(self, parts: Parts) -> PersonLines:
        """Return who has which line of the parts asked for."""
        ...


def finish_here(
    engine: Engine, parts: Parts, work: Finish, limit: int
) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
    """Fetch parts, several at once up to `limit` lines, and finish them in this process."""
    for group in _batches(parts.rows, limit):
        found = engine.lines(parts.only(group))
        order = np.argsort(found.part, kind="stable")
        ends = np.searchsorted(found.part[order], np.arange(len(group) + 1))
        for place, part in enumerate(group):
            mine = order[ends[place] : ends[place + 1]]
            yield part, work(part, found.codes[mine], found.weight[mine])


def _batches(rows: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Put parts together as long as their rows are at most `limit`; one that has more comes alone."""
    group: list[int] = []
    held = 0
    for part, many in enumerate(rows):
        if group and held + many > limit:
            yield group
            group, held = [], 0
        group.append(part)
        held += many
    if group:
        yield group
