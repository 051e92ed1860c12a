"""What the library says, in the words of a page: plain ones for its terms, those of the form for names of flags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from sfumato.declare import plain_name
from sfumato.errors import ParameterError
from sfumato.frontiers.axes import RISKS, axis_words
from sfumato.mechanisms import REGISTRY
from sfumato.web.methods import method_form, methods
from sfumato.web.questions import ROLES

_PLAIN = {  # as the page Policy asks for them
    "inference": "gain in guessing a private value",
    "membership": "gain in telling who is in the table",
    "identity": "chance of finding a person's record",
    "proved": "proved limit of the gain in telling who is in the table (1 is no limit)",
}
_TRIES = {
    "inference": "Guessing a private value",
    "membership": "Telling who is in the table",
    "identity": "Finding a person's record",
}
_SIZES = {
    "suppressed": "rows suppressed",
    "smallest": "rows in the smallest class",
    "median": "rows in the median class",
    "largest": "rows in the largest class",
}
_TERMS = {RISKS[name].words: plain for name, plain in _PLAIN.items()}
_TERM = re.compile("|".join(map(re.escape, _TERMS)))
_PHRASES = (
    ("a quasi-identifier and another column", "a column that others may know and another one"),
    ("sweep other methods", "compare other methods"),
    ("everybody's exact quasi-identifiers", "the exact values of everybody that others may know"),
    ("removing all quasi-identifiers", "removing every column that others may know"),
)
_UNIT = re.compile(r"(?<=\d) nats\b")
_SAY_YES = re.compile(r"(?:[,;]? or )?(?:allow it with )?allow_\w+=True \(--[\w-]+\)( publishes it anyway)?")
_CLICKS = (  # what the schema file or the command line would be given, as what is clicked
    (re.compile(r"or, if nobody is in both,\s*$"), "if nobody is in both, a tick on Publish publishes it anyway"),
    (re.compile(r" \(in Python: \w+\([^()]*\)\)"), ""),
    (re.compile(r" \(tight=False\)| \(--against [\w.]+, or sf\.attacks\.against\)"), ""),
    (re.compile(r'write source = "public"(, once for all columns or for each)?'), "tick that it is, at the column"),
    (re.compile(r"groups = \{ group = \[values that are alike\] \}, or a hierarchy"), "group those that are alike"),
    (
        re.compile(r'add a line for each, or other = "Other" to collect them'),
        "add a line for each, and use the file again",
    ),
    (re.compile(r"`rows`(?: in the schema)?"), "number of rows, on Who is a row,"),
    (re.compile(r"such as rows = (\d+)"), r"such as \1, on Who is a row"),
    (re.compile(r"rows_per_person is \d+, which nobody has decided"), "no column is chosen by which a person is known"),
    (re.compile(r"rows_per_person is (\d+)"), r"the most rows kept of one person are \1"),
    (re.compile(r"\bquasi-identifier(s?)\b"), r"column\1 that others may know"),
    (
        re.compile(r"(?:role = \"identifier\" and )?person = .+? counts people by it"),
        "on Who is a row, choose it to count people by it",
    ),
    (
        re.compile(r"rows_per_person = m takes m rows for one person"),
        "say there how many rows one person has at most",
    ),
    (re.compile(r"rows_per_person = 1 keeps"), "“keep at most 1”, on Who is a row, keeps"),
    (
        re.compile(r"give these columns coarser values or the role quasi, drop one of them"),
        "on Describe, give these columns wider steps or groups, or leave one of them out",
    ),
    (re.compile(r"name (it|them) in `person`"), r"choose \1 on Who is a row"),
    (
        re.compile(r"name the `person` in a column of its own"),
        "add a column that says who a row is about, and choose it on Who is a row",
    ),
    (
        re.compile(r"name the `person`|`person` names who a row is about"),
        "choose on Who is a row what a person is known by",
    ),
    (re.compile(r"which `person` names"), "by which a person is known"),
    (re.compile(r"delete rows_per_person"), "choose there that rows are not people"),
    (re.compile(r"copies_are_people = true"), "“are different people”, on Who is a row,"),
    (
        re.compile(r"name the one to read: sheet=.* \(--sheet\)"),
        "choose the one to read under Sheet, on the page File",
    ),
    (
        re.compile(r"name it if it is the one to read: sheet=.* \(--sheet\)"),
        "choose it under Sheet, on the page File, if it is the one to read",
    ),
    (re.compile(r"not_person = \[.*?\]"), "“a household or another group, not a person”, on Who is a row,"),
    (re.compile(r"not_count = \[.*?\]"), "“counts something else”, on Who is a row,"),
    (re.compile(r'write decimal = "(.)" instead'), r"choose “\1” as the decimal mark of the column instead"),
    (re.compile(r'write thousands = "(.)" instead'), r"choose “\1” as the mark of thousands of the column instead"),
    (re.compile(r'add thousands = "(.)"'), r"choose “\1” as the mark of thousands of the column"),
    (
        re.compile(r"say how the file writes them \((?:format|decimal) = .*?\), or name them in `missing`"),
        "say how the file writes them, at the column, or that these texts mean no value",
    ),
    (
        re.compile(r"change (?:`format`|`decimal`, `thousands` or `units`), or name them in `missing`"),
        "change how the file writes them, at the column, or say that these texts mean no value",
    ),
    (re.compile(r'role = "(\w+)"'), lambda found: f"“{ROLES[found[1]][0]}”" if found[1] in ROLES else found[0]),
)
_FLAG = re.compile(r"--([a-z][a-z-]*)(?: ([\w.]+))?")


def axis_plainly(name: str) -> str:
    """Return the name of an axis, or of a figure of a release, in plain words.

    >>> axis_plainly("inference"), axis_plainly("utility_loss"), axis_plainly("smallest")
    ('gain in guessing a private value', 'utility loss', 'rows in the smallest class')
    """
    return _PLAIN.get(name) or _SIZES.get(name) or axis_words(name)


def attack_plainly(attack: Mapping[str, Any]) -> str:
    """Return what an attack tries, in plain words; its name in the literature stands beside it on the page.

    >>> attack_plainly({"axis": "inference", "attribute": "income"}), attack_plainly({"axis": "identity"})
    ('Guessing income', "Finding a person's record")
    """
    axis, attribute = attack.get("axis"), attack.get("attribute")
    if attribute:
        return f"Guessing {attribute}"
    return _TRIES.get(str(axis), "") or str(attack.get("attack", ""))


def attack_tried(attack: Mapping[str, Any]) -> bool:
    """Return whether an attack made any attempt; without one, its result carries no information.

    >>> attack_tried({"targets": {"trials": 0}}), attack_tried({"targets": {"trials": 40}}), attack_tried({})
    (False, True, True)
    """
    targets = attack.get("targets")
    return not (isinstance(targets, Mapping) and targets.get("trials") == 0)


def plainly(text: str) -> str:
    """Return a text with plain words for terms, each followed by the term where it is first named.

    >>> plainly("Mind the inference gain of 0.1. The utility loss is 0.2 nats.")
    'Mind the gain in guessing a private value (inference gain) of 0.1. The utility loss is 0.2.'
    """
    named: set[str] = set()

    def plain(found: re.Match[str]) -> str:
        term = found[0]
        first = term not in named
        named.add(term)
        return f"{_TERMS[term]} ({term})" if first else _TERMS[term]

    said = _TERM.sub(plain, _UNIT.sub("", text))
    for term, words in _PHRASES:
        said = said.replace(term, words)
    return said


def method_plainly(mechanism: Mapping[str, Any] | str) -> str:
    """Return what a method does in plain words, by its name or as JSON holds it; nothing if its author gave none.

    >>> method_plainly("noisy-table"), method_plainly({"name": "unheard-of"})
    ('Noisy counts of all combinations of values', '')
    """
    name = mechanism if isinstance(mechanism, str) else str(mechanism.get("name", ""))
    try:
        return plain_name(REGISTRY[name]) if name in REGISTRY else ""
    except ParameterError:  # of an installed package that cannot be imported
        return ""


@cache
def _fields() -> dict[str, dict[str, Any]]:
    """Return the fields of all methods' forms, by the flag that does the same."""
    return {field["flag"].removeprefix("--"): field for one in methods() for field in method_form(one["name"])}


def form_words(text: str) -> str:
    """Return a text that names fields of the form where it named their flags; other flags stay, and so do commands.

    >>> form_words("hide values with --nominal nodes, or set a limit with --set-limit")
    'hide values with “nominal: nodes”, or set a limit with --set-limit'
    >>> form_words("try --nominal nodes: sfumato publish mondrian --nominal nodes")
    'try “nominal: nodes”: sfumato publish mondrian --nominal nodes'
    """

    def field(found: re.Match[str]) -> str:
        known = _fields().get(found[1])
        if known is None:
            return found[0]
        if found[2] in known["choices"]:
            return f"“{known['label']}: {found[2]}”"
        return f"“{known['label']}”" + (f" {found[2]}" if found[2] else "")

    said, command, words = text.partition("sfumato ")
    return f"{_FLAG.sub(field, said)}{command}{words}"


def said_on_page(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer that says why nothing was done, as a page says it; what a command prints names its flags.

    >>> said_on_page({"ok": False, "message": "no. Hint: a yes, or allow_noise=True (--allow-noise)."})["message"]
    'no. Hint: a yes.'
    """
    return {**answer, **{name: page_words(str(answer[name])) for name in ("message", "hint") if answer.get(name)}}


def page_words(text: str) -> str:
    """Return a text that says what to click where it named flags, parameters of Python or keys of the schema file.

    >>> page_words('a larger epsilon; allow_noise=True (--allow-noise) publishes it anyway')
    'a larger epsilon; a tick on Publish publishes it anyway'
    >>> page_words("ask for a larger k; or, if nobody is in both, allow it with allow_repeated=True (--allow-repeated)")
    'ask for a larger k; if nobody is in both, a tick on Publish publishes it anyway'
    >>> page_words('put in what is publicly known and write source = "public"')
    'put in what is publicly known and tick that it is, at the column'
    >>> page_words('no column is private; role = "sensitive" for what must stay unlinked')
    'no column is private; “Private” for what must stay unlinked'
    """
    said = _SAY_YES.sub(lambda found: "a tick on Publish publishes it anyway" if found[1] else "", text)
    for pattern, click in _CLICKS:
        said = pattern.sub(click, said)
    return form_words(said)


def page_sentence(text: str) -> str:
    """Return a text of the library as a sentence of a page, which begins with a capital and ends with a full stop.

    >>> page_sentence('person = "nr" counts people by it')
    'On Who is a row, choose it to count people by it.'
    """
    said = page_words(text)
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "?")) else ".")
