"""One population under two names: releases of the same people are found beside each other, of every kind."""

from __future__ import annotations

import pickle
import warnings

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.ledger import near_names

DELFT = "Clinic Delft 2025"


def schema_of(population):
    described = {
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 60], "step": 10, "source": "public"},
        "ill": {"role": "sensitive", "values": ["flu", "gout"], "source": "public"},
    }
    return sf.Schema.parse(
        {"name": "t", "population": population, "rows_per_person": 1, "rows": 400, "attribute": described}
    )


def table(population):
    rows = {"age": [20 + at % 40 for at in range(400)], "ill": [("flu", "gout")[at * 7 % 11 % 2] for at in range(400)]}
    return sf.read(pl.DataFrame(rows), schema_of(population))


@pytest.mark.parametrize(
    "second", ["Delft clinic 2025", "clinic-delft-25", "2025, CLINIC Delft", "\u0441linic delft 25"]
)
def test_a_second_partition_of_the_same_people_needs_a_yes_under_any_order_of_words(second, tmp_path):
    book = tmp_path / "ledger.db"
    sf.publish(table(DELFT), sf.Mondrian(sf.KAnonymity(5)), ledger=book, save_to=tmp_path / "a")
    again = {"ledger": book, "save_to": tmp_path / "b"}
    with (
        pytest.warns(sf.errors.PublicationWarning, match="also has a population clinic-delft-2025, similar to"),
        pytest.raises(sf.ReleaseError, match="an earlier release of the same people"),
    ):
        sf.publish(table(second), sf.Mondrian(sf.KAnonymity(8)), **again)
    assert not (tmp_path / "b").exists()
    assert [folder.name for folder in sf.Ledger(book).saved_folders(second)] == ["a"]
    with pytest.warns(sf.errors.PublicationWarning):
        sf.publish(table(second), sf.Mondrian(sf.KAnonymity(8)), allow_repeated=True, **again)


@pytest.mark.parametrize("method", [sf.Mondrian(sf.KAnonymity(5)), sf.NoisyTable(1)], ids=["checked", "proved"])
def test_other_people_are_not_asked_about(method, tmp_path):
    book = tmp_path / "ledger.db"
    sf.publish(table(DELFT), sf.Mondrian(sf.KAnonymity(5)), ledger=book, save_to=tmp_path / "a")
    with warnings.catch_warnings():
        warnings.simplefilter("error", sf.errors.PublicationWarning)
        for name in ("labpeople", "Clinic Breda 2025"):
            sf.publish(table(name), method, ledger=book)


def test_the_command_warns_for_every_kind_and_offers_no_other_people(tmp_path):
    book, place = tmp_path / "ledger.db", tmp_path / "t.csv"
    sf.Ledger(book).limit("labpeople", 5)
    sf.Ledger(book).limit(DELFT, 5)
    pl.DataFrame({"age": [20 + at % 40 for at in range(400)], "ill": ["flu", "gout"] * 200}).write_csv(place)
    text = (
        'name = "t"\npopulation = "Delft clinic 25"\nrows_per_person = 1\nrows = 400\n'
        '[attribute.age]\nrole = "quasi"\nkind = "numeric"\nrange = [20, 60]\nstep = 10\nsource = "public"\n'
        '[attribute.ill]\nrole = "sensitive"\nvalues = ["flu", "gout"]\nsource = "public"\n'
    )
    (tmp_path / "s.toml").write_text(text)
    for at, asked in enumerate((["mondrian", "--k", "5"], ["noisy-table", "--epsilon", "1"])):
        words = ["publish", asked[0], str(place), str(tmp_path / "s.toml"), *asked[1:], "--ledger", str(book)]
        done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / f"out{at}")])
        said = " ".join(done.stderr.split())
        assert "the ledger also has a population clinic-delft-2025, similar to" in said, asked
        assert "labpeople" not in said


@pytest.mark.parametrize("method", [sf.Mondrian(sf.KAnonymity(5)), sf.NoisyTable(1)], ids=["checked", "proved"])
def test_names_of_two_months_are_asked_about(method, tmp_path):
    """claims_2024_01 and claims_2024_02, names of files, were two populations, and nothing was said."""
    book = tmp_path / "ledger.db"
    sf.publish(table("claims_2024_01"), method, ledger=book)
    with pytest.warns(sf.errors.PublicationWarning, match="also has a population claims-2024-01, similar to claims"):
        sf.publish(table("claims_2024_02"), method, ledger=book)
    sf.Ledger(book).limit("claims_2024_03", 5)  # somebody said that it is one of its own
    assert sf.Ledger(book).name_warnings("claims_2024_03") == []


def test_a_name_in_another_script_has_no_budget_of_its_own(tmp_path):
    """With a Cyrillic letter for a Latin one the same people had a second budget."""
    book = sf.Ledger(tmp_path / "ledger.db")
    book.limit("clinic", 1)
    with pytest.raises(sf.ParameterError, match="looks like clinic, which the ledger knows, with letters of another"):
        sf.publish(table("\u0441linic"), sf.NoisyTable(1), ledger=tmp_path / "ledger.db")
    assert book.populations() == ["clinic"]
    book.limit("\u043a\u043b\u0438\u043d\u0438\u043a\u0430", 1)  # a name of its own


def test_near_names_by_hand():
    known = ["clinic-delft-2025", "labpeople", "clinic-delft-2024", "hospital"]
    for name, near in {
        "delft-clinic": ["clinic-delft-2025", "clinic-delft-2024"],
        "clinik-delft-2025": ["clinic-delft-2025"],
        "clinic-delft-2023": ["clinic-delft-2025", "clinic-delft-2024"],
        "hospital": [],
        "people": [],
        "2025": ["clinic-delft-2025"],
    }.items():
        assert near_names(name, known) == near, name


def test_a_limit_without_a_delta_says_why_a_delta_does_not_fit(tmp_path):
    """16 of 100 were spent and 1 more was refused; nothing said that the limit has no delta."""
    book = sf.Ledger(tmp_path / "ledger.db")
    book.limit(DELFT, 100)
    claim = sf.Marginals(1, delta="1e-6").claim(schema_of(DELFT))
    with pytest.raises(sf.BudgetExceeded, match="the limit allows no delta, and this release has one") as refused:
        book.reserve(DELFT, claim, sf.Marginals(1, delta="1e-6"))
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    book.limit(DELFT, 100, "1e-9")
    with pytest.raises(sf.BudgetExceeded, match=r"allows delta (1e-09|0.000000001) in all, and with this release it"):
        book.reserve(DELFT, claim, sf.Marginals(1, delta="1e-6"))
    with pytest.raises(sf.BudgetExceeded) as refused:
        book.reserve(DELFT, sf.NoisyTable(101).claim(schema_of(DELFT)), sf.NoisyTable(101))
    assert "delta" not in str(refused.value)
