"""Foreground knowledge: patterns that the release itself shows are used inside its groups.

Source    Wong, Fu, Wang, Yu & Pei, "Can the utility of anonymized data be used for privacy breaches?", TKDD 2011.
Claim     P(y_j | s) is read off the release as its readers do (every value of a group as likely for each of its rows),
          once; inside a group the values are dealt by these patterns, boxes and groups keeping their numbers.
Because   an analyst would find the same patterns: they are what the release is published for. It is one round of
          `definetti.py`, which goes on until the patterns fit the dealing.
Checked   tests/claims/test_attribute_attacks.py::test_foreground_knowledge_is_the_first_round
          tests/claims/test_attribute_attacks.py::test_values_dealt_by_patterns_on_planted_tables
          tests/claims/test_attribute_attacks.py::test_wrong_foreground_attacks_are_caught
Silent on patterns of several columns together.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar

from sfumato.attacks.base import Fit, Gain, Harm
from sfumato.attacks.case import Case, run
from sfumato.attacks.definetti import DeFinetti
from sfumato.attacks.victims import MOST
from sfumato.declare import Whole, declare, parameter
from sfumato.release import Release

__all__ = ["Foreground"]


@declare
class Foreground:
    """Guess the sensitive value by patterns that the release shows."""

    name: ClassVar[str] = "foreground"
    axis: ClassVar[Harm] = "inference"
    compared: ClassVar[bool] = True

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=1)

    run = run

    def fits(self, release: Release) -> Fit:
        """As for deFinetti's attack."""
        return DeFinetti(most=self.most).fits(release)

    def attempt(self, case: Case) -> Gain:
        """Read the patterns once, and guess targets and controls."""
        found = DeFinetti(rounds=1, most=self.most).attempt(case)
        parts = {name: _renamed(one) for name, one in found.by_attribute.items()}
        return replace(_renamed(found), by_attribute=parts)


def _renamed(gain: Gain) -> Gain:
    holds = gain.holds.replace(" and learns across groups (deFinetti)", " and uses patterns that the release shows")
    return replace(gain, attack=Foreground.name, holds=holds)
