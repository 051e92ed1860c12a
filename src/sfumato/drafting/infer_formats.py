"""How a column seems to write its days and numbers, inferred from its distinct texts; what can be read is offered."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from decimal import Decimal
from fractions import Fraction

from sfumato.io.decode_cell import day_of
from sfumato.schema.domain import decimal_or_none
from sfumato.schema.formats import PLAIN_NUMBERS, NumberForm, is_currency

# Where the texts leave day and month open, the first that fits is proposed, and the draft asks.
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%m.%d.%Y", "%Y%m%d")
_MONTHS = ("%m/%Y", "%m.%Y", "%m-%Y", "%Y-%m", "%Y/%m")
_SIGNLESS, _YEARS = 10, range(1800, 2200)  # 10 or more distinct eight-digit numbers, all days of these years, are days
_STRAYS, _READ = 3, 30  # at most 3 unread texts beside at least 30 that are read are words for a missing value
_NUMBERS = 100  # of plain numbers, of which there are more kinds, it takes more
_NEARLY, _SOME = Fraction(4, 5), 10  # a column of at least 10 texts is nearly read when this share of them is
_CODE = re.compile(r"-(?:1|7+|8+|9+)|9{2,}", re.ASCII)
_DIGITS, _CODES = re.compile(r"[0-9]{4,64}", re.ASCII), 5  # postcodes and the like, and how many kinds make a column
_ANSWER = re.compile(r"[0-9]|10", re.ASCII)  # on a scale; a code lies so far above it, or is a word so short
_GAP, _WORD, _COLUMNS = 2, 4, 3  # and stands in at least so many columns
_DAY_LIKE = re.compile(r"[0-9]{1,4}[./-].*|[0-9]{8}.*", re.ASCII | re.DOTALL)
_SHORT_YEAR = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2}", re.ASCII)
_TWO_DIGITS = "kind: the dates have years of two digits; write them as 2024-05-31 and draft again"
_BELOW_ONE = re.compile(r"[-+]? ?0[^0-9]", re.ASCII)
_BESIDE = re.compile(r"[-+]?([^-+0-9]*)[-+]?[0-9](?:.*[0-9])?([^0-9]*)", re.DOTALL)
_WRITTEN = (  # where several forms read every cell differently, the first is proposed, and the draft asks
    NumberForm(thousands=","),
    NumberForm(","),
    NumberForm(",", thousands="."),
    NumberForm(thousands="'"),
    NumberForm(",", thousands=" "),
    NumberForm(thousands=" "),
)
_PERCENT = sorted(_WRITTEN, key=lambda form: bool(form.thousands))  # 7,250 % is rather 7.25 than 7250: few exceed 100


@dataclass(frozen=True, slots=True)
class Spelling:
    """How days or numbers are written: the `format` of days, the form of numbers; `ask` is what a person must say.

    `strays` are the few texts that are read as neither; `unread` are texts of a column that is nearly read. `typed` are
    the days that a spreadsheet holds as days, in ISO: they are read whatever the format of the texts.
    """

    format: str | None = None
    _: KW_ONLY
    numbers: NumberForm = PLAIN_NUMBERS
    ask: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    typed: frozenset[str] = frozenset()

    def day(self, text: str) -> dt.date | None:
        """Return the day a text names."""
        return day_of(text, None if text in self.typed else self.format)

    def number(self, text: str) -> Decimal | None:
        """Return the number a text names; 007 is a code, not a number."""
        return None if _zero_led(text) else self.numbers.number(text)


PLAIN = Spelling()


def _zero_led(text: str) -> bool:
    return len(text) > 1 and text[0] == "0" and text[1].isdigit()


def spelling_of(texts: Sequence[str]) -> Spelling:
    """Return how most of the texts are written; `PLAIN` where they are ISO days, plain numbers or no such thing."""
    for formats in ([None], day_formats(texts)):
        found = [Spelling(form, strays=_rest(texts, Spelling(form).day)) for form in formats]
        if found and _few(found[0].strays, texts, _READ):
            return found[0] if len(found) == 1 else _asked(found)
    zeros = any(_zero_led(text) for text in texts)
    forms = [] if zeros else number_forms(texts)
    if forms:
        strays = _rest(texts, Spelling(numbers=forms[0]).number)
        if _few(strays, texts, _NUMBERS if forms[0].plain else _READ):
            return Spelling(numbers=forms[0], strays=strays, ask=unclear_numbers(forms, texts))
    if _short_years(texts):
        return Spelling(ask=(_TWO_DIGITS,))
    return _nearly(texts, forms)


def spelling_beside(typed: frozenset[str], texts: Sequence[str]) -> Spelling:
    """Return how the texts are written that stand beside the typed days of a spreadsheet, where they name days too."""
    others = [text for text in texts if text not in typed]
    found = spelling_of(others) if typed and others else PLAIN
    if found.format is None:
        return spelling_of(texts)
    held = f"{len(texts) - len(others)} values are dates in the file and {len(others)} are texts"
    ask = found.ask or (f"format: {held}; do those texts mean {spoken(found.format)}?",)
    return replace(found, typed=typed, ask=ask)


def number_forms(texts: Sequence[str]) -> list[NumberForm]:
    """Return the forms of numbers that read the most texts, the likeliest first; none where none reads any."""
    some = texts if len(texts) <= _READ else texts[:: len(texts) // _READ]
    if not any(any(letter.isdigit() for letter in text) for text in some):
        return []
    if not any("." in text for text in texts) and all(PLAIN_NUMBERS.number(text) is not None for text in texts):
        return [PLAIN_NUMBERS]
    forms = [PLAIN_NUMBERS, *_WRITTEN]
    units = _units(texts)
    if units:
        order = (PLAIN_NUMBERS, *_PERCENT) if units == ("%",) else (*_WRITTEN, PLAIN_NUMBERS)
        forms = [NumberForm(form.decimal, thousands=form.thousands, units=units) for form in order]
    reads = {form: [text for text in texts if form.number(text) is not None] for form in forms}
    read = {form: sum(not _no_thousand(form, text) for text in held) for form, held in reads.items()}
    most = max(read.values())
    forms = [form for form in forms if most and read[form] == most]
    if all(form.number(text) == forms[0].number(text) for text in texts for form in forms[1:]):
        return sorted(forms, key=lambda form: _marks_unseen(form, texts))
    # Where readings differ, a mark of thousands that no cell has would hide that the points may mark thousands.
    return sorted(forms, key=lambda form: bool(form.thousands) and not any(_has_mark(form, text) for text in texts))


def _has_mark(form: NumberForm, text: str) -> bool:
    return re.search(f"[0-9][{form.marks}][0-9]", text) is not None


def _marks_unseen(form: NumberForm, texts: Sequence[str]) -> int:
    """Count the marks of a form that no cell has, a decimal point aside: nobody is asked about these."""
    thousands = bool(form.thousands) and not any(_has_mark(form, text) for text in texts)
    return thousands + (form.decimal != "." and not any(form.decimal in text for text in texts))


def _no_thousand(form: NumberForm, text: str) -> bool:
    """True for 0,875 where the comma would mark thousands: nobody writes 875 like that."""
    return bool(form.thousands) and _BELOW_ONE.match(text) is not None and text.strip("-+ ")[1:2] in form.marks


def unclear_numbers(forms: Sequence[NumberForm], texts: Sequence[str]) -> tuple[str, ...]:
    """Ask where two forms read the same texts as different numbers: 1.234 is a thousand or a little more than one."""
    first = forms[0]
    other = next((form for form in forms[1:] if any(form.number(t) != first.number(t) for t in texts)), None)
    if other is None:
        return ()
    if first.thousands:
        mark = "commas" if first.thousands == "," else "points"
        instead = f'write decimal = "{first.thousands}" instead'
        return (f"thousands: do the {mark} mark thousands? where they mark decimals, {instead}",)
    if first.commas:
        return ('decimal: do the commas mark decimals? where they mark thousands, write thousands = "," instead',)
    return ('thousands: do the points mark decimals? where they mark thousands, as in 12.345, add thousands = "."',)


def _units(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the signs of currencies that stand beside the numbers."""
    found = set()
    for text in texts:
        beside = _BESIDE.fullmatch(text)
        found |= {part.strip() for part in beside.groups()} - {""} if beside else set()
    return tuple(sorted(unit for unit in found if is_currency(unit) or unit == "%"))


def _short_years(texts: Sequence[str]) -> bool:
    fitting = [text for text in texts if _SHORT_YEAR.fullmatch(text)]
    return bool(fitting) and len(texts) - len(fitting) <= min(_STRAYS, len(fitting) // 10)


def _nearly(texts: Sequence[str], forms: Sequence[NumberForm]) -> Spelling:
    """Return the texts that keep a column from being read as days or numbers, where most of them are."""
    tried: list[tuple[str, Callable[[str], object]]] = [
        (f"dates {spoken(form or '%Y-%m-%d')}", Spelling(form).day) for form in (None, *day_formats(texts)[:1])
    ]
    tried += [("numbers" if form.plain else f"numbers like {form.example}", form.number) for form in forms[:1]]
    for what, reads in tried:
        rest = _rest(texts, reads)
        read = len(texts) - len(rest)
        if rest and read >= _SOME and read >= _NEARLY * len(texts):
            ask = f"kind: {read} of {len(texts)} values are {what}; correct the others and draft again"
            return Spelling(ask=(ask,), unread=rest)
    return PLAIN


def day_formats(texts: Sequence[str]) -> list[str | None]:
    """Return the formats that read the most texts, at least all but a few of them."""
    tried = texts if len(texts) <= _READ else texts[:: len(texts) // _READ]
    if not any(any(letter.isdigit() for letter in text) for text in tried):
        return []
    likely = [text for text in texts if _DAY_LIKE.fullmatch(text)]
    if not likely:
        return []
    read = {form: len(likely) - len(_rest(likely, Spelling(form).day)) for form in (*_FORMATS, *_MONTHS)}
    if read["%Y%m%d"] and not _signless(texts):
        read["%Y%m%d"] = 0
    for form in _MONTHS:  # 3.1994 is also a number
        days = [day_of(text, form) for text in texts] if read[form] else []
        if any(day is not None and day.year not in _YEARS for day in days):
            read[form] = 0
    most = max(read.values())
    return [form for form in read if most and read[form] == most]


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


def codes_of_questions(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return by column the texts that may say "no answer" in columns of answers on a scale: 9 and kA beside 1 to 5.

    In one column a 9 above 1 to 5 may be a number like the others. Where at least three columns have the same scale and
    the same texts beside it, these are rather codes: of the digits 7, 8 and 9, at least 2 above the scale, or short
    words. A column in which not every answer or code occurs is taken for one of them.
    """
    found = {name: look for name, texts in lists.items() if (look := _beside_scale(texts))}
    looks = [look for look, columns in Counter(found.values()).items() if columns >= _COLUMNS]

    def fits(low: int, high: int, codes: tuple[str, ...]) -> bool:
        return any(low >= one[0] and high <= one[1] and set(codes) <= set(one[2]) for one in looks)

    return {name: look[2] for name, look in found.items() if fits(*look)}


def _beside_scale(texts: Sequence[str]) -> tuple[int, int, tuple[str, ...]] | None:
    """Return the ends of a scale within 0 to 10 and the texts beside its answers; None where there is no such scale."""
    numbers = sorted(int(text) for text in texts if _ANSWER.fullmatch(text))
    words = [text for text in texts if not _ANSWER.fullmatch(text) and not _CODE.fullmatch(text)]
    above = [number for number in numbers if re.fullmatch(r"[789]", str(number))]
    while above and above[0] - max((number for number in numbers if number < above[0]), default=-2) < _GAP:
        above = above[1:]
    above = [] if above and numbers[-1] > above[-1] else above  # 8 and 9 are answers where 10 is one
    scale = [number for number in numbers if number not in above]
    odd = [*map(str, above), *(text for text in texts if _CODE.fullmatch(text)), *words]
    wordy = any(len(text) > _WORD or re.search(r"\d", text) for text in words)
    return (scale[0], scale[-1], tuple(odd)) if odd and len(scale) > 1 and not wordy and len(odd) <= _STRAYS else None


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
