"""DiffGen: specialize a generalized table under differential privacy, then publish its noisy counts."""

from sfumato.mechanisms.diffgen.diffgen import DiffGen, choose_prefix, prefix_scores, step_epsilon
from sfumato.mechanisms.diffgen.scores import information_gain, max_score

__all__ = ["DiffGen", "choose_prefix", "information_gain", "max_score", "prefix_scores", "step_epsilon"]
