"""Columns that may say how many people a row stands for: `n`, `count`, `Anzahl`. Known by name and by whole numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["holds_counts", "named_like_counts"]

_COUNTS = {
    *("n", "count", "counts", "cnt", "freq", "frequency", "frequencies", "weight", "weights", "anzahl", "haufigkeit"),
    *("haeufigkeit", "fallzahl", "gewicht", "gewichtung", "effectif", "effectifs", "frequence", "frecuencia", "aantal"),
    *("frequenza", "frequentie", "conteo", "personenzahl", "headcount"),
}
_BESIDE = {  # words that may stand beside them: `n_people`, `number of persons`, `case count`
    *("of", "the", "der", "in", "no", "num", "number", "total", "people", "persons", "person", "patients", "personen"),
    *("row", "rows", "case", "cases", "record", "records", "falle", "faelle", "population", "cell", "survey"),
}
_NUMBERS = {"number", "no", "num", "total"}
_OF_PEOPLE = {"people", "persons", "patients", "personen", "cases", "records", "rows"}
_WEIGHTS, _LIGHT = {"weight", "weights", "gewicht"}, 20  # bodies that are weighed weigh more, but for small children
_WHOLE = re.compile(r"\+?\d+(?:\.0*)?", re.ASCII)


def named_like_counts(name: str) -> bool:
    """Whether a column's name suggests that it says how many people a row stands for."""
    plain = unicodedata.normalize("NFKD", re.sub(r"([a-z])([A-Z])", r"\1 \2", name)).casefold()
    words = set(re.findall(r"[a-z]+", "".join(sign for sign in plain if not unicodedata.combining(sign))))
    if not words <= _COUNTS | _BESIDE:
        return False
    return bool(words & _COUNTS or (words & _NUMBERS and words & _OF_PEOPLE) or words in ({"people"}, {"persons"}))


def holds_counts(name: str, texts: Iterable[str]) -> bool:
    """Whether the values of a column so named may be numbers of people: whole, and not all of them 1."""
    known = {text.strip() for text in texts} - {""}
    if not known or not all(map(_WHOLE.fullmatch, known)):
        return False
    numbers = {int(text.partition(".")[0]) for text in known if len(text) < _LIGHT}
    weighed = any(word in name.casefold() for word in _WEIGHTS) and min(numbers, default=0) >= _LIGHT
    return numbers != {1} and not weighed
