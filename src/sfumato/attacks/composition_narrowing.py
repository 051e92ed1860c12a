"""Which values several releases leave a victim, and how likely each is.

Source    Ganta, Kasiviswanathan & Smith, KDD 2008 (the intersection attack); the dLink paper, definition 2. The
          posterior is ours.
Claim     left = intersection over releases j of S_j, the values with a positive published count in some class that may
          hold the victim. A release of which no class holds the victim does not narrow.
          P(s | all) is proportional to prior(s) x product over j of h_j(s) / prior(s), on the values left, where h_j is
          the mixture of the histograms of the victim's classes in release j.
Because   in a class of people drawn independently with P(s) = prior(s), one of them the victim, the chance of the
          published histogram given that the victim has s is proportional to h(s) / prior(s); releases are taken as
          independent given the victim's value. With the uniform prior it is the plain product of the histograms.
Checked   tests/claims/test_composition_attack.py::test_equals_the_slow_attack
          tests/claims/test_composition_attack.py::test_nine_to_one_twice_is_eighty_one_to_one
          tests/claims/test_composition_attack.py::test_posterior_is_bayes_by_enumeration
Silent on how the other people of a class depend on the quasi-identifiers, and on noise: a positive noisy count is read
          as a count. No float decides what is left: that is counted in integers.
Cost      victims x values for each release, some at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.attacks.composition_classes import Classes
from sfumato.reading import View

__all__ = ["Narrowed", "narrow"]

_ENTRIES = 1 << 22  # of a victims x values matrix held at a time
_TIE = 1e-12


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
    views: Sequence[View], classes: Sequence[Classes], overall: np.ndarray, prior: np.ndarray
) -> tuple[Narrowed, list[Narrowed]]:
    """Return what all releases together leave each victim, and what each alone does."""
    people, size = classes[0].holds.shape[0], len(overall)
    together = _blank(people, size)
    alone = [_blank(people, size) for _ in views]
    present = [_positive(view) for view in views]
    step = max(1, _ENTRIES // max(size, 1))
    for start in range(0, people, step):
        part = slice(start, min(start + step, people))
        many = part.stop - part.start
        left = np.repeat((overall > 0)[None, :], many, axis=0)
        belief = np.repeat(prior[None, :], many, axis=0)
        matched = np.zeros(many, bool)
        for view, found, positive, own in zip(views, classes, present, alone, strict=True):
            held = np.asarray((found.holds[part] @ positive).toarray() > 0)
            said = np.asarray(held.any(axis=1))
            held |= ~said[:, None] & (overall > 0)
            mixed = _mixture(found, view, part, said, held, prior)
            _write(own, part, held, mixed, prior, said)
            left &= held
            ratio = np.divide(mixed, prior, where=prior > 0, out=np.zeros_like(mixed))
            belief = _normalised(belief * np.where(said[:, None], ratio, 1.0))
            matched |= said
        _write(together, part, left, belief, prior, matched)
    return together, alone


def _mixture(
    found: Classes, view: View, part: slice, said: np.ndarray, held: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """h_j: the mixture of the victims' classes as a distribution; the prior where the release says nothing."""
    mixed = np.asarray((found.share[part] @ view.histogram).toarray(), np.float64) * held
    return np.where(said[:, None], _normalised(mixed), prior)


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
