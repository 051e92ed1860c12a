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
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.claims import Claim, Linkability, Number, Requirement, check_each, number_to_json
from sfumato.claims.guarantees import Probability, Sizes
from sfumato.claims.linkability import MOST_D
from sfumato.claims.requirement import requirement_notes
from sfumato.counts import RoutingTree
from sfumato.declare import MaybeWhole, Rational, Whole, declare, hold, like, parameter
from sfumato.errors import Infeasible, ParameterError
from sfumato.kernels.dlink.merging import GONE, JoinAxis, UnitedClasses, join_rules, new_index, unite
from sfumato.kernels.dlink.score import CELLS, Link, score
from sfumato.mechanisms.base import Gathered, Mechanism, Plan, Stage
from sfumato.mechanisms.conditions import refuse_spellings
from sfumato.mechanisms.dlink.population_model import (
    Frequencies,
    bind_model,
    least_k,
    refuse_no_sensitive,
    refuse_unlinkable,
)
from sfumato.randomness import Entropy
from sfumato.release import Release, Residence, assemble, ground_of
from sfumato.schema import Attribute, Labels, Population, Schema
from sfumato.schema.labels import Intervals

Partner = Literal["failing", "all"]
NominalLabels = Literal["nodes", "leaves"]
MergeDistance = Literal["hierarchical", "uniform"]


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
        # The base alone may not look at sensitive values: what is said of that is not true of the two together.
        of_base = requirement_notes(requirement, schema)
        more = (note for note in kept.silent_on if note not in of_base)
        silent = (*asked.notes(), *more, *requirement_notes(requirement & asked, schema))
        return Claim(asked.linkable(requirement), silent_on=silent, unit=kept.unit)

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
        refuse_no_sensitive(counts.schema.sensitive)
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


# Uniting the classes of a partition until each passes the linkability model: arrays in, a new release out.
#
# Source    Sattar et al., the dLink paper, algorithm 1; distance of Li, Wong, Fu & Pei (KACA), DaWaK 2006.
# Claim     every published class is a union of the base's classes under the closest label that holds both (a node of
#           the tree for nominal attributes, an interval else), and passes the model with the share of THAT label.
#           Classes that end with equal labels are one class, as on the file. At most the declared share is suppressed.
# Because   the kernel joins labels and tests after each union; equal labels have equal boxes and more values together.
# Checked   tests/claims/test_dlink_release.py::test_every_class_passes_with_its_published_label
#           tests/claims/test_dlink_release.py::test_classes_are_unions_of_the_base
#           tests/claims/test_dlink_release.py::test_suppression_is_bounded_and_never_everything
# Silent on what the choice of unions tells about the rows.
# Cost      kernels/dlink/merging.


UNIFORM_WEIGHT = 0.3  # as in Mondrian's `best`: what an even spread gets wrong, beside the width of labels
_WIDEST = 512  # codes up to which an attribute's spread is looked at


@dataclass(frozen=True, slots=True)
class United:
    """`into[g]` is the class that the base's group g ended in, GONE where suppressed."""

    into: np.ndarray
    _: KW_ONLY
    low: np.ndarray
    high: np.ndarray
    merged: np.ndarray  # classes made of several
    failing: int  # classes that failed before anything was united
    unions: int


def level_losses(parent: Sequence[int]) -> list[float]:
    """What a node of a tree has lost by the weighted hierarchical distance: 1 at the root, 0 at the lowest level."""
    level = [1] * len(parent)
    for node, above in enumerate(parent):
        if above >= 0:
            level[node] = level[above] + 1
    steps = [1.0 / (j - 1) for j in range(2, max(level) + 1)]
    total = sum(steps)
    return [1.0 - sum(steps[: own - 1]) / total if total else 0.0 for own in level]


def axis_of(attribute: Attribute, *, nominal: NominalLabels, distance: MergeDistance) -> JoinAxis:
    """Return how labels of one attribute are joined."""
    missing = attribute.missing_code is not None
    if attribute.ordered or nominal == "leaves" or not attribute.declared_tree:
        return JoinAxis(attribute.size, missing=missing)
    tree = attribute.nodes.branching
    low, high, parent = tree.low, tree.high, tree.parent.tolist()
    if distance == "hierarchical":
        losses = level_losses(parent)
    else:
        losses = ((high - low - 1) / max(1, attribute.size - 1)).tolist()
    rows = zip(low.tolist(), high.tolist(), parent, losses, strict=True)
    return JoinAxis(attribute.size, missing=missing, nodes=tuple(rows))


def merge_classes(
    release: Release,
    link: Link,
    *,
    partner: Partner,
    nominal: NominalLabels,
    distance: MergeDistance,
    max_suppressed: Fraction,
) -> United:
    """Unite the groups of a generalized release; the suppressed group is left as it is."""
    axes = [axis_of(attribute, nominal=nominal, distance=distance) for attribute in release.quasi]
    kept = np.arange(len(release.groups))
    if release.suppressed_group is not None:
        kept = np.delete(kept, release.suppressed_group)
    weight = UNIFORM_WEIGHT if distance == "uniform" else 0.0
    classes = _classes(release, link, axes, kept, uniform=distance == "uniform")
    rules = join_rules(axes)
    lost = len(axes) * (1.0 + weight)
    budget = int(max_suppressed * int(classes.rows.sum()))
    found = unite(rules, link, classes, new_index(classes), weight, partner == "failing", lost, budget)
    into = np.arange(len(release.groups))
    into[kept] = np.where(found.into == GONE, GONE, kept[np.maximum(found.into, 0)])
    low, high = release.boxes.low.copy(), release.boxes.high.copy()
    merged = np.zeros(len(release.groups), bool)
    merged[kept[found.first]] = True
    low[kept], high[kept] = classes.low, classes.high
    alive = np.flatnonzero(found.into == np.arange(len(kept)))
    if len(alive) == 1 and found.score[alive[0]] < link.alpha:
        # One class holds everybody and its interval is still short of `*`, which was found to pass.
        one = kept[alive[0]]
        low[one], high[one], merged[one] = 0, rules.size, True
    return United(into, low=low, high=high, merged=merged, failing=found.failed, unions=len(found.first))


def _classes(
    release: Release, link: Link, axes: Sequence[JoinAxis], kept: np.ndarray, *, uniform: bool
) -> UnitedClasses:
    boxes, many = release.boxes, len(kept)
    loss, mass = np.zeros((many, len(axes))), np.ones(many)
    for a, (attribute, table) in enumerate(zip(release.quasi, boxes.tables, strict=True)):
        ids = boxes.labels[kept, a]
        loss[:, a] = np.array([_label_loss(axes[a], table, label) for label in range(len(table))])[ids]
        if link.source == CELLS and (np.diff(table.offsets) > 1).any():
            rule = "needs labels that are intervals"
            raise ParameterError("population", attribute.name, rule, hint="a base without tight=True")
        mass *= _label_mass(link, a, table)[ids]
    counts = [release.groups.histogram(attribute.name).toarray() for attribute in release.schema.sensitive]
    codes, start, spread = _code_counts(release, kept) if uniform else _no_codes(many, len(axes))
    return UnitedClasses(
        low=boxes.low[kept],
        high=boxes.high[kept],
        loss=loss,
        mass=mass,
        rows=release.groups.weight[kept].astype(np.int64),
        counts=np.ascontiguousarray(np.hstack(counts)[kept], np.int64),
        codes=codes,
        code_start=start,
        spread=spread,
    )


def _label_loss(axis: JoinAxis, table: Labels, label: int) -> float:
    """Loss of a label of the base; one that is not a node has its share of the loss of the node above it."""
    codes = int(table.size[label])
    if not axis.nodes:
        return (codes - 1) / max(1, axis.size - 1)
    low, high = int(table.low[label]), int(table.high[label])
    holding = [node for node in axis.nodes if node[0] <= low and high <= node[1]]
    above = min(holding, key=lambda node: (node[1] - node[0], node[3]))
    width = above[1] - above[0]
    return above[3] if codes == width else above[3] * (codes - 1) / (width - 1)


def _label_mass(link: Link, a: int, table: Labels) -> np.ndarray:
    """Population share of each label: of the values it holds, not of its hull."""
    prefix = link.prefix[link.start[a] : link.start[a + 1]]
    return np.add.reduceat(prefix[table.ends] - prefix[table.starts], table.offsets[:-1])


def _no_codes(many: int, attributes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.zeros((many, 0), np.int64), np.full(attributes, -1, np.int64), np.zeros(many)


def _code_counts(release: Release, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each code occurs in each class, and how many rows an even spread over the label gets wrong."""
    home = release.residence
    if home is None:
        raise ParameterError("distance", "uniform", "needs a base that knows where rows landed")
    sizes = [attribute.size if attribute.size <= _WIDEST else 0 for attribute in release.quasi]
    start = np.where(np.array(sizes) > 0, np.cumsum([0, *sizes])[:-1], -1).astype(np.int64)
    place = np.full(len(release.groups) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    of_row = place[home.group]
    inside = of_row >= 0
    codes = np.zeros((len(kept), sum(sizes)), np.int64)
    spread = np.zeros(len(kept))
    for a, attribute in enumerate(release.quasi):
        if start[a] < 0:
            continue
        column = home.codes[inside, home.names.index(attribute.name)]
        np.add.at(codes, (of_row[inside], start[a] + column), home.weight[inside])
        own = codes[:, start[a] : start[a] + attribute.size]
        width = release.boxes.tables[a].size[release.boxes.labels[kept, a]]
        spread += np.maximum(0.0, own - (own.sum(axis=1) / width)[:, None]).sum(axis=1)
    return codes, start, spread


def united_release(
    base: Release, united: United, *, leave_out: bool, notes: tuple[str, ...]
) -> tuple[Release, np.ndarray]:
    """Return the release of the united classes and the new group of each of the base's (-1: left out)."""
    gone = united.into == GONE
    if base.suppressed_group is not None:
        gone[base.suppressed_group] = True
    alive = np.flatnonzero((united.into == np.arange(len(united.into))) & ~gone)
    with_root = bool(gone.any()) and not leave_out
    tables, columns = [], []
    for a, attribute in enumerate(base.quasi):
        labels, ids = _labels(attribute, base.boxes.tables[a], base.boxes.labels[:, a], united, alive, a, with_root)
        tables.append(labels)
        columns.append(ids)
    rows = np.column_stack(columns)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)  # equal labels are one class on the file
    number = number.reshape(-1)
    group = np.full(len(united.into), -1, np.int64)
    group[alive] = number[: len(alive)]
    inside = ~gone
    group[inside] = group[united.into[inside]]
    if with_root:
        group[gone] = number[-1]
    carried, landed = base.groups.carried, group[base.groups.carried.group]
    stays = group >= 0
    lost = int(base.groups.weight[~stays].sum())
    release, order = assemble(
        base.schema,
        tables=tuple(tables),
        labels=distinct,
        weight=np.bincount(group[stays], weights=base.groups.weight[stays], minlength=len(distinct)).astype(np.int64),
        group=np.arange(len(distinct)),
        carried_group=landed[landed >= 0],
        carried_codes=carried.codes[landed >= 0],
        carried_weight=carried.weight[landed >= 0],
        suppressed_group=int(number[-1]) if with_root else None,
        left_out=(base.left_out or 0) + lost,
        claim=base.claim,
        notes=(*base.notes, *notes),
    )
    final = np.where(stays, order[np.maximum(group, 0)], -1)
    if base.residence is not None:
        home = base.residence
        moved = np.where(home.group >= 0, final[np.maximum(home.group, 0)], -1).astype(np.int32)
        release = replace(release, residence=Residence(home.names, home.codes, moved, home.weight))
    return release, final


def _labels(
    attribute: Attribute, table: Labels, ids: np.ndarray, united: United, alive: np.ndarray, a: int, with_root: bool
) -> tuple[Labels, np.ndarray]:
    """Untouched classes keep their label, sets included; united ones have the joined interval."""
    known = [table.intervals(label) for label in range(len(table))]
    sets: list[Intervals] = [
        ((int(united.low[g, a]), int(united.high[g, a])),) if united.merged[g] else known[ids[g]] for g in alive
    ]
    if with_root:
        sets.append(((0, attribute.size),))
    return Labels.from_sets(attribute, sets)
