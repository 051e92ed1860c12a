"""What a claim says of a table keyed by person is true of its people, and is not said of its rows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf

VALUES = ("flu", "cold", "asthma", "ulcer", "gout")
KEY = {"person": "id", "person_exact": True}
ALLOWED = {"allow_fingerprints": True, "allow_derived": True}


def schema(**head) -> sf.Schema:
    columns = {
        "id": {"role": "identifier"},
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1, "source": "public"},
        "d": {"role": "sensitive", "values": list(VALUES), "source": "public"},
    }
    return sf.Schema.parse({"name": "t", "attribute": columns} | head)


def table(rows, **head) -> sf.Table:
    return sf.read(pl.DataFrame(rows, schema=["id", "age", "d"], orient="row"), schema(**head))


def visits() -> list[tuple[str, int, str]]:
    """Forty people; each young one with flu has 61 rows, everybody else one."""
    rows = []
    for at in range(40):
        often = at < 20 and at % 5 == 0
        rows += [(f"P{at}", at + 20 if at < 20 else at + 40, VALUES[at % 5])] * (61 if often else 1)
    return rows


def saved(release: sf.Release, folder: Path) -> tuple[str, sf.Verdict]:
    release.save(folder, **ALLOWED)
    return (folder / "dictionary.md").read_text(), sf.verify(folder)


REQUIREMENTS = (
    sf.TCloseness("0.05"),
    sf.TCloseness("0.05", distance="emd"),
    sf.LDiversity(3, kind="entropy"),
    sf.LDiversity(2, kind="recursive", c=2),
    sf.LDiversity(2),
    sf.SemanticPrivacy("0.5"),
    sf.BetaLikeness(1),
    sf.AlphaK("0.5", k=4),
)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_shares_of_people_are_not_said_to_be_shares_of_rows(requirement):
    """In half of the classes nearly all rows are of flu: every such promise was said as if rows were counted."""
    release = sf.publish(table(visits(), **KEY), sf.Mondrian(requirement & sf.KAnonymity(4)))
    shares = [group["d"].value_counts()["count"].max() / len(group) for _, group in release.frame().group_by("age")]
    assert max(shares) > 0.9
    said = release.claim.describe().splitlines()
    assert re.search("once for each person|of the people", said[0])
    assert "all published rows" not in said[0]
    assert "as the publisher counts them" in said[1]


def test_rows_are_said_to_be_rows():
    for requirement in REQUIREMENTS:
        assert "people" not in requirement.describe("row")
        assert "person" not in requirement.describe("row")


def test_a_share_of_rows_is_not_said_to_be_one_of_people_without_a_key():
    """Everybody has flu in one of two rows: half of the rows, and all of the people."""
    rows = [(f"x{at}", 20 + at, value) for at in range(20) for value in ("flu", VALUES[1 + at % 4])]
    release = sf.publish(table(rows, rows_per_person=2, not_person=["id"]), sf.Mondrian(sf.AlphaK("0.5", k=5)))
    said = release.claim.describe()
    assert "0.5 of them" not in said
    assert "of the rows, where no key says" in said


def test_a_key_in_question_is_refused_and_allowed_it_counts_people(tmp_path):
    """The claim spoke of rows while people were counted by the key."""
    asked = table(visits(), **KEY, decide=["person: is id the patient?"])
    with pytest.raises(sf.SchemaError, match="key by which people are counted"):
        sf.publish(asked, sf.Mondrian(sf.LDiversity(2)))
    release = sf.publish(asked, sf.Mondrian(sf.LDiversity(2)), allow_undecided=True)
    assert release.claim.unit == "person"
    assert any("not decided that it says who" in one for one in release.claim.silent_on)
    assert not any("rows are counted" in one for one in release.claim.silent_on)
    _, verdict = saved(release, tmp_path / "out")
    assert verdict.holds
    assert "people are counted as the publisher declared them" in str(verdict)


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ({"rows_per_person": 1, "copies_are_people": True, "decide": ["rows_per_person: how many?"]}, "row"),
        ({"rows_per_person": 3, "decide": ["rows_per_person: how many?"]}, "row"),
        ({**KEY, "rows_per_person": 1, "decide": ["person: who?"]}, "row"),
        ({**KEY, "rows_per_person": 2, "decide": ["person: who?"]}, "person"),
        ({**KEY, "decide": ["person: who?"]}, "person"),
        (KEY, "person"),
        ({"rows_per_person": 1, "copies_are_people": True}, "person"),
        ({}, "row"),
    ],
)
def test_a_saved_folder_reads_back_to_what_was_counted(head, unit, tmp_path):
    """Questions are not in the manifest: rows became people when it was read, and a fresh folder failed."""
    rows = [(f"P{at}", 20 + at, VALUES[at % 5]) for at in range(20)]
    head = head if "person" in head else {**head, "not_person": ["id"]}
    mechanism = sf.Mondrian(sf.TCloseness("0.69"))
    release = sf.publish(table(rows, **head), mechanism, allow_void=True, allow_undecided=True)
    text, verdict = saved(release, tmp_path / "out")
    again = sf.Release.load(tmp_path / "out")
    assert (release.claim.unit, release.schema.unit, again.schema.unit) == (unit,) * 3
    assert release.exposed() == again.exposed()
    assert verdict.holds, str(verdict)
    if unit == "row":
        assert "different person" not in str(verdict)
    if release.exposed().most == 1:
        assert f"there is one {unit} only" in text


def test_without_a_number_of_people_classes_of_one_are_a_least_number():
    """All eight classes are of one person, and one of them has two rows of that person."""
    rows = [("P1", 10, "flu"), ("P1", 10, "cold"), ("P1", 11, "cold")]
    rows += [(f"Q{at}", 60 + at, VALUES[at % 5]) for at in range(6)]
    raw = sf.publish(table(rows, **KEY), sf.Raw())
    assert "in at least 7 of 8 classes there is one person only; of the others it cannot be seen" in raw.warnings()[0]
    published = pl.DataFrame([("[0-50)", "flu")] * 3 + [("[50-60)", "cold")], schema=["age", "d"], orient="row")
    several = published.filter(pl.col("age") == "[0-50)")
    alone = published.filter(pl.col("age") == "[50-60)")
    for frame, words in (
        (published, "in at least 1 of 2 classes"),
        (several, "in how many of 1 class there is one person only cannot be seen"),
    ):
        assert words in sf.Release.read(frame, schema(**KEY)).exposed().alone()
    one = sf.Release.read(alone, schema(**KEY)).exposed()
    assert one.alone() == "in 1 of 1 class there is one person only"
    assert replace(one, unseen=False).alone() == one.alone()


def test_dlink_does_not_say_that_it_looks_at_no_values():
    """It asks for d different values in every class, which the verifier checks."""
    asked = schema(rows_per_person=1, not_person=["id"])
    notes = sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2, alpha="0.5").claim(asked).silent_on
    assert not any("not looked at" in one for one in notes)
    assert any("values that mean nearly the same" in one for one in notes)
    assert any("not looked at" in one for one in sf.Mondrian(sf.KAnonymity(5)).claim(asked).silent_on)
    assert len(set(notes)) == len(notes)


def test_a_row_of_buckets_that_is_found_holds_its_group_only():
    salary = {"role": "target", "kind": "numeric", "range": [0, 100000], "step": 1, "source": "public"}
    columns = {**{one.name: {"role": "identifier"} for one in schema().role("identifier")}, "salary": salary}
    plain = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 100], "step": 1, "source": "public"}}
    plain["d"] = {"role": "sensitive", "values": list(VALUES), "source": "public"}
    head = {"name": "t", "rows_per_person": 1, "not_person": ["id"], "copies_are_people": True}
    made = sf.Schema.parse(head | {"attribute": {**columns, **plain}})
    rows = [(f"x{at}", 20 + at % 50, VALUES[at % 5], 1000 + 17 * at) for at in range(100)]
    read = sf.read(pl.DataFrame(rows, schema=["id", "age", "d", "salary"], orient="row"), made)
    for mechanism, words in (
        (sf.Bucketize(sf.LDiversity(2)), "the group is found"),
        (sf.Mondrian(sf.LDiversity(2)), "all else in the row is found"),
    ):
        silences = sf.publish(read, mechanism).claim.silent_on
        (found,) = [one for one in silences if "occur once for 100 of 100 rows" in one]
        assert words in found


def test_one_and_the_second_are_spelt_as_such():
    assert "at least 1 person," in sf.KAnonymity(1).describe("person")
    assert "at least 1 row:" in sf.KAnonymity(1).describe("row")
    assert "at least 1 sensitive value." in sf.LDiversity(1, kind="distinct").describe()
    for level, words in (
        (1, "the most frequent on"),
        (2, "the 2nd most"),
        (3, "the 3rd"),
        (4, "the 4th"),
        (11, "11th"),
    ):
        assert words in sf.LDiversity(level, kind="recursive", c=2).describe()
