"""The only door for rows: sources, encoding, counts, recodings, drafts. Everything in it is confidential."""

from sfumato.counts.counted import Counts
from sfumato.counts.draft import draft
from sfumato.counts.people import Members
from sfumato.counts.recoding import Cuts, Quota, Recoding, Tree
from sfumato.counts.table import Table, check, read

__all__ = ["Counts", "Cuts", "Members", "Quota", "Recoding", "Table", "Tree", "check", "draft", "read"]
