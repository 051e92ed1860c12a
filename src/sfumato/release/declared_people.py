"""How many people each class holds, as the publisher declares it: the key of a person is not published.

Source    Ours: a file of rows cannot show who they are about, so the counts that a requirement needs stand beside it.
Claim     `contradictions` names every class whose declared numbers no table of people could have, given its rows.
Because   people are at most rows, and at least rows / cap; at least one and at most all people of a class have a value
          that occurs, at most as many as rows have it, and no class holds more people than the whole table.
Checked   tests/claims/test_people.py::test_declared_numbers_that_contradict_the_rows_fail
Silent on whether the numbers are true: a publisher who declares more people than there are, within these bounds, is
          believed. Only what the requirement reads is declared; of sensitive values nothing where it reads none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.errors import Problem, count_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from sfumato.schema import Attribute

PEOPLE = "people"  # the table's name, and that of its column of numbers
CLASS, ALL = "class", "all"
_NUMBER = "^(?:0|[1-9][0-9]{0,17})$"
_MOST = 1 << 62  # of all numbers together
_HINT = "publish the file as it was saved"


@dataclass(frozen=True)
class DeclaredPeople:
    """Distinct people of each group and of the table; `values` has (group, code, people) by sensitive attribute."""

    classes: np.ndarray
    _: KW_ONLY
    everyone: int
    values: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    overall: Mapping[str, np.ndarray] = field(default_factory=dict)

    def renumbered(self, number: np.ndarray) -> DeclaredPeople:
        """Return the same under other numbers of the groups."""
        classes = np.zeros(len(self.classes), np.int64)
        classes[number] = self.classes
        values = {name: (number[group], code, people) for name, (group, code, people) in self.values.items()}
        return DeclaredPeople(classes, everyone=self.everyone, values=values, overall=self.overall)

    def histogram(self, name: str, size: int) -> csr_matrix:
        """Return the people of each group who have each value of an attribute."""
        from scipy.sparse import csr_matrix

        group, code, people = self.values[name]
        return csr_matrix((people, (group, code)), shape=(len(self.classes), size), dtype=np.int64)

    def alike(self, attribute: Attribute) -> np.ndarray:
        """Return for each group whether everybody in it has one value of an attribute, or the value is missing for all.

        That everybody lacks a value in some row does not count where somebody has one in another.
        """
        return self._shared(attribute)[0]

    def valueless(self, attribute: Attribute) -> np.ndarray:
        """Say of each group whether nobody in it has a value of an attribute."""
        return self._shared(attribute)[1]

    def _shared(self, attribute: Attribute) -> tuple[np.ndarray, np.ndarray]:
        counts = self.histogram(attribute.name, attribute.size)
        return one_value_shared(counts, self.classes, attribute.no_value_codes)


def one_value_shared(counts: csr_matrix, people: np.ndarray, missing: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return for each group whether all its members share one value, and whether none of them has a value.

    `counts` has the people (or rows) of each group with each value, `people` those of each group, and `missing` the
    columns that mean no value: one that all share does not count where somebody has a value beside it.
    """
    if not len(people):
        return np.zeros(0, bool), np.zeros(0, bool)
    known = known_values(counts, missing)
    valueless: np.ndarray = np.asarray(known.sum(axis=1)).ravel() == 0
    known_shared = known.max(axis=1).toarray().ravel() == people
    shared: np.ndarray = (people > 0) & (counts.max(axis=1).toarray().ravel() == people) & (known_shared | valueless)
    return shared, valueless


def known_values(counts: csr_matrix, missing: Sequence[int]) -> csr_matrix:
    """Return a histogram with nobody under the values that mean none."""
    keep = np.ones((1, counts.shape[1]), np.int64)
    keep[0, list(missing)] = 0
    return counts.multiply(keep).tocsr()


def people_columns(quasi: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns of the table of people; a quasi-identifier of one of our names keeps it."""
    taken = set(quasi)

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        return name

    return (free("scope"), *quasi, free("attribute"), free("value"), free(PEOPLE))


@dataclass(frozen=True, slots=True)
class StatedPeople:
    """Declared numbers as a verifier reads them, by number of the class in the rows and text of the value."""

    classes: np.ndarray
    everyone: int
    values: Mapping[str, tuple[np.ndarray, list[str], np.ndarray]]
    overall: Mapping[str, dict[str, int]]


def stated_by(
    frame: pl.DataFrame, quasi: Sequence[str], known: Mapping[tuple[str | None, ...], int]
) -> StatedPeople | Problem:
    """Read the table of people; `known` numbers the classes of the rows by their labels."""
    scope, *_, attribute, value, number = people_columns(quasi)
    plain = frame[number].str.contains(_NUMBER).fill_null(value=False).all()
    many = frame[number].cast(pl.Int64, strict=False).to_list()
    if not plain or sum(many) > _MOST:
        return Problem(number, "must hold whole numbers of people, 0 or more", _HINT)
    classes = np.full(len(known), -1, np.int64)
    everyone = -1
    values: dict[str, tuple[list[int], list[str], list[int]]] = {}
    overall: dict[str, dict[str, int]] = {}
    seen = set()
    lines = zip(
        frame[scope].to_list(),
        zip(*(frame[name].to_list() for name in quasi), strict=True) if quasi else [()] * len(frame),
        frame[attribute].fill_null("").to_list(),
        frame[value].fill_null("").to_list(),
        many,
        strict=True,
    )
    for kind, labels, about, text, people in lines:
        if (kind, labels, about, text) in seen or kind not in (CLASS, ALL):
            return Problem(PEOPLE, "repeats a line, or has one about neither a class nor the whole table", _HINT)
        seen.add((kind, labels, about, text))
        if kind == ALL and not about:
            everyone = people
        elif kind == ALL:
            overall.setdefault(about, {})[text] = people
        elif labels not in known:
            return Problem(PEOPLE, "counts people of a class that has no rows", _HINT)
        elif not about:
            classes[known[labels]] = people
        else:
            stated = values.setdefault(about, ([], [], []))
            stated[0].append(known[labels])
            stated[1].append(text)
            stated[2].append(people)
    if everyone < 0 or (classes < 0).any():
        return Problem(PEOPLE, "does not say how many people each class and the whole table hold", _HINT)
    arrays = {name: (np.array(g, np.int64), t, np.array(p, np.int64)) for name, (g, t, p) in values.items()}
    return StatedPeople(classes, everyone, arrays, overall)


def contradictions(rows: np.ndarray, people: np.ndarray, everyone: int, *, cap: int | None) -> list[Problem]:
    """Return what no table of people with these rows in each class could have."""
    bad = (people > rows) | (people < 1)
    if cap is not None:
        bad |= people * cap < rows
    found = _said(bad, "says a number of people that its rows contradict")
    if int(people.max(initial=0)) > everyone or everyone > int(people.sum()):
        found.append(Problem(PEOPLE, "the number of people in all contradicts those of the classes", _HINT))
    return found


def value_contradictions(name: str, rows: Any, people: Any, stated: StatedPeople, overall: np.ndarray) -> list[Problem]:
    """Return what no table could have: `rows` and `people` are classes x values, `overall` people with each value."""
    rows, people = rows.tocsr(), people.tocsr()
    wrong = (people - people.minimum(rows)).getnnz(axis=1) > 0  # more people than rows
    some_rows, some_people = rows.copy(), people.copy()
    some_rows.data, some_people.data = np.ones_like(some_rows.data), (some_people.data > 0).astype(np.int64)
    wrong |= np.asarray(abs(some_rows - some_people).sum(axis=1)).ravel() > 0  # a value of rows and of nobody, or not
    most = np.asarray(people.max(axis=1).todense()).ravel()
    total = np.asarray(people.sum(axis=1)).ravel()
    wrong |= (most > stated.classes) | (total < stated.classes)
    found = _said(wrong, f"says a number of people with a value of {name} that its rows contradict")
    highest = np.asarray(people.max(axis=0).todense()).ravel()
    summed = np.asarray(people.sum(axis=0)).ravel()
    if (
        (overall > summed).any()
        or (overall < highest).any()
        or int(overall.max(initial=0)) > stated.everyone
        or int(overall.sum()) < stated.everyone
        or int((total - stated.classes).max(initial=0)) > int(overall.sum()) - stated.everyone
    ):
        found.append(Problem(PEOPLE, f"the people in all with each value of {name} contradict the classes", _HINT))
    return found


def _said(bad: np.ndarray, rule: str) -> list[Problem]:
    number = int(bad.sum())
    return [Problem(PEOPLE, f"{count_of(number, 'class', 'classes')} {rule}", _HINT, count=number)] if number else []
