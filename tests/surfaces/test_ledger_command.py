"""`sfumato ledger` and `sfumato publish --ledger`: the same figures as the library."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.claims import ConcentratedDP
from sfumato.cli.main import main
from sfumato.ledger import Ledger

SCHEMA = """
name = "clinic"
source = "public"
population = "patients"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
[attribute.illness]
role = "sensitive"
values = ["flu", "gout"]
"""
ADD, REPLACE = sf.Neighbours.ADD_OR_REMOVE_ONE, sf.Neighbours.REPLACE_ONE


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return done.value.code, captured.out, captured.err

    return call


def test_publish_enters_and_the_command_lists(run, tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text("age,illness\n" + "30,flu\n40,gout\n" * 5)
    code, _, error = run("publish", "suppress", "d.csv", "s.toml", "-o", "out", "--ledger", "ledger.db")
    assert (code, error) == (0, "")
    code, out, _ = run("ledger", "ledger.db", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [(entry["population"], entry["state"], entry["saved"]) for entry in answer["entries"]] == [
        ("patients", "spent", ["out"])
    ]
    assert answer["entries"][0]["epsilon"] is None
    code, out, _ = run("ledger", "ledger.db")
    assert code == 0
    assert "suppress" in out
    assert "no epsilon spent" in out
    assert "made, no epsilon" in out
    run("publish", "mondrian", "d.csv", "s.toml", "-o", "again", "--ledger", "ledger.db", "--k", "20")
    _, out, _ = run("ledger", "ledger.db")
    assert "not made, no epsilon (failed)" in out
    assert "spent, no epsilon" not in out
    assert sf.Release.load(tmp_path / "out").claim.accounted


def test_command_and_library_say_the_same(run):
    book = Ledger("ledger.db")
    book.limit("patients", 2)
    book.reserve("patients", sf.Claim(sf.PureDP("1/3"), neighbours=ADD), "a").spend()
    book.reserve("patients", sf.Claim(sf.PureDP("1/2"), neighbours=REPLACE), "b")
    _, out, _ = run("ledger", "ledger.db", "--json", "--population", "patients")
    answer = json.loads(out)
    assert answer["populations"] == [book.totals("patients").to_json()]
    assert answer["entries"] == [entry.to_json() for entry in book.entries()]
    assert answer["populations"][0]["combined"]["epsilon"] == "7/6"
    _, out, _ = run("ledger", "ledger.db")
    for text in ("spent, add-or-remove-one: epsilon 1/3", "together, counted for replace-one: epsilon 7/6", "reserved"):
        assert text in out
    assert "limit: epsilon 2, left: epsilon 5/6\n    left is counted for replace-one\n" in out


def test_what_is_left_beside_a_concentrated_release_is_counted_by_sums(run):
    book = Ledger("ledger.db")
    book.limit("patients", 2, "1/1000")
    book.reserve("patients", sf.Claim(sf.PureDP("1/2"), neighbours=ADD), "a").spend()
    assert "left is counted" not in run("ledger", "ledger.db")[1]
    book.reserve("patients", sf.Claim(ConcentratedDP.within(1, delta="1/10000"), neighbours=ADD), "b").spend()
    _, out, _ = run("ledger", "ledger.db")
    assert "left: epsilon 0.5 (delta 0.0009)\n    left is counted by plain sums, as limits are kept\n" in out


def test_it_is_said_how_is_counted_what_a_part_that_spent_in_another_relation_leaves(run):
    """Of 10 the part had spent 1, and 8 were left: a release like its own may take 4 of them."""
    ledger = Ledger("ledger.db")
    ledger.limit("whole", 10)
    ledger.declare_parts("whole", ["a", "b", "c"])
    for part, epsilon, relation in (("a", 1, ADD), ("b", 3, REPLACE)):
        claim = sf.Claim(sf.PureDP(epsilon), neighbours=relation)
        ledger.reserve(part, claim, "test").spend(claim)
    assert ledger.refusal("a", sf.Claim(sf.PureDP(5), neighbours=ADD)) is not None
    for part, left, told in (("a", 8, True), ("b", 7, False), ("c", 10, True), ("whole", 7, True)):
        _, out, _ = run("ledger", "ledger.db", "--population", part)
        assert f"left: epsilon {left}" in out
        assert ("left is counted for replace-one" in out) is told, part


def test_the_listing_fits_into_80_columns(run):
    book = Ledger("ledger.db")
    book.limit("riverside-hospital-2025", 9, "1/1000")
    first = book.reserve("riverside-hospital-2025", sf.Claim(sf.PureDP("1/3"), neighbours=ADD), {"name": "diffgen"})
    first.spend()
    first.saved("release-of-the-spring-2025")
    costly = sf.Claim(sf.ApproxDP("12345/67891", delta="1/100000"), neighbours=REPLACE)
    book.reserve("riverside-hospital-2025", costly, {"name": "noisy-table"})
    book.reserve("other", sf.Claim(sf.KAnonymity(10) & sf.LDiversity(3)), {"name": "mondrian"}).spend()
    _, out, _ = run("ledger", "ledger.db")
    assert max(map(len, out.splitlines())) <= 80
    for text in ("saved as release-of-the-spring-2025", "reserved, epsilon 12345/67891 (delta 0.00001), replace-one"):
        assert text in out


def test_limits_parts_and_open_reservations(run):
    assert (
        run("ledger", "ledger.db", "--population", "country", "--set-limit", "1/2", "--part", "n", "--part", "s")[0]
        == 0
    )
    book = Ledger("ledger.db")
    assert book.totals("country").limit.epsilon == Fraction(1, 2)
    lost = book.reserve("n", sf.Claim(sf.PureDP("1/2"), neighbours=ADD), "a")
    assert book.totals("n").left.epsilon == 0
    assert book.totals("s").left.epsilon == Fraction(1, 2)
    assert run("ledger", "ledger.db", "--resolve", lost.entry, "--as", "refunded")[0] == 2  # no note
    assert run("ledger", "ledger.db", "--resolve", lost.entry, "--as", "refunded", "--note", "power cut")[0] == 0
    assert book.totals("n").left.epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        ("ledger.db",),
        ("ledger.db", "--set-limit", "1"),
        ("ledger.db", "--set-limit", "x", "--population", "p"),
        ("ledger.db", "--resolve", "1"),
    ],
)
def test_wrong_input_is_stated_and_makes_no_ledger(run, tmp_path, wrong):
    code, out, _ = run("ledger", *wrong, "--json")
    assert code == 2
    assert "Traceback" not in out
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize("waste", [("-o", "taken"), ("-o", "out", "--seed", "1")])
def test_nothing_is_spent_on_what_could_not_be_saved(run, tmp_path, monkeypatch, waste):
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text("age,illness\n30,flu\n")
    (tmp_path / "taken").write_text("")
    monkeypatch.setattr(sf.Suppress, "claim", lambda *_: sf.Claim(sf.PureDP(1), neighbours=ADD))
    code, out, _ = run("publish", "suppress", "d.csv", "s.toml", *waste, "--ledger", "ledger.db", "--json")
    assert (code, json.loads(out)["error"]) == (2, "ReleaseError")
    assert not (tmp_path / "ledger.db").exists()


def test_a_broken_limit_exits_with_three(run, tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "d.csv").write_text("age,illness\n30,flu\n")
    Ledger("ledger.db").limit("patients", "1/2")
    costly = sf.Claim(sf.PureDP(1), neighbours=ADD)
    monkeypatch.setattr(sf.Suppress, "claim", lambda *_: costly)
    code, out, _ = run("publish", "suppress", "d.csv", "s.toml", "-o", "out", "--ledger", "ledger.db", "--json")
    assert code == 3
    assert json.loads(out)["error"] == "BudgetExceeded"
    assert not (tmp_path / "out").exists()
    assert Ledger("ledger.db").entries() == []
