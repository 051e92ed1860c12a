"""dictionary.md: the release in plain words, for whoever opens the folder.

Source    Ours.
Claim     It says nothing that the manifest may not say; a column of which no cell tells anything is said to be hidden.
Because   it is written from the release and the public part of its schema alone, so that `verify` writes it anew.
Checked   tests/claims/test_free_content.py::test_a_dictionary_with_other_words_fails
          tests/claims/test_suppress_and_raw.py::test_the_dictionary_says_what_suppress_does
Silent on what the names of columns and values tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.claims import promise_from_json
from sfumato.errors import ParameterError, count_of
from sfumato.release.manifest import levels, plain_parameters
from sfumato.release.redact import public_schema
from sfumato.release.release import Release
from sfumato.release.tables import COUNT, GROUP, PublishedTable, free_name
from sfumato.schema import KNOWN, MISSING, ROOT, Attribute, Days, Edges, Grid, Values
from sfumato.schema.domain import decimal_text
from sfumato.schema.fingerprints import nearly_records
from sfumato.visible import code_span, markdown

MOVED = (  # said wherever cells of a column with `clamp` are explained: the file alone does not show it
    "values outside the range, where there were any, were moved to its ends: cells at the ends may also stand for "
    "values beyond it"
)

_ROLES = {
    "quasi": "could be known to an outsider; made coarser where the release needs it",
    "sensitive": "sensitive; ",
    "target": "what a learner may predict; ",
}
_KNOWN = "could be known to an outsider; "
_HIDDEN = f"could be known to an outsider; not published: every cell is `{ROOT}`"
_NOT_COPIED = {  # said of every column where rows are not records
    "cells": "counted together with the other columns; the counts carry noise",
    "synthetic": "drawn from a model, which may draw a value that nobody has; no cell is copied from a record",
}
_UNNAMED = re.compile(r"\((?:part \d+|other)\)_*")
_CALENDAR = (  # names of levels, what a reader sees and what it means
    (re.compile(r"\d{4}"), "- `2020` any day of that year"),
    (re.compile(r"\d{4}-Q\d"), "- `2020-Q1` any day of that quarter, here January to March"),
    (re.compile(r"\d{4}-\d{2}"), "- `2020-03` any day of that month"),
)
_KEYED = (
    "The data are about {people} people, who may have several rows each. The table `people` says how many different "
    "people each class holds, as the publisher counted them: the rows alone do not show it. Lines of scope `all` are "
    "about the whole table; a line with an attribute and a value counts those with at least one row of that value."
)
_MARKED = (
    "- an apostrophe at the beginning of a cell is not part of its value: it keeps spreadsheets from running a text "
    "that begins like a formula (`=`, `+`, `-`, `@`)"
)
_ROUNDED = "decimals, where the data had any, are rounded down"
_SHEETS = "- every cell of the Excel file is a text, so that codes keep their zeros; only counts are numbers"
_BUT = "; not so at the ends of a column whose values were moved there"
_LISTED = 300  # values of a column whose groups are spelled out
_SAME = "A row may still be the same as a person's, the likelier the larger epsilon is."
_FORMS = {
    "generalized": "Each row stands for one record. Columns that others could know are made coarser, so that several "
    "records look alike.",
    "hidden": "Each row stands for one record. Columns that others could know are not published: every cell of them "
    f"is `{ROOT}`.",
    "unchanged": "Each row stands for one record. The publisher names no column that others could know, so none is "
    "made coarser.",
    "buckets": "Each row of the data stands for one record. The sensitive columns are in a second table: only the "
    "group says which values belong to which records, and within a group the release does not say whose is whose. Who "
    "knows that a value cannot be somebody's may still tell.",
    "cells": "Rows stand for counts with noise, not for records. Small counts are not reported, so rows do not add up "
    "to the number of records.",
    "synthetic": f"Rows are drawn from a model, not copied from records. {_SAME}",
}

_EXACT = (
    "At this epsilon counts are practically exact: the noise changes a count by less than 1/20 on average. Rare "
    "combinations are published as they are, where they reach the smallest count that is reported"
)
_EXACT_ROWS = f"Rows stand for counts with noise. {_EXACT}"
_EXACT_LINES = f"Each line is a combination of values with a count that carries noise. {_EXACT}"
_EXPOSED = {  # where a class holds one person, or all its rows one value
    "generalized": "Each row stands for one record. Columns that others could know are made coarser. Records look "
    "alike where they agree in all of these columns, and are then of one class.",
    "buckets": "Each row of the data stands for one record. The sensitive columns are in a second table: only the "
    "group says which values belong to which records. Where all rows of a group have one value, that is everybody's.",
}
_TOGETHER = (
    "Columns that are published as they are stay together in the row of their record: who knows some of them of a "
    "person may find the row, and read the others."
)
_COUNT_FORMS = {
    "cells": "Each line is a combination of values with a count that carries noise, not a record. Small counts are not "
    "reported, so counts do not add up to the number of records.",
    "synthetic": "Each line is a combination of values with the number of synthetic rows that have it. They are drawn "
    f"from a model, not copied from records. {_SAME}",
}


def dictionary(release: Release, files: Mapping[str, PublishedTable], *, counts: bool = False) -> str:
    """Return the dictionary as Markdown; `files` names the data files, `counts` says that lines have a count."""
    schema = public_schema(release)
    lines = [f"# {_line(schema.name)}", "", _form(release, counts=counts), ""]
    lines += [
        f"- {code_span(name)}: {count_of(table.rows, 'row')}, {count_of(len(table.columns), 'column')}"
        for name, table in files.items()
    ]
    lines += ["- `manifest.json`: the same facts for programs, with the SHA-256 of every file", ""]
    lines += ["## What is promised", "", *_paragraphs(release.claim.describe())]
    gone, capped = release.left_out or 0, release.capped or 0
    if gone and release.claim.kind == "checked":
        why = f", {capped} of them because a {release.schema.capped_by} has more rows than are kept" if capped else ""
        lines += [f"{count_of(gone + capped, 'record is', 'records are')} left out of the data{why}.", ""]
    if release.people is not None:
        lines += [_KEYED.format(people=release.people.everyone), ""]
    lines += ["Check it with `sfumato verify` on this folder.", "", "## How it was made", ""]
    lines += [*_made(release.mechanism), ""]
    lines += ["## Columns", ""]
    nowhere, coarse = _nowhere(release), _coarse(release)
    for attribute in schema.attributes:
        hidden = attribute.name in nowhere
        exact = release.form == "buckets" and attribute.role == "quasi"
        role = _HIDDEN if hidden else _exact(attribute) if exact else _NOT_COPIED.get(release.form) or _role(attribute)
        fine = release.form == "synthetic" and attribute.name not in coarse
        role += " or made coarser" if fine else ""
        coarser = attribute.role == "quasi" and not (hidden or exact or fine)
        lines += _column(attribute, role, coarser=coarser, hidden=hidden)
    lines += _added(release, counts=counts)
    lines += ["## How to read a cell", "", *_reading(schema.attributes)]
    if any(name.endswith(".csv") for name in files):
        lines.append(_MARKED)
    if any(name.endswith(".xlsx") for name in files):
        lines.append(_SHEETS)
    lines.append("")
    if release.notes:
        lines += ["## Notes", "", *(f"- {_line(note)}" for note in release.notes), ""]
    return "\n".join(lines)


def _form(release: Release, *, counts: bool) -> str:
    """Say what a row stands for; of classes that hide nobody or no value it says so instead of the contrary."""
    together = [_TOGETHER] if release.form == "generalized" and len(release.carried) > 1 else []
    if release.form == "generalized" and len(_nowhere(release)) == len(release.quasi):
        said = _FORMS["hidden" if release.quasi else "unchanged"]
        return " ".join([said, *together, *map(_line, release.exposed().sentences())])
    if release.form in _EXPOSED and (exposed := release.exposed()):
        return " ".join([_EXPOSED[release.form], *together, *map(_line, exposed.sentences())])
    if (noise := release.noise_lines) is not None:
        return f"{_EXACT_LINES if counts else _EXACT_ROWS}: {nearly_records(noise, line=counts)}."
    return " ".join([(_COUNT_FORMS if counts else _FORMS)[release.form], *together])


def _nowhere(release: Release) -> set[str]:
    """Name the quasi-identifiers of a generalized table in which every cell stands for any value at all."""
    if release.form != "generalized" or not len(release.boxes):
        return set()
    found = set()
    for at, table in enumerate(release.boxes.tables):
        used = np.unique(release.boxes.labels[release.boxes.weight > 0, at])
        if len(used) and all(table.name(int(label)) == ROOT for label in used):
            found.add(table.attribute.name)
    return found


def _coarse(release: Release) -> set[str]:
    """Name the quasi-identifiers in which a published label holds several values."""
    found = set()
    for at, table in enumerate(release.boxes.tables):
        used = np.unique(release.boxes.labels[release.boxes.weight > 0, at])
        widths = [sum(end - start for start, end in table.intervals(int(label))) for label in used]
        if any(width > 1 for width in widths):
            found.add(table.attribute.name)
    return found


def _role(attribute: Attribute) -> str:
    """Say what a column is and, of one that is not made coarser, how exactly it is published."""
    return _ROLES["quasi"] if attribute.role == "quasi" else _exact(attribute)


def _exact(attribute: Attribute) -> str:
    """Say what a column is and how exactly it is published, where nothing makes it coarser."""
    domain = attribute.domain
    how = "published as the interval of the schema that it lies in" if attribute.intervals else "published as it is"
    if isinstance(domain, Grid) and domain.whole:
        how = f"published as a whole number; {_ROUNDED}"
    return (_KNOWN if attribute.role == "quasi" else _ROLES[attribute.role]) + how


def _line(text: str) -> str:
    return markdown(" ".join(text.split()))


def _paragraphs(text: str) -> list[str]:
    return [line for said in text.split("\n") for line in (markdown(said), "")]


def _made(mechanism: Mapping[str, Any]) -> list[str]:
    fields = {name: value for name, value in plain_parameters(mechanism).items() if value is not None}
    return [f"- {_line(str(name))}: {_said(value)}" for name, value in fields.items()] or ["- not stated"]


def _said(value: Any) -> str:
    """Write a parameter for people; a requirement as it is named everywhere."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping) and "kind" in value:
        try:
            return _line(str(promise_from_json(value)))
        except ParameterError:
            pass
    if isinstance(value, Mapping):
        return ", ".join(f"{_line(str(name))} {_said(part)}" for name, part in value.items() if part is not None)
    return _line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _column(attribute: Attribute, role: str, *, coarser: bool, hidden: bool) -> list[str]:
    lines = [
        f"### {_line(attribute.name)}",
        "",
        f"- {role}",
        f"- {attribute.kind}; {_span(attribute)}",
    ]
    if hidden:
        return [*lines, ""]
    if attribute.clamp:
        lines.append(f"- {MOVED}")
    if isinstance(attribute.domain, Grid) and attribute.domain.whole and _ROUNDED not in role:
        lines.append(f"- {_ROUNDED} to whole numbers")
    if coarser:
        lines.append(f"- {_coarser(attribute)}")
        lines += [*_groups(attribute), *_unlisted(attribute)]
        if levels(attribute) == "declared" and isinstance(attribute.domain, Grid):
            lines.append("- a cell may begin or end between these levels, where the method did not keep to them")
    if attribute.missing_code is not None:
        lines.append(f"- a value may be missing: `{MISSING}`; `{KNOWN}` says that there is one, but not which")
    return [*lines, ""]


def _coarser(attribute: Attribute) -> str:
    """Say what cells of the column are made of, where one holds several values."""
    if levels(attribute) == "halves":
        return "a cell may begin and end anywhere in between: the levels are not published"
    if levels(attribute) == "values":
        if attribute.unlisted:
            every = len(attribute.unlisted) == len(_named_values(attribute))
            one = "the name of a group" if every else "one value or the name of a group"
            return f"a cell holds {one}, several with a bar between them, or all"
        return "a cell holds one value, several with a bar between them, or all: the groups are not published"
    if attribute.mask is not None and attribute.source != "data":
        return f"codes; characters are hidden from the {attribute.mask.side} on, each by a star"
    if not isinstance(attribute.domain, Values):
        return "has levels: intervals of round widths, or parts of the calendar, each within a wider one"
    return "its values are gathered in groups"


def _groups(attribute: Attribute) -> list[str]:
    """Which values a group's name stands for; a reader of the file has nothing else to look it up in."""
    if levels(attribute) != "declared" or not isinstance(attribute.domain, Values) or attribute.size > _LISTED:
        return []
    tree = attribute.nodes
    inner = [node for node in range(1, len(tree)) if tree.children[node] and tree.distinct[node]]
    return [f"  - {code_span(tree.names[node])} is {_held(attribute, tree.children[node])}" for node in inner]


def _unlisted(attribute: Attribute) -> list[str]:
    """Name the groups that stand in cells while no cell names a value in them."""
    names = [code_span(name) for name in attribute.unlisted if "*" not in name]  # stars say what a name stands for
    if not names:
        return []
    if len(names) > _LISTED:
        return [f"- {len(names):,} names stand for groups of values; which values they hold is not published"]
    if len(names) == 1:
        return [f"- {names[0]} is the name of a group of values; which values it holds is not published"]
    return [f"- names of groups of values; which values they hold is not published: {', '.join(names)}"]


def _named_values(attribute: Attribute) -> list[str]:
    """The names in the domain, but for those of parts that no cell names."""
    known = attribute.domain.names if isinstance(attribute.domain, Values) else ()
    return [name for name in known if attribute.source != "data" or not _UNNAMED.fullmatch(name)]


def _held(attribute: Attribute, children: Sequence[int]) -> str:
    """List what a group holds; a part that no cell names is described as such, not by the name it has for programs."""
    names = [attribute.nodes.names[child] for child in children]
    named = [_line(name) for name in names if attribute.source != "data" or not _UNNAMED.fullmatch(name)]
    return ", ".join([*named, *(["values that no cell names"] if len(named) < len(names) else [])])


def _span(attribute: Attribute) -> str:
    domain = attribute.values
    where = "declared beforehand" if attribute.source != "data" else "known from the published cells alone"
    if isinstance(domain, Grid):
        return (
            f"from {decimal_text(domain.low)} up to but not including {decimal_text(domain.high)}, "
            f"in steps of {decimal_text(domain.step)} ({where})"
        )
    if isinstance(domain, Edges):
        first, last = decimal_text(domain.points[0]), decimal_text(domain.points[-1])
        return f"from {first} up to but not including {last}, in {domain.size} intervals ({where})"
    if isinstance(domain, Days):
        return f"days from {domain.edge(0)} up to but not including {domain.edge(domain.size)} ({where})"
    assert isinstance(domain, Values)
    if not attribute.unlisted:
        return f"{count_of(domain.size, 'value')} ({where})"
    groups = count_of(len(attribute.unlisted), "group of values", "groups of values")
    if values := len(_named_values(attribute)) - len(attribute.unlisted):
        groups = f"{count_of(values, 'value')} and {groups}"
    return f"{groups} ({where})"


def _added(release: Release, *, counts: bool) -> list[str]:
    names = [attribute.name for attribute in (*release.quasi, *release.carried)]
    group, count = free_name(GROUP, names), free_name(COUNT, names)
    texts = {}
    if release.form == "buckets":
        texts = {
            group: "the number of the group; it stands in both tables and means nothing else",
            count: "how many records of the group have these values (second table)",
        }
    elif counts:
        noise = "; it carries noise" if release.form == "cells" else ""
        texts = {count: f"how many rows this line stands for, a whole number of at least 1{noise}"}
    return [line for name, text in texts.items() for line in (f"### {_line(name)}", "", f"- {text}", "")]


def _reading(attributes: tuple[Attribute, ...]) -> list[str]:
    lines = ["- `*` any value at all", "- `a | b` one of these values, not said which"]
    if any(attribute.missing_code is not None for attribute in attributes):
        lines += [
            f"- `{MISSING}` no value, or a text that the publisher takes for none",
            f"- `{KNOWN}` a value was recorded; it may be any",
        ]
    if any(isinstance(attribute.domain, Grid | Edges) for attribute in attributes):
        but = (
            _BUT
            if any(attribute.clamp and isinstance(attribute.domain, Grid | Edges) for attribute in attributes)
            else ""
        )
        whole = any(isinstance(attribute.domain, Grid) and attribute.domain.whole for attribute in attributes)
        rounded = ", rounded down where the data had decimals" if whole else ""
        lines.append(f"- `[20-40)` 20 or more, and less than 40; a number alone is that number{rounded}{but}")
    days = [attribute for attribute in attributes if isinstance(attribute.domain, Days)]
    if days:
        but = _BUT if any(attribute.clamp for attribute in days) else ""
        lines.append(
            f"- `[2020-01-01..2020-02-01)` the first day or later, before the last; `2020-01-01` that day{but}"
        )
        names = [name for attribute in days for name in attribute.nodes.names]
        lines += [line for form, line in _CALENDAR if any(map(form.fullmatch, names))]
    listed = [attribute for attribute in attributes if isinstance(attribute.domain, Values)]
    if any(attribute.ordered for attribute in listed):
        lines.append("- `low..high` any value from the first to the last named")
    if any(a.role == "quasi" and (a.unlisted or levels(a) == "declared") for a in listed):
        lines.append("- the name of a group: one of the values in it, not said which")
    named = [name for attribute in listed for name in attribute.nodes.names]
    if any("*" in name and name != ROOT for name in named):
        lines.append("- `509**` any code with these characters; each star stands for one that is not published")
    if any("|" in name or "\\" in name for name in named):
        lines.append("- `\\|` a bar that is part of a name, `\\\\` a backslash before it")
    return lines
