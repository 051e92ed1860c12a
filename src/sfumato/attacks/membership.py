"""Membership: was this person's row in the table?

Source    Homer et al., PLoS Genetics 2008; advantage as the gap of two rates: Yeom et al., CSF 2018; thresholds chosen
          on other people than those counted: Jagielski, Ullman & Oprea, NeurIPS 2020.
Claim     The attacker knows the person's whole published row. Where the law of the counts is known (each cell has noise
          of its own), they also know every other row and use the likelihood ratio: the best test there is. Each cell is
          one trial, about one row; cells of the table are counted that stand beside a cell of the control with as many
          other rows, or up to a tenth more. Where there is none, or the law is not known, the score is est(s | y), or
          that beside what independent columns would give, whichever found members better among the people not counted.
          Gain = hits - false alarms; under epsilon-differential privacy at most (e^epsilon - 1) / (e^epsilon + 1).
Because   the discrete Laplace ratio is e^epsilon at or above the count with the person, e^-epsilon below. The bound is
          the largest gap of two probabilities whose ratios stay within e^epsilon both for an event and for its
          complement. It is about one person who is added or removed. Controls replace targets instead, and for one
          pair the gap may reach tanh(epsilon); on average over who is replaced by whom it may not: given the rest T,
          let P_x be the law of the release of T and x, P_0 that of T. The gap is m / (m - 1) times the mean of
          P_x(A_x) - Q(A_x), Q the mean of the P_x over the m people left. At each outcome P_x / P_0 lies within
          [e^-epsilon, e^epsilon] and has mean r = Q / P_0; its mean deviation is largest with all weight at the two
          ends, which is concave in r, and r is 1 on average: tanh(epsilon / 2) again. m is the controls and one; a
          delta adds 2 delta at most. That needs people of whom chance decides who is in: people, not rows, are drawn.
          So by a score a claim is audited that is about people, on trials that are people, and both sentences say so.
          Cells need no such chance: with k other rows, hits h(k) and alarms a(k) have h(k) <= e^epsilon a(k) and
          1 - a(k) <= e^epsilon (1 - h(k)), and noise beside a threshold reports no cell less often for holding more
          rows: a(k) <= a(k') where k <= k'. Sums over pairs with k <= k' keep both, whoever the controls are.
          "epsilon at least" turns the two rates into a lower bound beside the claimed one (95 %); broken is said where
          the claim would show this much once in 100,000 times. Threshold and score are chosen on one half of the people
          and counted on the other.
Checked   tests/claims/test_membership_attack.py::test_the_known_law_reaches_the_bound
          tests/claims/test_membership_attack.py::test_a_mutant_that_overspends_is_seen
          tests/claims/test_membership_attack.py::test_the_bound_holds_where_people_are_replaced
          tests/claims/test_membership_attack.py::test_a_kept_claim_is_not_accused
          tests/claims/test_membership_attack.py::test_cells_are_compared_with_no_fewer_other_rows
          tests/claims/test_membership_attack.py::test_synthetic_rows_that_overspend_are_seen
          tests/claims/test_membership_attack.py::test_planted_tables
          tests/claims/test_membership_attack.py::test_scores_equal_the_definition
Silent on better attackers where the law is not known (see `shadow`); cells of one release share their cuts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from sfumato.attacks.base import CELLS, FITS, PEOPLE, Exposure, Fit, Gain, Harm, joined_words, percent
from sfumato.attacks.case import MOST, Case, Victims, run, share_of
from sfumato.counts import Cuts, Table
from sfumato.counts.recoding import row_ids
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, count_of
from sfumato.estimate import View, align, by_labels
from sfumato.measures.base import json_number
from sfumato.measures.privacy import membership_bound
from sfumato.measures.proportions import LEVEL, Share, clopper_pearson
from sfumato.randomness import Entropy
from sfumato.release import Release

_SURE = 0.99999  # of two intervals: a kept claim is called broken once in 100,000 times at most
STOPS = "differential privacy, or a release of a random part of the table that does not say which"


def advantage_bound(epsilon: float) -> float:
    """Return the largest gap of hits and false alarms that pure differential privacy allows.

    >>> round(advantage_bound(1), 3)
    0.462
    """
    return math.tanh(float(epsilon) / 2)


@declare
class Membership:
    """Tell members from others by what the release says about their rows.

    >>> import sfumato as sf
    >>> table = sf.datasets.adult().with_roles(quasi=["age", "sex"], sensitive="occupation")
    >>> made_of, control = sf.holdout(table, seed=1)
    >>> release = sf.publish(made_of, sf.Mondrian(sf.KAnonymity(100)))
    >>> gain = sf.attacks.Membership().run([release], sf.attacks.Knowledge(), made_of, control)
    >>> gain.axis, gain.value < 0.1
    ('membership', True)
    """

    name: ClassVar[str] = "membership"
    axis: ClassVar[Harm] = "membership"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Every release says something of who may be in it."""
        return FITS if release.quasi or release.carried else Fit("it publishes no column")

    def attempt(self, case: Case) -> Gain:
        """Say of targets and controls whether they are in; the table of the targets is that of the release."""
        release, known, targets = case.release, case.known, case.targets
        carried = _carried(release, targets)
        case.same_codes((*known, *carried))
        if release.form == "cells" and isinstance(release.recoding, Cuts) and _same_columns(release, targets, carried):
            found = _by_law(release, targets, case.controls)
            if found is not None:
                return found
        view = joint_view(release, targets.schema.with_roles(quasi=known, sensitive=carried), carried)
        people = [part for part in case.people(self.name, carried, most=self.most) if part is not None]
        scores = [view.scores(part) for part in people]
        return _by_score(release, people, scores, case.entropy(self.name).child("halves"))


def _carried(release: Release, targets: Table) -> tuple[str, ...]:
    mine = {attribute.name for attribute in targets.schema.carried}
    return tuple(attribute.name for attribute in release.carried if attribute.name in mine)


def _same_columns(release: Release, targets: Table, carried: tuple[str, ...]) -> bool:
    """Whether the release and the table write all published columns in the same codes."""
    schema = targets.schema
    return len(carried) == len(release.carried) and all(
        own.name in schema and schema[own.name].role not in ("identifier", "other") and own.same_codes(schema[own.name])
        for own in (*release.quasi, *release.carried)
    )


# -- a score ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Joint:
    """A view of a release with a histogram over combinations of all carried values."""

    view: View
    _: KW_ONLY
    combinations: np.ndarray

    def scores(self, people: Victims) -> np.ndarray:
        """Return two scores a person: rows expected at their point, and those beside what independence gives."""
        view, width = self.view, self.combinations.shape[1]
        places = by_labels(view, people.quasi)
        keys = row_ids(np.concatenate([people.codes[:, people.known :], self.combinations]))
        mine, theirs = keys[: len(people.codes)], keys[len(people.codes) :]
        column_of = np.full(int(keys.max(initial=-1)) + 1, -1)
        column_of[theirs] = np.arange(len(theirs))
        column = column_of[mine] if width else np.zeros(len(people.codes), np.int64)
        found = np.zeros(len(column))
        some = np.flatnonzero(column >= 0)
        expected = (places[some] @ view.histogram).tocsr()
        found[some] = np.asarray(expected[np.arange(len(some)), column[some]]).reshape(-1)
        usual = np.log(np.maximum(np.asarray(view.histogram.sum(axis=0)).reshape(-1)[column], 1))
        for at, table in enumerate(view.tables):
            usual = usual + np.log(np.maximum(_marginal(view, at, table.attribute.size)[people.quasi[:, at]], 1e-9))
        lifted = np.where(found > 0, np.log(np.maximum(found, 1e-300)) - usual, -np.inf)
        return np.column_stack([found, lifted])


def joint_view(release: Release, schema: Any, carried: Sequence[str]) -> _Joint:
    """Return the release in the schema's codes with the joint counts of what is carried."""
    from scipy.sparse import csr_matrix

    if not carried:
        raise NotComparable("the release carries no attribute of the table.")
    view = align(release, schema, carried[0])
    own = [attribute.name for attribute in release.carried]
    places = [own.index(name) for name in carried]
    columns = []
    for name, at in zip(carried, places, strict=True):
        mine, theirs = schema[name], release.carried[at]
        codes = release.groups.carried.codes[:, at].astype(np.int64)
        if not mine.same_codes(theirs):
            texts = {text: code for code, text in enumerate(mine.texts())}
            lookup = np.array([texts.get(theirs.text(code), -1) for code in range(theirs.size)])
            codes = lookup[codes]
        columns.append(codes)
    rows = np.column_stack(columns)
    combinations, column = np.unique(rows, axis=0, return_inverse=True)
    entries = (release.groups.carried.weight, (release.groups.carried.group, column.reshape(-1)))
    histogram = csr_matrix(entries, shape=(len(release.groups), max(1, len(combinations))), dtype=np.int64)
    return _Joint(replace(view, histogram=histogram), combinations=combinations)


def _marginal(view: View, at: int, size: int) -> np.ndarray:
    """Rows expected at each code of one quasi-identifier."""
    table = view.tables[at]
    per_label = np.bincount(view.labels[:, at], weights=view.weight, minlength=len(table)) / table.size
    steps = np.zeros(size + 1)
    owner = np.repeat(np.arange(len(table)), np.diff(table.offsets))
    np.add.at(steps, table.starts, per_label[owner])
    np.add.at(steps, table.ends, -per_label[owner])
    return np.cumsum(steps)[:size]


def _by_score(release: Release, people: list[Victims], scores: list[np.ndarray], entropy: Entropy) -> Gain:
    """Choose score and threshold on one half of the people, count on the other."""
    inside = people[0]
    if len(people) == 1:
        success = scores[0][:, 0] > 0
        return _gain(inside, success, None, _chance(scores[0][:, 0]), details={"score": "a box holds the row"})
    halves = [_half(part, entropy.child(str(at))) for at, part in enumerate(people)]
    best, which, threshold = -1.0, 0, 0.0
    for score in range(scores[0].shape[1]):
        tried = _curve(scores, score, [part[0] for part in halves])
        at = tried.best()
        gap = _rate(scores[0][:, score] >= at, halves[0][0]) - _rate(scores[1][:, score] >= at, halves[1][0])
        if gap > best:
            best, which, threshold = gap, score, at
    says = [part[:, which] >= threshold for part in scores]
    counted = [part[1] for part in halves]
    alarms = share_of(says[1], counted[1])
    whole = _curve(scores, which, [part.weight for part in people])
    about_people = inside.whom is PEOPLE and release.claim.unit == "person"
    details: dict[str, Any] = {
        "score": ("rows expected at the point", "beside independent columns")[which],
        **whole.figures(),
        **(stated_bound(release) if about_people else {}),
    }
    return _gain(
        replace(inside, weight=counted[0]),
        says[0],
        alarms,
        _believed(says[0], share_of(says[0], counted[0]), alarms),
        details=details,
        notes=(whole.sentence(),),
    )


def _half(people: Victims, entropy: Entropy) -> tuple[np.ndarray, np.ndarray]:
    """Give each person to one of two halves: how many of each kind are in the first, and in the second."""
    generator = np.random.Generator(np.random.PCG64(entropy.below(2**63)))
    first = generator.binomial(people.weight, 0.5)
    return first, people.weight - first


def _curve(scores: list[np.ndarray], which: int, weights: list[np.ndarray]) -> Any:
    return curve_of(scores[0][:, which], scores[1][:, which], member_weight=weights[0], other_weight=weights[1])


def _rate(success: np.ndarray, weight: np.ndarray) -> float:
    return float(np.dot(success, weight) / max(1, weight.sum()))


def _believed(says: np.ndarray, hits: Share, alarms: Share) -> np.ndarray:
    """Return the probability of membership after an answer, from 1/2: the share of members among those who got it."""
    yes, no = hits.rate + alarms.rate, 2 - hits.rate - alarms.rate
    return np.where(says, hits.rate / yes if yes > 0 else 0.5, (1 - hits.rate) / no if no > 0 else 0.5)


def _chance(expected: np.ndarray) -> np.ndarray:
    """How sure the release is that a row is at the person's point: certain from one expected row on."""
    return np.asarray(np.minimum(1.0, expected))


# -- the law ---------------------------------------------------------------------------------------------------------


def _by_law(release: Release, targets: Table, controls: Table | None) -> Gain | None:
    """Compare each noisy count with the true count of everybody else: in where it is larger.

    None where no cell of a control has as many other rows as a cell of the table.
    """
    names = tuple(attribute.name for attribute in (*release.quasi, *release.carried))
    cells, counts = _cells(release, targets, names)
    above = _reported(release, cells) - counts + 1  # rows above those of everybody else
    found: Share | None = None
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = {
        "score": "likelihood ratio, all other rows known",
        "trials": "cells",
        **stated_bound(release),
    }
    if controls is not None:
        outside, _ = _cells(release, controls, names)
        keys = row_ids(np.concatenate([outside, cells]))
        held = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
        held[keys[len(outside) :]] = counts
        others = held[keys[: len(outside)]]
        mine, theirs = _matched(counts - 1, others)
        if not len(mine):
            return None
        notes = _compared(len(mine), len(cells))
        beyond = _reported(release, outside[theirs]) - others[theirs]
        cells, above = cells[mine], above[mine]
        found = share_of(beyond > 0, np.ones(len(beyond), np.int64))
        scores = [part.astype(np.float64)[:, None] for part in (above, beyond)]
        curve = _curve(scores, 0, [np.ones(len(part)) for part in scores])
        details, notes = {**details, **curve.figures()}, (*notes, curve.sentence())
    inside = Victims(names, codes=cells, weight=np.ones(len(cells), np.int64), known=len(release.quasi), whom=CELLS)
    spent = sum((epsilon for stage, epsilon in release.claim.trace if stage == "counts"), Fraction())
    rate = float(spent / targets.schema.rows_per_person)  # of one row
    sure = 1 / (1 + math.exp(-min(rate, 700.0)))  # what the ratio makes of even odds
    success = above > 0
    return _gain(inside, success, found, np.where(success, sure, 1 - sure), details=details, notes=notes)


def _matched(own: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair numbers with others that are as large, or up to a tenth larger; each is used once, the closest first.

    >>> [part.tolist() for part in _matched(np.array([0, 30, 4, 4]), np.array([5, 33, 4, 0, 0]))]
    [[1, 2, 0], [1, 2, 3]]
    """
    mine: list[int] = []
    theirs: list[int] = []
    waiting: list[int] = []  # others as large as this number or larger, the smallest last
    left = np.argsort(others, kind="stable").tolist()
    for at in np.argsort(-own, kind="stable").tolist():
        while left and others[left[-1]] >= own[at]:
            waiting.append(left.pop())
        if waiting and others[waiting[-1]] <= own[at] + own[at] // 10:
            mine.append(at)
            theirs.append(waiting.pop())
    return np.array(mine, np.int64), np.array(theirs, np.int64)


def _compared(many: int, cells: int) -> tuple[str, ...]:
    """Say that some cells are not counted."""
    if many == cells:
        return ()
    held = f"{many:,} of {count_of(cells, 'cell')} with rows of the table"
    return (f"Compared are {held}: those for which there is a cell of the control with about as many other rows.",)


def _cells(release: Release, table: Table, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that hold rows of a table (label ids, then carried codes) and how many they hold."""
    counts = table.counts(names)
    width = len(release.quasi)
    labels = np.asarray(release.recoding.route(counts.codes[:, :width]))
    rows = np.column_stack([labels, counts.codes[:, width:]]).astype(np.int64)
    which = row_ids(rows)
    cells = np.empty((int(which.max(initial=-1)) + 1, rows.shape[1]), np.int64)
    cells[which] = rows
    return cells, np.bincount(which, weights=counts.weights, minlength=len(cells)).astype(np.int64)


def _reported(release: Release, cells: np.ndarray) -> np.ndarray:
    """Return the published count of each cell, 0 where none is."""
    carried, boxes = release.groups.carried, release.boxes
    box = np.zeros(len(release.groups), np.int64)
    box[boxes.group] = np.arange(len(boxes))
    rows = np.column_stack([boxes.labels[box[carried.group]], carried.codes]).astype(np.int64)
    keys = row_ids(np.concatenate([cells, rows]))
    found = np.zeros(int(keys.max(initial=-1)) + 1, np.int64)
    found[keys[len(cells) :]] = carried.weight
    return np.asarray(found[keys[: len(cells)]])


def stated_bound(release: Release) -> dict[str, Any]:
    """What the claim allows, and the epsilon and delta it states; nothing for any other kind of claim."""
    bound = membership_bound(release.claim)
    if bound >= 1:
        return {}
    promise: Any = release.claim.promise
    stated = {"epsilon claimed": float(promise.epsilon), "delta claimed": float(getattr(promise, "delta", 0))}
    return {"bound": bound, **stated}


def epsilon_seen(targets: Share, controls: Share, delta: float = 0.0, *, level: float = LEVEL) -> float:
    """Return the epsilon below which, with this confidence, no promise can be true (Clopper & Pearson, both ways)."""
    if not targets.trials or not controls.trials:
        return 0.0
    hits = clopper_pearson(round(targets.successes), targets.trials, level)
    alarms = clopper_pearson(round(controls.successes), controls.trials, level)
    ratios = [(hits[0] - delta, alarms[1]), (1 - alarms[1] - delta, 1 - hits[0])]
    return max([0.0, *(math.log(one / other) for one, other in ratios if one > 0 and other > 0)])


def _gain(
    people: Victims,
    success: np.ndarray,
    controls: Share | None,
    chance: np.ndarray,
    *,
    details: dict[str, Any],
    notes: tuple[str, ...] = (),
) -> Gain:
    targets = share_of(success, people.weight)
    pooled = targets.successes + (0 if controls is None else controls.successes)
    trials = targets.trials + (0 if controls is None else controls.trials)
    rate = pooled / trials if controls is not None and trials else 1 / 2
    in_cells, compared = people.whom is CELLS, "" if controls is None else "compared "
    row = "a person's whole row" if people.whom is PEOPLE else "a whole row"
    gain = Gain(
        Membership.name,
        axis="membership",
        targets=targets,
        controls=controls,
        baseline=Share(rate * targets.trials, trials=targets.trials),
        records=Exposure(people.names, codes=people.codes, weight=people.weight, success=success, chance=chance),
        holds=f"knows {row} and every other row" if in_cells else f"knows {row}",
        hit=f"says of {{}} of the {compared}cells with rows of the table that the row is in it"
        if in_cells
        else f"takes {{}} of the {people.whom.many} in the table for members",
        miss=f"{'of ' if in_cells else ''}{{}} of {people.whom.others}",
        stops=STOPS,
        whom=people.whom,
        notes=tuple(filter(None, notes)),
        details=details,
    )
    return gain if controls is None or "bound" not in details else audited(gain)


def audited(gain: Gain) -> Gain:
    """Put the epsilon that the rates show beside the one that is claimed, and say where the claim is broken.

    People are trials of the claim only where chance decided who of them is in: the sentences say so.
    """
    if gain.controls is None:
        return gain
    claimed, bound, delta = (gain.details[name] for name in ("epsilon claimed", "bound", "delta claimed"))
    seen = epsilon_seen(gain.targets, gain.controls, delta)
    given = "if chance decided who is in the table and who in the control, " if gain.whom is PEOPLE else ""
    notes = [f"Audit: {given}this attack shows an epsilon of at least {seen:.3g} (95 %); {claimed:.3g} is claimed."]
    if gain.interval[0] > bound and epsilon_seen(gain.targets, gain.controls, delta, level=_SURE) > claimed:
        most = f"{bound:.3g}, the most that the release's epsilon allows"
        notes.append(f"The gain is above {most}: {given}its claim is broken.")
    return replace(gain, notes=(*gain.notes, *notes), details={**gain.details, "epsilon at least": seen})


# How well a score tells members from others: area under the curve, and hits at few false alarms.
#
# Source    Fawcett, Pattern Recognition Letters 27, 2006; low false positive rates: Carlini et al., S&P 2022.
# Claim     `auc` = P(member's score > other's) + P(equal) / 2. `hits_at(f)` is the largest share of members at or
#           above a threshold that at most a share f of the others reach; it is not reported of fewer than 1 / f
#           others.
# Because   both are sums over the sorted distinct scores with their weights.
# Checked   tests/unit/attacks/test_roc.py::test_equals_the_definition_over_pairs
# Silent on thresholds chosen on the same people: at f = 1/1000 at least a few thousand others are needed.


FALSE_ALARMS = (1e-2, 1e-3)


@dataclass(frozen=True)
class Curve:
    """Members and others at or above each distinct score, highest first."""

    scores: np.ndarray
    _: KW_ONLY
    members: np.ndarray
    others: np.ndarray

    @property
    def auc(self) -> float:
        """Area under the curve; 1/2 says nothing."""
        members, others = self.members[-1], self.others[-1]
        if not members or not others:
            return float("nan")
        y, x = np.concatenate([[0], self.members]) / members, np.concatenate([[0], self.others]) / others
        return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))

    def hits_at(self, false_alarms: float) -> float:
        """Return the share of members found at no more than this share of false alarms."""
        if not self.others[-1]:
            return float("nan")
        allowed = self.others <= false_alarms * self.others[-1]
        return float(self.members[allowed].max(initial=0) / max(1, self.members[-1]))

    def _few(self) -> dict[float, float]:
        """Hits at each small share of false alarms that this number of others can show."""
        return {rate: self.hits_at(rate) for rate in FALSE_ALARMS if self.others[-1] * rate >= 1}

    def figures(self) -> dict[str, float | str | None]:
        """Return the area and the hits at few false alarms by name; nothing where there are too few others."""
        few = self._few()
        return {
            "auc": json_number(self.auc),
            **{f"hits at {rate:g} false alarms": few.get(rate) for rate in FALSE_ALARMS},
        }

    def sentence(self) -> str:
        """Say how many members are found at few false alarms; nothing of too few others."""
        shares = [
            f"{percent(hits)} of them at 1 false alarm in {round(1 / rate):,}" for rate, hits in self._few().items()
        ]
        return f"It tells {joined_words(shares)} (area under the curve {self.auc:.3f})." if shares else ""

    def best(self) -> float:
        """Return the threshold from which on hits exceed false alarms most, the highest of equals."""
        gap = self.members / max(1, self.members[-1]) - self.others / max(1, self.others[-1])
        return float(self.scores[int(np.argmax(gap))])


def curve_of(members: np.ndarray, others: np.ndarray, *, member_weight: np.ndarray, other_weight: np.ndarray) -> Curve:
    """Return the curve of a score."""
    scores, places = np.unique(np.concatenate([members, others]), return_inverse=True)
    places = places.reshape(-1)
    inside = np.bincount(places[: len(members)], weights=member_weight, minlength=len(scores))
    outside = np.bincount(places[len(members) :], weights=other_weight, minlength=len(scores))
    return Curve(scores[::-1], members=np.cumsum(inside[::-1]), others=np.cumsum(outside[::-1]))
