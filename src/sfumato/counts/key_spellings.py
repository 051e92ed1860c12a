"""Two spellings of one key: the text of a key, and the form in which keys that agree but for spelling are equal.

The form of a key depends on that key alone, except that a day in a key is read as one only where nearly all keys that
look so are days; `bare_keys` reads every key by itself. Checked in `tests/claims/test_people.py`.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import polars as pl

from sfumato.counts.code_parts import SURNAME_FIRST
from sfumato.io.decode_cell import canonical_text
from sfumato.io.encode import cells_of
from sfumato.schema.word_hints import NO_VALUE, means_none
from sfumato.visible import one_form, repaired

_POINT_ZERO = r"^([+-]?\d+)\.0*$"  # how programs that took a whole number for a decimal write it

_NO_KEY = ("", "unknown", "na", "n/a", "-9", "none", "null", "?")  # folded texts in the place of a key

_LETTERS, _SIGNS = r"[\p{L}\p{N}]", r"[^\p{L}\p{M}\p{N}]"

_UNSEEN = r"[[\p{Cf}\p{Cc}]--\s]"  # characters nobody sees, blanks aside

_ZEROS = r"(^|\D)0+(\d)"

_ABROAD = r"^\s*\+\s*[1-9][\d ()/.-]{8,18}\s*$"  # +31 6 12345678

_COUNTRY = (  # codes of countries (ITU E.164): of one, two or three digits
    r"^\+(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})"
)

_INSTANT = r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}(:?\d{2})?)\s*$"

_SCIENTIFIC = re.compile(r"^\s*[1-9](?:[.,]\d{1,15}[eE]\+?|[eE]\+)\d{1,2}\s*$", re.ASCII)  # 1e3 may be a code

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

_NAMED_MONTH = rf"(?:{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in _MONTH_NAMES)}|sept)"

_YEAR = r"(?:19|20)\d\d"

_CLOCK = r"(?::00(?:\.0+)?)?"

_MIDNIGHT = (  # of a day, as programs write it that hold days as times: T00:00:00.000Z, 12:00:00 AM
    rf"(?:(?:t|:|\s+)(?:0?0:00{_CLOCK}(?:\s?(?:z|[+-]00(?::?00)?))?|12:00{_CLOCK}\s*am)(?![\d:.]*\d|\w))"
)

_DAY = re.compile(
    rf"(?<!\d)(?:\d{{1,2}}[./-]\d{{1,2}}[./-]{_YEAR}|{_YEAR}[./-]\d{{1,2}}[./-]\d{{1,2}}"
    rf"|\d{{1,2}}[ ./-]*{_NAMED_MONTH}[ .,/-]*{_YEAR}|{_YEAR}[ ./-]*{_NAMED_MONTH}[ ./-]*\d{{1,2}}"
    rf"|(?<![a-z]){_NAMED_MONTH}[ ./-]*\d{{1,2}}[ ,./-]+{_YEAR})(?:{_MIDNIGHT}|(?!\d))",
    re.ASCII | re.IGNORECASE,
)

_WRITTEN = (  # one of these, perhaps
    r"^\s*[1-9](?:[.,]\d{1,15}[eE]\+?|[eE]\+)\d{1,2}\s*$|\d[./-]\d{1,2}[./-]\d"
    rf"|(?i){_NAMED_MONTH}[ .,/-]*\d"
)

_DAYS = 0.95  # the share of keys that hold a day from which what looks like one is taken for it

_CENTURY, _MONTHS = 100, 12

_TWO_LETTERS = str.maketrans({"\u00e4": "ae", "\u00f6": "oe", "\u00fc": "ue", "\u00f8": "oe", "\u00e5": "aa"})

_STROKES = {"\u0142": "l", "\u0111": "d", "\u0131": "i", "\u00e6": "ae", "\u0153": "oe"}  # not a letter and a mark

_TWO_FOR_ONE = "([aou])e|(a)a"  # Mueller, Aage


def key_texts(column: pl.Series) -> pl.Series:
    """Return a key column as texts, cell by cell: without surrounding blanks, 7.0 as 7, an empty cell as null."""
    if column.dtype.is_integer():
        return column.cast(pl.String)
    if column.dtype != pl.String:
        column = pl.Series(column.name, [canonical_text(value) for value in cells_of(column)], dtype=pl.String)
    texts = column.str.strip_chars().str.replace(_POINT_ZERO, "$1")
    return texts.set(texts == "", None)


def bare_keys(columns: Sequence[pl.Series]) -> list[pl.Series]:
    """Return the texts of keys, cell by cell, in the form that is compared: keys refused as alike are equal in it.

    Each key is read by itself, so that it is the same in every batch: what looks like a day is taken for one.
    """
    return [bare(folded_keys(text, several=len(columns) > 1, days=True)) for text in columns]


def folded_keys(keys: pl.Series, *, several: bool, days: bool | None = None) -> pl.Series:
    """Return keys without case, blanks, unseen characters, forms of a letter and leading zeros of a run of digits.

    A surname before a comma goes to the end, a telephone number loses the code of its country, a time with a zone is
    that of UTC, a day in a key is year, month and day, also with a time of midnight, and 4.0E+06 is 4000000. Names lose
    their accents where the key has `several` columns, or several words: two people hardly agree in all the rest. `days`
    says whether what looks like a day is one; without it, whether nearly all of the keys that look so are.
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
    """Return a day as 19780716, as it is where there is no such day. 07/16/1978 is one in July, 06/07/1978 one too.

    A time of midnight after it says nothing of the day.
    """
    parts = re.findall(r"[0-9]+|[a-z]+", text.lower())[:3]
    numbers = [int(part) for part in parts if part.isdigit()]
    if len(numbers) < len(parts):  # the name of a month
        named = next(part[:3] for part in parts if part.isalpha())
        (day, year), month = sorted(numbers), 1 + next(at for at, name in enumerate(_MONTH_NAMES) if name[:3] == named)
    else:
        first, middle, last = numbers
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


def bare(folded: pl.Series) -> pl.Series:
    """Return folded keys without punctuation: letters and digits only, without leading zeros of a run of digits."""
    return folded.str.replace_all(_SIGNS, "").str.replace_all(_ZEROS, "$1$2")


def means_no_key(texts: pl.Series, folded: pl.Series) -> np.ndarray:
    """Return which texts stand for no key, each judged by itself."""
    found: np.ndarray = (
        ~folded.str.contains(_LETTERS) | folded.is_in(_NO_KEY) | folded.str.contains("^-9+$")
    ).to_numpy()
    wordy = (~texts.str.contains(r"\d")).arg_true()  # no word for "no value" has digits
    words = [means_none(text) or text in NO_VALUE for text in texts.gather(wordy).to_list()]
    found = found.copy()
    found[wordy.to_numpy()] |= np.array(words, bool)
    return found
