from __future__ import annotations

import gc

import numpy as np

from sfumato.counts import Counts
from sfumato.measures import base as memory
from sfumato.schema import Schema

SCHEMA = Schema.parse({"name": "t", "attribute": {"x": {"role": "quasi", "kind": "nominal", "values": ["a", "b"]}}})


def counts():
    return Counts.from_arrays(SCHEMA, ["x"], np.array([[0], [1]]), np.array([1, 2]))


def test_made_once_for_one_object_and_key():
    made = []
    first, second = counts(), counts()
    for held in (first, first, second):
        memory.remembered(held, "key", lambda: made.append(1) or len(made))
    assert len(made) == 2
    assert memory.remembered(first, "key", lambda: 0) == 1
    assert memory.remembered(first, "other", lambda: 7) == 7


def test_forgotten_with_the_counts():
    held = counts()
    place = id(held)
    memory.remembered(held, "key", lambda: 1)
    assert place in memory._KNOWN
    del held
    gc.collect()
    assert place not in memory._KNOWN
