"""A release under differential privacy is never withheld by what the data say of it, and no failure after a draw asks
the data.

`--against X --refuse` on a differentially private method lost 10.7 under a claim of 0.1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from tests.claims.small_worlds import small_table

import sfumato as sf
from sfumato.attacks.audit import laplace_counts
from sfumato.attacks.composing import against as composition_against
from sfumato.claims import Claim, Neighbours
from sfumato.cli.notes import table_warnings
from sfumato.counts import Table
from sfumato.counts.doubts import Doubts
from sfumato.schema import Schema

WORLD = {
    "name": "veto",
    "attribute": {
        "town": {"role": "quasi", "kind": "nominal", "values": ["a", "b"]},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "hiv"]},
    },
}
EPSILON = Fraction(1, 10)


def outcomes(top: int):
    """Every release of the four cells (town, ill), counts above `top` taken together."""
    return product((None, *range(1, top + 1)), repeat=4)


def chance(counts, outcome, top: int) -> Decimal:
    found = Decimal(1)
    for count, value in zip(counts, outcome, strict=True):
        if value == top:
            found *= sum(laplace_counts(count, v, EPSILON, 1) for v in (None, *range(1, top))) * -1 + 1
        else:
            found *= laplace_counts(count, value, EPSILON, 1)
    return found


def vetoed(outcome, people) -> bool:
    """The rule of --refuse: someone's own value is among fewer than two that the released cells leave them."""
    for town, ill in people:
        left = [v for v in range(2) if outcome[2 * town + v] is not None]
        if ill in left and len(left) < 2:
            return True
    return False


def law(people, top: int, *, veto: bool) -> dict:
    counts = [sum(1 for person in people if person == cell) for cell in product(range(2), repeat=2)]
    found: dict = {}
    for outcome in outcomes(top):
        key = "nothing" if veto and vetoed(outcome, people) else outcome
        found[key] = found.get(key, Decimal(0)) + chance(counts, outcome, top)
    return found


def loss(one: dict, other: dict) -> float:
    worst = 0.0
    for key in one.keys() | other.keys():
        p, q = one.get(key, Decimal(0)), other.get(key, Decimal(0))
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            worst = max(worst, abs(float((p / q).ln())))
    return worst


def test_a_veto_breaks_the_claim_by_exact_law():
    """All outputs of four cells: as drawn the loss is epsilon; withheld by the data, an output tells who is in."""
    people, extra = [(0, 0), (0, 1)], (1, 1)
    as_drawn = [law(rows, 3, veto=False) for rows in (people, [*people, extra])]
    with_veto = [law(rows, 3, veto=True) for rows in (people, [*people, extra])]
    assert all(abs(sum(found.values()) - 1) < Decimal("1e-20") for found in (*as_drawn, *with_veto))
    assert loss(*as_drawn) <= float(EPSILON) + 1e-12
    assert loss(*with_veto) == math.inf  # the mutant: what --refuse used to do


PROVED = (
    Claim(sf.PureDP(1), neighbours=Neighbours.ADD_OR_REMOVE_ONE),
    Claim(sf.ApproxDP(1, delta=Fraction(1, 100)), neighbours=Neighbours.ONE_ORIGIN),
    Claim(sf.ProbabilisticDP(1, delta=Fraction(1, 100)), neighbours=Neighbours.ONE_ORIGIN),
)


@pytest.mark.parametrize("claim", PROVED, ids=str)
def test_every_proved_claim_refuses_a_veto(claim):
    with pytest.raises(sf.ParameterError, match="cannot withhold"):
        claim.refuse_veto("--refuse")


def test_a_claim_that_is_checked_on_the_file_may_be_withheld():
    Claim(sf.KAnonymity(3)).refuse_veto("--refuse")


@pytest.mark.parametrize("seed", range(6))
def test_no_release_under_a_proved_claim_can_be_vetoed(seed):
    """Whatever the table and the draw, `require` gives one answer: a failure cannot tell anything about the rows."""
    table = small_table(seed, rows=12).with_roles(sensitive="ill", target=[])
    new, old = (sf.publish(table, sf.NoisyTable(2), seed=at, allow_noise=True) for at in (seed, 50 + seed))
    found = composition_against.against(new, old, table, d=2)
    with pytest.raises(sf.ParameterError, match="require = given: cannot withhold"):
        found.require()


def test_a_mutant_that_asks_the_data_first_is_caught():
    """The order matters: `holds` before the claim would make the failure a function of the rows."""
    answers = set()
    for seed in range(30):
        table = small_table(seed, rows=12).with_roles(sensitive="ill", target=[])
        new, old = (sf.publish(table, sf.NoisyTable(2), seed=at, allow_noise=True) for at in (seed, 50 + seed))
        found = composition_against.against(new, old, table, d=2)
        answers.add(found.holds)  # what the mutant would return on
    assert answers == {True, False}


def test_no_draw_is_made_when_a_veto_is_asked_for(tmp_path):
    """By command: before data are read, before the ledger reserves, before anything is drawn."""
    from sfumato.cli.main import main

    lines = ['name = "veto"']
    for name, role, values in (("town", "quasi", ["a", "b"]), ("ill", "sensitive", ["flu", "hiv"])):
        lines += [f"[attribute.{name}]", f'role = "{role}"', 'kind = "nominal"', f"values = {values}"]
        lines += ['source = "public"']
    (tmp_path / "s.toml").write_text("\n".join(lines).replace("'", '"'), "utf-8")
    book = tmp_path / "book.db"
    sf.Ledger(book).limit("veto", 1)
    for method in (("noisy-table",), ("diffgen", "--recommended")):
        for dry in ((), ("--dry-run",)):
            asked = [
                "publish",
                *method,
                tmp_path / "absent.csv",
                tmp_path / "s.toml",
                "--epsilon",
                "1",
                "--ledger",
                book,
            ]
            asked += ["--against", tmp_path / "absent", "--refuse", "-o", tmp_path / "out", *dry]
            with pytest.raises(SystemExit) as stopped:
                main([str(part) for part in asked])
            assert stopped.value.code == 2
    assert not (tmp_path / "out").exists()
    assert sf.Ledger(book).entries() == []


def test_what_was_drawn_is_saved_even_where_the_look_back_fails(tmp_path, capsys, monkeypatch):
    """Whatever the comparison raises, once something was drawn: a warning, and the release is there."""
    from sfumato.cli.main import main

    text = ['name = "veto"']
    for name, role, values in (("town", "quasi", '["a", "b"]'), ("ill", "sensitive", '["flu", "hiv"]')):
        text += [f"[attribute.{name}]", f'role = "{role}"', 'kind = "nominal"', f"values = {values}"]
        text += ['source = "public"']
    (tmp_path / "s.toml").write_text("\n".join(text), "utf-8")
    rows = np.array([[0, 0], [1, 1], [0, 1]] * 10)
    lines = ["town,ill", *(f"{'ab'[town]},{('flu', 'hiv')[ill]}" for town, ill in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines), "utf-8")
    sf.publish(Table.from_codes(Schema.parse(WORLD), rows), sf.Suppress()).save(tmp_path / "old")

    def failing(*_):
        raise sf.NotComparable("this draw cannot be compared.")

    monkeypatch.setattr(sf.attacks, "against", failing)
    asked = ["publish", "noisy-table", tmp_path / "d.csv", tmp_path / "s.toml", "--epsilon", 1, "-o", tmp_path / "out"]
    asked += ["--ledger", tmp_path / "ledger.db"]
    with pytest.raises(SystemExit) as stopped:
        main([str(part) for part in [*asked, "--against", tmp_path / "old"]])
    assert stopped.value.code == 0
    assert "the release is saved, but could not be tried" in capsys.readouterr().err
    assert sf.verify(tmp_path / "out").holds


ROWS = Schema.parse({**WORLD, "source": "public", "rows_per_person": 1, "rows": 60})


@pytest.mark.parametrize("day", [6_700_000, 2**31 - 2, -100_000_000])
def test_a_day_that_python_does_not_have_stops_nothing(day):
    """One day after the year 9999, even in a column without a role, ended `check`, `publish` and its warnings."""
    frame = pl.DataFrame({"town": ["a", "b"] * 30, "ill": ["flu", "hiv", "hiv"] * 20})
    frame = frame.with_columns(seen=pl.Series([day, *range(29)] * 2, dtype=pl.Int32).cast(pl.Date))
    sf.check(frame, ROWS)
    table = sf.read(frame, ROWS)
    table_warnings(table, sf.NoisyTable(4).claim(ROWS))
    assert sf.publish(table, sf.NoisyTable(4), allow_noise=True).claim.kind == "proved"
    keyed = replace(ROWS, person=("seen",))
    assert sf.read(frame, keyed).doubts.remarks() is not None
    assert sf.check(frame, keyed) is not None


def test_a_look_at_the_rows_that_fails_is_no_veto(monkeypatch):
    """An error in a warning about the rows ended the command, so that nothing was published."""
    table = sf.read(pl.DataFrame({"town": ["a", "b"] * 30, "ill": ["flu", "hiv", "hiv"] * 20}), ROWS)

    def fails(_):
        raise ValueError("a cell")

    for name in ("of_classes", "suspected_keys", "unclear", "rounded", "related"):
        monkeypatch.setattr(Doubts, name, fails)
    said = table_warnings(table, sf.NoisyTable(4).claim(ROWS))
    assert len(said) == 5
    assert all(one.startswith("confidential, not covered by the claim: the rows could not") for one in said)
    with pytest.raises(sf.ReadError, match="ValueError"):
        table_warnings(table, sf.Mondrian(sf.KAnonymity(2)).claim(ROWS))
