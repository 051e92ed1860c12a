"""What a requirement is: a condition that every class of a release must meet, checkable on the file.

Each requirement states how one block of classes is decided; the verbs around that (one class, many
classes, what was attained, `&`, JSON) are the same for all and stand here once.

Source    Li & Li, KDD 2009, section 5.1, for requirements as conditions on each class.
Claim     A conjunction holds for a class exactly if each of its parts does.
Because   it is the logical and of the parts' answers; no part sees another.
Checked   tests/unit/claims/test_requirement.py::test_conjunction_is_the_logical_and
          tests/claims/test_requirements_oracle.py::test_union_of_good_classes_is_good
Silent on several sensitive attributes together: each is checked separately, and their joint
          distribution in a class is promised nothing.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from sfumato.claims.classes import VERIFY_TOLERANCE, BoolArray, Classes, Figure, read_classes
from sfumato.claims.ground_distance import Ground
from sfumato.declare import declare, hold, parameter, to_json
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.schema import Schema

Unit: TypeAlias = Literal["person", "row"]
"""What a claim counts: people, where the schema decides who they are, else rows."""

Found: TypeAlias = "Figure | tuple[Found, ...] | None"
"""What was attained: one figure, one per part of a conjunction, or None where there are no classes."""


class Requirement(ABC):
    """A condition on every class. A class without rows satisfies nothing."""

    __slots__ = ()

    label: ClassVar[str]
    """Name in JSON and on the command line."""
    order: ClassVar[int] = 9
    """Its place in lists; in a conjunction those below 4 come first, the others by their text."""
    reads_sensitive: ClassVar[bool] = True
    """Whether a sensitive attribute is needed; if not, any split of a class's rows into columns will do."""
    reads_overall: ClassVar[bool] = False
    """Whether classes are compared with the overall counts of published rows."""
    at_least: ClassVar[bool] = False
    """Whether the parameter is a floor (k, l) or a ceiling (t, delta, beta)."""
    checkable: ClassVar[bool] = True
    """Whether a file shows it; if not, a mechanism may enforce it but no claim may promise it."""

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that satisfy it always satisfies it (what Mondrian relies on)."""
        return True

    @property
    def parts(self) -> tuple[Requirement, ...]:
        """The single requirements in it."""
        return (self,)

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies it, so that it promises nothing."""
        return False

    @abstractmethod
    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""

    @abstractmethod
    def figure(self, classes: Classes) -> Figure:
        """Return the parameter attained by the worst class of one block."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `requirement_from_json` reads it back."""
        return to_json(self)

    @abstractmethod
    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula; `unit` is what the claim counts."""

    def holds(
        self,
        histogram: Any,
        overall: Any = None,
        *,
        ground: Ground | None = None,
        rows_per_person: int = 1,
        tolerance: float = VERIFY_TOLERANCE,
        people: Any = None,
        everyone: int | None = None,
    ) -> bool:
        """Whether one class, given as a vector of counts, satisfies the requirement."""
        row = np.atleast_2d(np.asarray(histogram))
        each = None if people is None else np.atleast_1d(people)
        counted: dict[str, Any] = {"rows_per_person": rows_per_person, "people": each, "everyone": everyone}
        return bool(self.check(row, overall, ground=ground, tolerance=tolerance, **counted).all())

    def check(
        self,
        histograms: Any,
        overall: Any = None,
        *,
        ground: Ground | None = None,
        rows_per_person: int = 1,
        tolerance: float = VERIFY_TOLERANCE,
        people: Any = None,
        everyone: int | None = None,
    ) -> BoolArray:
        """Whether each class satisfies the requirement.

        `histograms` is classes x values, dense integers or sparse; `overall` counts published rows.
        `tolerance` moves the limit of js, entropy and delta only: `VERIFY_TOLERANCE` accepts what
        rounding may have moved, `MECHANISM_TOLERANCE` keeps a margin. With `people`, one number for each class, and
        `everyone`, histograms count people (see `sfumato.claims.classes`).
        """
        number, blocks = read_classes(
            histograms,
            overall,
            ground=ground,
            rows_per_person=rows_per_person,
            tolerance=tolerance,
            people=people,
            everyone=everyone,
        )
        result = np.zeros(number, dtype=np.bool_)
        for rows, classes in blocks:
            result[rows] = self.satisfied(classes)
        return result

    def found(
        self,
        histograms: Any,
        overall: Any = None,
        *,
        ground: Ground | None = None,
        rows_per_person: int = 1,
        people: Any = None,
        everyone: int | None = None,
    ) -> Found:
        """Return the parameter that all classes together attain: smallest k or l, largest t, delta or beta."""
        counted: dict[str, Any] = {"rows_per_person": rows_per_person, "people": people, "everyone": everyone}

        def worst(part: Requirement) -> Figure | None:
            number, blocks = read_classes(histograms, overall, ground=ground, tolerance=0.0, **counted)
            figures: list[Figure] = []
            seen = 0
            for rows, classes in blocks:
                seen += rows.size
                if rows.size:
                    figures.append(part.figure(classes))
            if seen < number:  # an empty class is the worst there is
                figures.append(0 if part.at_least else math.inf)
            if not figures:
                return None
            return min(figures) if part.at_least else max(figures)

        return self.attained(worst)

    def attained(self, worst: Callable[[Requirement], Figure | None]) -> Found:
        """Return what is attained, where `worst` gives the worst figure of one requirement over all classes."""
        return worst(self)

    def __and__(self, other: Requirement) -> Requirement:
        if not isinstance(other, Requirement):
            return NotImplemented
        parts = _canonical((*self.parts, *other.parts))
        return parts[0] if len(parts) == 1 else Conjunction(parts)


_LATER = 4  # conjunctions were written before the others had a place: these go by their text


def _canonical(parts: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    """Without repetition and in one fixed order, so that a & b equals b & a."""
    written = {json.dumps(part.to_json(), sort_keys=True): part for part in parts}
    return tuple(written[key] for key in sorted(written, key=lambda key: (min(written[key].order, _LATER), key)))


@declare
class Conjunction(Requirement):
    """All of several requirements; made by `&`, flat and in canonical order."""

    requirements: tuple[Requirement, ...] = parameter("The requirements that must all hold.", key="of")
    label: ClassVar[str] = "all"

    def __post_init__(self) -> None:
        flat = tuple(part for requirement in self.requirements for part in requirement.parts)
        if not flat:
            raise ParameterError("requirements", "none", "must hold at least one requirement")
        hold(self, requirements=_canonical(flat))

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements)

    def __len__(self) -> int:
        return len(self.requirements)

    @property
    def parts(self) -> tuple[Requirement, ...]:
        """The single requirements in it."""
        return self.requirements

    @property
    def monotone(self) -> bool:
        """Whether a union of classes that satisfy it always satisfies it."""
        return all(part.monotone for part in self.requirements)

    @property
    def vacuous(self) -> bool:
        """Whether every table satisfies all of it."""
        return all(part.vacuous for part in self.requirements)

    @property
    def reads_sensitive(self) -> bool:  # type: ignore[override]
        """Whether any part needs a sensitive attribute."""
        return any(part.reads_sensitive for part in self.requirements)

    @property
    def reads_overall(self) -> bool:  # type: ignore[override]
        """Whether any part compares with the overall counts."""
        return any(part.reads_overall for part in self.requirements)

    def satisfied(self, classes: Classes) -> BoolArray:
        """Decide each class of one block of non-empty classes."""
        answers = [part.satisfied(classes) for part in self.requirements]
        together: BoolArray = np.logical_and.reduce(answers)
        return together

    def figure(self, classes: Classes) -> Figure:
        """Return what the worst class of one block attains."""
        raise NotImplementedError("a conjunction attains one figure for each part: ask `found`")

    def attained(self, worst: Callable[[Requirement], Figure | None]) -> Found:
        """Return what each part attains, in the order of the parts."""
        return tuple(part.attained(worst) for part in self.requirements)

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is required, with the formula."""
        return " And: ".join(part.describe(unit) for part in self.requirements)

    def __str__(self) -> str:
        return " & ".join(str(part) for part in self.requirements)


# Several sensitive attributes: a requirement is checked for each separately, and for nothing more.


def check_each(
    requirement: Requirement,
    histograms: Mapping[str, Any],
    overalls: Mapping[str, Any],
    *,
    grounds: Mapping[str, Ground] | None = None,
    rows_per_person: int = 1,
) -> BoolArray:
    """Whether each class satisfies the requirement for every sensitive attribute, each taken separately."""
    if not histograms:
        raise ParameterError("histograms", "none", "must hold at least one attribute")
    answers = [
        requirement.check(
            table,
            overalls[name],
            ground=(grounds or {}).get(name),
            rows_per_person=rows_per_person,
        )
        for name, table in histograms.items()
    ]
    together: BoolArray = np.logical_and.reduce(answers)
    return together


# Sentences for `Claim.silent_on`: what a reader of a requirement might wrongly infer.

_NO_KEY = "where no key says whose they are"


def shared_by(unit: Unit) -> str:
    """Name what a share of a class is a share of.

    A key says how many people have a value. Where only `rows_per_person` is declared, rows are counted, and the rows
    of few people can hide that nearly everybody has one value.
    """
    return f"people (of the rows, {_NO_KEY})" if unit == "person" else "rows"


def counted_once(unit: Unit) -> str:
    """Say how often a value counts in a distribution over values; nothing where rows are counted, as is expected."""
    return f", each counted once for each person who has it (for each row, {_NO_KEY})," if unit == "person" else ""


def vacuous_notes(requirement: Requirement) -> tuple[str, ...]:
    """Name the parts that promise nothing."""
    return tuple(f"anything by {part}: every table satisfies it" for part in requirement.parts if part.vacuous)


def requirement_notes(requirement: Requirement, schema: Schema) -> tuple[str, ...]:
    """Return what the requirement does not cover, for a table so described."""
    notes: list[str] = list(vacuous_notes(requirement))
    labels = {part.label for part in requirement.parts}
    sensitive = [attribute.name for attribute in schema.sensitive]
    counted, most = "people" if schema.unit == "person" else "rows", schema.rows_per_person
    if requirement.reads_sensitive and len(sensitive) > 1:
        names = ", ".join(sensitive)
        notes.append(f"{names} are each checked separately; their combinations in a class are promised nothing")
    if schema.several:
        notes += _of_several(requirement)
    elif most > 1:
        if labels & {"k-anonymity", "alpha-k-anonymity"}:
            notes.append(
                f"a person may have {most} rows, so k people are counted as k x {most} rows"
                if schema.unit == "person"
                else f"it is not decided how many rows a person has; k rows are counted as k x {most}"
            )
        if requirement.reads_sensitive:
            notes.append(f"shares of sensitive values count rows, and one person may own {most} rows of a class")
    notes += _people_notes(schema)
    if schema.several and schema.person_in_question:
        notes.append("who a person is: people are counted by a key, and it is not decided that it says who they are")
    if target := [attribute.name for attribute in schema.role("target")]:
        names = ", ".join(target)
        notes.append(
            f"{names}: published without being made coarser, so that all of a class may have one value, and a reader "
            "who knows it of somebody learns more"
        )
    if requirement.reads_sensitive:
        missing = [attribute.name for attribute in schema.sensitive if attribute.no_value_codes]
        if missing:
            names = ", ".join(missing)
            notes.append(
                f"missing values of {names}: missing counts as a value of its own, so that all known values of a class "
                "may be one"
            )
        if unsure := ", ".join(attribute.name for attribute in schema.sensitive if attribute.unsure_codes):
            notes.append(
                f"values of {unsure} that may mean no answer, as 9 above 1 to 3 or a refusal may: each counts as a "
                "value of its own"
            )
        if any(attribute.kind == "nominal" for attribute in schema.sensitive):
            notes.append("values that mean nearly the same: each value that the schema lists counts as a different one")
    if labels == {"k-anonymity"}:
        notes.append(f"what the {counted} of one class have in common: sensitive values are not looked at")
    notes.append("what a reader knows from elsewhere, including other releases of the same data")
    return tuple(notes)


def _people_notes(schema: Schema) -> tuple[str, ...]:
    """Say on whose authority rows are counted as people, where there is no key of a person."""
    if schema.unit == "row":
        rows = "it is not stated how many rows are about one person, so rows are counted"
        return (f"who the rows are about: {rows}; several may be one person's, and one may stand for several people",)
    return (f"people with {schema.trusted}, and the file cannot show it",) if schema.trusted else ()


def _of_several(requirement: Requirement) -> list[str]:
    """What counting people by a key leaves open, where a person may have several rows."""
    notes = ["how many rows a person has: a reader who knows it can compare it with the rows of a class"]
    if requirement.reads_sensitive:
        notes.append("what several classes together say about a person who has rows in all of them")
    if any(part.label == "l-diversity" and part.to_json()["reading"] != "probability" for part in requirement.parts):
        notes.append("how many people of a class have a value: only that not all of them do")
    return notes
