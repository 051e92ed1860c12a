"""Numbers among the values of a column that may say "no answer": 9 above 1 to 3, 98 and 99 above those, 9 beside words.

Surveys write such numbers, and only a person knows which of them are answers: what is found here is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sfumato.schema.word_hints import may_mean_none, postcodes

_NUMBER = re.compile(r"0*([0-9]{1,9})(?:[.,]0+)?", re.ASCII)
_BELOW = re.compile(r"-0*(?:1|7+|8+|9+)(?:[.,]0+)?", re.ASCII)
_MOST_BELOW = 3
_LONG = re.compile(r"7{3,}|8{3,}|9{2,}[6-9]", re.ASCII)
_REPEATED, _TWO_DIGITS, _ONE_DIGIT = (77, 88), range(97, 100), range(7, 10)
_FAR, _GAP = 5, 2  # two digits of 9 stand so far above the next number, and one digit
_TEN, _NEARLY_ALL = range(10), 9  # with 0 and so many digits in all, a column rather counts something
_OTHER = re.compile(r"[-+]?[0-9.,]*[0-9]", re.ASCII)  # 1.5, -20: something is measured
_TWO_LETTERS, _TWO_WORDS = re.compile("[A-Za-z]{2}"), {"dk", "ja", "no", "si"}
_LIKE_A_CODE = re.compile(r"[^\W\d_]{1,3}[-.]?\d.*", re.DOTALL)  # F32.1, Q1


def maybe_no_answer(texts: Collection[str]) -> tuple[str, ...]:
    """Return the texts that may be codes for no answer: whole numbers at the top, or beside words alone.

    One digit, 7 to 9, stands at least 2 above the next number, 97 to 99 at least 5; 77, 88 and codes of more digits
    stand further above it than the others lie apart. Numbers below 0 are looked at beside words.
    "Refused" may say that an answer was refused, and DK that somebody does not know.

    >>> maybe_no_answer(["never", "often", "refused"]), maybe_no_answer(["yes", "no", "DK"])
    (('refused',), ('DK',))
    >>> maybe_no_answer(["1", "2", "3", "8", "9", "99"]), maybe_no_answer(["never", "often", "9"])
    (('8', '9', '99'), ('9',))
    >>> maybe_no_answer([str(age) for age in (*range(18, 91), 99)]), maybe_no_answer([str(age) for age in range(100)])
    (('99',), ())
    """
    refused = sorted({*filter(may_mean_none, texts)} - postcodes(texts))
    if any(_TWO_LETTERS.fullmatch(text) and text.casefold() not in _TWO_WORDS for text in {*texts}.difference(refused)):
        refused = [text for text in refused if text.casefold() != "dk"]  # a country among others
    found = _numbers_for_none([text for text in texts if text not in refused])
    return (*found, *refused) if len(found) + len(refused) < len(texts) else ()


def _numbers_for_none(texts: Collection[str]) -> tuple[str, ...]:
    numbers = {text: int(found[1]) for text in texts if (found := _NUMBER.fullmatch(text))}
    below = [text for text in texts if _BELOW.fullmatch(text)]
    words = [text for text in texts if text not in numbers and text not in below]
    if any(_LIKE_A_CODE.fullmatch(text) or _OTHER.fullmatch(text) for text in words):
        return ()
    rising = sorted(set(numbers.values()))
    codes: Sequence[int] = rising if len(rising) <= len(words) else []
    if not all(map(_length, rising)):
        codes = _above(rising, len(words))
    tops = sorted((text for text in numbers if numbers[text] in codes), key=lambda text: (numbers[text], text))
    bottom = sorted(below) if words and len(below) <= _MOST_BELOW else []
    return (*bottom, *tops) if len(bottom) + len(tops) < len(texts) else ()


def _above(rising: Sequence[int], words: int) -> Sequence[int]:
    """Return the codes at the top of rising numbers, looked for from the longest to those of one digit."""
    rest = rising
    for length in (3, 2, 1):
        start = len(rest)
        while start and _length(rest[start - 1]) == length:
            start -= 1
        while start < len(rest) and not _apart(rest, start):
            start += 1
        others = rest[:start]
        digits = length == 1 and 0 in rest and sum(number in _TEN for number in rest) >= _NEARLY_ALL
        if not digits and (start + words > 1 or others in ([0], [1])):
            rest = others
    return rising[len(rest) :]


def _length(number: int) -> int:
    """Return how many digits a code has, 3 for more; 0 for a number that is no such code."""
    if _LONG.fullmatch(str(number)):
        return 3
    if number in _TWO_DIGITS or number in _REPEATED:
        return 2
    return 1 if number in _ONE_DIGIT else 0


def _apart(rest: Sequence[int], start: int) -> bool:
    """Say whether a code stands far enough above the numbers before it."""
    if not start:
        return False
    gap, spread = rest[start] - rest[start - 1], max(rest[start - 1] - rest[0], 1)
    if rest[start] in _ONE_DIGIT:
        return gap >= _GAP
    return gap >= _FAR if rest[start] in _TWO_DIGITS else gap > spread
