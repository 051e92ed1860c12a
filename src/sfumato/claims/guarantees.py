"""Promises that cannot be read off a file: differential privacy (proved), linkability (estimated), none.

Source    Dwork, McSherry, Nissim & Smith, TCC 2006 (pure); Dwork et al., EUROCRYPT 2006 (approximate);
          Machanavajjhala et al., ICDE 2008, definition 6 (probabilistic); the (d, alpha)-linkable model of
          the dLink paper, definition 6; Bun & Steinke, TCC 2016 (concentrated).
Claim     PureDP: Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] for neighbours x, y and every S. ApproxDP: plus delta.
          ProbabilisticDP: outputs whose likelihood ratio exceeds e^epsilon have probability at most delta.
          ConcentratedDP: D_alpha(M(x) || M(y)) <= rho alpha for every alpha > 1 (Renyi divergence), hence ApproxDP.
Because   the mechanism's own module proves it; a value here only states it, exactly.
Checked   tests/unit/claims/test_guarantees.py::test_values_are_exact_and_frozen
          tests/unit/claims/test_claim.py::test_kind_follows_from_the_promise
Silent on everything a mechanism's claim lists in `silent_on`. Linkable is a model-based estimate and no guarantee;
          ProbabilisticDP implies ApproxDP with the same numbers but is not kept by post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

from sfumato.claims.concentrated import epsilon_of, implies, rho_for
from sfumato.claims.requirement import Requirement, Unit
from sfumato.declare import Rational, Whole, declare, hold, like, parameter, to_json
from sfumato.errors import ParameterError
from sfumato.exact import Number, plain, whole

__all__ = [
    "ApproxDP",
    "ConcentratedDP",
    "Linkable",
    "Nothing",
    "ProbabilisticDP",
    "Probability",
    "PureDP",
    "Sizes",
    "as_given",
    "sizes_of_others",
]

Probability = Literal["exact", "product", "robust"]


class Sizes:
    """A field that holds one size for each other release, or None, and takes one number for all."""

    def __get__(self, instance: object, owner: Any) -> tuple[int, ...] | None: ...
    def __set__(self, instance: object, value: Number | Sequence[Number] | None) -> None: ...


def as_given(value: Any) -> Any:
    """Return what is read only when the other fields are known."""
    return value


def _requirement(data: Any) -> Requirement:
    from sfumato.claims.registry import requirement_from_json  # which lists the guarantees of this module

    return requirement_from_json(data)


@declare
class PureDP:
    """epsilon-differential privacy.

    >>> str(sf.PureDP("1/2"))
    'pure-dp(0.5)'
    """

    epsilon: Rational = parameter(
        "Privacy budget, such as 1, 0.5 or 1/2.", above=0, hint="try 1/2", example=1, grid=("0.5", "1", "2", "4")
    )
    label: ClassVar[str] = "pure-dp"

    to_json = to_json

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"{plain(self.epsilon)}-differential privacy: any output is at most e^{plain(self.epsilon)} times as "
            "likely on one of two neighbouring tables as on the other; Pr[M(x) in S] <= e^epsilon Pr[M(y) in S]."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.epsilon)})"


@declare
class ApproxDP:
    """(epsilon, delta)-differential privacy.

    >>> str(sf.ApproxDP(1, delta="1e-9"))
    'approx-dp(1, 0.000000001)'
    """

    epsilon: Rational = like(PureDP, "epsilon")
    _: KW_ONLY
    delta: Rational = parameter(
        "Probability with which more than epsilon may be lost.",
        above=0,
        below=1,
        hint="try 1e-5, well below one over the number of people",
        example="1e-5",
    )
    label: ClassVar[str] = "approx-dp"

    to_json = to_json

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"({plain(self.epsilon)}, {plain(self.delta)})-differential privacy: on two neighbouring tables, "
            "Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] + delta for every set S of outputs."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.epsilon)}, {plain(self.delta)})"


@declare
class ConcentratedDP:
    """rho-zero-concentrated differential privacy, with the (epsilon, delta) that it implies.

    `rho` adds up over releases; `epsilon` is rounded up, and a pair that rho does not imply is refused.

    >>> sf.ConcentratedDP("1/100", epsilon="0.7", delta="1e-6").implied
    ApproxDP(epsilon=Fraction(7, 10), delta=Fraction(1, 1000000))
    """

    rho: Rational = parameter("Concentrated privacy budget, such as 1/100.", above=0, hint="try 1/100", example="1/100")
    _: KW_ONLY
    epsilon: Rational = parameter("The epsilon it implies at delta.", above=0, hint="try 1", example=1)
    delta: Rational = parameter(
        "The delta of that epsilon.",
        above=0,
        below=1,
        hint="try 1e-9, well below one over the number of people",
        example="1e-9",
    )
    label: ClassVar[str] = "concentrated-dp"

    def __post_init__(self) -> None:
        if not implies(self.rho, self.epsilon, self.delta):
            least = plain(epsilon_of(self.rho, self.delta))
            rule = f"rho = {plain(self.rho)} does not imply it at this delta"
            raise ParameterError("epsilon", plain(self.epsilon), rule, hint=f"state {least} or more")

    @classmethod
    def within(cls, epsilon: Number, *, delta: Number) -> ConcentratedDP:
        """Return the largest rho, rounded down, that implies (epsilon, delta)-DP."""
        asked = ApproxDP(epsilon, delta=delta)
        return cls(rho_for(asked.epsilon, asked.delta), epsilon=asked.epsilon, delta=asked.delta)

    @property
    def implied(self) -> ApproxDP:
        """The approximate differential privacy that follows."""
        return ApproxDP(self.epsilon, delta=self.delta)

    to_json = to_json

    def describe(self) -> str:
        """Say what is guaranteed, with the formula."""
        return (
            f"{plain(self.rho)}-zero-concentrated differential privacy: D_alpha(M(x) || M(y)) <= rho alpha for every "
            f"alpha > 1 on two neighbouring tables. It implies ({plain(self.epsilon)}, {plain(self.delta)})-"
            "differential privacy: Pr[M(x) in S] <= e^epsilon Pr[M(y) in S] + delta for every set S of outputs."
        )

    def __str__(self) -> str:
        return f"{self.label}({plain(self.rho)}: {plain(self.epsilon)}, {plain(self.delta)})"


@declare
class ProbabilisticDP:
    """(epsilon, delta)-probabilistic differential privacy, the OnTheMap paper's definition.

    >>> str(sf.ProbabilisticDP("4.6", delta="1e-5"))
    'probabilistic-dp(4.6, 0.00001)'
    """

    epsilon: Rational = like(PureDP, "epsilon")
    _: KW_ONLY
    delta: Rational = like(ApproxDP, "delta")
    label: ClassVar[str] = "probabilistic-dp"

    to_json = to_json

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


@declare
class Linkable:
    """(d, alpha)-linkable: an estimate under a model of the population. Never a guarantee.

    `population` names where the frequencies came from, `other_rows` the assumed sizes of the other releases (None: as
    large as this one) and `organisations` how many publish. `probability` says how it was worked out; the paper's
    "product" overstates. `base` is the requirement that merging kept.

    >>> str(sf.Linkable(4, alpha="0.8"))
    'linkable(4, 0.8)'
    """

    d: Whole = parameter("How many values must stay possible.", least=1, hint="try 4", example=4)
    _: KW_ONLY
    alpha: Rational = parameter(
        "With which probability, under the model.", above=0, most=1, hint="try 0.8", example="0.8"
    )
    population: str = parameter("Where the frequencies came from.", default="the table itself")
    other_rows: Sizes = parameter("Assumed sizes of the other releases.", default=None, read=as_given)
    organisations: Whole = parameter("How many publish, we included.", default=2, least=2)
    probability: Probability = parameter("How it was worked out.", default="exact", may_lack=True)
    base: Requirement | None = parameter("The requirement that merging kept.", default=None, decode=_requirement)
    label: ClassVar[str] = "linkable"

    def __post_init__(self) -> None:
        hold(self, other_rows=sizes_of_others("other_rows", self.other_rows, self.organisations))
        if self.base is not None and not isinstance(self.base, Requirement):
            raise ParameterError("base", type(self.base).__name__, "must be a requirement")

    to_json = to_json

    def describe(self, unit: Unit = "row") -> str:
        """Say what is estimated, and that it is not a guarantee."""
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


@declare
class Nothing:
    """No promise at all: the table as it is. A release that promises this is never saved."""

    label: ClassVar[str] = "nothing"

    to_json = to_json

    def describe(self) -> str:
        """Say that nothing is promised."""
        return "Nothing is promised: this is the original table, or a table without a stated promise."

    def __str__(self) -> str:
        return self.label
