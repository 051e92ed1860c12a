"""Declared populations: one-way frequencies and joint cells from CSV files; every bad line is counted, none quoted."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.schema import Schema

SCHEMA = Schema.parse(
    {
        "name": "people",
        "attribute": {
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 4], "step": 1},
            "job": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1"]}},
            "ill": {"role": "sensitive", "values": ["flu", "gout", "none"]},
        },
    }
)


def written(tmp_path, text):
    path = tmp_path / "population.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_one_way_frequencies(tmp_path) -> None:
    path = written(tmp_path, "attribute,value,count\nage,0,10\nage,[1-3),4\njob,X,6\njob,y1,1\nill,flu,0.5\n")
    found = sf.Population.read(path, SCHEMA)
    assert found.name == "population.csv"
    assert found.cells is None
    np.testing.assert_allclose(found.one_way["age"], [10, 2, 2, 0])  # a label is shared out over its values
    np.testing.assert_allclose(found.one_way["job"], [3, 3, 1])
    np.testing.assert_allclose(found.one_way["ill"], [0.5, 0, 0])


def test_joint_cells(tmp_path) -> None:
    path = written(tmp_path, "job,ill,count\nX,flu,3\ny1,gout,1\n*,none,2\n")
    cells = sf.Population.read(path, SCHEMA, name="survey").cells
    assert cells is not None
    assert (cells.names, cells.sensitive) == (("job",), "ill")
    assert cells.low.tolist() == [[0], [2], [0]]
    assert cells.high.tolist() == [[2], [3], [3]]
    assert cells.value.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("attribute,value\nage,1\n", "no column named count"),
        ("attribute,value,count\nheight,1,3\n", "1 line names an attribute"),
        ("attribute,value,count\njob,secret-job,3\n", "1 line holds a value that is not in the schema"),
        ("attribute,value,count\njob,x1,-3\n", "no count of 0 or more"),
        ("attribute,value,count\njob,x1,many\n", "no count of 0 or more"),
        ("job,count\nX,3\n", "one sensitive attribute"),
        ("job,height,count\nX,1,3\n", "not in the schema: height"),
        ("job,ill,count\nsecret-job,flu,3\n", "1 line holds a value"),
        ("job,ill,count\nX,*,3\n", "group of sensitive values"),
    ],
)
def test_problems_are_counted_and_not_quoted(tmp_path, text, rule) -> None:
    with pytest.raises(sf.SchemaError, match=rule) as refused:
        sf.Population.read(written(tmp_path, text), SCHEMA)
    assert "secret" not in str(refused.value)


def test_a_missing_file_is_said() -> None:
    with pytest.raises(sf.SchemaError, match="cannot be read"):
        sf.Population.read("no/such/file.csv", SCHEMA)
