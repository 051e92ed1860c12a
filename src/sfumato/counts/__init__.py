"""The only door for rows: tables, counts, recodings. Everything in it is confidential."""

from sfumato.counts.counts import Counts
from sfumato.counts.holdout import holdout
from sfumato.counts.people import Members
from sfumato.counts.recoding import Cuts, Quota, Recoding, RoutingTree
from sfumato.counts.table import Table, check, read

__all__ = ["Counts", "Cuts", "Members", "Quota", "Recoding", "RoutingTree", "Table", "check", "holdout", "read"]
