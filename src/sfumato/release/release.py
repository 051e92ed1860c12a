"""A release: boxes in groups plus a claim. The public may see all of it, except `recoding`, `residence`,
`placed`, `refined`, `seen_by_key`, `held_values` and `few_missing`.

Rows are written from boxes and carried counts, never from input rows, sorted by the published columns,
so that their order is a function of what is published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.claims import Claim
from sfumato.engines.grouping import group_codes
from sfumato.errors import ParameterError, count_of
from sfumato.randomness.geometric import PRACTICALLY_EXACT
from sfumato.randomness.sparse import expected_noise, threshold_for
from sfumato.release.declared_people import DeclaredPeople
from sfumato.release.exposed import Exposed, class_warnings
from sfumato.schema import Attribute, Labels, Schema
from sfumato.schema.fingerprints import FewRows, Fingerprints, lonely_rows, rows_of_few
from sfumato.schema.free_text import HeldValues
from sfumato.visible import notebook

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from sfumato.counts import Members
    from sfumato.release.atomic import NewFolder


def practically_exact(form: str, claim: Claim, schema: Schema) -> bool:
    """Whether noise on the counts of a release is so small that they are hardly ever off; by its claim alone."""
    return form == "cells" and _rate(claim, schema) >= PRACTICALLY_EXACT


def _rate(claim: Claim, schema: Schema) -> Fraction:
    """Return the epsilon with which each row is counted."""
    spent = sum((epsilon for stage, epsilon in claim.trace if stage == "counts"), Fraction())
    return spent / schema.rows_per_person


def noise_lines(
    form: str, claim: Claim, schema: Schema, mechanism: Mapping[str, Any], labels: Iterable[int]
) -> float | None:
    """Return how many combinations that nobody has are expected among those of practically exact counts, at most.

    None if counts are not; infinite where it is not known. `labels` is how many each quasi-identifier has. Of public
    numbers alone.
    """
    if not practically_exact(form, claim, schema):
        return None
    asked = mechanism.get("threshold", "unknown") or 1
    if asked != "auto" and (not isinstance(asked, int) or asked < 1):
        return math.inf
    cells = math.prod([*labels, *(attribute.size for attribute in schema.carried)])
    rate = _rate(claim, schema)
    return expected_noise(cells, rate, threshold_for(cells, rate, asked))[0] if cells else 0.0


# Boxes in groups: what every release consists of.
#
# A box is one label per quasi-identifier with a weight (rows). A group is the set of boxes among which
# the carried values (sensitive, target) are not linked; it owns their joint counts. Generalized tables,
# noisy cells and synthetic points have one box a group; buckets have many exact boxes a group.


@dataclass(frozen=True)
class Boxes:
    """`labels[i, j]` is the id, in `tables[j]`, of the label of box i for quasi-identifier j."""

    labels: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    tables: tuple[Labels, ...]

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, in the order of the columns."""
        return tuple(table.attribute for table in self.tables)

    @cached_property
    def low(self) -> np.ndarray:
        """First code of each label."""
        return self._gathered([table.low for table in self.tables])

    @cached_property
    def high(self) -> np.ndarray:
        """Code after the last of each label."""
        return self._gathered([table.high for table in self.tables])

    def _gathered(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        found = np.empty(self.labels.shape, dtype=np.int64)
        for at, column in enumerate(columns):
            found[:, at] = column[self.labels[:, at]]
        return found


@dataclass(frozen=True)
class Carried:
    """Joint counts of all carried attributes, by group: sorted by group, then by code."""

    attributes: tuple[Attribute, ...]
    group: np.ndarray
    codes: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True)
class Groups:
    """How many rows each group has and what they carry."""

    weight: np.ndarray
    carried: Carried

    def __len__(self) -> int:
        return len(self.weight)

    def histogram(self, attribute: str) -> csr_matrix:
        """Return the counts of one carried attribute, groups x domain."""
        from scipy.sparse import csr_matrix

        for at, known in enumerate(self.carried.attributes):
            if known.name == attribute:
                shape = (len(self), known.size)
                entries = (self.carried.weight, (self.carried.group, self.carried.codes[:, at]))
                return csr_matrix(entries, shape=shape, dtype=np.int64)
        carried = ", ".join(known.name for known in self.carried.attributes) or "none"
        raise ParameterError("attribute", attribute, "is not carried by this release", hint=f"carried: {carried}")

    @cached_property
    def overall(self) -> dict[str, np.ndarray]:
        """Counts of each carried attribute over all published rows."""
        return {
            known.name: np.bincount(
                self.carried.codes[:, at], weights=self.carried.weight, minlength=known.size
            ).astype(np.int64)
            for at, known in enumerate(self.carried.attributes)
        }


Form = Literal["generalized", "buckets", "cells", "synthetic"]


@dataclass(frozen=True)
class Residence:
    """Confidential: the group in which each distinct original row landed. For evaluation in memory, never saved."""

    names: tuple[str, ...]
    codes: np.ndarray
    group: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, slots=True)
class PlacedLines:
    """Confidential: combinations of carried codes with their group (-1: none) and rows. In memory only, never saved.

    `members` says who has which line, where people are counted.
    """

    codes: np.ndarray
    _: KW_ONLY
    group: np.ndarray
    weight: np.ndarray
    members: Members | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The size of a release at a glance."""

    classes: int
    rows: int
    suppressed: int
    smallest: int
    median: float
    largest: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class SeenByKey:
    """Confidential: what the key of a person shows and the rows do not. In memory only, never saved.

    `people_alone` have carried values that nobody else has, `people_alone_on_all` a combination of published cells
    that nobody else has. `alike` is, by sensitive attribute, the number of classes in which everybody has one value,
    and `missing` the number of those in which nobody has one. `counted` are the people of each class with each carried
    value; `knowing`, by sensitive attribute, those who have any value, and those who have one that surely is a value.
    """

    people: int
    _: KW_ONLY
    people_alone: int | None
    people_alone_on_all: int
    alike: Mapping[str, int]
    missing: Mapping[str, int]
    counted: DeclaredPeople
    knowing: Mapping[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Release:
    """What the public gets. `schema` holds the published attributes only.

    >>> table = sf.datasets.adult("test")
    >>> release = sf.publish(table, sf.Mondrian(sf.KAnonymity(50)))
    >>> release.rows, str(release.claim)
    (15060, 'k-anonymity(50) [checked]')
    """

    schema: Schema
    _: KW_ONLY
    boxes: Boxes
    groups: Groups
    claim: Claim
    mechanism: Mapping[str, Any] = field(default_factory=dict)
    form: Form = "generalized"
    suppressed_group: int | None = None
    left_out: int | None = None
    capped: int | None = None
    notes: tuple[str, ...] = ()
    people: DeclaredPeople | None = None
    savable: bool = True
    recoding: Any = field(default=None, repr=False)
    residence: Residence | None = field(default=None, repr=False)
    placed: PlacedLines | None = field(default=None, repr=False, compare=False)  # where residence would need all rows
    source: Path | None = field(default=None, repr=False, compare=False)  # the file or folder it was read from
    refined: Any = field(default=None, repr=False)  # confidential: what derived columns undo, where they do
    seen_by_key: SeenByKey | None = field(default=None, repr=False, compare=False)
    held_values: Mapping[str, HeldValues] = field(default_factory=dict, repr=False, compare=False)  # confidential
    few_missing: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)  # confidential
    account: Any = field(default=None, repr=False)  # the ledger's entry, which records where the release is saved
    backend: str = field(default="polars", repr=False)  # whose frames `frame` returns: "polars" or "pandas"

    def __repr__(self) -> str:
        size = f"{count_of(len(self.groups), 'group')}, {count_of(self.rows, 'row')}"
        return f"<Release {self.schema.name}: {size}, {self.claim.promise}>"

    def _repr_html_(self) -> str:
        """Show the release in a notebook: its size, its claim, and its first rows where it may be published."""
        size = ", ".join(f"{name} {value}" for name, value in self.summary().to_json().items())
        shown = self.frames()["data"].head(5) if self.savable else None
        heads, rows = ((), []) if shown is None else (shown.columns, shown.rows())
        return notebook(repr(self), lines=(size, *self.claim.describe().splitlines()), heads=heads, rows=rows)

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """Quasi-identifiers that are published, in order."""
        return self.boxes.attributes

    @property
    def carried(self) -> tuple[Attribute, ...]:
        """Carried attributes, in order."""
        return self.groups.carried.attributes

    @property
    def rows(self) -> int:
        """Published rows."""
        return int(self.groups.weight.sum())

    @property
    def histogram(self) -> csr_matrix:
        """Counts of the first carried attribute, groups x domain."""
        return self.groups.histogram(self.carried[0].name)

    @property
    def tight(self) -> bool:
        """Whether labels are the values that occur in a class, so that they end at somebody's own."""
        parts = (self.mechanism, self.mechanism.get("base"))
        return any(bool(part.get("tight")) for part in parts if isinstance(part, Mapping))

    @property
    def practically_exact(self) -> bool:
        """Whether the noise on its counts is so small that they are hardly ever off."""
        return practically_exact(self.form, self.claim, self.schema)

    @property
    def noise_lines(self) -> float | None:
        """How many combinations that nobody has are expected in it, where its counts are practically exact."""
        labels = (len(table) for table in self.boxes.tables)
        return noise_lines(self.form, self.claim, self.schema, self.mechanism, labels)

    def summary(self) -> Summary:
        """Classes, rows, suppressed rows and class sizes (the suppressed group is not a class)."""
        weight = self.groups.weight
        suppressed = 0 if self.suppressed_group is None else int(weight[self.suppressed_group])
        sizes = weight if self.suppressed_group is None else np.delete(weight, self.suppressed_group)
        return Summary(
            classes=len(sizes),
            rows=int(weight.sum()),
            suppressed=suppressed + (self.left_out or 0),
            smallest=int(sizes.min()) if len(sizes) else 0,
            median=float(np.median(sizes)) if len(sizes) else 0.0,
            largest=int(sizes.max()) if len(sizes) else 0,
        )

    def exposed(self) -> Exposed:
        """Count the classes of one person and those of one sensitive value (the suppressed group is not a class)."""
        kept = self.groups.weight > 0
        if self.suppressed_group is not None:
            kept[self.suppressed_group] = False
        keyed = self.people is not None
        most = 1 if keyed else self.schema.rows_per_person
        unseen = not keyed and self.schema.several and self.schema.cap is None
        people = self.people.classes if self.people is not None else self.groups.weight
        agree = {a: kept & self._one_value(a) for a in self.carried if a.role == "sensitive"}
        alike = {a.name: int(groups.sum()) for a, groups in agree.items()}
        missing = {a.name: int((groups & self._no_value(a)).sum()) for a, groups in agree.items()}
        word = "group" if self.form == "buckets" else "class"
        declared = self.people is not None and all(name in self.people.values for name in alike)
        single = int((kept & (people <= most)).sum())
        return Exposed(
            int(kept.sum()),
            single=single,
            alike=alike,
            missing=missing,
            most=most,
            word=word,
            keyed=declared,
            unit=self.schema.unit,
            unseen=unseen,
        )

    def _no_value(self, attribute: Attribute) -> np.ndarray:
        """Say of each group whether nobody in it has a value of an attribute."""
        counts = self.groups.histogram(attribute.name)
        none = np.asarray(counts[:, list(attribute.no_value_codes)].sum(axis=1)).ravel()
        found: np.ndarray = (none > 0) & (none == np.asarray(counts.sum(axis=1)).ravel())
        return found

    def _one_value(self, attribute: Attribute) -> np.ndarray:
        """Return for each group whether all of it has one value: everybody, where the people with each are declared."""
        if self.people is not None and attribute.name in self.people.values:
            return self.people.alike(attribute)
        found: np.ndarray = np.diff(self.groups.histogram(attribute.name).indptr) == 1
        return found

    def warnings(self) -> tuple[str, ...]:
        """Say what to look at before publishing: classes of one person or of one sensitive value, whatever is promised.

        Of a differentially private release, that its noise is so small that counts are practically exact.

        A release that was loaded knows less than the one that was published: what needs the key of a person, or the
        values of the table, is not in its files.

        >>> table = sf.datasets.adult("test")
        >>> sf.publish(table, sf.Mondrian(sf.KAnonymity(5))).warnings()[0]
        'nothing is promised of occupation, and in 28 of ... classes all rows have one value. Ask for l or t ...'
        """
        return class_warnings(self)

    def fingerprints(self) -> Fingerprints:
        """Count the rows that are unique on what is published unchanged; people too, where the release knows them."""
        found, seen = replace(self._lonely_rows(), keyed=self.schema.several), self.seen_by_key
        if seen is None:
            return found
        return replace(
            found,
            people=seen.people,
            people_alone=seen.people_alone,
            people_alone_on_all=seen.people_alone_on_all,
            keyed_by=self.schema.keyed_by,
        )

    def alike_groups(self) -> np.ndarray:
        """Return a number for each group; groups with the same labels have one number."""
        alike = np.zeros(len(self.groups), np.int64)
        alike[self.boxes.group] = _label_numbers(self.boxes.labels)
        return alike

    def _lonely_rows(self) -> Fingerprints:
        carried, boxes = self.groups.carried, self.boxes
        names = tuple(attribute.name for attribute in carried.attributes)
        alone, each = lonely_rows(carried.codes, carried.weight), self.schema.rows_per_person
        few: FewRows = {} if self.schema.person else rows_of_few(carried.codes, carried.weight, rows_each=each)
        wide = {attribute.name: attribute.intervals for attribute in carried.attributes}
        if self.form == "buckets":
            exact = lonely_rows(boxes.labels, boxes.weight)
            return Fingerprints(
                self.rows,
                unchanged=names,
                alone=alone,
                alone_on_all=None,
                alone_on_exact=exact,
                intervals=wide,
                **few,
            )
        if not names:
            together = lonely_rows(boxes.labels, boxes.weight)
        else:
            columns = np.column_stack([self.alike_groups()[carried.group], carried.codes])
            together = lonely_rows(columns, carried.weight)
        return Fingerprints(
            self.rows,
            unchanged=names,
            alone=alone,
            alone_on_all=together,
            drawn=self.claim.kind == "proved",
            noise=self.noise_lines,
            intervals=wide,
            **few,
        )

    def frame(self, *, engine: Any = None) -> Any:
        """Return the table the public gets; for buckets the exact quasi-identifiers with their group.

        A release of a pandas frame gives a pandas frame, any other a polars frame. With `engine`, a session of Spark,
        it is a frame of Spark whose rows its workers expand.
        """
        found = self.frames(engine=engine)["data"]
        return found.to_pandas() if self.backend == "pandas" and engine is None else found

    def frames(self, *, counts: bool = False, engine: Any = None) -> dict[str, Any]:
        """Return every published table by name; with `counts` as `save(counts=True)` writes them."""
        from sfumato.release.tables import published_frames

        tables = published_frames(self, counts=counts)
        if engine is not None:
            from sfumato.release.in_spark import spark_frame_of

            return {name: spark_frame_of(table, engine) for name, table in tables.items()}
        return {name: table.expanded() for name, table in tables.items()}

    def save(
        self,
        folder: str | PathLike[str] | NewFolder,
        *,
        format: Literal["parquet", "csv", "xlsx"] = "parquet",  # noqa: A002
        allow_rehearsal: bool = False,
        counts: bool = False,
        allow_unaccounted: bool = False,
        allow_fingerprints: bool = False,
        allow_text: bool = False,
        allow_derived: bool = False,
        allow_repeated: bool = False,
        engine: Any = None,
    ) -> None:
        """Write data, manifest and dictionary into a new folder, all or nothing; note it in the ledger.

        A save that fails can be tried again elsewhere: the release stays in memory, and costs nothing more.
        With `counts`, noisy and synthetic tables are written as one line for each combination with its count,
        instead of a line for each row counted. Both forms say the same. Where more than 5 % of the rows are unique on
        the columns that are published unchanged, it is refused unless `allow_fingerprints=True`; where a sensitive or
        target column looks like free text, unless `allow_text=True`; where one follows from quasi-identifiers, so that
        the classes do not keep what is required, unless `allow_derived=True`; where its ledger knows another saved
        release of the same people whose promise does not compose, unless `allow_repeated=True`. A release under
        differential privacy is refused without a ledger, unless `allow_unaccounted=True`; never for what was drawn.
        With `engine`, a session of Spark, a worker writes the tables, into a folder that it sees under the same path.
        """
        from sfumato.release.store import save

        save(
            self,
            folder,
            format=format,
            counts=counts,
            engine=engine,
            allow_rehearsal=allow_rehearsal,
            allow_unaccounted=allow_unaccounted,
            allow_fingerprints=allow_fingerprints,
            allow_text=allow_text,
            allow_derived=allow_derived,
            allow_repeated=allow_repeated,
        )

    @classmethod
    def load(cls, folder: str | PathLike[str], *, schema: Schema | None = None) -> Release:
        """Read a saved release; with the steward's schema the labels get their full meaning.

        Levels and values that were read off the data are not published. Measures take them from the table's schema.
        """
        from sfumato.release.store import load

        return load(folder, schema=schema)

    @classmethod
    def read(cls, source: Any, schema: Schema, *, groups: str | None = None, counts: str | None = None) -> Release:
        """Read anyone's published table (CSV, Parquet or a frame); every label it cannot read is listed at once.

        `groups` names a column of group numbers, `counts` one that says how many rows a line stands for. Rows whose
        labels are written differently are not of one class, even if they mean the same; `notes` says where this occurs.
        """
        from sfumato.release.from_text import read

        return read(source, schema, groups=groups, counts=counts)


def assemble(
    schema: Schema,
    *,
    tables: tuple[Labels, ...],
    labels: np.ndarray,
    weight: np.ndarray,
    group: np.ndarray,
    carried_group: np.ndarray,
    carried_codes: np.ndarray,
    carried_weight: np.ndarray,
    **rest: Any,
) -> tuple[Release, np.ndarray]:
    """Build a release whose groups are numbered by content, never by the order in which they were made.

    Returns the release and the new number of each given group. `schema` may hold unpublished attributes;
    the release keeps only the published ones.
    """
    weight = np.asarray(weight, np.int64)
    labels = np.asarray(labels, np.int32).reshape(len(weight), len(tables))
    group = np.asarray(group, np.int64)
    carried_codes = np.asarray(carried_codes, np.int32).reshape(len(carried_weight), len(schema.carried))
    count = int(group.max()) + 1 if len(group) else 0
    number = _numbered(
        labels,
        weight,
        group,
        carried_group=np.asarray(carried_group),
        carried_codes=carried_codes,
        carried_weight=np.asarray(carried_weight),
        count=count,
    )
    order = np.lexsort((*(labels[:, at] for at in reversed(range(labels.shape[1]))), number[group]))
    boxes = Boxes(labels[order], weight[order], number[group][order].astype(np.int32), tables)
    carried = _carried(
        schema.carried, number[np.asarray(carried_group, np.int64)], carried_codes, np.asarray(carried_weight, np.int64)
    )
    totals = summed(boxes.group, boxes.weight, count)
    suppressed = rest.pop("suppressed_group", None)
    people = rest.pop("people", None)
    release = Release(
        replace(schema, attributes=schema.published),
        boxes=boxes,
        groups=Groups(totals, carried),
        suppressed_group=None if suppressed is None else int(number[suppressed]),
        people=None if people is None else people.renumbered(number),
        **rest,
    )
    return release, number


def _label_numbers(labels: np.ndarray) -> np.ndarray:
    """Number the boxes; boxes with the same labels have the same number. In order, where all of them differ."""
    lines, _ = group_codes(list(labels.T), _spans(labels), rows=len(labels))
    if len(lines) == len(labels):
        return np.arange(len(labels))
    return np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1)


def _spans(codes: np.ndarray) -> list[int]:
    return [int(most) + 1 for most in codes.max(axis=0, initial=0)]


def summed(place: np.ndarray, weight: np.ndarray, length: int) -> np.ndarray:
    """Add up whole weights by place, exactly: noisy counts may be above 2^53, where floats have gaps."""
    found = np.zeros(length, np.int64)
    if float(weight.sum(dtype=np.float64)) < 2**52:
        found[:] = np.bincount(place, weights=weight, minlength=length)
    else:
        np.add.at(found, place, weight)
    return found


def _numbered(
    labels: np.ndarray,
    weight: np.ndarray,
    group: np.ndarray,
    carried_group: np.ndarray,
    carried_codes: np.ndarray,
    carried_weight: np.ndarray,
    count: int,
) -> np.ndarray:
    """Number groups by their boxes, then by what they carry: equal content in any order gives equal numbers."""
    if len(group) == count and labels.shape[1]:  # one box a group: where all labels differ, they decide
        first = np.argsort(group)
        order = np.lexsort(tuple(labels[first, at] for at in reversed(range(labels.shape[1]))))
        if not (labels[first][order][1:] == labels[first][order][:-1]).all(axis=1).any():
            return np.argsort(order)
    place = np.zeros(count, np.int64)
    for rows, owner in (
        (np.column_stack([labels, weight]), group),
        (np.column_stack([carried_codes, carried_weight]), carried_group),
    ):
        place = _refined(place, rows, np.asarray(owner, np.int64))
    number = np.empty(count, np.int64)
    number[np.argsort(place, kind="stable")] = np.arange(count)
    return number


def _refined(place: np.ndarray, rows: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Order groups of equal place by their sorted rows, the shorter first where one begins another.

    `place` is how many groups stand before. Row by row, and only where groups still tie, so that memory follows the
    rows: a table of groups x the largest group would not fit.
    """
    if not len(rows):
        return place
    _, rank = np.unique(rows, axis=0, return_inverse=True)
    order = np.lexsort((rank.reshape(-1), owner))
    rank = rank.reshape(-1)[order]
    starts = np.searchsorted(owner[order], np.arange(len(place) + 1))
    first, length = starts[:-1], np.diff(starts)
    place, tied, step = place.copy(), np.arange(len(place)), 0
    while len(tied):
        value = np.where(length[tied] > step, rank[np.minimum(first[tied] + step, len(rank) - 1)], -1)
        sort = np.lexsort((value, place[tied]))
        tied, value = tied[sort], value[sort]
        old = _begins(place[tied])
        new = old | _begins(value)
        at = np.arange(len(tied))
        place[tied] += np.maximum.accumulate(np.where(new, at, 0)) - np.maximum.accumulate(np.where(old, at, 0))
        step += 1
        parts = np.flatnonzero(new)
        goes_on = (np.diff(np.append(parts, len(tied))) > 1) & (np.maximum.reduceat(length[tied], parts) > step)
        tied = tied[goes_on[np.cumsum(new) - 1]]
    return place


def _begins(values: np.ndarray) -> np.ndarray:
    """True if a value differs from the one before."""
    return np.concatenate([[True], values[1:] != values[:-1]])


def _carried(attributes: tuple[Attribute, ...], group: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Carried:
    """Sort by group and code, add up equal entries, drop zeros."""
    columns, count = [group, *codes.T], int(group.max(initial=0)) + 1
    lines, weight = group_codes(columns, [count, *_spans(codes)], rows=len(group), weights=weight)
    lines, weight = (lines, weight) if (weight > 0).all() else (lines[weight > 0], weight[weight > 0])
    return Carried(attributes, np.ascontiguousarray(lines[:, 0]), np.ascontiguousarray(lines[:, 1:]), weight)
