"""Downcoding: labels no wider than they must be give away exact values, of one column or (below) of whole rows.

Source    Cohen, "Attacks on deidentification's defenses", USENIX Security 2022: minimal hierarchical generalization can
          be undone in part. The exact law below is ours, for the labels of one class.
Claim     A class of w people has a label of m values. Where labels are as narrow as may be, an interval has somebody at
          either end, and a node somebody below two of its children at least. Among all ways to deal values that keep
          this, all equally likely, a person has an end with chance (m^(w-1) - (m-1)^(w-1)) / N, N = m^w - 2 (m-1)^w +
          (m-2)^w; below a child of c values each with (m^(w-1) - c^(w-1)) / (m^w - sum of c^w). The likeliest value is
          guessed, the first of equals. The baseline is a value of the label at random, which knows the label: only over
          controls inside the same labels does the attack beat a guess without the release.
Because   the worlds that break minimality are counted out by inclusion and exclusion.
Checked   tests/claims/test_minimality_and_downcoding.py::test_downcoding_succeeds_on_its_construction
          tests/claims/test_minimality_and_downcoding.py::test_downcoding_equals_all_worlds
          tests/claims/test_minimality_and_downcoding.py::test_wide_labels_give_nothing_away
Silent on what several columns together rule out (`DowncodingRows`), and on labels that are not minimal: there it is no
          better than chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from math import comb
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import FITS, ROWS, Exposure, Fit, Gain, Harm, joined_words
from sfumato.attacks.case import MOST, Case, run, share_of, worst_attribute
from sfumato.counts import Table
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, count_of
from sfumato.estimate import View, align_boxes, holding_boxes
from sfumato.measures.proportions import Share
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.schema import Labels


def end_chance(values: int, people: int) -> float:
    """Return how likely one of `people` has a given end of a tight interval of `values`.

    >>> round(end_chance(10, 2), 3), round(end_chance(10, 1000), 3)
    (0.5, 0.1)
    """
    if values == 1:
        return 1.0
    lower, lowest = (values - 1) / values, (values - 2) / values
    all_ways = 1 - 2 * lower**people + lowest**people
    with_end = (1 - lower ** (people - 1)) / values
    return with_end / all_ways if all_ways > 0 else 1 / values


def child_chances(children: Sequence[int], people: int) -> list[float]:
    """Return how likely one of `people` has one given value below each child of a tight node."""
    values = sum(children)
    shares = [many / values for many in children]
    all_ways = 1 - sum(share**people for share in shares)
    if all_ways <= 0:
        return [1 / values for _ in children]
    return [(1 - share ** (people - 1)) / values / all_ways for share in shares]


def _stops(release: Release) -> str:
    """What would stop either attack, without what the release has already."""
    base = release.mechanism.get("base")
    made = base if isinstance(base, Mapping) else release.mechanism
    tight = "" if made.get("tight") is False else "tight=False, "
    return f"labels that do not follow the rows ({tight}cuts fixed beforehand), or larger classes"


@declare
class Downcoding:
    """Guess the exact value behind a label, one column at a time."""

    name: ClassVar[str] = "downcoding"
    axis: ClassVar[Harm] = "inference"

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """Generalized tables."""
        if release.form != "generalized":
            return Fit("it is not a generalized table")
        return FITS if any((table.size > 1).any() for table in release.boxes.tables) else Fit("its values are exact")

    def attempt(self, case: Case) -> Gain:
        """Guess each generalized column of targets and controls whose class is known; the worst column is shown."""
        release, known = case.release, case.known
        view = align_boxes(release, case.targets.schema.with_roles(quasi=known))
        people, others = case.people(self.name, most=self.most)
        suppressed = -1 if release.suppressed_group is None else release.suppressed_group
        boxes = _first_box(view, people.codes, suppressed)
        beside = None if others is None else _first_box(view, others.codes, suppressed)

        def one(name: str) -> Gain:
            at = known.index(name)
            guess, chance = _guesses(view, at, suppressed)
            width = view.tables[at].size[view.labels[:, at]]

            def counted(codes: np.ndarray, box: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                there = (box >= 0) & (width[box] > 1) & (guess[box] >= 0)  # of suppressed rows nothing is guessed
                return (codes[:, at] == guess[box]) & there, np.where(there, weight, 0)

            success, weight = counted(people.codes, boxes, people.weight)
            found = None
            if others is not None and beside is not None:
                found = share_of(*counted(others.codes, beside, others.weight))
            blind = np.divide(1.0, width[boxes], where=weight > 0, out=np.zeros(len(weight)))
            many = people.whom.many
            left = int(people.weight[(boxes >= 0) & (width[boxes] > 1)].sum() - weight.sum())
            more = count_of(f"{left:,}", f"more {people.whom.one}", f"more {many}")
            return Gain(
                self.name,
                axis="inference",
                targets=share_of(success, weight),
                controls=found,
                baseline=share_of(blind, weight),
                records=Exposure(
                    people.names,
                    codes=people.codes,
                    weight=weight,
                    success=success,
                    chance=np.where(success, chance[boxes], 0.0),
                ),
                holds=f"knows the class of a {people.whom.one} and that labels are as narrow as may be",
                hit=f"guesses the exact {name} of {{}} of the {many} with a generalized one in classes worked out",
                miss=f"of {{}} of {people.whom.others} there",
                whom=people.whom,
                stops=_stops(release),
                attribute=name,
                notes=(f"No guess is made of the {name} of {more}: it is generalized, but in no class worked out.",)
                if left
                else (),
                within="the published label",
            )

        found = worst_attribute(known, one)
        if not found.targets.trials:
            raise NotComparable("no one who is attacked has a generalized value.")
        return found


def _first_box(view: View, codes: np.ndarray, suppressed: int = -1) -> np.ndarray:
    """The first box that holds each person, -1 where none does; that of suppressed rows holds everybody and is last."""
    person, box = holding_boxes(view, codes)
    order = np.argsort(view.group[box] == suppressed, kind="stable")
    person, box, found = person[order], box[order], np.full(len(codes), -1)
    found[person[::-1]] = box[::-1]
    return found


def _guesses(view: View, at: int, suppressed: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest exact value of a person of each box, and how likely it is; -1 where all are suppressed."""
    table = view.tables[at]
    attribute, tree = table.attribute, table.attribute.nodes
    found: dict[tuple[int, int], tuple[int, float]] = {}
    guess, chance = np.full(len(view.weight), -1), np.zeros(len(view.weight))
    for box, (label, people) in enumerate(zip(view.labels[:, at].tolist(), view.weight.tolist(), strict=True)):
        if view.group[box] == suppressed or not people:
            continue
        if (label, people) not in found:
            low, high, size = int(table.low[label]), int(table.high[label]), int(table.size[label])
            node = tree.by_interval.get((low, high))
            if attribute.ordered or node is None or not tree.children[node]:
                found[label, people] = low, end_chance(size, people)
            else:
                children = tree.children[node]
                sizes = [int(tree.high[child] - tree.low[child]) for child in children]
                each = child_chances(sizes, people)
                best = int(np.argmax(each))
                found[label, people] = int(tree.low[children[best]]), each[best]
        guess[box], chance[box] = found[label, people]
    return guess, chance


# Downcoding of whole rows: a narrower table that the original still fits is written from the release alone.
#
# Source    Cohen, "Attacks on deidentification's defenses", USENIX Security 2022, section 3: a downcoding Z of a
#           minimal hierarchical generalization Y of X lies strictly below Y and still above X. His attacker knows the
#           law that people are drawn from; ours takes it from `population` where one is given, else values of a label
#           are equally likely and columns independent. The exact law of the rows of a class, below, is ours.
# Claim     Each generalized column of a class has parts: the children of a node, or both ends and the middle of an
#           interval. Labels are minimal, so that no child of a node holds the whole class, and each end of an interval
#           has somebody. Among all ways to draw the w rows of a class that keep this in every column together, P(X_c
#           >= t) is how likely t rows or more fall into a cell c, a combination of parts. Z gives the class the w
#           cells that are expected to hold most rows: the w pairs (c, t) of largest P(X_c >= t). A row counts where Z
#           and the original have it in common. The controls are drawn in classes of the same size from people inside
#           the same label; the baseline is the best Z without knowing that labels are minimal.
# Because   P(X_c = t and minimal) = C(w, t) q_c^t sum over sets S of broken rules that leave c of (-1)^|S| (q(S) -
#           q_c)^ (w - t), by inclusion and exclusion; the expected overlap is a sum of P(X_c >= t), largest if taken
#           greedily.
# Checked   tests/claims/test_downcoding_rows.py::test_the_law_equals_all_worlds
#           tests/claims/test_downcoding_rows.py::test_succeeds_on_cohens_construction
#           tests/claims/test_downcoding_rows.py::test_planted_tables
#           tests/claims/test_downcoding_rows.py::test_wrong_mutants_are_caught
# Silent on labels that are not minimal (there it may do worse than its baseline), on classes of more than `size`
#           people, and on columns beyond those whose cells can be listed.


_CELLS = 128  # combinations of parts
_RULES = 2048  # sets of broken rules
_CHILDREN = 8  # of a node of an ordered column; with more of them its ends are what is looked at
_LEAST = 1e-7  # a law that is kept less often than this cannot be distinguished from rounding
_KNOWN = 20  # people of the population inside a label from which on they are its law


@dataclass(frozen=True)
class LabelParts:
    """Parts of one label: which part each of its codes is in, how many codes each has, and what breaks its rule.

    Row i of `rules` marks the parts that the whole class lies in if rule i is broken; row 0 marks all of them. `signs`
    are those of inclusion and exclusion.
    """

    part: np.ndarray = field(repr=False)
    _: KW_ONLY
    low: int
    size: np.ndarray
    rules: np.ndarray
    signs: np.ndarray

    def of(self, codes: np.ndarray) -> np.ndarray:
        """The part of each code, -1 of a code outside."""
        place = codes - self.low
        there = (place >= 0) & (place < len(self.part))
        return np.where(there, self.part[np.where(there, place, 0)], -1)


def parts_of(labels: Labels, label: int) -> LabelParts | None:
    """Return the parts of a label, nothing where it is one value or has no parts."""
    low, high, size = int(labels.low[label]), int(labels.high[label]), int(labels.size[label])
    if size < 2 or size != high - low:
        return None
    tree = labels.attribute.nodes
    node = tree.by_interval.get((low, high))
    if node is not None and 1 < len(tree.children[node]) <= (_CHILDREN if labels.attribute.ordered else size):
        sizes = np.array([int(tree.high[child] - tree.low[child]) for child in tree.children[node]])
        many = len(sizes)
        rules, signs = np.vstack([np.ones((1, many), bool), np.eye(many, dtype=bool)]), np.array([1.0] + [-1.0] * many)
        return LabelParts(np.repeat(np.arange(many), sizes), low=low, size=sizes, rules=rules, signs=signs)
    if size == 2:
        ends = np.array([[1, 1], [0, 1], [1, 0]], bool)
        return LabelParts(np.arange(2), low=low, size=np.ones(2, int), rules=ends, signs=np.array([1.0, -1, -1]))
    middle = np.repeat([0, 1, 2], [1, size - 2, 1])
    rules = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 0], [0, 1, 0]], bool)
    return LabelParts(middle, low=low, size=np.array([1, size - 2, 1]), rules=rules, signs=np.array([1.0, -1, -1, 1]))


def at_least(law: np.ndarray, parts: Sequence[LabelParts], people: int) -> np.ndarray | None:
    """Return P(X_c >= t) for each cell c and t = 1 .. people, among classes of `people` that keep every rule.

    `law` is the chance of each cell, with an axis for each column. Nothing where the rules are next to never kept.
    """
    cells = law.reshape(-1)
    inside, signs = np.ones((1, 1), bool), np.ones(1)
    for one in parts:  # all sets of broken rules x all cells
        inside = (inside[:, None, :, None] & one.rules[None, :, None, :]).reshape(len(inside) * len(one.rules), -1)
        signs = (signs[:, None] * one.signs[None, :]).reshape(-1)
    mass = inside @ cells
    kept = float((signs * mass**people).sum())
    if kept < _LEAST:
        return None
    rest = np.maximum(mass[:, None] - cells[None, :], 0.0)  # of the others, given that c is left
    found = np.empty((len(cells), people + 1))
    for times in range(1, people + 1):
        ways = comb(people, times) * cells**times
        found[:, times] = ways * (signs[:, None] * inside * rest ** (people - times)).sum(axis=0) / kept
    found = np.clip(found, 0.0, 1.0)
    return np.cumsum(found[:, :0:-1], axis=1)[:, ::-1]


def best_rows(chances: np.ndarray, people: int) -> np.ndarray:
    """Return how many rows each cell is given, so that most of them are expected to be right."""
    order = np.argsort(-chances.reshape(-1), kind="stable")[:people]
    return np.bincount(order // chances.shape[1], minlength=len(chances))


def _plain(law: np.ndarray, people: int) -> np.ndarray:
    """P(X_c >= t) where nothing is known to be minimal: binomial."""
    cells = law.reshape(-1)
    found = np.zeros((len(cells), people + 1))
    for times in range(1, people + 1):
        found[:, times] = comb(people, times) * cells**times * (1 - cells) ** (people - times)
    return np.cumsum(found[:, :0:-1], axis=1)[:, ::-1]


@declare
class DowncodingRows:
    """Write a narrower table than the release, whole rows at a time."""

    name: ClassVar[str] = "downcoding-rows"
    axis: ClassVar[Harm] = "inference"

    _: KW_ONLY
    size: Whole = parameter("Largest class that is worked out.", default=30, least=2, unit="people")
    most: Whole = parameter("How many classes are attacked at most.", default=3000, least=1, unit="classes")

    run = run

    def fits(self, release: Release) -> Fit:
        """Generalized tables."""
        return Downcoding().fits(release)

    def attempt(self, case: Case) -> Gain:
        """Downcode the classes; compare with the rows of the targets, who are everybody in the table."""
        release, known, targets, controls = case.release, case.known, case.targets, case.controls
        population = case.knowledge.population
        view = align_boxes(release, targets.schema.with_roles(quasi=known))
        entropy = case.entropy(self.name)
        case.same_codes(known)
        classes = self._classes(view, release, entropy)
        people = _Rows.of(view, targets, known)
        others = None if controls is None else _Rows.of(view, controls, known)
        law = None if population is None else _Rows.of(view, population, known)
        tally, scored = _Tally(), np.zeros((len(classes), 2))
        for at, box in enumerate(classes):
            scored[at] = tally.add(view, int(box), people, others, law, entropy.child(str(at)))
        if not tally.rows:
            raise NotComparable("no class of the release has parts that could be distinguished.")
        if controls is not None and not tally.others:
            raise NotComparable("no class of the release has as many rows of the control inside its labels.")
        codes = np.column_stack([table.low[view.labels[classes, at]] for at, table in enumerate(view.tables)])
        weight = view.weight[classes].astype(np.int64) * (scored[:, 1] > 0)
        rate = np.divide(scored[:, 0], np.maximum(scored[:, 1], 1))
        given = "" if law is None else " and the population"
        return Gain(
            self.name,
            axis="inference",
            targets=Share(tally.right, trials=tally.rows),
            controls=None if controls is None else Share(tally.others_right, trials=tally.others),
            baseline=Share(tally.blind, trials=tally.rows),
            records=Exposure(known, codes=codes, weight=weight, success=rate, chance=rate),
            holds=f"knows that labels are as narrow as may be{given}",
            hit=f"narrows {joined_words(known)} correctly for {{}} of the rows in the classes worked out",
            miss="would be right on {} of other rows inside the same labels",
            whom=ROWS,
            stops=_stops(release),
            details={"classes": tally.classes, "classes right as a whole": tally.whole},
            within="the published labels",
        )

    def _classes(self, view: View, release: Release, entropy: Entropy) -> np.ndarray:
        """Classes that are small enough; at random `most` of them where there are more."""
        there = (view.weight > 1) & (view.weight <= self.size)
        if release.suppressed_group is not None:
            there &= view.group != release.suppressed_group
        found = np.flatnonzero(there)
        return found if len(found) <= self.most else found[entropy.subset(len(found), self.most)]


@dataclass(frozen=True)
class _Rows:
    """Rows by the box that holds them, where it is one."""

    codes: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, view: View, table: Table, known: tuple[str, ...]) -> _Rows:
        counts = table.counts(known)
        distinct = counts.codes.astype(np.int64)
        person, box = holding_boxes(view, distinct)
        once = np.bincount(person, minlength=len(distinct))[person] == 1
        person, box = person[once], box[once]
        order = np.argsort(box, kind="stable")
        times = counts.weights[person[order]]
        rows = np.repeat(distinct[person[order]], times, axis=0)
        return cls(rows, np.searchsorted(np.repeat(box[order], times), np.arange(len(view.weight) + 1)))

    def inside(self, box: int) -> np.ndarray:
        return self.codes[self.first[box] : self.first[box + 1]]


@dataclass
class _Tally:
    """Rows of the downcoded table that are right, class after class."""

    rows: int = 0
    right: int = 0
    blind: int = 0
    others: int = 0
    others_right: int = 0
    classes: int = 0
    whole: int = 0

    def add(
        self, view: View, box: int, people: _Rows, others: _Rows | None, law: _Rows | None, entropy: Entropy
    ) -> tuple[float, float]:
        """Downcode one class; return its rows that are right, and all of them."""
        size = int(view.weight[box])
        mine = people.inside(box)
        if len(mine) != size:
            return 0.0, 0.0
        found = _narrowed(view, box, size, None if law is None else law.inside(box))
        if found is None:
            return 0.0, 0.0
        columns, parts, shape, given, plain = found

        def cells(codes: np.ndarray) -> np.ndarray:
            places = [one.of(codes[:, at]) for at, one in zip(columns, parts, strict=True)]
            return np.bincount(np.ravel_multi_index(places, shape), minlength=int(np.prod(shape)))

        truth = cells(mine)
        right = int(np.minimum(given, truth).sum())
        self.rows += size
        self.right += right
        self.blind += int(np.minimum(plain, truth).sum())
        self.classes += 1
        self.whole += right == size
        there = None if others is None else others.inside(box)
        if there is not None and len(there) >= size:
            drawn = there[entropy.permutation(len(there))[:size]]
            self.others += size
            self.others_right += int(np.minimum(given, cells(drawn)).sum())
        return float(right), float(size)


def _narrowed(
    view: View, box: int, size: int, law: np.ndarray | None
) -> tuple[list[int], list[LabelParts], tuple[int, ...], np.ndarray, np.ndarray] | None:
    """Columns that are narrowed, their parts, and how many rows each cell is given, with and without minimality."""
    columns: list[int] = []
    parts: list[LabelParts] = []
    chances = None
    for at, table in enumerate(view.tables):
        one = parts_of(table, int(view.labels[box, at]))
        if one is None:
            continue
        tried = [*parts, one]
        shape = tuple(len(each.size) for each in tried)
        if np.prod(shape) > _CELLS or np.prod([len(each.signs) for each in tried]) > _RULES:
            continue
        found = at_least(_law(tried, [*columns, at], law), tried, size)
        if found is not None:
            columns, parts, chances = [*columns, at], tried, found
    if chances is None:
        return None
    shape = tuple(len(each.size) for each in parts)
    plain = _plain(_law(parts, columns, law), size)
    return columns, parts, shape, best_rows(chances, size), best_rows(plain, size)


def _law(parts: list[LabelParts], columns: list[int], law: np.ndarray | None) -> np.ndarray:
    """The chance of each cell: that of the population inside the label, else even and independent."""
    even = reduce(np.multiply.outer, [one.size / one.size.sum() for one in parts])
    if law is None or len(law) < _KNOWN:
        return np.asarray(even)
    shape = tuple(len(one.size) for one in parts)
    places = [one.of(law[:, at]) for at, one in zip(columns, parts, strict=True)]
    seen = np.bincount(np.ravel_multi_index(places, shape), minlength=even.size).reshape(shape)
    return np.asarray((seen + even) / (len(law) + 1.0))  # one row more, as the label alone would have it
