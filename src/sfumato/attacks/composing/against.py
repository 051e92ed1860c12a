"""A new release beside earlier ones: whom would they leave fewer than d values together?

Source    the dLink paper, definition 3 (privacy breach), turned into a check before publishing.
Claim     Counts the rows of the table whose own value is among at least one and fewer than d values left, after
          intersecting the new release with those earlier ones that can hold the row, at least one, for any attribute
          that is sensitive in one of them. Known of a row is what any of the releases is published by. Where the table
          names people, it counts those who have such a row. Where the table has fewer than d values of an attribute,
          their number takes the place of d: nobody could keep more.
Because   a person who truly is in a release keeps their own value there; where it is gone, they are not in it, and the
          others narrow all the same.
Checked   tests/claims/test_composition_against.py::test_counts_people_below_d
          tests/claims/test_composition_against.py::test_a_further_release_hides_nobody
          tests/claims/test_composition_against.py::test_a_further_release_never_lowers_the_number
          tests/claims/test_composition_against.py::test_the_rows_of_the_release_are_attacked
          tests/claims/test_composition_against.py::test_people_are_counted_once_where_the_table_names_them
          tests/claims/test_composition_against.py::test_what_each_release_is_published_by_is_known_of_who_is_in_all
          tests/claims/test_composition_against.py::test_d_is_at_most_the_number_of_values
          tests/claims/test_composition_against.py::test_people_who_are_not_in_the_earlier_release_do_not_count
          tests/claims/test_composition_against.py::test_people_who_moved_are_not_seen_and_the_words_say_so
          tests/claims/test_composition_against.py::test_drawn_counts_exclude_no_value_and_the_words_say_so
          tests/surfaces/test_attack_command.py::test_refuse_stops_before_anything_is_written
          tests/claims/test_composition_against.py::test_one_value_left_together_needs_a_yes
          tests/claims/test_veto.py::test_no_release_under_a_proved_claim_can_be_vetoed
Silent on who truly is in the earlier releases: every row is tried as if it were, with the quasi-identifiers it has in
          the table. Of people whose quasi-identifiers changed in between it knows nothing, and every sentence says what
          is assumed. Silent also on releases that nobody named. To publish or not by this count is a choice that
          depends on the data: no claim that is checked on the file covers it, and a claim of differential privacy
          would be false, so that `require` is refused there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.base import PEOPLE, Knowledge, Whom
from sfumato.attacks.case import known_names, whom
from sfumato.attacks.composing.composition import Composition, Records, composition, known_in_all, names_known_in_all
from sfumato.claims import Claim
from sfumato.counts import Table, read
from sfumato.errors import Infeasible, NotComparable, ParameterError, Problem, ReadError, ReleaseError, count_of
from sfumato.io.source import open_source
from sfumato.ledger import Ledger
from sfumato.raw_files import SQLITE
from sfumato.release import Release
from sfumato.release.manifest import COUNTED_FORMS, read_manifest
from sfumato.schema import Attribute, Days, Grid, Schema
from sfumato.visible import visible

# Releases and victims from files: folders of ours, a ledger, anyone's CSV, a list of people and what is known of
# them.
#
# Source    Ours (`sfumato attack composition a/ b/ --victims v.csv`).
# Claim     A victim is read with the quasi-identifiers that are said to be known, all unless told, and with the
#           carried attributes that the file has. A known one that the file lacks is refused; of the others nothing is
#           guessed.
# Because   what is not known loses its role, so that releases are not narrowed by it.
# Checked   tests/unit/attacks/test_composition_files.py::test_what_is_not_known_does_not_narrow
#           tests/unit/attacks/test_composition_files.py::test_a_file_that_lacks_a_quasi_identifier_is_refused
#           tests/unit/attacks/test_composition_files.py::test_folders_and_foreign_files
#           tests/unit/attacks/test_composition_files.py::test_a_ledger_stands_for_what_it_saw_saved
# Silent on whether the people in the file are in any release.


def open_releases(
    paths: Sequence[str | PathLike[str]],
    schema: Schema | None = None,
    *,
    groups: str | None = None,
    counts: str | None = None,
) -> list[Release]:
    """Load folders and read foreign tables; a table needs the schema, or takes that of the first folder.

    A ledger stands for all releases that were saved with it and share people with the schema's population. What is
    named twice is opened once.
    """
    paths = release_paths(paths, schema)
    folders = [Path(path).is_dir() for path in paths]
    found = {at: _loaded(path, schema) for at, path in enumerate(paths) if folders[at]}
    known = schema if schema is not None else next((release.schema for release in found.values()), None)
    for at, path in enumerate(paths):
        if folders[at]:
            continue
        if known is None:
            raise ParameterError(
                "schema", "none", "a table that is not a saved release needs one", hint="--schema x.toml"
            )
        found[at] = Release.read(path, known, groups=groups, counts=counts)
    return [found[at] for at in range(len(paths))]


def _loaded(path: str | PathLike[str], schema: Schema | None) -> Release:
    """Load a release by a schema; where it was made with another, say which release and what has to agree."""
    if schema is None:
        return Release.load(path)
    if problems := _widened(path, schema):
        raise _other_schema(path, problems)
    try:
        return Release.load(path, schema=schema)
    except ReleaseError as error:
        if not error.problems:
            raise
        raise _other_schema(path, error.problems) from None


def _other_schema(path: str | PathLike[str], problems: Sequence[Problem]) -> ReleaseError:
    rule = f"{visible(str(path))} does not fit this schema"
    differ = ", ".join(sorted({f"`{problem.path.removeprefix('attribute.')}`" for problem in problems}))
    hint = f"releases are tried together by one schema: describe {differ} as in the schema of that release"
    return ReleaseError(rule, hint=hint, problems=problems)


def _widened(path: str | PathLike[str], schema: Schema) -> list[Problem]:
    """Return a problem for each quasi-identifier with labels that end inside a cell of the schema.

    Read by the schema they would be wider than they are: somebody who knows the value more exactly learns more.
    """
    published = read_manifest(Path(path)).schema
    stepped = [a.name for a in published.quasi if a.name in schema and _steps(a) not in (None, _steps(schema[a.name]))]
    if not stepped:
        return []
    found = []
    for table in Release.load(path).boxes.tables:
        own, domain = table.attribute, schema[table.attribute.name].domain if table.attribute.name in stepped else None
        if isinstance(domain, Grid | Days) and isinstance(own.domain, Grid | Days):
            cuts: set[Any] = {own.domain.edge(int(code)) for code in {*table.starts.tolist(), *table.ends.tolist()}}
            edges: set[Any] = {domain.edge(code) for code in range(domain.size + 1)}
            if any(min(edges) < cut < max(edges) and cut not in edges for cut in cuts):
                found.append(Problem(own.where, "is published in narrower steps than the schema has"))
    return found


def _steps(attribute: Attribute) -> tuple[Any, ...] | None:
    """Where the cells of numbers and days begin and how wide they are; None for others."""
    domain = attribute.domain
    if not isinstance(domain, Grid | Days):
        return None
    return domain.low, domain.step, getattr(domain, "months", False)


def release_paths(paths: Sequence[str | PathLike[str]], schema: Schema | None = None) -> list[str | PathLike[str]]:
    """Return the folders and tables that `open_releases` opens, in its order."""
    return list({Path(every).resolve(): every for path in paths for every in _saved(path, schema)}.values())


def _saved(path: str | PathLike[str], schema: Schema | None) -> Sequence[str | PathLike[str]]:
    """Return the folders a ledger names; anything else is what it is."""
    if not Path(path).is_file():
        return [path]
    with Path(path).open("rb") as file:
        if file.read(len(SQLITE)) != SQLITE:
            return [path]
    if schema is None:
        raise ParameterError("schema", "none", "a ledger needs one: it names the population", hint="--schema x.toml")
    return Ledger(path).saved_folders(schema.population or schema.name)


def read_victims(
    data: Any,
    schema: Schema,
    *,
    known: Sequence[str] | None = None,
    releases: Sequence[Release] = (),
    **options: Any,
) -> Table:
    """Read what is known of people, all quasi-identifiers unless `known` names them, and what they truly carry.

    All are those of the schema and of the releases. A column that is not found is refused: without it everybody would
    seem safer than they are.
    """
    every = schema.with_roles(quasi=names_known_in_all(schema, releases))
    quasi = known_names(Knowledge(None if known is None else tuple(known)), every)
    columns = {one.name: one.column_name for one in every.published}
    source = open_source(data, expected=list(columns.values()), **options)
    present = {name for name, column in columns.items() if column in source.columns}
    absent = [name for name in quasi if name not in present]
    if absent:
        missing = ", ".join(visible(columns[name]) for name in absent)
        rest = [name for name in quasi if name in present]
        hint = "rename the column of the file"
        if rest:
            knows = " ".join(f"--knows {visible(name)}" for name in rest)
            hint += f", or say what the attacker knows: {knows} (known=[...])"
        raise ReadError(Problem(source.name, f"has no column {missing}, a quasi-identifier of the releases", hint))
    mine = [name for name in quasi if schema[name].role == "quasi"]
    reduced = schema.with_roles(
        quasi=mine or quasi,
        sensitive=[one.name for one in every.sensitive if one.name in present],
        target=[one.name for one in every.role("target") if one.name in present],
    )
    people = read(data, reduced, **options)
    return people.known_by(quasi) if mine else people


ASSUMED = "if they are in the releases that can hold them with the values they have here"
_CHANGED = (
    "Not tried: people whose quasi-identifiers differ in an earlier release, because they moved or are a year older. "
    "Somebody who knows both may be left fewer values of theirs."
)


@dataclass(frozen=True)
class Against:
    """Of `of` people, `people` are below d by all releases together, `alone` by the new one alone. Confidential.

    They are people where the table says whose its rows are, each counted once; else rows. `by_attribute` says how many
    of `people` each sensitive attribute exposes, the most first: one person may be counted for several.
    """

    people: int
    _: KW_ONLY
    alone: int
    certain: int
    rows: int
    of: int
    whom: Whom
    d: int
    earlier: int
    estimates: Mapping[str, Composition]
    claim: Claim
    newly: int = 0
    least: int = 1
    by_attribute: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    confidential: bool = True

    def __repr__(self) -> str:
        return f"Against({count_of(self.earlier, 'earlier release')}, confidential)"

    def __str__(self) -> str:
        return self.describe()

    @property
    def holds(self) -> bool:
        """Whether nobody is below d."""
        return self.people == 0

    @property
    def _counted(self) -> tuple[str, str]:
        """What the figures count, in words: rows are records, whosever they are."""
        return (self.whom.one, self.whom.many) if self.of < self.rows else ("record", "records")

    def require(self) -> None:
        """Raise `Infeasible` when anyone is below d; a release under differential privacy cannot be vetoed so."""
        self.claim.refuse_veto("require")
        if self.holds:
            return
        why = (
            f"{self.people} of {self.of} {self._counted[1]} keep fewer together with "
            f"{count_of(self.earlier, 'earlier release')}, {ASSUMED}"
        )
        hint = "merge classes with dlink, ask for a larger k, or publish under differential privacy"
        raise Infeasible(f"at least {self.d} values left to everyone", self.least, why, hint=hint)

    def refuse_certain(self) -> None:
        """Raise where records are left with one value by the releases together that have several in each alone.

        To look is not to agree: such a release is published on an explicit yes only. It has no place under differential
        privacy, where nothing that is drawn may be withheld.
        """
        self.claim.refuse_veto("refuse_certain")
        if not self.newly:
            return
        one, many = self._counted
        are = count_of(self.newly, f"{one} is", f"{many} are")
        rule = (
            f"{are} left with one value by this release together with {count_of(self.earlier, 'earlier one')}, which "
            f"neither reveals alone, {ASSUMED}: anyone who knows the quasi-identifiers learns it"
        )
        hint = (
            "merge classes with dlink, ask for a larger k or l, or publish under differential privacy; or, if nobody "
            "is in both, allow it with"
        )
        raise ReleaseError(rule, hint=f"{hint} allow_repeated=True (--allow-repeated)")

    def describe(self) -> str:
        """Say whether the new release adds to what the earlier ones give away."""
        many = self._counted[1]
        first = f"None of {self.of} {many} is left with fewer than {self.d} values"
        if not self.holds:
            first = f"{self.people} of {self.of} {many} are left with fewer than {self.d} values"
            first += f" ({self.certain} of them with one)"
        others = count_of(self.earlier, "earlier one")
        beside = f"{first} by this release together with {others}, {ASSUMED}; {self.alone} by this one alone."
        return "\n".join(map(visible, [beside, *self.notes, "Confidential: computed from the original."]))

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {
            "people": self.people,
            "alone": self.alone,
            "certain": self.certain,
            "newly": self.newly,
            "rows": self.rows,
            "of": self.of,
            "d": self.d,
            "earlier": self.earlier,
            "by_attribute": dict(self.by_attribute),
            "names": list(self.names),
            "counted": self.whom.many,
            "holds": self.holds,
            "notes": list(self.notes),
            "attributes": {name: found.to_json() for name, found in self.estimates.items()},
            "confidential": self.confidential,
        }


def against(
    release: Release, earlier: Release | Sequence[Release], table: Table, d: int = 4, *, names: Sequence[str] = ()
) -> Against:
    """Attack a new release together with earlier ones on every row of its table.

    Each sensitive attribute is tried with the earlier releases that carry it and may hold the row; classes are found by
    label, as an outsider finds them. `names` says what the earlier releases are called.
    """
    others = [earlier] if isinstance(earlier, Release) else list(earlier)
    if not others:
        raise ParameterError("earlier", "none", "at least one earlier release is needed")
    table = known_in_all(table, [release, *others])
    estimates, exposed, notes, least = {}, {}, [], d
    below, certain, alone, newly = (np.zeros(table.rows, bool) for _ in range(4))
    for attribute in secrets(table.schema, others):
        beside = [known for known in others if attribute.name in [carried.name for carried in known.carried]]
        if len(beside) < len(others):
            do = count_of(len(others) - len(beside), "earlier release does", "earlier releases do")
            notes.append(f"{do} not carry {attribute.name}.")
        if not beside:
            continue
        values = len(np.unique(table.codes([attribute.name])))
        reached = min(d, max(values, 2))
        if reached < d:
            has = count_of(values, "value")
            notes.append(f"{attribute.name} has {has}, so nobody can keep {d}: fewer than {reached} left are counted.")
        # The other sensitive attributes are known as well where a release is published by them.
        attacked = partial(_attacked, known_in_all(table, [release, *others], apart=attribute.name))
        estimates[attribute.name] = attacked([release, *beside], reached, attribute.name)
        own, *singles = (attacked([known], reached, attribute.name).records for known in (release, *beside))
        left = _left(own, singles)
        # By itself no release is taken to be read by somebody who knows what it carries.
        own, *singles = (
            attacked([known], reached, attribute.name, linked=False).records for known in (release, *beside)
        )
        least = min(least, int(left[left > 0].min(initial=d)))
        exposed[attribute.name] = (left >= 1) & (left < reached)
        below |= exposed[attribute.name]
        certain |= left == 1
        # Of those whom a single release leaves one value, its own promise answers.
        newly |= (left == 1) & ~np.logical_or.reduce([single.left == 1 for single in (own, *singles)])
        alone |= (own.left >= 1) & (own.left < reached) & _held(own)
    if not estimates:
        raise NotComparable("no earlier release carries a sensitive attribute of this table.")
    counted = whom(table)
    persons = table.persons() if table.schema.several and counted is PEOPLE else None

    def many(rows: np.ndarray) -> int:
        return int(rows.sum()) if persons is None else len(np.unique(persons[rows]))

    by_attribute = dict(sorted(((name, many(rows)) for name, rows in exposed.items()), key=lambda one: -one[1]))
    return Against(
        many(below),
        alone=many(alone),
        certain=many(certain),
        rows=table.rows,
        of=many(np.ones(table.rows, bool)),
        whom=counted,
        d=max(found.d for found in estimates.values()),
        earlier=len(others),
        estimates=estimates,
        claim=release.claim,
        newly=many(newly),
        least=least,
        by_attribute=by_attribute,
        names=tuple(names),
        notes=(*_most(by_attribute), *notes, *_not_tried(release, others, table.schema)),
    )


def _not_tried(release: Release, earlier: Sequence[Release], schema: Schema) -> Iterator[str]:
    """Say what was not used, and who was not tried; `schema` has everything as known that it can."""
    every = (release, *earlier)
    if drawn := sum(one.form in COUNTED_FORMS for one in every):
        hold = count_of(drawn, "release holds", "releases hold")
        yield f"{hold} drawn counts: a value that is not there is not excluded, but is counted as if it were."
    known = {quasi.name for one in every for quasi in one.quasi}
    if unknown := sorted(known - {one.name for one in (*schema.quasi, *schema.sensitive)}):
        yield (
            f"Not tried: {', '.join(unknown)}, by which earlier releases are published and of which this schema has no "
            "values. Somebody who knows it may be left fewer."
        )
    carried = {one.name for each in every if each.form == "buckets" for one in each.carried}
    if linked := sorted(known & carried):
        yield f"Not used: which values stand beside {', '.join(linked)} in buckets."
    yield _CHANGED


def secrets(schema: Schema, earlier: Sequence[Release]) -> list[Attribute]:
    """Return the carried attributes that are sensitive in the schema or in an earlier release."""
    theirs = {known.name for release in earlier for known in release.carried if known.role == "sensitive"}
    return [one for one in schema.carried if one.role == "sensitive" or one.name in theirs]


def _attacked(table: Table, releases: Sequence[Release], d: int, attribute: str, *, linked: bool = True) -> Composition:
    """Attack every row; who is in all releases is known by what each is published by."""
    return composition(releases, table, d=d, attribute=attribute, everywhere=True, linked=linked)


def _most(by_attribute: Mapping[str, int]) -> tuple[str, ...]:
    """Say which sensitive attribute exposes how many, where there are several."""
    if len(by_attribute) < 2 or not any(by_attribute.values()):
        return ()
    (worst, number), *others = by_attribute.items()
    beside = ", ".join(f"{name} {count}" for name, count in others)
    return (f"By attribute: {worst} {number}, {beside}. Who is exposed by several is counted for each.",)


def _left(own: Records, earlier: Sequence[Records]) -> np.ndarray:
    """Return how many values the new release leaves each row with those earlier ones that may hold it, 0 for none.

    A release in which the row's own value is gone does not hold it: the others narrow all the same.
    """
    sets = own.sets()
    may = np.zeros(len(own), bool)
    for single in earlier:
        sets = np.where(_held(single)[:, None], sets & single.sets(), sets)
        may |= _held(single)
    left = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return np.where(_held(own) & may, left, 0)


def _held(records: Records) -> np.ndarray:
    assert records.held is not None  # the table has its own values
    return records.held
