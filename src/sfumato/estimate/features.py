"""A label as numbers, so that a learner can be trained on boxes and asked about single rows.

Source    DiffGen paper (Mohammed, Chen, Fung & Yu, KDD 2011), section 5: the classifier learns from the generalized
          training rows and is tested on test rows generalized by the same cuts. The numbers are ours.
Claim     An ordered attribute is the middle of the label's codes; a nominal one is the share of each leaf in the label.
          A missing value of an ordered attribute has a column of its own (its share). Equal labels have equal numbers,
          whichever table lists them.
Because   every value of a label is taken as equally likely, as everywhere in `reading`.
Checked   tests/unit/estimate/test_features.py::test_the_numbers_of_a_label
          tests/unit/estimate/test_features.py::test_unseen_rows_get_the_numbers_of_their_label
Silent on how well a learner does with them. A nominal attribute of more than 512 leaves has the shares of the finest
          level of its tree with at most 512 nodes; without such a level nothing is left of it.
Cost      rows x columns numbers of four bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.estimate.generalize import label_ids
from sfumato.release import Release
from sfumato.schema import Attribute, Labels, Schema

_WIDE = 512  # columns of one nominal attribute


@dataclass(frozen=True, slots=True)
class Columns:
    """For each column the number of its attribute, and whether it is a place on a line (else a share)."""

    attribute: np.ndarray
    place: np.ndarray


def feature_columns(attributes: Sequence[Attribute]) -> Columns:
    """Return what the columns of `features` are."""
    owner, place = [], []
    for at, attribute in enumerate(attributes):
        width = 1 + (attribute.missing_code is not None) if attribute.ordered else len(_parts(attribute)[0])
        owner += [at] * width
        place += [attribute.ordered and column == 0 for column in range(width)]
    return Columns(np.array(owner, np.int64), np.array(place, bool))


def features(tables: Sequence[Labels], ids: np.ndarray) -> np.ndarray:
    """Return one line of numbers for each row of label ids."""
    blocks = [label_features(table)[ids[:, at]] for at, table in enumerate(tables)]
    return np.hstack(blocks) if blocks else np.zeros((len(ids), 0), np.float32)


def row_features(release: Release, schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Return the numbers of rows of codes (the schema's quasi-identifiers), recoded as the release was.

    Buckets keep exact values and a release that was loaded may have no recoding: then the rows stay exact.
    """
    if not recodes(release, schema):
        return exact_features(schema, codes)
    tables, columns = [], []
    own = [attribute.name for attribute in release.quasi]
    names = [attribute.name for attribute in schema.quasi]
    ids = label_ids(release, codes[:, [names.index(name) for name in own]])
    for at, attribute in enumerate(schema.quasi):
        if attribute.name in own:
            place = own.index(attribute.name)
            tables.append(release.boxes.tables[place])
            columns.append(ids[:, place])
        else:
            table, column = Labels.from_hulls(attribute, codes[:, at], codes[:, at] + 1)
            tables.append(table)
            columns.append(column.reshape(-1))
    return features(tables, _stacked(columns, len(codes)))


def exact_features(schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Return the numbers of rows of codes as they are."""
    return features(*Labels.exact(schema.quasi, codes))


def recodes(release: Release, schema: Schema) -> bool:
    """True when the release can recode rows of this schema."""
    known = {attribute.name: attribute for attribute in schema.quasi}
    return (
        release.recoding is not None
        and release.form != "buckets"
        and all(a.name in known and a.same_codes(known[a.name]) for a in release.quasi)
    )


def label_features(table: Labels) -> np.ndarray:
    """Return one line of numbers for each label of an attribute."""
    attribute = table.attribute
    if not attribute.ordered:
        low, high = _parts(attribute)
        return table.coverage(low, high).astype(np.float32) if len(table) else np.zeros((0, len(low)), np.float32)
    missing = attribute.missing_code
    top = attribute.size if missing is None else missing
    ends = np.minimum(table.ends, top)
    starts = np.minimum(table.starts, ends)
    # Of each interval the sum of its codes; in floats, since sums over wide domains pass 2^63.
    sums = (starts + ends - 1) * (ends - starts).astype(np.float64) / 2
    if not len(table):
        return np.zeros((0, 1 + (missing is not None)), np.float32)
    held = np.add.reduceat((ends - starts).astype(np.float64), table.offsets[:-1])
    total = np.add.reduceat(sums, table.offsets[:-1])
    middle = np.divide(total, held, where=held > 0, out=np.full(len(table), (top - 1) / 2))
    if missing is None:
        return np.asarray(middle[:, None], np.float32)
    return np.asarray(np.column_stack([middle, 1 - held / table.size]), np.float32)


def _parts(attribute: Attribute) -> tuple[np.ndarray, np.ndarray]:
    """The intervals whose shares describe a nominal label: its leaves, or the finest level that is narrow enough."""
    if attribute.size <= _WIDE:
        codes = np.arange(attribute.size)
        return codes, codes + 1
    tree = attribute.nodes
    level = [0]
    while True:
        finer = [child for node in level for child in (tree.children[node] or (node,))]
        if len(finer) > _WIDE or finer == level:
            return np.asarray(tree.low)[level], np.asarray(tree.high)[level]
        level = finer


def _stacked(columns: list[np.ndarray], rows: int) -> np.ndarray:
    return np.column_stack(columns) if columns else np.zeros((rows, 0), np.int32)
