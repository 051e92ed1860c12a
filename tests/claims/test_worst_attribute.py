"""The attribute that is given away most is shown, though the attack had nothing to try on another one."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.attacks import attack_all
from sfumato.cli.output import emit


def halves():
    """Everybody's sex is published as it is; ages are generalized to tight labels."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 600),
            "age": rng.integers(0, 90, 600),
            "ill": rng.choice(["a", "b", "c"], 600),
        }
    )
    columns = {
        "sex": {"role": "quasi", "values": ["f", "m"]},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 90]},
        "ill": {"role": "sensitive", "values": ["a", "b", "c"]},
    }
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": columns})
    return sf.read(frame[:300], schema), sf.read(frame[300:], schema)


def test_an_attribute_that_is_never_generalized_does_not_hide_the_worst():
    table, control = halves()
    release = sf.publish(table, sf.Mondrian(k=3, tight=True))
    assert (release.boxes.tables[0].size[release.boxes.labels[:, 0]] == 1).all()  # sex
    suite = attack_all(release, table, control, attacks=["downcoding"])
    found = suite["downcoding"]
    assert found.attribute == "age"
    assert math.isfinite(found.value)
    assert found.targets.trials
    assert list(found.by_attribute) == ["age"]
    json.dumps(suite.to_json(), allow_nan=False)


def test_no_command_writes_a_number_that_json_does_not_have(capsys):
    emit({"a": math.nan, "b": [1.5, -math.inf, {"c": (math.inf, "NaN")}]})
    text = capsys.readouterr().out

    def refuse(name):
        raise AssertionError(name)

    assert json.loads(text, parse_constant=refuse) == {"a": None, "b": [1.5, None, {"c": [None, "NaN"]}]}
