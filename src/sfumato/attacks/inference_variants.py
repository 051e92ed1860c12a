"""Inference with one more idea each: values that stand out, values that are alike, values that are ruled out.

Source    Li, Li & Venkatasubramanian, "t-closeness", ICDE 2007 (skewness and similarity attacks); Machanavajjhala et
          al., "l-diversity", TKDD 2007 (background knowledge that rules values out).
Claim     `skewness` guesses the value whose share at the person's point is furthest above its share in the whole
          release, and its baseline is how often people have the guessed value at all. `similarity` counts a guess as
          right that lies below the same node of the sensitive hierarchy, one step up. `ruled-out` knows of the
          likeliest wrong value that it is wrong. All three are `inference` with one field set.
Because   where one person in a hundred is ill, a class in which half are says much about its people, although both
          values are likely; three names of one illness are diverse and say the same; and friends know what somebody
          does not have.
Checked   tests/claims/test_inference_variants.py::test_skewness_on_planted_tables
          tests/claims/test_inference_variants.py::test_similarity_on_planted_tables
          tests/claims/test_inference_variants.py::test_ruled_out_on_planted_tables
          tests/claims/test_inference_variants.py::test_skewness_equals_the_slow_attack
          tests/claims/test_inference_variants.py::test_wrong_mutants_are_caught
Silent on which values are worth hiding: each counts the same.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import ClassVar

from sfumato.attacks.base import FITS, Fit, Gain, Harm
from sfumato.attacks.case import Case, run
from sfumato.attacks.inference import Inference, carries
from sfumato.attacks.victims import MOST
from sfumato.declare import Whole, declare, parameter
from sfumato.release import Release

__all__ = ["RuledOut", "Similarity", "Skewness"]


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
        deep = any(int(attribute.nodes.depth.max()) > 1 for attribute in release.carried)
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
        return _named(Inference(ruled_out=self.ruled_out, most=self.most).attempt(case), self.name)
