"""The container: what a file tells beside its table, by the order of rows, leftovers, dictionaries and extremes.

Source    Ours, after what verifiers of statistical offices look for: row order (the place in a file is a key wherever
          another copy has the same order), pandas' index and metadata, dictionary pages of Parquet, tight top codes.
Claim     Four trials, of which the one with the largest gain is reported and each is in `details`.
          `order`: the row at a person's place in the original holds all that is published of them. It need not be
          theirs: rows that are alike agree with many. The baseline is a row at another's place.
          `leftover`: the same, by a column that the schema does not know and that numbers the rows.
          `dictionary`: a value of theirs is written in a dictionary of the file though no row shows it.
          `extremes`: the outermost label of an ordered column ends at their value, and neither its hierarchy, nor its
          range, nor another label of the same width explains why there.
          The controls are people at the same places, or with the same values, in the control. What else the file
          carries (metadata, times, columns beside) is listed in the notes.
Because   a table that was written from its counts has no order, numbers or values of its own to tell.
Checked   tests/claims/test_container_attack.py::test_our_files_tell_nothing
          tests/claims/test_container_attack.py::test_the_order_of_rows_is_found
          tests/claims/test_container_attack.py::test_leftovers_are_found
          tests/claims/test_container_attack.py::test_unused_dictionary_values_are_found
          tests/claims/test_container_attack.py::test_exact_extremes_are_found
          tests/claims/test_container_attack.py::test_wrong_mutants_are_caught
Silent on orders that are not the original's (sorted by a hidden column), on dictionary pages where pyarrow is not
          installed, and on other containers than CSV, Parquet and folders of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl

from sfumato.attacks.base import FITS, Exposure, Fit, Gain, Harm, Whom, percent
from sfumato.attacks.case import MOST, Case, one_row_each, run, share_of, whom
from sfumato.counts import Table
from sfumato.declare import Whole, declare, parameter
from sfumato.errors import NotComparable, SfumatoError, count_of
from sfumato.estimate import View, align_boxes
from sfumato.measures.proportions import Share
from sfumato.randomness import Entropy
from sfumato.release import Release
from sfumato.release.files import DAMAGED, as_texts, opened
from sfumato.release.from_text import TextReader, columns_of
from sfumato.release.hidden_content import dictionary_texts, metadata_names, unshown_values
from sfumato.release.manifest import MANIFEST
from sfumato.release.tables import COUNT, GROUP
from sfumato.schema import Attribute, Labels, Schema
from sfumato.visible import visible

_STOPS = (
    "a file written anew in an order of its own, without index, metadata and unused categories, with ranges that are "
    "public"
)
_DISTINCT = 0.99  # of the values of a column that numbers rows


@dataclass(frozen=True)
class OpenedFile:
    """A file row by row: the label or code of each published column, the columns beside, and what else it carries."""

    path: Path
    _: KW_ONLY
    labels: dict[str, tuple[Labels, np.ndarray]] = field(repr=False)
    beside: dict[str, pl.Series] = field(repr=False)
    unused: dict[str, tuple[int, ...]] = field(repr=False)  # codes that only a dictionary holds
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """Lines of the file."""
        return len(next(iter(self.labels.values()))[1]) if self.labels else 0

    def holds(self, place: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Whether the row at each place holds the codes; none does where the file has no such row."""
        there = (place >= 0) & (place < self.rows)
        found = there.copy()
        for at, name in enumerate(names):
            table, ids = self.labels[name]
            label = ids[np.where(there, place, 0)] if self.rows else np.zeros(len(place), np.int64)
            found &= _holds(table, label, codes[:, at])
        return found


def _holds(table: Labels, label: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Whether each label holds the code beside it; labels with gaps are looked at one by one."""
    if not len(table):
        return np.zeros(len(codes), bool)
    found = (table.low[label] <= codes) & (codes < table.high[label])
    gaps = (table.size != table.high - table.low)[label] & found
    for one in np.unique(label[gaps]):
        here = np.flatnonzero(gaps & (label == one))
        found[here] = np.any(
            [(low <= codes[here]) & (codes[here] < high) for low, high in table.intervals(int(one))], axis=0
        )
    return np.asarray(found)


def open_container(path: Path, schema: Schema) -> OpenedFile:
    """Read a file, or the file of a folder of ours that holds the quasi-identifiers, in the order of its rows."""
    notes = list(_manifest_notes(path)) if path.is_dir() else []
    file = _data_file(path, schema) if path.is_dir() else path
    typed = opened(file)
    frame = as_texts(typed, file.name).collect()
    columns = columns_of(schema, frame.columns)
    reader = TextReader(foreign=True)
    labels = {name: reader.labels(schema[name], frame[column]) for name, column in columns.items()}
    if reader.problems:
        raise NotComparable(f"{file.name} has labels that cannot be read.")
    own = {GROUP, COUNT} if path.is_dir() else set()
    beside = {name: frame[name] for name in frame.columns if name not in columns.values() and name not in own}
    if beside:
        notes.append(f"Columns that the schema does not know: {', '.join(map(visible, beside))}.")
    unused: dict[str, tuple[int, ...]] = {}
    if file.suffix.lower() == ".parquet":
        notes += _metadata_notes(file)
        unused, more = _dictionaries(file, schema, columns)
        notes += more
    return OpenedFile(file, labels=labels, beside=beside, unused=unused, notes=tuple(notes))


def _data_file(folder: Path, schema: Schema) -> Path:
    quasi = {attribute.name for attribute in schema.quasi}
    for file in sorted(folder.iterdir()):
        if file.suffix.lower() in (".csv", ".parquet") and quasi & set(
            columns_of(schema, opened(file).collect_schema().names())
        ):
            return file
    raise NotComparable(f"{folder.name} holds no table with a quasi-identifier.")


def _manifest_notes(folder: Path) -> Iterator[str]:
    """A manifest that gives the hour: anyone who sees changes in a table learns from it whom they are about."""
    try:
        created = str(json.loads((folder / MANIFEST).read_text("utf-8")).get("created", ""))
    except (OSError, ValueError, AttributeError):
        return
    if len(created) > len("2000-01-01"):
        yield "The manifest says at what time of day the release was made."


def _metadata_notes(file: Path) -> Iterator[str]:
    if found := metadata_names(file):
        yield f"Metadata beside the types of the columns: {', '.join(map(visible, found))}."


def _dictionaries(
    file: Path, schema: Schema, columns: dict[str, str]
) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """Return the codes of values that stand in a dictionary and in no row, unless all values of the domain do."""
    try:
        held = dictionary_texts(file, list(columns.values()))
    except ImportError:
        return {}, ("Dictionary pages were not looked at: pyarrow is not installed.",)
    unused, notes = {}, []
    for name, column in columns.items():
        only = unshown_values(schema[name], *held.get(column, (set(), set())))
        if not only:
            continue
        unused[name] = _codes(schema[name], only)
        notes.append(f"The dictionary of {visible(name)} holds {count_of(len(only), 'value')} that no row shows.")
    return unused, tuple(notes)


def _codes(attribute: Attribute, texts: set[str]) -> tuple[int, ...]:
    known = {text: code for code, text in enumerate(attribute.texts())}
    return tuple(sorted(known[text] for text in texts if text in known))


@dataclass(frozen=True)
class _Trial:
    """Whom one trial finds among targets and controls, and a person paired with another's row by chance."""

    what: str
    _: KW_ONLY
    targets: np.ndarray
    controls: np.ndarray | None
    chance: np.ndarray
    hit: str

    @property
    def gap(self) -> float:
        """Share of the targets minus that of the controls, or of chance."""
        others = self.chance if self.controls is None else self.controls
        return float(self.targets.mean() - others.mean()) if len(self.targets) and len(others) else 0.0


@declare
class Container:
    """Look for what a file reveals beside its table."""

    name: ClassVar[str] = "container"
    axis: ClassVar[Harm] = "identity"

    _: KW_ONLY
    most: Whole = parameter("How many people of each side are attacked at most.", default=MOST, least=2)

    run = run

    def fits(self, release: Release) -> Fit:
        """A release that was read from a file or a folder."""
        if release.source is None:
            return Fit("what is attacked was made in memory: there is no file to look at")
        return FITS if release.quasi else Fit("it publishes no quasi-identifier")

    def attempt(self, case: Case) -> Gain:
        """Try each leak on targets and controls; the original's order is that of the targets."""
        release, targets = case.release, case.targets
        if release.source is None:
            raise NotComparable("the release was not read from a file.")
        known = case.known
        try:
            file = open_container(release.source, targets.schema)
        except (SfumatoError, *DAMAGED):
            raise NotComparable(f"{release.source.name} cannot be read row by row.") from None
        names, counted = tuple(file.labels), whom(targets)
        case.same_codes(names)
        entropy = case.entropy(self.name)
        sides = [
            _Side.of(table, names, self.most, entropy.child(which))
            for table, which in ((targets, "targets"), (case.controls, "controls"))
            if table is not None
        ]
        view = align_boxes(release, targets.schema.with_roles(quasi=known))
        trials = [
            _placed(file, sides, names, "order", np.arange(file.rows), targets, entropy),
            *(_placed(file, sides, names, "leftover", key, targets, entropy) for key in _keys(file)),
            _in_dictionaries(file, sides, names, counted),
            *_extremes(view, sides, names, targets),
        ]
        best = max(trials, key=lambda trial: trial.gap)
        weight = [np.ones(len(side.codes), np.int64) for side in sides]
        by_chance = share_of(best.chance, weight[0])
        found = {trial.what: max(one.gap for one in trials if one.what == trial.what) for trial in trials}
        return Gain(
            self.name,
            axis="identity",
            targets=share_of(best.targets, weight[0]),
            controls=None if best.controls is None else share_of(best.controls, weight[1]),
            baseline=by_chance,
            records=Exposure(
                names,
                codes=sides[0].codes,
                weight=weight[0],
                success=best.targets,
                chance=best.targets * _not_by_chance(share_of(best.targets, weight[0]).rate, by_chance.rate),
            ),
            holds="has the file and knows in which order the original was kept",
            hit=best.hit,
            miss=f"{{}} of {counted.others}",
            whom=counted,
            stops=_STOPS,
            notes=(*file.notes, *_agreeing(best, by_chance)),
            details={"trial": best.what, **found},
        )


def _not_by_chance(rate: float, chance: float) -> float:
    """Return the share s of what is found that is not found by chance alone: rate = s rate + (1 - s rate) chance."""
    return max(0.0, (rate - chance) / (rate * (1 - chance))) if rate > 0 and chance < 1 else 0.0


def _agreeing(best: _Trial, by_chance: Share) -> tuple[str, ...]:
    """Say, where no control does, that a row may agree with somebody whose row it is not."""
    if best.controls is not None or not by_chance.successes:
        return ()
    return (f"A row at a place at random agrees with {percent(by_chance.rate)} of them.",)


@dataclass(frozen=True)
class _Side:
    """People at their places in the original."""

    place: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, table: Table, names: tuple[str, ...], most: int, entropy: Entropy) -> _Side:
        codes = table.codes(names).astype(np.int64)
        rows = one_row_each(table, entropy, most)
        place = np.arange(len(codes)) if rows is None else rows
        return cls(place, codes[place])


def _keys(file: OpenedFile) -> Iterator[np.ndarray]:
    """Columns beside the table that number its rows: the place in the original each of them names."""
    for column in file.beside.values():
        numbers = column.cast(pl.Int64, strict=False)
        if numbers.null_count() or numbers.n_unique() < _DISTINCT * max(1, len(numbers)):
            continue
        found = numbers.to_numpy().astype(np.int64)
        yield found - (1 if found.min(initial=1) == 1 else 0)


def _placed(
    file: OpenedFile,
    sides: list[_Side],
    names: tuple[str, ...],
    what: str,
    key: np.ndarray,
    table: Table,
    entropy: Entropy,
) -> _Trial:
    """Point at the row whose number is the target's place; an order says nothing where rows are missing."""
    total, counted = table.rows, whom(table)
    row_of = np.full(max(total, 1), -1, np.int64)
    if what != "order" or file.rows == total:
        inside = (key >= 0) & (key < total)
        row_of[key[inside]] = np.flatnonzero(inside)
    found = [file.holds(np.append(row_of, -1)[np.minimum(side.place, total)], side.codes, names) for side in sides]
    mixed = entropy.child("chance").permutation(len(sides[0].place))
    chance = file.holds(row_of[sides[0].place[mixed]], sides[0].codes, names)
    by = "the order of the rows" if what == "order" else "a column that numbers the rows"
    hit = f"has, by {by}, a row that agrees with {{}} of the {counted.many} in the table"
    return _Trial(what, targets=found[0], controls=found[1] if found[1:] else None, chance=chance, hit=hit)


def _in_dictionaries(file: OpenedFile, sides: list[_Side], names: tuple[str, ...], counted: Whom) -> _Trial:
    found = [
        np.any([np.isin(side.codes[:, names.index(name)], codes) for name, codes in file.unused.items()], axis=0)
        if file.unused
        else np.zeros(len(side.codes), bool)
        for side in sides
    ]
    return _Trial(
        "dictionary",
        targets=found[0],
        controls=found[1] if found[1:] else None,
        chance=np.zeros(len(found[0]), bool),
        hit=f"reads in a dictionary of the file, though in no row, a value of {{}} of the {counted.many} in the table",
    )


def _extremes(view: View, sides: list[_Side], names: tuple[str, ...], targets: Table) -> Iterator[_Trial]:
    """Ends of the outermost labels that no hierarchy and no range explains, and that are somebody's value."""
    many = whom(targets).many
    for at, table in enumerate(view.tables):
        attribute = table.attribute
        used = np.unique(view.labels[view.weight > 0, at])
        if not attribute.ordered or attribute.name not in names or not len(used) or (table.size[used] == 1).all():
            continue
        ends = attribute.values.size - 1
        line = used[table.high[used] <= ends + 1]  # labels that hold the missing value reach beyond
        if not len(line):
            continue
        lowest, highest = line[table.low[line].argmin()], line[table.high[line].argmax()]
        codes = targets.counts(attribute.name).codes[:, 0]
        codes = codes[codes <= ends]
        for label, code, limit, truth in (
            (lowest, int(table.low[lowest]), 0, codes.min(initial=ends)),
            (highest, int(table.high[highest]) - 1, ends, codes.max(initial=0)),
        ):
            node = attribute.nodes.by_interval.get((int(table.low[label]), int(table.high[label])))
            regular = (table.size[line] == table.size[label]).sum() > 1
            if code == limit or node is not None or regular or code != truth:
                continue
            found = [side.codes[:, names.index(attribute.name)] == code for side in sides]
            yield _Trial(
                "extremes",
                targets=found[0],
                controls=found[1] if found[1:] else None,
                chance=np.zeros(len(found[0]), bool),
                hit=f"reads the exact, most extreme {attribute.name} of {{}} of the {many} in the table",
            )
