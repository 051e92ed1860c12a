"""What a release may promise: requirements, guarantees, and the claim that carries one of them."""

from __future__ import annotations

from sfumato.claims.anonymity import AlphaK, KAnonymity, anonymity_parts, rows_for
from sfumato.claims.claim import Claim, Neighbours
from sfumato.claims.classes import MECHANISM_TOLERANCE, VERIFY_TOLERANCE, Figure
from sfumato.claims.closeness import TCloseness
from sfumato.claims.disclosure import SemanticPrivacy
from sfumato.claims.diversity import LDiversity
from sfumato.claims.ground_distance import Ground
from sfumato.claims.guarantees import ApproxDP, ConcentratedDP, Linkable, Nothing, ProbabilisticDP, PureDP
from sfumato.claims.likeness import BetaLikeness
from sfumato.claims.linkability import Linkability, split_linkability
from sfumato.claims.registry import (
    GUARANTEES,
    REQUIREMENTS,
    Promise,
    asked_for,
    promise_from_json,
    requirement_flags,
    requirement_from_json,
    requirement_words,
)
from sfumato.claims.requirement import Conjunction, Found, Requirement, Unit, check_each, requirement_notes
from sfumato.exact import Number, mistyped, number_from_json, number_to_json, plain, printable, unknown_keys

__all__ = [
    "GUARANTEES",
    "MECHANISM_TOLERANCE",
    "REQUIREMENTS",
    "VERIFY_TOLERANCE",
    "AlphaK",
    "ApproxDP",
    "BetaLikeness",
    "Claim",
    "ConcentratedDP",
    "Conjunction",
    "Figure",
    "Found",
    "Ground",
    "KAnonymity",
    "LDiversity",
    "Linkability",
    "Linkable",
    "Neighbours",
    "Nothing",
    "Number",
    "ProbabilisticDP",
    "Promise",
    "PureDP",
    "Requirement",
    "SemanticPrivacy",
    "TCloseness",
    "Unit",
    "anonymity_parts",
    "asked_for",
    "check_each",
    "mistyped",
    "number_from_json",
    "number_to_json",
    "plain",
    "printable",
    "promise_from_json",
    "requirement_flags",
    "requirement_from_json",
    "requirement_notes",
    "requirement_words",
    "rows_for",
    "split_linkability",
    "unknown_keys",
]
