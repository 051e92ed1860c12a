"""Codes of a frame in memory: what a worker does with its batch of rows, by the same rules as for a file.

Source    Ours.
Claim     Every cell gets the code that `code_of` gives it, in every batch and on every worker.
Because   the expressions of `io.encode` settle what they are sure of and ask `code_of` about the rest; neither reads
          another row.
Checked   tests/unit/engines/test_coding.py::test_a_batch_is_coded_like_the_whole_file
Silent on rows that repeat the header, which are looked for in files only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.errors import Problem, ReadError
from sfumato.io.decode_cell import ASK
from sfumato.io.encode import Encoded, first_look, settle, supported
from sfumato.schema import Attribute

__all__ = ["code_frame", "plain_texts", "refuse_types"]


def plain_texts(values: pl.Series) -> pl.Series:
    """Return categories as texts, and any other column as it is."""
    return values.cast(pl.String) if isinstance(values.dtype, pl.Categorical | pl.Enum) else values


def refuse_types(attributes: Sequence[Attribute], types: dict[str, pl.DataType]) -> None:
    """Raise for columns whose cells are not single values."""
    odd = [attribute for attribute in attributes if not supported(types[attribute.column_name])]
    if odd:
        raise ReadError(
            Problem(
                attribute.where,
                f"the column {attribute.column_name} holds {types[attribute.column_name].base_type()} cells",
                "give a column with one number, text, date or truth value a cell",
            )
            for attribute in odd
        )


def code_frame(attributes: Sequence[Attribute], frame: pl.DataFrame, *, padded: bool = False) -> list[Encoded]:
    """Return the codes of the attributes' columns (negative where a cell has none), with the texts behind those."""
    types = dict(frame.schema)
    refuse_types(attributes, types)
    looks = [first_look(attribute, types[attribute.column_name], padded=padded) for attribute in attributes]
    found = frame.select(looks)
    return [
        settled_column(attribute, found[attribute.name].to_numpy(), frame[attribute.column_name])
        for attribute in attributes
    ]


def settled_column(attribute: Attribute, codes: np.ndarray, raw: pl.Series) -> Encoded:
    """Return one column's codes, what the expressions could not decide settled one distinct value at a time."""
    asked = codes == ASK
    if not asked.any():
        return Encoded(codes, offending={})
    return settle(attribute, codes, plain_texts(raw.filter(pl.Series(asked))))
