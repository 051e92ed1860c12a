"""A release in the codes of one table's schema: what every reading starts from.

A release that was loaded, or read from anyone's file, has attributes of its own. Attributes are matched by name.
Where the domains are equal the labels are taken as they are; else each label is read again in the table's schema,
value by value, or by its name. An attribute the release lacks is `*` everywhere; one that the release publishes and the
schema does not name cannot be matched, and is refused: without it everybody looks safer than they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts import Counts, Table
from sfumato.counts.recoding import row_ids
from sfumato.errors import NotComparable, count_of
from sfumato.release import Release
from sfumato.schema import Attribute, Labels, Schema, Values, label_name, parse_label
from sfumato.schema.labels import Intervals, merged
from sfumato.visible import visible

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class View:
    """Boxes in groups, in a schema's codes, with the histogram of one carried attribute for each group."""

    attribute: Attribute
    _: KW_ONLY
    tables: tuple[Labels, ...]
    labels: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    group_weight: np.ndarray
    histogram: csr_matrix

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, in the order of the columns."""
        return tuple(table.attribute for table in self.tables)

    @property
    def values(self) -> int:
        """How many values the columns of the histogram count."""
        return int(self.histogram.shape[1])

    @cached_property
    def overall(self) -> np.ndarray:
        """Published counts of the carried attribute over all groups."""
        return np.asarray(self.histogram.sum(axis=0), np.int64).reshape(-1)

    @cached_property
    def one_box_each(self) -> bool:
        """True when box i is all of group i, as in every release but buckets."""
        return len(self.group) == len(self.group_weight) and bool((self.group == np.arange(len(self.group))).all())


def measured_attributes(
    schema: Schema, attribute: str | None = None, *, release: Release | None = None
) -> tuple[Attribute, ...]:
    """Return the carried attributes to measure: the one named, else every sensitive one, else every carried one.

    With a release, those it carries; an attribute it does not publish is not part of it.
    """
    carried = schema.carried
    if attribute is not None:
        found = schema[attribute]
        if found not in carried:
            hint = f"one of {', '.join(known.name for known in carried) or 'none'}"
            raise NotComparable(f"attribute {attribute} is neither sensitive nor target. Hint: {hint}.")
        return (found,)
    if not carried:
        raise NotComparable("no attribute is sensitive or target. Hint: name one with table.with_roles(sensitive=...).")
    wanted = schema.sensitive or carried
    if release is None:
        return wanted
    published = {known.name for known in release.carried}
    kept = tuple(known for known in wanted if known.name in published)
    if not kept:
        raise NotComparable(f"the release carries none of {', '.join(known.name for known in wanted)}.")
    return kept


def measured_attribute(schema: Schema, attribute: str | None = None) -> Attribute:
    """Return the one carried attribute to measure; where there are several, it must be named."""
    found = measured_attributes(schema, attribute)
    if len(found) > 1:
        names = ", ".join(known.name for known in found)
        raise NotComparable(f"there are several attributes to choose from ({names}). Hint: attribute=..., one of them.")
    return found[0]


def align(release: Release, schema: Schema, attribute: str | None = None, *, known: bool = False) -> View:
    """Return the release in the schema's codes; raise `NotComparable` where a label has no meaning there.

    `known`: a quasi-identifier of the schema that the release carries is one that it says nothing of.
    """
    wanted = measured_attribute(schema, attribute)
    return _aligned(release, schema, wanted, lambda: _histogram(release, wanted), known=known)


def align_boxes(release: Release, schema: Schema) -> View:
    """Return the boxes of a release in the schema's codes; the histogram is the weight of each group alone."""
    from scipy.sparse import csr_matrix

    weight = release.groups.weight[:, None]
    return _aligned(release, schema, schema.quasi[0], lambda: csr_matrix(weight))


def distinct_boxes(view: View) -> View:
    """Return a view in which boxes with the same labels are one, whatever their groups; rows are all it counts.

    For readers to whom rows with the same labels are alike: a million rows in buckets have few kinds.
    """
    from scipy.sparse import csr_matrix

    which = row_ids(view.labels.astype(np.int64))
    first = np.unique(which, return_index=True)[1]
    if len(first) == len(which):
        return view
    weight = np.bincount(which, weights=view.weight, minlength=len(first)).astype(np.int64)
    return replace(
        view,
        labels=view.labels[first],
        weight=weight,
        group=np.arange(len(first), dtype=np.int32),
        group_weight=weight,
        histogram=csr_matrix(weight[:, None]),
    )


def refuse_unmatched(release: Release, schema: Schema) -> None:
    """Raise `NotComparable` where a release publishes a quasi-identifier under a name that the schema does not have."""
    strange = [known.name for known in release.quasi if known.name not in schema]
    if strange:
        shared = {known.name for known in release.quasi}
        left = [known.name for known in schema.quasi if known.name not in shared]
        beside = f" (the table's {', '.join(map(visible, left))} is not in the release)" if left else ""
        names = ", ".join(map(visible, strange))
        raise NotComparable(
            f"the release publishes {names}, and the table has no column of that name{beside}: "
            "columns are matched by name. Hint: give the column one name everywhere; if the attacker does not know it, "
            'add it to the schema of the table with role = "other".'
        )


def other_table(release: Release, table: Table) -> str:
    """Say that a table is not the one whose rows a release of classes or buckets holds, where numbers show it; else "".

    By the number of rows, and of rows with each carried value.
    """
    if release.form not in ("generalized", "buckets"):
        return ""
    published = int(release.groups.weight.sum())
    if published != table.rows:
        differ = f"it holds {count_of(published, 'row')}, and the table {table.rows}"
    else:
        carried = [a.name for a in release.carried if a.name in {known.name for known in table.schema.carried}]
        same = [name for name in carried if release.schema[name].same_codes(table.schema[name])]
        wrong = [name for name in same if (_rows_with(table, name) != release.groups.overall[name]).any()]
        if not wrong:
            return ""
        differ = f"the values of {', '.join(map(visible, wrong))} in it are not those of the table"
    return f"The release was not made from this table: {differ}. Figures say nothing of the people it was made from."


def _rows_with(table: Table, name: str) -> np.ndarray:
    counts = table.counts(name)
    return np.bincount(counts.codes[:, 0], weights=counts.weights, minlength=table.schema[name].size).astype(np.int64)


def _aligned(
    release: Release, schema: Schema, wanted: Attribute, histogram: Callable[[], csr_matrix], *, known: bool = False
) -> View:
    refuse_unmatched(release, schema)
    published = {table.attribute.name: at for at, table in enumerate(release.boxes.tables)}
    carried = set() if known else {attribute.name for attribute in release.carried}
    boxes = release.boxes
    tables, columns = [], []
    for quasi in schema.quasi:
        if quasi.name in published:
            at = published[quasi.name]
            table, column = aligned_labels(quasi, boxes.tables[at], boxes.labels[:, at])
        elif quasi.name in carried:
            raise NotComparable(f"attribute {quasi.name} is a quasi-identifier of the table, the release carries it.")
        else:
            table, column = _whole(quasi, len(boxes))
        tables.append(table)
        columns.append(column)
    return View(
        wanted,
        tables=tuple(tables),
        labels=np.column_stack(columns).astype(np.int32) if columns else np.zeros((len(boxes), 0), np.int32),
        weight=boxes.weight,
        group=boxes.group,
        group_weight=release.groups.weight,
        histogram=histogram(),
    )


def exact_view(counts: Counts, names: Sequence[str], attribute: Attribute) -> View:
    """Return the table itself as boxes of single values, so that truth and estimate are read by the same code."""
    from scipy.sparse import csr_matrix

    found = counts.marginal((*names, attribute.name))
    quasi = found.codes[:, :-1]
    new = np.ones(len(found), bool)
    if len(found):  # rows are in lexicographic order
        new[1:] = (quasi[1:] != quasi[:-1]).any(axis=1)
    box = np.cumsum(new) - 1
    size = int(new.sum())
    weight = np.bincount(box, weights=found.weights, minlength=size).astype(np.int64)
    tables, columns = [], []
    for at, name in enumerate(names):
        codes, column = np.unique(quasi[new, at], return_inverse=True)
        tables.append(_single_codes(counts.schema[name], codes))
        columns.append(column.reshape(-1))
    return View(
        attribute,
        tables=tuple(tables),
        labels=np.column_stack(columns).astype(np.int32) if columns else np.zeros((size, 0), np.int32),
        weight=weight,
        group=np.arange(size, dtype=np.int32),
        group_weight=weight,
        histogram=csr_matrix((found.weights, (box, found.codes[:, -1])), shape=(size, attribute.size), dtype=np.int64),
    )


def _single_codes(attribute: Attribute, codes: np.ndarray) -> Labels:
    starts = np.asarray(codes, np.int64)
    return Labels(attribute, np.arange(len(starts) + 1, dtype=np.int64), starts, starts + 1)


def _used(table: Labels, column: np.ndarray) -> tuple[Labels, np.ndarray]:
    """Keep the labels that some box has: a release of exact values lists the whole domain."""
    ids, places = np.unique(column, return_inverse=True)
    if len(ids) == len(table):
        return table, column
    return table.take(ids), places.reshape(-1)


def _whole(attribute: Attribute, boxes: int) -> tuple[Labels, np.ndarray]:
    table, _ = Labels.from_hulls(attribute, np.array([0]), np.array([attribute.size]))
    return table, np.zeros(boxes, np.int32)


def _translated(attribute: Attribute, table: Labels, column: np.ndarray) -> tuple[Labels, np.ndarray]:
    own = table.attribute
    if own.same_codes(attribute):
        return Labels(attribute, table.offsets, table.starts, table.ends), column
    read = cache(lambda text: parse_label(attribute, text))  # a value stands in many labels
    sets = [_label(own, attribute, table.intervals(label), read) for label in range(len(table))]
    unknown = sum(label is None for label in sets)
    if unknown:
        raise NotComparable(
            f"attribute {attribute.name}: {unknown} published labels mean nothing in the table's schema. "
            "Hint: read the release with the schema of the table."
        )
    again, ids = Labels.from_sets(attribute, [label for label in sets if label is not None])
    return again, ids[column] if len(ids) else column


def _label(
    own: Attribute, other: Attribute, intervals: Intervals, read: Callable[[str], Intervals | None]
) -> Intervals | None:
    """Return the codes of `other` that a label of `own` stands for."""
    if intervals == ((0, own.size),):
        return ((0, other.size),)
    if intervals == ((0, own.missing_code),):
        return ((0, other.values.size),)
    if isinstance(own.domain, Values):
        codes = [code for low, high in intervals for code in range(low, high)]
        found = [read(own.text(code)) for code in codes]
        if all(found):
            return merged(pair for label in found if label is not None for pair in label)
    return read(label_name(own, intervals))


def _histogram(release: Release, attribute: Attribute) -> csr_matrix:
    from scipy.sparse import csr_matrix

    own = next((known for known in release.carried if known.name == attribute.name), None)
    if own is None:
        raise NotComparable(f"the release does not carry {attribute.name}.")
    histogram = release.groups.histogram(attribute.name)
    if own.same_codes(attribute):
        return histogram
    entries = histogram.tocoo()
    shape = (histogram.shape[0], attribute.size)
    columns = aligned_codes(attribute, own, entries.col)
    return csr_matrix((entries.data, (entries.row, columns)), shape=shape, dtype=np.int64)


def aligned_labels(attribute: Attribute, table: Labels, column: np.ndarray) -> tuple[Labels, np.ndarray]:
    """Return labels of a release in the codes of the schema's attribute, those alone that some box has."""
    return _translated(attribute, *_used(table, column))


def aligned_codes(attribute: Attribute, own: Attribute, codes: np.ndarray) -> np.ndarray:
    """Return codes of a release's carried attribute `own` as codes of the schema's attribute."""
    if own.same_codes(attribute):
        return codes
    distinct, places = np.unique(codes, return_inverse=True)
    read = partial(parse_label, attribute)
    found = [_label(own, attribute, ((code, code + 1),), read) for code in distinct.tolist()]
    single = [label[0][0] if label and label[0][1] - label[0][0] == 1 and len(label) == 1 else -1 for label in found]
    if -1 in single:
        raise NotComparable(
            f"attribute {attribute.name}: {single.count(-1)} published values are not in the table's schema. "
            "Hint: read the release with the schema of the table."
        )
    return np.array(single, np.int64)[places.reshape(-1)]
