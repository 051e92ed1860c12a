"""The only door for rows: sources, encoding, counts, recodings, drafts. Everything in it is confidential."""

from sfumato.counts.counts import Counts
from sfumato.counts.people import Members
from sfumato.counts.recoding import Cuts, Quota, Recoding, Tree
from sfumato.counts.table import Table, check, read
from sfumato.drafting.draft import draft

__all__ = ["Counts", "Cuts", "Members", "Quota", "Recoding", "Table", "Tree", "check", "draft", "read"]
