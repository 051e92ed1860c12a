"""Carried columns that say what quasi-identifiers say: a score computed from the age, the region beside the postcode.

Source    Ours; the measure is Goodman & Kruskal's tau (JASA 49, 1954), with pairs of different rows.
Claim     A column is reported only if two rows that agree in what it is compared with (or are neighbours in its order)
          differ in the column less than a quarter as often as any two rows do, and chance would make 20 of them differ.
          It is reported as loosely related, with numbers of rows or people, if they differ less than half as often.
Because   both shares are counted exactly over pairs of different rows: a value that occurs once is not evidence.
Checked   tests/claims/test_derived_columns.py::test_equals_a_count_over_all_pairs
          tests/claims/test_derived_columns.py::test_independent_columns_are_not_reported
          tests/claims/test_derived_columns.py::test_a_score_of_the_age_is_refused
          tests/claims/test_derived_columns.py::test_a_loose_relation_is_stated_with_true_numbers
          tests/claims/test_derived_columns.py::test_the_order_of_the_rows_of_people_says_nothing
Silent on functions of three and more quasi-identifiers, on single values that tell (a husband is a man), on tables of
          less than about 20 rows. Of large tables every n-th combination is looked at; of tables that are not held
          (driver_cells), functions of two quasi-identifiers are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sfumato.engines import Engine, Parts
from sfumato.engines.grouping import group_codes, scrambled
from sfumato.errors import Problem

if TYPE_CHECKING:
    from sfumato.counts.table import Table

_DIFFER, _EXPECTED = 0.25, 20  # how often rows that agree may differ, of what any two do; rows that chance would part
_LINES, _PAIR_LINES = 1 << 16, 1 << 14  # combinations looked at, for one quasi-identifier and for two
_IN_PAIRS = 12  # quasi-identifiers that are tried two by two
_LOOSE = 0.5  # how often rows that agree may differ in a loosely related column, of what any two do
_TOGETHER = 20  # rows at least that are next to each other in an order and count as agreeing in it
_GOLDEN = (5**0.5 - 1) / 2
_SURE = 0.95  # share of the rows that agree, from which on their value is as good as known


@dataclass(frozen=True, slots=True)
class Derived:
    """A carried column and the quasi-identifiers it follows from (`follows`), or that follow from it.

    `part[code]` is what a reader knows of the column's value who knows the quasi-identifiers. `one_each` says that one
    row of each person was counted. Confidential.
    """

    column: str
    _: KW_ONLY
    known: tuple[str, ...]
    follows: bool
    part: np.ndarray = field(repr=False, compare=False)
    one_each: bool = False

    def describe(self) -> str:
        """Say which column follows from which."""
        known = " and ".join(self.known)
        if self.follows:
            return f"{self.column} follows from {known}"
        return f"{known} {'follows' if len(self.known) == 1 else 'follow'} from {self.column}"

    def problem(self, where: str) -> Problem:
        """Return it as something to look at before publishing."""
        known, said = " and ".join(self.known), f"{self.describe()} in nearly all rows"
        said += " (one row of each person was counted)" if self.one_each else ""
        apart = f"anyone who knows a person's {known} can tell the rows of a class apart by it"
        rule = f"{said}, and is not made coarser: {apart}"
        if not self.follows:
            rule = f"{said}: {self.column} is not made coarser, and repeats what is"
        return Problem(where, rule, DERIVED_HINT)


@dataclass(frozen=True, slots=True)
class LooseRelation:
    """A carried column that a quasi-identifier predicts for many: `right` of `total` rows or people (`many`).

    `right` have the most frequent value of those who agree with them in the quasi-identifier, `usual` that of all;
    `sure` belong to those of whom at least 95 % have one value, 20 or more of them. Confidential.
    """

    column: str
    _: KW_ONLY
    known: str
    right: int
    usual: int
    sure: int
    total: int
    many: str

    def problem(self, where: str) -> Problem:
        """Return it as something to look at before publishing."""
        rule = (
            f"{self.known} says much about {self.column}, which is not made coarser: {self.right:,} of {self.total:,} "
            f"{self.many} have the most frequent {self.column} of those with nearly the same {self.known}, and "
            f"{self.usual:,} that of all; {self.sure:,} {self.many} are among at least {_TOGETHER} of whom "
            f"{100 * _SURE:.0f} % or more have one {self.column}"
        )
        return Problem(where, rule, DERIVED_HINT)


def related_columns(table: Table, known: Sequence[Derived]) -> list[LooseRelation]:
    """Return the carried columns that a quasi-identifier predicts for many rows, each with its closest predictor.

    Columns in `known` are not included.
    """
    schema = table.schema
    refused = {one.column for one in known}
    carried = [attribute.name for attribute in schema.carried if attribute.name not in refused]
    if not schema.quasi or not carried:
        return []
    external = not table.held and table.engine is not None
    every, times = (np.zeros((0, 0), np.int64), np.zeros(0, np.int64)) if external else _lines(table)
    place = {attribute.name: at for at, attribute in enumerate(schema.published)}
    by_key = schema.several and not external and table.persons() is not None  # an engine counts rows
    alone = schema.unit == "person" and (by_key if schema.several else schema.rows_per_person == 1)
    found = []
    for name in carried:
        best: tuple[float, str, np.ndarray, np.ndarray, np.ndarray] | None = None
        for one in schema.quasi:
            if external and table.engine is not None:
                at = {column: number for number, column in enumerate(table.engine.names)}
                pair = (at[one.name], at[name])
                counts = table.engine.pairs(Parts.whole(table.engine.rows), [pair])[pair]
                lines = counts.first, counts.second, counts.weight
            else:
                lines = every[:, place[one.name]], every[:, place[name]], times
            groups = _runs(lines[0], lines[2], one.values.size) if one.ordered else lines[0]
            share = explained_share(groups, lines[1], lines[2], neighbours=False)
            if share > _LOOSE and (best is None or share > best[0]):
                best = share, one.name, groups, lines[1], lines[2]
        if best is not None:
            _, which, groups, column, weight = best
            whose = "people" if alone else "rows"
            # A person may have several values; a row has one.
            if schema.several and not external and not _one_pair_each(table, which, name):
                (groups, column, weight), whose = _rows_of(table, which, name), "rows"
            right, usual, sure = _people_determined(groups, column, weight)
            total, many = int(weight.sum()), whose
            found.append(LooseRelation(name, known=which, right=right, usual=usual, sure=sure, total=total, many=many))
    return found


def _rows_of(table: Table, known: str, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the groups of a quasi-identifier, the codes of a column and how many rows have both."""
    held, attribute = table.counts([known, name]), table.schema[known]
    groups, column = held.codes.T
    if attribute.ordered:
        groups = _runs(groups, held.weights, attribute.values.size)
    return groups, column, held.weights


def _one_pair_each(table: Table, *names: str) -> bool:
    """Whether all rows of a person agree in some columns."""
    people, codes = table.persons(), table.codes(names)
    if people is None:
        return False
    held = np.column_stack([np.unique(people, return_inverse=True)[1], codes])
    return len(np.unique(held, axis=0)) == len(np.unique(people))


def _runs(codes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Number runs of codes of at least 20 rows each, in their order; codes from `size` on (missing) are their own."""
    rows = np.bincount(codes, weights=weights, minlength=size)
    run, held, place = 0, 0.0, np.zeros(len(rows), np.int64)
    for code in range(size):
        place[code], held = run, held + rows[code]
        if held >= _TOGETHER:
            run, held = run + 1, 0.0
    place[size:] = run + 1 + np.arange(len(rows) - size)
    found: np.ndarray = place[codes]
    return found


def _people_determined(groups: np.ndarray, column: np.ndarray, weights: np.ndarray) -> tuple[int, int, int]:
    """Return rows with the most frequent value of their group, of all, and rows of groups that nearly agree."""
    cells, many = _cells(groups, column, weights)
    group = np.cumsum(np.r_[False, cells[1:, 0] != cells[:-1, 0]])
    most, rows = np.zeros(int(group.max(initial=-1)) + 1), np.bincount(group, weights=many)
    np.maximum.at(most, group, many)
    sure = (rows >= _TOGETHER) & (most >= _SURE * rows)
    return int(most.sum()), int(np.bincount(cells[:, 1], weights=many).max(initial=0)), int(rows[sure].sum())


DERIVED_HINT = 'role = "quasi" makes it coarser too, role = "other" leaves it out'


def derived_columns(table: Table) -> list[Derived]:
    """Return the carried columns that follow from quasi-identifiers or tell them, the closest relation of each."""
    schema = table.schema
    if not schema.quasi or not schema.carried:
        return []
    if not table.held and table.engine is not None:
        return _derived_in_engine(table, table.engine)
    every, times = _lines(table)
    names = [attribute.name for attribute in schema.published]
    sizes = {attribute.name: attribute.size for attribute in schema.published}
    (codes, weights), (few, few_weights) = (_thinned(every, times, most) for most in (_LINES, _PAIR_LINES))
    whole, columns, thin = (dict(zip(names, lines.T, strict=True)) for lines in (every, codes, few))
    quasi = [attribute.name for attribute in schema.quasi]
    found = []
    for name in (attribute.name for attribute in schema.carried):
        everything = np.arange(sizes[name])
        single = next(_followed(columns, weights, name, quasi), None)
        # A group of sex and decade reveals the sex, and is known to whoever knows both: the pair splits further.
        known = (single,) if single is not None else next(_double(thin, few_weights, name, quasi), None)
        if known is not None:
            found.append(Derived(name, known=known, follows=True, part=everything, one_each=schema.several))
        elif told := _told(columns, weights, name, quasi):
            parts = [_most_frequent(whole[name], whole[one], times, sizes[name]) for one in told]
            found.append(Derived(name, known=told, follows=False, part=_together(parts), one_each=schema.several))
    return found


def _derived_in_engine(table: Table, engine: Engine) -> list[Derived]:
    """Return the same of a table that is not held, by single quasi-identifiers: pairs of columns are counted there."""
    schema, found = table.schema, []
    place = {name: at for at, name in enumerate(engine.names)}
    for name in (attribute.name for attribute in schema.carried):
        quasi = [attribute.name for attribute in schema.quasi]
        pairs = engine.pairs(Parts.whole(engine.rows), [(place[known], place[name]) for known in quasi])
        counts = {known: pairs[place[known], place[name]] for known in quasi}
        size = schema[name].size
        told = []
        for known in quasi:
            one, other, weight = counts[known].first, counts[known].second, counts[known].weight
            if explained_share(one, other, weight) > 1 - _DIFFER:
                found.append(Derived(name, known=(known,), follows=True, part=np.arange(size)))
                break
            if explained_share(other, one, weight) > 1 - _DIFFER:
                told.append((known, _most_frequent(other, one, weight, size)))
        else:
            if told:
                names, parts = zip(*told, strict=True)
                found.append(Derived(name, known=names, follows=False, part=_together(parts)))
    return found


def _followed(columns: dict[str, np.ndarray], weights: np.ndarray, name: str, quasi: Sequence[str]) -> Iterator[str]:
    """Yield the quasi-identifiers from which a column follows."""
    return (one for one in quasi if explained_share(columns[one], columns[name], weights) > 1 - _DIFFER)


def _told(columns: dict[str, np.ndarray], weights: np.ndarray, name: str, quasi: Sequence[str]) -> tuple[str, ...]:
    """Return the quasi-identifiers that follow from a column."""
    return tuple(one for one in quasi if explained_share(columns[name], columns[one], weights) > 1 - _DIFFER)


def _together(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Number what several parts say of each code together; one part says what it says."""
    if len(parts) == 1:
        return parts[0]
    found: np.ndarray = np.unique(np.column_stack(parts), axis=0, return_inverse=True)[1].reshape(-1)
    return found


def _double(
    columns: dict[str, np.ndarray], weights: np.ndarray, name: str, quasi: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of quasi-identifiers from which a column follows, neighbours in the order of either included."""
    for one, other in itertools.combinations(quasi[:_IN_PAIRS], 2):
        for first, second in ((one, other), (other, one)):
            joint = columns[first].astype(np.int64) * (int(columns[second].max(initial=0)) + 1) + columns[second]
            both = np.unique(joint, return_inverse=True)[1].reshape(-1)
            if explained_share(both, columns[name], weights) > 1 - _DIFFER:
                yield one, other
                break


def _lines(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations of codes with their weights; of each person one row, since their rows agree."""
    people = table.persons()
    if people is None:
        counts = table.counts()
        return counts.codes, counts.weights
    codes = table.codes()
    codes = codes[_one_each(codes, people)]
    sizes = [attribute.size for attribute in table.schema.published]
    return group_codes([np.ascontiguousarray(column) for column in codes.T], sizes, rows=len(codes))


def _one_each(codes: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Return a row of each person: any of theirs alike, and in whatever order the file has them.

    People are ordered by what their rows say, and those next to each other take rows at places spread by the golden
    ratio: of people whose rows are the same, as many take each. The first row of the file may be that of a first visit.
    """
    row = np.zeros(len(codes), np.uint64)
    for column in codes.T:
        row = scrambled(row ^ column.astype(np.uint64))
    _, person, rows = np.unique(people, return_inverse=True, return_counts=True)
    whole = np.zeros(len(rows), np.uint64)
    np.add.at(whole, person, scrambled(row))  # wraps round, as hashes do
    order = np.lexsort((row, person))
    rank = np.argsort(np.argsort(whole, kind="stable"), kind="stable")
    place = (rank * _GOLDEN % 1 * rows).astype(np.int64)
    found: np.ndarray = order[np.cumsum(rows) - rows + place]
    return found


def _thinned(codes: np.ndarray, weights: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    every = -(-len(weights) // most) if len(weights) else 1
    return codes[::every], weights[::every]


def explained_share(known: np.ndarray, column: np.ndarray, weights: np.ndarray, *, neighbours: bool = True) -> float:
    """Return how much seldomer rows that agree in `known` differ in a column than any two rows; 1 where they never do.

    With `neighbours` also of rows next to each other in the order of `known`, whichever explains more. 0 if there is
    too little to judge by.
    """
    cells, many = _cells(known, column, weights)
    if not len(many):
        return 0.0
    value = np.unique(cells[:, 1], return_inverse=True)[1].reshape(-1)
    group = np.cumsum(np.r_[False, cells[1:, 0] != cells[:-1, 0]])
    rows, width = np.bincount(group, weights=many), int(value.max()) + 1
    agree = np.bincount(group, weights=many * (many - 1.0))
    several = rows > 1
    differ = np.zeros(len(rows))
    differ[several] = 1 - agree[several] / (rows[several] * (rows[several] - 1))
    again = several[group]
    within = _share(
        float((rows * differ).sum()), float(rows[several].sum()), _any_two(value[again], many[again], width)
    )
    if not neighbours or len(rows) < 2:
        return within
    key, share = group * width + value, many / rows[group]
    place = np.minimum(np.searchsorted(key, key + width), len(key) - 1)
    across = np.bincount(group, weights=np.where(key[place] == key + width, share * share[place], 0.0))[:-1]
    beside = float(((rows - 1) * differ).sum() + (1 - across).sum())
    return max(within, _share(beside, float(rows.sum()) - 1, _any_two(value, many, width)))


def _cells(one: np.ndarray, other: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of codes that occur, in order, and how often."""
    sizes = [int(column.max(initial=0)) + 1 for column in (one, other)]
    return group_codes([one, other], sizes, rows=len(one), weights=weights)


def _share(differ: float, rows: float, by_chance: float) -> float:
    """Return the share of the differences expected by chance that do not occur."""
    return 1 - differ / (rows * by_chance) if rows * by_chance >= _EXPECTED else 0.0


def _any_two(value: np.ndarray, many: np.ndarray, width: int) -> float:
    """Return how often two different rows differ."""
    times = np.bincount(value, weights=many, minlength=width)
    rows = times.sum()
    return 1 - float((times * (times - 1)).sum()) / (rows * (rows - 1)) if rows > 1 else 0.0


def _most_frequent(column: np.ndarray, known: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Return for each code of a column the code of the quasi-identifier that most of its rows have."""
    cells, many = _cells(column, known, weights)
    order = np.lexsort((many, cells[:, 0]))
    part = np.full(size, -1, np.int64)
    part[cells[order, 0]] = cells[order, 1]  # the last of a code stays: the most frequent
    return part
