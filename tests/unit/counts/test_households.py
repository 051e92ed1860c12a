"""A table whose identifier names households may hold one row for each household, not for each person."""

from __future__ import annotations

import json
import tomllib

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.schema.key_names import household_like, visit_like


@pytest.mark.parametrize("name", ["household_id", "hh_id", "HHID", "Haushalt", "family", "address", "Haushaltsnummer"])
def test_names_of_households_are_known(name):
    assert household_like(name)


@pytest.mark.parametrize(
    "name", ["family_name", "email address", "ip_address", "Familienstand", "house", "household_size"]
)
def test_other_names_are_not(name):
    assert not household_like(name)


def written(tmp_path, name, *, each=1):
    rows = [f"{at // each},{20 + at % 50},{'fm'[at % 2]},{'xyz'[at % 3]}" for at in range(120)]
    (tmp_path / "d.csv").write_text("\n".join([f"{name},age,sex,illness", *rows]) + "\n")
    return tmp_path / "d.csv"


@pytest.mark.parametrize("name", ["household_id", "hh_id", "address"])
@pytest.mark.parametrize("each", [1, 2])
def test_draft_and_check_ask_whether_a_row_is_a_person_or_a_household(tmp_path, name, each):
    path = written(tmp_path, name, each=each)
    text = sf.draft(path)
    assert f"rows_per_person: is a row a person or a household? {name} names households" in text
    assert "\nperson = " not in text
    schema = tmp_path / "s.toml"
    schema.write_text(text)
    assert sf.Schema.load(schema).unit == "row"  # until it is decided
    lines = [line for line in text.splitlines() if "rows_per_person:" not in line and "population:" not in line]
    lines = [f"rows_per_person = {each}", *lines]  # nothing is proposed: who a row is about is for a person to say
    schema.write_text("\n".join(lines))
    assert sf.Schema.load(schema).unit == "person"
    answer = json.loads(CliRunner().invoke(app, ["check", str(path), str(schema), "--json"]).stdout)
    assert answer["ok"]
    assert "is a row a person or a household?" in answer["warnings"][0]["rule"]
    schema.write_text(f'not_person = ["{name}"]\n' + "\n".join(lines))
    assert json.loads(CliRunner().invoke(app, ["check", str(path), str(schema), "--json"]).stdout)["warnings"] == []


def test_draft_asks_for_the_public_number_of_rows_and_does_not_count_it(tmp_path):
    text = sf.draft(written(tmp_path, "note"))
    assert "# rows = 1000  # about how many rows there are, if that is publicly known" in text


@pytest.mark.parametrize("name", ["encounter_id", "Fallnummer", "episode", "id_sejour", "AdmissionNo"])
def test_draft_and_check_ask_whether_a_person_has_several_visits(tmp_path, name):
    path = written(tmp_path, name)
    text = sf.draft(path)
    assert f"rows_per_person: can one person have several rows? {name} names visits" in text
    lines = [line for line in text.splitlines() if "rows_per_person:" not in line and "population:" not in line]
    frame = sf.read(path, sf.Schema.parse(tomllib.loads("\n".join(["rows_per_person = 1", *lines]))))
    assert [one.path for one in frame.doubts.remarks() if "can one person have several?" in one.rule] == [
        f"attribute.{name}"
    ]
    excused = [f'not_person = ["{name}"]', "rows_per_person = 1", *lines]
    assert not sf.read(path, sf.Schema.parse(tomllib.loads("\n".join(excused)))).doubts.remarks()


@pytest.mark.parametrize("name", ["admission_date", "visit_type", "patient", "length of stay", "rainfall"])
def test_other_names_are_not_visits(name):
    assert not visit_like(name)
