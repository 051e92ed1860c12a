"""Where noise is so small that counts are practically exact, the plan, the command and the dictionary say so."""

from __future__ import annotations

import json
import math
import random
import tomllib
import warnings
from fractions import Fraction

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.cli.notes import form_notes
from sfumato.mechanisms.noisy_cells import exact_counts
from sfumato.randomness.geometric import PRACTICALLY_EXACT

SCHEMA = """
name = "members"
population = "members"
rows_per_person = 1
rows = 300
[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d"]
source = "public"
[attribute.illness]
role = "sensitive"
values = ["flu", "gout", "none"]
source = "public"
"""
EXACT = "counts are practically exact: rare combinations are published as they are"


@pytest.fixture
def files(tmp_path):
    draw = random.Random(5)
    towns = [draw.choice("aaab") for _ in range(300)]
    pl.DataFrame({"town": towns, "illness": ["none"] * 299 + ["gout"]}).write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]


@pytest.mark.parametrize("method", [["noisy-table"], ["diffgen", "--specializations", "leaves"]], ids=" ".join)
def test_counts_that_are_practically_exact_are_said_to_be(method, files, tmp_path) -> None:
    out, asked = tmp_path / "out", [*method[1:], "--epsilon", "10", "--threshold", "1", "--allow-unaccounted"]
    done = CliRunner().invoke(app, ["publish", method[0], *files, *asked, "-o", str(out)])
    assert done.exit_code == 0, done.exception
    assert f"Warning: at epsilon 10 {EXACT}" in " ".join(done.stderr.split())
    answer, written = " ".join(done.output.split()), " ".join((out / "dictionary.md").read_text().split())
    for text in (answer, written):
        assert EXACT in text
        assert "do not add up" not in text
        assert "may or may not be a person" not in text
    heard = CliRunner().invoke(app, ["publish", method[0], *files, *asked, "--json", "-o", str(tmp_path / "json")])
    assert any(EXACT in text for text in json.loads(heard.stdout)["warnings"])
    lines = CliRunner().invoke(app, ["publish", method[0], *files, *asked, "--counts", "-o", str(tmp_path / "lines")])
    assert lines.exit_code == 0, lines.exception
    assert "no line is about one person" not in " ".join((tmp_path / "lines" / "dictionary.md").read_text().split())
    verdict = str(sf.verify(out))  # one person has the gout: all that speak of rows say the same of them
    for text in (written, verdict, sf.Release.load(out).fingerprints().describe(), answer):
        assert "a row is very likely a record" in " ".join(text.split())
        assert "may or may not be a person" not in text
    assert "nobody is taken to have more than 1 row, as the publisher declares" in verdict
    dry = CliRunner().invoke(app, ["publish", method[0], *files, *asked, "--dry-run"])
    assert EXACT in " ".join(dry.output.split())


@pytest.mark.parametrize("epsilon", [1, 10])
def test_the_library_warns_once_before_anything_is_drawn(epsilon, files) -> None:
    """Only the command and the web did."""
    data, schema = files
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = sf.publish(sf.read(data, sf.Schema.load(schema)), sf.NoisyTable(epsilon, threshold=1))
    said = [str(one.message) for one in caught if issubclass(one.category, sf.errors.PublicationWarning)]
    assert [EXACT in text for text in said] == ([True] if epsilon == 10 else [])
    assert [EXACT in text for text in release.warnings()] == ([True] if epsilon == 10 else [])


def test_at_epsilon_one_nothing_of_it_is_said(files, tmp_path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["publish", "noisy-table", *files, "--epsilon", "1", "--allow-unaccounted", "-o", str(out)]
    )
    assert "practically exact" not in done.output
    assert "do not add up" in " ".join((out / "dictionary.md").read_text().split())
    verdict = str(sf.verify(out))
    assert "very likely a record" not in verdict


def test_verify_says_on_whose_word_a_draw_protects_people(tmp_path) -> None:
    """Of a differentially private release nothing said that rows are people on the publisher's word."""
    rows = {"town": list("abcd") * 50, "illness": ["none"] * 200, "key": [f"p{at // 2}" for at in range(200)]}
    word, kept = "nobody is taken to have more than 1 row, as the", "at most 2 rows of each person went into it, as the"
    stated = SCHEMA.replace("rows_per_person = 1\n", "")
    key = '[attribute.key]\nrole = "identifier"\n'
    for name, text, said, unsaid in (
        ("trusted", SCHEMA, word, kept),
        ("keyed", f'person = "key"\nrows_per_person = 2\n{stated}{key}', kept, word),
        ("rows", stated, "not checkable on the file", "the publisher"),
    ):
        schema = sf.Schema.parse(tomllib.loads(text))
        out = tmp_path / name
        sf.publish(sf.read(pl.DataFrame(rows), schema), sf.NoisyTable(1)).save(out, allow_unaccounted=True)
        verdict = str(sf.verify(out))
        assert said in verdict, name
        assert unsaid not in verdict, name
        assert "counted" not in verdict.replace("not accounted", ""), name  # nothing was
        asked = str(sf.verify(out, requirement=sf.KAnonymity(2)))
        assert "counted as" not in asked, name
        assert "people are counted" not in asked, name


def test_the_bound_is_an_expected_error_of_a_twentieth() -> None:
    assert 1 / math.sinh(PRACTICALLY_EXACT) < 1 / 20 < 1 / math.sinh(PRACTICALLY_EXACT - Fraction(1, 1000))
    assert exact_counts([("counts", PRACTICALLY_EXACT)], 1, 1)
    assert not exact_counts([("counts", PRACTICALLY_EXACT - Fraction(1, 10**9))], 1, 1)
    assert "combinations of 7 rows or more" in exact_counts([("counts", Fraction(5))], 1, 7)


def test_the_epsilon_named_is_that_of_the_release_or_said_to_be_a_part_of_it() -> None:
    """In a release of epsilon 30 it was said to be 10, which is what each of three rows gets."""
    several = sf.Schema.parse(tomllib.loads(SCHEMA.replace("rows_per_person = 1", "rows_per_person = 3")))
    (said,) = [note for note in sf.plan(several, sf.NoisyTable(30)).notes if EXACT in note]
    assert "epsilon 30, which is 10 for each of 3 rows," in said
    assert not exact_counts([("counts", Fraction(30))], 10, 1)
    (part,) = [note for note in sf.plan(several, sf.DiffGen(60, specializations=1)).notes if "exact" in note]
    assert "for the counts, which is" in part


def test_it_is_a_function_of_public_numbers_alone() -> None:
    """Two tables of one schema get the same words; several rows a person get less epsilon each."""
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    made = [
        sf.publish(sf.read(pl.DataFrame({"town": rows, "illness": ["flu"] * len(rows)}), schema), sf.NoisyTable(5))
        for rows in (["a"] * 300, ["b"] * 2)
    ]
    assert [one.practically_exact for one in made] == [True, True]
    assert made[0].notes[0] == made[1].notes[0]
    several = sf.Schema.parse(tomllib.loads(SCHEMA.replace("rows_per_person = 1", "rows_per_person = 2")))
    assert "practically exact" not in " ".join(sf.plan(several, sf.NoisyTable(5)).notes)


def test_several_rows_of_a_person_are_not_said_to_be_people(tmp_path):
    """Of a schema that says that nobody has more than 3 rows it was said that rows are counted as people."""
    schema = {
        "name": "visits",
        "source": "public",
        "rows_per_person": 3,
        "attribute": {
            "ward": {"role": "quasi", "values": ["a", "b"]},
            "ill": {"role": "sensitive", "values": ["x", "y"]},
        },
    }
    rows = pl.DataFrame({"ward": ["a", "b"] * 300, "ill": ["x", "x", "y"] * 200})
    table = sf.read(rows, sf.Schema.parse(schema))
    for method in (sf.NoisyTable(1), sf.Mondrian(k=5)):
        sf.publish(table, method).save(tmp_path / method.name, allow_unaccounted=True)
        verdict = str(sf.verify(tmp_path / method.name))
        assert "nobody is taken to have more than 3 rows, as the publisher declares" in verdict
        assert "counted as people" not in verdict


@pytest.mark.parametrize(("threshold", "noise"), [("auto", 9.0), (1, 9.0), (3, 0.003)])
def test_a_line_that_may_be_noise_is_not_called_a_record(threshold, noise, tmp_path) -> None:
    """All ten lines with a count of 1 were noise, and each was said to be very likely one record."""
    text = SCHEMA.replace('values = ["a", "b", "c", "d"]', 'kind = "numeric"\nrange = [0, 167]\nstep = 1')
    schema = sf.Schema.parse(tomllib.loads(text))
    rows = pl.DataFrame({"town": [at % 5 for at in range(300)], "illness": ["none"] * 300})
    release = sf.publish(sf.read(rows, schema), sf.NoisyTable(4, threshold=threshold))
    assert release.noise_lines == pytest.approx(noise, rel=0.05)  # 501 cells, e^-4t / (1 + e^-4)
    for counts in (False, True):
        out = tmp_path / str(counts)
        release.save(out, allow_unaccounted=True, counts=counts)
        assert sf.Release.load(out).noise_lines == release.noise_lines
        verdict = sf.verify(out)
        assert verdict.holds
        heard = [str(verdict)] if threshold != 3 else []  # of counts from 3 on no row is unique
        for said in ((out / "dictionary.md").read_text(), release.fingerprints().describe(), *heard):
            assert ("very likely" in said) == (threshold == 3)
            assert ("may be a record or noise: up to 9.0" in said) == (threshold != 3)


def test_rows_drawn_from_a_model_are_not_called_records(tmp_path) -> None:
    """Of TargetRows it was said that a row is very likely a record, and that small counts are not reported."""
    schema = sf.Schema.parse(tomllib.loads(SCHEMA.replace('role = "sensitive"', 'role = "target"')))
    rows = pl.DataFrame({"town": ["a", "b"] * 150, "illness": ["flu"] * 300})
    release = sf.publish(sf.read(rows, schema), sf.TargetRows(30))
    release.save(tmp_path / "out", allow_unaccounted=True)
    written, verdict = (tmp_path / "out" / "dictionary.md").read_text(), sf.verify(tmp_path / "out")
    assert verdict.holds
    assert not release.practically_exact
    for said in (written, str(verdict), release.fingerprints().describe(), *form_notes(release)):
        assert "very likely" not in said
        assert "not reported" not in said
        assert "counts carry noise" not in said
    assert "drawn from a model, not copied" in written


@pytest.mark.parametrize(("epsilon", "exact"), [(2, False), (50, True)])
def test_a_model_of_practically_exact_tables_is_warned_of(epsilon, exact, tmp_path) -> None:
    """At a large epsilon most rows that were drawn were records, and nothing said so."""
    schema = sf.Schema.parse(tomllib.loads(SCHEMA))
    rows = pl.DataFrame({"town": ["a", "b"] * 150, "illness": ["flu"] * 300})
    release = sf.publish(sf.read(rows, schema), sf.Marginals(epsilon))
    release.save(tmp_path / "out", allow_unaccounted=True)
    warned = [note for note in sf.plan(schema, sf.Marginals(epsilon)).notes if note.startswith("Warning: ")]
    written = (tmp_path / "out" / "dictionary.md").read_text()
    assert any("practically exact" in note for note in warned) == exact
    assert ("rare combinations may be published as they are" in written) == exact
    assert "begin and end" not in written  # no cell is made coarser
    assert sf.verify(tmp_path / "out").holds
