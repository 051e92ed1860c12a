"""Do listed values look like what a person typed freely, or like names of people? Then they are not published unasked.

Source    Ours.
Claim     Values are reported only if they look like text by their shape; or begin with a title; or three people or
          fewer have each, three or more of them have the shape of a name, or hold a common given name; or a quarter of
          all values hold one, or an initial; or half of the values in words, be it one, are a given name before a word
          or two (all, under the name of a category; a quarter, with a family name); or a third of all values are single
          words that are common given or family names (half, under the name of a category); or three people or fewer
          have a value in which a given name stands before a word with a capital letter or a family name, or a title
          does; or half of the people have words that three people or fewer have, under the name of a column that
          suggests no category; or they hold an e-mail address or a telephone number with a sign; or three people or
          fewer have each, they hold a number like that of a telephone, a key by its name or seven digits beside a word,
          and most values hold none.
Because   a category is shared by many people, and a name is not: what counts is how many people have a value, not how
          many rows. Names that stand in many rows of many people (those of doctors) are told by given names alone.
Checked   tests/claims/test_personal_names.py::test_names_under_any_column_name_are_refused
          tests/claims/test_personal_names.py::test_categories_that_many_people_share_are_not_refused
          tests/claims/test_personal_names.py::test_mutants_are_caught
          tests/claims/test_identifying_cells.py::test_one_identifying_cell_is_refused
          tests/claims/test_identifying_cells.py::test_codes_amounts_and_days_are_not_refused
          tests/claims/test_personal_names.py::test_single_names_are_refused
          tests/claims/test_personal_names.py::test_one_cell_with_a_name_among_categories_is_refused
          tests/claims/test_personal_names.py::test_groups_called_after_people_are_refused
          tests/claims/test_personal_names.py::test_one_or_two_names_that_many_people_have_beside_them_are_refused
Silent on names that are in none of the lists and that many people have beside them, and, of more than 20,000 values of
          a column, on names that hardly any has: every n-th is searched for them.

It errs towards asking: long names of categories look like text too, and only a person can tell.

given_names.txt holds some 600 of the most frequent given names of Europe, the Americas, Turkey, the Arab world, India
and East Asia, in small letters without accents: of the people of a table at least a quarter has one of these, of its
categories hardly any. Left out are names that are also words, months, places or beliefs (Mark, April, Florence).
family_names.txt holds some 400, few of which are also colours, towns, trades or illnesses (White, Lincoln, Baker).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from sfumato.errors import ReleaseError, count_of
from sfumato.schema.word_hints import names_a_category


@cache
def given_names() -> frozenset[str]:
    """Return the given names, read once."""
    text = (files("sfumato.schema") / "given_names.txt").read_text("utf-8")
    return frozenset(text.split())


@cache
def family_names() -> frozenset[str]:
    """Return the family names, read once."""
    text = (files("sfumato.schema") / "family_names.txt").read_text("utf-8")
    return frozenset(text.split())


HAN_FAMILY_NAMES: Final = frozenset(
    "\u4e01\u4e07\u4e54\u4e8e\u4efb\u4f55\u4f59\u4faf\u5085\u51af\u5218\u5289\u5362\u53f2\u53f6\u5415\u5433\u5434"
    "\u5468\u5510\u590f\u59da\u59dc\u5b54\u5b59\u5b5f\u5b6b\u5b8b\u5c39\u5d14\u5e38\u5eb7\u5ed6\u5f20\u5f35\u5f6d"
    "\u5f90\u6234\u6587\u65b9\u6613\u66f9\u66fe\u6731\u674e\u675c\u6768\u6797\u6881\u694a\u6b66\u6bb5\u6bdb\u6c5f"
    "\u6c64\u6c6a\u6c88\u6f58\u718a\u738b\u7530\u767d\u76e7\u77f3\u79e6\u7a0b\u7f57\u7f85\u80e1\u82cf\u8303\u8427"
    "\u8449\u8463\u848b\u8521\u856d\u859b\u8881\u8a31\u8b1d\u8bb8\u8c22\u8c2d\u8d3a\u8d3e\u8d56\u8d75\u8d99\u9093"
    "\u90b1\u90b5\u90b9\u90d1\u90dd\u90ed\u912d\u91d1\u937e\u949f\u94b1\u960e\u9646\u9648\u9673\u96f7\u97d3\u97e9"
    "\u987e\u99ac\u9a6c\u9ad8\u9b4f\u9ec3\u9ec4\u9ece\u9f99\u9f9a"
)
"""First characters of Chinese names: those of most people."""

HANGUL_FAMILY_NAMES: Final = frozenset(
    "\uac15\uace0\uad8c\uae40\ub0a8\ub178\ub958\ubb38\ubc15\ubc30\ubc31\uc11c\uc190\uc1a1\uc2e0\uc2ec\uc548\uc591"
    "\uc624\uc720\uc724\uc774\uc784\uc7a5\uc804\uc815\uc870\ucd5c\ud55c\ud5c8\ud64d\ud669"
)
"""First syllables of Korean names: those of most people."""


_WORDS, _LONG = 3, 40  # words and characters from which a value reads like a sentence
_SEVERAL, _SHARE = 3, 5  # at least 3 such values, and 1 in 5 of all
_MANY, _TWENTY = 50, 20  # values that are many in a list, and in a file where each is rare
_ROWS_EACH = 10  # rows for each value below which values are rare
_CATEGORIES = 30  # at most 30 values with `_ROWS_EACH` rows each on average are categories, not text
_RARE = 3  # people with a value, up to whom it may be a name; above, a place or a category
_QUARTER, _TWO, _THREE = 4, 2, 3  # a quarter of the values hold given names; two in three begin with a family name
_LOOKED_AT = 20_000  # values that are searched for names: of more, every n-th
_NEARLY = 0.9  # the share of the people from which nearly everybody has a value of their own
_TEN = 10  # words of few people that make a column one of names
_PARTICLES = {"van", "von", "der", "den", "de", "la", "le", "di", "da", "del", "zu", "zur", "ter", "el", "al", "bin"}
_TITLE = re.compile(  # before a name; with a full stop where it is a word or a code without one
    r"(?:frau|herr|mrs?|ms|mx|miss|madam|dr|prof|pastor|pfarrer|rev|madame|monsieur|mme|mlle|se\u00f1ora?|srta|sra|don|"
    r"do\u00f1a|signora?|sig\.?(?:ra|na)|dott|dott\.ssa|dra|drs|mevrouw|mevr|mw|mej|juf|juffrouw|meneer|dhr)\.?"
    r"|(?:frl|fr|hr|med|m|sr|sig|ir|ing|lic|mej)\.",
    re.IGNORECASE,
)
_NO_PERSON = {  # words of places, institutions and firms that are named after people
    *("san", "santa", "santo", "saint", "st", "sankt", "sainte", "sao", "fort", "port", "mount", "lake", "new", "cape"),
    *("school", "schule", "gymnasium", "grundschule", "ecole", "lycee", "college", "university", "universitaet"),
    *("hospital", "klinik", "klinikum", "krankenhaus", "clinic", "clinique", "praxis", "stift", "church", "kirche"),
    *("street", "strasse", "str", "road", "avenue", "ave", "rue", "platz", "allee", "weg", "via", "plaza", "square"),
    *("gmbh", "ag", "kg", "inc", "ltd", "llc", "plc", "co", "bv", "nv", "srl", "sarl", "sa", "group", "bank"),
    *("airport", "flughafen", "station", "park", "county", "city", "island", "river", "disease", "syndrome"),
}
_ANSWERS = {
    *("yes", "no", "true", "false", "other", "none", "unknown", "missing", "perhaps", "maybe", "never", "always")
}
_OF_SCHOOLS = ("schule", "school", "klinik", "kirche", "strasse", "platz", "krankheit", "syndrom")
_PART = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]*)*")  # Anna-Lena, O'Neill
_INITIAL = re.compile(r"(?:^|[\s,.])[^\W\d_]\.(?:\s|$)")  # A. Klein; Klein, A.
_APART = re.compile(r"[\s,._]+")  # de Vries, J.R.; anna.klein
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}")  # letters in a row, not those of a code
_HAN, _HANGUL = re.compile(r"[\u3400-\u9fff]{2,3}"), re.compile(r"[\uac00-\ud7af]{3}")
_ADDRESS = re.compile(  # an e-mail address; a telephone number with a sign: +31 6 1234 5678, tel. 123 45 67
    r"[\w.+-]+@[\w-]+\.[^\W\d_]{2,}|(?<![\w.])\+\d(?:[ ()/.-]{0,2}\d){7,13}(?!\d)"
    r"|\b(?:tel|phone|fon|mobile|mobil|handy|gsm|fax)\w*[ .:]{1,3}\+?\d(?:[ ()/.-]{0,2}\d){4,13}",
    re.IGNORECASE,
)
_MAY_ADDRESS = re.compile(r"@|\d\D*\d\D*\d\D*\d")  # what an address or a number of a person has at least
_NUMBERED = re.compile(  # what may be a telephone number or a code; the key of a person by its name: MRN00090
    r"(?<![\w.,-])(?!\d{1,2}[/-]\d{1,2}[/-])0(?!00)\d(?:[ /-]?\d){7,11}(?!\d)"
    r"|\b(?:mrn|ssn|bsn|nhs|pid|pat|patient|client|klient|kunde|customer|member|insurance|versicherung|passport)\w*"
    r"[ .:#-]{0,2}(?:no|nr|id|number|nummer)?[ .:#-]{0,3}\d{4,}",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"(?<![\d.,])\d{7,}(?![\d.,])")
_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_DIGITS = 8  # of a number that is no postcode
_FOUR = 4  # single words that are names, at least
# In the name of a column these are rather a month, a maximum or a place.
_AMBIGUOUS = {*("jan", "max", "garcia", "ann", "chen", "yang", "sem", "franco", "carol", "kelly", "leon")}
_MEASURED = {  # in the name of a column: a test or a scale that is named after somebody
    *("test", "tests", "score", "scores", "index", "scale", "value", "values", "status", "task", "technique", "level"),
    *("rate", "ratio", "type", "class", "grade", "stage", "group", "date", "day", "year", "time", "sales", "total"),
    *("blood", "law", "sign", "method", "inventory", "questionnaire", "skala", "wert", "stadium", "echelle"),
}
_GIVEN_BEFORE = re.compile(  # a word, and the next, with at most a few small ones or an initial between them
    r"(?<![\w'\u2019-])([^\W\d_]{3,})(?=\s+(?:(?:van|von|der|den|de|la|le|di|da|del|el|al|bin|[^\W\d_]\.)\s+){0,3}"
    r"([^\W\d_][\w'\u2019-]{2,}))"
)
_TITLED = re.compile(
    r"(?<!\w)(?:(?:Mrs?|Ms|Frau|Herrn?|Dr|Prof|Mevrouw|Mevr|Mw|Mej|Dhr|Drs|Dra|[Jj]uf(?:frouw)?|Mme|Mlle|Monsieur|Madame"
    r"|Sra|Sr|Signora|Sig\.?[rn]a)\.?|(?:mw|mevr|mej|dhr|hr|ms|sig\.?[rn]a)\."
    r"|(?:drs?|dra|prof|mrs?|frau|herrn?|mevrouw|meneer|madame|monsieur|signora?)\.?)\s+"
    r"(?:(?:van|von|der|den|de|la|le|di|da|del|med\.)\s+){0,3}([^\W\d_][\w'\u2019-]{2,})"
)
_CUT = re.compile(r"\S\s+\S|[,;:!?\"]\s|[.!?]$")


def looks_like_free_text(texts: Sequence[str], *, rows: int | None = None) -> bool:
    """Guess from the distinct values of a column, and where it is known from how many rows have one."""
    cut = [text for text in texts if _CUT.search(text)]
    wordy = sum(len(text) > _LONG or len(text.split()) >= _WORDS for text in cut)
    if wordy >= _SEVERAL and wordy * _SHARE >= len(texts):
        return True
    many = _TWENTY if rows is not None and rows < _ROWS_EACH * len(texts) else _MANY
    return len(texts) >= many and 2 * len(cut) >= len(texts)


def are_categories(values: int, rows: int) -> bool:
    """True if a few values stand again and again, as names of categories do and remarks about a person do not."""
    return values <= _CATEGORIES and rows >= _ROWS_EACH * values


@dataclass(frozen=True, slots=True)
class HeldValues:
    """How many rows and how many people have each value of a column; `known` if its name says that it is a category.

    `keys` are the values that identify somebody in another column, which is called `key_column`.
    """

    rows: Mapping[str, int]
    _: KW_ONLY
    people: Mapping[str, int]
    known: bool = False
    keys: frozenset[str] = frozenset()
    key_column: str = ""

    def names(self) -> set[str]:
        """Return the values that look like names of people."""
        return named_values(self.people, known=self.known)

    @property
    def rows_with_names(self) -> int:
        """In how many rows values look like names of people."""
        return sum(self.rows[text] for text in self.names())


def named_values(people: Mapping[str, int], *, known: bool = False) -> set[str]:
    """Return the values that look like names of people; `people` says how many have each.

    A place or a category of two words is that of many people, so that several rare values are needed; one that begins
    with a title (Frau Klein) is a name whoever has it. Where the name of the column says what it holds (`known`), words
    of few people may be rare places or illnesses; elsewhere they are names if half of the people have such.

    >>> sorted(named_values({"Anna Klein": 1, "Bert Jansen": 2, "Zoe O'Neill": 1, "New York": 40}))
    ['Anna Klein', 'Bert Jansen', "Zoe O'Neill"]
    """
    people = {text: people[text] for text in _some(people)}
    rare = {text for text, number in people.items() if number <= _RARE}
    found = titled_values(people)
    shaped = {text for text in rare if _is_name(text) or _has_given_name(text)} | found
    if len(shaped) >= _SEVERAL:
        found |= shaped
    found |= with_given_names(people, known=known)
    found |= {text for text in rare if mentions_a_person(text, known=known)}
    if not known:
        words = {text for text in rare if _WORD.search(text)}
        if len(words) >= _TEN and 2 * sum(people[text] for text in words) >= sum(people.values()):
            found |= words
    return found


def with_given_names(texts: Collection[str], *, known: bool = False) -> set[str]:
    """Return the values that hold a common given or family name, where they are a quarter of all; none otherwise.

    Also single words that are such names, if they are a third of all, or half under the name of a category (`known`).

    >>> sorted(with_given_names(["SCHMIDT, ANNA", "de vries, jan", "Peter Pan", "none"]))
    ['Peter Pan', 'SCHMIDT, ANNA', 'de vries, jan']
    >>> with_given_names(["San Jose", "Saint Paul", "Heart Failure", "New York"])
    set()
    """
    texts = _some(texts)
    listed = {text for text in texts if _has_given_name(text)}
    if len(listed) >= _SEVERAL and _QUARTER * len(listed) >= len(texts):
        return listed
    full = full_names(texts, known=known)
    if full:
        return full
    single = {text for text in texts if _is_single_name(text)}
    if len(single) >= _FOUR and (_TWO if known else _THREE) * len(single) >= len(texts):
        return single
    han = {text for text in texts if _is_east_asian(text)}
    return han if len(han) >= _TEN and _THREE * len(han) >= _TWO * len(texts) else set()


def full_names(texts: Collection[str], *, known: bool = False) -> set[str]:
    """Return the values that are full names of people, even one, where they are half of those in words; else none.

    A full name is a common given name before one or two other words, or after a comma; all values in words must be such
    under the name of a category (`known`). A quarter is enough where a common family name is beside the given name or
    an initial.

    >>> sorted(full_names(["Anna Klein", "Jan Bos", "locum", "other"])), full_names(["Alice Springs", "Ayr", "Hay"])
    (['Anna Klein', 'Jan Bos'], set())
    """
    words = {text for text in texts if _WORD.search(text) and _bare(text) not in _ANSWERS}
    full = {text for text in words if _is_full_name(text)}
    both = {text for text in words if _has_given_name(text) and family_names() & {*map(_bare, _name_words(text))}}
    if full and (1 if known else 2) * len(full) >= len(words):
        return full
    return both if _QUARTER * len(both) >= len(words) else set()


def _is_full_name(text: str) -> bool:
    """True for a common given name and one or two words after it, or before it and a comma."""
    words = _name_words(text)
    if len(words) not in (2, 3) or not _has_given_name(text):
        return False
    given = words[1 if "," in text else 0]
    return bool({_bare(given), *map(_bare, given.split("-"))} & given_names())


def _some(texts: Iterable[str]) -> list[str]:
    """Return all texts, or of very many every n-th, by which the rest is judged."""
    every = list(texts)
    return every[:: -(-len(every) // _LOOKED_AT) or 1]


def _has_given_name(text: str) -> bool:
    """True for two to four words in one style of letters, one a common given name or an initial, none a firm's."""
    words = _name_words(text)
    if len(words) not in (2, 3, 4) or not all(_PART.fullmatch(word) for word in words):
        return False
    long = [word for word in words if len(word) > 1]
    styles = (str.isupper, str.islower, lambda word: word[0].isupper())
    if not any(all(map(style, long)) for style in styles):
        return False
    parts = [_bare(part) for word in words for part in word.split("-")]
    initials = bool(_INITIAL.search(text)) and all(word[0].isupper() for word in words)
    return (initials or bool(given_names().intersection(parts))) and not _are_of_no_person(parts)


def _are_of_no_person(words: Sequence[str]) -> bool:
    """True if one of these bare words says that a place, a school or a firm is meant; a group is led by who follows."""
    after = words[1:] if words[:1] == ["group"] else words
    return any(word in _NO_PERSON or word.endswith(_OF_SCHOOLS) for word in after)


def _is_single_name(text: str) -> bool:
    """True for one word in one style of letters that is a common given or family name, a particle before it aside."""
    words = _name_words(text)
    if len(words) != 1 or len(words[0]) < _THREE or not _PART.fullmatch(words[0]):
        return False
    return bool({_bare(words[0]), *map(_bare, words[0].split("-"))} & (given_names() | family_names()))


def mentions_a_person(text: str, *, known: bool = False) -> bool:
    """True if a given name stands before a word with a capital letter or a family name, or a title before such.

    Under the name of a category (`known`) two words alone may be a place or a firm, unless the second is a family name.

    >>> mentions_a_person("asthma / Anna Zaphodix"), mentions_a_person("Mrs. Zaphodix"), mentions_a_person("flu")
    (True, True, False)
    >>> mentions_a_person("Anna Paulowna", known=True), mentions_a_person("Anna Seghers Schule")
    (False, False)
    """
    if _are_of_no_person([_bare(word) for word in _PART.findall(text)]):
        return False
    if any(_is_capital(match[1]) for match in _TITLED.finditer(text)):
        return True
    for match in _GIVEN_BEFORE.finditer(text):
        if not {_bare(match[1])} & given_names():
            continue
        if _bare(match[2]) in family_names():
            return True
        if (
            match[1][0].isupper()
            and _is_capital(match[2])
            and not (known and (match.start(), match.end(2)) == (0, len(text)))
        ):
            return True
    return False


def _is_east_asian(text: str) -> bool:
    """True for a Chinese or Korean family name and one or two signs more."""
    name = text.replace(" ", "").replace("\u00b7", "")
    if _HANGUL.fullmatch(name):
        return name[0] in HANGUL_FAMILY_NAMES
    return bool(_HAN.fullmatch(name)) and name[0] in HAN_FAMILY_NAMES


def _bare(word: str) -> str:
    """Return a word in small letters without accents; the same letter at the end of a Greek word as inside."""
    apart = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter) and letter not in "'\u2019")


def _is_titled(text: str) -> bool:
    """True for a title and one to three words with a capital letter, further titles and particles aside."""
    words = text.replace(",", " ").split()
    if len(words) < 2 or not _is_title(words[0]):
        return False
    rest = [word for word in words[1:] if not _is_title(word) and word.casefold() not in _PARTICLES]
    return 1 <= len(rest) <= _WORDS and all(len(word) > 1 and _is_capital(word) for word in rest)


def titled_values(texts: Iterable[str]) -> set[str]:
    """Return the values that are a title and a name.

    >>> sorted(titled_values(["mw. Meijer", "Sig.ra Rossi", "drs. Bakker", "MW Solar", "ms"]))
    ['Sig.ra Rossi', 'drs. Bakker', 'mw. Meijer']
    """
    return {text for text in texts if _is_titled(text)}


def single_names(texts: Collection[str]) -> set[str]:
    """Return the values that may be names of people by their form: one word with a capital letter.

    Nothing where fewer than three are, or others are more: under the name of a column that says whose these are.

    >>> sorted(single_names(["Bakker", "Meijer", "O'Neill", "none"])), single_names(["Yes", "No", "Perhaps"])
    (['Bakker', 'Meijer', "O'Neill"], set())
    """
    found = {text for text in texts if len(text) >= _THREE and _PART.fullmatch(text) and _is_capital(text)}
    found -= {text for text in found if _bare(text) in _ANSWERS}
    return found if len(found) >= _SEVERAL and 2 * len(found) >= len(texts) else set()


def _is_title(word: str) -> bool:
    return bool(_TITLE.fullmatch(word)) and (word.endswith(".") or not word.isupper())  # MS is an illness


def _is_name(text: str) -> bool:
    words = _name_words(text)
    return len(words) in (2, 3) and all(map(_is_capital, words))


def _name_words(text: str) -> list[str]:
    return [word for word in _APART.split(text) if word and word.casefold() not in _PARTICLES]


def _is_capital(word: str) -> bool:
    plain = word.replace("-", "").replace("'", "").replace("\u2019", "").rstrip(".")
    return plain.isalpha() and plain[0].isupper() and not plain[1:].isupper()


def refuse_free_text(published: Mapping[str, HeldValues]) -> None:
    """Raise if a column published in every row looks like free text or holds names of people."""
    names = [
        name
        for name, values in published.items()
        if looks_like_free_text(list(values.rows), rows=sum(values.rows.values()))
        and not are_categories(len(values.rows), sum(values.rows.values()))
    ]
    hint = "read the values and give the role other, or allow it with allow_text=True (--allow-text)"
    if names:
        looks = "looks like free text, which may contain names of people, and its values are published as they are"
        many = "look like free text, which may contain names of people, and their values are published as they are"
        raise ReleaseError(f"{', '.join(names)} {looks if len(names) == 1 else many}", hint=hint)
    for name, values in published.items():
        rule = names_rule(values) or address_rule(values)
        if rule:
            raise ReleaseError(f"{name} {rule}", hint=hint)


def addressed_values(people: Mapping[str, int]) -> set[str]:
    """Return the values that hold an e-mail address or a telephone number, or the number of a person.

    An e-mail address counts whoever has it, and a telephone number after + or tel. A number that begins with 0, one of
    seven digits beside a word and one after a word such as MRN count if three people or fewer have the value, and more
    than half of all values hold none: elsewhere it is a system of codes.

    >>> sorted(addressed_values({"flu": 90, "flu tel 0612345678": 1, "see a@b.org": 9, "gout 73211009": 1, "J45.0": 2}))
    ['flu tel 0612345678', 'gout 73211009', 'see a@b.org']
    """
    some = [text for text in people if _MAY_ADDRESS.search(text)]  # of all: one identifying cell is enough
    found = {text for text in some if _ADDRESS.search(text)}
    numbered = {text for text in some if _NUMBERED.search(text) or _is_long_number(text)}
    if 2 * len(numbered) < len(people):
        found |= {text for text in numbered if people[text] <= _RARE}
    return found


def _is_long_number(text: str) -> bool:
    """True for a number of seven digits or more beside a word; not for a day written in digits."""
    return bool(_WORD.search(text)) and any(not _DATE.fullmatch(one) for one in _LONG_NUMBER.findall(text))


def address_rule(values: HeldValues) -> str:
    """Say in how many rows values hold addresses or numbers of people; nothing if none does."""
    rows = sum(values.rows.get(text, 0) for text in addressed_values(values.people))
    has = count_of(rows, "row has a value that holds", "rows have values that hold")
    what = "an e-mail address, a telephone number or the number of a person"
    if values.keys:
        return f"is published as it is, and {_keys_words(values, values.keys)}"
    return f"is published as it is, and {has} {what}" if rows else ""


def _keys_words(values: HeldValues, keys: Collection[str]) -> str:
    are = count_of(len(keys), "of its values is a value", "of its values are values")
    return (
        f"{are} of {values.key_column}, which says who people are (`not_person` names the column if they are not keys)"
    )


def own_values(values: HeldValues) -> set[str]:
    """Return the values of three people or fewer where nearly everybody has such a one; none elsewhere."""
    rare = {text for text, people in values.people.items() if people <= _RARE}
    of_rare = sum(values.people[text] for text in rare)
    return rare if len(rare) >= _TWENTY and of_rare >= _NEARLY * sum(values.people.values()) else set()


def rare_texts(values: HeldValues) -> set[str]:
    """Return the values of hardly anybody that read like what somebody wrote; none where they are few."""
    rare = [text for text, people in values.people.items() if people <= _RARE]
    found = {text for text in rare if len(text.split()) >= _WORDS or len(text) > _LONG or _is_name(text)}
    return found if len(found) >= _SEVERAL else set()


def refuse_spelt_text(name: str, values: HeldValues, spelt: Collection[str], *, grouped: bool = False) -> None:
    """Raise if labels of a quasi-identifier spell out names or addresses of people, or several `rare_texts`.

    Also where they spell out values that nearly everybody has alone, unless these are `grouped` by a hierarchy.
    """
    rare = rare_texts(values).intersection(spelt)
    # A label of several values spells them out, whatever groups they are in; only `same` keeps a value out of labels.
    hint = (
        'read several as one value (values = ["area 1"], same = { "area 1" = ["...", "..."] }), give the role other, '
        "or allow it with allow_text=True (--allow-text)"
    )
    if len(rare) >= _SEVERAL:
        rows = "rows" if values.rows == values.people else "people"
        rule = f"{len(rare)} values that {_RARE} {rows} or fewer have are spelt out in labels, and look like names or "
        raise ReleaseError(f"{name}: {rule}free text", hint=hint)
    own = set() if grouped else own_values(values).intersection(spelt)
    if len(own) >= _TWENTY:
        rule = f"nearly everybody has a value of their own, and {len(own)} are spelt out in labels, as a key would be"
        raise ReleaseError(f"{name}: {rule}", hint=f"gather them in groups (groups, hierarchy), or {hint}")
    keys = values.keys.intersection(spelt)
    if keys:
        raise ReleaseError(f"{name}: labels spell its values out, and {_keys_words(values, keys)}", hint=hint)
    addressed = addressed_values(values.people).intersection(spelt)
    if addressed:
        rule = f"{count_of(len(addressed), 'value is', 'values are')} spelt out in labels, and "
        what = "an e-mail address, a telephone number or the number of a person"
        raise ReleaseError(f"{name}: {rule}{'holds' if len(addressed) == 1 else 'hold'} {what}", hint=hint)
    names = values.names().intersection(spelt)
    if names:
        rule = f"{count_of(len(names), 'value is', 'values are')} spelt out in labels, and look like names of people"
        raise ReleaseError(f"{name}: {rule.replace('and look', 'and looks') if len(names) == 1 else rule}", hint=hint)


def refuse_exact_keys(name: str, values: HeldValues) -> None:
    """Raise if nearly everybody has a number of their own and the numbers are published exactly."""
    own = own_values(values)
    if own:
        rule = f"nearly everybody has a number of their own, and {len(own):,} are published exactly, as a key would be"
        hint = "give it a wider step, the role other, or allow it with allow_text=True (--allow-text)"
        raise ReleaseError(f"{name}: {rule}", hint=hint)


def are_long_numbers(texts: Sequence[str]) -> bool:
    """True if values are digits that are too many for a postcode.

    >>> are_long_numbers(["123456782", "123456790"]), are_long_numbers(["53113", "10115"])
    (True, False)
    """
    return bool(texts) and all(len(text) >= _DIGITS and text.isdigit() for text in texts)


def refuse_listed_names(lists: Mapping[str, Iterable[str]]) -> None:
    """Raise if lists of values that are published whole hold names of people. Reads the schema alone."""
    for name, texts in lists.items():
        every = list(texts)
        found = with_given_names(every, known=names_a_category(name)) | titled_values(every)
        if found:
            rule = f"{name}: {len(found)} of its listed values look like names of people, and the list is published"
            hint = (
                'give the role other, source = "data" where it is read off the file, or allow_text=True (--allow-text)'
            )
            raise ReleaseError(rule, hint=hint)


def refuse_group_names(groups: Mapping[str, Iterable[str]]) -> None:
    """Raise if names of groups or levels tell who people are, whoever is in them. Reads the schema alone.

    A group of wards is called after the doctor, a class after its teacher: no value says it, and every label may.
    """
    for name, texts in groups.items():
        every = list(texts)
        found = with_given_names(every, known=True) | full_names(every)
        found |= titled_values(every) | {text for text in every if mentions_a_person(text, known=True)}
        found |= {text for text in every if _MAY_ADDRESS.search(text) and _ADDRESS.search(text)}
        if found:
            look = count_of(len(found), "group or level has a name that looks", "groups or levels have names that look")
            rule = f"{name}: {look} like the name or the address of a person, and may be published"
            hint = "give each a name that says nothing about anybody, or allow it with allow_text=True (--allow-text)"
            raise ReleaseError(rule, hint=hint)


def refuse_addressed_names(texts: Mapping[str, str]) -> None:
    """Raise if a name that a release states holds an e-mail address or a telephone number; the schema says it."""
    for where, text in texts.items():
        if _ADDRESS.search(text):
            rule = f"{where} holds an e-mail address or a telephone number, and is published with the release"
            raise ReleaseError(rule, hint="give it another name, or allow it with allow_text=True (--allow-text)")


def refuse_columns_of_people(names: Sequence[str]) -> None:
    """Raise if names of columns that are published are names of people: one of two words, or several of one."""
    found = columns_of_people(names)
    if found:
        has = count_of(found, "column has a name that looks", "columns have names that look")
        rule = f"{has} like the name of a person, and is published with the release"
        hint = "give each a name that says nothing about anybody, or allow it with allow_text=True (--allow-text)"
        raise ReleaseError(rule.replace("and is", "and they are") if found > 1 else rule, hint=hint)


def columns_of_people(names: Sequence[str]) -> int:
    """Return how many names of columns look like names of people.

    >>> columns_of_people(["age", "Anna_Klein"]), columns_of_people(["Jan_Sales", "Max Value", "paul_score", "age"])
    (1, 0)
    >>> columns_of_people(["Anna", "Bert", "Peter", "Susanne", "Ahmed"]), columns_of_people(["age", "Frank"])
    (4, 0)
    """
    two = [name for name in names if _is_column_of_a_person(name)]
    one = [name for name in names if _bare(name) in given_names() - _AMBIGUOUS]
    return len(two) + (len(one) if len(one) >= _SEVERAL and _THREE * len(one) >= len(names) else 0)


def _is_column_of_a_person(name: str) -> bool:
    words = _name_words(name)
    bare = [_bare(word) for word in words]
    if (
        len(words) not in (2, 3)
        or _MEASURED.intersection(bare)
        or not _has_given_name(name)
        or not set(bare) & (given_names() - _AMBIGUOUS)
    ):
        return False
    return all(map(_is_capital, words)) or bool(set(bare) & family_names())


def is_named_after_a_person(text: str) -> bool:
    """True for two to four words, one of them a common given name, as `Anna_Klein` is; `Santa Clara` is a place.

    >>> is_named_after_a_person("Anna_Klein"), is_named_after_a_person("Clinic Delft 2025")
    (True, False)
    """
    return _has_given_name(text)


def names_rule(values: HeldValues) -> str:
    """Say in how many rows values look like names; nothing if none does."""
    rows = values.rows_with_names
    has = count_of(rows, "row has a value that looks", "rows have values that look")
    least = "at least " if len(values.people) > _LOOKED_AT else ""
    return f"is published as it is, and {least}{has} like the name of a person" if rows else ""
