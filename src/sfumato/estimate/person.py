"""What a release says about one person: the groups they may be in, and the distribution a reader infers.

Two ways to find a person. By residence: the group in which the person's row truly landed (kept in memory after
`publish`, confidential). By labels: every group with a box whose labels hold the person's values, as an outsider
would look; of several, each counts with its density there (the estimator at a point). A person whom no box holds is
read off the boxes that lie nearest to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts.recoding import row_ids
from sfumato.errors import NotComparable
from sfumato.estimate.alignment import View
from sfumato.estimate.regions import normalised, ratio
from sfumato.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_BYTES = 1 << 25  # of the bit sets held at a time


def holding_boxes(view: View, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (person, box) for every box whose labels hold all of a person's codes (n x quasi-identifiers).

    Boxes of single values are joined. Else one bit for each box and value, and one AND for each attribute: n x boxes x
    attributes / 8 bytes in all.
    """
    exact = [at for at, table in enumerate(view.tables) if (table.size == 1).all()]
    whole = [at for at, table in enumerate(view.tables) if (table.size == table.attribute.size).all()]
    if exact and {*exact, *whole} == set(range(len(view.tables))):
        return _joined(view, codes, exact)
    return _by_bits(view, codes)


def _joined(view: View, codes: np.ndarray, exact: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Match people and boxes by their single values."""
    boxes = np.column_stack([view.tables[at].low[view.labels[:, at]] for at in exact])
    keys = row_ids(np.concatenate([codes[:, exact].astype(np.int64), boxes]))
    mine, theirs = keys[: len(codes)], keys[len(codes) :]
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], mine, side="left")
    lengths = np.searchsorted(theirs[order], mine, side="right") - first
    ends = np.cumsum(lengths)
    entry = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - lengths), lengths)
    return np.repeat(np.arange(len(mine)), lengths), order[entry]


def _by_bits(view: View, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    boxes, people = len(view.weight), len(codes)
    width = -(-boxes // 8)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    held = [_bits(view, at, codes[:, at]) for at in range(len(view.tables))]
    step = max(1, _BYTES // max(width, 1))
    for start in range(0, people, step):
        stop = min(start + step, people)
        rows = np.full((stop - start, width), 255, np.uint8)
        for bits, places in held:
            rows &= bits[places[start:stop]]
        person, byte = np.nonzero(rows)
        single, bit = np.nonzero(np.unpackbits(rows[person, byte][:, None], axis=1))
        box = byte[single] * 8 + bit
        real = box < boxes  # the last byte may reach past the boxes
        found.append((person[single][real] + start, box[real]))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _bits(view: View, at: int, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One bit set of boxes for each distinct code, and the place of each person's code."""
    distinct, places = np.unique(codes, return_inverse=True)
    holds = view.tables[at].holds(distinct)
    rows = [np.packbits(column[view.labels[:, at]]) for column in holds.T]
    return np.array(rows, np.uint8).reshape(len(distinct), -(-len(view.weight) // 8)), places.reshape(-1)


def by_labels(view: View, codes: np.ndarray) -> csr_matrix:
    """Return people x groups: the share of a group's rows a reader expects at the person's point (0: not held)."""
    from scipy.sparse import csr_matrix

    person, box = holding_boxes(view, codes)
    rows = view.weight.astype(np.float64)
    for at, table in enumerate(view.tables):
        rows /= table.size[view.labels[:, at]]
    share = ratio(rows, view.group_weight[view.group])
    shape = (len(codes), len(view.group_weight))
    return csr_matrix((share[box], (person, view.group[box])), shape=shape)


def nearest_boxes(
    view: View, codes: np.ndarray, columns: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (person, box) for all boxes with rows that lie nearest to a person, and how far those are, in attributes.

    `columns` are the quasi-identifiers that count, all unless named.
    """
    from sfumato.kernels.nearest import UNIT, nearest

    used = list(range(len(view.tables)) if columns is None else columns)
    tables = [view.tables[at] for at in used]
    some = np.flatnonzero(view.weight > 0)
    kinds, which = np.unique(view.labels[some][:, used], axis=0, return_inverse=True)  # equal boxes are looked at once
    steps = [UNIT // max(1, t.attribute.values.size - 1) if t.attribute.ordered else 0 for t in tables]
    pieces = np.cumsum([0, *(len(table.starts) for table in tables)])
    person, kind, away = nearest(
        np.ascontiguousarray(codes[:, used], np.int64),
        np.ascontiguousarray(kinds, np.int64),
        np.array(steps, np.int64),
        np.array([table.attribute.values.size for table in tables], np.int64),
        np.cumsum([0, *(len(table) + 1 for table in tables)])[:-1].astype(np.int64),
        np.concatenate([table.offsets + pieces[at] for at, table in enumerate(tables)]).astype(np.int64),
        np.concatenate([table.starts for table in tables]).astype(np.int64),
        np.concatenate([table.ends for table in tables]).astype(np.int64),
    )
    order = np.argsort(which.reshape(-1), kind="stable")
    many = np.bincount(which.reshape(-1), minlength=len(kinds))
    first = np.cumsum(many) - many
    lengths = many[kind]
    ends = np.cumsum(lengths)
    entry = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first[kind] - (ends - lengths), lengths)
    return np.repeat(person, lengths), some[order[entry]], away / UNIT


def by_nearest(view: View, codes: np.ndarray) -> csr_matrix:
    """Return people x groups as `by_labels` does, for the boxes that lie nearest to a person none of them holds."""
    from scipy.sparse import csr_matrix

    person, box, _ = nearest_boxes(view, codes)
    share = ratio(view.weight.astype(np.float64), view.group_weight[view.group])
    shape = (len(codes), len(view.group_weight))
    return csr_matrix((share[box], (person, view.group[box])), shape=shape)


def inferred(view: View, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return people x values, what a reader infers of each person, and whether a box holds them.

    Of people whom no box holds it is what the nearest boxes say: they are like them.
    """
    places = by_labels(view, codes)
    held = np.diff(places.indptr) > 0
    found = person_distribution(view, places)
    if not held.all() and view.tables and (view.weight > 0).any():
        found[~held] = person_distribution(view, by_nearest(view, codes[~held]))
    return found, held


def by_residence(release: Release, names: Sequence[str], codes: np.ndarray) -> csr_matrix:
    """Return people x groups: the share of a group's rows that have the person's codes (of `names`)."""
    from scipy.sparse import csr_matrix

    residence = release.residence
    if residence is None:
        raise NotComparable("the release does not know where rows landed. Hint: it is kept only right after publish.")
    missing = [name for name in names if name not in residence.names]
    if missing:
        raise NotComparable(f"the release does not say where rows landed by {', '.join(missing)}.")
    columns = [residence.names.index(name) for name in names]
    stays = residence.group >= 0  # rows that were left out landed nowhere
    home, weight = residence.group[stays], residence.weight[stays]
    key, theirs = _keys(np.asarray(codes), residence.codes[stays][:, columns])
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], key, side="left")
    last = np.searchsorted(theirs[order], key, side="right")
    lengths = last - first
    person = np.repeat(np.arange(len(key)), lengths)
    ends = np.cumsum(lengths)
    entry = order[np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - lengths), lengths)]
    share = ratio(weight, release.groups.weight[home])
    shape = (len(key), len(release.groups))
    return csr_matrix((share[entry], (person, home[entry])), shape=shape)


def _keys(codes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of two arrays together."""
    together = np.concatenate([codes, others]).astype(np.int64)
    key = np.zeros(len(together), np.int64)
    for column in together.T:
        _, key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
        key = key.reshape(-1)
    return key[: len(codes)], key[len(codes) :]


def person_distribution(view: View, places: csr_matrix) -> np.ndarray:
    """Return people x values: the distribution inferred from the groups of each; nothing known gives the overall."""
    return normalised(_expected(view, places), view.overall)


def expected_at(view: View, codes: np.ndarray) -> np.ndarray:
    """Return est(s | y) where y is one value for each quasi-identifier: points x values."""
    return _expected(view, by_labels(view, codes))


def _expected(view: View, places: csr_matrix) -> np.ndarray:
    return np.asarray((places @ view.histogram).toarray(), np.float64)
