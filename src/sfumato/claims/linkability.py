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
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from sfumato.claims.classes import BoolArray, Classes, Figure
from sfumato.claims.exact import Number, choice, fraction, number_from_json, number_to_json, plain, whole
from sfumato.claims.guarantees import PROBABILITIES, Linkable, Probability, sizes_of_others
from sfumato.claims.requirement import Conjunction, Requirement, Unit
from sfumato.errors import ParameterError
from sfumato.schema.population import Population

__all__ = ["Linkability", "split_linkability"]

MOST_D = 12


@dataclass(frozen=True, slots=True, init=False)
class Linkability(Requirement):
    """At least d sensitive values of a class are found again in every other release with probability alpha.

    organisations   how many publish, we included; `others` their sizes (one number, or one for each; default: ours)
    population      None: shares of the table itself, attributes independent; "joint": the table's own joint counts;
                    or a declared `Population`
    probability     "exact"; "product", the paper's, which overstates; "robust", which trusts only that the other class
                    has at least `k_other` people (default: k of the requirement beside it)
    """

    d: int
    alpha: Fraction
    organisations: int
    others: tuple[int, ...] | None
    population: Population | Literal["joint"] | None
    probability: Probability
    k_other: int | None
    label: ClassVar[str] = "linkability"
    at_least: ClassVar[bool] = True
    checkable: ClassVar[bool] = False

    def __init__(
        self,
        d: Number = 4,
        alpha: Number = Fraction(4, 5),
        *,
        organisations: Number = 2,
        others: Number | Sequence[Number] | None = None,
        population: Population | Literal["joint"] | None = None,
        probability: Probability = "exact",
        k_other: Number | None = None,
    ) -> None:
        least = whole("d", d, least=2, hint="try 4")
        if least > MOST_D:
            raise ParameterError("d", least, f"must be at most {MOST_D}", hint="2^d subsets are added up")
        many = whole("organisations", organisations, least=2)
        choice("probability", probability, PROBABILITIES)
        given: object = population
        if given is not None and given != "joint" and not isinstance(given, Population):
            hint = 'sf.Population.read(path, schema), "joint" or None'
            raise ParameterError("population", type(given).__name__, "must be declared frequencies", hint=hint)
        joint = population == "joint" or (isinstance(population, Population) and population.cells is not None)
        if probability == "robust" and joint:
            rule = "takes values as independent of quasi-identifiers, since the other region is unknown"
            raise ParameterError("probability", "robust", rule, hint="a population without cells")
        object.__setattr__(self, "d", least)
        object.__setattr__(self, "alpha", fraction("alpha", alpha, above=0, below=1, hint="try 0.8"))
        object.__setattr__(self, "organisations", many)
        object.__setattr__(self, "others", sizes_of_others("others", others, many))
        object.__setattr__(self, "population", population)
        object.__setattr__(self, "probability", probability)
        object.__setattr__(self, "k_other", None if k_other is None else whole("k_other", k_other, least=2))

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
        return {
            "kind": self.label,
            "d": self.d,
            "alpha": number_to_json(self.alpha),
            "organisations": self.organisations,
            "others": None if self.others is None else list(self.others),
            "population": self.population_name,
            "probability": self.probability,
            "k_other": self.k_other,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Linkability:
        """Return the condition that `to_json` wrote, unless it rests on a declared population."""
        known: dict[str, Any] = {"the table itself": None, "the table itself, jointly": "joint"}
        if data["population"] not in known:
            raise ParameterError("population", data["population"], "is declared elsewhere", hint="give it again")
        rest = {name: data[name] for name in ("organisations", "others", "probability", "k_other")}
        alpha = number_from_json("alpha", data["alpha"])
        return cls(data["d"], alpha, population=known[data["population"]], **rest)

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
