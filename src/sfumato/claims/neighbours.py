"""Which two tables a differential privacy guarantee can not tell apart. The only spelling of it."""

from __future__ import annotations

from enum import Enum

from sfumato.claims.requirement import Unit

__all__ = ["Neighbours"]


class Neighbours(Enum):
    """Neighbour relations; the value is what JSON holds and never changes its meaning."""

    ADD_OR_REMOVE_ONE = "add-or-remove-one"
    REPLACE_ONE = "replace-one"
    ONE_ORIGIN = "one-origin"

    def describe(self, unit: Unit = "row") -> str:
        """Say in one plain sentence what the two tables differ in; `unit` is what the claim protects."""
        return _ROWS.get(self, _SENTENCES[self]) if unit == "row" else _SENTENCES[self]

    def __str__(self) -> str:
        return self.value


_SENTENCES = {
    Neighbours.ADD_OR_REMOVE_ONE: (
        "The tables differ in the presence of one person: all rows of that person are there or are not. "
        "The number of rows is protected too; changing a person's rows counts twice."
    ),
    Neighbours.REPLACE_ONE: (
        "The tables differ in what one person's rows say. The number of rows is public: "
        "whether somebody took part is not protected."
    ),
    Neighbours.ONE_ORIGIN: (
        "The tables differ in the origin of one unit (where one worker lives). Destinations, and how many "
        "go to each, are public: who took part, and where they go, is not protected."
    ),
}
_ROWS = {
    Neighbours.ADD_OR_REMOVE_ONE: (
        "The tables differ in the presence of one row: it is there or it is not. "
        "The number of rows is protected too; changing a row counts twice."
    ),
    Neighbours.REPLACE_ONE: (
        "The tables differ in what one row says. The number of rows is public: whether a row is there is not protected."
    ),
}
