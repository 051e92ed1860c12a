"""A steward's first hour: a messy library file drafted, decided, checked, published, verified, and damaged.

The story in words is docs/a-strangers-table.md.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli.main import app, main
from sfumato.schema.toml_models import AttributeFile, MaskFile, MissingFile, SchemaFile

BRANCHES = ["Zähringen", "Stühlinger", "Haslach"]
TOPICS = ["Romane", "Reise", "Schulden", "Depression"]
DECIDED = """\
name = "members"
source = "public"
[attribute.Mitgliedsnr]
role = "identifier"
[attribute.Alter]
role = "quasi"
kind = "numeric"
range = [6, 100]
intervals = [5, 10]
missing = ["-1", "199"]
[attribute.PLZ]
role = "quasi"
values = ["79098", "79100", "79102"]
mask = { length = 5, from = "right" }
missing = ["", "791O2"]
[attribute.Zweigstelle]
role = "quasi"
groups = { Stadt = ["Haslach", "Stühlinger"], Rand = ["Zähringen"] }
[attribute.Eintritt]
role = "other"
[attribute."Gebühren"]
role = "other"
[attribute.Thema]
role = "sensitive"
values = ["Romane", "Reise", "Schulden", "Depression"]
missing = { values = [""], action = "suppress" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A semicolon-separated Latin-1 file of 600 invented members, with its mess, in the current folder."""
    rng = random.Random(7)
    rows = []
    for at in range(600):
        joined = date(2024, 5, 31) - timedelta(days=rng.randrange(5000))
        fee = "k.A." if at % 50 == 3 else f"{rng.uniform(0, 40):.2f}"
        post = rng.choice(["79098", "79100", "79102"]) if at % 90 else rng.choice(["", "791O2"])
        age = str(rng.randrange(6, 95)) if at % 200 else rng.choice(["-1", "199"])
        topic = rng.choice(TOPICS) if at % 300 else ""
        rows.append([f"M{at}", age, post, rng.choice(BRANCHES), joined.strftime("%d.%m.%Y"), fee, topic])
    head = ["Mitgliedsnr", "Alter", "PLZ", "Zweigstelle", "Eintritt", "Gebühren", "Thema"]
    text = "".join(";".join(row) + "\r\n" for row in [head, *rows])
    (tmp_path / "members.csv").write_bytes(text.encode("latin-1"))
    (tmp_path / "steward.toml").write_text(DECIDED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command as the shell would; return its exit code and all it printed."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    printed = capsys.readouterr()
    assert "unexpected" not in printed.err
    return int(stopped.value.code or 0), printed.out + printed.err


def test_the_draft_says_how_it_read_the_file_and_what_it_can_not_read(folder: Path, capsys) -> None:
    code, text = run(capsys, "draft", "members.csv", "-o", "members.toml")
    assert code == 0
    drafted = (folder / "members.toml").read_text(encoding="utf-8")
    assert "# Read as latin-1 text cut at ';' into 7 columns; the first line names the columns." in drafted
    assert 'format = "%d.%m.%Y"' in drafted
    assert "format: does the file write its dates as day.month.year?" in drafted
    assert 'missing = ["k.A."]' in drafted
    assert 'missing = ["-1", "199"]' not in drafted  # 199 is no code an office would write: the range shows it
    assert all(f'"{role}"' in drafted for role in ("quasi", "sensitive", "target", "identifier", "other"))
    code, text = run(capsys, "check", "members.csv", "members.toml")
    assert code == 0
    assert "600 rows fit the schema" in text


def test_a_decimal_comma_is_read_and_codes_are_no_numbers() -> None:
    import polars as pl

    commas = [f"{at},{at % 10}" for at in range(300)]
    codes = [f"0{at:04}" for at in range(299)] + ["unknown"]
    drafted = sf.draft(pl.DataFrame({"paid": commas, "shelf": codes, "sex": ["f", "m"] * 150}))
    assert 'decimal = ","' in drafted
    assert 'missing = ["unknown"]' not in drafted  # padded codes are texts, and so is one that is none of them


def test_an_unfinished_draft_is_refused_or_published_with_a_warning(folder: Path, capsys) -> None:
    run(capsys, "draft", "members.csv", "-o", "members.toml")
    asked = ["publish", "mondrian", "members.csv", "members.toml", "--k", "2"]
    code, text = run(capsys, *asked, "-o", "hasty")
    assert code == 2
    assert "attribute.Alter: its role is undecided, and quasi is published" in text
    assert text.count("--undecided publishes anyway") == 1
    assert "Mitgliedsnr: its role" not in text  # an identifier is not published, so nothing hangs on it
    assert not (folder / "hasty").exists()
    code, text = run(capsys, *asked, "-o", "hasty", "--undecided")
    assert code == 0
    found = re.search(
        r"Warning: (\d+) decisions of the schema are open: (.*) sfumato check members.csv members.toml", text
    )
    assert found is not None
    assert "population, rows_per_person, Mitgliedsnr (role), Alter (role, missing, range)" in found[2]
    code, answer = run(capsys, *asked, "-o", "hasty2", "--json", "--undecided")
    code, checked = run(capsys, "check", "members.csv", "members.toml", "--json")
    assert int(found[1]) == json.loads(answer)["undecided"] == len(json.loads(checked)["decisions"])
    assert json.loads(answer)["decisions"] == json.loads(checked)["decisions"]
    _, screen = run(capsys, "check", "members.csv", "members.toml")
    assert f"Open decisions ({found[1]})" in screen
    decided = re.sub(r'"role: [^"]*",?', "", (folder / "members.toml").read_text(encoding="utf-8"))
    (folder / "members.toml").write_text(decided, encoding="utf-8")
    assert run(capsys, *asked, "-o", "settled")[0] == 0  # other questions are warned of


def test_names_in_remarks_do_not_leave_the_house(folder: Path, capsys) -> None:
    rows = (folder / "members.csv").read_text(encoding="latin-1").splitlines()
    notes = [f"Frau ruft an: {first} Becker" for first in ("Anna", "Ingo", "Vera", "Uwe", "Elif")]
    noted = [f"{row};{notes[at % 5] if at % 9 == 0 else ''}" for at, row in enumerate(rows[1:])]
    (folder / "noted.csv").write_text("\n".join([f"{rows[0]};Notiz", *noted]), encoding="utf-8")
    run(capsys, "draft", "noted.csv", "-o", "noted.toml")
    drafted = (folder / "noted.toml").read_text(encoding="utf-8")
    assert "Becker" not in drafted
    asked = ["publish", "mondrian", "noted.csv", "noted.toml", "--k", "2", "--undecided", "--format", "csv"]
    assert run(capsys, *asked, "-o", "out")[0] == 0
    assert "Becker" not in "".join(file.read_text(encoding="utf-8") for file in (folder / "out").iterdir())
    listed = f'[attribute.Notiz]\nrole = "quasi"\nvalues = {json.dumps(notes)}\nmissing = [""]\n'
    (folder / "careless.toml").write_text(DECIDED + listed, encoding="utf-8")
    code, text = run(capsys, "check", "noted.csv", "careless.toml")
    assert code == 0
    assert "attribute.Notiz: looks like free text: values with several words; names may be in it." in text
    assert "Becker" not in text


def test_a_proved_claim_waits_for_the_decisions(folder: Path, capsys) -> None:
    open_one = DECIDED.replace('name = "members"', 'name = "members"\ndecide = ["rows_per_person: how many?"]')
    (folder / "s.toml").write_text(open_one, encoding="utf-8")
    code, text = run(
        capsys, "publish", "noisy-table", "members.csv", "s.toml", "--epsilon", "1", "--ledger", "l.db", "-o", "x"
    )
    assert code == 2
    assert "rows_per_person: undecided: how many?" in text
    assert not (folder / "x").exists()
    code, text = run(capsys, "publish", "suppress", "members.csv", "s.toml", "-o", "x")
    assert code == 0
    assert "Warning: 1 decision of the schema is open: rows_per_person." in text


def test_a_file_is_published_as_it_is_written(folder: Path, capsys) -> None:
    schema = DECIDED.replace(
        '[attribute.Eintritt]\nrole = "other"',
        '[attribute.Eintritt]\nrole = "quasi"\nkind = "date"\nformat = "%d.%m.%Y"\n'
        'range = ["2004-01-01", "2025-01-01"]',
    )
    (folder / "dates.toml").write_text(schema, encoding="utf-8")
    code, text = run(capsys, "check", "members.csv", "dates.toml")
    assert (code, "598 rows fit the schema" in text) == (0, True)
    run(capsys, "publish", "mondrian", "members.csv", "dates.toml", "--k", "10", "-o", "out", "--format", "csv")
    assert run(capsys, "verify", "out")[0] == 0
    answer = (folder / "out" / "dictionary.md").read_text(encoding="utf-8")
    assert answer.count("a cell may begin or end between these levels") == 1  # Alter has levels, Eintritt has none
    assert re.search(r"\[20\d\d-\d\d-\d\d\.\.", (folder / "out" / "data.csv").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("method", "asked"), [("suppress", []), ("mondrian", ["--k", "10", "--l", "2"]), ("bucketize", ["--l", "2"])]
)
def test_the_whole_way(method: str, asked: list[str], folder: Path, capsys) -> None:
    code, text = run(capsys, "check", "members.csv", "steward.toml")
    assert code == 0
    assert "598 rows fit the schema" in text
    assert "Open decisions" not in text
    code, text = run(capsys, "publish", method, "members.csv", "steward.toml", *asked, "--dry-run", "-o", "out")
    assert code == 0
    assert not (folder / "out").exists()
    code, text = run(capsys, "publish", method, "members.csv", "steward.toml", *asked, "-o", "out", "--format", "csv")
    assert code == 0
    warned = [line for line in text.splitlines() if line.startswith("Warning")]
    assert [line for line in warned if "left out" in line] == [
        "Warning: 2 rows are left out: a value of Thema is missing"
    ]
    few = [line for line in warned if "have no value, fewer than 10" in line]  # two columns that few people lack
    assert (len(few), len(warned)) == ((2, 3) if method == "mondrian" else (0, 1))
    assert "Not published, by role: Mitgliedsnr, Eintritt, Gebühren." in text
    assert run(capsys, "verify", "out")[0] == 0
    published = (folder / "out" / "data.csv").read_text(encoding="utf-8")
    assert not re.search(r"M\d|k\.A\.|791O2|199", published)


def test_a_bare_table_is_verified_in_its_own_encoding(folder: Path, capsys) -> None:
    run(capsys, "publish", "mondrian", "members.csv", "steward.toml", "--k", "10", "-o", "out", "--format", "csv")
    text = (folder / "out" / "data.csv").read_text(encoding="utf-8")
    assert "ü" in text
    (folder / "theirs.csv").write_bytes(text.replace(",", ";").encode("latin-1"))
    bare = ["--schema", "steward.toml"]
    ours, theirs = (
        json.loads(run(capsys, "verify", file, *bare, "--k", "10", "--json")[1])
        for file in ("out/data.csv", "theirs.csv")
    )
    assert ours == theirs
    assert ours["holds"]
    counted = "rows are counted; how many of them are about one person is not stated"
    assert ours["notes"] == [counted]  # every label of the Latin-1 file was understood
    assert run(capsys, "verify", "theirs.csv", *bare, "--k", "600")[0] == 3
    code, text = run(capsys, "verify", "members.csv", *bare, "--k", "2")  # the raw file itself
    assert code == 3
    assert "Mitgliedsnr: is a column that no claim covers" in text
    code, text = run(capsys, "verify", "theirs.csv", "--k", "2")
    assert code == 2
    assert "None" not in text


def test_damage_is_a_claim_that_fails(folder: Path, capsys) -> None:
    run(capsys, "publish", "mondrian", "members.csv", "steward.toml", "--k", "10", "-o", "out")
    file = folder / "out" / "data.parquet"
    body = bytearray(file.read_bytes())
    body[20:120] = b"\xff" * 100  # pages, not the footer: the header can still be read
    file.write_bytes(bytes(body))
    code, text = run(capsys, "verify", "out")
    assert code == 3
    assert "its SHA-256 differs" in text
    assert "its rows are damaged" in text
    code, text = run(capsys, "verify", "out", "--json")
    assert code == 3
    assert not json.loads(text)["ok"]


def test_an_edited_manifest_is_held_to_what_it_says(folder: Path, capsys) -> None:
    run(capsys, "publish", "mondrian", "members.csv", "steward.toml", "--k", "10", "-o", "out")
    manifest = folder / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"k": 10', '"k": 300'))
    assert run(capsys, "verify", "out")[0] == 3


def test_thousands_of_values_are_counted_rightly_and_not_all_printed(folder: Path, capsys) -> None:
    schema = DECIDED.replace(
        '[attribute.Eintritt]\nrole = "other"',
        '[attribute.Eintritt]\nrole = "quasi"\nkind = "date"\nrange = ["2004-01-01", "2025-01-01"]',
    )
    (folder / "dates.toml").write_text(schema, encoding="utf-8")
    code, text = run(capsys, "check", "members.csv", "dates.toml")
    assert code == 2
    distinct = int(re.search(r"(\d+) distinct values in 600 rows that are not an ISO date", text)[1])  # type: ignore[index]
    assert distinct > 200
    line = next(line for line in text.splitlines() if line.strip().startswith("values:"))
    assert line.count("'") == 2 * 20
    assert line.endswith(f"and {distinct - 20} more")
    assert 'write them as 2024-05-31, say how the file writes them (format = "%d.%m.%Y"' in text
    assert "The values above are from your file: confidential." in text
    _, answer = run(capsys, "check", "members.csv", "dates.toml", "--json")
    assert re.search(r"\d\d\.\d\d\.20", answer.replace("31.12.2024", "")) is None  # the hint's own example


def test_values_outside_are_named_with_every_way_out(folder: Path, capsys) -> None:
    (folder / "s.toml").write_text(DECIDED.replace('missing = ["-1", "199"]\n', ""), encoding="utf-8")
    code, text = run(capsys, "check", "members.csv", "s.toml")
    assert code == 2
    assert "outside the declared range" in text
    assert "widen `range`, name them in `missing`, or clamp = true" in text


def test_a_wrong_delimiter_is_explained_once(folder: Path, capsys) -> None:
    code, text = run(capsys, "check", "members.csv", "steward.toml", "--delimiter", ",")
    assert code == 2
    assert text.count("is missing.") == 4
    assert text.count("the table has 1 column;") == 1
    assert "--no-header" in text


@pytest.mark.parametrize("kind", ["probability", "entropy"])
def test_the_figure_of_a_hint_can_be_reached(kind: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    topics = ["a"] * 151 + ["b"] * 150 + ["c"] * 150 + ["d"] * 149  # 600/151 = 3.97351: rounded up, out of reach
    Path("t.csv").write_text("age,topic\n" + "".join(f"{at % 50},{topic}\n" for at, topic in enumerate(topics)))
    Path("t.toml").write_text(
        'name = "t"\n[attribute.age]\nrole = "quasi"\nkind = "numeric"\nrange = [0, 50]\n'
        '[attribute.topic]\nrole = "sensitive"\nvalues = ["a", "b", "c", "d"]\n'
    )
    asked = ["publish", "mondrian", "t.csv", "t.toml", "--l-kind", kind, "-o", "out", "--l"]
    code, text = run(capsys, *asked, "5")
    assert code == 3
    best = re.search(r"ask for at most ([\d.]+)\.", text)[1]  # type: ignore[index]
    assert float(best) > 3.9
    assert "Near that figure only a few large classes are left" in text
    assert "The most frequent value of topic sets the limit" in text
    assert run(capsys, *asked, best)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["draft", "."], 2, "./*.csv"),
        (["draft", "nothere.csv"], 2, "no such file"),
        (["check", "nothere.csv", "steward.toml"], 2, "no such file"),
        (["check", "members.csv", "nothere.toml"], 2, "check the path."),
        (["check", "members.csv", "steward.toml", "--delimiter", ";;"], 2, "such as ; or ,"),
        (
            ["publish", "mondrian", "members.csv", "steward.toml", "--k", "7000", "-o", "x"],
            3,
            "ask for a k of at most 598",
        ),
        (["publish", "mondrian", "members.csv", "steward.toml", "--k", "ten", "-o", "x"], 2, "Hint: try 10."),
        (["publish", "mondrian", "members.csv", "steward.toml", "-o", "x"], 2, "a requirement is needed"),
        (["publish", "suppress", "members.csv", "steward.toml", "-o", "."], 2, "exists already"),
        (["verify", "nowhere"], 2, "does not exist"),
        (["explain", "shema"], 2, "did you mean schema"),
    ],
)
def test_what_goes_wrong_is_said(arguments: list[str], code: int, said: str, folder: Path, capsys) -> None:
    found, text = run(capsys, *arguments)
    assert (found, said in text) == (code, True), text
    assert not (folder / "x").exists()


def test_an_unknown_key_leads_to_a_page_that_names_every_key(folder: Path, capsys) -> None:
    (folder / "s.toml").write_text(DECIDED.replace("intervals = [5, 10]", 'pattern = "%d"'), encoding="utf-8")
    code, text = run(capsys, "check", "members.csv", "s.toml")
    assert code == 2
    assert "`sfumato explain schema` lists the keys" in text
    code, page = run(capsys, "explain", "schema")
    assert code == 0
    fields = [
        field.alias or name
        for model in (SchemaFile, AttributeFile, MaskFile, MissingFile)
        for name, field in model.model_fields.items()
    ]
    assert [key for key in fields if not re.search(rf"\b{key}\b", page)] == []


def test_every_listed_name_can_be_explained(capsys) -> None:
    code, listing = run(capsys, "explain")
    assert code == 0
    names = [line.split()[0] for line in listing.splitlines()[1:]]
    assert {"schema", "k-anonymity", "mondrian", "certainty_penalty"} <= set(names)
    for name in names:
        assert len(sf.explain(name)) > 100


def test_the_story_names_commands_that_exist_and_a_schema_that_loads() -> None:
    story = (Path(__file__).resolve().parents[2] / "docs" / "a-strangers-table.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"```toml\n(.*?)```", story, re.DOTALL)
    schema = sf.Schema.parse(tomllib.loads(written))
    assert schema.decisions() == []
    assert [attribute.name for attribute in schema.sensitive] == ["Thema"]
    commands = set(re.findall(r"^\$ sfumato (\w+)", story, re.MULTILINE))
    assert {"draft", "check", "publish", "verify"} <= commands
    assert all(app.get_command(None, name) is not None for name in commands)  # type: ignore[arg-type]
