"""Boxes, groups, labels and a claim; saved, loaded, read from anyone's files, verified. Imports no mechanism."""

from __future__ import annotations

from sfumato.release.check_classes import ground_of
from sfumato.release.declared_people import DeclaredPeople
from sfumato.release.release import (
    Boxes,
    Carried,
    Form,
    Groups,
    PlacedLines,
    Release,
    Residence,
    SeenByKey,
    Summary,
    assemble,
)
from sfumato.release.tables import PublishedTable, published_frames
from sfumato.release.verdict import Finding, Verdict
from sfumato.release.verify import verify

__all__ = [
    "Boxes",
    "Carried",
    "DeclaredPeople",
    "Finding",
    "Form",
    "Groups",
    "PlacedLines",
    "PublishedTable",
    "Release",
    "Residence",
    "SeenByKey",
    "Summary",
    "Verdict",
    "assemble",
    "ground_of",
    "published_frames",
    "verify",
]
