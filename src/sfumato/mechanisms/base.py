"""What a mechanism is: it states a claim, says which counts it needs and what it will do with them, and does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Protocol, runtime_checkable

from sfumato.claims import Claim
from sfumato.counts import Counts, Members, Table
from sfumato.declare import parameters, says
from sfumato.engines import Engine
from sfumato.errors import Infeasible, ParameterError, Problem, SchemaError, SfumatoError, count_of
from sfumato.limits import DRIVER_CELLS
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Schema

Progress = Callable[[float, str], None]  # share done, what is being done
REFUSED_INPUT = (
    "whether the rows fit the schema and the limits of size: a value outside its domain, a key that repeats, or more "
    "rows or combinations than are held, is refused before the draw, so that a release shows that there was none"
)
"""What no proved claim covers, for `Claim.silent_on`."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a plan: what it does, what it spends, what error to expect."""

    name: str
    _: KW_ONLY
    does: str = ""
    budget: Fraction | None = None
    expected_error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping; budgets as text."""
        return {
            "name": self.name,
            "does": self.does,
            "budget": None if self.budget is None else str(self.budget),
            "expected_error": self.expected_error,
        }


@dataclass(frozen=True, slots=True)
class Forecast:
    """How wrong a reader of a release is expected to be, found on stand-in rows that are made from the schema alone.

    `workload_error` is the mean total variation of tables by their number of columns; a count of `count` is off by
    about `off`. Of more declared rows than are made, `of` is their number.
    """

    workload_error: float
    _: KW_ONLY
    tables: int
    columns: int
    rows: int
    declared: bool
    of: int | None = None
    count: int
    off: float

    def describe(self) -> str:
        """Say it in a sentence.

        >>> told = Forecast(0.052, tables=10, columns=3, rows=1000, declared=False, count=50, off=6.4).describe()
        >>> told.partition(" Real ")[0]
        'On 1,000 stand-in rows (assumed), tables of 3 columns are off by 5.2 % of the rows, a count of 50 by about 6.'
        """
        known = "declared" if self.declared else "assumed"
        if self.of is not None:
            known = f"{self.of:,} are declared"
        count = f", a count of {self.count:,} by about {self.off:,.0f}" if self.count else ""
        share = f"{100 * self.workload_error:.1f} % of the rows"
        found = f"On {self.rows:,} stand-in rows ({known}), tables of {self.columns} columns are off by {share}{count}."
        return f"{found} Real rows are mostly off by half to twice as much."

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, with the sentence."""
        return {
            "workload_error": self.workload_error,
            "tables": self.tables,
            "columns": self.columns,
            "rows": self.rows,
            "declared": self.declared,
            **({} if self.of is None else {"of": self.of}),
            "count": self.count,
            "off": self.off,
            "describe": self.describe(),
        }


WARNING: Final = "Warning: "  # how a note of a plan begins that is said before anything is drawn


@dataclass(frozen=True, slots=True)
class Plan:
    """What `--dry-run` prints: nothing of it was read off the data."""

    stages: tuple[Stage, ...]
    _: KW_ONLY
    notes: tuple[str, ...] = ()
    refusal: SfumatoError | None = None  # why `publish` would not make it, unless it is forced to
    forecast: Forecast | None = None  # what the budget buys; of differential privacy alone

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes that are said as warnings before anything is drawn."""
        return tuple(note.removeprefix(WARNING).rstrip(".") for note in self.notes if note.startswith(WARNING))

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        more: dict[str, Any] = {} if self.refusal is None else {"refusal": self.refusal.as_json()}
        if self.forecast is not None:
            more["forecast"] = self.forecast.to_json()
        return {"stages": [stage.to_json() for stage in self.stages], "notes": list(self.notes), **more}


@dataclass(frozen=True)
class Gathered:
    """The counts a mechanism asked for, by attribute names, with the schema they follow.

    Where a person may have several rows, `members` says who has which line of the first counts asked for; `surplus` is
    how many rows of people with more than the schema's `rows_per_person` are left out.
    `engine` has the rows where there are more distinct ones than `driver_cells`, and the mechanism can work with that.
    """

    schema: Schema
    _: KW_ONLY
    by_names: Mapping[tuple[str, ...], Counts]
    left_out: int = 0
    surplus: int = 0
    members: Members | None = field(default=None, repr=False)
    progress: Progress | None = field(default=None, repr=False)
    engine: Engine | None = field(default=None, repr=False)
    driver_cells: int = DRIVER_CELLS

    def __getitem__(self, names: tuple[str, ...]) -> Counts:
        if names not in self.by_names:
            raise ParameterError("counts", ", ".join(names), "was not asked for by `needs`")
        return self.by_names[names]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.by_names)

    @property
    def published(self) -> Counts:
        """Counts over all published attributes: quasi-identifiers first, then what is carried."""
        return self[tuple(attribute.name for attribute in self.schema.published)]


@runtime_checkable
class Mechanism(Protocol):
    """A frozen value with these verbs. `apply` may use nothing but the counts and the entropy."""

    def claim(self, schema: Schema) -> Claim:
        """Return what the release will promise, before any data is seen."""
        ...

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Return which counts to fetch, so that an engine does it in one pass."""
        ...

    def plan(self, schema: Schema) -> Plan:
        """Return the stages, what each spends and what error to expect."""
        ...

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Make the release."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters, for the manifest and the ledger."""
        ...


def needs_published(_: object, schema: Schema) -> list[tuple[str, ...]]:
    """Ask for the counts over all published attributes: the method `needs` of mechanisms that look at all of them."""
    return [tuple(attribute.name for attribute in schema.published)]


def refuse_guesses(mechanism: Mechanism, table: Table) -> None:
    """Raise when a mechanism would claim differential privacy of a file whose reading one row could change."""
    if table.guesses and mechanism.claim(table.schema).neighbours is not None:
        table.refuse_guesses()


def refuse_several(mechanism: Mechanism, schema: Schema) -> None:
    """Raise when a person may have several rows and the mechanism counts rows.

    A mechanism with `counts_people` counts distinct people; one with `bounds_people` pays for all rows of a person.
    """
    if schema.several and not (says(mechanism, "counts_people") or says(mechanism, "bounds_people")):
        rule = "a person may have several rows, which this method would count as several people"
        hint = "rows_per_person = 1 keeps one row of each person; Mondrian and TopDown count people"
        raise ParameterError("mechanism", type(mechanism).__name__, rule, hint=hint)


def _asked(mechanism: Mechanism) -> bool:
    """Whether a mechanism has parameters; one that is not a dataclass does not say what it was asked for."""
    try:
        return bool(parameters(type(mechanism)))
    except ParameterError:
        return False


def refuse_void(mechanism: Mechanism, schema: Schema) -> None:
    """Raise for a requirement that every table satisfies: asking for it is a mistake about its scale.

    A mechanism without parameters was asked for nothing: what it promises is all it can.
    """
    kept = mechanism.claim(schema).requirement if _asked(mechanism) else None
    void = [] if kept is None else [part for part in kept.parts if part.vacuous]
    if void:
        hint = "k and l of at least 2; t below 0.6931 (js) or 1 (emd); usual: k = 10, l = 3, t = 0.1"
        raise ParameterError("requirement", str(void[0]), "promises nothing: every table satisfies it", hint=hint)


def refuse_undecided(mechanism: Mechanism, schema: Schema) -> None:
    """Raise while nobody has said what a published column is, or whether the key of people is one.

    A draft may take remarks with names for a value, and a claim about people may rest on the number of a visit.
    """
    named = [name for names in mechanism.needs(schema) for name in names]
    if problems := [*schema.undecided_person(), *schema.undecided_roles(named)]:
        raise SchemaError(problems)


def gather(mechanism: Mechanism, table: Table, *, progress: Progress | None = None) -> Gathered:
    """Fetch the counts a mechanism asks for; where a person may have several rows, also who has which."""
    schema = table.schema
    refuse_several(mechanism, schema)
    refuse_guesses(mechanism, table)
    needs = mechanism.needs(schema)
    counting = schema.several and says(mechanism, "counts_people")
    if table.engine is not None and says(mechanism, "cuts_in_two_phases"):
        return Gathered(
            schema,
            by_names={},
            left_out=table.left_out,
            surplus=table.surplus,
            progress=progress,
            engine=table.engine,
            driver_cells=table.driver_cells,
        )
    members = table.members(needs[0]) if counting else None
    if counting and members is None:
        rule = "the schema names a person, and the table does not say who its rows are about"
        raise ParameterError("table", schema.name, rule, hint="read it from its file, or give people=")
    return Gathered(
        schema,
        by_names={names: table.counts(names) for names in needs},
        left_out=table.left_out,
        surplus=table.surplus,
        members=members,
        progress=progress,
    )


def run(mechanism: Mechanism, counts: Gathered, entropy: Entropy) -> Release:
    """Make the release, with its recoding; where a known seed was drawn from, the claim says it is a rehearsal.

    Rows left out because their person has more than `rows_per_person` are counted and named, whatever the mechanism;
    not under a proved claim, which does not cover that number.
    """
    release = mechanism.apply(counts, entropy)
    claim = release.claim or mechanism.claim(counts.schema)
    if counts.surplus and claim.kind != "proved":
        notes = (*release.notes, *_capped_notes(counts.schema, counts.surplus))
        release = replace(release, capped=counts.surplus, notes=notes)
    return replace(release, claim=replace(claim, rehearsal=claim.rehearsal or (entropy.seeded and entropy.drew)))


def run_on_part(mechanism: Mechanism, part: Table, entropy: Entropy, *, which: str) -> Release:
    """Make the release of some people of a table; what cannot be reached is said of `which` people, not of all."""
    try:
        return run(mechanism, gather(mechanism, part), entropy)
    except Infeasible as error:
        raise error.on(which) from None


def _capped_notes(schema: Schema, surplus: int) -> tuple[str, ...]:
    """Say that rows of people with many rows were left out, and how they were chosen."""
    were = count_of(surplus, "row was", "rows were")
    most = count_of(schema.rows_per_person, "row is", "rows are")
    whose = "that person's rows" if schema.capped_by == "person" else "its rows"
    return (f"{were} left out: of each {schema.capped_by} at most {most} kept, by a rule that reads {whose} alone",)


def too_few_missing(mechanism: Mechanism, table: Table) -> dict[str, str]:
    """For each column that a mechanism cannot cut because too few of its values are missing, say why. Confidential.

    A mechanism that cuts names them in `uncuttable`; of one that takes another as its base, the base is asked.
    """
    method = getattr(mechanism, "base", mechanism)
    if not hasattr(method, "uncuttable"):
        return {}
    names = {attribute.where: attribute.name for attribute in table.schema.quasi}
    found: list[Problem] = method.uncuttable(table, wrapped=method is not mechanism)
    return {names[one.path]: f"{names[one.path]}: {one.rule}; {one.hint}" for one in found}
