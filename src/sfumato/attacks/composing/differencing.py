"""Differencing: one release is subtracted from another of the same people, and few people are left.

Source    Denning & Schlörer, "A fast procedure for finding a tracker in a statistical database", TODS 1980; Article 29
          Working Party, Opinion 05/2014 (singling out from several tables). The rule for classes of any shape is ours.
Claim     Where a class b of one release meets a single class a of the other, everybody in b is in a, unless the release
          of a left out rows: nothing is subtracted from it then. What is left of a after all such b are subtracted,
          rows and values, is a class that nobody published. A person whose point lies in a and in none of these b is in
          it. They are isolated where it holds fewer than `few` people and no class of theirs in either release does;
          the attack succeeds where its likeliest value is theirs too.
Because   both releases are about the same people, each in one class that holds their point: b's people must be
          somewhere in the other release, and a is the only place. Counts and histograms of sets subtract.
Checked   tests/claims/test_differencing_attack.py::test_planted_tables
          tests/claims/test_differencing_attack.py::test_equals_all_worlds
          tests/claims/test_differencing_attack.py::test_nothing_is_subtracted_from_a_release_that_left_out_rows
          tests/claims/test_differencing_attack.py::test_wrong_mutants_are_caught
Silent on sums of three releases or more, on releases that share only some people (a difference below 0 is given up),
          on buckets, and on noisy counts, whose differences are noise.
Cost      boxes x boxes / 8 bytes for a pair of releases.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sfumato.attacks.base import FITS, Exposure, Fit, Gain, Harm, joined_words
from sfumato.attacks.case import MOST, Case, Victims, people_by_value, run, share_of, worst_attribute
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, ParameterError, count_of
from sfumato.estimate import View, align, align_boxes, holding_boxes
from sfumato.release import Release

if TYPE_CHECKING:
    from sfumato.schema import Labels

_PAIRS = 4_000_000_000  # boxes of one release x boxes of the other
_LABELS = 4_000_000  # labels of a column in one release x in the other
_HELD = 500_000_000  # labels of a column x boxes, in bytes
_AT_ONCE = 50_000_000


@dataclass(frozen=True)
class Rest:
    """What is left of each class of a release: rows, rows of each value, and which classes of the other are gone.

    `left` is -1 where nothing was subtracted, or where subtracting shows that the releases are not of the same people.
    """

    left: np.ndarray
    _: KW_ONLY
    values: np.ndarray = field(repr=False)
    gone: np.ndarray = field(repr=False)


def rest_of(one: View, other: View) -> Rest:
    """Subtract from each class of `one` every class of `other` that meets no second class of it."""
    home = _only_meeting(one, other)
    gone = home >= 0
    touched = np.bincount(home[gone], minlength=len(one.weight)) > 0
    left = one.weight.astype(np.int64)
    np.subtract.at(left, home[gone], other.weight[gone].astype(np.int64))
    values = _values(one)
    np.subtract.at(values, home[gone], _values(other)[gone])
    known = touched & (left >= 0) & (values >= 0).all(axis=1)
    return Rest(np.where(known, left, -1), values=values, gone=gone)


def _values(view: View) -> np.ndarray:
    """Rows of each value in the class of each box."""
    return np.asarray(np.asarray(view.histogram.toarray(), np.int64)[view.group])


def _only_meeting(one: View, other: View) -> np.ndarray:
    """The single box of `one` that each box of `other` meets, -1 where it meets none or several."""
    there, many = np.flatnonzero(one.weight > 0), len(other.weight)
    pairs = list(zip(one.tables, other.tables, strict=True))
    if any(len(a) * len(b) > _LABELS or len(b) * len(there) > _HELD for a, b in pairs):
        raise NotComparable("the releases have too many labels to compare each with each.")
    meets = [_meeting(mine, theirs)[:, one.labels[there, at]] for at, (mine, theirs) in enumerate(pairs)]
    found = np.full(many, -1, np.int64)
    step = max(1, _AT_ONCE // max(1, len(there)))
    for start in range(0, many, step):
        part = slice(start, start + step)
        both = np.ones((len(found[part]), len(there)), bool)
        for at, column in enumerate(meets):
            both &= column[other.labels[part, at]]
        alone = (both.sum(axis=1) == 1) & (other.weight[part] > 0)
        found[part] = np.where(alone, there[both.argmax(axis=1)] if len(there) else -1, -1)
    return found


def _meeting(mine: Labels, theirs: Labels) -> np.ndarray:
    """Whether a label of the second table and one of the first share a value: theirs x mine."""
    cuts = np.unique(np.concatenate([mine.starts, mine.ends, theirs.starts, theirs.ends]))
    cuts = cuts[cuts < mine.attribute.size]
    return np.asarray(theirs.holds(cuts).astype(np.int32) @ mine.holds(cuts).astype(np.int32).T > 0)


@declare
class Differencing:
    """Subtract releases of the same people from each other, and guess the values of the few who are left."""

    name: ClassVar[str] = "differencing"
    axis: ClassVar[Harm] = "inference"
    several: ClassVar[bool] = True

    _: KW_ONLY
    few: Whole = parameter("Fewer people than this are isolated.", default=5, least=2, unit="people")
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """Classes with exact counts."""
        if release.form != "generalized":
            return Fit("it has no classes with exact counts")
        return FITS if release.quasi else Fit("it publishes no quasi-identifier")

    def attempt(self, case: Case) -> Gain:
        """Subtract each release from each other one; of several sensitive attributes the worst is shown."""
        releases, known, schema = case.releases, case.known, case.targets.schema
        if isinstance(releases, Release) or len(releases) < 2:
            raise ParameterError("releases", "one", "must be two or more", hint="[a, b]")
        if any(len(a.boxes) * len(b.boxes) > _PAIRS for a, b in permutations(releases, 2)):
            raise NotComparable("the releases have too many classes to compare each with each.")
        carried = [{attribute.name for attribute in release.carried} for release in releases]
        shared = [a.name for a in schema.sensitive if all(a.name in names for names in carried)]
        if case.knowledge.attribute is not None:
            shared = [name for name in shared if name == case.knowledge.attribute]
        case.same_codes((*known, *shared))
        # Somebody of the other release may be among the rows that one left out: nothing can be subtracted from it.
        lacking = frozenset(at for at, each in enumerate(releases) if each.left_out or each.capped)
        notes = [f"Release {at + 1} left out rows: nothing is subtracted from it." for at in sorted(lacking)]

        def one(name: str | None) -> Gain:
            columns = [name] if name else []
            people = [part for part in case.people(self.name, columns, most=self.most) if part is not None]
            named = schema.with_roles(quasi=known, sensitive=columns or None)
            views = [align(each, named, name) if name else align_boxes(each, named) for each in releases]
            usual = None if name is None else int(people_by_value(case.targets, name).argmax())
            found = self._gain(views, people, known, name, usual=usual, rows=schema.several, lacking=lacking)
            return replace(found, notes=(*found.notes, *notes))

        return worst_attribute(shared, one) if shared else one(None)

    def _gain(
        self,
        views: list[View],
        people: list[Victims],
        known: tuple[str, ...],
        name: str | None,
        *,
        usual: int | None,
        rows: bool,
        lacking: frozenset[int],
    ) -> Gain:
        found = [self._isolated(views, part, secret=name is not None, lacking=lacking) for part in people]
        inside = people[0]
        left, success, chance = found[0]
        blind = (left > 0) & (inside.secret == usual) if name else np.zeros(len(left), bool)
        isolated, alone = (int(inside.weight[there].sum()) for there in (left > 0, left == 1))
        what = f", and correctly guesses {name} of," if name else ""
        few = f"{self.few} rows" if rows else str(self.few)  # releases count rows, also of one person
        notes = []
        if isolated:
            left_over = count_of(isolated, inside.whom.one, inside.whom.many)
            notes.append(
                f"Subtracting leaves {left_over} of the table in groups of fewer than "
                f"{few}, {alone:,} of them alone; no release by itself shows them in so small a class."
            )
        return Gain(
            self.name,
            axis="inference" if name else "identity",
            targets=share_of(success, inside.weight),
            controls=None if len(found) == 1 else share_of(found[1][1], people[1].weight),
            baseline=share_of(blind, inside.weight),
            records=Exposure(inside.names, codes=inside.codes, weight=inside.weight, success=success, chance=chance),
            holds=f"knows {joined_words(known)} and subtracts {len(views)} releases from each other",
            hit=f"isolates{what} {{}} of the {inside.whom.many} in the table among fewer than {few}",
            miss=f"{{}} of {inside.whom.others}",
            whom=inside.whom,
            stops="one release instead of several, the same classes in each, or differential privacy",
            attribute=name,
            notes=tuple(notes),
            details={"isolated": isolated, "alone": alone, "fewer than": self.few},
        )

    def _isolated(
        self, views: list[View], people: Victims, *, secret: bool, lacking: frozenset[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """People left beside each person (0: not isolated), whether the guess is right, and how likely the truth is.

        Nothing is subtracted from the views in `lacking`.
        """
        many = len(people.codes)
        held = [_held(view, people.quasi) for view in views]
        least = np.min([one.least for one in held], axis=0)
        best = np.zeros(many, np.int64)
        success, chance = np.zeros(many, bool), np.zeros(many)
        for at, beside in permutations(range(len(views)), 2):
            if at in lacking:
                continue
            rest, box, others = rest_of(views[at], views[beside]), held[at].only, held[beside]
            subtracted = np.zeros(many, bool)
            subtracted[others.person[rest.gone[others.box]]] = True
            left = np.where((box >= 0) & ~subtracted, rest.left[box], 0)
            new = (left > 0) & (left < self.few) & (least >= self.few) & ((best == 0) | (left < best))
            best = np.where(new, left, best)
            inside, total = rest.values[box], np.maximum(left, 1)
            right = inside.argmax(axis=1) == people.secret if secret else new
            sure = inside[np.arange(many), people.secret] if secret else new
            success, chance = np.where(new, right, success), np.where(new, sure / total, chance)
        return best, success, chance


@dataclass(frozen=True)
class _Held:
    """Which boxes hold which people; the only one of each person (-1: none, or several), and their smallest class."""

    person: np.ndarray
    box: np.ndarray
    only: np.ndarray
    least: np.ndarray


def _held(view: View, codes: np.ndarray) -> _Held:
    person, box = holding_boxes(view, codes)
    there = view.weight[box] > 0
    person, box = person[there], box[there]
    only = np.full(len(codes), -1, np.int64)
    only[person] = box
    only[np.bincount(person, minlength=len(codes)) != 1] = -1
    least = np.full(len(codes), np.iinfo(np.int64).max)
    np.minimum.at(least, person, view.weight[box].astype(np.int64))
    return _Held(person, box, only, least)
