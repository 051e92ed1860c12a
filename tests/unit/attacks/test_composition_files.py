from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "claims"))
from paper_tables import TABLE_1A, TABLE_2A, TABLE_2B, paper_schema, people

import sfumato as sf


def write(path, table):
    pl.DataFrame(table).write_csv(path)
    return path


@pytest.fixture
def folder(tmp_path):
    release = sf.publish(people(TABLE_1A), sf.Mondrian(sf.KAnonymity(4)))
    release.save(tmp_path / "ours")
    return tmp_path / "ours"


def test_folders_and_foreign_files(tmp_path, folder):
    a = write(tmp_path / "a.csv", TABLE_2A)
    b = write(tmp_path / "b.csv", TABLE_2B)
    opened = sf.attacks.open_releases([a, folder, b], paper_schema())
    assert [len(release.groups) for release in opened] == [2, 2, 2]
    assert sf.attacks.composition([opened[0], opened[2]], people(TABLE_1A, "Alice")).rate == 1.0
    # Without a schema a table is read with that of the first folder.
    assert len(sf.attacks.open_releases([a, folder])) == 2
    with pytest.raises(sf.ParameterError, match="needs one"):
        sf.attacks.open_releases([a, b])


def test_what_the_file_lacks_is_unknown(tmp_path):
    releases = sf.attacks.open_releases([write(tmp_path / "a.csv", TABLE_2A)], paper_schema())
    known = write(tmp_path / "v.csv", {"age": [22, 22], "zip": ["5095", "5001"], "note": ["x", "y"]})
    victims = sf.attacks.read_victims(known, paper_schema())
    assert [a.name for a in victims.schema.quasi] == ["age", "zip"]
    found = sf.attacks.composition(releases, victims)
    # Without the sex both classes may hold them.
    assert found.records.left.tolist() == [4, 4]
    assert found.baseline is None
    told = write(tmp_path / "w.csv", {"sex": ["F"], "diagnosis": ["Fever"]})
    victims = sf.attacks.read_victims(told, paper_schema())
    found = sf.attacks.composition(releases, victims)
    assert found.records.left.tolist() == [2]
    assert found.records.held.tolist() == [True]


def test_a_file_without_quasi_identifiers_is_refused(tmp_path):
    path = write(tmp_path / "v.csv", {"diagnosis": ["Flu"]})
    with pytest.raises(sf.ReadError, match="no column of a quasi-identifier"):
        sf.attacks.read_victims(path, paper_schema())
