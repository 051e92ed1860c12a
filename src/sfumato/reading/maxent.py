"""The maximum-entropy reading: the release itself says more than the uniform assumption uses.

Source    Li & Li, KDD 2009, section 6 (future work: better than the uniform assumption).
Claim     What labels hide is read by p(x | s) (`spread`), who in a bucket has which value by p(s | labels) (`link`);
          both are maximum-entropy models of one-way tables, learnt from the release alone. The number of steps is the
          one that best foretells the other half of the groups: none, which is the uniform reading, if no step does.
          Every group keeps its histogram. Labels of single values are read as they are.
Because   each half of the groups (even, odd; groups are numbered by content) is learnt from and the other scored.
          Without that check the models would learn noise: they have more parameters than a coarse release has counts.
Checked   tests/claims/test_maxent.py::test_margins_are_kept
          tests/claims/test_maxent.py::test_recovers_what_other_labels_show
          tests/claims/test_maxent.py::test_nothing_to_learn_reads_as_uniform
Silent on being better for a given table: it foretells the release better, not the truth. It reads only the release,
          but what it infers about people can be more than P_loss counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from sfumato.reading.alignment import View
from sfumato.reading.link import Link
from sfumato.reading.spread import Spread
from sfumato.reading.walk import Cells, Step, cells_of, coverages

__all__ = ["MaxentReading", "fit_maxent"]

_STEPS = 60
_PATIENCE = 3  # steps without a better score before giving up
_GAIN = 1e-5  # of the score, below which another step is not worth its time


@dataclass(frozen=True, slots=True)
class MaxentReading:
    """The cells as read, how many steps were taken, and the held-out score after each step tried."""

    cells: Cells
    _: KW_ONLY
    steps: int
    scores: tuple[float, ...]


def fit_maxent(view: View, steps: Sequence[Step] | None = None) -> MaxentReading:
    """Learn from the release how its labels (or, for buckets, its groups) are to be read (for these steps, or any)."""
    cells = cells_of(view, coverages(view, steps))
    model: Spread | Link = (Spread if view.one_box_each else Link).uniform(view, cells)
    lengths = np.diff(view.histogram.indptr)[view.group]
    even = np.repeat(view.group % 2 == 0, lengths)
    many, scores = _best_number_of_steps(model, even)
    everything = np.ones(len(cells.mass), bool)
    for _ in range(many):
        model = model.advance(everything)
    return MaxentReading(model.read() if many else cells, steps=many, scores=scores)


def _best_number_of_steps(start: Spread | Link, even: np.ndarray) -> tuple[int, tuple[float, ...]]:
    """Learn on each half of the groups, score on the other; the first of the best wins."""
    halves = [(start, even, ~even), (start, ~even, even)]
    scores = [sum(model.score(other) for model, _, other in halves)]
    for step in range(1, _STEPS + 1):
        halves = [(model.advance(mine), mine, other) for model, mine, other in halves]
        scores.append(sum(model.score(other) for model, _, other in halves))
        little = 0 <= scores[-1] - scores[-2] < _GAIN * abs(scores[-2])
        if little or step - int(np.argmax(scores)) >= _PATIENCE:
            break
    return int(np.argmax(scores)), tuple(scores)
