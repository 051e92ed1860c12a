"""dictionary.md tells a reader what a group's name stands for."""

import numpy as np

import sfumato as sf
from sfumato.counts import Table

SCHEMA = {
    "name": "club",
    "attribute": {
        "town": {"role": "quasi", "hierarchy": {"North": ["a", "b"], "South": ["c", "d"]}},
        "hurt": {"role": "sensitive", "values": ["yes", "no"]},
    },
}


def page(source: str, tmp_path) -> str:
    described = {
        **SCHEMA,
        "attribute": {**SCHEMA["attribute"], "town": {**SCHEMA["attribute"]["town"], "source": source}},
    }
    rows = np.array([[code, row % 2] for code in range(3) for row in range(6)])
    release = sf.publish(
        Table.from_codes(sf.Schema.parse(described), rows), sf.Mondrian(sf.KAnonymity(6), nominal="nodes")
    )
    release.save(tmp_path / "out")
    return (tmp_path / "out" / "dictionary.md").read_text()


def test_groups_are_spelled_out(tmp_path):
    text = page("public", tmp_path)
    assert "`North` is a, b" in text
    assert "`South` is c, d" in text


def test_a_hierarchy_read_off_the_data_is_not(tmp_path):
    text = page("data", tmp_path)
    assert "is c, d" not in text
    assert "`South` is" not in text
