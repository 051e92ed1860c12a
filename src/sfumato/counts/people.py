"""Who a row is about: the key of a person, read row by row, and the rule that keeps at most m rows of each.

Source    Ours. Keeping a bounded number of rows of each person reduces user-level differential privacy to rows
          (Wilson et al., "Differentially private SQL with bounded user contribution", PoPETs 2020, section 3).
Claim     Which rows of a person are kept depends on that person's key and rows alone: not on other people, on the
          order of the file or on the engine. Rows with equal codes are interchangeable.
Because   a person's rows are ordered by a fixed hash of the key and the published codes, ties by the codes, and the
          first m are kept; neither the hash nor the order reads another person's row.
Checked   tests/claims/test_people.py::test_the_cap_reads_one_person_at_a_time
          tests/claims/test_people.py::test_a_mutant_cap_by_file_order_is_caught
          tests/claims/test_people.py::test_adding_a_person_costs_at_most_epsilon
          tests/claims/test_people.py::test_spellings_of_one_key_are_refused
Silent on keys that are wrong: two people under one key count as one, a person under two keys as two. A key is compared
          as text without surrounding blanks: "007" is not "7". Keys that agree in their letters and digits, leading
          zeros aside, are refused, unless the schema says `person_exact = true`. Digits of any script are digits, ue
          is ü, a surname may stand first, before a comma, and a country code before a telephone number; an instant in
          two time zones is one key. 0031 6 and 06 are two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import polars as pl

from sfumato.counts.frequent_keys import FILLED_KEYS, crowd_of, crowd_problem, filler_of, shown_by_keys
from sfumato.counts.key_spellings import bare, folded_keys, key_texts, means_no_key
from sfumato.engines.grouping import packed, scrambled
from sfumato.errors import Problem, count_of
from sfumato.io.read_errors import LAST_DIGITS_LOST, READ_AS_TEXT

_AGAIN = 20  # where fewer than one row in 20 has a key that repeats, the key may number rows

_NINES = r"^9{6,}$"  # a number that is often written for no key, and may be one

_EXACT = "person_exact = true in the schema"


@dataclass(frozen=True, slots=True)
class People:
    """The person of each row, numbered from 0 in the order of their keys, and a hash of each person's key.

    Keys themselves are not held. People with one row have no hash (0): no rule asks for it. `blank` counts rows without
    a key, `worded` those of them with a word in its place, `nines` those whose key is a long number of nines, `filler`
    those of the most frequent key where it looks like one that is written for no key, `alike` keys that differ from
    another only in how they are written, `rounded` rows whose key is a float that lost digits.
    """

    ids: np.ndarray
    _: KW_ONLY
    digest: np.ndarray
    blank: int = 0
    worded: int = 0
    nines: int = 0
    filler: int = 0
    alike: int = 0
    rounded: int = 0

    def of_rows(self, weights: np.ndarray | None) -> bool:
        """Whether hardly any key has a second row, so that it may be one of rows."""
        known = self.ids >= 0
        rows = np.bincount(self.ids[known], weights=None if weights is None else weights[known])
        return bool(len(rows)) and rows[rows > 1].sum() * _AGAIN < rows.sum()

    def at(self, rows: np.ndarray) -> People:
        """Return the people of some rows."""
        return People(self.ids[rows], digest=self.digest)


@dataclass(frozen=True, slots=True)
class Members:
    """Who has which combination of codes: each (person, line of the counts) once, with its rows. Confidential."""

    person: np.ndarray
    _: KW_ONLY
    line: np.ndarray
    rows: np.ndarray

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(np.unique(self.person))

    @classmethod
    def of(
        cls,
        person: np.ndarray,
        columns: Sequence[np.ndarray],
        sizes: Sequence[int],
        weights: np.ndarray | None,
    ) -> Members:
        """Match rows of codes with the lines of their counts: distinct rows in lexicographic order."""
        number = len(person)
        if not columns:
            line = np.zeros(number, np.int64)
        elif np.prod([int(size) for size in sizes], dtype=object) < 1 << 62:
            line = np.unique(packed(columns, sizes), return_inverse=True)[1].reshape(-1)
        else:
            line = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].reshape(-1)
        lines = int(line.max()) + 1 if number else 1
        times = np.ones(number, np.int64) if weights is None else weights
        pairs, place = np.unique(person.astype(np.int64) * lines + line, return_inverse=True)
        rows = np.zeros(len(pairs), np.int64)
        np.add.at(rows, place.reshape(-1), times)
        return cls(pairs // lines, line=pairs % lines, rows=rows)


def read_people(columns: Sequence[pl.Series], weights: np.ndarray | None = None) -> People:
    """Number the people of rows whose keys stand in `columns`; rows without a whole key get -1 and are counted.

    A word that means "no key" is not a key.
    """
    texts = [key_texts(column) for column in columns]
    height = len(texts[0])
    ranks = [text.rank("dense").fill_null(0).to_numpy().astype(np.int64) for text in texts]
    known = [text.drop_nulls().unique().sort() for text in texts]  # in the order of the ranks from 1
    folds = [folded_keys(text, several=len(texts) > 1) for text in known]
    blank, words = np.zeros(height, bool), np.zeros(height, bool)
    for rank, text, fold in zip(ranks, known, folds, strict=True):
        words |= np.concatenate([[False], means_no_key(text, fold)])[rank]
        blank |= words | (rank == 0)
    key = _numbered(ranks)
    ids = np.full(height, -1, np.int64)
    if not blank.all():
        ids[~blank] = np.unique(key[~blank], return_inverse=True)[1].reshape(-1)
    rows = np.bincount(ids[~blank], weights=None if weights is None else weights[~blank])
    missing, worded = (int(rows.sum() if weights is None else weights[rows].sum()) for rows in (blank, words))
    first = np.unique(ids, return_index=True)[1][int(blank.any()) :]
    places = [bare(fold).rank("dense").to_numpy().astype(np.int64) for fold in folds]
    plain = [place[rank[first] - 1] for rank, place in zip(ranks, places, strict=True)]
    nines = [text.str.contains(_NINES).fill_null(value=False).to_numpy() for text in texts]
    nined = np.logical_and.reduce(nines)
    found = {"blank": missing, "worded": worded, "nines": int(nined.sum() if weights is None else weights[nined].sum())}
    return People(
        ids, digest=_digests(texts, ids, rows), alike=_alike(plain), filler=_filler(texts, first, rows), **found
    )


def _filler(texts: Sequence[pl.Series], first: np.ndarray, rows: np.ndarray) -> int:
    """Return the rows of the most frequent key where it seems to be written for no key, 0 elsewhere."""
    return 0 if len(rows) < FILLED_KEYS else filler_of(shown_by_keys(texts, first, rows))


def _alike(columns: Sequence[np.ndarray]) -> int:
    """Return how many of the keys, folded and numbered column by column, are those of another key."""
    times = np.bincount(_numbered(columns))
    return int(times[times > 1].sum())


def _numbered(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Number rows of ranks in their order; ranks stay below the number of rows, so that two of them fit."""
    key = np.zeros(len(columns[0]), np.int64)
    for rank in columns:
        key = np.unique(key * (int(rank.max()) + 1 if len(rank) else 1) + rank, return_inverse=True)[1].reshape(-1)
    return key


def _digests(texts: Sequence[pl.Series], ids: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return 64 bits of a hash of each person's key, where the person has more than one row."""
    found = np.zeros(len(rows), np.uint64)
    known, first = np.unique(ids, return_index=True)
    for person, place in zip(known.tolist(), first.tolist(), strict=True):
        if person < 0 or rows[person] < 2:
            continue
        cells = [str(text[place]).encode() for text in texts]
        text = b"".join(b"%d:%b" % (len(cell), cell) for cell in cells)
        found[person] = int.from_bytes(hashlib.blake2b(text, digest_size=8, person=b"sfumato rows").digest(), "little")
    return found


def rows_kept(
    person: np.ndarray, digest: np.ndarray, columns: Sequence[np.ndarray], weights: np.ndarray | None, most: int
) -> np.ndarray:
    """Return how many rows of each line stay when at most `most` rows of each person do."""
    times = np.ones(len(person), np.int64) if weights is None else weights.astype(np.int64)
    stay = times.copy()
    total = np.zeros(len(digest), np.int64)
    np.add.at(total, person, times)
    lines = np.flatnonzero(total[person] > most)
    if not len(lines):
        return stay
    order_by = digest[person[lines]].copy()
    for column in columns:
        order_by = scrambled(order_by ^ column[lines].astype(np.uint64))
    codes = [column[lines] for column in reversed(columns)]
    order = np.lexsort((*codes, order_by, person[lines]))
    lines = lines[order]
    running = np.cumsum(times[lines]) - times[lines]  # rows before this one, of this person and of those before
    fresh = np.ones(len(lines), bool)
    fresh[1:] = person[lines][1:] != person[lines][:-1]
    before = running - np.maximum.accumulate(np.where(fresh, running, 0))
    stay[lines] = np.clip(most - before, 0, times[lines])
    return stay


def blank_problem(columns: Sequence[str], blank: int, worded: int = 0) -> list[Problem]:
    """Return a problem when rows have no key, or a word in its place: nobody can say how many people they are."""
    if not blank:
        return []
    names = ", ".join(columns)
    rule = f"{count_of(blank, 'row has', 'rows have')} no value in {names}, so it is not known who they are about"
    hint = "give each row the key of its person (a key of its own where the person has one row), or remove the row"
    if worded:
        of = "" if worded == blank else f", {worded} of them with a word or a sign instead"
        rule = f"{rule}{of}"
        hint = f"a word such as unknown, k.A. or none, or a sign, is not a key: {hint}"
    return [Problem("person", rule, hint, rows=blank)]


def rounded_problem(columns: Sequence[str], rounded: int) -> list[Problem]:
    """Return a problem when keys are floats that may stand for several whole numbers: people would count as one."""
    if not rounded:
        return []
    has = count_of(rounded, "row has", "rows have")
    rule = f"{has} a key in {', '.join(columns)} that is a number {LAST_DIGITS_LOST}"
    return [Problem("person", rule, READ_AS_TEXT, rows=rounded)]


def nines_problem(nines: int, exact: str = _EXACT) -> list[Problem]:
    """Return a problem when the key of rows is a long number of nines, as it is written for no key."""
    if not nines:
        return []
    has = count_of(nines, "row has", "rows have")
    rule = f"{has} a key of nines only, such as 999999, which is often written where the key is not known"
    hint = f"give each row the key of its person, or write {exact} where it is a key"
    return [Problem("person", rule, hint, rows=nines)]


def crowded_problem(people: People, weights: np.ndarray | None) -> list[Problem]:
    """Return a problem when one key has enough rows to stand for everybody whose key is unknown."""
    kept = people.ids >= 0
    rows = np.bincount(people.ids[kept], weights=None if weights is None else weights[kept])
    return crowd_problem(crowd_of(shown_by_keys((), np.zeros(0, np.int64), rows)))


def alike_problem(alike: int, exact: str = _EXACT) -> list[Problem]:
    """Return a problem when keys differ only in how they are written: nobody can say how many people they are."""
    if not alike:
        return []
    differ = f"{alike} keys differ from another only in case, blanks, punctuation or leading zeros"
    rule = (
        f"{differ}, or in the order of a name, the form of a letter or a day, a country code or a time zone; one "
        "person would be counted as several"
    )
    hint = f"write each key in one way in the file, or {exact} where they are different people"
    return [Problem("person", rule, hint, count=alike)]
