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

The attacker knows the quasi-identifiers of the victims and that they are in every release. `reading="label"` looks for
classes whose labels hold the victim, as an outsider must; `reading="residence"` takes the class in which the row truly
landed (definition 2), which only the publisher knows. One attack uses one reading for all releases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sfumato.attacks.base import FITS, Fit, Gain, Harm
from sfumato.attacks.case import Case, one_row_each, run, whom
from sfumato.attacks.composing.narrowing import Narrowed, PriorBelief, by_home, by_label, narrow
from sfumato.attacks.composing.outcome import Composition, Records, tally
from sfumato.counts import Table
from sfumato.counts.recoding import row_ids
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, ParameterError, count_of
from sfumato.estimate import View, align
from sfumato.exact import choice, whole
from sfumato.measures.base import worst_of
from sfumato.measures.proportions import Share
from sfumato.release import Release
from sfumato.schema import Attribute, Schema

__all__ = ["Intersection", "Reading", "composition"]

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
            rows = one_row_each(table, entropy, most=table.rows)
            some = table if rows is None else table.take(rows)
            return some if names is None else some.with_roles(quasi=names)

        others = None if case.controls is None else people(case.controls)
        return composition(
            case.releases,
            people(case.targets),
            d=self.d,
            control=others,
            attribute=case.knowledge.attribute,
            prior=self.prior,
        ).gain


def composition(
    releases: Sequence[Release],
    victims: Table,
    *,
    d: int = 4,
    reading: Reading = "label",
    control: Table | None = None,
    attribute: str | None = None,
    prior: PriorBelief = "local",
) -> Composition:
    """Attack any number of releases at once; return shares with a record for each victim.

    `victims` holds the quasi-identifiers the attacker knows and, where the attack is to be judged, the true values.
    `control` holds people who are in one of the releases only (or in none); they are always looked for by label, since
    they reside nowhere else. `attribute` is the confidential one; unless it is named, every sensitive attribute that
    all releases carry is attacked and the result is that of the worst, with each in `by_attribute`.
    `prior` says what a class is compared with to tell how likely each value is (see `composition_narrowing`).
    """
    choice("reading", reading, ("label", "residence"))
    choice("prior", prior, ("local", "overall", "uniform"))
    least = whole("d", d, least=2, hint="the paper uses 4")
    if isinstance(releases, Release) or not releases:
        raise ParameterError("releases", "one" if releases else "none", "must be a list", hint="[a, b]")
    each = {
        name: _composition(releases, victims, name, least, reading, control, prior)
        for name in _confidential(releases, victims.schema, attribute)
    }
    return worst_of(each, _given_away)


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
        controlled = tally(found, lines, others.truth, least)
    return Composition(
        tally(together, which, people.truth, least),
        alone=tuple(tally(part, which, people.truth, least) for part in alone),
        control=controlled,
        baseline=_baseline(target, people),
        records=Records.of(together, which, people.truth, target.attribute),
        d=least,
        attribute=target.attribute.name,
        reading=reading,
        prior=prior,
        whom=whom(victims, all_rows=True),
        notes=tuple(_notes(releases)),
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


@dataclass(frozen=True)
class _Target:
    """The releases in the victims' codes."""

    schema: Schema
    attribute: Attribute
    views: tuple[View, ...]
    overall: np.ndarray


@dataclass(frozen=True)
class _People:
    quasi: np.ndarray
    truth: np.ndarray | None


def _target(releases: Sequence[Release], victims: Table, wanted: str) -> _Target:
    schema = _with_confidential(releases, victims.schema, wanted)
    if not schema.quasi:
        raise ParameterError("victims", schema.name, "has no quasi-identifier", hint="the attacker must know something")
    views = tuple(align(release, schema, wanted) for release in releases)
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
    return _People(table.codes(names), truth)


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


def _baseline(target: _Target, people: _People) -> Share | None:
    """Return how often the most frequent published value is the true one."""
    if people.truth is None:
        return None
    most = int(target.overall.argmax())
    return Share(int((people.truth == most).sum()), trials=len(people.truth))
