"""Attribute inference: read the release as its readers do, and guess the sensitive value of a person. Variants below.

Source    Machanavajjhala et al., l-diversity, TKDD 2007 (homogeneity and background knowledge); Li, Li &
          Venkatasubramanian, ICDE 2007 (skewness and similarity); the reading is est(s | y) of estimate/.
Claim     For each person the guess is the value of largest est(s | y) at what is known of them, of equals the more
          frequent; a person no box holds is read off the nearest boxes. With `ruled_out` = j the attacker knows of the
          j likeliest wrong values that they are wrong. With `similar` = m a guess below the same node, m steps up the
          sensitive hierarchy, counts as right. With `risen` the guess is the value whose share in the class is furthest
          above its share in the whole release. Each of the three has a name as well: `skewness`, `similarity`,
          `ruled-out`. The baseline is the value of most people of the table; of `risen` their share of each guessed
          value. Drawn rows (cells, synthetic) leave nobody one value for certain.
Because   est(s | y) holds what a release of any form says of a point; the controls are guessed by the same rule. The
          value most frequent in noise need not be so in the table, and what is not in drawn rows is not ruled out.
Checked   tests/claims/test_inference_attack.py::test_equals_the_slow_attack
          tests/claims/test_inference_attack.py::test_planted_tables
          tests/claims/test_inference_attack.py::test_the_baseline_is_that_of_the_people_attacked
          tests/claims/test_inference_attack.py::test_drawn_rows_leave_nobody_one_value
          tests/claims/test_inference_attack.py::test_wrong_mutants_are_caught
Silent on what a learner finds across classes (`learner`), and on which values are worth hiding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sfumato.attacks.base import FITS, Fit, Gain, Harm, joined_words, percent
from sfumato.attacks.case import (
    MOST,
    Case,
    Victims,
    most_frequent,
    people_by_value,
    run,
    share_of,
    worst_attribute,
)
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, count_of
from sfumato.estimate import align, inferred, row_features
from sfumato.measures.classification import training_lines
from sfumato.measures.learners import ModelName, fit
from sfumato.measures.proportions import Share
from sfumato.release import Release
from sfumato.release.manifest import COUNTED_FORMS
from sfumato.schema import Attribute, Schema

STOPS = "fewer or coarser quasi-identifiers, t-closeness for this attribute, or differential privacy"
_TIE = 1e-9
_ENTRIES = 8_000_000  # of a people x values matrix held at a time


def carries(release: Release) -> Fit:
    """Say whether a release carries anything to guess."""
    return FITS if release.carried else Fit("it carries no sensitive or target attribute")


@dataclass(frozen=True, slots=True)
class Needed:
    """What an attribute must have to be attacked, and what is said of one without it."""

    found: Callable[[Attribute], bool]
    _: KW_ONLY
    lacks: str


_LEVELS = Needed(lambda attribute: int(attribute.nodes.depth.max()) > 1, lacks="no levels above its values")


@declare
class Inference:
    """Guess the sensitive value by the reading of the release.

    >>> import sfumato as sf
    >>> table = sf.datasets.adult().with_roles(quasi=["age", "sex"], sensitive="occupation")
    >>> made_of, control = sf.holdout(table, seed=1)
    >>> release = sf.publish(made_of, sf.Mondrian(sf.KAnonymity(100)))
    >>> gain = sf.attacks.Inference().run([release], sf.attacks.Knowledge(), made_of, control)
    >>> gain.attribute, gain.value < 0.05
    ('occupation', True)
    """

    name: ClassVar[str] = "inference"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    ruled_out: Whole = parameter("Wrong values that the attacker rules out.", default=0, least=0, grid=(0, 1, 2))
    similar: Whole = parameter(
        "Steps up the sensitive hierarchy at which a guess still counts.", default=0, least=0, unit="steps"
    )
    risen: bool = parameter("Guess the value that is furthest above its usual share.", default=False)
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything that carries an attribute can be read."""
        return carries(release)

    def attempt(self, case: Case) -> Gain:
        """Guess the values of targets and controls; of several sensitive attributes the worst is shown."""
        return self.attempt_on(case, _LEVELS if self.similar else None)

    def attempt_on(self, case: Case, needed: Needed | None) -> Gain:
        """Guess the values of those sensitive attributes that have what is needed."""

        def guesser(release: Release, schema: Schema, name: str) -> Guesser:
            view = align(release, schema, name)
            groups = _alike(view.attribute, self.similar)

            def guess(part: Victims) -> Guesses:
                return guessed(
                    part,
                    *inferred(view, part.quasi),
                    overall=view.overall,
                    groups=groups,
                    ruled_out=self.ruled_out,
                    risen=self.risen,
                )

            return Guesser(
                lambda people: in_parts(people, view.values, guess),
                values=view.values,
                groups=groups,
                said={
                    "ruled_out": self.ruled_out,
                    "risen": self.risen,
                    "left": self._left(),
                    "guesses": self._guesses(),
                },
            )

        return guess_secrets(self.name, guesser, case, most=self.most, needed=needed)

    def _guesses(self) -> str:
        """What is done, with a place for the attribute."""
        if self.risen:
            return "guesses, by what stands out in each class, the {}"
        if self.similar:
            return f"guesses {{}}, to within {count_of(self.similar, 'step')} of its hierarchy,"
        return "guesses {}"

    def _left(self) -> str:
        """What is left of a person of whose value the attacker is certain and right."""
        beside = " beside what is ruled out" if self.ruled_out else ""
        if self.similar:
            alike = f"values within {count_of(self.similar, 'step')} of each other"
            return f"the release leaves{beside} only {alike}, and the true one is among them"
        return f"the release leaves one value{beside}, and it is the true one"


@dataclass(frozen=True)
class Guesses:
    """What was guessed of each kind of person, and how likely the attacker held the truth to be.

    `guess` numbers the guessed values, or groups of values that are alike.
    """

    people: Victims
    _: KW_ONLY
    success: np.ndarray
    chance: np.ndarray
    certain: np.ndarray
    guess: np.ndarray | None = None

    @property
    def share(self) -> Share:
        """How many are guessed correctly."""
        return share_of(self.success, self.people.weight)


def guessed(
    people: Victims,
    beliefs: np.ndarray,
    held: np.ndarray | None = None,
    *,
    overall: np.ndarray,
    groups: np.ndarray | None = None,
    ruled_out: int = 0,
    risen: bool = False,
) -> Guesses:
    """Guess the likeliest value of each person, or the most risen; of equals the more frequent, then the first."""
    groups = np.arange(len(overall)) if groups is None else groups
    beliefs, frequent = _by_group(beliefs, groups), _by_group(overall[None, :].astype(np.float64), groups)[0]
    truth = groups[people.secret]
    lines = np.arange(len(truth))
    beliefs = _without(beliefs, truth, ruled_out)
    order = np.argsort(-frequent, kind="stable")
    share = frequent / max(1.0, frequent.sum())
    ranked = (beliefs - share if risen else beliefs)[:, order]
    top = ranked.max(axis=1, initial=0.0)
    guess = order[(ranked >= (top * (1 - _TIE))[:, None]).argmax(axis=1)]
    chance = beliefs[lines, truth]
    certain = (chance > 1 - _TIE) & (True if held is None else held)
    return Guesses(people, success=guess == truth, chance=chance, certain=certain, guess=guess)


def in_parts(people: Victims, values: int, attack: Callable[[Victims], Guesses]) -> Guesses:
    """Attack some people at a time, so that a belief in each of many values fits into memory."""
    step = max(1, _ENTRIES // max(1, values))
    found = [
        attack(replace(people, codes=people.codes[start : start + step], weight=people.weight[start : start + step]))
        for start in range(0, max(1, len(people.weight)), step)
    ]
    return Guesses(
        people,
        success=np.concatenate([part.success for part in found]),
        chance=np.concatenate([part.chance for part in found]),
        certain=np.concatenate([part.certain for part in found]),
        guess=np.concatenate([part.guess for part in found if part.guess is not None]),
    )


@dataclass(frozen=True, slots=True)
class Guesser:
    """How an attack guesses one attribute of people, and what `inference_gain` is to say of it."""

    guess: Callable[[Victims], Guesses]
    _: KW_ONLY
    values: int
    groups: np.ndarray
    said: Mapping[str, Any]


def guess_secrets(
    attack: str,
    guesser: Callable[[Release, Schema, str], Guesser],
    case: Case,
    *,
    most: int = MOST,
    needed: Needed | None = None,
) -> Gain:
    """Guess each sensitive attribute of targets and controls by the same rule; the one given away most comes first.

    Those that have not what is needed are not attacked, which a note says.
    """
    known, secrets = case.known, case.secrets
    left = [] if needed is None else [name for name in secrets if not needed.found(case.targets.schema[name])]
    without = "" if needed is None else "; ".join(f"{name} has {needed.lacks}" for name in left)
    if len(left) == len(secrets):
        raise NotComparable(f"there is nothing to attack: {without}.")

    def one(name: str) -> Gain:
        rule = guesser(case.release, case.targets.schema.with_roles(quasi=known, sensitive=name), name)
        people, others = case.people(attack, [name], most=most)
        found = rule.guess(people)
        if case.release.form in COUNTED_FORMS:  # what is not in drawn rows is not ruled out
            found = replace(found, certain=np.zeros(len(found.certain), bool))
        return inference_gain(
            attack,
            found,
            None if others is None else rule.guess(others),
            usual=people_by_value(case.targets, name),
            groups=rule.groups,
            known=known,
            attribute=name,
            **rule.said,
        )

    worst = worst_attribute([name for name in secrets if name not in left], one)
    return replace(worst, notes=(*worst.notes, f"Not attacked: {without}.")) if left else worst


def inference_gain(
    attack: str,
    targets: Guesses,
    controls: Guesses | None,
    *,
    usual: np.ndarray,
    groups: np.ndarray,
    known: tuple[str, ...],
    attribute: str,
    ruled_out: int = 0,
    risen: bool = False,
    left: str = "",
    guesses: str = "guesses {}",
    holds: str = "",
    stops: str = STOPS,
    notes: tuple[str, ...] = (),
    details: dict[str, Any] | None = None,
) -> Gain:
    """Return the gain of guesses, beside that of someone who knows only how many people of the table have each value.

    Of somebody who guesses the most risen value the same guesses are the baseline, as often right as the value is had.
    """
    people, values = targets.people, len(usual)
    even = (usual / max(1, usual.sum()))[None, :]
    baseline = most_frequent(_by_group(usual[None, :], groups)[0])  # of values that are alike the group of most people
    compared = ""
    if risen and targets.guess is not None:
        baseline = share_of(_by_group(even, groups)[0][targets.guess], people.weight)
        compared = f"the same values said of {people.whom.many} at random"
    elif ruled_out:
        compared = "the most frequent value left by whoever rules out as many"
        baseline = in_parts(
            people,
            values,
            lambda part: guessed(
                part, np.repeat(even, len(part.weight), axis=0), overall=usual, groups=groups, ruled_out=ruled_out
            ),
        ).share
    knows = f"knows {joined_words(known)}{holds}"
    if ruled_out:
        knows += f" and rules out {count_of(ruled_out, 'wrong value')}"
    certain = share_of(targets.certain, people.weight)
    if left and certain.successes:
        notes = (*notes, f"Of {percent(certain.rate)} {left}.")
    return Gain(
        attack,
        axis="inference",
        targets=targets.share,
        controls=None if controls is None else controls.share,
        baseline=baseline,
        records=people.exposure(targets.success, targets.chance),
        holds=knows,
        hit=f"{guesses.format(attribute)} of {{}} of the {people.whom.many} in the table",
        miss=f"of {{}} of {people.whom.others}",
        stops=stops,
        whom=people.whom,
        attribute=attribute,
        notes=notes,
        frequent=None if len(np.unique(groups)) < values else most_frequent(usual),
        compared=compared,
        details={
            "certain and right": certain.to_json(),
            "mean belief in the truth": float(np.average(targets.chance, weights=people.weight)),
            **(details or {}),
        },
    )


def _alike(attribute: Attribute, steps: int) -> np.ndarray:
    """Number the nodes that lie `steps` above each value; a node directly below the root is the highest."""
    if not steps:
        return np.arange(attribute.size)
    tree = attribute.nodes
    node = np.array([tree.ancestor(code, code + 1) for code in range(attribute.size)])
    for _ in range(steps):
        above = tree.parent[node]
        node = np.where(above > 0, above, node)
    return np.unique(node, return_inverse=True)[1].reshape(-1)


def _by_group(rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Add up the columns of each group."""
    count = int(groups.max(initial=-1)) + 1
    if count == rows.shape[1]:
        return rows[:, np.argsort(groups, kind="stable")]
    found = np.zeros((len(rows), count))
    for column, group in enumerate(groups):
        found[:, group] += rows[:, column]
    return found


def _without(beliefs: np.ndarray, truth: np.ndarray, ruled_out: int) -> np.ndarray:
    """Take the likeliest wrong values away, and share what is left."""
    if not ruled_out:
        return beliefs
    lines = np.arange(len(truth))
    wrong = beliefs.copy()
    wrong[lines, truth] = -1.0
    gone = np.argsort(-wrong, axis=1, kind="stable")[:, : min(ruled_out, beliefs.shape[1] - 1)]
    left = beliefs.copy()
    left[lines[:, None], gone] = 0.0
    totals = left.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(left, totals, where=totals > 0, out=left))


# Inference with one more idea each: values that stand out, values that are alike, values that are ruled out.
#
# Source    Li, Li & Venkatasubramanian, "t-closeness", ICDE 2007 (skewness and similarity attacks); Machanavajjhala et
#           al., "l-diversity", TKDD 2007 (background knowledge that rules values out).
# Claim     `skewness` guesses the value whose share at the person's point is furthest above its share in the whole
#           release, and its baseline is how often targets have the guessed value at all. `similarity` counts a guess as
#           right that lies below the same node of the sensitive hierarchy, one step up. `ruled-out` knows of the
#           likeliest wrong value that it is wrong. All three are `inference` with one field set. An attribute without
#           levels, or with too few values, is not attacked by the last two, which their result says.
# Because   where one person in a hundred is ill, a class in which half are says much about its people, although both
#           values are likely; three names of one illness are diverse and say the same; and friends know what somebody
#           does not have.
# Checked   tests/claims/test_inference_variants.py::test_skewness_on_planted_tables
#           tests/claims/test_inference_variants.py::test_similarity_on_planted_tables
#           tests/claims/test_inference_variants.py::test_ruled_out_on_planted_tables
#           tests/claims/test_inference_variants.py::test_attributes_without_levels_are_not_attacked
#           tests/claims/test_inference_variants.py::test_skewness_equals_the_slow_attack
#           tests/claims/test_inference_variants.py::test_wrong_mutants_are_caught
# Silent on which values are worth hiding: each counts the same.


def _named(gain: Gain, name: str) -> Gain:
    """The same result under another name, each attribute's included."""
    parts = {attribute: replace(one, attack=name) for attribute, one in gain.by_attribute.items()}
    return replace(gain, attack=name, by_attribute=parts)


@declare
class Skewness:
    """Guess the value that is furthest above its usual share."""

    name: ClassVar[str] = "skewness"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything that carries an attribute can be read."""
        return carries(release)

    def attempt(self, case: Case) -> Gain:
        """Guess the values of targets and controls; of several sensitive attributes the worst is shown."""
        return _named(Inference(risen=True, most=self.most).attempt(case), self.name)


@declare
class Similarity:
    """Guess the sensitive value up to what is alike in its hierarchy."""

    name: ClassVar[str] = "similarity"
    axis: ClassVar[Harm] = "inference"

    _: KW_ONLY
    similar: Whole = parameter("Steps up the sensitive hierarchy at which a guess still counts.", default=1, least=1)
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """A carried attribute that has a hierarchy."""
        if why_not := carries(release).why_not:
            return Fit(why_not)
        deep = any(map(_LEVELS.found, release.carried))
        return FITS if deep else Fit("no attribute it carries has a hierarchy")

    def attempt(self, case: Case) -> Gain:
        """Guess the values of targets and controls; of several sensitive attributes the worst is shown."""
        return _named(Inference(similar=self.similar, most=self.most).attempt(case), self.name)


@declare
class RuledOut:
    """Guess the sensitive value after the likeliest wrong ones are ruled out."""

    name: ClassVar[str] = "ruled-out"
    axis: ClassVar[Harm] = "inference"

    _: KW_ONLY
    ruled_out: Whole = parameter("Wrong values that the attacker rules out.", default=1, least=1, grid=(1, 2, 3))
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """A carried attribute with three values or more: of two, one ruled out leaves the truth."""
        if why_not := carries(release).why_not:
            return Fit(why_not)
        most = max(attribute.size for attribute in release.carried)
        return FITS if most > self.ruled_out + 1 else Fit("ruling out values leaves one only")

    def attempt(self, case: Case) -> Gain:
        """Guess the values of targets and controls; of several sensitive attributes the worst is shown."""
        enough = Needed(
            lambda attribute: attribute.size > self.ruled_out + 1, lacks="too few values to rule any out and guess"
        )
        return _named(Inference(ruled_out=self.ruled_out, most=self.most).attempt_on(case, enough), self.name)


# A learner trained on the release guesses the sensitive value, of people in it and of people it never saw.
#
# Source    Cormode, "Personal privacy vs population privacy: learning to attack anonymization", KDD 2011; target and
#           control: Giomi et al., PoPETs 2023.
# Claim     Success is a value predicted by a learner that saw the release alone. What it says of the controls is
#           what it learned of everybody; the gain is what their own rows add for the targets.
# Because   targets and controls are drawn from one table, and only the targets' rows are in the release: for each of
#           them a control stands for the same learner trained without the row.
# Checked   tests/claims/test_attribute_attacks.py::test_a_learner_on_planted_tables
#           tests/claims/test_attribute_attacks.py::test_a_learner_gains_what_its_rows_say
#           tests/claims/test_attribute_attacks.py::test_wrong_learners_are_caught
#           tests/claims/test_attribute_attacks.py::test_a_learner_that_sees_the_controls_is_caught
#           tests/claims/test_attribute_attacks.py::test_a_learner_is_certain_only_where_its_prediction_never_errs
# Silent on learners that generalize less or more than this one. Its belief in a prediction is how often that value
#           was right on the rows it was trained on.


def _trusted(said: np.ndarray, truth: np.ndarray, weight: np.ndarray, values: int) -> np.ndarray:
    """How often each value is the true one where the learner says a value, among the rows it was trained on.

    A prediction is one value, however unsure: this is what the attacker can know of it from the release alone.
    """
    times = np.zeros((values, values))
    np.add.at(times, (said, truth), weight)
    found: np.ndarray = times / np.maximum(times.sum(axis=1, keepdims=True), 1)
    return found


@declare
class Learner:
    """Guess the sensitive value by a learner trained on the release."""

    name: ClassVar[str] = "learner"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    model: ModelName = parameter("The learner that is trained on the release.", default="tree")
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """Anything that carries an attribute and has a column to learn from."""
        return carries(release) if release.quasi else Fit("it publishes no quasi-identifier to learn from")

    def attempt(self, case: Case) -> Gain:
        """Train once for each sensitive attribute; guess targets and controls."""

        def guesser(release: Release, schema: Schema, name: str) -> Guesser:
            view = align(release, schema, name)
            lines = training_lines(view, np.arange(view.values))
            learned = fit(self.model, lines, seed=case.seed)
            trusted = _trusted(learned(lines.x), lines.y, lines.weight, view.values)

            def guess(people: Victims) -> Guesses:
                said = learned(row_features(release, schema, people.quasi))
                chance = trusted[said, people.secret]
                success = said == people.secret
                return Guesses(people, success=success, chance=chance, certain=success & (chance > 1 - _TIE))

            said = {"holds": f" and trains a learner ({self.model}) on the release"}
            return Guesser(guess, values=view.values, groups=np.arange(view.values), said=said)

        return guess_secrets(self.name, guesser, case, most=self.most)
