"""(d, alpha)-linkability asked of every class: a condition that needs a population model, so never a checkable one.

Source    Sattar et al., "A probabilistic approach to mitigate composition attacks", definition 6;
          docs/where-the-papers-are-wrong.md.
Claim     none by itself: what is enforced with it is stated as `Linkable`, an estimate. A claim that promises it as a
          requirement is refused, and so is every attempt to check it on a file.
Because   whether a class passes depends on the population's frequencies and on releases nobody has seen.
Checked   tests/claims/test_dlink_mondrian.py::test_the_claim_is_an_estimate_and_never_checked
          tests/unit/claims/test_linkability.py::test_it_is_never_a_promise
Silent on whether the model is true: attacks/calibration.py simulates it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from fractions import Fraction
from typing import Any, ClassVar, Literal

from sfumato.claims.classes import BoolArray, Classes, Figure
from sfumato.claims.guarantees import Linkable, Probability, Sizes, as_given, sizes_of_others
from sfumato.claims.requirement import Conjunction, Requirement, Unit
from sfumato.declare import MaybeWhole, Rational, Whole, declare, hold, parameter, to_json
from sfumato.errors import ParameterError
from sfumato.exact import plain
from sfumato.schema import Population, Schema

MOST_D = 12


def _one_or_each(sizes: Sequence[str], _schema: str) -> Any:
    return None if not sizes else sizes[0] if len(sizes) == 1 else list(sizes)


def _read_population(given: str, schema: str) -> Any:
    return given if given == "joint" else Population.read(given, Schema.load(schema))


def _known(name: str) -> Any:
    """Return the model that a condition names, unless it rests on a declared population."""
    known: dict[str, Any] = {"the table itself": None, "the table itself, jointly": "joint"}
    if name not in known:
        raise ParameterError("population", name, "is declared elsewhere", hint="give it again")
    return known[name]


@declare
class Linkability(Requirement):
    """At least d sensitive values of a class are found again in every other release with probability alpha.

    organisations   how many publish, we included; `others` their sizes (one number, or one for each; default: ours)
    population      None: shares of the table itself, attributes independent; "joint": the table's own joint counts;
                    or a declared `Population`
    probability     "exact"; "product", the paper's, which overstates; "robust", which trusts only that the other class
                    has at least `k_other` people (default: k of the requirement beside it)

    >>> str(sf.Linkability(4, "0.8"))
    'linkability(4, 0.8)'
    """

    d: Whole = parameter(
        "How many values must stay possible.", default=4, least=2, most=MOST_D, hint="try 4: 2^d subsets are added up"
    )
    alpha: Rational = parameter(
        "With which probability, under the model.", default=Fraction(4, 5), above=0, below=1, hint="try 0.8"
    )
    _: KW_ONLY
    organisations: Whole = parameter("How many publish, we included.", default=2, least=2)
    others: Sizes = parameter(
        "Rows of another release; once, or once for each.",
        default=None,
        read=as_given,
        several=True,
        from_flag=_one_or_each,
        to_flag=list,
    )
    population: Population | Literal["joint"] | None = parameter(
        'CSV of frequencies, or "joint" for the joint counts of the table itself.',
        default=None,
        decode=_known,
        from_flag=_read_population,
    )
    probability: Probability = parameter(
        "exact; product, the paper's; robust, whatever regions the others publish.", default="exact"
    )
    k_other: MaybeWhole = parameter(
        "With robust: least class size of the other releases (default: k).", default=None, least=2
    )
    label: ClassVar[str] = "linkability"
    at_least: ClassVar[bool] = True
    checkable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        given: object = self.population
        if given is not None and given != "joint" and not isinstance(given, Population):
            hint = 'sf.Population.read(path, schema), "joint" or None'
            raise ParameterError("population", type(given).__name__, "must be declared frequencies", hint=hint)
        joint = given == "joint" or (isinstance(given, Population) and given.cells is not None)
        if self.probability == "robust" and joint:
            rule = "takes values as independent of quasi-identifiers, since the other region is unknown"
            raise ParameterError("probability", "robust", rule, hint="a population without cells")
        hold(self, others=sizes_of_others("others", self.others, self.organisations))

    @property
    def population_name(self) -> str:
        """Where the frequencies come from, in words."""
        if self.population is None:
            return "the table itself"
        if self.population == "joint":
            return "the table itself, jointly"
        return self.population.name if self.population.cells is None else f"{self.population.name}, jointly"

    def linkable(self, base: Requirement | None) -> Linkable:
        """Return the estimate that may be stated once this was enforced beside a requirement."""
        return Linkable(
            self.d,
            alpha=self.alpha,
            population=self.population_name,
            other_rows=self.others,
            organisations=self.organisations,
            probability=self.probability,
            base=base,
        )

    def notes(self) -> tuple[str, ...]:
        """Return what the estimate rests on, for `Claim.silent_on`."""
        found = ["whether the population model is true: the estimate is calibrated by simulation, never proved"]
        if self.probability == "robust":
            found.append("regions of other releases: only their least class size is assumed")
        else:
            found.append("other releases whose class of the same person covers a smaller region than ours")
        if self.others is None:
            found.append("other releases with fewer rows than this one")
        else:
            found.append(f"other sizes than the assumed {', '.join(str(n) for n in self.others)} rows")
        if self.probability == "product":
            found.append("the exact probability: the paper's product formula was used, which overstates it")
        found.append("how likely each of the d values is: d values left are not a confidence of 1/d")
        return tuple(found)

    def satisfied(self, classes: Classes) -> BoolArray:
        """Refuse: a file does not show it."""
        raise ParameterError("requirement", str(self), "is an estimate under a model, not checkable on a file")

    def figure(self, classes: Classes) -> Figure:
        """Refuse: a file does not show it."""
        raise ParameterError("requirement", str(self), "is an estimate under a model, not checkable on a file")

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; a declared population is named, not written."""
        return to_json(self) | {"population": self.population_name}

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what is asked, with the formula."""
        return (
            f"Of every class, {self.d} sensitive values all occur in the matching part of each of "
            f"{self.organisations - 1} other releases with probability at least {plain(self.alpha)}, under a "
            "population model: the sum over subsets T of (-1)^|T| (1 - rho(T))^n is at least alpha."
        )

    def __str__(self) -> str:
        return f"{self.label}({self.d}, {plain(self.alpha)})"


def split_linkability(requirement: Requirement) -> tuple[Requirement | None, Linkability | None]:
    """Return what a verifier can check, and the linkability asked beside it (at most one)."""
    asked = [part for part in requirement.parts if isinstance(part, Linkability)]
    rest = tuple(part for part in requirement.parts if not isinstance(part, Linkability))
    if len(asked) > 1:
        raise ParameterError("requirement", str(requirement), "may ask for linkability once")
    checked = None if not rest else rest[0] if len(rest) == 1 else Conjunction(rest)
    return checked, asked[0] if asked else None
