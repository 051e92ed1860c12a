from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.claims.paper_tables import TABLE_1A, TABLE_1B, TABLE_2A, TABLE_2B, paper_schema, people

import sfumato as sf


def write(path, table):
    pl.DataFrame(table).write_csv(path)
    return path


@pytest.fixture
def folder(tmp_path):
    release = sf.publish(people(TABLE_1A), sf.Mondrian(sf.KAnonymity(4)))
    release.save(tmp_path / "ours", allow_fingerprints=True)
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


def test_a_ledger_stands_for_what_it_saw_saved(tmp_path):
    book, schema = tmp_path / "office" / "ledger.db", paper_schema()
    book.parent.mkdir()
    for name, rows in (("first", TABLE_1A), ("office/second", TABLE_1B)):
        sf.publish(people(rows), sf.Mondrian(sf.KAnonymity(4)), ledger=book).save(
            tmp_path / name, allow_fingerprints=True, allow_repeated=True
        )
    rehearsed = sf.publish(people(TABLE_1A), sf.Anatomy(2), ledger=book, seed=1)
    rehearsed.save(tmp_path / "rehearsal", allow_rehearsal=True, allow_fingerprints=True)
    sf.publish(people(TABLE_1A), sf.Mondrian(sf.KAnonymity(8)), ledger=book)  # never saved
    assert [entry.saved for entry in sf.Ledger(book).entries()] == [("../first",), ("second",), ("../rehearsal",), ()]
    with pytest.raises(sf.ParameterError, match="entry 4, which is spent, but does not know where"):
        sf.attacks.open_releases([book], schema)
    sf.Ledger(book).record_unsaved(4, note="only looked at")
    opened = sf.attacks.open_releases([book], schema)
    folders = sf.attacks.open_releases([tmp_path / "first", tmp_path / "office" / "second"], schema)
    victims = people(TABLE_1A, "Alice", "Emu")
    assert sf.attacks.composition(opened, victims).to_json() == sf.attacks.composition(folders, victims).to_json()
    # Both may move together; what is missing is named, not passed over.
    moved = tmp_path.rename(tmp_path.with_name("elsewhere"))
    assert len(sf.attacks.open_releases([moved / "office" / "ledger.db"], schema)) == 2
    (moved / "first").rename(moved / "lost")
    with pytest.raises(sf.ParameterError, match=r"entry 1 was saved as \.\./first, which is not there"):
        sf.attacks.open_releases([moved / "office" / "ledger.db"], schema)
    with pytest.raises(sf.ParameterError, match="it names the population"):
        sf.attacks.open_releases([moved / "office" / "ledger.db"])


def test_a_ledger_names_releases_of_parts_and_of_the_whole(tmp_path):
    book = sf.Ledger(tmp_path / "ledger.db")
    book.declare_parts("state", ["north", "south"])
    for number, name in enumerate(("state", "north", "south", "elsewhere"), start=1):
        entry = book.reserve(name, sf.Mondrian(sf.KAnonymity(4)).claim(paper_schema()), "mondrian")
        entry.spend()
        (tmp_path / name).mkdir()
        book.record_saved(number, tmp_path / name)
    assert [folder.name for folder in book.saved_folders("north")] == ["state", "north"]
    assert [folder.name for folder in book.saved_folders("state")] == ["state", "north", "south"]
    assert book.saved_folders("unknown") == []


def test_what_is_not_known_does_not_narrow(tmp_path):
    releases = sf.attacks.open_releases([write(tmp_path / "a.csv", TABLE_2A)], paper_schema())
    known = write(tmp_path / "v.csv", {"age": [22, 22], "zip": ["5095", "5001"], "note": ["x", "y"]})
    victims = sf.attacks.read_victims(known, paper_schema(), known=["age", "zip"])
    assert [a.name for a in victims.schema.quasi] == ["age", "zip"]
    found = sf.attacks.composition(releases, victims)
    # Without the sex both classes may hold them.
    assert found.records.left.tolist() == [4, 4]
    assert found.baseline is None
    answer = write(tmp_path / "w.csv", {"sex": ["F"], "diagnosis": ["Fever"]})
    victims = sf.attacks.read_victims(answer, paper_schema(), known=["sex"])
    found = sf.attacks.composition(releases, victims)
    assert found.records.left.tolist() == [2]
    assert found.records.held.tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "missing"),
    [
        ({"age": [22], "zip": ["5095"], "Sex": ["F"]}, "sex"),
        ({"age": [22], "diagnosis": ["Flu"]}, "sex, zip"),
        ({"diagnosis": ["Flu"]}, "age, sex, zip"),
    ],
)
def test_a_file_that_lacks_a_quasi_identifier_is_refused(columns, missing, tmp_path):
    """A column in capitals was left out, and hundreds of people who are found out were called safe."""
    path = write(tmp_path / "v.csv", columns)
    with pytest.raises(sf.ReadError) as refused:
        sf.attacks.read_victims(path, paper_schema())
    said = str(refused.value)
    assert f"no column {missing}," in said
    assert "rename the column" in said
    assert ("--knows age" in said) is ("age" in columns)


def renamed(schema, old, new):
    """The schema with another name for one of its attributes."""
    kept = [replace(one, name=new) if one.name == old else one for one in schema.attributes]
    return replace(schema, attributes=tuple(kept))


def test_columns_that_cannot_be_matched_are_refused_by_every_attack(tmp_path):
    """Columns are matched by name: one that a release publishes under another name was taken for unknown."""
    schema, other = paper_schema(), renamed(paper_schema(), "zip", "postcode")
    first = sf.Release.read(pl.read_csv(write(tmp_path / "a.csv", TABLE_2A), infer_schema=False), schema)
    second = sf.Release.read(
        pl.read_csv(write(tmp_path / "b.csv", TABLE_2B), infer_schema=False).rename({"zip": "postcode"}), other
    )
    people = {"age": [22, 25], "sex": ["F", "M"], "zip": ["5095", "5001"], "diagnosis": ["Fever", "Flu"]}
    victims = sf.read(pl.DataFrame(people), schema)
    for attack in (
        lambda: sf.attacks.composition([first, second], victims),
        lambda: sf.attacks.attack_all([first, second], victims),
        lambda: sf.attacks.attack_all(second, victims),
        lambda: sf.attacks.Identity().run([second], sf.attacks.Knowledge(), victims),
        lambda: sf.attacks.Differencing().run([first, second], sf.attacks.Knowledge(), victims),
    ):
        with pytest.raises(
            sf.NotComparable, match="publishes postcode, and the table has no column of that name"
        ) as no:
            attack()
        assert "the table's zip is not in the release" in str(no.value)
    sf.attacks.composition([first, first], victims)


def test_victims_in_no_class_are_not_called_safe(tmp_path):
    schema = paper_schema()
    victims = people(TABLE_1A)
    few = {name: column[:4] for name, column in TABLE_2A.items()}  # the women are in no class
    release = sf.Release.read(write(tmp_path / "a.csv", few), schema)
    found = sf.attacks.composition([release, release], victims)
    assert found.tally.unmatched.successes == 4
    told = found.describe()
    assert f"In no class of any release: {found.tally.unmatched}" in told
    assert "Fewer than" not in told
    assert "1 to 3 left: " in told
    with pytest.raises(sf.ParameterError, match="0 rows"):
        sf.attacks.composition([release, release], victims.take(np.zeros(0, int)))
