"""Columns that say who a row is about by what their rows show, whatever they are called and whatever their role is.

Source    Ours.
Claim     A column is reported only if at least nine in ten of its values that repeat have rows that agree in the
          quasi-identifiers (in all of them; or in more of them than not and all but two at most, numbers within a
          tenth of their range), which rows put together at random would do in one case of ten at most; or if
          rows that agree in every quasi-identifier never agree in it, nine groups in ten, where chance gives a quarter
          at most, or if these groups hold each of its values equally often, nine in ten, where chance gives a quarter
          at most; or if a part of it (a run of letters or digits, a number, what stands before or after a sign) is
          such a key, and parts next to each other in order do not agree, or the initial and surname of a name; or if
          two or three columns together are such a key by what fewer of them do not say; or if names and a birthday
          repeat together ten times as often as by chance; or if it is a day whose rows agree in a column of many
          values, and that repeats ten times as often as days put anywhere between the first and the last do.
Because   the chance that m random rows agree is counted exactly: the sum of C(n_v, m) / C(n, m) over combinations v.
          Columns that follow from one another, such as postcode and town, are not evidence of a person: two of the
          quasi-identifiers that agree must say little about each other.
Checked   tests/claims/test_suspected_keys.py::test_a_key_in_any_role_is_refused
          tests/claims/test_suspected_keys.py::test_a_key_whose_people_grow_older_is_refused
          tests/claims/test_suspected_keys.py::test_ordinary_columns_are_not_reported
          tests/claims/test_suspected_keys.py::test_mutants_are_caught
          tests/claims/test_rival_keys.py::test_names_and_a_birthday_that_repeat_are_a_person
          tests/claims/test_rival_keys.py::test_a_person_shown_by_three_columns_together_is_refused
          tests/claims/test_rival_keys.py::test_a_second_key_whose_rows_agree_is_refused
          tests/claims/test_key_of_visits.py::test_a_key_of_visits_named_as_person_is_refused
          tests/claims/test_key_of_visits.py::test_ordinary_keys_are_not_refused
          tests/claims/test_parts_of_keys.py::test_a_person_anywhere_in_a_code_of_rows_is_refused
          tests/claims/test_parts_of_keys.py::test_codes_of_one_row_each_are_not_refused
          tests/claims/test_key_of_visits.py::test_mutants_are_caught
          tests/claims/test_rows_of_one_person.py::test_one_row_for_each_subject_is_refused
          tests/claims/test_rows_of_one_person.py::test_waves_of_people_who_look_alike_are_refused
          tests/claims/test_rows_of_one_person.py::test_a_birthday_with_initials_is_refused
          tests/claims/test_rows_of_one_person.py::test_that_a_birthday_is_no_person_does_not_explain_rows_that_agree
Silent on keys of which hardly any repeats, parts of keys that neither a sign nor a change between letters and digits
          sets apart (save a few characters at either end), and tables with fewer than two quasi-identifiers that agree.
          The first 20,000 rows are looked at.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import gammaln

from sfumato.counts.code_parts import INITIAL, REPEATED_ROWS, CodePart, grouped, initial_and_surname, numbered, parts
from sfumato.counts.derived import explained_share
from sfumato.counts.row_groups import AGREE, LOOKED_AT, FirstRows, RowGroups, first_rows, joint
from sfumato.errors import Problem
from sfumato.io.source import Source
from sfumato.schema import Days, Schema
from sfumato.schema.word_hints import BIRTH_WORDS, names_people, names_time_or_place, tokens

SAME_PERSON, UNLIKE = 0.9, 0.6  # the share alike from which rows are one person's, and below which they are not

_TOGETHER = 50  # pairs and triples of columns looked at
_COMBINATIONS, _REPEATED = 20, 5  # of the quasi-identifiers; values that repeat
_MISSED, _MANY_REPEATED, _FEW_ROWS = 2, 20, 10  # of a key whose people change: columns, values and rows a value
_NEAR, _CHANCE, _LITTLE, _ENOUGH_PAIRS = 0.1, 0.1, 1 / 3, 10
_KEPT = 0.75  # of what chance leaves: how much oftener two rows of a person who moves and changes agree
_SORTED = 0.5  # the share of parts that agree with the next one, from which keys number a sorted list
_KINDS, _APART, _FOLLOWS = 50, 0.25, 0.75  # values of a column of subjects; chance that none agree; what follows
_WAVES = 3  # values from which equal numbers of each are waves; two are often cases and their matched controls
_DAY = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]|$)"
_SAY_M = "rows_per_person = m takes m rows for one person, a number that is known without looking at the data"
_PEOPLE = "copies_are_people = true where rows that agree so are different people"
_SEVERAL = f"name the `person` in a column of its own; {_SAY_M}; {_PEOPLE}"
_LARGEST = 30  # rows of a value, beyond which the chance of agreement is taken to be that of 30


def agreeing_columns(source: Source, schema: Schema, columns: Iterable[str]) -> list[Problem]:
    """Return a problem for a column whose rows agree in every other quasi-identifier as the rows of a person do."""
    wanted = list(columns)[:LOOKED_AT]
    rows = _rows(source, schema, wanted)
    if rows is None:
        return []
    quasi = _quasi(schema)
    for name in _unanswered(rows, schema, wanted):
        others = [other for other in quasi if other != name]
        published = any(name in (a.name, a.column) for a in schema.published)
        groups = RowGroups.of(rows.codes[name])
        if _agrees(rows, groups, others, schema.rows_per_person, apart=published):
            return [_worded(rows, [name], groups.most, schema, "every other" if published else "every")]
    return []


def suspected_keys(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for columns that may be the key of a person though none of them agrees in everything.

    Names and a birthday, a column whose people change a little, two or three columns that are a key together, and the
    first part of a key of rows.
    """
    if schema.person:
        return []
    quasi, every = _quasi(schema), list(source.columns[:LOOKED_AT])
    rows = _rows(source, schema, every)
    if rows is None:
        return []
    every = [name for name in every if name in rows.codes]
    if not schema.copies_are_people and (found := _named_people(rows, schema, every)):
        return found
    wanted = _unanswered(rows, schema, every)
    groups = {name: RowGroups.of(rows.codes[name]) for name in every}
    for name in wanted:
        others = [other for other in quasi if other != name]
        held = _mostly_agrees(rows, groups[name], others, schema.rows_per_person, moving=True)
        if held:
            agreed = f"{len(held)} of {len(others)}"
            return [_worded(rows, [name], groups[name].most, schema, agreed, nearly=" or nearly agree")]
    carried = {a.column_name for a in schema.published}
    free = [name for name in wanted if name not in carried]
    for name in (one for one in free if not groups[one].repeats(rows.height, 1)):
        seen: set[bytes] = set()
        for part in parts(rows.texts[name], _REPEATED):
            agreed = _same_part(rows, part, quasi, schema.rows_per_person, seen)
            if agreed:
                nearly = "" if agreed == "every" else " or nearly agree"
                most = RowGroups.of(part.codes).most
                return [_worded(rows, [name], most, schema, agreed, part.what, nearly=nearly)]
    if schema.copies_are_people:  # what follows is said of rows that agree, not of the column that shows it
        return []
    return (
        _several_columns(rows, schema, {name: groups[name] for name in every if name not in carried}, wanted)
        or _one_row_for_each(rows, quasi, every, schema)
        or _same_day(rows, schema, every)
    )


def _several_columns(
    rows: FirstRows, schema: Schema, groups: Mapping[str, RowGroups], unanswered: Sequence[str]
) -> list[Problem]:
    """Return a problem for two or three unpublished columns whose rows together agree as one person's do.

    That neither is a key of people (`not_person`) is true of an office and of a number in it, and explains nothing;
    it does for a column whose rows agree without the other, as those of matched pairs do. What follows from fewer of
    the columns is no evidence for all of them.
    """
    quasi, most = _quasi(schema), schema.rows_per_person
    some = [
        name
        for name, one in groups.items()
        if 2 * len(one.first) <= rows.height
        and len(one.first) > 1
        and (name in unanswered or not (_agrees(rows, one, quasi, most) or _mostly_agrees(rows, one, quasi, most)))
    ]
    tried = [list(itertools.combinations(some, size))[:_TOGETHER] for size in (2, 3)]
    for names in itertools.chain(*tried):
        together = rows.grouped(names)
        nearly = not _agrees(rows, together, quasi, most)
        held = _mostly_agrees(rows, together, quasi, most) if nearly else quasi
        fewer = [rows.grouped(less) for less in itertools.combinations(names, len(names) - 1)] if held else []
        own = [name for name in held if not any(_follows_from(rows, key, name, nearly=nearly) for key in fewer)]
        if _two_apart(rows, together, own):
            agreed, how = (f"{len(held)} of {len(quasi)}", " or nearly agree") if nearly else ("every", "")
            return [_worded(rows, names, together.most, schema, agreed, nearly=how)]
    return []


def _named_people(rows: FirstRows, schema: Schema, names: Sequence[str]) -> list[Problem]:
    """Return a problem where names together with a birthday repeat far more often than by chance.

    What else a table says of people often follows from these: the age from the birthday, the sex from the first name.
    """
    called, born = (
        [name for name in names if names_people(name)],
        [name for name in names if tokens(name) & BIRTH_WORDS],
    )
    key = [*called, *born]
    if not called or not born:
        return []
    groups = rows.grouped(key)
    known = np.logical_and.reduce([rows.codes[name] >= 0 for name in key])
    ones = np.unique(np.column_stack([rows.codes[name][known] for name in key]), axis=0, return_counts=True)
    if groups.most <= schema.rows_per_person or not more_than_by_chance(*ones):
        return []
    rule = (
        f"repeats together with {', '.join(key[1:])}: up to {groups.most} rows have the same values, as those of one "
        f"person do, and rows_per_person is {schema.rows_per_person}"
    )
    return [Problem(_where(schema, key[0]), rule, key_hint(key, alike=True), rows=groups.most)]


def _unanswered(rows: FirstRows, schema: Schema, names: Sequence[str]) -> list[str]:
    """Return the columns that may show the rows of one person and that the schema does not explain otherwise.

    `not_person` says that a key identifies something else. Of a quasi-identifier or a day that is true in any table,
    and does not explain why its rows agree in everything else: there `copies_are_people` says that they are different
    people.
    """
    named = {a.name: a.column_name for a in schema.attributes}
    passed = {named.get(name, name) for name in schema.not_person} | set(schema.not_person)
    known = [name for name in names if name in rows.codes]
    return [
        name for name in known if not (schema.copies_are_people if _nobodys_key(rows, schema, name) else name in passed)
    ]


def _nobodys_key(rows: FirstRows, schema: Schema, name: str) -> bool:
    """Whether a column is a quasi-identifier or has days: declaring that it identifies no person is no explanation."""
    known = {a.column_name: a for a in schema.attributes}.get(name)
    if known is not None and (known.role == "quasi" or known.kind == "date"):
        return True
    text = rows.texts[name].drop_nulls()
    return bool(len(text)) and int(text.str.contains(_DAY).sum()) >= AGREE * len(text)


def _one_row_for_each(rows: FirstRows, quasi: Sequence[str], wanted: Sequence[str], schema: Schema) -> list[Problem]:
    """Return a problem where rows that agree in every quasi-identifier hardly ever agree in some column.

    So look several rows of a person, one for each subject, dose or wave.
    """
    groups = RowGroups.of(joint([rows.codes[name] + 1 for name in quasi]))
    if groups.most <= schema.rows_per_person or not groups.repeats(rows.height, _MANY_REPEATED):
        return []
    for name in (one for one in wanted if one not in quasi and (rows.codes[one] >= 0).all()):
        column = rows.codes[name]
        if int(column.max(initial=0)) + 1 > _KINDS:
            continue
        order = np.lexsort((column[groups.order], np.repeat(np.arange(len(groups.sizes)), groups.sizes)))
        value, owner = column[groups.order][order], np.repeat(np.arange(len(groups.sizes)), groups.sizes)
        twice = (value[1:] == value[:-1]) & (owner[1:] == owner[:-1])
        apart = 1 - len(np.unique(owner[1:][twice])) / len(groups.sizes)
        if apart >= AGREE and _apart_by_chance(column, groups.sizes) <= _APART:
            rule = (
                "rows that agree in every quasi-identifier hardly ever agree in it, as several rows of one person do, "
                f"one for each value: up to {groups.most} rows, and rows_per_person is {schema.rows_per_person}"
            )
            return [Problem(_where(schema, name), rule, _SEVERAL, rows=groups.most)]
        if (kinds := _balanced(column, groups)) > schema.rows_per_person:
            rule = (
                "among rows that agree in every quasi-identifier each of its values is as frequent as any other, as if "
                f"every person had {kinds} rows, and rows_per_person is {schema.rows_per_person}"
            )
            return [Problem(_where(schema, name), rule, _SEVERAL, rows=kinds)]
    return []


def _balanced(column: np.ndarray, groups: RowGroups) -> int:
    """Return how many values a column has where nearly all groups hold each of them equally often, else 0.

    So look waves of people who share their quasi-identifiers: each of m people has a row for each value. By chance a
    group of m rows of each of v values is so with probability (m v)! / (m!^v) times the product of the shares^m.
    """
    kinds = int(column.max(initial=0)) + 1
    owner = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
    table = np.zeros((len(groups.sizes), kinds), np.int64)
    np.add.at(table, (owner, column[groups.order]), 1)
    equal = (table == table[:, :1]).all(axis=1)
    if kinds < _WAVES or len(equal) < _COMBINATIONS or equal.mean() < AGREE:
        return 0
    shares = np.log(np.bincount(column, minlength=kinds) / len(column)).sum()
    times = groups.sizes // kinds
    chance = np.where(
        groups.sizes % kinds == 0,
        np.exp(gammaln(groups.sizes + 1) - kinds * gammaln(times + 1) + times * shares),
        0.0,
    )
    return kinds if chance.mean() <= _APART else 0


def _same_day(rows: FirstRows, schema: Schema, wanted: Sequence[str]) -> list[Problem]:
    """Return a problem for a day whose rows agree in a column of many values, as a birthday and initials do.

    The day must repeat far more often than days put anywhere between the first and the last do. What follows
    from the calendar, such as the day of the month, is not a person.
    """
    days = [a for a in schema.quasi if isinstance(a.domain, Days) and a.domain.step == 1 and not a.domain.months]
    for attribute in (a for a in days if (a.column_name) in rows.codes):
        name = attribute.column_name
        codes, ones = rows.codes[name], np.ones(rows.height, np.int64)
        groups = RowGroups.of(codes)
        few = len(groups.first) * _FEW_ROWS > len(groups.order)
        if groups.most <= schema.rows_per_person or not few or not groups.repeats(rows.height, _MANY_REPEATED):
            continue
        day = rows.texts[name].str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).drop_nulls()
        span = len(day) and (day.max() - day.min()).days + 1  # type: ignore[operator,union-attr]
        if not span or _pairs(codes[codes >= 0]) * _CHANCE <= rows.height**2 / 2 / span:
            continue
        calendar = [numbered(rows.texts[name].str.slice(start, 2)) for start in (0, 3, 5, 8)]
        for other in (one for one in wanted if one not in _quasi(schema)):
            column = rows.codes[other]
            if not _COMBINATIONS <= len(np.unique(column)) <= rows.height / 2:
                continue
            if explained_share(codes, column, ones, neighbours=False) <= _FOLLOWS:
                continue
            if any(explained_share(part, column, ones, neighbours=False) > _FOLLOWS for part in calendar):
                continue
            most = rows.grouped([name, other]).most  # two people may have been born on one day
            if most <= schema.rows_per_person:
                continue
            rule = (
                f"rows with the same day agree in {other}, as those of one person do: up to {most} rows, and "
                f"rows_per_person is {schema.rows_per_person}"
            )
            return [Problem(attribute.where, rule, key_hint([name, other], alike=True), rows=most)]
    return []


def _apart_by_chance(column: np.ndarray, sizes: np.ndarray) -> float:
    """Return the expected share of groups in which no two rows would agree if rows were put together at random."""
    shares = np.unique(column, return_counts=True)[1] / len(column)
    sums = np.zeros(len(shares) + 2)  # elementary symmetric sums of the shares; of more rows than values some agree
    sums[0] = 1
    for share in shares:
        sums[1:] += share * sums[:-1]
    chances = sums * np.cumprod(np.maximum(np.arange(len(sums)), 1).astype(float))
    return float(chances[np.minimum(sizes, len(shares) + 1)].mean())


def _where(schema: Schema, name: str) -> str:
    known = {a.column_name: a for a in schema.attributes}.get(name)
    return known.where if known is not None else name


def shares_alike(
    source: Source, quasi: Sequence[str], keys: Sequence[str], *, formats: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Return for each column that repeats how much its rows are alike in the quasi-identifiers, from 0 to 1.

    The mean, over the quasi-identifiers, of the share of its values whose rows agree; numbers within a tenth of their
    range agree. A column of which hardly any value repeats is not named. `formats` says how columns write their days.
    """
    wanted = list(keys)[:LOOKED_AT]
    rows = first_rows(source, quasi, wanted, formats=formats)
    if rows is None:
        return {}
    found = {name: _share_alike(rows, RowGroups.of(rows.codes[name]), quasi) for name in wanted if name in rows.codes}
    return {name: share for name, share in found.items() if share is not None}


def _share_alike(rows: FirstRows, groups: RowGroups, quasi: Sequence[str]) -> float | None:
    if len(groups.sizes) < _REPEATED or not quasi:
        return None
    alike, _ = _alike(rows, groups, quasi)
    return float(np.mean([one.mean() for one in alike.values()]))


def rival_keys(source: Source, schema: Schema, keys: Sequence[str]) -> list[Problem]:
    """Return a problem for one of `keys` whose rows are one person's where those of the declared `person` are not."""
    named = {a.name: a.column_name for a in schema.attributes}
    person = [named.get(name, name) for name in schema.person]
    quasi = [name for name in _quasi(schema) if name not in person]
    rows = first_rows(source, quasi, [*person, *keys], schema) if person else None
    if rows is None or not all(name in rows.codes for name in person):
        return []
    declared = _share_alike(rows, rows.grouped(person), quasi)
    if declared is None or declared >= UNLIKE:
        return []
    for name in (one for one in _unanswered(rows, schema, keys) if one not in person):
        groups, others = RowGroups.of(rows.codes[name]), [other for other in quasi if other != name]
        share = _share_alike(rows, groups, others)
        if share is None or share < SAME_PERSON or not groups.repeats(rows.height, _REPEATED):
            continue
        if _by_chance(joint([rows.codes[other] + 1 for other in others]), groups.sizes) > _CHANCE:
            continue
        known = {a.column_name: a for a in schema.attributes}.get(name)
        rule = (
            "repeats, and rows with the same value agree in the quasi-identifiers, as the rows of one person do; "
            f"those of {', '.join(person)}, which `person` names, do not"
        )
        how, _, other = _key_answers([name], alike=_nobodys_key(rows, schema, name))
        hint = f"{how}; {other}"
        return [Problem(known.where if known is not None else name, rule, hint, rows=groups.most)]
    return []


def parted_keys(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem where a part of the declared `person` is a person's key, and the whole one of visits or rows.

    Judged on one row of each key: whether keys that share that part, or the day or quasi-identifier that makes the key
    together with another column, agree in the quasi-identifiers.
    """
    person = list(schema.person_columns)
    quasi = [name for name in _quasi(schema) if name not in person]
    rows = first_rows(source, quasi, person, schema) if person else None
    if rows is None or not all(name in rows.codes for name in person):
        return []
    once = rows.grouped(person).first
    kept = FirstRows(
        {name: column[once] for name, column in rows.codes.items()},
        texts={name: text.gather(once) for name, text in rows.texts.items()},
        height=len(once),
    )
    names = [] if schema.person_exact else person
    for name in names:
        names_of = initial_and_surname(kept.texts[name])
        part = CodePart(INITIAL, pieces=(names_of,), codes=grouped(names_of), neighbours=True)
        if found := _shared_part(kept, schema, name, part, set()):
            return found
    shared = [name for name in person if len(person) > 1 and _shared_day(kept, schema, name)]
    if shared and not schema.copies_are_people:
        return _shared_day(kept, schema, shared[0])
    least = _REPEATED if len(person) == 1 else 1  # few values of one column can be many together with another's
    for name in names if not shared else ():  # a part beside such a day would be taken to show what the day shows
        seen: set[bytes] = set()
        for part in parts(kept.texts[name], least):
            if found := _shared_part(kept, schema, name, part, seen):
                return found
    return []


def _shared_day(kept: FirstRows, schema: Schema, name: str) -> list[Problem]:
    """Return a problem where a day or quasi-identifier that is one of several columns of the key is shared by keys."""
    if not _nobodys_key(kept, schema, name):
        return []
    quasi, groups = [one for one in _quasi(schema) if one not in schema.person_columns], RowGroups.of(kept.codes[name])
    every = _agrees(kept, groups, quasi, 1, apart=True)
    held = [] if every else _mostly_agrees(kept, groups, quasi, 1)
    if not every and not held:
        return []
    most = _most_alike(kept, groups, quasi)
    which = "every quasi-identifier" if every else f"{len(held)} of {len(quasi)} quasi-identifiers"
    rule = (
        f"repeats, and keys that share it agree{'' if every else ' or nearly agree'} in {which}, as the "
        f"rows of one person do: up to {most} keys, each counted as a person"
    )
    hint = f"name the `person` in a column of its own; {_PEOPLE}"
    return [Problem(_where(schema, name), rule, hint, count=most)]


def _shared_part(kept: FirstRows, schema: Schema, name: str, part: CodePart, seen: set[bytes]) -> list[Problem]:
    """Return a problem where keys that share a part of a column, and the others whole, agree as one person's do."""
    quasi = [one for one in _quasi(schema) if one not in schema.person_columns]
    others = [kept.codes[other] for other in schema.person_columns if other != name]
    agreed = _same_part(kept, part, quasi, 1, seen, others)
    if not agreed:
        return []
    most = _most_alike(kept, RowGroups.of(joint([part.codes, *others])), quasi)
    in_what = "in every quasi-identifier" if agreed == "every" else f"or nearly agree in {agreed} quasi-identifiers"
    rule = (
        f"repeats ({part.what}), and keys that share that part agree {in_what}, as the visits of "
        f"one person do: up to {most} keys, each counted as a person"
    )
    one = "put that part into a column of its own and name it in `person`"
    if part.what == INITIAL:
        one = "write each person's name in one way"
    hint = f"{one}; person_exact = true says that each key is a different person"
    return [Problem(_where(schema, name), rule, hint, count=most)]


def key_hint(columns: Sequence[str], *, published: bool = False, alike: bool = False) -> str:
    """Say what to write for columns that look like the key of a person."""
    return "; ".join(_key_answers(columns, published=published, alike=alike))


def _key_answers(columns: Sequence[str], *, published: bool = False, alike: bool = False) -> tuple[str, str, str]:
    """Return the three answers: it is the key, a person has several rows, it is no key. A day or a place is nobody's.

    With `alike` the column is nobody's key in any table, and what has to be explained is that its rows agree.
    """
    one = f'"{columns[0]}"' if len(columns) == 1 else "[{}]".format(", ".join(f'"{name}"' for name in columns))
    role = 'role = "identifier" and ' if published else ""
    named = len(columns) > 1 or not names_time_or_place(columns[0])
    how = f"{role}person = {one} counts people by it" if named else "name the `person` in a column of its own"
    other = _PEOPLE if alike else f'not_person = ["{columns[0]}"] says that it identifies something else'
    return how, _SAY_M, other


def _worded(
    rows: FirstRows, names: Sequence[str], most: int, schema: Schema, agreed: str, what: str = "", *, nearly: str = ""
) -> Problem:
    said = {a.column_name: a for a in schema.attributes}
    known = said.get(names[0])
    published = any(name in said and said[name] in schema.published for name in names)
    which = f" ({what})" if what else f" together with {' and '.join(names[1:])}" if len(names) > 1 else ""
    quasi = "quasi-identifier" if agreed.startswith("every") else "quasi-identifiers"
    rule = (
        f"repeats{which}, and rows with the same value agree{nearly} in {agreed} {quasi}, "
        f"as the rows of one person do: up to {most} rows, and rows_per_person is {schema.rows_per_person}"
    )
    alike = len(names) > 1 or _nobodys_key(rows, schema, names[0])
    how, several, other = _key_answers(names, published=published, alike=alike)
    if what == INITIAL:
        how = "write each person's name in one way and name it in `person`"
    elif what:
        how = "put that part into a column of its own and name it in `person`"
    hint = f"{how}; {several}; {other}"
    return Problem(known.where if known is not None else names[0], rule, hint, rows=most)


def _quasi(schema: Schema) -> list[str]:
    return [attribute.column_name for attribute in schema.quasi]


def _rows(source: Source, schema: Schema, wanted: Sequence[str]) -> FirstRows | None:
    """Return the first rows of the quasi-identifiers and the columns looked at; None if nothing can be said."""
    return first_rows(source, _quasi(schema), wanted, schema)


def _same_part(
    rows: FirstRows,
    part: CodePart,
    quasi: Sequence[str],
    least: int,
    seen: set[bytes],
    others: Sequence[np.ndarray] = (),
) -> str:
    """Return in which quasi-identifiers rows agree whose keys share a part: "every", "3 of 4", or nothing.

    With `others`, columns that must be equal as well. Numbers in the order of a sorted list share their first digits
    with rows that agree. There the next part in order agrees as well, and such a list is not evidence. Nor are runs
    that say a quasi-identifier each: two runs together are a key only by what neither says alone.
    """
    key = joint([part.codes, *others]) if others else part.codes
    sizes = np.bincount(key[key >= 0])
    if sizes.max(initial=0) <= least:  # most parts of most codes hardly repeat: nothing needs to be put in order
        return ""
    groups = RowGroups.of(key)
    if not groups.repeats(rows.height, _REPEATED):
        return ""
    if _agrees(rows, groups, quasi, least, apart=True):
        held, agreed = list(quasi), "every"
    else:
        held = _mostly_agrees(rows, groups, quasi, least)
        agreed = f"{len(held)} of {len(quasi)}" if held else ""
    if not held:
        return ""
    mostly, ordered = agreed != "every", part.ordered()
    if part.run:
        if ordered.tobytes() in seen:
            return ""
        seen.add(ordered.tobytes())
    in_order = RowGroups.of(joint([ordered, *others]) if others else ordered)
    if (mostly or not part.neighbours) and _share_next(rows, in_order, held) >= _SORTED:
        return ""
    if (mostly or part.pair) and (runs := part.alone()):
        alone = [RowGroups.of(run) for run in runs if run.max(initial=-1) > 0]
        own = [name for name in held if not any(_follows_from(rows, one, name, nearly=mostly) for one in alone)]
        return agreed if _two_apart(rows, groups, own) else ""
    return agreed


def _share_next(rows: FirstRows, groups: RowGroups, held: Sequence[str]) -> float:
    """Return the share of parts that agree with the next one in order, or nearly as numbers may."""
    first = groups.first
    same = np.ones(max(len(first) - 1, 0), bool)
    for name in held:
        codes = rows.codes[name][first]
        equal = codes[1:] == codes[:-1]
        if float((groups.spread(rows.codes[name]) == 0).mean()) < AGREE and (number := rows.number(name)) is not None:
            with np.errstate(invalid="ignore"):
                span = float(np.nanmax(number) - np.nanmin(number))
                equal |= np.abs(np.diff(number[first])) <= _NEAR * span
        same &= equal
    return float(same.mean()) if len(same) else 1.0


def _agrees(rows: FirstRows, groups: RowGroups, others: Sequence[str], least: int, *, apart: bool = False) -> bool:
    """Whether nearly all values that repeat agree in every one of `others`.

    With `apart` two of these must say little about each other: one published column may follow from another.
    """
    if not others or groups.most <= least or not groups.repeats(rows.height, _REPEATED):
        return False
    if rows.combinations(others) < _COMBINATIONS:
        return False
    if not groups.mostly(np.logical_and.reduce([_equal(rows, groups, name) for name in others]), least):
        return False
    return not apart or _two_apart(rows, groups, others)


def _equal(rows: FirstRows, groups: RowGroups, name: str) -> np.ndarray:
    """Return which values that repeat agree in a column; a missing cell agrees, unless most values have no two others.

    Who leaves out an answer is the same person. Where hardly anybody answers, gaps that agree say nothing.
    """
    codes = rows.codes[name]
    known = np.add.reduceat((codes[groups.order] >= 0).astype(np.int64), groups.starts) if len(groups.starts) else codes
    if len(groups.starts) and 2 * int((known > 1).sum()) < len(known):
        return np.asarray(groups.spread(codes) == 0)
    spread = groups.spread(np.where(codes < 0, np.nan, codes.astype(float)), known=True)
    return np.asarray((spread == 0) | np.isnan(spread))


def _alike(
    rows: FirstRows, groups: RowGroups, others: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return for each column which values that repeat agree in it, or nearly as numbers may, and which exactly."""
    equal = {name: _equal(rows, groups, name) for name in others}
    alike = dict(equal)
    for name in others:
        number = rows.number(name) if float(equal[name].mean()) < AGREE else None
        if number is not None and np.isfinite(number).any():
            span = float(np.nanmax(number) - np.nanmin(number))
            with np.errstate(invalid="ignore"):
                alike[name] = equal[name] | (groups.spread(number, known=True) <= _NEAR * span)
    return alike, equal


def _most_alike(rows: FirstRows, groups: RowGroups, others: Sequence[str]) -> int:
    """Return the most rows of a value whose rows agree in all columns in which those of nearly every value do."""
    alike, _ = _alike(rows, groups, others)
    held = [one for one in alike.values() if float(one.mean()) >= AGREE]
    return int(groups.sizes[np.logical_and.reduce(held)].max(initial=0)) if held else groups.most


def _mostly_agrees(
    rows: FirstRows, groups: RowGroups, others: Sequence[str], least: int, *, moving: bool = False
) -> list[str]:
    """Return those of `others` in which nearly all values that repeat agree, none where that is not like a person.

    Numbers within a tenth of their range agree: people grow older. All but two must agree, and more than do not. With
    `moving` it is enough that two rows of a value agree far more often than any two rows do: people move. That is
    asked of whole columns only; neighbours in a sorted list, which share a part of a code, agree so too.
    """
    few = len(groups.first) * _FEW_ROWS > len(groups.order)
    if groups.most <= least or len(others) < 2 or not few or not groups.repeats(rows.height, _MANY_REPEATED):
        return []
    alike, equal = _alike(rows, groups, others)
    always = [name for name in others if float(alike[name].mean()) >= AGREE]
    if _few_missed(always, others) and groups.mostly(np.logical_and.reduce([alike[name] for name in always]), least):
        held, exact = always, [name for name in always if float(equal[name].mean()) >= AGREE]
    elif not moving:
        return []
    else:
        pairs = groups.pairs(least)
        often = {name: [_kept(rows, pairs, name, near=near) >= _KEPT for near in (False, True)] for name in others}
        held = [name for name in others if any(often[name])]
        exact = [name for name in held if often[name][0]]
    if (
        not _few_missed(held, others)
        or not exact
        or _by_chance(joint([rows.codes[name] + 1 for name in exact]), groups.sizes) > _CHANCE
    ):
        return []
    return held if _two_apart(rows, groups, held) else []


def _few_missed(held: Sequence[str], others: Sequence[str]) -> bool:
    missed = len(others) - len(held)
    return missed <= _MISSED and missed < len(held) and len(held) > 1


def _kept(rows: FirstRows, pairs: tuple[np.ndarray, np.ndarray], name: str, *, near: bool) -> float:
    """Return how much oftener rows of one value agree in a column than any two rows do, of what is left to raise.

    With `near` numbers within a tenth of their range agree.
    """
    codes = rows.codes[name]
    number = rows.number(name) if near else None
    if near and (number is None or not np.isfinite(number).any()):
        return 0.0
    one, other = (side[(codes[pairs[0]] >= 0) & (codes[pairs[1]] >= 0)] for side in pairs)
    if len(one) < _MANY_REPEATED or 2 * len(one) < len(pairs[0]):
        return 0.0
    if number is None:
        within, every = float((codes[one] == codes[other]).mean()), codes[codes >= 0]
        total = len(every) * (len(every) - 1) / 2
        by_chance = _pairs(every) / total
    else:
        ranked = np.sort(number[np.isfinite(number)])
        width = _NEAR * (ranked[-1] - ranked[0])
        with np.errstate(invalid="ignore"):
            within = float((np.abs(number[one] - number[other]) <= width).mean())
        reach = np.searchsorted(ranked, ranked + width, side="right") - np.searchsorted(ranked, ranked - width)
        by_chance = float((reach - 1).sum()) / (len(ranked) * (len(ranked) - 1))
    return (within - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0


def _by_chance(column: np.ndarray, sizes: np.ndarray) -> float:
    """Return the expected share of values that would agree if the rows were put together at random."""
    times = np.unique(column, return_counts=True)[1].astype(float)
    total = times.sum()
    kinds, many = np.unique(np.minimum(sizes, _LARGEST), return_counts=True)
    chances = []
    for size in kinds.tolist():
        steps = np.arange(size)
        each = np.clip(times[:, None] - steps, 0, None) / (total - steps)
        chances.append(float(each.prod(axis=1).sum()))
    return float(np.average(chances, weights=many))


def more_than_by_chance(codes: np.ndarray, weights: np.ndarray) -> int:
    """Return the most rows that agree in all columns, 0 if few rows do, or no more than in independent columns."""
    rows, again = float(weights.sum()), weights[weights > 1]
    if len(again) < _MANY_REPEATED or again.sum() * REPEATED_ROWS <= rows:
        return 0
    alike = 1.0
    for column in codes.T:
        times = np.bincount(column, weights=weights)
        alike *= float((times * (times - 1)).sum()) / (rows * (rows - 1))
    found = float((again.astype(float) * (again - 1)).sum())
    return int(again.max()) if found * _CHANCE > alike * rows * (rows - 1) else 0


def _follows_from(rows: FirstRows, groups: RowGroups, name: str, *, nearly: bool) -> bool:
    """Whether a column follows from the key of the groups alone, as a town does from a postcode.

    With `nearly`, where rows agree if their numbers are near, numbers that are near for each value follow from it.
    """
    alike = _alike(rows, groups, [name])[0][name] if nearly else _equal(rows, groups, name)
    return not len(alike) or float(alike.mean()) >= AGREE


def _two_apart(rows: FirstRows, groups: RowGroups, names: Sequence[str]) -> bool:
    """Whether two columns say little about each other, judged on one row of each value."""
    once = {name: rows.codes[name][groups.first] for name in names}
    return any(
        _share_known(once[one], once[other]) < _LITTLE and _share_known(once[other], once[one]) < _LITTLE
        for one, other in itertools.combinations(names, 2)
    )


def _share_known(one: np.ndarray, other: np.ndarray) -> float:
    """Return how much agreeing in one column raises the chance of agreeing in the other, of what is left to raise."""
    pairs = len(one) * (len(one) - 1) / 2
    same = _pairs(one)
    alone = _pairs(other) / pairs if pairs else 1.0
    if same < _ENOUGH_PAIRS or alone >= 1:
        return 1.0
    both = _pairs(joint([one + 1, other + 1])) / same
    return (both - alone) / (1 - alone)


def _pairs(column: np.ndarray) -> float:
    times = np.unique(column, return_counts=True)[1].astype(float)
    return float((times * (times - 1)).sum()) / 2
