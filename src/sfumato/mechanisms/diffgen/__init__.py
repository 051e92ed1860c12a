"""DiffGen: specialize a generalized table under differential privacy, then publish its noisy counts."""

from sfumato.mechanisms.diffgen.diffgen import (
    DiffGen,
    choose_prefix,
    information_gain,
    max_score,
    prefix_scores,
    step_epsilon,
)

__all__ = ["DiffGen", "choose_prefix", "information_gain", "max_score", "prefix_scores", "step_epsilon"]
