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

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal

from sfumato.claims.requirement import Requirement, Unit
from sfumato.declare import Rational, Whole, declare, hold, like, parameter, to_json
from sfumato.errors import ParameterError
from sfumato.exact import Number, plain, whole
from sfumato.randomness.enclosure import context

# Between zero-concentrated and (epsilon, delta)-differential privacy, rounded so that nothing is promised in excess.
#
# Source    Bun & Steinke, TCC 2016 (zCDP: definition 1.1; pure epsilon is epsilon^2/2-zCDP, proposition 1.4); Canonne,
#           Kamath & Steinke, arXiv 2004.00010, proposition 12 and corollary 13 (conversion).
# Claim     rho-zCDP implies (`epsilon_of(rho, delta)`, delta)-DP; `rho_for(epsilon, delta)`-zCDP implies
#           (epsilon, delta)-DP; `implies` is never true where that bound does not show it.
# Because   for every alpha > 1, rho-zCDP implies (e, delta)-DP with e = alpha rho + ln(alpha - 1) + (ln(1/delta) -
#           alpha ln alpha)/(alpha - 1). A float search only picks alpha; e is then computed to 80 digits at that
#           rational alpha, with correctly rounded logarithms and a slack above all roundings, and rounded up.
# Checked   tests/unit/claims/test_concentrated.py::test_conversion_is_that_of_the_paper_and_never_below
#           tests/unit/claims/test_concentrated.py::test_the_gaussian_itself_is_within_the_conversion
#           tests/unit/claims/test_concentrated.py::test_wrong_conversions_are_distinguished
# Silent on the smallest epsilon a particular mechanism has: the conversion holds for every rho-zCDP mechanism.

_DIGITS: Final = 80
_SLACK: Final = Decimal("1e-50")  # of |terms| below 1e15: twelve roundings of relative error 10^-79
_STEPS: Final = 200  # of the search for alpha
_PLACES: Final = 12  # decimal places of an epsilon that is rounded up
_SHARP: Final = 10**9  # the search for rho goes down in steps of one part in 10^9
_FAR: Final = 34.0  # ln(alpha - 1) is looked for between -34 and 34


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up to 12 places, such that rho-zCDP implies (epsilon, delta)-DP.

    >>> float(epsilon_of(Fraction(1, 100), Fraction(1, 10**6)))
    0.62169265456
    """
    if rho == 0:
        return Fraction(0)
    least = _upper(rho, delta, _order(float(rho), _log_inverse(delta)))
    scale = 10**_PLACES
    return max(Fraction(math.ceil(Fraction(least) * scale), scale), Fraction(0))


def implies(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether the conversion shows that rho-zCDP implies (epsilon, delta)-DP."""
    if rho == 0:
        return True
    if not 0 < delta < 1:
        return False
    return Fraction(_upper(rho, delta, _order(float(rho), _log_inverse(delta)))) <= epsilon


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho found, rounded down to nine digits, that implies (epsilon, delta)-DP.

    >>> rho = rho_for(Fraction(1), Fraction(1, 10**9))
    >>> implies(rho, Fraction(1), Fraction(1, 10**9)), round(float(rho), 6)
    (True, 0.014973)
    """
    low, high = 0.0, float(epsilon) + 1
    log_inverse, wanted = _log_inverse(delta), float(epsilon)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle <= 0 or _near(middle, log_inverse, _order(middle, log_inverse)) > wanted:
            high = middle
        else:
            low = middle
    places = 10 ** max(0, 9 - math.floor(math.log10(low)))
    units = math.floor(low * places)
    while not implies(Fraction(units, places), epsilon, delta):  # the float was a shade too large
        units -= max(1, units // _SHARP)
    return Fraction(units, places)


def _log_inverse(delta: Fraction) -> float:
    return math.log(delta.denominator) - math.log(delta.numerator)


def _near(rho: float, log_inverse: float, order: Fraction) -> float:
    alpha, less = float(order), float(order - 1)
    return alpha * rho + math.log(less) + (log_inverse - alpha * math.log1p(less)) / less


def _order(rho: float, log_inverse: float) -> Fraction:
    """Return a good alpha, by golden section over ln(alpha - 1)."""

    def bound(at: float) -> float:
        less = math.exp(at)
        # ln(alpha - 1) - alpha ln(alpha) / (alpha - 1), written so that large alpha does not cancel
        return (1 + less) * rho + at + (log_inverse - (1 + less) * math.log1p(less)) / less

    low, high = -_FAR, _FAR
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(_STEPS):
        first, second = high - golden * (high - low), low + golden * (high - low)
        if bound(first) < bound(second):
            high = second
        else:
            low = first
    return 1 + Fraction(f"{math.exp(low):.12e}")


def _upper(rho: Fraction, delta: Fraction, alpha: Fraction) -> Decimal:
    """Return the bound at this alpha, computed to 80 digits and moved up by more than its roundings."""
    work = context(_DIGITS)

    def real(value: Fraction) -> Decimal:
        return work.divide(Decimal(value.numerator), Decimal(value.denominator))

    less, order = real(alpha - 1), real(alpha)
    log_delta = work.subtract(Decimal(delta.numerator).ln(work), Decimal(delta.denominator).ln(work))
    # Operators would round by the caller's own context: every step names the one it works in.
    inner = work.subtract(work.minus(log_delta), work.multiply(order, order.ln(work)))
    found = work.add(real(alpha * rho), work.add(less.ln(work), work.divide(inner, less)))
    sizes = (real(alpha * rho), work.divide(log_delta, less), work.divide(inner, less))
    scale = max(Decimal(1), *(work.abs(size) for size in sizes))
    return context(_DIGITS, ROUND_CEILING).add(found, work.multiply(_SLACK, scale))


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
