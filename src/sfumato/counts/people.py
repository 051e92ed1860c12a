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

import datetime as dt
import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal

import numpy as np
import polars as pl

from sfumato.counts.code_parts import SURNAME_FIRST
from sfumato.counts.frequent_keys import FILLED_KEYS, crowd_of, crowd_problem, filler_of, shown_by_keys
from sfumato.counts.row_groups import within_first
from sfumato.counts.suspected_keys import agreeing_columns, key_hint, suspected_keys
from sfumato.engines.grouping import packed, scrambled
from sfumato.errors import Problem, count_of
from sfumato.io.decode_cell import canonical_text
from sfumato.io.encode import supported
from sfumato.io.frames import KINDS, ROWS
from sfumato.io.read_errors import LAST_DIGITS_LOST, READ_AS_TEXT
from sfumato.io.source import Source
from sfumato.schema import Schema, Values
from sfumato.schema.free_text import HeldValues
from sfumato.schema.word_hints import NO_VALUE, holds_counts, means_none, named_like_counts, suggested, tokens
from sfumato.visible import one_form, repaired, visible

_KEYS = {
    *("id", "ids", "ssn", "mrn", "nhs", "uuid", "guid", "passport", "email", "iban", "patient", "person", "pid"),
    *("bsn", "svnr", "kvnr", "steuerid", "dni", "nif", "nir", "cedula", "matricule", "matricola", "identifiant", "nhc"),
    *("upn", "caseid", "usubjid"),
}
_NUMBERS = {"no", "nr", "num", "number", "key", "ref", "reference", "code"}
_WHOM = {
    *(
        "emp",
        "employee",
        "staff",
        "worker",
        "person",
        "personal",
        "patient",
        "pat",
        "case",
        "client",
        "member",
        "visit",
    ),
    *(
        "customer",
        "cust",
        "user",
        "student",
        "pupil",
        "insurance",
        "policy",
        "record",
        "card",
        "tax",
        "social",
        "subject",
    ),
    *("respondent", "resp", "participant", "claimant", "learner", "beneficiary", "secu", "securite"),
}
_OTHERS = {  # what such a key identifies is not a person
    *("clinic", "hospital", "ward", "doctor", "physician", "provider", "site", "school", "store", "shop", "branch"),
    *("region", "state", "city", "country", "county", "tract", "block", "department", "dept", "category", "type"),
    *("group", "class", "product", "item", "device", "batch", "area", "zip", "age", "date", "count", "employer"),
    *("company", "firm", "team", "unit", "project", "order", "insurer", "supplier", "bank", "agency", "office"),
}
_COMPOUND = re.compile(
    r"(patient|pat|person|personal|versicher|mitglied|kunde|fall|akte|ausweis|steuer|sozialversicherung|ma|schueler|"
    r"teilnehmer|befragte|proband|resp|respondent|subj|subject|client|klant|leerling|deelnemer|verzekerde|werknemer)"
    r"[a-z]*(nr|nummer|id|kennung|schluessel|kennzeichen)"
)

_HOUSEHOLDS = {
    *("household", "households", "hh", "hhid", "family", "families", "address", "addresses", "dwelling"),
    *("haushalt", "haushalte", "haushaltsnummer", "haushaltsnr", "haushaltsid", "familie", "adresse", "anschrift"),
    *("menage", "foyer", "famille", "hogar", "familia", "direccion", "famiglia", "nucleo", "indirizzo"),
    *("huishouden", "gezin", "adres"),
}
_CONTACTS = {
    *("phone", "telephone", "tel", "telefon", "telefono", "telefoon", "mobile", "cell", "handy", "portable", "movil"),
    *("email", "mail", "emails", "correo", "courriel"),
}
_VISITS = {
    *("visit", "visits", "encounter", "encounters", "episode", "episodes", "admission", "admissions", "stay", "stays"),
    *("appointment", "consultation", "hospitalisation", "hospitalization", "referral", "claim", "prescription"),
    *("besuch", "aufenthalt", "behandlung", "aufnahme", "fall", "fallnr", "fallnummer", "fallid", "rezept", "termin"),
    *("visite", "sejour", "hospitalisation", "consultation", "ordonnance", "visita", "episodio", "ingreso", "cita"),
    *("ricovero", "ricetta", "receta", "opname", "bezoek", "consult", "recept"),
}
_NO_VISITS = {
    *("date", "day", "time", "year", "type", "kind", "count", "status", "reason", "length", "days", "cost", "amount"),
    *(
        "datum",
        "tag",
        "uhrzeit",
        "art",
        "grund",
        "dauer",
        "kosten",
        "tipo",
        "motivo",
        "fecha",
        "data",
        "motif",
        "duree",
    ),
}
_NO_HOUSEHOLDS = {"name", "names", "nom", "email", "mail", "ip", "mac", "web", "url", "size", "type", "status"}

_FIRST_ROWS, _NO_CHANCE = 20_000, 20  # rows looked at; chance is exp(-20) at most
_SHARED_KEYS = 5  # values that several people share make a column one of other people
_AGAIN = 20  # where fewer than one row in 20 has a key that repeats, the key may number rows
_OFTEN = 10  # rows a value, from which an identifier is more likely that of a clinic than of a person

_REACHED = (  # e-mail addresses, addresses of machines, telephone numbers with a country's or a town's code
    r"^(?:[^\s@]+@[^\s@]+\.[A-Za-z]{2,}|\d{1,3}(?:\.\d{1,3}){3}|\+\d[\d ()/.-]{6,}|0\d{2,5}[ /]\d[\d -]{4,})$"
)
_CODE_LENGTH, _KEYS_HELD, _KEYS_SHARE = 4, 3, 0.5  # characters of a key; keys among the values of another column
_APART = 10  # numbers for each key, below which a number may be a key by chance
_KEYS_READ = 1_000_000  # rows of a key column that are compared with other columns
_ENOUGH, _NEARLY_ALL = 20, 0.95  # different values, and the share of them, that make a column one of such addresses

_POINT_ZERO = r"^([+-]?\d+)\.0*$"  # how programs that took a whole number for a decimal write it
_NO_KEY = ("", "unknown", "na", "n/a", "-9", "none", "null", "?")  # folded texts in the place of a key
_NINES = r"^9{6,}$"  # a number that is often written for no key, and may be one
_LETTERS, _SIGNS = r"[\p{L}\p{N}]", r"[^\p{L}\p{M}\p{N}]"
_UNSEEN = r"[[\p{Cf}\p{Cc}]--\s]"  # characters nobody sees, blanks aside
_ZEROS = r"(^|\D)0+(\d)"
_ABROAD = r"^\s*\+\s*[1-9][\d ()/.-]{8,18}\s*$"  # +31 6 12345678
_COUNTRY = (  # codes of countries (ITU E.164): of one, two or three digits
    r"^\+(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})"
)
_INSTANT = r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}(:?\d{2})?)\s*$"
_SCIENTIFIC = re.compile(r"^\s*[1-9](?:[.,]\d{1,15}[eE]\+?|[eE]\+)\d{1,2}\s*$", re.ASCII)  # 1e3 may be a code
_DAY = re.compile(
    r"(?<!\d)(?:\d{1,2}[./-]\d{1,2}[./-](?:19|20)\d\d|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2})(?!\d)", re.ASCII
)
_WRITTEN = r"^\s*[1-9](?:[.,]\d{1,15}[eE]\+?|[eE]\+)\d{1,2}\s*$|\d[./-]\d{1,2}[./-]\d"  # one of these, perhaps
_DAYS = 0.95  # the share of keys that hold a day from which what looks like one is taken for it
_CENTURY, _MONTHS = 100, 12
_TWO_LETTERS = str.maketrans({"\u00e4": "ae", "\u00f6": "oe", "\u00fc": "ue", "\u00f8": "oe", "\u00e5": "aa"})
_STROKES = {"\u0142": "l", "\u0111": "d", "\u0131": "i", "\u00e6": "ae", "\u0153": "oe"}  # not a letter and a mark
_TWO_FOR_ONE = "([aou])e|(a)a"  # Mueller, Aage


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


def key_columns(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Return key columns as texts, cell by cell; a cell without a value is null."""
    return [_texts(column) for column in columns]


def _texts(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        return column.cast(pl.String)
    if column.dtype != pl.String:
        column = pl.Series(column.name, [canonical_text(value) for value in column.to_list()], dtype=pl.String)
    texts = column.str.strip_chars().str.replace(_POINT_ZERO, "$1")
    return texts.set(texts == "", None)


def read_people(columns: Sequence[pl.Series], weights: np.ndarray | None = None) -> People:
    """Number the people of rows whose keys stand in `columns`; rows without a whole key get -1 and are counted.

    A word that means "no key" is not a key.
    """
    texts = key_columns(columns)
    height = len(texts[0])
    ranks = [text.rank("dense").fill_null(0).to_numpy().astype(np.int64) for text in texts]
    known = [text.drop_nulls().unique().sort() for text in texts]  # in the order of the ranks from 1
    folds = [_folded(text, several=len(texts) > 1) for text in known]
    blank, words = np.zeros(height, bool), np.zeros(height, bool)
    for rank, text, fold in zip(ranks, known, folds, strict=True):
        words |= np.concatenate([[False], _means_no_key(text, fold)])[rank]
        blank |= words | (rank == 0)
    key = _numbered(ranks)
    ids = np.full(height, -1, np.int64)
    if not blank.all():
        ids[~blank] = np.unique(key[~blank], return_inverse=True)[1].reshape(-1)
    rows = np.bincount(ids[~blank], weights=None if weights is None else weights[~blank])
    missing, worded = (int(rows.sum() if weights is None else weights[rows].sum()) for rows in (blank, words))
    first = np.unique(ids, return_index=True)[1][int(blank.any()) :]
    places = [_bare(fold).rank("dense").to_numpy().astype(np.int64) for fold in folds]
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


def bare_keys(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Return the texts of keys, cell by cell, in the form that is compared: keys refused as alike are equal in it.

    Each key is read by itself, so that it is the same in every batch: what looks like a day is taken for one.
    """
    return [_bare(_folded(text, several=len(columns) > 1, days=True)) for text in columns]


def _folded(keys: pl.Series, *, several: bool, days: bool | None = None) -> pl.Series:
    """Return keys without case, blanks, unseen characters, forms of a letter and leading zeros of a run of digits.

    A surname before a comma goes to the end, a telephone number loses the code of its country, a time with a zone is
    that of UTC, a day in a key is year, month and day, and 4.0E+06 is 4000000. Names lose their accents where the key
    has `several` columns, or several words: two people hardly agree in all the rest. `days` says whether what looks
    like a day is one; without it, whether nearly all of the keys that look so are.
    """
    seen = _without_entities(keys).str.replace_all(_UNSEEN, "").str.replace(SURNAME_FIRST, "$2 $1")
    seen = _with_numbers_and_days(_with_instants(_with_national_numbers(seen)), days)
    wide = (seen.str.len_bytes() != seen.str.len_chars()).arg_true()
    if len(wide):
        seen = seen.scatter(
            wide, pl.Series([_plain_letters(key) for key in seen.gather(wide).to_list()], dtype=pl.String)
        )
    short = _without_accents(seen.str.to_lowercase(), several=several).str.replace_all(_ZEROS, "$1$2")
    return short.str.replace_all(r"\s+", "").str.replace_all(_ZEROS, "$1$2")


def _without_accents(keys: pl.Series, *, several: bool) -> pl.Series:
    """Return keys in small letters; jos\N{LATIN SMALL LETTER E WITH ACUTE} as jose, and mueller as muller, in names."""
    named = ~keys.str.contains(r"\p{N}")
    if not several:
        named &= keys.str.contains(r"\S\s+\S")
    if not named.any():
        return keys
    plain = keys.str.normalize("NFKD").str.replace_all(r"([a-z])\p{Mn}+", "$1").str.replace_many(_STROKES)
    plain = plain.str.replace_all(_TWO_FOR_ONE, "$1$2")
    return pl.select(pl.when(named).then(plain).otherwise(keys)).to_series()


def _without_entities(keys: pl.Series) -> pl.Series:
    """Return keys; M&uuml;ller, as pages of the web write it, with the letter that is meant."""
    written = keys.str.contains(r"&#?\w+;").fill_null(value=False).arg_true()
    return keys.scatter(written, pl.Series([repaired(key) for key in keys.gather(written)], dtype=pl.String))


def _with_national_numbers(keys: pl.Series) -> pl.Series:
    """Return keys; +31 6 12345678 as 612345678, which is what 06 12345678 becomes without its leading zero."""
    abroad = keys.str.contains(_ABROAD).fill_null(value=False)
    if not abroad.any():
        return keys
    digits = keys.str.replace_all(r"[^+\d]", "").str.replace(_COUNTRY, "")
    return pl.select(pl.when(abroad).then(digits).otherwise(keys)).to_series()


def _with_instants(keys: pl.Series) -> pl.Series:
    """Return keys; a time of a day with a zone as that of UTC, so that one instant is one key."""
    timed = keys.str.contains(_INSTANT).fill_null(value=False).arg_true()
    return keys.scatter(timed, pl.Series(list(map(_utc, keys.gather(timed).to_list())), dtype=pl.String))


def _with_numbers_and_days(keys: pl.Series, days: bool | None) -> pl.Series:
    """Return keys; days in them as 19780716, and numbers in scientific notation as whole numbers."""
    written = keys.str.contains(_WRITTEN).fill_null(value=False).arg_true()
    texts = keys.gather(written).to_list()
    if days is None:
        looks = [found.group() for key in texts for found in _DAY.finditer(key)]
        days = sum(_compact_day(look) != look for look in looks) >= _DAYS * len(looks)  # else numbers of cases, say
    return keys.scatter(written, pl.Series([_in_digits(key, days=days) for key in texts], dtype=pl.String))


def _in_digits(key: str, *, days: bool) -> str:
    if _SCIENTIFIC.match(key):
        number = Decimal(key.strip().replace(",", "."))
        return str(int(number)) if number == number.to_integral_value() else key
    return _DAY.sub(lambda found: _compact_day(found.group()), key) if days else key


def _compact_day(text: str) -> str:
    """Return a day as 19780716, as it is where there is no such day. 07/16/1978 is one in July, 06/07/1978 one too."""
    first, middle, last = (int(part) for part in re.split("[./-]", text))
    year, month, day = (first, middle, last) if first > _CENTURY else (last, middle, first)
    if first <= _CENTURY and month > _MONTHS:
        month, day = day, month
    try:
        return f"{dt.date(year, month, day):%Y%m%d}"
    except ValueError:
        return text


def _utc(text: str) -> str:
    try:
        return dt.datetime.fromisoformat(text.strip()).astimezone(dt.UTC).isoformat()
    except (ValueError, OverflowError):
        return text


def _plain_letters(key: str) -> str:
    """Return a key in one spelling: digits of any script as 0 to 9, letters with a two-letter form in that form."""
    digits = (str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in one_form(repaired(key)))
    return "".join(digits).translate(_TWO_LETTERS)


def _bare(folded: pl.Series) -> pl.Series:
    """Return folded keys without punctuation: letters and digits only, without leading zeros of a run of digits."""
    return folded.str.replace_all(_SIGNS, "").str.replace_all(_ZEROS, "$1$2")


def _means_no_key(texts: pl.Series, folded: pl.Series) -> np.ndarray:
    """Return which texts stand for no key, each judged by itself."""
    found: np.ndarray = (
        ~folded.str.contains(_LETTERS) | folded.is_in(_NO_KEY) | folded.str.contains("^-9+$")
    ).to_numpy()
    wordy = (~texts.str.contains(r"\d")).arg_true()  # no word for "no value" has digits
    words = [means_none(text) or text in NO_VALUE for text in texts.gather(wordy).to_list()]
    found = found.copy()
    found[wordy.to_numpy()] |= np.array(words, bool)
    return found


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


_EXACT = "person_exact = true in the schema"


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
        f"{differ}, or in the order of a name, the form of a letter, a country code or a time zone; one "
        "person would be counted as several"
    )
    hint = f"write each key in one way in the file, or {exact} where they are different people"
    return [Problem("person", rule, hint, count=alike)]


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


# -- columns that look like keys of people, where the schema names none ------------------------------------


def key_like(name: str) -> bool:
    """Whether the name of a column suggests the key of a person, or of a person's record."""
    words = tokens(name)
    if words & _OTHERS:
        return False
    return bool(words & _KEYS or (words & _NUMBERS and words & _WHOM) or any(map(_COMPOUND.fullmatch, words)))


def addresses(values: pl.Series) -> bool:
    """Whether distinct texts are e-mail or IP addresses or telephone numbers: each is of a person, or of a home.

    >>> addresses(pl.Series([f"+49 151 {n}" for n in range(2000000, 2000030)]))
    True
    """
    return len(values) >= _ENOUGH and values.str.contains(_REACHED).sum() >= _NEARLY_ALL * len(values)


def contact_like(name: str) -> bool:
    """Whether the name of a column suggests a telephone number or an e-mail address, which families share."""
    return bool(tokens(name) & _CONTACTS)


def household_like(name: str) -> bool:
    """Whether the name of a column suggests that it identifies a household, a family or an address.

    >>> household_like("hh_id"), household_like("hh_income"), household_like("family_size")
    (True, False, False)
    """
    words = tokens(name)
    return bool(words & _HOUSEHOLDS) and not words & _NO_HOUSEHOLDS and "sensitive" not in suggested(name)


def visit_like(name: str) -> bool:
    """Whether the name of a column suggests that it identifies visits, stays or claims: a person has several.

    >>> visit_like("encounter_id"), visit_like("admission_date")
    (True, False)
    """
    words = tokens(name)
    return bool(words & _VISITS) and not words & _NO_VISITS


def counting_columns(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each column that may say how many people a row stands for, where rows are counted.

    By its name, where its cells are whole numbers and not all 1. `not_person` says that it counts something else.
    """
    if schema.person:
        return []
    each, if_person = _as_counted(schema)
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    found = []
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & set(schema.not_person) or not any(map(named_like_counts, named)):
            continue
        texts = _texts(source.collect(source.scan([column]))[column]).drop_nulls().unique()
        if holds_counts(column, texts.to_list()):
            rule = f"may be the number of people a row stands for, and each row is counted as one{each}"
            hint = (
                "write a row for each person (none for 0) and remove the column; "
                f'not_person = ["{column}"] if {if_person}it counts something else'
            )
            found.append(Problem(known.where if known is not None else column, rule, hint))
    return found


def _as_counted(schema: Schema) -> tuple[str, str]:
    """Return the words for what each row is counted as, and for what has to be so if a column counts nobody."""
    return (" person", "each row is one person and ") if schema.unit == "person" else ("", "")


def crossed_counts(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for a column of whole numbers beside combinations that never occur twice, as in a cross table.

    Of n people in P combinations two agree unless chance, at most exp(-n^2 / 2P), has it otherwise. Judged on the first
    rows, by the published columns and, where rows agree in these, by unpublished ones of few values too. `not_person`
    says that it counts something else.
    """
    if schema.person or schema.rows_per_person > 1 or source.grouped:
        return []
    each, if_person = _as_counted(schema)
    published = {attribute.column_name: attribute for attribute in schema.published}
    named = {attribute.column_name: attribute.name for attribute in schema.attributes}
    frame = source.collect(source.scan(source.columns).head(_FIRST_ROWS))
    values = {name: frame[name].n_unique() for name in frame.columns if supported(frame[name].dtype)}
    for column in values:
        if {column, named.get(column, column)} & set(schema.not_person):
            continue
        if column in published and published[column].role == "quasi":
            continue
        others = [name for name in published if name != column and name in frame.columns]
        if not others or not all(name in values for name in others):
            continue
        texts = _texts(frame[column]).drop_nulls()
        if texts.n_unique() == len(texts) or not holds_counts(column, texts.unique().to_list()):
            continue
        beside = _telling_apart(frame, values, others, column)
        if beside is not None:
            also = f" and in {', '.join(map(visible, beside))}" if beside else ""
            rule = (
                f"holds whole numbers, and {within_first(source, frame.height)}no two rows agree in the other "
                f"published columns{also}, as in a table of counts: each row is counted as one{each}"
            )
            hint = (
                "write a row for each person (none for 0) and remove the column; "
                f'not_person = ["{column}"] if {if_person}it counts something else'
            )
            where = published[column].where if column in published else column
            return [Problem(where, rule, hint)]
    return []


def _telling_apart(
    frame: pl.DataFrame, values: Mapping[str, int], columns: Sequence[str], counted: str
) -> list[str] | None:
    """Return what must be added to `columns` so that no two rows agree; None where they do, or may differ by chance.

    Columns of fewest values are added first, and only those with `_OFTEN` rows a value or more.
    """
    cells, rows = math.prod(values[name] for name in columns), frame.height
    if rows**2 <= 2 * cells * _NO_CHANCE:
        return None
    if frame.select(columns).n_unique() == rows:
        return []
    free = [name for name in values if name != counted and name not in columns and 1 < values[name] <= rows / _OFTEN]
    added: list[str] = []
    for name in sorted(free, key=values.__getitem__):
        cells *= values[name]
        if rows**2 <= 2 * cells * _NO_CHANCE:
            return None
        added.append(name)
        if frame.select(*columns, *added).n_unique() == rows:
            for one in [*added]:
                rest = [other for other in added if other != one]
                if frame.select(*columns, *rest).n_unique() == rows:
                    added = rest
            return added
    return None


def other_keys(source: Source, schema: Schema) -> list[str]:
    """Return the columns that look like keys of people and are not named in `person`."""
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    found = []
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & {*schema.person} or any(map(household_like, named)):
            continue
        if any(map(key_like, named)) or (known is not None and known.role == "identifier"):
            found.append(column)
    return found


def with_keys(source: Source, schema: Schema, held: Mapping[str, HeldValues]) -> dict[str, HeldValues]:
    """Add to each listed column which of its values identify somebody in a column that is not published.

    Such as the number of a manager. Looked at are the columns of `person`, and identifiers of which most rows have a
    value of their own. A key has four characters or more and a digit; numbers only count where those of the key column
    are so far apart that hardly any number is one of them by chance.
    """
    codes = {
        name: {text for text in values.rows if len(text) >= _CODE_LENGTH and any(map(str.isdigit, text))}
        for name, values in held.items()
        if isinstance(schema[name].domain, Values) and not {name, schema[name].column_name} & {*schema.not_person}
    }
    wanted = sorted({code for some in codes.values() for code in some})
    keyed = [attribute for attribute in schema.role("identifier") if attribute.name not in schema.not_person]
    named = {*schema.person_columns, *(attribute.column_name for attribute in keyed)}
    named -= {*schema.not_person, *(attribute.column_name for attribute in schema.published)}
    found = dict(held)
    for column in source.columns if wanted and not source.grouped else ():
        if column not in named:
            continue
        texts = _texts(source.collect(source.scan([column]).head(_KEYS_READ))[column])
        if column not in schema.person_columns and 2 * texts.n_unique() <= len(texts):
            continue
        keys = set(texts.filter(texts.is_in(wanted)).to_list())
        if _dense(texts):
            keys = {key for key in keys if not key.isdecimal()}
        for name, some in codes.items():
            if len(some & keys) >= max(_KEYS_HELD, _KEYS_SHARE * len(held[name].rows)):
                found[name] = replace(held[name], keys=frozenset(some & keys), key_column=column)
    return found


def _dense(texts: pl.Series) -> bool:
    """Whether keys are numbers so close to each other that any number among them is one by chance."""
    numbers = texts.cast(pl.Int64, strict=False).drop_nulls().unique().to_numpy()
    return bool(len(numbers)) and int(numbers.max()) - int(numbers.min()) < _APART * len(numbers)


def keys_of_others(source: Source, schema: Schema) -> list[Problem]:
    """Return a problem for each column of keys that several people share: a row is also about a mother or a manager.

    A table keyed by children counts children: a class of five of them may hold two mothers.
    """
    person, found = list(schema.person_columns), []
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    for column in other_keys(source, schema) if person and not source.grouped else ():
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & {*schema.not_person} or not any(map(key_like, named)):
            continue
        keys = source.collect(source.scan([*person, column]).head(_FIRST_ROWS))
        rows = pl.DataFrame([_texts(keys[name]) for name in keys.columns]).drop_nulls()
        shared = rows.unique().group_by(column).len().filter(pl.col("len") > 1)
        among = rows.join(shared.select(column), on=column, how="semi").height
        if shared.height < _SHARED_KEYS or among * _AGAIN < rows.height:
            continue
        most = int(shared["len"].to_numpy().max())
        rule = (
            f"looks like the key of other people than {', '.join(schema.person)}: "
            f"{within_first(source, keys.height)}up to {most} of these share a value. Claims count the people "
            "that `person` names, and say nothing about the others"
        )
        hint = f'name them in `person` if the published columns describe them; not_person = ["{column}"] if nobody is'
        found.append(Problem(known.where if known is not None else column, rule, f"{hint} described by it"))
    return found


def keys_beside(source: Source, schema: Schema, *, rows_are_keys: bool) -> list[Problem]:
    """Return what is wrong where the declared `person` is a key of rows, of visits or of cards: a person may have more.

    To name a column that hardly repeats is to call each row a person. What tells otherwise by the rows tells it here.
    Of a key that repeats, one row of each is judged.
    """
    person = {*schema.person, *schema.person_columns}
    passed = tuple({*schema.not_person, *person})
    flat = replace(schema, person=(), person_exact=False, rows_per_person=1, rows_stated=True, not_person=passed)
    keys = ", ".join(schema.person)
    found, why = [], f"{keys}, which `person` names, hardly repeats"
    if rows_are_keys:
        found = counting_columns(source, flat) or crossed_counts(source, flat)
    elif not source.grouped:
        source, why = _one_row_of_each(source, schema), f"one row of each {keys}, which `person` names, is compared"
    found = found or agreeing_columns(source, flat, source.columns) or suspected_keys(source, flat)
    return [
        replace(
            one,
            rule=one.rule.replace("rows_per_person is 1", why),
            hint="; ".join(part for part in one.hint.split("; ") if not part.startswith("rows_per_person")),
        )
        for one in found
    ]


def _one_row_of_each(source: Source, schema: Schema) -> Source:
    """Return the first rows of a table, one of each key in `person`."""
    frame = source.collect(source.scan(source.columns).head(_FIRST_ROWS))
    people = read_people([frame[name] for name in schema.person_columns])
    once = frame.select(pl.exclude(pl.Object))[np.sort(np.unique(people.ids, return_index=True)[1])]
    return Source(source.name, columns=tuple(once.columns), frame=once.lazy())


def repeated_keys(source: Source, schema: Schema, known_rows: dict[str, int]) -> list[Problem]:
    """Return a problem for each column that looks like a person's key and repeats more often than the schema says.

    Also for each that may say how many people a row stands for, where rows are called people.

    `known_rows` remembers how often columns repeat, so that each is read once.
    """
    if schema.person:
        return []
    said = {attribute.column_name: attribute for attribute in schema.attributes}
    problems = counting_columns(source, schema) if schema.unit == "person" else []
    unknown = []
    reached = _addresses(source)
    for column in source.columns:
        known = said.get(column)
        named = {column, known.name if known is not None else column}
        if named & set(schema.not_person):
            unknown.append(column)  # its rows may show a person all the same
            continue
        alike = column in reached or any(map(key_like, named))
        if not (alike or (known is not None and known.role == "identifier")):
            unknown.append(column)
            continue
        if column not in known_rows:
            known_rows[column], often = _most_rows(source, column)
            if often and not alike:  # rather the name of a place: its rows say whether it is
                known_rows[column] = 0
        most = known_rows[column]
        if not most:
            unknown.append(column)
        if most > schema.rows_per_person:
            undecided = "" if schema.rows_stated else ", which nobody has decided"
            rule = (
                f"looks like the key of a person and repeats: up to {most} rows have the same value, and "
                f"rows_per_person is {schema.rows_per_person}{undecided}"
            )
            hint = key_hint([column], published=known in schema.published)
            problems.append(Problem(known.where if known is not None else column, rule, hint, rows=most))
    return problems or agreeing_columns(source, schema, unknown)


def _addresses(source: Source) -> set[str]:
    """Return the columns that hold e-mail or IP addresses or telephone numbers, whatever their names.

    Judged on the first rows; not where an engine groups, whose keys stay where they are.
    """
    if source.grouped:
        return set()
    texts = [name for name, kind in source.types(source.scan(source.columns)).items() if isinstance(kind, pl.String)]
    if not texts:
        return set()
    frame = source.collect(source.scan(texts).head(_FIRST_ROWS))
    return {name for name in texts if addresses(_texts(frame[name]).drop_nulls().unique())}


def _most_rows(source: Source, column: str) -> tuple[int, bool]:
    """Return the largest number of rows that share a value, and whether values have many rows on average.

    Cells without a value do not count.
    """
    if source.grouped:  # keys stay where they are
        spread = source.spread([column], known=True)
        most, kinds = int(spread[ROWS].max() or 0), int(spread[KINDS].sum())  # type: ignore[arg-type]
        return most, int((spread[ROWS] * spread[KINDS]).sum()) >= _OFTEN * kinds
    found = source.collect(source.scan([column]))
    counts = pl.DataFrame({"key": _texts(found[column])}).drop_nulls("key").group_by("key").agg(pl.len().alias(ROWS))
    most, rows = int(counts[ROWS].max() or 0), int(counts[ROWS].sum())  # type: ignore[arg-type]
    return most, rows >= _OFTEN * counts.height
