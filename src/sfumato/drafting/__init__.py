"""Proposing a schema for a file, and listing what a person must decide."""

from sfumato.drafting.decisions import (
    Decision,
    adds_to_missing,
    answered,
    answered_alike,
    as_proposed,
    asked_alike,
    changed,
    decisions,
    keys_of,
    text_of,
    with_attributes,
    with_roles,
    without_rows,
)
from sfumato.drafting.draft import Look, draft, look_at, sheets_of
from sfumato.drafting.profile import Preview, Profile, preview, profiles
from sfumato.drafting.units import unit_answers, unit_question, with_unit, without_unit_questions

__all__ = [
    "Decision",
    "Look",
    "Preview",
    "Profile",
    "adds_to_missing",
    "answered",
    "answered_alike",
    "as_proposed",
    "asked_alike",
    "changed",
    "decisions",
    "draft",
    "keys_of",
    "look_at",
    "preview",
    "profiles",
    "sheets_of",
    "text_of",
    "unit_answers",
    "unit_question",
    "with_attributes",
    "with_roles",
    "with_unit",
    "without_rows",
    "without_unit_questions",
]
