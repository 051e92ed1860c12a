"""Does Marginals say, before and after, which columns may hold values that nobody has?"""

from __future__ import annotations

import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.schema import Schema


def test_marginals_says_where_a_value_may_be_nobodys(tmp_path):
    """Of 583 codes that were published 475 were nobody's; the forecast knew only the table of joined codes."""
    columns = {
        "code": {"role": "sensitive", "values": [f"{i:04}" for i in range(3000)]},
        "sex": {"role": "quasi", "values": ["m", "w"]},
        "town": {"role": "quasi", "values": ["x", "y", "z"]},
    }
    schema = Schema.parse({"name": "coded", "source": "public", "rows": 6000, "attribute": columns})
    drawn = np.random.default_rng(1)
    codes = {"sex": drawn.integers(0, 2, 6000), "town": drawn.integers(0, 3, 6000)}
    codes["code"] = np.minimum(drawn.zipf(1.5, 6000) - 1, 299)
    table = Table.from_codes(schema, np.column_stack([codes[a.name] for a in schema.published]))
    mechanism = sf.Marginals(2)
    (warning,) = mechanism.plan(schema).warnings
    assert re.match(r"code has 3,000 values, of which tables of pairs and triples tell about \d\d apart\.", warning)
    assert warning.endswith("Noise is expected to move up to 6,000 of 6,000 rows of that table")
    with pytest.warns(sf.errors.PublicationWarning, match="a drawn value may be one that nobody has"):
        release = sf.publish(table, mechanism, seed=1)
    (note,) = [note for note in release.notes if note.startswith("rare values and those that noise hides were joined")]
    assert re.search(
        r"code \(3,000 values in \d+ groups?, noise expected to move up to [0-9,]+ rows of its table\)", note
    )
    assert "sex (" not in note
    release.save(tmp_path / "out", allow_rehearsal=True, allow_unaccounted=True, allow_fingerprints=True)
    words = (tmp_path / "out" / "dictionary.md").read_text()
    assert "a drawn value may be one that nobody has" in words
    assert words.count("drawn from a model, which may draw a value that nobody has") == 3
    unsaid = Schema.parse({"name": "coded", "source": "public", "attribute": columns})
    assert any(text.startswith("code has 3,000 values") for text in mechanism.plan(unsaid).warnings)
    few = {**columns, "code": {"role": "sensitive", "values": ["a", "b"]}}
    schema = Schema.parse({"name": "coded", "source": "public", "rows": 6000, "attribute": few})
    assert not any("may be one that nobody has" in note for note in mechanism.plan(schema).notes)
