"""The schema of a table: its attributes in order, who the rows are about, how many rows a person has.

A claim may speak of people only where the unit was decided: `person` names the columns that say who a row is about, or
`rows_per_person` is written down and no longer a question. Otherwise every count is a count of rows. A key that is
named and still a question is refused when a table is published; whoever allows it has people counted by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from sfumato.errors import ParameterError, Problem, SchemaError, count_of
from sfumato.limits import SCHEMA_BYTES
from sfumato.schema.attribute import KNOWN, MISSING, Attribute, Role
from sfumato.schema.checks import doubled_names, plain_spelling
from sfumato.schema.domain import Values
from sfumato.schema.free_text import (
    columns_of_people,
    is_named_after_a_person,
    looks_like_free_text,
    single_names,
    titled_values,
    with_given_names,
)
from sfumato.schema.from_toml import build_attribute
from sfumato.schema.hierarchies import LEAVES_LIMIT, arx_lines, read_text
from sfumato.schema.near_values import near_pairs
from sfumato.schema.open_questions import asks_about, unclear
from sfumato.schema.toml_models import parse_toml, read_file
from sfumato.schema.tree import ROOT
from sfumato.schema.word_hints import may_mean_none, names_a_category, names_a_worker

_NAMED = 100  # columns listed in a message
_SPELLING = "case, blanks, accents, punctuation or forms of a letter"
_UNIT_KEYS = ("person", "rows_per_person", "not_person", "not_count")
_DECIDE_ROLE = "say what each column is and delete the question from `decide`; --undecided publishes anyway"


@dataclass(frozen=True, slots=True)
class Schema:
    """What may be said of a table. Holds no data.

    `person` names the columns of the file that say who a row is about. `rows_per_person` is then a cap that reading
    enforces; without `person` it is an assumption about the file. `not_person` names columns that repeat and identify
    something other than people, `not_count` those named like a number of people that count something else.
    `person_exact` says that keys which differ only in case, blanks, punctuation or leading zeros are different people;
    otherwise they are refused. `copies_are_people` says that rows which are equal in every column of the file, or agree
    in a day or in the quasi-identifiers as the rows of one person do, are different people.
    `rows_stated` says whether `rows_per_person` was given; it is 1 where it was not.
    `other_rules` says of the schema saved with a release that its table was read by rules that are not saved, and
    without which a cell may be taken for another value: no new rows are read with it.

    >>> schema = sf.Schema.load(sf.datasets.ADULT_SCHEMA)
    >>> [attribute.name for attribute in schema.quasi]
    ['age', 'workclass', 'education', 'marital-status', 'race', 'sex']
    """

    attributes: tuple[Attribute, ...]
    _: KW_ONLY
    name: str = "table"
    population: str = ""
    rows_per_person: int = None  # type: ignore[assignment]  # `__post_init__` makes it 1 where it is not given
    rows: int | None = None  # about how many, publicly known; never read off the data
    decide: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    person_exact: bool = False
    copies_are_people: bool = False
    not_person: tuple[str, ...] = ()
    not_count: tuple[str, ...] = ()
    rows_stated: bool = None  # type: ignore[assignment]  # kept by `replace`, found here otherwise
    other_rules: bool = field(default=False, compare=False)
    _by_name: dict[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {attribute.name: attribute for attribute in reversed(self.attributes)})
        given = self.rows_per_person is not None
        rows = self.rows_per_person if given else 1
        stated = given if self.rows_stated is None else self.rows_stated
        object.__setattr__(self, "rows_per_person", rows)
        object.__setattr__(self, "rows_stated", bool(stated or rows > 1))
        object.__setattr__(self, "person", tuple(_listed(self.person)))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Read a TOML file; raise one `SchemaError` that carries every problem."""
        file = Path(path)
        text, problems = read_text(file, file.name, most=SCHEMA_BYTES)
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
        problems += [] if file is None else _person_problems(file.person, attributes)
        if file is not None and file.rows is not None and len(str(file.rows).rstrip("0")) > 1:
            rule = "must have one digit other than 0: an exact number would have been counted in the data"
            near = int(f"{file.rows:.0e}".partition("e")[0]) * 10 ** (len(str(file.rows)) - 1)
            problems.append(Problem("rows", rule, f"what is publicly known, such as rows = {near}"))
        if problems or file is None:
            raise SchemaError(problems)
        return cls(
            tuple(attributes),
            name=file.name,
            population=file.population or file.name,
            rows_per_person=file.rows_per_person,  # type: ignore[arg-type]
            rows=file.rows,
            decide=tuple(file.decide),
            person=tuple(_listed(file.person)),
            person_exact=file.person_exact,
            copies_are_people=file.copies_are_people,
            not_person=tuple(file.not_person),
            not_count=tuple(file.not_count),
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
        """Attributes that are not made coarser: sensitive and target, in schema order."""
        return self.role("sensitive", "target")

    @property
    def published(self) -> tuple[Attribute, ...]:
        """Everything a release may speak about: quasi-identifiers first, then what is carried."""
        return (*self.quasi, *self.carried)

    @property
    def unit(self) -> Literal["person", "row"]:
        """What a claim counts: people where the schema decides who they are, else rows.

        Where a person may keep several rows, people are counted by the key even while it is a question.
        """
        if self.person:
            return "row" if self.person_in_question and not self.several else "person"
        asked = any(asks_about(self.decide, key) for key in _UNIT_KEYS)
        return "person" if self.rows_stated and not asked else "row"

    @property
    def person_in_question(self) -> bool:
        """Whether a key of people is named, and whether it is one is, or may be, still to be decided."""
        return bool(self.person) and asks_about(self.decide, "person")

    @property
    def keyed_by(self) -> tuple[str, str]:
        """What one value of the key is called, and several: a person, unless it is a question whether it is one."""
        if not self.person_in_question:
            return "person", "people"
        of = f" of {' and '.join(self.person)}"
        one, several = ("value", "values") if len(self.person) == 1 else ("combination", "combinations")
        return one + of, several + of

    @property
    def capped_by(self) -> str:
        """Of each of what at most `rows_per_person` rows are kept, in the words of a release."""
        return self.keyed_by[0] if self.unit == "row" else "person"

    @property
    def trusted(self) -> str:
        """Whose rows are not counted as theirs where rows are called people on somebody's word; empty elsewhere."""
        if self.person or self.unit == "row":
            return ""
        if self.rows_per_person == 1:
            return "several rows: the publisher declares that each row is a different person"
        return f"more than {self.rows_per_person} rows: the publisher declares that nobody has more"

    @property
    def cap(self) -> int | None:
        """At most how many rows of each person reading keeps; None if it keeps all."""
        return self.rows_per_person if self.person and self.rows_stated else None

    @property
    def nobodys_count(self) -> set[str]:
        """The columns that do not say how many people a row stands for, those of `not_person` among them."""
        return {*self.not_count, *self.not_person}

    @property
    def several(self) -> bool:
        """Whether the table is keyed by person and a person may keep several rows."""
        return bool(self.person) and self.cap != 1

    @property
    def person_columns(self) -> tuple[str, ...]:
        """The columns of the file that say who a row is about."""
        return tuple(self[name].column or name if name in self else name for name in self.person)

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
        attributes = tuple(
            attribute.with_role(roles.get(attribute.name, "identifier" if attribute.role == "identifier" else "other"))
            for attribute in self.attributes
        )
        if problems := _person_problems(self.person or None, attributes):
            raise SchemaError(problems)
        return replace(self, attributes=attributes)

    def decisions(self) -> list[Problem]:
        """What a person still has to decide: every entry of `decide`, of the table and of each column."""
        hint = "decide, then delete it from `decide`"
        asked = [_topic(item) for item in self.decide]
        asked += [(attribute.where, item) for attribute in self.attributes for item in attribute.decide]
        return [Problem(path, item, hint) for path, item in asked]

    def remarks(self) -> list[Problem]:
        """What a person should know and need not decide: values like free text or without groups, domains, no role."""
        found = [remark for attribute in self.published for remark in _of_values(attribute)]
        rule = "looks like the name of a person, and is published with a release"
        for text, key in {self.population or "": "population", self.name: "name"}.items():
            if is_named_after_a_person(text):
                found.append(Problem(key, rule, "give it a name that says nothing about anybody"))
        people = columns_of_people([attribute.name for attribute in self.published])
        if people:
            has = count_of(people, "column has a name that looks", "columns have names that look")
            says = f"{has} like the name of a person, and column names are published with a release"
            found.append(Problem("attribute", says, "give each a name that says nothing about anybody", count=people))
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
        """Return those of the named columns whose role is still a question, though they would be published.

        A question that does not say which key it is about may be about the role.
        """
        wanted = set(names)
        found = [
            Problem(
                attribute.where,
                f"a question in its `decide` names no key and may be about its role, and {attribute.role} is published"
                if unclear(attribute.decide, "role", column=True)
                else f"its role is undecided, and {attribute.role} is published",
            )
            for attribute in self.published
            if attribute.name in wanted and asks_about(attribute.decide, "role", column=True)
        ]
        return [*found[:-1], *(replace(last, hint=_DECIDE_ROLE) for last in found[-1:])]  # said once, for all

    def undecided_person(self) -> list[Problem]:
        """Return a problem where people would be counted by a key that is, or may be, still a question."""
        if not self.person_in_question:
            return []
        rule = "the key by which people are counted is still a question"
        hint = "delete the question from `decide`, or the key if it is not one; --undecided publishes anyway"
        if unclear(self.decide, "person"):
            rule = "a question in `decide` names no key and may be about the one by which people are counted"
            hint = "delete it once it is decided, or begin it with the key it is about, as in population: ...; "
            hint += "--undecided publishes anyway"
        return [Problem("person", rule, hint)]

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
        if self.person and self.cap is None:
            rule = "a differentially private claim needs the most rows a person may have, and it is not declared"
            hint = "rows_per_person = m keeps at most m rows of each person; choose m without looking at the data"
            problems.append(Problem("rows_per_person", rule, hint))
        open_ones = [_topic(item) for item in self.decide]
        open_ones += [(a.where, ", ".join(item.partition(":")[0] for item in a.decide)) for a in wanted if a.decide]
        hint = "a proved claim rests on it: decide, then delete the question from `decide`"
        problems += [Problem(path, f"undecided: {what}", hint) for path, what in open_ones]
        if problems:
            raise SchemaError(problems)

    def refuse_spellings(self, names: Iterable[str]) -> None:
        """Raise when a claim would count one value of a named attribute as several: `alike_spellings`."""
        problems = self.alike_spellings(names)
        if problems:
            raise SchemaError(problems)

    def alike_spellings(self, names: Iterable[str]) -> list[Problem]:
        """Return a problem for each named attribute that holds one value in several spellings.

        Either it lists several of them, or a text in `missing` is another spelling of a listed value.
        """
        found = []
        for attribute in map(self.__getitem__, names):
            if alike := _alike_values(attribute):
                rule = (
                    f"{len(alike)} values differ from another only in {_SPELLING}, and would count as different values"
                )
                hint = "same = { value = [other spellings of it] }, and list the value once"
                found.append(Problem(attribute.where, rule, hint, count=len(alike), values=tuple(alike)))
            if spelt := _alike_missing(attribute):
                differs = count_of(len(spelt), "text that means missing differs", "texts that mean missing differ")
                rule = f"{differs} from a listed value only in {_SPELLING}, and would count as another value"
                hint = (
                    "same = { value = [other spellings of it] } where they are that value, without them in `missing`; "
                    "where it means that there is none, write every spelling in `missing` and none in `values`"
                )
                found.append(Problem(f"{attribute.where}.missing", rule, hint, count=len(spelt), values=tuple(spelt)))
        return found

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
            rule = "has one name under two parents, which an ARX file cannot say"
            raise ParameterError("attribute", name, rule, hint="give the groups names of their own")
        return "\n".join(lines) + "\n"


def _listed(person: str | Sequence[str] | None) -> Sequence[str]:
    if person is None:
        return ()
    return (person,) if isinstance(person, str) else person


def _person_problems(person: str | Sequence[str] | None, attributes: Sequence[Attribute]) -> list[Problem]:
    """Return what is wrong with the key of people: no name, a name twice, a column that is published as it is.

    A key of one column is not published at all: a label of it is a part of somebody's key. A date of birth that is one
    of several columns of a key may be a quasi-identifier.
    """
    names = _listed(person)
    hint = 'person = "MRN", or person = ["clinic", "patient_no"]'
    if person is not None and (not names or not all(name.strip() for name in names)):
        return [Problem("person", "names no column", hint)]
    if len(set(names)) < len(names):
        return [Problem("person", "names a column twice", hint)]
    carried = [a.name for a in attributes if a.role in ("sensitive", "target") and {a.name, a.column} & set(names)]
    rule = "is published as it is, so it cannot say who a row is about"
    found = [Problem(f"attribute.{name}", rule, 'role = "identifier"') for name in carried]
    whole = [a.where for a in attributes if len(names) == 1 and a.role == "quasi" and {a.name, a.column} & set(names)]
    rule = "says who a row is about, and a key is never published, not in parts either"
    return found + [Problem(where, rule, 'role = "identifier"') for where in whole]


def _unsure(attribute: Attribute, *, refused: int, unsure: int) -> list[Problem]:
    """Name listed values that may say that there is no answer: codes, and words for a refused one."""
    found, then = [], "; a class then seems more diverse than it is"
    if codes := unsure - refused:
        says = count_of(codes, "listed value may be a code", "listed values may be codes")
        rule = f"{says} for no answer, as 9 above 1 to 3 may be{then}"
        found.append(Problem(attribute.where, rule, 'where they are: missing = ["9", "99"]', count=codes))
    if refused:
        rule = f"{count_of(refused, 'listed value')} may say that an answer was refused or is not known{then}"
        found.append(Problem(attribute.where, rule, 'where they do: missing = ["refused", "DK"]', count=refused))
    return found


def _of_values(attribute: Attribute) -> list[Problem]:
    """What the listed values of a published column give to think about. Never names one."""
    if not isinstance(attribute.domain, Values):
        return []
    found, names = [], attribute.domain.names
    if attribute.role == "sensitive" and (near := near_pairs(names)):
        rule = f"{count_of(len(near), 'pair of values differs', 'pairs of values differ')} in a letter, an ending, an "
        rule += "abbreviation or how a number, a day or a code is written, and each value counts as a different one"
        hint = "same = { value = [other spellings of it] } where they mean the same"
        found.append(Problem(attribute.where, rule, hint, count=len(near)))
    none = sum(code != attribute.missing_code for code in attribute.no_value_codes)
    if attribute.role == "sensitive" and none:
        says = count_of(none, "listed value says that there is none", "listed values say that there is none")
        rule = f"{says}, so a class may seem more diverse than it is"
        hint = 'missing = ["unknown", "n/a"] names texts that are not values'
        found.append(Problem(attribute.where, rule, hint, count=none))
    if attribute.role == "sensitive":
        unsure = [names[code] for code in attribute.unsure_codes]
        found += _unsure(attribute, refused=sum(map(may_mean_none, unsure)), unsure=len(unsure))
    hint, known = 'read its values; role = "other" keeps it out of a release', names_a_category(attribute.column_name)
    if looks_like_free_text(names):
        rule = "looks like free text: values with several words; names may be in it"
        found.append(Problem(attribute.where, rule, hint))
    elif persons := with_given_names(names, known=known) | titled_values(names):
        rule = (
            f"{count_of(len(persons), 'listed value looks like the name', 'listed values look like names')} of people"
        )
        found.append(Problem(attribute.where, rule, hint, count=len(persons)))
    elif names_a_worker(attribute.column_name) and (persons := single_names(names)):
        many = count_of(len(persons), "listed value may be", "listed values may be")
        rule = f"is named after people at work, and {many} their names"
        found.append(Problem(attribute.where, rule, hint, count=len(persons)))
    if attribute.role == "quasi" and attribute.declared_tree and (doubled := doubled_names(attribute.nodes, names)):
        rule = f"{count_of(len(doubled), 'group is named like a value', 'groups are named like values')}"
        message = f"{rule}: it is published as the values it holds, not by its name"
        hint = f"give it another name in {attribute.hierarchy or 'the hierarchy'}"
        found.append(Problem(attribute.where, message, hint, count=len(doubled), values=tuple(doubled)))
    return found


def _alike_values(attribute: Attribute) -> list[str]:
    """Return the listed values that are spelled like another, but for case, blanks and forms of a letter."""
    if not isinstance(attribute.domain, Values):
        return []
    plain = [plain_spelling(name) for name in attribute.domain.names]
    times, first = Counter(plain), {text: at for at, text in reversed([*enumerate(plain)])}
    alike = sorted((first[text], at) for at, text in enumerate(plain) if times[text] > 1)
    return [attribute.domain.names[at] for _, at in alike]


def _alike_missing(attribute: Attribute) -> list[str]:
    """Return the texts that mean missing and are spelled like a listed value, but for case, blanks and letter forms.

    Not of codes under a mask, which all have one length: there 99 is not another spelling of 00099.
    """
    texts = () if attribute.missing is None else attribute.missing.texts
    if not isinstance(attribute.domain, Values) or attribute.masked or not any(texts):
        return []
    listed = set(map(plain_spelling, (*attribute.domain.names, *attribute.same)))
    return [text for text in texts if text not in (ROOT, MISSING, KNOWN) and plain_spelling(text) in listed]


def _topic(item: str) -> tuple[str, str]:
    """Cut a decision of the whole table into the key it is about and the question."""
    key, colon, question = item.partition(":")
    return (key.strip(), question.strip()) if colon and key.strip() else ("decide", item)
