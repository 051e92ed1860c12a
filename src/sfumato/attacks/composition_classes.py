"""The classes in which one release may hold each victim, under one of two readings.

Source    Sattar et al., the dLink paper, definition 2 (the class where the record resides); by labels an outsider may
          find several classes, as for Emu in table 2(b).
Claim     `by_label`: every group that has a box of at least one row whose labels hold all the values known of the
          victim. `by_home`: every group in which a row with the victim's values landed.
Because   labels are looked up attribute by attribute, and boxes of single values are joined; both equal the definition.
Checked   tests/claims/test_composition_attack.py::test_equals_the_slow_attack
          tests/claims/test_composition_attack.py::test_joined_boxes_are_the_boxes_that_hold
          tests/claims/test_composition_attack.py::test_emu_matches_two_classes
Silent on rows that were left out of a release: no class holds them. Where equal rows landed in several groups (Anatomy
          may do so), `by_home` returns all of them.
Cost      victims x boxes x attributes / 8 bytes of bit sets; a join where all boxes are single values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.counts.walking import row_ids
from sfumato.errors import NotComparable
from sfumato.reading import View, by_residence, holding_boxes
from sfumato.release import Release
from sfumato.schema import Schema

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Classes", "by_home", "by_label"]


@dataclass(frozen=True, slots=True)
class Classes:
    """Victims x groups: `holds` says which groups may hold the victim, `share` with which weight."""

    holds: csr_matrix
    share: csr_matrix


def by_label(view: View, codes: np.ndarray) -> Classes:
    """Return the groups whose labels hold each victim, weighted by how many rows are expected at the victim's point."""
    person, box = _matches(view, codes)
    real = view.weight[box] > 0
    person, box = person[real], box[real]
    # The density of a box spread over many attributes is tiny, so it is compared in logarithms.
    density = np.log(np.maximum(view.weight, 1)) - np.log(np.maximum(view.group_weight[view.group], 1))
    for at, table in enumerate(view.tables):
        density = density - np.log(table.size[view.labels[:, at]])
    top = np.full(len(codes), -np.inf)
    np.maximum.at(top, person, density[box])
    share = np.exp(density[box] - top[person])
    return _classes(person, view.group[box], share, (len(codes), len(view.group_weight)))


def by_home(release: Release, schema: Schema, names: tuple[str, ...], codes: np.ndarray) -> Classes:
    """Return the groups in which rows with the victims' codes (of `names`) truly landed."""
    residence = release.residence
    if residence is None:
        raise NotComparable(
            "the release does not know where rows landed; that is kept in memory right after publish only. "
            'Hint: reading="label".'
        )
    known = [at for at, name in enumerate(names) if name in residence.names]
    for at in known:
        own, other = release.schema[names[at]], schema[names[at]]
        if own.domain != other.domain or own.missing_code != other.missing_code:
            raise NotComparable(f"the victims write {names[at]} in other codes than the release. Hint: one schema.")
    stays = residence.group >= 0  # rows left out landed nowhere
    landed = replace(
        residence, codes=residence.codes[stays], group=residence.group[stays], weight=residence.weight[stays]
    )
    share = by_residence(replace(release, residence=landed), [names[at] for at in known], codes[:, known]).tocoo()
    return _classes(share.row, share.col, share.data, share.shape)


def _classes(person: np.ndarray, group: np.ndarray, share: np.ndarray, shape: tuple[int, int]) -> Classes:
    from scipy.sparse import csr_matrix

    holds = csr_matrix((np.ones(len(person), np.int32), (person, group)), shape=shape)
    return Classes(holds, csr_matrix((share, (person, group)), shape=shape))


def _matches(view: View, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(victim, box) for every box that holds the victim."""
    exact = [at for at, table in enumerate(view.tables) if (table.size == 1).all()]
    whole = [at for at, table in enumerate(view.tables) if (table.size == table.attribute.size).all()]
    if not exact or {*exact, *whole} != set(range(len(view.tables))):
        return holding_boxes(view, codes)
    boxes = np.column_stack([view.tables[at].low[view.labels[:, at]] for at in exact])
    keys = row_ids(np.concatenate([codes[:, exact].astype(np.int64), boxes]))
    mine, theirs = keys[: len(codes)], keys[len(codes) :]
    order = np.argsort(theirs, kind="stable")
    first = np.searchsorted(theirs[order], mine, side="left")
    lengths = np.searchsorted(theirs[order], mine, side="right") - first
    ends = np.cumsum(lengths)
    entry = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - lengths), lengths)
    return np.repeat(np.arange(len(mine)), lengths), order[entry]
