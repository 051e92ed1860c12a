"""DLink: unite the classes of a partition until another release very likely shares d sensitive values with each.

Source    Sattar, Li, Liu, Heatherly & Malin, "A probabilistic approach to mitigate composition attacks on privacy in
          non-coordinated environments", algorithm 1 and definition 6; docs/where-the-papers-are-wrong.md.
Claim     Linkable(d, alpha): under the stated population model, d values of every published class all occur in the
          matching part of every other release with probability at least alpha. An estimate, never a guarantee. The
          base's requirement is kept and can be checked.
Because   SOME d values must be shared, so the d most probable are tested (their joint presence exactly, not by the
          product, which overstates); uniting classes only adds mass and values; requirements are closed under union.
Checked   tests/claims/test_dlink_release.py::test_every_class_passes_with_its_published_label
          tests/claims/test_dlink_release.py::test_base_requirement_still_verifies
          tests/unit/mechanisms/test_dlink.py::test_vectors
          tests/claims/test_calibration.py::test_rate_reaches_alpha_where_the_model_is_true
Silent on releases whose region of the person is smaller than ours (`probability="robust"` is not), on dependence
          between attributes (unless `population` is joint), on how likely each of the d values is, and on what the
          order of unions tells. With M shared people up to (1 - alpha) M may still be left with fewer than d values.
Cost      less than Mondrian itself: one search in a tree for each union.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.claims import Claim, Linkability, Number, Requirement, check_each, number_to_json
from sfumato.claims.guarantees import Probability, Sizes
from sfumato.claims.linkability import MOST_D
from sfumato.counts import RoutingTree
from sfumato.declare import MaybeWhole, Rational, Whole, declare, hold, like, parameter
from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.linkage import Link, score
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Stage
from sfumato.mechanisms.conditions import refuse_spellings
from sfumato.mechanisms.dlink.merge import MergeDistance, NominalLabels, Partner, United, merge_classes, united_release
from sfumato.mechanisms.dlink.population_model import Frequencies, bind_model, least_k, refuse_unlinkable
from sfumato.randomness import Entropy
from sfumato.release import Release, ground_of
from sfumato.schema import Population, Schema

__all__ = ["DLink", "hierarchical_distance", "joint_presence", "presence", "record_probability"]


def record_probability(frequencies: Iterable[float]) -> float:
    """Probability of a record: the product of the frequencies of its (generalised) values, equation 1."""
    return math.prod(frequencies)


def presence(rho: float, n: float) -> float:
    """Probability that a record of probability rho occurs among n draws: 1 - (1 - rho)^n, equations 2 and 3."""
    return 1.0 if rho >= 1 else -math.expm1(n * math.log1p(-rho))


def joint_presence(rhos: Sequence[float], n: float, exact: bool = True) -> float:
    """Probability that all records occur among n draws: inclusion and exclusion, or the paper's product (eq. 4)."""
    product = math.prod(presence(rho, n) for rho in rhos)
    if not exact:
        return product
    if len(rhos) > MOST_D:
        raise ParameterError(
            "rhos", f"{len(rhos)} values", f"must be at most {MOST_D}", hint="2^d subsets are added up"
        )
    sums = [0.0]
    terms = [1.0]
    for rho in rhos:
        added = [known + rho for known in sums]
        terms += [
            -math.copysign(math.exp(n * math.log1p(-total)) if total < 1 else 0.0, term)
            for total, term in zip(added, terms, strict=True)
        ]
        sums += added
    return min(max(math.fsum(terms), 0.0), product)


def hierarchical_distance(level: int, to: int, *, height: int, beta: float = 1.0) -> float:
    """KACA's weighted hierarchical distance of generalising from one level to a higher one (1 is the root).

    Sum over j = to + 1 .. level of 1 / (j - 1)^beta, divided by the same sum over j = 2 .. height.
    """
    if not 1 <= to <= level <= height:
        raise ParameterError("level", f"{level} to {to}", f"must satisfy 1 <= to <= level <= {height}")
    steps = [1.0 / (j - 1) ** beta for j in range(2, height + 1)]
    return math.fsum(steps[to - 1 : level - 1]) / math.fsum(steps) if steps else 0.0


@declare
class DLink:
    """Unite classes of any partition mechanism with a generalized release until each passes (d, alpha).

    d, alpha, organisations, others, population, probability, k_other   see `Linkability`
    max_suppressed   share of rows that may be suppressed instead, where uniting costs more
    partner   "failing": with the nearest failing class while there is one; "all": with the nearest of all
    nominal   labels of united nominal attributes: the closest node, or the leaves in between
    distance  "hierarchical", the paper's; "uniform": widths, and what a reader who spreads rows evenly gets wrong

    >>> schema = sf.datasets.adult("test").schema
    >>> str(sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=4, alpha="0.8").claim(schema))
    'linkable(4, 0.8) [estimate]'
    """

    name: ClassVar[str] = "dlink"
    plain: ClassVar[str] = "Larger groups, for people who may be in other releases too"
    variants: ClassVar[Mapping[str, str]] = {
        "inside": "Enforce it in Mondrian's cuts instead of uniting classes afterwards."
    }

    base: Mechanism = parameter("The partition whose classes are united.", flag=None)
    _: KW_ONLY
    d: Whole = like(Linkability, "d", default=4)
    alpha: Rational = like(Linkability, "alpha", default=Fraction(4, 5))
    organisations: Whole = like(Linkability, "organisations", default=2)
    others: Sizes = like(Linkability, "others", default=None)
    population: Population | Literal["joint"] | None = like(Linkability, "population", default=None)
    probability: Probability = like(Linkability, "probability", default="exact")
    max_suppressed: Rational = parameter(
        "Share of rows that may be suppressed.", default=0, least=0, below=1, hint="0.01 is one row in a hundred"
    )
    k_other: MaybeWhole = like(Linkability, "k_other", default=None)
    partner: Partner = parameter("Which class is united with a failing one.", default="failing", flag=None)
    nominal: NominalLabels = parameter("Labels of united nominal attributes.", default="nodes")
    distance: MergeDistance = parameter(
        "What makes classes near: levels of the tree, or also what an even spread gets wrong.", default="hierarchical"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.base, Mechanism) or isinstance(self.base, DLink):
            hint = "DLink(Mondrian(KAnonymity(10)))"
            raise ParameterError("base", type(self.base).__name__, "must be a partition mechanism", hint=hint)
        hold(self, others=self.linkability.others)

    @classmethod
    def inside(cls, base: Any, *, max_suppressed: Number = 0, **asked: Any) -> Mechanism:
        """Return the base with the linkability asked of every cut, so that there is nothing to unite."""
        if not hasattr(base, "requirement"):
            rule = "must be cut under a requirement, which the linkability joins"
            raise ParameterError("base", type(base).__name__, rule, hint="DLink.inside(Mondrian(KAnonymity(10)))")
        made: Mechanism = replace(
            base, requirement=base.requirement & Linkability(**asked), max_suppressed=max_suppressed
        )
        return made

    @property
    def linkability(self) -> Linkability:
        """What is asked of every class."""
        return Linkability(
            self.d,
            self.alpha,
            organisations=self.organisations,
            others=self.others,
            population=self.population,
            probability=self.probability,
            k_other=self.k_other,
        )

    def claim(self, schema: Schema) -> Claim:
        """State the estimate, and the requirement that uniting classes keeps."""
        asked, kept = self.linkability, self.base.claim(schema)
        requirement = self._requirement(kept)
        refuse_spellings(requirement, schema, linkability=True)
        return Claim(asked.linkable(requirement), silent_on=(*asked.notes(), *kept.silent_on), unit=kept.unit)

    @staticmethod
    def _requirement(kept: Claim) -> Requirement:
        promise = kept.promise
        if not isinstance(promise, Requirement):
            rule = "must promise a requirement on every class"
            raise ParameterError("base", str(promise), rule, hint="DLink(Mondrian(KAnonymity(10)))")
        if not promise.monotone:
            rule = "is not kept when classes are united"
            raise ParameterError("base", str(promise), rule, hint="a requirement that is closed under union")
        return promise

    def needs(self, schema: Schema) -> list[tuple[str, ...]]:
        """Ask for what the base needs."""
        return self.base.needs(schema)

    def plan(self, schema: Schema) -> Plan:
        """The base's stages, then the unions."""
        self._requirement(self.base.claim(schema))
        before = self.base.plan(schema)
        does = f"unites classes until each passes {self.linkability} under the frequencies of "
        stage = Stage("unite", does=does + self.linkability.population_name)
        return Plan((*before.stages, stage), notes=before.notes)

    def apply(self, counts: Gathered, entropy: Entropy) -> Release:
        """Run the base, unite what fails, keep the recoding in step."""
        claim = self.claim(counts.schema)
        base, requirement = self.base.apply(counts, entropy), self._requirement(self.base.claim(counts.schema))
        _refuse_other_forms(base)
        if not len(base.groups):
            return replace(base, claim=claim, mechanism=self.to_json())
        table = _frequencies(base, counts)
        asked = self.linkability
        link = bind_model(asked, table, k=least_k(requirement, counts.schema.rows_per_person))
        refuse_unlinkable(asked, link, table)
        united = merge_classes(
            base,
            link,
            partner=self.partner,
            nominal=self.nominal,
            distance=self.distance,
            max_suppressed=self.max_suppressed,
        )
        release, number = self._released(base, united, requirement, link)
        recoding = base.recoding.with_groups(number) if isinstance(base.recoding, RoutingTree) else None
        return replace(release, claim=claim, mechanism=self.to_json(), recoding=recoding)

    def _released(
        self, base: Release, united: United, requirement: Requirement, link: Link
    ) -> tuple[Release, np.ndarray]:
        """Write the classes down; suppressed rows stay as one group only where it satisfies everything too."""
        release, number = united_release(base, united, leave_out=False, notes=())
        group = release.suppressed_group
        if group is not None and not self._holds(release, requirement, link, group):
            note = "suppressed rows were left out: together they do not satisfy what is claimed"
            release, number = united_release(base, united, leave_out=True, notes=(note,))
        if not _satisfied(release, requirement).all():
            why = "the rows that stay after suppression do not satisfy the base's requirement"
            raise Infeasible(requirement, "none", why, hint="max_suppressed=0")
        return release, number

    def _holds(self, release: Release, requirement: Requirement, link: Link, group: int) -> bool:
        counts = [release.groups.histogram(a.name)[group].toarray().ravel() for a in release.schema.sensitive]
        linked = score(link, 1.0, np.concatenate(counts).astype(np.int64), link.share) >= link.alpha
        return bool(linked and _satisfied(release, requirement)[group])

    def to_json(self) -> dict[str, Any]:
        """Return name and parameters; those of the linkability are one object."""
        base: Any = self.base
        return {
            "name": self.name,
            "base": base.to_json() if hasattr(base, "to_json") else {"name": type(base).__name__.lower()},
            "linkability": self.linkability.to_json(),
            "max_suppressed": number_to_json(self.max_suppressed),
            "partner": self.partner,
            "nominal": self.nominal,
            "distance": self.distance,
        }


def _refuse_other_forms(base: Release) -> None:
    if base.form != "generalized" or len(base.boxes) != len(base.groups):
        rule = "must publish classes with one generalized label each"
        raise ParameterError("base", base.form, rule, hint="Mondrian or TopDown")


def _frequencies(base: Release, counts: Gathered) -> Frequencies:
    """One-way counts of the rows the base publishes."""
    table, home = counts.published, base.residence
    codes, weights, names = table.codes, table.weights, table.names
    if home is not None:
        stays = home.group >= 0
        codes, weights, names = home.codes[stays], home.weight[stays], home.names
    schema = base.schema
    return Frequencies.of(schema.quasi, schema.sensitive, codes, weights, names)


def _satisfied(release: Release, requirement: Requirement) -> np.ndarray:
    """Whether each class satisfies the base's requirement for every sensitive attribute."""
    sensitive, groups = release.schema.sensitive, release.groups
    return check_each(
        requirement,
        {attribute.name: groups.histogram(attribute.name) for attribute in sensitive},
        {attribute.name: groups.overall[attribute.name] for attribute in sensitive},
        grounds={attribute.name: ground_of(attribute) for attribute in sensitive},
        rows_per_person=release.schema.rows_per_person,
    )
