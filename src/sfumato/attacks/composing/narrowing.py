"""Which values several releases leave a victim, and how likely each is.

Source    Ganta, Kasiviswanathan & Smith, KDD 2008 (the intersection attack); the dLink paper, definition 2. The
          posterior is ours.
Claim     left = intersection over releases j of S_j, the values with a positive published count in some class that may
          hold the victim. A release of which no class holds the victim does not narrow.
          P(s | all) is proportional, on the values left, to the product of the counts n_j(s) of the m releases that
          hold the victim, with the prior taken out m - 1 times: product over j of n_j(s) / product over i = 1 .. m - 1
          of q_i(s). "uniform": q_i = 1. "overall": q_i(s) = p(s), the published distribution. "local": q_i(s) = max(0,
          sum over j of n_j(s) - i) + 10 p(s). Where several classes may hold the victim, n_j is their mean, weighted
          by how many rows are expected at the victim's point.
Because   let a class be people drawn independently, one of them the victim: given that the victim has s, the chance of
          its counts is proportional to n(s) / P(s), and the victim is drawn once, not m times. "local" is the same with
          P unknown, one law for all the victim's classes, with a Dirichlet prior worth 10 rows around p.
Checked   tests/claims/test_composition_attack.py::test_equals_the_slow_attack
          tests/claims/test_composition_attack.py::test_nine_to_one_twice_is_eighty_one_to_one
          tests/claims/test_composition_attack.py::test_posterior_is_bayes_by_enumeration
          tests/claims/test_composition_attack.py::test_the_local_posterior_is_an_urn_by_enumeration
          tests/claims/test_composition_attack.py::test_the_local_prior_is_calibrated
Silent on noise: a positive noisy count is read as a count, so confidence in noisy releases is too high; on classes that
          share further people, as when one table is published twice. No float decides what is left: that is counted in
          integers.
Cost      victims x values for each release, some at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfumato.errors import NotComparable
from sfumato.estimate import View, by_residence, holding_boxes
from sfumato.release import Release
from sfumato.schema import Schema

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


# The classes in which one release may hold each victim, under one of two readings.
#
# Source    Sattar et al., the dLink paper, definition 2 (the class where the record resides); by labels an outsider
#           may find several classes, as for Emu in table 2(b).
# Claim     `by_label`: every group that has a box of at least one row whose labels hold all the values known of the
#           victim. `by_home`: every group in which a row with the victim's values landed.
# Because   labels are looked up attribute by attribute, and boxes of single values are joined; both equal the
#           definition.
# Checked   tests/claims/test_composition_attack.py::test_equals_the_slow_attack
#           tests/claims/test_composition_attack.py::test_joined_boxes_are_the_boxes_that_hold
#           tests/claims/test_composition_attack.py::test_emu_matches_two_classes
# Silent on rows that were left out of a release: no class holds them. Where equal rows landed in several groups
#           (Anatomy may do so), `by_home` returns all of them.
# Cost      victims x boxes x attributes / 8 bytes of bit sets; a join where all boxes are single values.


@dataclass(frozen=True, slots=True)
class CandidateClasses:
    """Victims x groups: `holds` says which groups may hold the victim, `share` with which weight."""

    holds: csr_matrix
    share: csr_matrix


def by_label(view: View, codes: np.ndarray) -> CandidateClasses:
    """Return the groups whose labels hold each victim, weighted by how many rows are expected at the victim's point."""
    person, box = holding_boxes(view, codes)
    real = view.weight[box] > 0
    person, box = person[real], box[real]
    # The density of a box spread over many attributes is tiny, so it is compared in logarithms.
    density = np.log(np.maximum(view.weight, 1)) - np.log(np.maximum(view.group_weight[view.group], 1))
    for at, table in enumerate(view.tables):
        density = density - np.log(table.size[view.labels[:, at]])
    top = np.full(len(codes), -np.inf)
    np.maximum.at(top, person, density[box])
    share = np.exp(density[box] - top[person])
    return _classes(person, view.group[box], share, (len(codes), len(view.group_weight)))


def by_home(release: Release, schema: Schema, names: tuple[str, ...], codes: np.ndarray) -> CandidateClasses:
    """Return the groups in which rows with the victims' codes (of `names`) truly landed."""
    residence = release.residence
    if residence is None:
        raise NotComparable(
            "the release does not know where rows landed; that is kept in memory right after publish only. "
            'Hint: reading="label".'
        )
    known = [at for at, name in enumerate(names) if name in residence.names]
    for at in known:
        if not release.schema[names[at]].same_codes(schema[names[at]]):
            raise NotComparable(f"the victims write {names[at]} in other codes than the release. Hint: one schema.")
    stays = residence.group >= 0  # rows left out landed nowhere
    landed = replace(
        residence, codes=residence.codes[stays], group=residence.group[stays], weight=residence.weight[stays]
    )
    share = by_residence(replace(release, residence=landed), [names[at] for at in known], codes[:, known]).tocoo()
    return _classes(share.row, share.col, share.data, share.shape)


def _classes(person: np.ndarray, group: np.ndarray, share: np.ndarray, shape: tuple[int, int]) -> CandidateClasses:
    from scipy.sparse import csr_matrix

    holds = csr_matrix((np.ones(len(person), np.int32), (person, group)), shape=shape)
    return CandidateClasses(holds, csr_matrix((share, (person, group)), shape=shape))


_ENTRIES = 1 << 22  # of a victims x values matrix held at a time
_TIE = 1e-12
# Rows of the Dirichlet prior. Between 2 and 20 the confidence on Adult and census data stays within two points of how
# often the guess is right; without it (the overall prior) it is 10 to 15 points too high.
LOCAL_ROWS = 10

PriorBelief = Literal["local", "overall", "uniform"]


@dataclass(frozen=True)
class Narrowed:
    """One line for each distinct victim: how many values are left, the best guess and how likely it is.

    `values` packs, bit by bit, which are left. `matched` is False where no class of any release holds the victim.
    """

    left: np.ndarray
    _: KW_ONLY
    guess: np.ndarray
    posterior: np.ndarray
    values: np.ndarray
    matched: np.ndarray

    def held(self, who: np.ndarray, value: np.ndarray) -> np.ndarray:
        """Return whether a value is among those left to a victim."""
        bit = self.values[who, value >> 3] >> (7 - (value & 7)).astype(np.uint8)
        return np.asarray(bit & 1 > 0)


def narrow(
    views: Sequence[View], classes: Sequence[CandidateClasses], overall: np.ndarray, prior: PriorBelief
) -> tuple[Narrowed, list[Narrowed]]:
    """Return what all releases together leave each victim, and what each alone does."""
    people, size = classes[0].holds.shape[0], len(overall)
    together = _blank(people, size)
    alone = [_blank(people, size) for _ in views]
    present = [_positive(view) for view in views]
    published = overall / overall.sum()
    step = max(1, _ENTRIES // max(size, 1))
    for start in range(0, people, step):
        part = slice(start, min(start + step, people))
        left = np.repeat((overall > 0)[None, :], part.stop - part.start, axis=0)
        belief, total = np.ones(left.shape), np.zeros(left.shape)
        holding = np.zeros(len(left), np.int64)
        for view, found, positive, own in zip(views, classes, present, alone, strict=True):
            held = np.asarray((found.holds[part] @ positive).toarray() > 0)
            said = np.asarray(held.any(axis=1))
            counts = _mean_counts(found, view, part)
            held |= ~said[:, None] & (overall > 0)
            _write(own, part, held, np.where(said[:, None], counts, published), published, said)
            left &= held
            belief = _normalised(np.where(said[:, None], belief * counts, belief))
            total += counts * said[:, None]
            holding += said
        _divide(belief, total, holding, published, prior)
        belief[holding == 0] = published
        _write(together, part, left, belief, published, holding > 0)
    return together, alone


def _mean_counts(found: CandidateClasses, view: View, part: slice) -> np.ndarray:
    """n_j: the counts of the classes that may hold each victim, averaged by how likely each class is."""
    share = found.share[part]
    totals = np.asarray(share.sum(axis=1), np.float64)
    return np.asarray((share @ view.histogram).toarray() / np.where(totals > 0, totals, 1.0))


def _divide(
    belief: np.ndarray, total: np.ndarray, holding: np.ndarray, published: np.ndarray, prior: PriorBelief
) -> None:
    """Take the prior out m - 1 times, in place: the victim is one person, however many releases hold them."""
    if prior == "uniform":
        return
    for i in range(1, int(holding.max(initial=0))):
        again = holding > i
        divisor = np.repeat(published[None, :], int(again.sum()), axis=0)
        if prior == "local":
            divisor = np.maximum(total[again] - i, 0.0) + LOCAL_ROWS * divisor
        taken = np.divide(belief[again], divisor, where=divisor > 0, out=np.zeros_like(divisor))
        belief[again] = _normalised(taken)


def _positive(view: View) -> object:
    """Groups x values: 1 where the published count is above 0."""
    positive = view.histogram.copy()
    positive.data = (positive.data > 0).astype(np.int32)
    return positive


def _blank(people: int, size: int) -> Narrowed:
    return Narrowed(
        np.zeros(people, np.int64),
        guess=np.zeros(people, np.int64),
        posterior=np.zeros(people),
        values=np.zeros((people, -(-size // 8)), np.uint8),
        matched=np.zeros(people, bool),
    )


def _write(into: Narrowed, part: slice, left: np.ndarray, belief: np.ndarray, prior: np.ndarray, said: object) -> None:
    """Restrict the belief to what is left; where nothing is, the guess is that of someone who knows no release."""
    kept = belief * left
    lost = kept.sum(axis=1) <= 0
    if lost.any():  # nothing left, or too unlikely for a float
        some = left[lost].any(axis=1)
        kept[lost] = np.where(some[:, None], left[lost].astype(np.float64), prior)
    kept = _normalised(kept)
    into.left[part] = left.sum(axis=1)
    best = kept.max(axis=1)
    # Equally likely values may differ in the last digit: the first of them is the guess.
    into.guess[part] = (kept >= best[:, None] * (1 - _TIE)).argmax(axis=1)
    into.posterior[part] = best
    into.values[part] = np.packbits(left, axis=1)
    into.matched[part] = said


def _normalised(rows: np.ndarray) -> np.ndarray:
    totals = rows.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(rows, totals, where=totals > 0, out=np.zeros_like(rows)))
