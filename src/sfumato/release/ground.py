"""The distance between values of a sensitive attribute that t-closeness (emd) uses, in mechanism and verifier alike."""

from __future__ import annotations

from sfumato.claims import Ground
from sfumato.schema import Attribute

__all__ = ["ground_of"]


def ground_of(attribute: Attribute) -> Ground:
    """Return ordered for numbers, ranks and dates; equal for nominal attributes, hierarchical where the schema asks.

    Equal distance is the stricter of the two (no path in the tree is longer than 1), so it is the default. A hierarchy
    that was read off the data is not published, so a verifier could not use it: equal.
    """
    if attribute.ordered:
        return Ground.ordered()
    tree = attribute.nodes
    if attribute.ground == "hierarchical" and attribute.declared_tree and attribute.source != "data":
        leaves = [tree.by_interval.get((code, code + 1)) for code in range(attribute.size)]
        return Ground.hierarchical(tree.parent.tolist(), leaves)
    return Ground.equal()
