"""All codes of one length as a rule, so that a manifest says "five digits" and does not list 100,000 codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from sfumato.limits import MASK_CODES
from sfumato.schema.builders import masked
from sfumato.schema.domain import Values, whole_of
from sfumato.schema.tree import Tree, grow

__all__ = ["RULE_LIMIT", "Mask"]

RULE_LIMIT = MASK_CODES  # codes a manifest may ask its reader to make; more are listed in it one by one


@dataclass(frozen=True, slots=True)
class Mask:
    """Every text of `length` letters of the alphabet; characters are hidden from one side on."""

    length: int
    _: KW_ONLY
    side: Literal["right", "left"]
    alphabet: str

    @property
    def size(self) -> int:
        """How many codes there are."""
        return int(len(set(self.alphabet)) ** self.length)

    def grown(self, missing: str | None) -> tuple[Values, Tree]:
        """Return the codes and their tree, as the schema builds them."""
        if not 1 <= self.length <= 64 or not self.alphabet or self.size > RULE_LIMIT:
            msg = "the rule makes no codes, or too many"
            raise ValueError(msg)
        branch, problems = masked(None, self.length, self.side, self.alphabet, "mask")
        if problems:
            raise ValueError(problems[0].rule)
        tree, names = grow(branch, missing=missing)
        return Values(names), tree

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping, worded as in a schema file."""
        return {"length": self.length, "from": self.side, "alphabet": self.alphabet}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mask:
        """Return the rule that `to_json` wrote."""
        if data["from"] not in ("right", "left") or not isinstance(data["alphabet"], str):
            msg = "is no mask"
            raise ValueError(msg)
        return cls(whole_of(data["length"]), side=data["from"], alphabet=data["alphabet"])
