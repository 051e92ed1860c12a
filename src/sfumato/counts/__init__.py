"""Tables, counts and recodings: the only way in for rows. Everything here is confidential."""

from sfumato.counts.counts import Counts
from sfumato.counts.holdout import holdout
from sfumato.counts.people import Members
from sfumato.counts.recoding import Cuts, Quota, Recoding, RoutingTree
from sfumato.counts.table import Table, check, read

__all__ = ["Counts", "Cuts", "Members", "Quota", "Recoding", "RoutingTree", "Table", "check", "holdout", "read"]
