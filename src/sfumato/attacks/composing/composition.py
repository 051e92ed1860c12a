"""The composition attack: someone who is in several releases keeps only the values that all of them allow.

Source    Ganta, Kasiviswanathan & Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008;
          Sattar et al., the dLink paper, section 3 (definitions 2, 3) and section 6.
Claim     For each victim the values left after intersecting what their classes allow in each release; `rate` is the
          share of victims with exactly one left (the paper's attack accuracy). Of several sensitive attributes the
          one that is given away most, which is named.
Because   a class states every value its people have, so a member's own value is in all of them.
Checked   tests/claims/test_composition_attack.py::test_equals_the_slow_attack
          tests/claims/test_composition_attack.py::test_alice_and_emu
          tests/claims/test_composition_attack.py::test_wrong_mutants_are_caught
          tests/claims/test_composition_attack.py::test_adult_anchors
Silent on attackers who know more than quasi-identifiers and membership, and on noise: a differentially private release
          is protected by its epsilon (epsilons add up over releases), not by how many positive counts are left.
Cost      distinct victims x boxes / 8 bytes for each release and attribute: 100,000 victims in seconds.

The attacker knows the quasi-identifiers of the victims and that they are in every release; with `everywhere` also what
else each release is published by. `reading="label"` looks for classes whose labels hold the victim, as an outsider
must; `reading="residence"` takes the class in which the row truly landed (definition 2), which only the publisher
knows. One attack uses one reading for all releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sfumato.attacks.base import FITS, Exposure, Fit, Gain, Harm, Whom
from sfumato.attacks.case import (
    Case,
    most_frequent,
    no_others,
    one_row_each,
    people_by_value,
    person_weights,
    refuse_unspeakable,
    run,
    whom,
    worst_attribute,
)
from sfumato.attacks.composing.narrowing import Narrowed, PriorBelief, by_home, by_label, narrow
from sfumato.counts import Table
from sfumato.counts.recoding import row_ids
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, ParameterError, count_of
from sfumato.estimate import View, align
from sfumato.exact import choice, whole
from sfumato.measures.base import worst_of
from sfumato.measures.proportions import Share, difference
from sfumato.release import Release
from sfumato.release.release import assemble
from sfumato.schema import Attribute, Labels, Schema
from sfumato.visible import visible

Reading = Literal["label", "residence"]


@declare
class Intersection:
    """Keep the values that all releases allow, and guess the likeliest of them."""

    name: ClassVar[str] = "composition"
    axis: ClassVar[Harm] = "inference"
    several: ClassVar[bool] = True

    _: KW_ONLY
    d: Whole = parameter("Fewer than d values left count as a breach.", default=4, least=2, unit="values")
    prior: PriorBelief = parameter("What classes are compared with to weigh the values left.", default="local")

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything that carries an attribute narrows."""
        return FITS if release.carried else Fit("it carries no sensitive or target attribute")

    def attempt(self, case: Case) -> Gain:
        """Attack people who are in all releases, beside people who are not."""
        names, entropy = case.knowledge.known, case.entropy(self.name)

        def people(table: Table) -> Table:
            table = known_in_all(table, case.releases) if names is None else table
            rows = one_row_each(table, entropy, most=table.rows)
            some = table if rows is None else table.take(rows)
            return some if names is None else some.with_roles(quasi=names)

        others = None if case.controls is None else people(case.controls)
        found = composition(
            case.releases,
            people(case.targets),
            d=self.d,
            control=others,
            attribute=case.knowledge.attribute,
            prior=self.prior,
            everywhere=names is None,
        )
        each = found.beside(case.targets).by_attribute
        return worst_attribute(list(each), lambda name: each[name].gain)


def composition(
    releases: Sequence[Release],
    victims: Table,
    *,
    d: int = 4,
    reading: Reading = "label",
    control: Table | None = None,
    attribute: str | None = None,
    prior: PriorBelief = "local",
    everywhere: bool = False,
    linked: bool = True,
) -> Composition:
    """Attack any number of releases at once; return shares with a record for each victim.

    `victims` holds the quasi-identifiers the attacker knows and, where the attack is to be judged, the true values.
    `control` holds people who are in one of the releases only (or in none); they are always looked for by label, since
    they reside nowhere else. `attribute` is the confidential one; unless it is named, every sensitive attribute that
    all releases carry is attacked and the result is that of the worst, with each in `by_attribute`.
    `prior` says what a class is compared with to tell how likely each value is (see `narrowing.py`).
    `everywhere`: who is in all releases is known by the quasi-identifiers of each, so that the attacker also knows
    those that have another role in the victims' schema. With `linked`, what they know picks rows also in a release that
    carries it beside the confidential attribute.
    """
    choice("reading", reading, ("label", "residence"))
    choice("prior", prior, ("local", "overall", "uniform"))
    least = whole("d", d, least=2, hint="the paper uses 4")
    if isinstance(releases, Release) or not releases:
        raise ParameterError("releases", "one" if releases else "none", "must be a list", hint="[a, b]")
    if not victims.rows:
        raise ParameterError("victims", "0 rows", "is empty", hint="a row for each person who is in all releases")
    refuse_unspeakable(victims, control)
    each = {}
    for name in _confidential(releases, victims.schema, attribute):
        people, others = victims, control
        if everywhere:
            people = known_in_all(victims, releases, apart=name)
            others = None if control is None else known_in_all(control, releases, apart=name)
        used = [rows_by(one, people.schema) for one in releases] if everywhere and linked else releases
        each[name] = _composition(used, people, name, least, reading, others, prior)
    return worst_of(each, _given_away)


def names_known_in_all(schema: Schema, releases: Sequence[Release], *, apart: str | None = None) -> tuple[str, ...]:
    """Return what is known of people who are in all releases: what each of these is published by.

    In their own schema it may have any role, with a domain. What is sensitive there is not known, unless an attribute
    `apart` is named, which then is the only one that is not.
    """
    theirs = {known.name for release in releases for known in release.quasi}
    secret = {known.name for known in schema.sensitive} if apart is None else {apart}
    return tuple(
        attribute.name
        for attribute in schema.attributes
        if attribute.role == "quasi"
        or (attribute.domain is not None and attribute.name in theirs and attribute.name not in secret)
    )


def known_in_all(people: Table, releases: Sequence[Release], *, apart: str | None = None) -> Table:
    """Return people by what is known of those who are in all releases (`names_known_in_all`)."""
    names = names_known_in_all(people.schema, releases, apart=apart)
    return people if len(names) == len(people.schema.quasi) else people.known_by(names)


def rows_by(release: Release, schema: Schema) -> Release:
    """Return a release of classes by its labels and what it carries of the schema's quasi-identifiers, as labels.

    Rows of one class are told apart by whoever knows what stands in them. In buckets nothing stands beside a row.
    """
    known = [at for at, attribute in enumerate(release.carried) if attribute.name in {a.name for a in schema.quasi}]
    boxes, carried = release.boxes, release.groups.carried
    if not known or release.form == "buckets" or len(boxes) != len(release.groups):
        return release
    box = np.empty(len(boxes), np.int64)
    box[boxes.group] = np.arange(len(boxes))
    rest = [at for at in range(len(carried.attributes)) if at not in known]
    group = row_ids(np.column_stack([carried.group, carried.codes[:, known]]).astype(np.int64))
    first = np.unique(group, return_index=True)[1]
    tables = {
        table.attribute.name: (table, boxes.labels[box[carried.group[first]], at])
        for at, table in enumerate(boxes.tables)
    }
    for at in known:
        codes = carried.codes[first, at]
        tables[carried.attributes[at].name] = Labels.from_hulls(carried.attributes[at], codes, codes + 1)
    quasi = release.schema.with_roles(quasi=list(tables))
    ordered = [tables[attribute.name] for attribute in quasi.quasi]
    made, _ = assemble(
        quasi,
        tables=tuple(table for table, _ in ordered),
        labels=np.column_stack([ids for _, ids in ordered]),
        weight=np.bincount(group, weights=carried.weight).astype(np.int64),
        group=np.arange(len(first)),
        carried_group=group,
        carried_codes=carried.codes[:, rest],
        carried_weight=carried.weight,
        claim=release.claim,
        form=release.form,
        mechanism=release.mechanism,
        notes=release.notes,
    )
    return replace(made, left_out=release.left_out)


def _given_away(found: Composition) -> tuple[float, ...]:
    """What ranks attributes: certainty, then few values left, then how sure the guesses are."""
    return tuple(0.0 if math.isnan(figure) else figure for figure in (found.rate, found.below_d, found.confidence))


def _composition(
    releases: Sequence[Release],
    victims: Table,
    attribute: str,
    least: int,
    reading: Reading,
    control: Table | None,
    prior: PriorBelief,
) -> Composition:
    """Attack one attribute."""
    target = _target(releases, victims, attribute)
    people = _people(target, victims)
    together, alone, which = _attacked(target, releases, people, reading, prior)
    controlled = None
    if control is not None:
        others = _people(target, control)
        found, _, lines = _attacked(target, releases, others, "label", prior)
        controlled = tally(found, lines, others.truth, least, others.weight)
    return Composition(
        tally(together, which, people.truth, least, people.weight),
        alone=tuple(tally(part, which, people.truth, least, people.weight) for part in alone),
        control=controlled,
        baseline=None if people.truth is None else most_frequent(people_by_value(victims, target.attribute.name)),
        records=Records.of(together, which, people.truth, target.attribute),
        d=least,
        attribute=target.attribute.name,
        reading=reading,
        prior=prior,
        whom=whom(victims, all_rows=people.weight is None),
        notes=(
            *_notes(releases),
            *_not_known(releases, target.schema),
            *_out_of_reach(target, least),
            *filter(None, [no_others(victims, control)]),
            *(() if people.weight is None else (SEVERAL_ROWS,)),
        ),
    )


def _notes(releases: Sequence[Release]) -> Iterator[str]:
    for at, release in enumerate(releases, 1):
        if release.form in ("cells", "synthetic"):
            yield (
                f"Release {at} holds drawn counts: a value that is not there is not excluded, and one that is left may "
                "be noise. Compare with the control and with the baseline."
            )
        if release.left_out:
            many = count_of(release.left_out, "row")
            yield f"Release {at} left out {many}: someone among them is in none of its classes."


def _not_known(releases: Sequence[Release], schema: Schema) -> Iterator[str]:
    """Say which labels of the releases narrow nothing here, and would for somebody who knows more."""
    known = {attribute.name for attribute in schema.quasi}
    for at, release in enumerate(releases, 1):
        if others := [attribute.name for attribute in release.quasi if attribute.name not in known]:
            yield (
                f"Release {at} is also published by {', '.join(others)}, which the attacker is not taken to know: "
                "somebody who knows it may be left with fewer values."
            )
        if linked := [attribute.name for attribute in release.carried if attribute.name in known]:
            yield (
                f"Release {at} carries {', '.join(linked)}, which the attacker knows: which values stand beside it "
                "there is not used."
            )


def _out_of_reach(target: _Target, d: int) -> Iterator[str]:
    """Say where everybody is below d because the releases show fewer values than that."""
    values = int(np.count_nonzero(target.overall))
    if values < d:
        has = f"{target.attribute.name} has {count_of(values, 'value')} in these releases"
        yield f"{has}, so nobody can keep {d}, whatever is published. Ask with d = {max(values, 2)} or less."


@dataclass(frozen=True)
class _Target:
    """The releases in the victims' codes."""

    schema: Schema
    attribute: Attribute
    views: tuple[View, ...]
    overall: np.ndarray


@dataclass(frozen=True)
class _People:
    """`weight` adds up to 1 over the rows of each person; it is None if every row is a victim."""

    quasi: np.ndarray
    truth: np.ndarray | None
    weight: np.ndarray | None


def _target(releases: Sequence[Release], victims: Table, wanted: str) -> _Target:
    schema = _with_confidential(releases, victims.schema, wanted)
    if not schema.quasi:
        raise ParameterError("victims", schema.name, "has no quasi-identifier", hint="the attacker must know something")
    views = tuple(align(release, schema, wanted, known=True) for release in releases)
    overall = np.sum([view.overall for view in views], axis=0)
    if not overall.any():
        raise NotComparable("the releases hold no rows.")
    return _Target(schema, schema[wanted], views, overall)


def _confidential(releases: Sequence[Release], schema: Schema, attribute: str | None) -> list[str]:
    """Return the attributes to attack, which every release must carry: the one named, else all that are sensitive."""
    carried = [[known.name for known in release.carried] for release in releases]
    shared = [name for name in carried[0] if all(name in names for names in carried)]
    if attribute is None:
        roles = {known.name for known in schema.sensitive}
        roles |= {known.name for release in releases for known in release.carried if known.role == "sensitive"}
        found = [name for name in shared if name in roles] or shared
        if found:
            return found
    if attribute is None or attribute not in shared:
        said = "; ".join(f"release {at} {', '.join(names) or 'nothing'}" for at, names in enumerate(carried, 1))
        what = "no attribute is" if attribute is None else f"{attribute} is not"
        raise NotComparable(f"{what} carried by all releases, so there is nothing to intersect. Carried: {said}.")
    return [attribute]


def _with_confidential(releases: Sequence[Release], schema: Schema, attribute: str) -> Schema:
    """Return the victims' schema with the attribute under attack."""
    if attribute in [known.name for known in schema.carried]:
        return schema
    theirs = releases[0].schema[attribute]
    if attribute not in schema:
        return replace(schema, attributes=(*schema.attributes, theirs.with_role("sensitive")))
    if schema[attribute].role == "quasi":
        raise NotComparable(f"the victims' {attribute} is a quasi-identifier, the releases carry it.")
    mine = schema[attribute] if schema[attribute].domain is not None else theirs
    attributes = [mine.with_role("sensitive") if known.name == attribute else known for known in schema.attributes]
    return replace(schema, attributes=tuple(attributes))


def _people(target: _Target, table: Table) -> _People:
    """Return codes of the quasi-identifiers, and of the true value where the table has it."""
    names = [known.name for known in target.schema.quasi]
    mine = table.schema
    for known in target.schema.quasi:
        if known.name not in mine or mine[known.name].domain != known.domain:
            raise NotComparable(f"victims and control must have {known.name} in the same codes.")
    own = target.attribute
    truth = None
    if own.name in [known.name for known in mine.carried] and mine[own.name].domain == own.domain:
        truth = table.codes([own.name])[:, 0].astype(np.int64)
    return _People(table.codes(names), truth, person_weights(table))


def _attacked(
    target: _Target, releases: Sequence[Release], people: _People, reading: Reading, prior: PriorBelief
) -> tuple[Narrowed, list[Narrowed], np.ndarray]:
    """Attack each distinct victim once; return also the line of each victim."""
    by_truth = reading == "residence" and people.truth is not None
    columns = [people.quasi] if not by_truth or people.truth is None else [people.quasi, people.truth[:, None]]
    known = np.column_stack(columns).astype(np.int64)
    which = row_ids(known)
    distinct = np.empty((int(which.max()) + 1 if len(which) else 0, known.shape[1]), np.int64)
    distinct[which] = known
    if reading == "label":
        classes = [by_label(view, distinct) for view in target.views]
    else:
        names = tuple(attribute.name for attribute in target.schema.quasi)
        names = (*names, target.attribute.name) if by_truth else names
        classes = [by_home(release, target.schema, names, distinct) for release in releases]
    together, alone = narrow(target.views, classes, target.overall, prior)
    return together, alone, which


# What a composition attack found: shares, and a line for each victim.
#
# Source    the dLink paper, definitions 2 and 3 and section 6 (accuracy of the attack).
# Claim     rate = share of victims with exactly one value left. Below d: at least one and fewer than d left. Exposed:
#           below d, and the true value is one of them. Right: exactly one left, and it is the true one. Guessed: the
#           most likely value is the true one.
# Because   someone who truly is in every release always keeps the true value, where counts are not noisy; where the
#           true value is gone, or nothing is left, the attacker was wrong about the victim and has learnt nothing of
#           them.
# Checked   tests/claims/test_composition_attack.py::test_shares_equal_their_definitions
#           tests/claims/test_composition_attack.py::test_alice_and_emu
#           tests/claims/test_composition_attack.py::test_a_victim_with_several_rows_is_one_victim
# Silent on victims who were given a wrong true value.


SEVERAL_ROWS = (
    "A person with several rows is one victim, and counts as the share of these rows on which the attack succeeds."
)
FORMULA = "share of victims with |intersection over releases of the values in the victim's classes| = 1"


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of victims. Those that need the true value are None where it is not known."""

    one: Share
    _: KW_ONLY
    below_d: Share
    nothing: Share
    unmatched: Share
    confidence: float
    right: Share | None = None
    exposed: Share | None = None
    guessed: Share | None = None

    @property
    def rate(self) -> float:
        """Share with exactly one value left."""
        return self.one.rate

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        return self.one.interval

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        names = ("one", "below_d", "nothing", "unmatched", "right", "exposed", "guessed")
        shares = {name: getattr(self, name) for name in names}
        found: dict[str, Any] = {name: None if share is None else share.to_json() for name, share in shares.items()}
        return {**found, "confidence": None if math.isnan(self.confidence) else self.confidence}


def _share(of: np.ndarray, weight: np.ndarray | None) -> Share:
    """Return the share of victims; of those with several rows, as many as would be met by one row of each at random."""
    if weight is None:
        return Share(int(of.sum()), trials=len(of))
    total, trials = float(np.dot(of.astype(np.float64), weight)), round(float(weight.sum()))
    return Share(round(total) if abs(total - round(total)) < 1e-9 * trials else total, trials=trials)


def tally(found: Narrowed, which: np.ndarray, truth: np.ndarray | None, d: int, weight: np.ndarray | None) -> Tally:
    """Count over all victims; `which` is the line of each in `found`, `weight` what a row of theirs counts."""
    left = found.left[which]
    below = (left >= 1) & (left < d)
    held = None if truth is None else found.held(which, truth)

    def share(of: np.ndarray) -> Share:
        return _share(of, weight)

    return Tally(
        share(left == 1),
        below_d=share(below),
        nothing=share(left == 0),
        unmatched=share(~found.matched[which]),
        confidence=float(np.average(found.posterior[which], weights=weight)) if len(which) else math.nan,
        right=None if held is None else share((left == 1) & held),
        exposed=None if held is None else share(below & held),
        guessed=None if truth is None else share(found.guess[which] == truth),
    )


@dataclass(frozen=True)
class Records:
    """One line for each victim, in their order: confidential."""

    left: np.ndarray
    _: KW_ONLY
    guess: np.ndarray
    posterior: np.ndarray
    truth: np.ndarray | None
    held: np.ndarray | None
    attribute: Attribute
    narrowed: Narrowed = field(repr=False)
    which: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, found: Narrowed, which: np.ndarray, truth: np.ndarray | None, attribute: Attribute) -> Records:
        """Return the lines of all victims."""
        return cls(
            found.left[which],
            guess=found.guess[which],
            posterior=found.posterior[which],
            truth=truth,
            held=None if truth is None else found.held(which, truth),
            attribute=attribute,
            narrowed=found,
            which=which,
        )

    def __repr__(self) -> str:
        return f"Records({len(self)} victims, confidential)"

    def __len__(self) -> int:
        return len(self.left)

    def sets(self) -> np.ndarray:
        """Return for each victim which values are left, packed bit by bit."""
        return np.asarray(self.narrowed.values[self.which])

    def candidates(self, victim: int) -> tuple[str, ...]:
        """Return the values left to one victim."""
        bits = np.unpackbits(self.narrowed.values[self.which[victim]], count=self.attribute.size)
        return tuple(self.attribute.text(int(code)) for code in np.flatnonzero(bits))

    def guesses(self) -> list[str]:
        """Return the best guess for each victim in words."""
        texts = self.attribute.texts()
        return [texts[code] for code in self.guess.tolist()]


@dataclass(frozen=True)
class Composition:
    """All releases together (`tally`), each alone, people who are not in all, and guessing; `gain` compares them.

    Of several sensitive attributes `attribute` is the one given away most; `by_attribute` holds the attack on each.
    """

    tally: Tally
    _: KW_ONLY
    alone: tuple[Tally, ...]
    control: Tally | None
    baseline: Share | None
    records: Records
    d: int
    attribute: str
    reading: str
    prior: str
    whom: Whom
    notes: tuple[str, ...] = ()
    formula: str = FORMULA
    confidential: bool = True
    by_attribute: Mapping[str, Composition] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Composition({self.attribute!r}, {count_of(len(self.alone), 'release')}, confidential)"

    def __str__(self) -> str:
        return self.describe()

    @property
    def rate(self) -> float:
        """Share of victims with exactly one value left."""
        return self.tally.rate

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the rate."""
        return self.tally.interval

    @property
    def below_d(self) -> float:
        """Share of victims with at least one and fewer than d values left."""
        return self.tally.below_d.rate

    @property
    def confidence(self) -> float:
        """Mean over victims of the posterior of the best guess."""
        return self.tally.confidence

    def beside(self, table: Table) -> Composition:
        """Compare with the most frequent value of all people of a table, of whom the victims are one row each."""
        return replace(
            self,
            baseline=None if self.baseline is None else most_frequent(people_by_value(table, self.attribute)),
            by_attribute={name: one.beside(table) for name, one in self.by_attribute.items()},
        )

    @property
    def above_control(self) -> tuple[float, tuple[float, float]] | None:
        """How much more often the one value left is the true one than for the control, with its interval."""
        if self.control is None or self.tally.right is None or self.control.right is None:
            return None
        return difference(self.tally.right, self.control.right)

    @property
    def gain(self) -> Gain:
        """How much more often the best guess is right than for people who are not in all releases."""
        records, guessed = self.records, self.tally.guessed
        if guessed is None or self.baseline is None or records.truth is None:
            raise NotComparable(f"the victims' true {self.attribute} is not known, so that nothing can be judged.")
        success = records.guess == records.truth
        return Gain(
            "composition",
            axis="inference",
            targets=guessed,
            controls=None if self.control is None else self.control.guessed,
            baseline=self.baseline,
            frequent=self.baseline,
            records=Exposure(
                (),
                codes=np.zeros((len(records), 0), np.int64),
                weight=np.ones(len(records), np.int64),
                success=success,
                chance=np.where(success, records.posterior, 0.0),
            ),
            holds=f"knows the quasi-identifiers of {self.whom.many} in {count_of(len(self.alone), 'release')}",
            hit=f"guesses {self.attribute} of {{}} of them",
            miss=f"of {{}} of {self.whom.many} that are not in all",
            whom=self.whom,
            stops="classes that agree (dlink), one release instead of several, or differential privacy",
            attribute=self.attribute,
            notes=self.notes,
            details={
                "one value left": self.tally.one.to_json(),
                f"at least 1 and fewer than {self.d} left": self.tally.below_d.to_json(),
            },
            by_attribute={name: one.gain for name, one in self.by_attribute.items()}
            if len(self.by_attribute) > 1
            else {},
        )

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping without records."""
        return {
            "attack": "composition",
            "rate": None if math.isnan(self.rate) else self.rate,
            "interval": list(self.interval),
            "formula": self.formula,
            "attribute": self.attribute,
            "by_attribute": {name: one.to_json() for name, one in self.by_attribute.items()}
            if len(self.by_attribute) > 1
            else {},
            "d": self.d,
            "reading": self.reading,
            "prior": self.prior,
            "releases": len(self.alone),
            "together": self.tally.to_json(),
            "alone": [part.to_json() for part in self.alone],
            "control": None if self.control is None else self.control.to_json(),
            "baseline": None if self.baseline is None else self.baseline.to_json(),
            "notes": list(self.notes),
            "confidential": self.confidential,
        }

    def describe(self) -> str:
        """Say in plain words what the releases together give away."""
        size = f"{count_of(len(self.alone), 'release')}, {count_of(self.tally.one.trials, 'victim')}"
        few = "1" if self.d == 2 else f"1 to {self.d - 1}"
        lines = [
            f"Composition attack on {self.attribute}: {size}, classes found by {self.reading}.",
            f"Exactly one value left: {self.tally.one}.",
            f"{few} left: {self.tally.below_d}.",
        ]
        if self.tally.nothing.successes:
            lines.append(f"None left, so that they are not in all releases: {self.tally.nothing}.")
        if self.tally.unmatched.successes:
            lines.append(
                f"In no class of any release: {self.tally.unmatched}. Nothing is known of them; what is left to them "
                "is every value in the releases."
            )
        if self.tally.right is not None and self.tally.exposed is not None:
            lines.append(f"One left and it is the true one: {_percent(self.tally.right)} %.")
            lines.append(f"{few} left, the true one among them: {_percent(self.tally.exposed)} %.")
        lines += [
            f"Release {at} alone: one left to {_percent(part.one)} %, {few} to {_percent(part.below_d)} %."
            for at, part in enumerate(self.alone, 1)
        ]
        if self.control is not None:
            lines.append(
                f"{self.whom.many.capitalize()} that are not in all releases, one value left: {self.control.one}."
            )
            if self.control.right is not None:
                lines.append(f"For them it is the true one: {_percent(self.control.right)} %.")
        lines.append(f"Mean confidence of the best guess: {100 * self.confidence:.2f} %.")
        if self.tally.guessed is not None and self.baseline is not None:
            lines.append(f"Best guess right: {self.tally.guessed}; guessing the most frequent value: {self.baseline}.")
            if self.tally.guessed.rate <= self.baseline.rate:
                lines.append("The attack guesses no better than someone who has seen no class.")
        if len(self.by_attribute) > 1:
            lines.append(f"{self.attribute} is given away most of {count_of(len(self.by_attribute), 'attribute')}:")
            lines += [
                f"  {name}: one left to {_percent(one.tally.one)} %, {few} to {_percent(one.tally.below_d)} %."
                for name, one in self.by_attribute.items()
            ]
        lines.append("Confidential: computed from the original. One value left is certainty only for true members.")
        return "\n".join(map(visible, [*lines, *self.notes]))


def _percent(share: Share) -> str:
    return f"{100 * share.rate:.2f}"
