"""Values of one list that may be two spellings of one: what a person must be asked, because no rule can tell.

Source    Ours. Edit distance: Levenshtein 1966, with neighbours exchanged (Damerau 1964).
Claim     A pair is named where its values differ in one word only, and these two words have at least six letters each,
          begin alike and are one edit apart; or one is the plural of the other; or one is cut short by a full stop; or
          where one is a letter that a single other value of one word begins with (F, female; not I, III); or where both
          are codes such as I21.9 that differ in the full stop, the hyphen or the blank, numbers of one size, days that
          can be read as the same, or words joined by "and", & or +.
Because   words are compared one by one, after case, accents and punctuation are gone.
Checked   tests/unit/schema/test_near_values.py::test_named
          tests/unit/schema/test_near_values.py::test_not_named
          tests/unit/schema/test_near_values.py::test_equals_a_comparison_of_all_pairs
Silent on synonyms: that asthma and bronchial asthma, or HIV and AIDS, differ or not is known to people alone.
Cost      the letters of all values; lists of more than 5,000 are not looked at.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal

from sfumato.schema.checks import plain_spelling
from sfumato.visible import one_form

_MOST = 5_000
_LONG = 6  # letters, from which on one edit is rather a slip than another word
_SHORT = 3  # letters that an abbreviation has at least
_PLURALS = ("s", "es", "en", "n", "e", "er")
_CODE = re.compile(r"[a-z]\d{2}[. -]?\d{0,4}")
_NUMBER = re.compile(r"-?\d{1,15}(?:[.,]\d{1,15})?", re.ASCII)
_DAY = re.compile(r"(\d{1,4})([-./ ])(\d{1,2})\2(\d{1,4})", re.ASCII)
_THOUSANDS, _YEAR = 3, 4  # digits
_AND = re.compile(r"(?<=\w)\s*[&+]\s*(?=\w)|(?<=\w)\s+(?:and|und|et)\s+(?=\w)")
_ROMAN = r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
_LETTER_FOR = re.compile(rf"(?!{_ROMAN}$)[^\W\d_]{{3,}}|no|ja|si|ne")  # a word that one letter may stand for
_WORDS = re.compile(r"[^\W\d_]+\.?|\d+")
_MARKS = re.compile("[\u0300-\u036f]")

_Spelled = tuple[str, ...]


def near_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of values that may be one, in the order of the list.

    >>> near_pairs(["fracture", "fractures", "asthma", "I21.9", "I219", "hepatitis A", "hepatitis B"])
    [('fracture', 'fractures'), ('I21.9', 'I219')]
    """
    if len(names) > _MOST:
        return []
    words, plain = [_words(name) for name in names], [plain_spelling(name) for name in names]
    found = set()
    for places in _candidates(words):
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                first, second = sorted((one, other))
                if plain[first] != plain[second] and _near(words[first], words[second]):
                    found.add((first, second))
    meant: dict[object, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        for meaning in _meanings(name):
            meant[meaning].append(place)
    for places in meant.values():
        for other in places[1:]:
            if plain[places[0]] != plain[other]:
                found.add((places[0], other))
    found.update(_letters(plain, words))
    return [(names[first], names[second]) for first, second in sorted(found)]


def _letters(plain: Sequence[str], words: Sequence[_Spelled]) -> Iterator[tuple[int, int]]:
    """Yield the places of a letter and of the word it may stand for: f and female, where no other word begins so."""
    place = {text: at for at, text in reversed([*enumerate(plain)])}
    begins: dict[str, list[str]] = defaultdict(list)
    for text, at in place.items():
        if len(words[at]) == 1 and _LETTER_FOR.fullmatch(text):
            begins[text[0]].append(text)
    for text, at in place.items():
        if len(text) == 1 and len(begins[text]) == 1:
            first, second = sorted((at, place[begins[text][0]]))
            yield first, second


def near_codes(names: Sequence[str]) -> list[int]:
    """Return for each value the place of the first that it may be another spelling of, itself if there is none."""
    first = list(range(len(names)))
    place = {name: at for at, name in enumerate(names)}

    def root(at: int) -> int:
        while first[at] != at:
            at = first[at]
        return at

    for one, other in near_pairs(names):
        low, high = sorted((root(place[one]), root(place[other])))
        first[high] = low
    return [root(at) for at in range(len(names))]


def _meanings(name: str) -> set[object]:
    """Return what a number, a day, a code or words joined by "and" can be read as; nothing for other texts."""
    plain = one_form(name).strip()
    if _NUMBER.fullmatch(plain):
        found: set[object] = {Decimal(plain.replace(",", ".")).normalize()}
        whole, _, part = plain.replace(",", ".").partition(".")
        return found | ({Decimal(whole + part).normalize()} if len(part) == _THOUSANDS else set())
    if _CODE.fullmatch(plain):
        return {re.sub("[. -]", "", plain)}
    if day := _DAY.fullmatch(plain):
        return set(_days(day[1], day[3], day[4]))
    joined = _AND.sub(" and ", plain)
    return {f"{plain_spelling(joined)} joined"} if " and " in joined else set()


def _days(first: str, middle: str, last: str) -> list[dt.date]:
    """Return the days that three numbers can mean: year first, or day and month, or month and day, before the year."""
    found = []
    readings = [(first, middle, last)] if len(first) == _YEAR else [(last, middle, first), (last, first, middle)]
    for year, month, day in readings:
        if len(year) == _YEAR and len(day) <= 2:
            with suppress(ValueError):
                found.append(dt.date(int(year), int(month), int(day)))
    return found


def _words(name: str) -> _Spelled:
    plain = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFKD", one_form(name)))).casefold()
    return (plain.strip(),) if _CODE.fullmatch(plain.strip()) else tuple(_WORDS.findall(plain))


def _candidates(words: Sequence[_Spelled]) -> list[list[int]]:
    """Return values that agree in all words but one, and in that one but for a letter, an ending or a full stop."""
    found: dict[object, list[int]] = defaultdict(list)
    for place, value in enumerate(words):
        for at, word in enumerate(value):
            bare = word.removesuffix(".")
            keys = {bare.replace(".", ""), *(bare[:i] + bare[i + 1 :] for i in range(len(bare)))}
            keys |= {bare.removesuffix(ending) for ending in _PLURALS}
            keys |= {f"{bare[:_SHORT]}..."}  # a word and its abbreviation begin alike
            for key in keys:
                found[value[:at], at, value[at + 1 :], key].append(place)
    return [places for places in found.values() if len(places) > 1]


def _near(first: _Spelled, second: _Spelled) -> bool:
    if len(first) != len(second):
        return False
    differ = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return len(differ) == 1 and _alike(*differ[0])


def _alike(one: str, other: str) -> bool:
    if _CODE.fullmatch(one) and _CODE.fullmatch(other):
        return re.sub("[. -]", "", one) == re.sub("[. -]", "", other)
    if any(word.endswith(".") and _cut(word[:-1], whole) for word, whole in ((one, other), (other, one))):
        return True
    short, long = sorted((one.removesuffix("."), other.removesuffix(".")), key=len)
    if not (short.isalpha() and long.isalpha()) or short[0] != long[0]:
        return False
    if len(short) >= _SHORT + 1 and long.removeprefix(short) in _PLURALS:
        return True
    return len(short) >= _LONG and _one_edit(short, long)


def _cut(short: str, whole: str) -> bool:
    """Whether a word is the beginning of another, which is written out."""
    return len(short) >= _SHORT and not whole.endswith(".") and whole != short and whole.startswith(short)


def _one_edit(short: str, long: str) -> bool:
    """Whether one letter more, another letter, or two neighbours exchanged make one word the other."""
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    return short[at + 1 :] == long[at + 1 :] or (
        short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    )
