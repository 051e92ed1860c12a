"""Boxes, groups, labels and a claim; saved, loaded, read from anyone's files, verified. Imports no mechanism."""

from __future__ import annotations

from sfumato.release.boxes import Boxes, Carried, Groups
from sfumato.release.declared import DeclaredPeople
from sfumato.release.frames import PublishedTable, published_frames
from sfumato.release.ground import ground_of
from sfumato.release.release import Form, Outcome, Release, Residence, Summary, assemble
from sfumato.release.verdict import Finding, Verdict
from sfumato.release.verify import verify

__all__ = [
    "Boxes",
    "Carried",
    "DeclaredPeople",
    "Finding",
    "Form",
    "Groups",
    "Outcome",
    "PublishedTable",
    "Release",
    "Residence",
    "Summary",
    "Verdict",
    "assemble",
    "ground_of",
    "published_frames",
    "verify",
]
