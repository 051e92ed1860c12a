"""Fingerprints: rows that are unique on what is published unchanged.

Source    Sweeney, "Simple demographics often identify people uniquely", 2000: uniqueness on known columns.
Claim     `alone` is the number of published rows whose combination of the unchanged columns occurs once among the
          published rows, `alone_on_all` the same for all published columns together. Where the table names the person
          of each row, `people_alone` and `people_alone_on_all` are the number of people with a combination that nobody
          else has.
Because   rows are counted from the weights of distinct combinations: a combination with weight 1 is one row. People
          are counted from who has which combination: a person's own rows may share one and still tell who it is.
Checked   tests/claims/test_fingerprints.py::test_equals_a_count_by_hand
          tests/claims/test_fingerprints.py::test_people_alone_equal_a_count_by_hand
          tests/claims/test_fingerprints.py::test_people_alone_on_all_columns_equal_a_count_by_hand
          tests/claims/test_fingerprints.py::test_saving_needs_a_yes_above_the_share
          tests/claims/test_fingerprints.py::test_two_rows_a_person_do_not_hide_a_fingerprint
          tests/claims/test_fingerprints.py::test_a_second_row_does_not_hide_a_fingerprint_where_no_key_is_named
Silent on who knows these columns, on combinations that two people have, and, in a file without its table, on people
          who have several rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, Final, TypedDict

import numpy as np

from sfumato.errors import ReleaseError, count_of

_HARDLY_ANY = 1 / 20  # combinations of noise alone that are expected: none in nearly every release
_OF_PEOPLE = ("people", "people_alone", "people_alone_on_all")
_NAMED = 3  # columns in intervals that are named
FINGERPRINT_SHARE: Final = Fraction(1, 20)
"""More of the rows or people than this share may not be unique on what is published unchanged, without a yes to it."""


def nearly_records(noise: float, *, line: bool = False) -> str:
    """Say of drawn rows, or of lines with a count of 1, what they are once counts are practically exact.

    `noise` is how many combinations that nobody has are expected to be reported: then a row may be one of these.
    """
    which = "a line with a count of 1" if line else "a row"
    if noise < _HARDLY_ANY:
        return f"{which} is very likely {'one' if line else 'a'} record"
    either = f"{which} may be a record or noise"
    if not math.isfinite(noise):
        return either
    return f"{either}: up to {noise:,.3g} combinations that nobody has are expected among them"


FEW_ROWS: Final = 3
"""Half of the rows may not have, published unchanged, what so few rows have, without a yes to it. Where rows fall into
combinations by chance, more than 5 % of them are then unique as well: what is met is rows in twos and threes."""


class FewRows(TypedDict, total=False):
    """The fields of `Fingerprints` that count rows where no key says whose they are."""

    few: int
    of_one: int
    rows_each: int


def rows_of_few(codes: np.ndarray, weights: np.ndarray, *, rows_each: int = 1) -> FewRows:
    """Return `few`, `of_one` and `rows_each` of `Fingerprints`, for rows without a key that says whose they are."""
    codes, weights = np.asarray(codes), np.asarray(weights)
    if not len(weights) or not codes.shape[1]:
        return {}
    place = np.unique(_numbered(codes), return_inverse=True)[1].reshape(-1)
    rows = np.bincount(place, weights=weights)
    of_one = int(rows[rows <= rows_each].sum()) if rows_each > 1 else 0
    return {"few": int(rows[rows <= FEW_ROWS].sum()), "of_one": of_one, "rows_each": rows_each}


def lonely_rows(codes: np.ndarray, weights: np.ndarray) -> int:
    """Return how many rows are unique on their combination; `weights` says how often each line occurs."""
    codes, weights = np.asarray(codes), np.asarray(weights)
    there = weights > 0
    codes, weights = (codes, weights) if there.all() else (codes[there], weights[there])
    if not len(weights) or not codes.shape[1]:
        return 0
    key = 2 * _numbered(codes) + (weights > 1)
    if not (key[1:] > key[:-1]).all():
        key.sort()
    one = key >> 1
    new = np.concatenate([[True], one[1:] != one[:-1], [True]])
    return int((new[1:] & new[:-1] & (key & 1 == 0)).sum())


def _numbered(codes: np.ndarray) -> np.ndarray:
    """Return a number for each combination, in the order of the columns where that is cheap; codes are at least 0."""
    number, room = np.zeros(len(codes), np.int64), 1
    for column in codes.T:
        span = int(column.max()) + 1
        if room * span >= 1 << 61:
            number = np.unique(number, return_inverse=True)[1]
            room = int(number.max()) + 1
        number = number * span + column
        room *= span
    return number


def lonely_people(person: np.ndarray, line: np.ndarray) -> int:
    """Return how many people have a line that nobody else has; each (person, line) is listed once."""
    if not len(line):
        return 0
    return len(np.unique(person[np.bincount(line)[line] == 1]))


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """How many of the published rows are unique on the columns published unchanged, and with all columns.

    Where two tables are published, their columns are never in one row: `alone_on_all` is None, and `alone_on_exact` is
    the number of rows that are unique on their exact quasi-identifiers. `drawn` rows are noisy or synthetic; where the
    noise is so small that counts are hardly ever off, `noise` is how many combinations that nobody has are expected
    among them. `people`, `people_alone` and `people_alone_on_all` are known to the publisher only, and where the table
    names the person of each row; `keyed` says that it does. Where it does not, `few` is the number of rows whose
    unchanged columns `few_rows` rows or fewer have, and `of_one` of those that may all be one person's, who has
    `rows_each`: a fingerprint does not hide behind the second row of its person. `intervals` says of each of the
    unchanged columns in which declared intervals it is published, where it is (`Attribute.intervals`). `keyed_by` is
    what one of `people`, and several, are called (`Schema.keyed_by`).
    """

    rows: int
    _: KW_ONLY
    unchanged: tuple[str, ...]
    alone: int
    alone_on_all: int | None
    alone_on_exact: int | None = None
    drawn: bool = False
    noise: float | None = field(default=None, compare=False)
    people: int | None = field(default=None, compare=False)
    people_alone: int | None = field(default=None, compare=False)
    people_alone_on_all: int | None = field(default=None, compare=False)
    keyed: bool = field(default=False, compare=False)
    keyed_by: tuple[str, str] = field(default=("person", "people"), compare=False)
    few: int = field(default=0, compare=False)
    of_one: int = field(default=0, compare=False)
    rows_each: int = field(default=1, compare=False)
    intervals: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def hidden(self) -> bool:
        """Whether too many rows have what hardly any other has, though few are unique."""
        if self.drawn or self.people is not None:
            return False
        return self.of_one > FINGERPRINT_SHARE * self.rows or 2 * self.few > self.rows

    @property
    def above(self) -> bool:
        """Whether publishing needs an explicit yes; rows that were drawn stand for nobody and never do."""
        if self.drawn:
            return False
        by_people = self.people_alone is not None and self.people_alone > FINGERPRINT_SHARE * (self.people or 0)
        return by_people or self.hidden or self.alone > FINGERPRINT_SHARE * self.rows

    def require(self) -> None:
        """Raise `ReleaseError` where too many rows can be singled out by what is published unchanged."""
        if self.above:
            hint = (
                "give these columns coarser values or the role quasi, drop one of them, or allow it with "
                "allow_fingerprints=True (--allow-fingerprints)"
            )
            share = f"{float(100 * FINGERPRINT_SHARE):g} %"
            whose = "rows" if self.people is None else f"rows or {self.keyed_by[1]}"
            raise ReleaseError(f"{self.describe()} At most {share} of the {whose} may be", hint=hint)

    def silence(self) -> str:
        """Say in a claim what a reader can do who knows the unchanged columns of somebody."""
        number = f"occur once for {self.alone:,} of {count_of(self.rows, 'row')}"
        if self.hidden and self.alone <= FINGERPRINT_SHARE * self.rows:
            number = f"are those of hardly any other row for {self._shared[0]:,} of {count_of(self.rows, 'row')}"
        if self.people is not None and self.people_alone is not None:
            number = f"belong to {self._nobody} for {self.people_alone:,} of {count_of(self.people, *self.keyed_by)}"
        found = "all else in the row is found by them"
        if self.alone_on_exact is not None:  # the other columns of that row are in another table
            found = "the group is found by them, with the quasi-identifiers of all its rows"
        return f"a reader who knows {self._names} of somebody: published {self.how}, they {number}, and {found}"

    def describe(self) -> str:
        """Say in plain words how many rows are unique."""
        rows = count_of(f"{self.rows:,}", "row")
        said = []
        if self.unchanged:
            are = "is" if self.alone == 1 else "are"
            how = "" if self.drawn else f", published {self.how}"
            said.append(f"{self.alone:,} of {rows} {are} unique on {self._names}{how}.")
            if self.people is not None and self.people_alone is not None:
                are = "is" if self.people_alone == 1 else "are"
                alone = f"{self.people_alone:,} of {self._everyone} {are} unique on {self._names}"
                said.append(f"{alone}: {self._nobody} has them.")
        if self.hidden:
            number, most = self._shared
            whose = ", which may be one person's" if most == self.rows_each > 1 else ""
            have = "has" if number == 1 else "have"
            said.append(f"{number:,} of {rows} {have} values of {self._names} that {most} rows or fewer have{whose}.")
        if self.alone_on_all is not None:
            are = "is" if self.alone_on_all == 1 else "are"
            said.append(f"{self.alone_on_all:,} of {rows} {are} unique on all published columns together.")
        if self.alone_on_exact is not None:
            are = "is" if self.alone_on_exact == 1 else "are"
            said.append(f"{self.alone_on_exact:,} of {rows} {are} unique on their published quasi-identifiers.")
        if self.people is not None and self.people_alone_on_all is not None:
            have = "has" if self.people_alone_on_all == 1 else "have"
            alone = f"{self.people_alone_on_all:,} of {self._everyone} {have}"
            said.append(f"{alone} a combination of all published columns that {self._nobody} has.")
        if self.keyed and self.people is None and not self.drawn and said:
            said.append("These are rows, and a person may have several: people can be counted with the key only.")
        if self.drawn and said:
            drawn = "The rows are drawn: a unique one may or may not be a person's, the likelier the larger epsilon is."
            if self.noise is not None:
                drawn = f"The rows are drawn, but counts are practically exact: {nearly_records(self.noise)}."
            said.append(drawn)
        return " ".join(said)

    @property
    def how(self) -> str:
        """How the unchanged columns are published: as they are, or in the intervals that the schema declares."""
        wide = [f"{name} in {how}" for name, how in self.intervals.items() if how]
        if not wide:
            return "unchanged"
        if len(wide) > _NAMED:
            wide = [f"{len(wide)} columns in intervals"]
        return f"as described ({', '.join(wide)})"

    @property
    def _shared(self) -> tuple[int, int]:
        """How many rows have what few have, and how many rows are few."""
        return (self.few, FEW_ROWS) if 2 * self.few > self.rows else (self.of_one, self.rows_each)

    @property
    def _everyone(self) -> str:
        return count_of(f"{self.people:,}", *self.keyed_by)

    @property
    def _nobody(self) -> str:
        return "nobody else" if self.keyed_by[0] == "person" else "no other"

    @property
    def _names(self) -> str:
        *others, last = self.unchanged or ("nothing",)
        return f"{', '.join(others)} and {last}" if others else last

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "rows": self.rows,
            "unchanged": list(self.unchanged),
            "alone": self.alone,
            "alone_on_all": self.alone_on_all,
            "alone_on_exact": self.alone_on_exact,
            "drawn": self.drawn,
            "above": self.above,
            **({} if self.people is None else {name: getattr(self, name) for name in _OF_PEOPLE}),
        }
