"""Sentences that were false or misleading in the hands of a careless steward, and what is said instead."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.conftest import CLINIC, ILLS, clinic_codes

import sfumato as sf
from sfumato.cli.main import main
from sfumato.cli.notes import table_warnings
from sfumato.counts import Table
from sfumato.schema import Schema

ROWS = CLINIC.replace('name = "clinic"', 'name = "clinic"\nrows = 600')
PEOPLE = ROWS.replace("rows = 600", "rows = 600\nrows_per_person = 1")
KEYED = ROWS.replace("rows = 600", 'rows = 600\nperson = "who"\nrows_per_person = 1')


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    lines = [
        f"{20 + age},{'abcd'[town]},{('flu', 'cold', 'asthma', 'gout')[ill]}" for age, town, ill in clinic_codes(3, 600)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["age,town,ill", *lines]) + "\n")
    keyed = [f"p{at % 450},{line}" for at, line in enumerate(lines)]
    (tmp_path / "k.csv").write_text("\n".join(["who,age,town,ill", *keyed]) + "\n")
    for name, text in (("rows", ROWS), ("people", PEOPLE), ("keyed", KEYED)):
        (tmp_path / f"{name}.toml").write_text(text)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(one) for one in arguments])
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out + printed.err

    return run


LEDGER = ("--ledger", "ledger.db")
DECLARED = "rows are counted as people, as the publisher declares; the file does not show who is who"


@pytest.mark.parametrize(("schema", "people"), [("rows", False), ("people", True)])
def test_every_page_speaks_of_what_was_decided_and_says_whose_word_it_is(desk, tmp_path, schema, people) -> None:
    """Where nobody decided who a row is about, no page may say people; where somebody did, it says who."""
    code, printed = desk("publish", "mondrian", "d.csv", f"{schema}.toml", "--k", 5, "--format", "csv", "-o", "out")
    assert code == 0
    code, verdict = desk("verify", "out")
    assert code == 0
    assert (DECLARED in verdict) == people
    assert ("rows are counted; how many of them are about one person is not stated" in verdict) != people
    code, bare = desk("verify", "out/data.csv", "--schema", f"{schema}.toml", "--k", 5)
    assert code == 0
    assert (DECLARED in bare) == people
    answer = (tmp_path / "out" / "dictionary.md").read_text() + sf.explain(sf.Release.load("out").claim)
    assert ("Every class holds at least 5 people, as the publisher counts them" in answer) == people
    assert ("Every class holds at least 5 rows" in answer) != people
    whose = "the publisher declares that each row is a different person, and the file cannot show it"
    assert (answer.count(whose) == 2) == people
    assert ("several may be one person's" in answer) != people
    table = sf.read("d.csv", Schema.load(f"{schema}.toml"))
    front = sf.frontier(table, sf.sweep(sf.Mondrian, k=[3, 25]), workers=0, progress=False)
    for kind in ("html", "md"):
        sf.report(front, f"page.{kind}")
        page = re.sub(
            r"<(script|style)\b.*?</\1>|<[^>]+>", " ", (tmp_path / f"page.{kind}").read_text(), flags=re.DOTALL
        )
        assert bool(re.search(r"\d (people|person)\b", page)) == people, kind
        assert kind == "md" or ("The smallest class holds" in page)
    assert front.points[0].counted == (("person", "people") if people else ("row", "rows"))
    assert people or "people" not in printed


@pytest.mark.parametrize(
    "method", [("noisy-table",), ("diffgen", "--specializations", 2), ("target-rows",), ("marginals",)]
)
def test_numbers_counted_in_the_rows_are_marked_beside_a_proved_claim(desk, tmp_path, method) -> None:
    schema = KEYED.replace('role = "sensitive"', 'role = "target"') if method[0] == "target-rows" else KEYED
    (tmp_path / "s.toml").write_text(schema)
    name, *more = method
    code, printed = desk(
        "publish", name, "k.csv", "s.toml", "--epsilon", 1, *more, *LEDGER, "--allow-noise", "-o", "out"
    )
    assert code == 0, printed
    assert "Warning: confidential, not covered by the claim: 150 rows are left out" in printed
    assert "150" not in (tmp_path / "out" / "dictionary.md").read_text()


@pytest.mark.parametrize("method", [sf.NoisyTable(1), sf.DiffGen(1, specializations=1), sf.TargetRows(1)], ids=str)
def test_rows_left_out_for_a_column_that_is_not_published_are_in_the_claim(method) -> None:
    """Rows without an illness are left out of a table of towns and jobs, and the claim did not say so."""
    said = {
        "town": {"role": "quasi", "values": ["a", "b"]},
        "job": {"role": "target", "values": ["x", "y"]},
        "illness": {"role": "sensitive", "values": ["flu"], "missing": {"values": [""], "action": "suppress"}},
    }
    schema = sf.Schema.parse({"name": "t", "source": "public", "rows_per_person": 1, "rows": 90, "attribute": said})
    frame = pl.DataFrame({"town": ["a", "b"] * 45, "job": ["x", "y"] * 45, "illness": ["flu", "flu", None] * 30})
    table = sf.read(frame, schema)
    assert (table.rows, table.left_out) == (60, 30)
    release = sf.publish(table, method, allow_noise=True)
    for claim in (method.claim(schema), release.claim):
        assert any("left out because a value is missing" in one for one in claim.silent_on)
    (warning,) = [one for one in table_warnings(table, release.claim) if "left out" in one]
    assert "confidential" in warning
    assert "30 rows are left out: a value of illness" in warning


def test_a_checked_release_tells_its_number_without_a_mark(desk) -> None:
    code, printed = desk("publish", "mondrian", "k.csv", "keyed.toml", "--k", 5, "-o", "out")
    assert code == 0
    assert "Warning: 150 rows are left out" in printed


def test_synthetic_columns_are_neither_published_as_they_are_nor_made_coarser(desk, tmp_path) -> None:
    code, _ = desk("publish", "marginals", "d.csv", "people.toml", "--epsilon", 1, *LEDGER, "-o", "out")
    assert code == 0
    answer = (tmp_path / "out" / "dictionary.md").read_text()
    nobody = "drawn from a model, which may draw a value that nobody has; no cell is copied from a record"
    assert answer.count(f"{nobody} or made coarser") == 3
    assert "published as it is" not in answer
    assert "made coarser where" not in answer
    assert desk("verify", "out")[0] == 0


def test_what_a_stage_spends_is_called_by_its_name(desk) -> None:
    for dry in ((), ("--dry-run",)):
        output = dry or (*LEDGER, "-o", "out")
        code, printed = desk("publish", "marginals", "d.csv", "people.toml", "--epsilon", 1, "--delta", "1e-6", *output)
        assert code == 0
        assert "Spends rho " in printed
        assert "Spends epsilon" not in printed
    assert "Spends epsilon" in desk("publish", "noisy-table", "d.csv", "people.toml", "--epsilon", 1, "--dry-run")[1]


def test_a_mapping_of_a_method_that_reads_no_quasi_identifier_is_refused_first(desk, tmp_path) -> None:
    code, printed = desk("publish", "suppress", "d.csv", "people.toml", "-o", "out", "--mapping", "m.csv")
    assert code == 2
    assert "every row gets the same labels" in printed
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("asked", [("--k", 5), ("--l", 2), ("--t", "0.2")])
def test_a_file_without_rows_satisfies_nothing(desk, tmp_path, asked) -> None:
    (tmp_path / "empty.csv").write_text("age,town,ill\n")
    code, printed = desk("verify", "empty.csv", "--schema", "people.toml", *asked)
    assert code == 3
    assert "has no rows: there is nothing to check" in printed


INDEXED = {
    "a column": lambda frame: frame,
    "a named index": lambda frame: frame.set_index("patient_id"),
    "two levels": lambda frame: frame.set_index(["patient_id", "wave"]),
    "an index without a name": lambda frame: frame.set_index("patient_id").rename_axis(None),
    "numbers that repeat": lambda frame: frame.set_axis(np.arange(len(frame)) % 200).drop(columns="patient_id"),
}


@pytest.mark.parametrize("way", INDEXED)
def test_a_key_in_the_index_of_a_frame_is_seen(way) -> None:
    """Four waves of 200 patients: what stood in the index was dropped, and four rows counted as four people."""
    rng = np.random.default_rng(3)
    once = pd.DataFrame(
        {
            "patient_id": [f"P{at}" for at in range(200)],
            "age": rng.integers(20, 60, 200),
            "town": rng.choice(list("abcd"), 200),
        }
    )
    frame = pd.concat([once] * 4, ignore_index=True)
    frame["ill"] = rng.choice(ILLS, 800)
    frame["wave"] = np.repeat(range(4), 200)
    table = sf.read(INDEXED[way](frame), Schema.parse(tomllib.loads(PEOPLE)))
    with pytest.raises(sf.SchemaError, match=r"key of a person|rows of one person"):
        sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))


@pytest.mark.parametrize("index", [None, "sorted", "texts"])
def test_an_index_that_says_nothing_is_no_column(index) -> None:
    frame = pd.DataFrame({"age": [30, 40, 50], "town": ["a", "b", "c"], "ill": ["flu", "gout", "cold"]})
    frame = frame if index is None else frame.set_axis([7, 3, 5] if index == "sorted" else list("xyz"))
    table = sf.read(frame, Schema.parse(tomllib.loads(PEOPLE)))
    assert table.rows == 3
    plain = sf.read(pl.DataFrame(frame.to_dict("list")), Schema.parse(tomllib.loads(PEOPLE)))
    assert np.array_equal(table.codes(), plain.codes())
    assert isinstance(table, Table)


PEOPLE_NAMED = ("Anna Becker", "Jan de Vries", "Rosa Klein", "Tom Smit")


def named_jobs(source):
    rng = np.random.default_rng(7)
    jobs = rng.choice(["nurse", "clerk", "cleaner", "teacher"], 400).astype(object)
    for at, name in enumerate(PEOPLE_NAMED):
        jobs[at * 23] = f"assistant of {name}"
    frame = pl.DataFrame({"age": rng.integers(20, 60, 400), "job": jobs.tolist(), "ill": rng.choice(ILLS, 400)})
    columns = tomllib.loads(PEOPLE)["attribute"]
    described = {"role": "quasi", "values": sorted(set(jobs)), "source": source}
    schema = {"age": columns["age"], "job": described, "ill": columns["ill"]}
    return sf.read(frame, Schema.parse({"name": "t", "rows_per_person": 1, "attribute": schema}))


@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(5)), sf.Bucketize(sf.LDiversity(2))], ids=str)
def test_rare_values_that_read_like_names_are_not_spelt_in_labels(tmp_path, mechanism) -> None:
    """They were published with a warning by the command, and without a word by the library."""
    release = sf.publish(named_jobs("data"), mechanism)
    with pytest.raises(sf.SfumatoError, match="job: 4 values that 3 rows or fewer have are spelt out"):
        release.save(tmp_path / "out")
    with pytest.raises(sf.SfumatoError, match="are spelt out in labels"):
        sf.publish(named_jobs("data"), mechanism, save_to=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    release.save(tmp_path / "yes", allow_text=True)
    sf.publish(named_jobs("public"), mechanism).save(tmp_path / "public")


def test_labels_that_do_not_spell_them_are_no_reason_to_refuse(tmp_path) -> None:
    release = sf.publish(named_jobs("data"), sf.Mondrian(sf.KAnonymity(5), nominal="nodes"))
    release.save(tmp_path / "out")
    assert not any(name in (tmp_path / "out" / "manifest.json").read_text() for name in PEOPLE_NAMED)


def test_verify_names_classes_of_one_whatever_was_promised(desk, tmp_path) -> None:
    code, _ = desk("publish", "mondrian", "d.csv", "people.toml", "--t", "0.4", "--format", "csv", "-o", "out")
    assert code == 0
    rows = pl.read_csv(tmp_path / "out" / "data.csv", infer_schema=False)
    alone = rows.group_by("age", "town").len().filter(pl.col("len") == 1).height
    code, printed = desk("verify", "out")
    assert code == 0
    assert alone
    assert f"in {alone} of " in printed
    assert "there is one person only" in printed


def test_suppressed_columns_are_said_to_be_stars(desk) -> None:
    _, printed = desk("publish", "suppress", "d.csv", "people.toml", "-o", "out")
    assert "Not published by this method, * in every row: age, town." in printed
    assert "target" not in printed
