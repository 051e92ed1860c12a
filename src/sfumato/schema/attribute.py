"""One attribute: its role, its kind, the codes it may take and the public tree over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

from sfumato.schema.domain import Days, Domain, Edges, Grid, Values, domain_from_json
from sfumato.schema.formats import PLAIN_NUMBERS, NumberForm
from sfumato.schema.hierarchies import RULE_LIMIT, Mask
from sfumato.schema.tree import Tree

Role = Literal["identifier", "quasi", "sensitive", "target", "other"]
Kind = Literal["numeric", "ordered", "nominal", "date"]
DomainSource = Literal["public", "data", "unstated"]  # where the domain comes from

MISSING = "(missing)"
KNOWN = "(known)"  # every value, but not the missing ones


@dataclass(frozen=True, slots=True)
class Missing:
    """Which texts mean "no value" (nulls always do) and what becomes of the row."""

    texts: tuple[str, ...] = ()
    _: KW_ONLY
    action: Literal["category", "suppress"] = "category"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of the table as the schema sees it.

    Codes run from 0 to `size - 1`; where missing is a category, it is the last code.
    Attributes that are never published may have no domain.
    """

    name: str
    _: KW_ONLY
    role: Role = "other"
    kind: Kind = "nominal"
    domain: Domain | None = None
    tree: Tree | None = field(default=None, repr=False)
    declared_tree: bool = False
    missing: Missing | None = None
    source: DomainSource = "unstated"
    column: str = ""
    hierarchy: str = field(default="", compare=False)  # the file's name as the schema writes it, for messages
    clamp: bool = False
    other: str | None = None
    mask: Mask | None = field(default=None, compare=False)  # the rule behind domain and tree, where it is all of both
    masked: bool = field(default=False, compare=False)  # the tree is that of a mask, listed values or not
    same: Mapping[str, str] = field(default_factory=dict, hash=False)  # spelling -> the listed value it is read as
    format: str | None = None  # how the file writes days, where they are not ISO
    numbers: NumberForm = PLAIN_NUMBERS  # how the file writes numbers, where it is not 1234.5
    ground: Literal["equal", "hierarchical"] = "equal"
    decide: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = field(default=(), compare=False)  # of a release: names of groups among its values

    @property
    def values(self) -> Domain:
        """The domain; an attribute in use always has one."""
        if self.domain is None:
            msg = f"attribute {self.name} has no domain"
            raise AssertionError(msg)
        return self.domain

    @property
    def nodes(self) -> Tree:
        """The public tree; an attribute in use always has one."""
        if self.tree is None:
            msg = f"attribute {self.name} has no tree"
            raise AssertionError(msg)
        return self.tree

    @property
    def size(self) -> int:
        """Number of codes, the missing one included."""
        return self.values.size + (self.missing_code is not None)

    @property
    def missing_code(self) -> int | None:
        """The last code where missing is a category of its own."""
        if self.missing is None or self.missing.action != "category" or self.domain is None:
            return None
        return self.domain.size

    @property
    def spelt(self) -> bool:
        """True if the schema says how the file writes days or numbers, so that a typed cell is spelt so first."""
        return self.format is not None or not self.numbers.plain

    @property
    def ordered(self) -> bool:
        """True when codes lie on a line by meaning, not only by leaf order."""
        return self.kind != "nominal"

    @property
    def grouped_by_list(self) -> bool:
        """True for listed values without an order or groups: only their place in the list puts several together."""
        return self.kind == "nominal" and isinstance(self.domain, Values) and not self.declared_tree and self.size > 2

    @property
    def intervals(self) -> str:
        """Say in which intervals its values are published where nothing makes them coarser; empty where exactly."""
        domain = self.domain
        if isinstance(domain, Grid) and not domain.whole:
            return f"intervals of {domain.step.normalize():,f}"
        wide = isinstance(domain, Edges) or (isinstance(domain, Days) and (domain.months or domain.step > 1))
        return "intervals" if wide else ""

    @property
    def column_name(self) -> str:
        """Name of its column in the file or frame that is read: that of the attribute, unless the schema gives one."""
        return self.column or self.name

    @property
    def where(self) -> str:
        """Path of the attribute in the schema file."""
        return f"attribute.{self.name}"

    def text(self, code: int) -> str:
        """Name of one code."""
        return MISSING if code == self.missing_code else self.values.text(code)

    def texts(self) -> list[str]:
        """Names of all codes, in code order."""
        return [self.text(code) for code in range(self.size)]

    @property
    def no_value_codes(self) -> tuple[int, ...]:
        """Codes that say that there is no value: missing, and listed values such as "unknown", "n/a" or "?"."""
        from sfumato.schema.word_hints import NO_VALUE, answers_like_none, meaning_none

        names = self.domain.names if isinstance(self.domain, Values) else ()
        answers = {"None", "-", *answers_like_none(names)}  # no illness, and a negative test, are values
        words = NO_VALUE - answers | {*meaning_none(names)}
        found = tuple(code for code, name in enumerate(names) if name in words)
        missing = () if self.missing_code is None else (self.missing_code,)
        return (*found, *missing)

    @property
    def unsure_codes(self) -> tuple[int, ...]:
        """Codes of listed values that may say that there is no value, such as 9 above 1 to 3."""
        from sfumato.schema.answer_codes import maybe_no_answer

        names = self.domain.names if isinstance(self.domain, Values) else ()
        none = {*self.no_value_codes}
        unsure = {*maybe_no_answer([name for code, name in enumerate(names) if code not in none])}
        return tuple(code for code, name in enumerate(names) if code not in none and name in unsure)

    def same_codes(self, other: Attribute) -> bool:
        """Whether a code means the same value in both."""
        return self is other or (self.domain == other.domain and self.missing_code == other.missing_code)

    def with_role(self, role: Role) -> Attribute:
        """Return the attribute in another role."""
        return replace(self, role=role)

    def to_json(self) -> dict[str, Any]:
        """Return the attribute as a plain mapping, domain and tree included."""
        data: dict[str, Any] = {
            "name": self.name,
            "role": self.role,
            "kind": self.kind,
            "source": self.source,
        }
        if self.mask is not None and self.source != "data" and self.values.size == self.mask.size <= RULE_LIMIT:
            data["mask"] = self.mask.to_json()
        elif self.domain is not None:
            data["domain"] = self.domain.to_json()
            if self.declared_tree and self.tree is not None:
                data["tree"] = self.tree.to_json()
        if self.unlisted:
            data["groups"] = list(self.unlisted)
        if self.missing is not None:
            data["missing"] = self.missing.action
        if self.ground != "equal":
            data["ground"] = self.ground
        if self.clamp:
            data["clamp"] = True
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attribute:
        """Return the attribute that `to_json` wrote (texts that meant missing are not in it)."""
        from sfumato.schema.from_toml import default_tree

        domain = domain_from_json(data["domain"]) if "domain" in data else None
        missing = Missing(action=data["missing"]) if "missing" in data else None
        tree = Tree.from_json(data["tree"]) if "tree" in data else None
        mask = Mask.from_json(data["mask"]) if "mask" in data else None
        if not isinstance(groups := data.get("groups", []), list):
            raise TypeError("groups")
        if mask is not None:
            domain, tree = mask.grown(MISSING if missing and missing.action == "category" else None)
        if domain is not None and tree is None:
            tree = default_tree(domain, data["kind"], MISSING if missing and missing.action == "category" else None)
        return cls(
            data["name"],
            role=data["role"],
            kind=data["kind"],
            domain=domain,
            tree=tree,
            declared_tree="tree" in data or (mask is not None and mask.length > 1),
            mask=mask,
            missing=missing,
            source=data["source"],
            ground=data.get("ground", "equal"),
            unlisted=tuple(groups),
            clamp=data.get("clamp", False),
        )
