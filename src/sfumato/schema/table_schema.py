"""The schema of a table: its attributes in order, who the rows are about, how many rows a person has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError, Problem, SchemaError, count_of
from sfumato.schema.attribute import Attribute, Role
from sfumato.schema.build import build_attribute
from sfumato.schema.builders import LEAVES_LIMIT
from sfumato.schema.domain import Values
from sfumato.schema.file import parse_toml, read_file
from sfumato.schema.free_text import looks_like_free_text
from sfumato.schema.hierarchy_file import arx_lines, read_text
from sfumato.schema.leaves import doubled_names

__all__ = ["Schema"]

_NAMED = 100  # columns listed in a message
_DECIDE_ROLE = "say what each column is and delete the question from `decide`; --undecided publishes all the same"


@dataclass(frozen=True, slots=True)
class Schema:
    """What may be said of a table. Holds no data."""

    attributes: tuple[Attribute, ...]
    _: KW_ONLY
    name: str = "table"
    population: str = ""
    rows_per_person: int = 1
    decide: tuple[str, ...] = ()
    _by_name: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {attribute.name: attribute for attribute in reversed(self.attributes)})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Read a TOML file; raise one `SchemaError` that carries every problem."""
        file = Path(path)
        text, problems = read_text(file, file.name)
        if problems:
            raise SchemaError(problems)
        data, problems = parse_toml(text, file.name)
        if problems:
            raise SchemaError(problems)
        return cls.parse(data, folder=file.resolve().parent)

    @classmethod
    def parse(cls, data: Mapping[str, Any], *, folder: str | PathLike[str] = ".") -> Schema:
        """Build a schema from the mapping a TOML file holds; hierarchy files are looked up in `folder`."""
        file, sound, problems = read_file(data)
        attributes = []
        for name, given in sound.items():
            if given.source is None and file is not None:
                given.source = file.source  # the table's own says it for every column that does not
            attribute, found = build_attribute(name, given, Path(folder))
            attributes.append(attribute)
            problems += found
        first = {attribute.column: attribute for attribute in reversed(attributes)}
        problems += [
            Problem(
                attribute.where,
                f"reads the column {attribute.column}, as another attribute does",
                "one attribute for each column",
            )
            for attribute in attributes
            if first[attribute.column] is not attribute
        ]
        if problems or file is None:
            raise SchemaError(problems)
        return cls(
            tuple(attributes),
            name=file.name,
            population=file.population or file.name,
            rows_per_person=file.rows_per_person,
            decide=tuple(file.decide),
        )

    def __getitem__(self, name: str) -> Attribute:
        found = self._by_name.get(name)
        if found is not None:
            return found
        more = ", ..." if len(self.attributes) > _NAMED else ""
        hint = f"one of {', '.join(self.names[:_NAMED])}{more}"
        raise ParameterError("attribute", name, "is not in the schema", hint=hint)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    def role(self, *roles: Role) -> tuple[Attribute, ...]:
        """Attributes in the given roles, in schema order."""
        return tuple(attribute for attribute in self.attributes if attribute.role in roles)

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """Quasi-identifiers, in schema order."""
        return self.role("quasi")

    @property
    def sensitive(self) -> tuple[Attribute, ...]:
        """Sensitive attributes, in schema order."""
        return self.role("sensitive")

    @property
    def carried(self) -> tuple[Attribute, ...]:
        """Attributes that are published as they are: sensitive and target, in schema order."""
        return self.role("sensitive", "target")

    @property
    def published(self) -> tuple[Attribute, ...]:
        """Everything a release may speak about: quasi-identifiers first, then what is carried."""
        return (*self.quasi, *self.carried)

    def with_roles(
        self,
        *,
        quasi: str | Iterable[str] | None = None,
        sensitive: str | Iterable[str] | None = None,
        target: str | Iterable[str] | None = None,
    ) -> Schema:
        """Return the schema in other roles; a role not given keeps its attributes, a column not named becomes `other`.

        The order of `quasi` does not matter: attributes stay in schema order.
        """
        chosen: dict[str, Role] = {}
        given: tuple[tuple[Role, Any], ...] = (("quasi", quasi), ("sensitive", sensitive), ("target", target))
        kept: dict[str, Role] = {}
        for role, names in given:
            if names is None:
                kept.update({attribute.name: role for attribute in self.role(role)})
                continue
            for name in [names] if isinstance(names, str) else names:
                attribute = self[name]
                if attribute.domain is None:
                    raise ParameterError(
                        role,
                        name,
                        "has no domain in the schema",
                        hint="declare its range, values or hierarchy",
                    )
                if name in chosen and chosen[name] != role:
                    raise ParameterError(role, name, f"is also {chosen[name]}", hint="name each column in one role")
                chosen[name] = role
        roles = {**kept, **chosen}
        return replace(
            self,
            attributes=tuple(
                attribute.with_role(
                    roles.get(attribute.name, "identifier" if attribute.role == "identifier" else "other")
                )
                for attribute in self.attributes
            ),
        )

    def decisions(self) -> list[Problem]:
        """What a person still has to decide: every entry of `decide`, of the table and of each column."""
        hint = "decide, then delete it from `decide`"
        asked = [_topic(item) for item in self.decide]
        asked += [(attribute.where, item) for attribute in self.attributes for item in attribute.decide]
        return [Problem(path, item, hint) for path, item in asked]

    def remarks(self) -> list[Problem]:
        """What a person should hear and need not decide: values like free text or without groups, domains, no role."""
        found = [remark for attribute in self.published for remark in _of_values(attribute)]
        found += [
            Problem(
                attribute.where,
                "has no groups or hierarchy: values are put together as their list has them, often by the alphabet",
                "groups = { group = [values that are alike] }, or a hierarchy",
            )
            for attribute in self.quasi
            if attribute.grouped_by_list
        ]
        found += [
            Problem(
                attribute.where,
                "domain read off the data: fine for k, l and t, refused by differentially private methods",
                'for those, put in what is publicly known and write source = "public"',
            )
            for attribute in self.published
            if attribute.source == "data"
        ]
        if not self.quasi:
            rule, hint = "no attribute is a quasi-identifier", 'role = "quasi" for what an outsider may know'
            found.append(Problem("attribute", rule, hint))
        if not self.sensitive:
            rule, hint = "no attribute is sensitive", 'role = "sensitive" for what must stay unlinked'
            found.append(Problem("attribute", rule, hint))
        return found

    def undecided_roles(self, names: Iterable[str]) -> list[Problem]:
        """Return those of the named columns whose role is still a question, though they would be published."""
        wanted = set(names)
        found = [
            Problem(attribute.where, f"its role is undecided, and {attribute.role} is published")
            for attribute in self.published
            if attribute.name in wanted and any(item.partition(":")[0].strip() == "role" for item in attribute.decide)
        ]
        return [*found[:-1], *(replace(last, hint=_DECIDE_ROLE) for last in found[-1:])]  # said once, for all

    def refuse_data_domains(self, names: Sequence[str]) -> None:
        """Raise when a differentially private claim would rest on a domain not said to be public, or on what is open.

        `rows_per_person` is part of every such claim, so the table's own decisions must be taken too.
        """
        wanted = [self[name] for name in names]
        problems = [
            Problem(
                attribute.where,
                "its domain or range was read off the data, so a differentially private claim would be false"
                if attribute.source == "data"
                else "does not say that its domain or range is public, on which a differentially private claim rests",
                'declare what is publicly known and write source = "public", once for all columns or for each',
            )
            for attribute in wanted
            if attribute.source != "public"
        ]
        open_ones = [_topic(item) for item in self.decide]
        open_ones += [(a.where, ", ".join(item.partition(":")[0] for item in a.decide)) for a in wanted if a.decide]
        hint = "a proved claim rests on it: decide, then delete the question from `decide`"
        problems += [Problem(path, f"undecided: {what}", hint) for path, what in open_ones]
        if problems:
            raise SchemaError(problems)

    def arx_hierarchy(self, name: str) -> str:
        """Return the hierarchy of an attribute as the text of an ARX file."""
        attribute = self[name]
        if attribute.domain is None:
            raise ParameterError("attribute", name, "has no domain in the schema", hint="declare its hierarchy")
        if attribute.values.size > LEAVES_LIMIT:
            rule = f"has more than {LEAVES_LIMIT} values"
            raise ParameterError(
                "attribute", name, rule, hint="a hierarchy file has a line for each: use a larger step"
            )
        leaves = [attribute.values.text(code) for code in range(attribute.values.size)]
        lines = arx_lines(attribute.nodes, leaves)
        if lines is None:
            rule = "has one name under two parents, which an ARX file can not say"
            raise ParameterError("attribute", name, rule, hint="give the groups names of their own")
        return "\n".join(lines) + "\n"


def _of_values(attribute: Attribute) -> list[Problem]:
    """What the listed values of a published column give to think about. Never names one."""
    if not isinstance(attribute.domain, Values):
        return []
    found, names = [], attribute.domain.names
    if looks_like_free_text(names):
        rule = "looks like free text: values with several words; names may be in it"
        found.append(Problem(attribute.where, rule, 'read its values; role = "other" keeps it out of a release'))
    if attribute.role == "quasi" and attribute.declared_tree and (doubled := doubled_names(attribute.nodes, names)):
        rule = f"{count_of(len(doubled), 'group is named like a value', 'groups are named like values')}"
        told = f"{rule}: it is published as the values it holds, not by its name"
        hint = f"give it another name in {attribute.hierarchy or 'the hierarchy'}"
        found.append(Problem(attribute.where, told, hint, count=len(doubled), values=tuple(doubled)))
    return found


def _topic(item: str) -> tuple[str, str]:
    """Cut a decision of the whole table into the key it is about and the question."""
    key, colon, question = item.partition(":")
    return (key.strip(), question.strip()) if colon and key.strip() else ("decide", item)
