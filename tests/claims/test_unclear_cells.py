"""Days and numbers that no cell of a file settles are named, whether or not a draft's question was deleted."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyreadstat
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.counts import unclear_cells

K5 = sf.Mondrian(sf.KAnonymity(5))
ILL = {"role": "sensitive", "values": ["a", "b", "c"]}


def table(column, cells):
    schema = sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": {"seen": column, "ill": ILL}})
    frame = pl.DataFrame({"seen": cells, "ill": ["abc"[at // 3 % 3] for at in range(len(cells))]})
    return sf.read(frame, schema)


def dates(form, cells):
    return table({"role": "quasi", "kind": "date", "range": ["2020-01-01", "2021-01-01"], "format": form}, cells)


def number(cells, **form):
    return table({"role": "quasi", "kind": "numeric", "range": [0, 100000], "step": "0.001", **form}, cells)


def named(read):
    return [problem.path for problem in read.doubts.unclear()]


OPEN = [f"{1 + at % 12:02}/{1 + at % 11:02}/2020" for at in range(60)]


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%m/%d/%Y"])
def test_dates_that_nothing_settles_are_named(form, tmp_path):
    read = dates(form, OPEN)
    assert named(read) == ["attribute.seen"]
    assert "attribute.seen" in [problem.path for problem in read.doubts.remarks()]
    sf.publish(read, K5, save_to=tmp_path / "out")
    assert "no cell of the file rules out" in (tmp_path / "out" / "dictionary.md").read_text("utf-8")


@pytest.mark.parametrize(("form", "cell"), [("%d/%m/%Y", "31/01/2020"), ("%m/%d/%Y", "01/31/2020")])
def test_one_cell_settles_it(form, cell):
    assert named(dates(form, [*OPEN, cell])) == []


def test_days_that_are_the_same_both_ways_or_written_as_iso_are_clear():
    assert named(dates("%d/%m/%Y", ["03/03/2020", "04/04/2020"] * 30)) == []
    column = {"role": "quasi", "kind": "date", "range": ["2020-01-01", "2021-01-01"]}
    assert named(table(column, ["2020-03-04", "2020-05-06"] * 30)) == []


@pytest.mark.parametrize(
    ("cells", "form", "unclear"),
    [
        (["1.234", "2.500", "12.000"], {}, True),
        (["1.234", "2.5", "12.000"], {}, False),
        (["1.234", "999", "12.000"], {"decimal": ",", "thousands": "."}, True),
        (["1.234", "999,5", "12.000"], {"decimal": ",", "thousands": "."}, False),
        (["1,234", "2,500", "12,000"], {"thousands": ","}, True),
        (["1,234", "2,500", "12,5"], {"decimal": ","}, False),
        (["1", "2", "3"], {}, False),
        (["€ 1.234", "€ 850", "€ 12.000"], {"thousands": ",", "units": ["€"]}, True),
        (["€ 1.234", "€ 850", "€ 12.50"], {"thousands": ",", "units": ["€"]}, False),
        (["€ 1.234", "€ 850", "€ 12.000"], {"decimal": ",", "thousands": ".", "units": ["€"]}, True),
    ],
)
def test_points_that_mark_decimals_or_thousands_are_named(cells, form, unclear):
    assert named(number(cells * 20, **form)) == (["attribute.seen"] if unclear else [])


@pytest.mark.parametrize("amount", ["€ {}", "{} €", "EUR {}", "{} kr"])
def test_points_between_thousands_of_a_currency_are_proposed_and_asked_about(amount, tmp_path):
    """The draft read "€ 2.345" as 2.345, and asked about commas that the file did not have."""
    cells = [amount.format(f"{850 + 37 * at:,}".replace(",", ".")) for at in range(90)]
    pl.DataFrame({"wage": cells}).write_csv(tmp_path / "t.csv")
    drafted = sf.draft(tmp_path / "t.csv")
    assert 'decimal = ","' in drafted
    assert 'thousands = "."' in drafted
    assert "do the points mark thousands?" in drafted
    assert "comma" not in drafted


@pytest.mark.parametrize(
    ("units", "asked"),
    [
        (["$", "€"], True),
        (["USD", "EUR"], True),
        (["€", "EUR"], False),
        (["$", "US$"], False),
        (["£"], False),
        (["SEK", "NOK"], True),
        (["SEK", "kr"], False),
    ],
)
def test_amounts_in_two_currencies_are_named(units, asked, tmp_path):
    cells = [f"{units[at % len(units)]} {200 + 10 * at}" for at in range(90)]
    pl.DataFrame({"wage": cells}).write_csv(tmp_path / "t.csv")
    assert ("units: are amounts in" in sf.draft(tmp_path / "t.csv")) == asked
    read = number(cells, units=units)
    assert named(read) == (["attribute.seen"] if asked else [])
    assert ("as if they were one currency" in str(read.doubts.unclear())) == asked
    one = number([cell.replace(units[-1], units[0]) for cell in cells], units=units)
    assert named(one) == []  # declared, but only one of them occurs


@pytest.mark.parametrize("every", [1, 2, 5])
def test_shares_beside_percentages_are_named(every, tmp_path):
    """45% and 0.45 in one column were read as two numbers a hundredfold apart, and nobody was asked or told."""
    cells = [f"{5 + at % 90}%" if at % every == 0 else f"{(5 + at % 90) / 100}" for at in range(200)]
    pl.DataFrame({"share": cells}).write_csv(tmp_path / "t.csv")
    marked = -(-200 // every)
    said = f"% stands beside the number in {marked} rows and not in {200 - marked} rows: are those percentages, too?"
    assert (said in sf.draft(tmp_path / "t.csv")) == (every > 1)
    read = number(cells, units=["%"])
    assert named(read) == (["attribute.seen"] if every > 1 else [])
    said = [one for one in read.doubts.remarks() if "numbers without it" in one.rule]
    assert [one.hint.partition(";")[0] for one in said] == [f"{200 - marked} rows have no %, {marked} have one"][
        : every - 1
    ]
    assert not any(any(map(str.isdigit, one.rule.replace("0.45", "").replace("45%", ""))) for one in said)


def test_a_bare_number_beside_an_amount_of_money_is_not_named():
    assert named(number(["$64,300", "64300"] * 30, units=["$"], thousands=",")) == ["attribute.seen"]  # of the comma
    assert "without" not in str(number(["$64", "64"] * 30, units=["$"]).doubts.unclear())


def test_only_signs_that_stand_beside_an_amount_count():
    assert named(number(["C$ 5", "C$ 6"] * 30, units=["$", "C$"])) == []
    assert named(number(["USD 5", "EUR 6"] * 30, units=["$", "USD", "€", "EUR"])) == ["attribute.seen"]


@pytest.mark.parametrize("cells", [["$150", "$20", "$64300"], ["1.50 €", "2.5 €"]])
def test_no_mark_is_proposed_for_amounts_that_every_form_reads_alike(cells, tmp_path):
    """Another order of the forms would have made a decimal comma of it; a comma between thousands was proposed."""
    pl.DataFrame({"wage": [*cells, *(f"${at}" if "$" in cells[0] else f"{at}.5 €" for at in range(60))]}).write_csv(
        tmp_path / "t.csv"
    )
    drafted = sf.draft(tmp_path / "t.csv")
    assert "thousands =" not in drafted
    assert "decimal =" not in drafted


def test_numbers_with_labels_are_named(tmp_path):
    """The labels that SPSS keeps for numbers of a scale variable were thrown away without a word."""
    path, measure = tmp_path / "t.sav", {"seen": "scale"}
    frame = pd.DataFrame({"seen": [0.0, 5.0, 10.0] * 10, "ill": ["a", "b", "c"] * 10})
    labels = {"seen": {0: "extremely left", 10: "extremely right", 5: "5"}}
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, variable_measure=measure)
    column = {"role": "quasi", "kind": "numeric", "range": [0, 11]}
    said = []
    for missing in ([], ["0"], ["0", "10.0"]):
        held = {"seen": {**column, **({"missing": missing} if missing else {})}, "ill": ILL}
        known = sf.read(path, sf.Schema.parse({"name": "t", "rows_per_person": 1, "attribute": held}))
        said.append([(one.path, one.rule) for one in known.doubts.unclear()])
    rules = [
        "2 numbers have labels in the file, which are not read",
        "1 number has a label in the file, which is not read",
    ]
    assert said == [[("attribute.seen", rules[0])], [("attribute.seen", rules[1])], []]


def test_mutants_are_caught(monkeypatch):
    """One that asks no second form, and one that takes a single doubtful cell for a doubtful column."""
    monkeypatch.setattr(unclear_cells, "_open", lambda *_: False)
    assert named(dates("%d/%m/%Y", OPEN)) == []
    some = lambda texts, one, two: any(two(text) not in (None, one(text)) for text in texts)  # noqa: E731
    monkeypatch.setattr(unclear_cells, "_open", some)
    assert named(dates("%d/%m/%Y", [*OPEN, "31/01/2020"])) != []


def test_a_draw_says_nothing_of_its_cells():
    column = {"role": "quasi", "kind": "date", "range": ["2020-01-01", "2021-01-01"], "format": "%d/%m/%Y"}
    public = {"source": "public"}
    schema = sf.Schema.parse(
        {"name": "t", "rows_per_person": 1, "attribute": {"seen": {**column, **public}, "ill": {**ILL, **public}}}
    )
    frame = pl.DataFrame({"seen": OPEN, "ill": ["a", "b", "c"] * 20})
    release = sf.publish(sf.read(frame, schema), sf.NoisyTable(1), seed=1, allow_noise=True)
    assert not any("no cell" in note for note in release.notes)


def test_the_commands_say_it_although_the_question_is_gone(tmp_path):
    lines = [f"{cell},{'abc'[at // 3 % 3]}" for at, cell in enumerate(OPEN)]
    (tmp_path / "d.csv").write_text("\n".join(["seen,ill", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(
        'name = "t"\nrows_per_person = 1\n[attribute.seen]\nrole = "quasi"\nkind = "date"\n'
        'range = ["2020-01-01", "2021-01-01"]\nformat = "%d/%m/%Y"\n'
        '[attribute.ill]\nrole = "sensitive"\nvalues = ["a", "b", "c"]\n'
    )
    files = [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    run = CliRunner().invoke
    said = "no cell of the file rules out month/day/year"
    assert said in " ".join(run(app, ["check", *files]).output.split())
    done = run(app, ["publish", "mondrian", *files, "--k", "5", "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert said in " ".join(done.output.split())
