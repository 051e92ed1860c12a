"""Promises that cannot be read off a file: differential privacy (proved), linkability (estimated), none.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006 (pure); Dwork et al., EUROCRYPT 2006 (approximate);
          Machanavajjhala et al., ICDE 2008, definition 6 (probabilistic); the (d, alpha)-linkable model of
          the dLink paper, definition 6.
Claim     PureDP: Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] for neighbours x, y and every S. ApproxDP: plus delta.
          ProbabilisticDP: outputs whose likelihood ratio exceeds e^epsilon have probability at most delta.
Because   the mechanism's own module proves it; a value here only states it, exactly.
Checked   tests/unit/claims/test_guarantees.py::test_values_are_exact_and_frozen
          tests/unit/claims/test_claim.py::test_kind_follows_from_the_promise
Silent on everything a mechanism's claim lists in `silent_on`. Linkable is a model-based estimate and no guarantee;
          ProbabilisticDP implies ApproxDP with the same numbers but is not kept by post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

from sfumato.claims.exact import Number, choice, fraction, number_from_json, number_to_json, plain, whole
from sfumato.claims.requirement import Requirement, Unit
from sfumato.errors import ParameterError

__all__ = [
    "PROBABILITIES",
    "ApproxDP",
    "Linkable",
    "Nothing",
    "ProbabilisticDP",
    "Probability",
    "PureDP",
    "sizes_of_others",
]

Probability = Literal["exact", "product", "robust"]
PROBABILITIES: tuple[Probability, ...] = get_args(Probability)


@dataclass(frozen=True, slots=True, init=False)
class PureDP:
    """epsilon-differential privacy."""

    epsilon: Fraction
    label: ClassVar[str] = "pure-dp"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _epsilon(epsilon))

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `promise_from_json` reads it back."""
        return {"kind": self.label, "epsilon": number_to_json(self.epsilon)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PureDP:
        """Return the promise that `to_json` wrote."""
        return cls(number_from_json("epsilon", data["epsilon"]))

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"{plain(self.epsilon)}-differential privacy: any output is at most e^{plain(self.epsilon)} times as "
            "likely on one of two neighbouring tables as on the other; Pr[M(x) in S] <= e^epsilon Pr[M(y) in S]."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.epsilon)})"


@dataclass(frozen=True, slots=True, init=False)
class ApproxDP:
    """(epsilon, delta)-differential privacy."""

    epsilon: Fraction
    delta: Fraction
    label: ClassVar[str] = "approx-dp"

    def __init__(self, epsilon: Number, *, delta: Number) -> None:
        object.__setattr__(self, "epsilon", _epsilon(epsilon))
        object.__setattr__(self, "delta", _delta(delta))

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `promise_from_json` reads it back."""
        return _pair_to_json(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ApproxDP:
        """Return the promise that `to_json` wrote."""
        return cls(number_from_json("epsilon", data["epsilon"]), delta=number_from_json("delta", data["delta"]))

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"({plain(self.epsilon)}, {plain(self.delta)})-differential privacy: on two neighbouring tables, "
            "Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] + delta for every set S of outputs."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.epsilon)}, {plain(self.delta)})"


@dataclass(frozen=True, slots=True, init=False)
class ProbabilisticDP:
    """(epsilon, delta)-probabilistic differential privacy, the OnTheMap paper's definition."""

    epsilon: Fraction
    delta: Fraction
    label: ClassVar[str] = "probabilistic-dp"

    def __init__(self, epsilon: Number, *, delta: Number) -> None:
        object.__setattr__(self, "epsilon", _epsilon(epsilon))
        object.__setattr__(self, "delta", _delta(delta))

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `promise_from_json` reads it back."""
        return _pair_to_json(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ProbabilisticDP:
        """Return the promise that `to_json` wrote."""
        return cls(number_from_json("epsilon", data["epsilon"]), delta=number_from_json("delta", data["delta"]))

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"({plain(self.epsilon)}, {plain(self.delta)})-probabilistic differential privacy: except with probability "
            f"{plain(self.delta)}, the output is one whose likelihoods on neighbouring tables differ by a factor of at "
            f"most e^{plain(self.epsilon)}. It implies approximate differential privacy with the same numbers; "
            "unlike that, it is not kept when the output is processed further."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.epsilon)}, {plain(self.delta)})"


@dataclass(frozen=True, slots=True, init=False)
class Linkable:
    """(d, alpha)-linkable: an estimate under a model of the population. Never a guarantee.

    `population` names where the frequencies came from, `other_rows` the assumed sizes of the other releases (None: as
    large as this one) and `organisations` how many publish. `probability` says how it was worked out; the paper's
    "product" overstates. `base` is the requirement that merging kept.
    """

    d: int
    alpha: Fraction
    population: str
    other_rows: tuple[int, ...] | None
    organisations: int
    probability: Probability
    base: Requirement | None
    label: ClassVar[str] = "linkable"

    def __init__(
        self,
        d: Number,
        *,
        alpha: Number,
        population: str = "the table itself",
        other_rows: Number | Sequence[Number] | None = None,
        organisations: Number = 2,
        probability: Probability = "exact",
        base: Requirement | None = None,
    ) -> None:
        object.__setattr__(self, "d", whole("d", d, least=1, hint="try 4"))
        object.__setattr__(self, "alpha", fraction("alpha", alpha, above=0, most=1, hint="try 0.8"))
        object.__setattr__(self, "population", population)
        many = whole("organisations", organisations, least=2)
        object.__setattr__(self, "other_rows", sizes_of_others("other_rows", other_rows, many))
        object.__setattr__(self, "organisations", many)
        choice("probability", probability, PROBABILITIES)
        object.__setattr__(self, "probability", probability)
        if base is not None and not isinstance(base, Requirement):
            raise ParameterError("base", type(base).__name__, "must be a requirement")
        object.__setattr__(self, "base", base)

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `promise_from_json` reads it back."""
        return {
            "kind": self.label,
            "d": self.d,
            "alpha": number_to_json(self.alpha),
            "population": self.population,
            "other_rows": None if self.other_rows is None else list(self.other_rows),
            "organisations": self.organisations,
            "probability": self.probability,
            "base": None if self.base is None else self.base.to_json(),
        }

    def describe(self, unit: Unit = "row") -> str:
        """Say what is estimated, and that it is no guarantee."""
        kept = "" if self.base is None else f" Checkable beside it: {self.base.describe(unit)}"
        joint = self.population.endswith(", jointly")  # a joint model: what it says of dependence is used
        alone = "" if joint else " and attributes do not depend on each other"
        sizes = "as many rows as this one" if self.other_rows is None else " and ".join(map(str, self.other_rows))
        size = sizes if self.other_rows is None else f"{sizes} rows"
        region = "" if self.probability == "robust" else ", in classes no smaller in extent,"
        overstated = " by the paper's product formula, which overstates it" if self.probability == "product" else ""
        return (
            f"An estimate under a model, not a guarantee: if rows are drawn independently with the frequencies of "
            f"{self.population}{alone}, and the others publish {size}{region} a person whom {self.organisations} "
            f"organisations publish shares at least {self.d} sensitive values with their classes, with probability "
            f"at least {plain(self.alpha)}{overstated}.{kept}"
        )

    def __str__(self) -> str:
        return f"{self.label}({self.d}, {plain(self.alpha)})"


def sizes_of_others(name: str, sizes: Number | Sequence[Number] | None, organisations: int) -> tuple[int, ...] | None:
    """Read one size for all other organisations, or one for each."""
    if sizes is None:
        return None
    if isinstance(sizes, Sequence) and not isinstance(sizes, str):
        found = tuple(whole(name, n, least=1) for n in sizes)
        if len(found) != organisations - 1:
            rule = f"must be one size for each of {organisations - 1} other organisations"
            raise ParameterError(name, f"{len(found)} sizes", rule)
        return found
    return (whole(name, sizes, least=1),) * (organisations - 1)


@dataclass(frozen=True, slots=True)
class Nothing:
    """No promise at all: the table as it is. A release that promises this is never saved."""

    label: ClassVar[str] = "nothing"

    def to_json(self) -> dict[str, Any]:
        """Return a plain dict; `promise_from_json` reads it back."""
        return {"kind": self.label}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Nothing:
        """Return the promise that `to_json` wrote."""
        return cls()

    def describe(self) -> str:
        """Say that nothing is promised."""
        return "Nothing is promised: this is the original table."

    def __str__(self) -> str:
        return self.label


def _epsilon(value: Number) -> Fraction:
    return fraction("epsilon", value, above=0, hint="try 1/2")


def _delta(value: Number) -> Fraction:
    return fraction("delta", value, above=0, below=1, hint="try 1e-5, well below one over the number of people")


def _pair_to_json(promise: ApproxDP | ProbabilisticDP) -> dict[str, Any]:
    return {
        "kind": promise.label,
        "epsilon": number_to_json(promise.epsilon),
        "delta": number_to_json(promise.delta),
    }
