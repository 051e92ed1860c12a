"""A learner trained on the release guesses the sensitive value, of people in it and of people it never saw.

Source    Cormode, "Personal privacy vs population privacy: learning to attack anonymization", KDD 2011; target and
          control: Giomi et al., PoPETs 2023.
Claim     Success is a value predicted by a learner that saw the release alone. What it says of the controls is
          what it learned of everybody; the gain is what their own rows add for the targets.
Because   targets and controls are drawn from one table, and only the targets' rows are in the release: for each of them
          a control stands for the same learner trained without the row.
Checked   tests/claims/test_attribute_attacks.py::test_a_learner_on_planted_tables
          tests/claims/test_attribute_attacks.py::test_a_learner_gains_what_its_rows_say
          tests/claims/test_attribute_attacks.py::test_wrong_learners_are_caught
          tests/claims/test_attribute_attacks.py::test_a_learner_that_sees_the_controls_is_caught
Silent on learners that generalize less or more than this one.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from sfumato.attacks.base import Fit, Gain, Harm
from sfumato.attacks.case import Case, run
from sfumato.attacks.inference import Guesser, Guesses, carries, guess_secrets
from sfumato.attacks.victims import MOST, Victims
from sfumato.declare import Whole, declare, parameter
from sfumato.estimate import align, row_features
from sfumato.measures.classification import training_lines
from sfumato.measures.learners import ModelName, fit
from sfumato.release import Release
from sfumato.schema import Schema

__all__ = ["Learner"]


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
            learned = fit(self.model, training_lines(view, np.arange(view.values)), seed=case.seed)

            def guess(people: Victims) -> Guesses:
                success = learned(row_features(release, schema, people.quasi)) == people.secret
                return Guesses(people, success=success, chance=success.astype(np.float64), certain=success)

            said = {"holds": f" and trains a learner ({self.model}) on the release"}
            return Guesser(guess, overall=view.overall, groups=np.arange(view.values), said=said)

        return guess_secrets(self.name, guesser, case, most=self.most)
