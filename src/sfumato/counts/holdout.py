"""Two parts of a table: one to publish, one of whom no release knows anything, as the control of attacks.

Source    Ours; the control of Giomi et al., PoPETs 2023.
Claim     Both parts together are the table, each row once. Where the schema names a person, nobody is in both parts.
Because   one permutation of the people (of the rows, where nobody is named) is cut once.
Checked   tests/unit/counts/test_holdout.py::test_every_row_is_in_one_part
          tests/unit/counts/test_holdout.py::test_nobody_is_in_both_parts
Silent on people who have several rows that no key tells apart.
"""

from __future__ import annotations

import numpy as np

from sfumato.counts.table import Table
from sfumato.errors import ParameterError
from sfumato.randomness import Entropy


def holdout(table: Table, share: float = 1 / 2, *, seed: int = 0) -> tuple[Table, Table]:
    """Return (what to publish, what to keep as a control); `share` of the people go to the control.

    >>> import sfumato as sf
    >>> made_of, control = sf.holdout(sf.datasets.adult(), seed=7)
    >>> made_of.rows, control.rows
    (22611, 22611)
    """
    if not 0 < share < 1:
        raise ParameterError("share", share, "must be between 0 and 1", hint="1/2 keeps half of the people")
    persons = table.persons()
    ids = np.arange(table.rows) if persons is None else np.unique(persons, return_inverse=True)[1].reshape(-1)
    people = int(ids.max(initial=-1)) + 1
    if people < 2:
        raise ParameterError("table", table.schema.name, "must have at least two people")
    kept = min(max(1, round(share * people)), people - 1)
    out = np.zeros(people, bool)
    out[Entropy.seeded(seed).child("holdout").permutation(people)[:kept]] = True
    return table.take(np.flatnonzero(~out[ids])), table.take(np.flatnonzero(out[ids]))
