"""Counts the classes of a published table anew and holds them against a requirement. Part of `verify`.

Classes are rows with the same text in every quasi-identifier (and, where the table has one, the same group number); a
blank cell is a text of its own. The classes of two linked tables are their groups, but k people are always people with
the same text in every quasi-identifier. Each sensitive attribute is looked at separately, over published rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from sfumato.claims import VERIFY_TOLERANCE, AlphaK, Found, Ground, KAnonymity, Requirement, anonymity_parts
from sfumato.errors import Problem, ReleaseError, count_of
from sfumato.release.declared_people import (
    PEOPLE,
    StatedPeople,
    contradictions,
    one_value_shared,
    stated_by,
    value_contradictions,
)
from sfumato.release.exposed import (
    CountedPeople,
    Exposed,
    known_alike,
    nearly_one_value,
    shared_unseen,
    spelt_alike,
)
from sfumato.release.files import DAMAGED, TIMES, distinct_texts, read_whole, tally
from sfumato.release.from_text import counts_of, dense, single_code
from sfumato.release.verdict import Finding
from sfumato.schema import Attribute, Schema, Values, parse_label
from sfumato.schema.checks import plain_spelling
from sfumato.schema.fingerprints import FewRows, Fingerprints, lonely_rows, rows_of_few
from sfumato.schema.near_values import near_codes

# The distance between values of a sensitive attribute that t-closeness (emd) uses, in mechanism and verifier alike.


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


_NUMBER = re.compile(r"0|[1-9]\d*", re.ASCII)

Texts: TypeAlias = tuple[list[str | None], np.ndarray]
"""The distinct texts of a column, and the place of each row's text among them."""

BY_KEY = "people are counted as the publisher declared them; the file does not show who is who"
_ONE_ROW = (
    "each row is a different person, of whose rows one was kept, as the publisher declares; the file does not show it"
)
DRAWN = "the rows that were counted are noisy or synthetic: they do not show how many people there are"
_IN_ROWS = "rows are counted; how many of them are about one person is not stated"


def on_whose_word(schema: Schema, *, drawn: bool = False) -> str:
    """Say how rows are counted as people where no table says it, and that nobody can check it on the file.

    With `drawn` rows are not counted, the release is differentially private: only what its proof takes for granted.
    """
    if schema.unit == "row":
        return _IN_ROWS
    if schema.person and not drawn:
        return _ONE_ROW if schema.cap == 1 else BY_KEY
    most = schema.rows_per_person
    taken = f"nobody is taken to have more than {count_of(most, 'row')}"
    if drawn:
        held = f"at most {count_of(most, 'row')} of each person went into it" if schema.person else taken
    else:
        held = f"every {most} rows are counted as one person: {taken}" if most > 1 else "rows are counted as people"
    return f"{held}, as the publisher declares; the file does not show who is who"


@dataclass(slots=True)
class Examined:
    """What was counted; `texts` holds the distinct texts of each attribute.

    `unshown` are those of the problems that say only that no table shows what is asked.
    """

    problems: list[Problem] = field(default_factory=list)
    unshown: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    classes: int | None = None
    rows: int | None = None
    offending: int = 0
    offending_rows: int = 0
    table_rows: dict[str, int] = field(default_factory=dict)
    texts: dict[str, list[str | None]] = field(default_factory=dict)
    fingerprints: Fingerprints | None = None
    exposed: list[str] = field(default_factory=list)


def examine_rows(
    schema: Schema,
    frame: pl.LazyFrame,
    columns: Mapping[str, str],
    asked: Requirement | None,
    *,
    groups: str | None = None,
    count: str | None = None,
    people: pl.LazyFrame | None = None,
    drawn: bool = False,
) -> Examined:
    """Examine one table of rows; `columns` names the column of each attribute, `people` is what was declared of people.

    `count` names a column that says how many rows a line stands for; rows that were `drawn` are nobody's.
    """
    names = [*columns.values(), *([groups] if groups is not None else []), *([count] if count is not None else [])]
    rows = tally(frame, names, "data")
    read = {column: distinct_texts(rows[column]) for column in names}
    # In one table every row shows its own values: a group number can only tell rows apart, never hide them.
    by = [*(columns[a.name] for a in schema.quasi if a.name in columns), *([groups] if groups is not None else [])]
    classes = dense([read[column][1] for column in by], len(rows))
    values = {a.name: read[columns[a.name]] for a in schema.carried if a.name in columns}
    lines = times = rows[TIMES].to_numpy()
    problems = []
    if count is not None:
        counted = counts_of(rows[count], lines)
        if counted is None:
            return Examined(
                problems=[Problem(count, "must hold whole numbers of rows, at least 1, and not too many in all")]
            )
        if (lines > 1).any() or rows.select(names[:-1]).is_duplicated().any():
            rule = "counts some combination on several lines, and their order could reveal more than their sum"
            problems.append(Problem(count, rule, "one line for each combination, as it was saved"))
        times = counted
    stated: StatedPeople | Problem | None = None
    declared = None if people is None else read_whole(people, PEOPLE)
    if declared is not None:
        first = dict(zip(classes[::-1].tolist(), range(len(classes) - 1, -1, -1), strict=True))
        known = {tuple(rows[column][place] for column in by): number for number, place in first.items()}
        stated = stated_by(declared, [a.name for a in schema.quasi], known)
    if isinstance(stated, Problem):
        examined = Examined(problems=[stated])
    else:
        examined = _weighed(schema, asked, classes, values, times, stated=stated, drawn=drawn)
    examined.problems += problems
    examined.texts = {name: read[column][0] for name, column in columns.items()}
    examined.table_rows = {"data": int(lines.sum())}
    if declared is not None:
        examined.table_rows[PEOPLE] = len(declared)
    examined.fingerprints = Fingerprints(
        int(times.sum()),
        unchanged=tuple(values),
        alone=_alone([texts[1] for texts in values.values()], times),
        alone_on_all=_alone_together(frame, count),
        keyed=schema.several,
        intervals={attribute.name: attribute.intervals for attribute in schema.carried},
        **_few(schema, values, times),
    )
    return examined


def examine_bucket_tables(
    schema: Schema, data: pl.LazyFrame, groups: pl.LazyFrame, asked: Requirement | None, *, group: str, count: str
) -> Examined:
    """Examine buckets: classes are the groups, what they carry is in the second table, sizes must agree."""
    boxes = tally(data, data.collect_schema().names(), "data")
    held = tally(groups, groups.collect_schema().names(), "groups")
    times = held[TIMES].to_numpy()
    weights = counts_of(held[count], times, least=0)
    if weights is None:
        rule = "must hold whole numbers of rows, 0 or more, and not too many in all"
        return Examined(problems=[Problem(count, rule)])
    numbers, places = distinct_texts(pl.concat([boxes[group].alias("group"), held[group].alias("group")]))
    here, there = places[: len(boxes)], places[len(boxes) :]
    total = int(places.max()) + 1 if len(places) else 0
    sizes = np.bincount(here, weights=boxes[TIMES].to_numpy(), minlength=total)
    carried = np.bincount(there, weights=weights, minlength=total)
    values = {attribute.name: distinct_texts(held[attribute.name]) for attribute in schema.carried}
    alike = dense([distinct_texts(boxes[attribute.name])[1] for attribute in schema.quasi], len(boxes))
    exact = _Exact(
        np.bincount(alike, weights=boxes[TIMES].to_numpy()).astype(np.int64), of=alike, group=here, groups=total
    )
    examined = _weighed(schema, asked, there, values, weights, exact)
    if not all(number is not None and _NUMBER.fullmatch(number) for number in numbers):
        examined.problems.append(Problem(group, "must hold whole numbers, which say nothing about a group"))
    if (times > 1).any() or held.select(group, *values).is_duplicated().any():
        rule = "lists some values of a group on several lines, whose order could link them to people"
        examined.problems.append(Problem(count, rule, "publish the file as it was saved"))
    off = int((sizes != carried).sum())
    if off:
        examined.problems.append(
            Problem(group, f"{count_of(off, 'group has', 'groups have')} different sizes in the two tables", count=off)
        )
    examined.texts = {a.name: distinct_texts(boxes[a.name])[0] for a in schema.quasi}
    examined.texts |= {name: texts for name, (texts, _) in values.items()}
    examined.table_rows = {"data": int(boxes[TIMES].sum()), "groups": int(times.sum())}
    examined.fingerprints = Fingerprints(
        int(weights.sum()),
        unchanged=tuple(values),
        alone=_alone([texts[1] for texts in values.values()], weights),
        alone_on_all=None,
        alone_on_exact=int((exact.sizes == 1).sum()),
        keyed=schema.several,
        intervals={attribute.name: attribute.intervals for attribute in schema.carried},
        **_few(schema, values, weights),
    )
    return examined


def _weighed(
    schema: Schema,
    asked: Requirement | None,
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
    exact: _Exact | None = None,
    *,
    stated: StatedPeople | None = None,
    drawn: bool = False,
) -> Examined:
    """Check every part of the requirement for every sensitive attribute."""
    number = int(classes.max()) + 1 if len(classes) else 0
    sizes = np.bincount(classes, weights=times, minlength=number).astype(np.int64)
    examined = Examined(classes=number, rows=int(sizes.sum()))
    if stated is not None:
        examined.problems += contradictions(sizes, stated.classes, stated.everyone, cap=schema.cap)
        examined.notes.append(BY_KEY)
    elif schema.several and asked is not None:
        rule = "a person may have several rows, and no table says how many people each class holds"
        hint = "verify the folder as it was saved, with its table of people"
        if drawn:
            rule, hint = DRAWN, "verify what the release claims, without a requirement"
        examined.unshown.append(Problem(PEOPLE, rule, hint))
        examined.problems += examined.unshown
        if exact is None and not drawn:
            examined.problems += _too_few_rows(asked, sizes)
    elif asked is not None:
        examined.notes.append(on_whose_word(schema))
    if asked is None or examined.problems:
        return examined
    word = "class" if exact is None else "group"
    single = sizes if stated is None else stated.classes
    examined.exposed = _classes_of_one(single, schema, keyed=stated is not None, word=word)
    sensitive = [attribute for attribute in schema.sensitive if attribute.name in values]
    examined.exposed += _of_one_value(sensitive, classes, values, times, stated=stated, word=word)
    if exact is None:
        carried = [attribute for attribute in schema.carried if attribute.name in values]
        for attribute, (_, counts, _, _) in zip(carried, _tables(carried, classes, values, times), strict=True):
            read = values[attribute.name]
            held = _stated_counts(attribute, stated, read) if schema.unit == "person" else None
            table, people = (counts, None) if held is None else held
            texts = nearly_one_value(attribute.name, table, missing=_missing_codes(attribute, read), people=people)
            examined.exposed += [f"Warning: {text}" for text in texts]
    if stated is not None:
        unseen = shared_unseen([attribute.name for attribute in sensitive], stated.values)
        examined.exposed += [f"Warning: {text}" for text in unseen]
    examined.exposed += _alike_but_missing(sensitive, classes, values, times, word=word, schema=schema)
    bad = np.zeros(number, bool)
    findings = []
    for part in asked.parts:
        if part.reads_sensitive and not sensitive:
            hint = 'publish the attribute, or give one the role "sensitive"'
            examined.problems.append(Problem(str(part), "needs a sensitive attribute, none is published", hint))
            continue
        for name, table, overall, ground in _histograms(part, sensitive, classes, values, times):
            given: dict[str, Any] = {"ground": ground, "rows_per_person": schema.rows_per_person}
            if stated is not None and number:  # where there is no class, nobody is counted
                if name is not None and name not in stated.values:
                    rule = f"how many people have each value of {name} was not declared, so {part} cannot be checked"
                    examined.unshown.append(Problem(PEOPLE, rule, "ask for what the release claims"))
                    examined.problems.append(examined.unshown[-1])
                    continue
                counted = _people(name, stated, schema, values, table)
                if isinstance(counted, list):
                    examined.problems += counted
                    continue
                table, overall = counted  # noqa: PLW2901
                given |= {"rows_per_person": 1, "people": stated.classes, "everyone": stated.everyone}
            good = part.check(table, overall, tolerance=VERIFY_TOLERANCE, **given)
            found = part.found(table, overall, **given)
            offending = int((~good).sum())
            if exact is not None and isinstance(part, KAnonymity | AlphaK):
                good, found, offending = exact.crowds(part, table, found, given)
            bad |= ~good[:number]
            findings.append(Finding(part, attribute=name, found=found, holds=bool(good.all()), offending=offending))
    if exact is not None and anonymity_parts(asked):
        examined.notes.append("k people are people with the same quasi-identifiers, which these tables publish exactly")
    examined.findings = tuple(findings)
    examined.offending, examined.offending_rows = int(bad.sum()), int(sizes[bad].sum())
    return examined


def _too_few_rows(asked: Requirement, sizes: np.ndarray) -> list[Problem]:
    """Return a problem for classes with fewer rows than there must be people: no table of people could mend that."""
    parts = [part for part in anonymity_parts(asked) if isinstance(part, KAnonymity | AlphaK)]
    k = max((part.k for part in parts), default=0)
    few = int(((sizes > 0) & (sizes < k)).sum())
    rule = f"{count_of(few, 'class has', 'classes have')} fewer than {k} rows, so fewer than {k} people"
    return [Problem("data", rule, "use a larger class, or suppress its rows", count=few)] if few else []


def _classes_of_one(people: np.ndarray, schema: Schema, *, keyed: bool, word: str) -> list[str]:
    """Say how many classes are one person or, where nobody says that rows are people, one row."""
    most = 1 if keyed or schema.unit != "person" else schema.rows_per_person
    found = Exposed(
        int((people > 0).sum()),
        single=int(((people > 0) & (people <= most)).sum()),
        alike={},
        most=most,
        word=word,
        unit="person" if keyed else schema.unit,
    )
    return [f"Warning: {found.alone()}"] if found.single else []


def _of_one_value(
    sensitive: Sequence[Attribute],
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
    *,
    stated: StatedPeople | None,
    word: str,
) -> list[str]:
    """Say in how many classes all rows, or all people where those with each value are declared, have one value."""
    said = []
    for attribute, (name, counts, _, _) in zip(sensitive, _tables(sensitive, classes, values, times), strict=True):
        sizes = np.asarray(counts.sum(axis=1)).ravel()
        held = _stated_counts(attribute, stated, values[name])
        table, people = (counts, sizes) if held is None else (held[0], held[1].classes)
        alike, none = one_value_shared(table, people, _missing_codes(attribute, values[name]))
        found = Exposed(
            int((sizes > 0).sum()),
            single=0,
            alike={name: int(alike.sum())},
            missing={name: int((alike & none).sum())},
            word=word,
            keyed=held is not None,
        )
        said += [f"Warning: {text}" for text in found.one_value()]
    return said


def _alike_but_missing(
    sensitive: Sequence[Attribute],
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
    *,
    word: str,
    schema: Schema,
) -> list[str]:
    """Say in how many classes all known values are one, missing ones and other spellings aside, by attribute."""
    from scipy.sparse import csr_matrix

    said = []
    for attribute in sensitive:
        distinct, places = values[attribute.name]
        near = near_codes(attribute.texts()) if isinstance(attribute.domain, Values) else []
        if not attribute.no_value_codes and not attribute.unsure_codes and near == list(range(len(near))):
            continue
        codes, width, _ = _value_codes(attribute, values[attribute.name])
        found = [_code(attribute, text) for text in distinct]
        counts = csr_matrix((times, (classes, codes)), shape=(int(classes.max(initial=-1)) + 1, width), dtype=np.int64)
        none = _missing_codes(attribute, values[attribute.name])
        given: dict[str, Any] = {"word": word, "unit": schema.unit, "several": schema.several}
        unsure = _numbered(attribute, values[attribute.name], attribute.unsure_codes)
        said += known_alike(attribute.name, counts, none, unsure=unsure, **given)
        if near:
            first = _first_codes(found, codes, places, near=near, width=width)
            said.append(spelt_alike(attribute.name, counts, first, word=word))
    return [f"Warning: {sentence}" for sentence in said if sentence]


def _first_codes(
    found: Sequence[int | None], codes: np.ndarray, places: np.ndarray, *, near: Sequence[int], width: int
) -> list[int]:
    """Return for each numbered value the first one that it may be a spelling of."""
    first = list(range(width))
    kept: dict[int, int] = {}
    for place, at in zip(*np.unique(places, return_index=True), strict=True):
        code = found[place]
        if code is not None:
            number = int(codes[at])
            first[number] = min(first[number], kept.setdefault(near[code], number))
    return first


def _missing_codes(attribute: Attribute, read: Texts) -> list[int]:
    """Return the numbers that `_value_codes` gives to texts that mean no value."""
    return _numbered(attribute, read, attribute.no_value_codes)


def _numbered(attribute: Attribute, read: Texts, wanted: Collection[int]) -> list[int]:
    """Return the numbers that `_value_codes` gives to the texts of some codes."""
    if not wanted:
        return []
    distinct, places = read
    blank = np.array([_code(attribute, text) in wanted for text in distinct], bool)
    found: list[int] = np.unique(_value_codes(attribute, read)[0][blank[places]]).tolist()
    return found


def _people(
    name: str | None,
    stated: StatedPeople,
    schema: Schema,
    values: Mapping[str, Texts],
    rows: Any,
) -> tuple[Any, np.ndarray | None] | list[Problem]:
    """Return the declared people of a part in the place of its rows, or why they cannot be those of these rows."""
    if name is None:
        return stated.classes[:, None], None
    held = _stated_counts(schema[name], stated, values[name])
    if held is None:
        rule = f"counts people with a value of {name} that no row has"
        return [Problem(PEOPLE, rule, "publish the file as it was saved")]
    table, people = held
    problems = value_contradictions(name, rows, table, stated, people.overall)
    return problems or (table, people.overall)


def _stated_counts(attribute: Attribute, stated: StatedPeople | None, read: Texts) -> tuple[Any, CountedPeople] | None:
    """Return the declared people with each value, classes x values; None if none are, or no row has a value."""
    if stated is None or attribute.name not in stated.values:
        return None
    from scipy.sparse import csr_matrix

    codes, width, _ = _value_codes(attribute, read)
    _, first = np.unique(read[1], return_index=True)
    place = dict(zip(read[0], codes[first].tolist(), strict=True))
    group, texts, people = stated.values[attribute.name]
    everywhere = stated.overall.get(attribute.name, {})
    if not {*texts, *everywhere} <= set(place):
        return None
    shape = (len(stated.classes), width)
    table = csr_matrix((people, (group, [place[text] for text in texts])), shape=shape, dtype=np.int64)
    overall = np.zeros(width, np.int64)
    for text, many in everywhere.items():
        overall[place[text]] += many
    return table, CountedPeople(stated.classes, overall, stated.everyone)


def _few(schema: Schema, values: Mapping[str, tuple[Any, np.ndarray]], times: np.ndarray) -> FewRows:
    """Count the rows whose unchanged columns hardly any other row has, where no key says whose rows they are."""
    if schema.person or not values:
        return {}
    columns = np.column_stack([codes for _, codes in values.values()])
    return rows_of_few(columns, times, rows_each=schema.rows_per_person)


def _alone_together(frame: pl.LazyFrame, count: str | None) -> int:
    """Return how many rows are unique on all columns of the file, those that the schema does not know as well."""
    rows = tally(frame, frame.collect_schema().names(), "data")
    times = rows[TIMES].to_numpy()
    counted = times if count is None else counts_of(rows[count], times)
    by = [column for column in rows.columns if column not in (TIMES, count)]
    if counted is None or not by:
        return 0
    together = rows.select(by).with_columns(pl.Series(TIMES, counted)).group_by(by).agg(pl.col(TIMES).sum())
    return int((together[TIMES] == 1).sum())


def _alone(columns: Sequence[np.ndarray], times: np.ndarray) -> int:
    return lonely_rows(np.column_stack(columns), times) if columns else 0


@dataclass(frozen=True, slots=True)
class _Exact:
    """Rows of two linked tables that share the text of all quasi-identifiers: their numbers, and their groups."""

    sizes: np.ndarray
    _: KW_ONLY
    of: np.ndarray
    group: np.ndarray
    groups: int

    def crowds(
        self, part: KAnonymity | AlphaK, table: Any, found: Found, given: Mapping[str, Any]
    ) -> tuple[np.ndarray, Found, int]:
        """Count k on rows that are alike, and a share alpha in groups; return good groups, what is found, failures."""
        rows = {"rows_per_person": given["rows_per_person"]}
        alike, people = self.sizes[:, None], KAnonymity(part.k)
        few = ~people.check(alike, **rows)
        good = np.ones(self.groups, bool)
        good[self.group[few[self.of]]] = False
        reached = people.found(alike, **rows)
        if isinstance(part, KAnonymity):
            return good, reached, int(few.sum())
        good[: table.shape[0]] &= AlphaK(part.alpha, k=1).check(table, **given)
        return good, (found[0] if isinstance(found, tuple) else found, reached), int((~good).sum())


def _histograms(
    part: Requirement,
    sensitive: Sequence[Attribute],
    classes: np.ndarray,
    values: Mapping[str, Texts],
    times: np.ndarray,
) -> Iterator[tuple[str | None, Any, np.ndarray | None, Ground | None]]:
    """Yield what a part looks at: class sizes alone, or classes x values of each sensitive attribute."""
    number = int(classes.max()) + 1 if len(classes) else 0
    if not part.reads_sensitive:
        yield None, np.bincount(classes, weights=times, minlength=number).astype(np.int64)[:, None], None, None
        return
    yield from _tables(sensitive, classes, values, times)


def _tables(
    carried: Sequence[Attribute], classes: np.ndarray, values: Mapping[str, Texts], times: np.ndarray
) -> Iterator[tuple[str, Any, np.ndarray, Ground]]:
    """Yield classes x values of each attribute, what all classes hold together, and its ground distances."""
    from scipy.sparse import csr_matrix

    number = int(classes.max()) + 1 if len(classes) else 0
    for attribute in carried:
        codes, width, ground = _value_codes(attribute, values[attribute.name])
        table = csr_matrix((times, (classes, codes)), shape=(number, width), dtype=np.int64)
        yield attribute.name, table, np.asarray(table.sum(axis=0)).ravel(), ground


def _value_codes(attribute: Attribute, read: Texts) -> tuple[np.ndarray, int, Ground]:
    """Number the values that occur, in the order of their codes and not of their texts; unknown ones stand last.

    Two spellings of one value (`3` and `3.0`, a blank and `(missing)`, `flu` and `Flu`, even where the schema lists
    both) are one value: else a class could look diverse.
    """
    distinct, places = read
    codes = [_code(attribute, text) for text in distinct]
    if isinstance(attribute.domain, Values):
        codes = _one_spelling(attribute, codes, distinct)
    ground = ground_of(attribute)
    if ground.kind == "hierarchical" and all(code is not None for code in codes):
        whole = np.array(codes, dtype=np.int64)
        return whole[places] if len(whole) else whole, attribute.size, ground
    keys = [
        (code is None, code or 0, "" if code is not None else (text or "").strip())
        for code, text in zip(codes, distinct, strict=True)
    ]
    known = {key: at for at, key in enumerate(sorted(set(keys)))}
    rank = np.array([known[key] for key in keys], np.int64)
    ranked = rank[places] if len(rank) else rank
    return ranked, max(1, len(known)), Ground.equal() if ground.kind == "hierarchical" else ground


def _one_spelling(attribute: Attribute, codes: Sequence[int | None], texts: Sequence[str | None]) -> list[int | None]:
    """Give values that differ only in how they are spelled one code: the first of the schema.

    A text that means missing is read as the value that it spells, where the schema lists one.
    """
    written = {**{text: text for text in attribute.texts()}, **attribute.same}
    first: dict[str, int | None] = {}
    for text, value in written.items():
        first.setdefault(plain_spelling(text), _code(attribute, value))
    spelt = [
        text or "" if code is None or code == attribute.missing_code else attribute.text(code)
        for code, text in zip(codes, texts, strict=True)
    ]
    return [first.get(plain_spelling(text), code) for code, text in zip(codes, spelt, strict=True)]


def _code(attribute: Attribute, text: str | None) -> int | None:
    if text is None or not text.strip():
        return attribute.missing_code
    return single_code(parse_label(attribute, text))


def label_problems(schema: Schema, texts: Mapping[str, list[str | None]], *, as_saved: bool = False) -> list[Problem]:
    """Return the attributes with texts that the schema cannot understand.

    With `as_saved` values must stand there as we write them: a second spelling could mark people inside a class.
    """
    problems = []
    for attribute in schema.published:
        known = texts.get(attribute.name, [])
        if attribute.role == "quasi":
            wrong = [text for text in known if text is None or parse_label(attribute, text) is None]
            rule = "labels are not in the schema"
        else:
            codes = [_code(attribute, text) for text in known]
            if not as_saved and isinstance(attribute.domain, Values):
                codes = _one_spelling(attribute, codes, known)
            read = zip(known, codes, strict=True)
            wrong = [text for text, code in read if code is None or (as_saved and attribute.text(code) != text)]
            rule = "values are not in the schema" + (", or not spelled as it does" if as_saved else "")
        if wrong:
            stated = tuple(text or "" for text in wrong)
            problems.append(Problem(attribute.where, f"{len(wrong)} {rule}", count=len(wrong), values=stated))
    return problems


def unsorted(frame: pl.LazyFrame, columns: Sequence[str], *, numbers: Sequence[str] = ()) -> bool:
    """True when some row should stand before the one above it."""
    falls: pl.Expr = pl.lit(value=False)
    for name in reversed(columns):
        here = pl.col(name).cast(pl.Int64, strict=False) if name in numbers else pl.col(name)
        above = here.shift(1)
        falls = (here < above) | ((here == above) & falls)
    try:
        found = frame.select(falls.fill_null(value=False).any()).collect(engine="streaming")
    except DAMAGED:
        raise ReleaseError("the table cannot be read", hint="check that the file is complete") from None
    return bool(found.item())
