"""Values of one list that may be two spellings of one: what a person must be asked, because no rule can tell.

Source    Ours. Edit distance: Levenshtein 1966, with neighbours exchanged (Damerau 1964).
Claim     A pair is named where its values differ in one word only, and these two words have at least six letters each,
          begin alike and are one edit apart; or one is the plural of the other; or one is cut short by a full stop; or
          where both are codes such as I21.9 that differ in the full stop.
Because   words are compared one by one, after case, accents and punctuation are gone.
Checked   tests/unit/schema/test_near_values.py::test_named
          tests/unit/schema/test_near_values.py::test_not_named
          tests/unit/schema/test_near_values.py::test_equals_a_comparison_of_all_pairs
Silent on synonyms: that asthma and bronchial asthma, or HIV and AIDS, differ or not is known to people alone.
Cost      the letters of all values; lists of more than 5,000 are not looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from sfumato.schema.checks import plain_spelling
from sfumato.visible import one_form

__all__ = ["near_pairs"]

_MOST = 5_000
_LONG = 6  # letters, from which on one edit is rather a slip than another word
_SHORT = 3  # letters that an abbreviation has at least
_PLURALS = ("s", "es", "en", "n", "e", "er")
_CODE = re.compile(r"[a-z]\d{2}\.?\d{0,4}")
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
    words = [_words(name) for name in names]
    found = set()
    for places in _candidates(words):
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                first, second = sorted((one, other))
                if _near(names[first], names[second], words[first], words[second]):
                    found.add((first, second))
    return [(names[first], names[second]) for first, second in sorted(found)]


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


def _near(one: str, other: str, first: _Spelled, second: _Spelled) -> bool:
    if plain_spelling(one) == plain_spelling(other) or len(first) != len(second):
        return False
    differ = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    return len(differ) == 1 and _alike(*differ[0])


def _alike(one: str, other: str) -> bool:
    if _CODE.fullmatch(one) and _CODE.fullmatch(other):
        return one.replace(".", "") == other.replace(".", "")
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
