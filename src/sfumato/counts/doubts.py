"""Doubts of a table: what makes it doubtful that rows are the people they are counted as, and values to be read.

Each doubt is a problem that names the column and the fix. Some stop a release that counts people; none stops one whose
claim is proved, since a veto by the data would be an output that the proof does not cover.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

from sfumato.counts.copies import COPIES_SHARE, alike_beyond_chance, find_copies, paired_share, shared_multiple
from sfumato.counts.counting_columns import counting_columns, crossed_counts
from sfumato.counts.counts import Counts
from sfumato.counts.derived import related_columns
from sfumato.counts.encoded_columns import EncodedColumns
from sfumato.counts.few_missing import FEW, few_missing
from sfumato.counts.frequent_keys import crowd_problem, filler_problem
from sfumato.counts.mixed_keys import mixed_keys
from sfumato.counts.other_keys import keys_beside, keys_of_others, other_keys, repeated_keys
from sfumato.counts.people import crowded_problem, read_people
from sfumato.counts.people_in_spark import SparkPeople
from sfumato.counts.row_groups import FIRST_ROWS
from sfumato.counts.stray_rows import stray_problems
from sfumato.counts.suspected_keys import more_than_by_chance, parted_keys, rival_keys, suspected_keys
from sfumato.counts.unclear_cells import unclear_cells
from sfumato.engines import Engine
from sfumato.engines.large_tables import is_large
from sfumato.errors import Problem, SchemaError, SfumatoError, count_of
from sfumato.io.encode import numbers_with_point
from sfumato.io.frames import ROWS
from sfumato.io.source import Source, guarded
from sfumato.schema import Attribute, Days, Grid
from sfumato.schema.free_text import address_rule, names_rule, refuse_free_text
from sfumato.schema.key_names import household_like, visit_like
from sfumato.schema.word_hints import two_people

if TYPE_CHECKING:
    from sfumato.counts.table import Table

_STRAY_ROWS = 200_000
_WIDE = 20  # cells of a range from which on it is not a scale of a few points, whose ends everybody knows


class Doubts:
    """What is doubtful about a table. Confidential: problems name columns and numbers of rows of the original."""

    __slots__ = ("_encoded", "_repeated", "_table")

    def __init__(self, table: Table, encoded: EncodedColumns, *, repeated: list[list[Problem]]) -> None:
        self._table = table
        self._encoded = encoded
        self._repeated = repeated  # one answer or none; kept by the table, which must not hold what holds it

    @property
    def rows(self) -> Source | None:
        """The file as rows; of an engine that groups its first ones, read once. None for a table of codes."""
        encoded = self._encoded
        if encoded.first is None and encoded.data is not None:
            encoded.first = encoded.data.first_rows(FIRST_ROWS)
        return encoded.first

    @property
    def _engine(self) -> Engine | None:
        """The engine that has the rows, where they are not held here."""
        self._table.require()
        return self._encoded.engine

    def remarks(self) -> list[Problem]:
        """Return what a person should look at before rows are counted as people; nothing here stops a release."""
        self._table.require()
        schema = self._table.schema
        found = self.stray() + self.two_people()
        keys = self.suspected_keys() + self.copies()
        doubtful = self._doubtful_keys()
        if schema.unit == "person" and not schema.person:
            doubtful += self._other_units()
        known = {problem.path for problem in keys}
        found += [problem for problem in doubtful if problem.path not in known]
        return found + keys + self._values_to_read(joined=not keys)

    def of_classes(self, *, quick: bool = False) -> list[Problem]:
        """Return why a class may hold fewer people than are counted, where that is no reason to refuse it.

        With `quick`, totals and headings are looked for in tables of up to 200,000 rows only.
        """
        stray = [] if quick and self._table.rows > _STRAY_ROWS else self.stray()
        return stray + self._doubtful_keys() + self.paired()

    def before_publishing(self, *, proved: bool) -> list[Problem]:
        """Return what `publish` warns of in the rows; beside a proved claim a look that fails is only named.

        To end there would be a veto by the data.
        """
        looks: list[Callable[[], list[Problem]]] = [
            self.of_classes,
            lambda: self.suspected_keys() or self.same_days(),
            self.unclear,
            self.rounded,
            self.related,
        ]
        found = []
        for look in looks:
            try:
                found += guarded("the rows", look)
            except SfumatoError:
                if not proved:
                    raise
                found.append(Problem("the rows", "could not all be looked at for doubts", "sfumato check says why"))
        return found

    def suspected_keys(self) -> list[Problem]:
        """Return a problem for columns that may be the key of a person, judged by rows that agree, whatever their name.

        Where rows are not people, for columns that look like a number of people. Beside `person`, for a key-like column
        or a part of the key whose rows agree as a person's do. A key that hardly repeats silences nothing.
        """
        self._table.require()
        file, rows, schema = self._encoded.data, self.rows, self._table.schema
        if file is None or rows is None:
            return []
        if schema.unit != "person":
            return counting_columns(file, schema) or crossed_counts(rows, schema)
        if not schema.person:
            return crossed_counts(rows, schema) or suspected_keys(rows, schema)
        people, external = self._encoded.people, self._engine
        keyed = external if isinstance(external, SparkPeople) else people
        found = [] if keyed is None or self._encoded.exact else filler_problem(keyed.filler)
        found = found or rival_keys(rows, schema, other_keys(rows, schema)) or parted_keys(rows, schema)
        if found:
            return found
        weights = self._encoded.weights
        if people is None:  # they are counted elsewhere
            people, weights = read_people([rows.read([name])[name] for name in schema.person_columns]), None
        return keys_beside(rows, schema, rows_are_keys=people.of_rows(weights))

    def refuse_suspected_keys(self) -> None:
        """Raise if rows may be counted as people that are not. Never for a claim that is proved: it is a veto."""
        problems = self.suspected_keys() or self.joined()
        if problems:
            raise SchemaError(problems)

    def key_refusals(self, *, proved: bool) -> list[Problem]:
        """Return the problems for which `publish` refuses the table before anything is made, by what the claim is."""
        found = self.repeated_keys()
        return found if proved else found or self._copied_people() or self.suspected_keys() or self.joined()

    def repeated_keys(self) -> list[Problem]:
        """Return a problem for each column that looks like a person's key and repeats more than `rows_per_person`.

        Only where the schema does not say who a row is about (`person`). A table of codes has no such columns.
        """
        self._table.require()
        if not self._repeated:
            file, rows, schema, repeats = self._encoded.data, self.rows, self._table.schema, self._encoded.repeats
            found = [] if file is None or rows is None else repeated_keys(file, schema, repeats, rows)
            self._repeated.append(found)
        return self._repeated[0]

    def refuse_repeated_keys(self) -> None:
        """Raise when the file contradicts how many rows the schema says a person has."""
        problems = self.repeated_keys()
        if problems:
            raise SchemaError(problems)

    def _doubtful_keys(self) -> list[Problem]:
        """Return what makes it doubtful that the keys of `person` are all the people that rows are about."""
        rows, schema, people = self.rows, self._table.schema, self._encoded.people
        if rows is None or not schema.person:
            return []
        external = self._engine
        crowded = [] if people is None else crowded_problem(people, self._encoded.weights)
        crowded += crowd_problem(external.crowd) if isinstance(external, SparkPeople) else []
        return crowded + mixed_keys(rows, schema) + keys_of_others(rows, schema)

    def two_people(self, *, published: bool = False) -> list[Problem]:
        """Return a problem where columns, or published ones, are named as if a row described two people.

        No value is read for it.
        """
        schema = self._table.schema
        pairs = two_people([attribute.name for attribute in (schema.published if published else schema.attributes)])
        if not pairs or schema.unit != "person" or {*schema.not_person} & {name for pair in pairs for name in pair}:
            return []
        one, other = pairs[0]
        rule = f"{one} and {other} are named as if a row described two people, but every promise counts it as one"
        hint = f'write a row for each person; not_person = ["{other}"] where a row is about one person alone'
        return [Problem(schema[other].where, rule, hint)]

    def _other_units(self) -> list[Problem]:
        """Return the identifiers that are named like households or visits, where rows are counted as people."""
        schema, found = self._table.schema, []
        for attribute in schema.role("identifier"):
            names = {attribute.name, attribute.column_name}
            if names & {*schema.not_person}:
                continue
            if any(map(household_like, names)):
                what = "a household: is a row a person or a household?"
            elif any(map(visit_like, names)):
                what = "visits: can one person have several?"
            else:
                continue
            rule = f"is named like {what} Every promise counts rows as people"
            hint = "`not_person` says that it identifies something else; `person` names who a row is about"
            found.append(Problem(attribute.where, rule, hint))
        return found

    def stray(self) -> list[Problem]:
        """Return problems where rows look like totals, headings or notes, or cells as if they had been merged.

        Files too large to hold are not gone through for it.
        """
        rows = self.rows
        return (
            []
            if self._encoded.source is None or rows is None or is_large(rows)
            else stray_problems(rows, self._table.schema)
        )

    def copies(self) -> list[Problem]:
        """Return a problem where many rows are copies of others in every column of the file, more than by chance.

        Only where a person has one row, the schema names no `person` and does not say `copies_are_people`.
        """
        self._table.require()
        file, schema = self._encoded.data, self._table.schema
        if file is None or schema.person or schema.copies_are_people or schema.rows_per_person > 1:
            return []
        if self._engine is None and self._table.rows - len(self._table.counts()) <= COPIES_SHARE * self._table.rows:
            return []  # rows that differ in what is published differ
        if self._encoded.copies is None:
            found = find_copies(file)
            self._encoded.copies = [] if found is None else [found.problem(self._encoded.name)]
        return self._encoded.copies

    def refuse_copies(self) -> None:
        """Raise if a claim would count copies of rows as people. Never for a claim that is proved: it is a veto."""
        problems = self._copied_people()
        if problems:
            raise SchemaError(problems)

    def _copied_people(self) -> list[Problem]:
        """Return what makes rows that are alike seem one person's, where rows are called people."""
        return (self.copies() or self.alike()) if self._table.schema.unit == "person" else []

    def alike(self) -> list[Problem]:
        """Return a problem where rows agree in every quasi-identifier far more often than by chance.

        Only where rows are called people on somebody's word, each row a different one.
        """
        counts = self._quasi_of_people()
        most = 0 if counts is None else alike_beyond_chance(counts.codes, counts.weights)
        if not most:
            return []
        rule = (
            f"up to {most} rows agree in every quasi-identifier, far more often than by chance, as several rows of one "
            "person do"
        )
        hint = (
            "name the `person`, or delete rows_per_person: promises then speak of rows; copies_are_people = true where "
            "they are different people"
        )
        return [Problem(self._encoded.name, rule, hint, rows=most)]

    def joined(self) -> list[Problem]:
        """Return a problem where combinations of published columns occur a multiple of times, as after a join.

        Only where rows are called people on somebody's word.
        """
        schema = self._table.schema
        if not schema.trusted or schema.copies_are_people or not self._table.held:
            return []
        counts = self._table.counts()
        found = shared_multiple(counts.codes, counts.weights, schema.rows_per_person)
        if found is None:
            return []
        times, columns, every = found
        *first, last = (counts.names[at] for at in columns)
        names = f"{', '.join(first)} and {last}" if first else last
        rule = (
            f"{'every' if every else 'nearly every'} combination of {names} occurs a multiple of {times} times, as "
            "after a join that repeats rows: people would be counted several times"
        )
        hint = (
            "join by a key that is unique in the other table, or name the `person`; copies_are_people = true where "
            "each row is a different person"
        )
        return [Problem(self._encoded.name, rule, hint, count=times)]

    def paired(self) -> list[Problem]:
        """Return a problem where rows seem to be pairs that agree in every quasi-identifier: two rows of a person.

        Only where rows are called people on somebody's word, each row a different one. Two people who were matched,
        a case and its control, look the same, so that this is a warning.
        """
        counts = self._quasi_of_people()
        share = 0.0 if counts is None else paired_share(counts.weights)
        if counts is None or not share:
            return []
        times = counts.weights
        rule = (
            f"{share:.0%} of the combinations of quasi-identifiers occur an even number of times, far more than by "
            "chance, as where people have two rows each: every class may hold half as many people as rows"
        )
        hint = (
            "name the `person`, or delete rows_per_person: promises then speak of rows; copies_are_people = true where "
            "they are different people, such as cases and their matched controls"
        )
        return [Problem(self._encoded.name, rule, hint, rows=int(times[times % 2 == 0].sum()))]

    def same_days(self) -> list[Problem]:
        """Return a problem where many rows agree in every quasi-identifier, a day among them, more than by chance."""
        schema = self._table.schema
        days = [a for a in schema.quasi if isinstance(a.domain, Days) and a.domain.step == 1 and not a.domain.months]
        if (
            not days
            or schema.rows_per_person > 1
            or not schema.trusted
            or schema.copies_are_people
            or not self._table.held
        ):
            return []
        counts = self._table.counts([attribute.name for attribute in schema.quasi])
        most = more_than_by_chance(counts.codes, counts.weights)
        if not most:
            return []
        rule = f"up to {most} rows agree in it and in every other quasi-identifier, as several rows of one person do"
        hint = (
            "`person` names who a row is about, where a person has several; copies_are_people = true where they are "
            "different people"
        )
        return [Problem(days[0].where, rule, hint, rows=most)]

    def _quasi_of_people(self) -> Counts | None:
        """Count the quasi-identifiers where each row is called another person on somebody's word; else None."""
        schema = self._table.schema
        if schema.rows_per_person > 1 or not schema.trusted or schema.copies_are_people or len(schema.quasi) < 2:
            return None
        return self._table.counts([attribute.name for attribute in schema.quasi]) if self._table.held else None

    def _alike_rows(self, *, joined: bool) -> list[Problem]:
        """Return the first reason to take several rows for one person's."""
        return self.same_days() or self.alike() or ((self.joined() or self.paired()) if joined else [])

    def _values_to_read(self, *, joined: bool) -> list[Problem]:
        """Return what is to be looked at in values that are published as they are, and in rows that agree in them."""
        schema = self._table.schema
        hint = 'read its values; role = "other" keeps it out of a release'
        carried = self._table.held_values([attribute.name for attribute in schema.carried])
        named = {name: (values, names_rule(values)) for name, values in carried.items()}
        found = [
            Problem(schema[name].where, rule, hint, rows=values.rows_with_names)
            for name, (values, rule) in named.items()
            if rule
        ]
        found += [
            Problem(schema[name].where, rule, hint) for name, one in carried.items() if (rule := address_rule(one))
        ]
        found += self._read_off() + self.rounded() + self._alike_rows(joined=joined) + self.unclear()
        found += [one.problem(schema[one.column].where) for one in self._table.derived()]
        found += self.related() + few_missing(self._table, FEW)
        return found + schema.alike_spellings([attribute.name for attribute in schema.sensitive])

    def unclear(self) -> list[Problem]:
        """Return a problem for each published column whose days or numbers could be read otherwise in every cell."""
        self._table.require()
        return [] if self._encoded.data is None else unclear_cells(self._encoded.data, self._table.schema)

    def related(self) -> list[Problem]:
        """Return a problem for each carried column that a quasi-identifier predicts well, with numbers."""
        return [
            one.problem(self._table.schema[one.column].where)
            for one in related_columns(self._table, self._table.derived())
        ]

    def refuse_free_text(self) -> None:
        """Raise if a sensitive or target column looks like free text: names of people may stand in it."""
        refuse_free_text(self._table.held_values([attribute.name for attribute in self._table.schema.carried]))

    def _read_off(self) -> list[Problem]:
        """Return a problem for each range that is called public and ends exactly where the rows do.

        A private release would tell the smallest and the largest value as they are.
        """
        found = []
        for attribute in self._table.schema.published:
            line = attribute.domain
            if attribute.source != "public" or attribute.clamp or not isinstance(line, Grid | Days):
                continue
            codes = self._table.counts(attribute.name).codes[:, 0]
            codes = codes[codes < line.size]
            if line.size < _WIDE or not len(codes) or _is_round(line):
                continue
            if int(codes.min()) == 0 and int(codes.max()) == line.size - 1:
                rule = "is called public, but its range ends exactly where the values of the file do"
                hint = (
                    "write bounds that are known without the file: bounds taken from it are published with the release"
                )
                found.append(Problem(attribute.where, rule, hint))
        return found

    def rounded(self) -> list[Problem]:
        """Return a problem for each published column whose decimals are rounded down to whole numbers."""
        whole = [a for a in self._table.schema.published if isinstance(a.domain, Grid) and a.domain.whole]
        file, found = self._encoded.source, []
        for attribute in whole if file is not None else ():
            assert file is not None
            rows = _with_decimals(file, attribute)
            if rows:
                rule = f"{count_of(rows, 'row has', 'rows have')} decimals, which are rounded down to whole numbers"
                found.append(
                    Problem(attribute.where, rule, 'a smaller step, such as step = "0.01", keeps them', rows=rows)
                )
        return found


def _with_decimals(source: Source, attribute: Attribute) -> int:
    """Return how many rows have a number with decimals other than 0 in a column."""
    column = attribute.column_name
    frame = source.spelt(source.scan([column]), [attribute])
    if source.types(frame)[column].is_integer():
        return 0
    number = numbers_with_point(pl.col(column).cast(pl.String), attribute.numbers).cast(pl.Float64, strict=False)
    rows = pl.col(ROWS).sum() if source.grouped else pl.len()
    return int(source.collect(frame.filter(number != number.floor()).select(rows)).item() or 0)


def _is_round(line: Grid | Days) -> bool:
    """Whether an end is chosen rather than found: a multiple of 5, or of 5 cells; a day that begins a year."""
    if isinstance(line, Days):
        return any((end.month, end.day) == (1, 1) for end in (line.edge(0), line.edge(line.size)))
    ends = (line.edge(0), line.edge(line.size))
    return any(end % (5 * max(line.step, Decimal(1))) == 0 for end in ends)
