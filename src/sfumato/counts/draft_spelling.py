"""How a column seems to write its days and numbers, told from its distinct texts; what can be read is offered."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal

from sfumato.counts.canonical import day_of
from sfumato.schema.domain import decimal_or_none
from sfumato.schema.spelling import with_point

__all__ = [
    "PLAIN",
    "Spelling",
    "codes_among_words",
    "codes_for_none",
    "day_formats",
    "shorter_than_codes",
    "spelling_of",
    "spoken",
]

# Where the texts leave day and month open, the first that fits is proposed, and the draft asks.
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%m.%d.%Y", "%Y%m%d")
_SIGNLESS, _YEARS = 10, range(1800, 2200)  # so many distinct eight-digit numbers that are all days are days
_STRAYS, _READ = 3, 30  # so few texts among so many that are read are no days gone wrong, but a word for none
_NUMBERS = 100  # of plain numbers, of which there are more kinds, it takes more
_CODE = re.compile(r"-(?:1|7+|8+|9+)|9{2,}", re.ASCII)
_DIGITS, _CODES = re.compile(r"[0-9]{4,64}", re.ASCII), 5  # postcodes and the like, and how many kinds make a column
_COMMA_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3},[0-9]{3}", re.ASCII)
_POINT_THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}\.[0-9]{3}", re.ASCII)
_MARKED = re.compile(r"[-+]?[0-9]{1,3}(?:[.'’ ][0-9]{3})+(?:,[0-9]+)?|[-+]?[0-9]{1,3}(?:[,'’ ][0-9]{3})+(?:\.[0-9]+)?")
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}", re.ASCII)
_NOT_READ = {
    "thousands": "kind: the numbers have marks for thousands; write them as 1234.5 and draft again",
    "year": "kind: the dates have years of two digits; write them as 2024-05-31 and draft again",
    "comma": 'kind: do the commas mark decimals? then kind = "numeric" with a range and decimal = ","; '
    "else write the numbers as 1234.5 and draft again",
    "point": "range: do the points mark thousands, as in 12.345? then write 12345 and draft again",
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """How days or numbers are written: `format` of days, a decimal comma; `ask` is what a person must say."""

    format: str | None = None
    _: KW_ONLY
    comma: bool = False
    ask: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()

    def day(self, text: str) -> dt.date | None:
        """Return the day a text names."""
        return day_of(text, self.format)

    def number(self, text: str) -> Decimal | None:
        """Return the number a text names; 007 is a code, not a number."""
        plain = with_point(text) if self.comma else text
        return None if plain is None or _zero_led(text) else decimal_or_none(plain)


PLAIN = Spelling()


def _zero_led(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def spelling_of(texts: Sequence[str]) -> Spelling:
    """Return how most of the texts are written; `PLAIN` where they are ISO days, plain numbers or no such thing."""
    for formats in ([None], day_formats(texts)):
        found = [Spelling(form, strays=_rest(texts, Spelling(form).day)) for form in formats]
        if found and _few(found[0].strays, texts, _READ):
            return found[0] if len(found) == 1 else _asked(found)
    for one, enough in ((PLAIN, _NUMBERS), (Spelling(comma=True), _READ)):
        strays = _rest(texts, one.number)
        if _few(strays, texts, enough) and not any(_zero_led(text) for text in texts):
            return _numbers(texts, strays, comma=one.comma)
    return Spelling(ask=_unread(texts))


def day_formats(texts: Sequence[str]) -> list[str | None]:
    """Return the formats that read the most texts, at least all but a few of them."""
    tried = texts if len(texts) <= _READ else texts[:: len(texts) // _READ]
    if not any(any(letter.isdigit() for letter in text) for text in tried):
        return []
    read = {form: len(texts) - len(_rest(texts, Spelling(form).day)) for form in _FORMATS}
    if read["%Y%m%d"] and not _signless(texts):
        read["%Y%m%d"] = 0
    most = max(read.values())
    return [form for form in _FORMATS if most and read[form] == most]


def codes_for_none(numbers: dict[str, Decimal]) -> tuple[str, ...]:
    """Return the texts among whole numbers that look like a code for no value: -9 below 0 to 67, 999 far above.

    Below: at most three numbers under 0, each -1 or made of the digits 7, 8 and 9 alone. Above: nines only, and
    further from the next number than all others are from each other.
    """
    rising = sorted(numbers, key=lambda text: numbers[text])
    below = [text for text in rising if numbers[text] < 0]
    rest = rising[len(below) :]
    marks = all(_CODE.fullmatch(text) for text in below)
    found = below if marks and len(below) <= _STRAYS and len(rest) > len(below) else []
    if len(rest) > _STRAYS and re.fullmatch(r"9{2,}", rest[-1]):
        others = numbers[rest[-2]] - numbers[rest[0]]
        if numbers[rest[-1]] - numbers[rest[-2]] > max(others, Decimal(1)):
            found = [*found, rest[-1]]
    return tuple(found)


def codes_among_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the codes for no value where all else are words: -9 beside never, former and current."""
    numbers = [text for text in texts if decimal_or_none(text) is not None]
    words = len(texts) - len(numbers)
    marks = all(_CODE.fullmatch(text) for text in numbers)
    return tuple(numbers) if marks and len(numbers) <= _STRAYS and words > len(numbers) else ()


def shorter_than_codes(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the few texts among codes of one length that may say "no value": -9, 99 or k.A. beside five digits each.

    They are shorter than the codes, and a code for none or without a digit; 0410 beside 04105 is rather a slip.
    """
    codes = [text for text in texts if _DIGITS.fullmatch(text)]
    lengths = Counter(map(len, codes)).most_common(1)
    if not lengths or lengths[0][1] < _CODES:
        return ()
    length = lengths[0][0]
    odd = [text for text in texts if text not in codes or len(text) != length]
    signs = all(len(text) < length and (_CODE.fullmatch(text) or not re.search(r"\d", text)) for text in odd)
    return tuple(odd) if signs and len(odd) <= _STRAYS else ()


def _rest(texts: Sequence[str], reads: Callable[[str], object]) -> tuple[str, ...]:
    return tuple(text for text in texts if reads(text) is None)


def _few(strays: Sequence[str], texts: Sequence[str], enough: int) -> bool:
    """True when the strays are none, or few among many texts that are read."""
    read = len(texts) - len(strays)
    return bool(read) and (not strays or (len(strays) <= _STRAYS and read >= enough))


def _signless(texts: Sequence[str]) -> bool:
    days = [day for text in texts if (day := day_of(text, "%Y%m%d")) is not None]
    return len(days) >= _SIGNLESS and len(days) == len(texts) and all(day.year in _YEARS for day in days)


def _asked(found: Sequence[Spelling]) -> Spelling:
    first, second = (spoken(str(one.format)) for one in found[:2])
    ask = f"format: no date of the file tells {first} from {second}; which is it?"
    return Spelling(found[0].format, ask=(ask,), strays=found[0].strays)


def spoken(form: str) -> str:
    """Return a format in words: day.month.year."""
    return form.replace("%d", "day").replace("%m", "month").replace("%Y", "year")


def _numbers(texts: Sequence[str], strays: tuple[str, ...], *, comma: bool) -> Spelling:
    """Numbers that are read, unless the sign in them may mark thousands as well."""
    sign, thousands = (",", _COMMA_THOUSANDS) if comma else (".", _POINT_THOUSANDS)
    signed = [text for text in texts if sign in text and text not in strays]
    unclear = bool(signed) and all(thousands.fullmatch(text) for text in signed)
    if comma and unclear:
        return Spelling(ask=(_NOT_READ["comma"],))
    return Spelling(comma=comma, strays=strays, ask=(_NOT_READ["point"],) if unclear else ())


def _unread(texts: Sequence[str]) -> tuple[str, ...]:
    for what, looks in (("year", _SHORT_YEAR), ("thousands", _MARKED)):
        fitting = [text for text in texts if looks.fullmatch(text)]
        plain = [text for text in texts if decimal_or_none(text) is not None]
        if fitting and len(set(texts) - {*fitting, *plain}) <= min(_STRAYS, len(fitting) // 10):
            return (_NOT_READ[what],)
    return ()
