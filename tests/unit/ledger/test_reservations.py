from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.ledger import Cost, Ledger
from sfumato.randomness import Entropy

ADD, REPLACE, ORIGIN = sf.Neighbours.ADD_OR_REMOVE_ONE, sf.Neighbours.REPLACE_ONE, sf.Neighbours.ONE_ORIGIN
HALF = sf.Claim(sf.PureDP("1/2"), neighbours=ADD)


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "ledger.db")


def states(book):
    return [entry.state for entry in book.entries()]


# -- the ledger by itself --------------------------------------------------------------------


def test_amounts_are_kept_exactly(book):
    book.limit("people", 1)
    third = sf.Claim(sf.PureDP("1/3"), neighbours=ADD)
    for _ in range(3):
        book.reserve("people", third, "m").spend()
    assert book.totals("people").combined == Cost(Fraction(1))
    assert book.totals("people").left == Cost(Fraction(0))
    with pytest.raises(sf.BudgetExceeded) as caught:
        book.reserve("people", sf.Claim(sf.PureDP("1/1000000000000000000000"), neighbours=ADD), "m")
    assert (caught.value.spent, caught.value.limit) == (1, 1)
    assert caught.value.asked == Fraction(1, 10**21)
    assert len(book.entries()) == 3


def test_what_is_reserved_counts_as_spent_until_a_person_decides(book):
    book.limit("people", "1/2")
    lost = book.reserve("people", HALF, "m")
    with pytest.raises(sf.BudgetExceeded):
        book.reserve("people", HALF, "m")
    with pytest.raises(sf.ParameterError, match="why"):
        book.resolve(lost.entry, "refunded", note=" ")
    book.resolve(lost.entry, "refunded", note="the machine was off before it started")
    assert book.totals("people").combined == Cost(Fraction(0))
    book.reserve("people", HALF, "m").spend()
    with pytest.raises(sf.ParameterError, match="refunded already"):
        book.resolve(lost.entry, "spent", note="again")
    assert [entry.note for entry in book.entries()] == ["the machine was off before it started", ""]


def test_refund_only_before_the_first_draw(book):
    entropy = Entropy.seeded(1)
    account = book.reserve("people", HALF, "m")
    entropy.word()
    with pytest.raises(sf.ParameterError, match="what was drawn stays spent"):
        account.refund(drew=entropy.drew)
    assert states(book) == ["reserved"]
    account.spend()
    with pytest.raises(sf.ParameterError, match="cannot be refunded"):
        account.refund(drew=False)
    other = book.reserve("people", HALF, "m")
    other.refund(drew=Entropy.seeded(1).drew)
    assert states(book) == ["spent", "refunded"]
    assert book.totals("people").combined == Cost(Fraction(1, 2))


def test_what_was_refunded_behind_its_back_and_drawn_all_the_same_is_spent(book):
    account = book.reserve("people", HALF, "m")
    book.resolve(account.entry, "refunded", note="mistaken: the process runs")
    with pytest.raises(sf.ParameterError, match="refunded while it was in use"):
        account.spend()
    assert states(book) == ["spent"]
    again = book.reserve("people", HALF, "m")
    book.resolve(again.entry, "refunded", note="mistaken again")
    again.failed(drew=True)
    assert states(book) == ["spent", "spent"]


def test_spending_twice_costs_once(book):
    account = book.reserve("people", HALF, "m")
    account.spend()
    account.spend()
    account.failed(drew=False)
    assert states(book) == ["spent"]
    assert book.totals("people").combined == Cost(Fraction(1, 2))


def test_parts_share_the_whole_and_nothing_else(book):
    book.declare_parts("country", ["north", "south"])
    book.limit("country", 1)
    for part in ("north", "south"):
        book.reserve(part, HALF, "m").spend()
    assert book.totals("country").combined == Cost(Fraction(1, 2))
    book.reserve("country", HALF, "m").spend()
    for part in ("north", "south"):
        assert book.totals(part).combined == Cost(Fraction(1))
        with pytest.raises(sf.BudgetExceeded):
            book.reserve(part, HALF, "m")


def test_parts_form_a_tree(book):
    book.declare_parts("country", ["north", "south"])
    book.declare_parts("north", "n1")
    book.declare_parts("north", ["n1", "n2"])  # saying it again does no harm
    for parent, part in (("n1", "country"), ("n1", "n1"), ("abroad", "south")):
        with pytest.raises(sf.ParameterError, match="part of"):
            book.declare_parts(parent, [part])
    assert book.totals("n2").combined == Cost(Fraction(0))
    with pytest.raises(sf.ParameterError, match="not in the ledger"):
        book.totals("nowhere")


def test_releases_without_epsilon_are_listed_and_cost_nothing(book):
    book.limit("people", "1/10")
    book.reserve("people", sf.Claim(sf.KAnonymity(10) & sf.TCloseness(0.2)), sf.Suppress()).spend()
    book.reserve("people", sf.Claim(sf.Linkable(4, alpha=0.8, base=sf.KAnonymity(10))), "dlink").spend()
    first, second = book.entries("people")
    assert first.promise == sf.KAnonymity(10) & sf.TCloseness(0.2)
    assert first.mechanism == {"name": "suppress"}
    assert second.cost is None
    assert second.to_json()["epsilon"] is None
    assert book.totals("people").spent == {}
    assert book.entries("others") == []


@pytest.mark.parametrize("bad", [("", 1, 0), ("people", 0, 0), ("people", "x", 0), ("people", 1, 1), ("people", 1, -1)])
def test_limits_are_checked(book, bad):
    with pytest.raises(sf.ParameterError):
        book.limit(*bad)


def test_values_go_through_json(book):
    book.limit("people", 9, 1e-5)
    book.reserve("people", sf.Claim(sf.ApproxDP("1/3", delta=1e-6), neighbours=ORIGIN), "m").spend()
    answer = json.loads(json.dumps([book.totals("people").to_json(), book.entries()[0].to_json()]))
    assert answer[0]["spent"] == {"one-origin": {"epsilon": "1/3", "delta": "1/1000000"}}
    assert answer[0]["left"] == {"epsilon": "26/3", "delta": "9/1000000"}
    assert answer[1]["epsilon"] == "1/3"
    assert answer[1]["promise"]["kind"] == "approx-dp"


# -- publish ---------------------------------------------------------------------------------


def test_publish_reserves_then_spends(book, table, costing, tmp_path):
    book.limit("patients", 1)
    seen = []

    class Watching(costing):
        def apply(self, counts, entropy):
            seen.extend((states(book), entropy.drew))
            return super().apply(counts, entropy)

    release = sf.publish(table, Watching(sf.PureDP(1)), ledger=tmp_path / "ledger.db")
    assert seen == [["reserved"], False]
    assert states(book) == ["spent"]
    assert release.claim.accounted
    with pytest.raises(sf.BudgetExceeded) as caught:
        sf.publish(table, costing(sf.PureDP("1/100")), ledger=str(tmp_path / "ledger.db"))
    assert (caught.value.spent, caught.value.asked, caught.value.limit) == (1, Fraction(1, 100), 1)
    assert not sf.publish(table, costing(sf.PureDP(1))).claim.accounted


def test_save_records_the_folder_and_costs_nothing(book, table, costing, tmp_path):
    release = sf.publish(table, costing(sf.PureDP(1)), ledger=book)
    release.save(tmp_path / "first")
    release.save(tmp_path / "deeper" / "second", format="csv")
    (entry,) = book.entries()
    assert entry.saved == ("first", "deeper/second")  # seen from where the ledger lies
    assert entry.mechanism == {"name": "costing", "half": "1/2"}  # and no seed
    assert book.totals("patients").combined == Cost(Fraction(1))
    assert sf.Release.load(tmp_path / "first").account is None
    manifest = (tmp_path / "first" / "manifest.json").read_text()
    assert '"accounted": true' in manifest
    assert "ledger.db" not in manifest
    assert str(tmp_path) not in (tmp_path / "ledger.db").read_bytes().decode("latin-1")


def test_a_failure_before_the_first_draw_refunds(book, table, costing):
    with pytest.raises(sf.Infeasible):
        sf.publish(table, costing(sf.PureDP(1), fails="before"), ledger=book)
    assert states(book) == ["refunded"]
    with pytest.raises(sf.ParameterError):  # before the mechanism is even asked
        sf.publish(uncountable(table), costing(sf.PureDP(1)), ledger=book)
    assert states(book) == ["refunded", "refunded"]


def uncountable(table):
    def counts(names):
        raise sf.ParameterError("names", "x", "was asked to fail")

    return stand_in(table.schema, counts)


def stand_in(schema, counts, **more):
    """What `publish` asks of a table, without one."""
    return SimpleNamespace(
        schema=schema,
        counts=counts,
        left_out=0,
        surplus=0,
        guesses=(),
        doubts=SimpleNamespace(
            refuse_repeated_keys=lambda: None,
            refuse_copies=lambda: None,
            refuse_suspected_keys=lambda: None,
            of_classes=lambda **_: (),
            two_people=lambda **_: (),
            unclear=lambda: (),
        ),
        close=lambda: None,
        engine=None,
        held=True,
        backend="polars",
        **more,
    )


@pytest.mark.parametrize("seed", [None, 3])
def test_a_failure_after_the_first_draw_stays_spent(book, table, costing, seed):
    with pytest.raises(RuntimeError):
        sf.publish(table, costing(sf.PureDP(1), fails="after"), ledger=book, seed=seed)
    assert states(book) == ["spent"]
    assert book.totals("patients").combined == Cost(Fraction(1))


def test_a_rehearsal_is_charged_like_any_other(book, table, costing):
    assert sf.publish(table, costing(sf.PureDP(1)), ledger=book, seed=1).claim.rehearsal
    (entry,) = book.entries()
    assert entry.rehearsal
    assert entry.counts


def test_a_release_that_came_out_dearer_than_reserved_is_kept_back(book, table, costing):
    with pytest.raises(sf.ParameterError, match="not what was reserved"):
        sf.publish(table, costing(sf.PureDP(1), comes_out_as=sf.PureDP(2)), ledger=book)
    (entry,) = book.entries()
    assert entry.state == "spent"
    assert "pure-dp(2)" in entry.note


def test_a_claim_without_epsilon_may_be_refined(book, table, costing):
    given = costing(sf.KAnonymity(2), neighbours=None, comes_out_as=sf.KAnonymity(3))
    release = sf.publish(table, given, ledger=book)
    assert release.claim.accounted
    assert book.entries()[0].promise == sf.KAnonymity(3)


def test_the_population_is_the_schemas(book, table):
    sf.publish(table, sf.Suppress(), ledger=book)
    unnamed = stand_in(
        replace(table.schema, population=""),
        table.counts,
        derived=lambda: (),
        held_values=lambda *_, **__: {},
    )
    sf.publish(unnamed, sf.Suppress(), ledger=book)
    assert [entry.population for entry in book.entries()] == ["patients", "clinic"]


def long_fractions():
    """Twenty parameters as long as may be, without a common divisor: their sum has thousands of digits."""
    return [f"1/{10**399 + 2 * at + 1}" for at in range(20)]


def test_a_ledger_stays_readable_after_many_long_fractions(book):
    exact = Fraction(0)
    for text in long_fractions():
        book.reserve("people", sf.Claim(sf.ApproxDP(text, delta=text), neighbours=ADD), "m").spend()
        exact += Fraction(text)
    book.limit("people", "1/1" + "0" * 390, "1/10")
    totals = book.totals("people")
    shown = json.loads(json.dumps(totals.to_json()))["combined"]
    assert exact <= Fraction(shown["epsilon"]) <= exact * (1 + Fraction(1, 10**20))
    assert str(totals.combined)
    assert totals.left.epsilon <= Fraction(1, 10**390) - exact
    with pytest.raises(sf.BudgetExceeded) as caught:
        book.reserve("people", sf.Claim(sf.PureDP(1), neighbours=ADD), "m")
    assert str(caught.value)


def test_what_is_left_is_never_rounded_up(book):
    book.limit("people", 1)
    exact = Fraction(1)
    for text in long_fractions():
        book.reserve("people", sf.Claim(sf.PureDP(text), neighbours=ADD), "m").spend()
        exact -= Fraction(text)
    assert 1 - Fraction(1, 10**25) <= book.totals("people").left.epsilon <= exact


@pytest.mark.parametrize(
    "number", [10**5000, 10**400, Fraction(1, 10**5000), "1/1" + "0" * 400, "9" * 500], ids=list("abcde")
)
def test_a_number_of_hundreds_of_digits_is_refused(book, number):
    for use in (sf.NoisyTable, sf.KAnonymity, sf.PureDP, lambda given: book.limit("people", given)):
        with pytest.raises(sf.ParameterError):
            use(number)


def test_parts_nested_in_thousands_are_added_up():
    from sfumato.ledger.composition import Charge, PopulationTree, check, totals

    names = [f"p{at}" for at in range(5000)]
    tree = PopulationTree(
        {"p0": None, **dict(zip(names[1:], names[:-1], strict=True))}, limits={"p0": Cost(Fraction(10))}
    )
    charges = [Charge(name, neighbours=ADD, cost=Cost(Fraction(1))) for name in (names[0], names[-1], names[2500])]
    assert totals(tree, "p0", charges).combined == Cost(Fraction(3))
    assert list(tree.below("p4990")) == names[4991:]
    check(tree, charges, Charge("p4999", neighbours=ADD, cost=Cost(Fraction(7))))
    with pytest.raises(sf.BudgetExceeded):
        check(tree, charges, Charge("p4999", neighbours=ADD, cost=Cost(Fraction(8))))


def test_a_limit_that_is_exceeded_already_says_in_what(tmp_path):
    """Epsilon 6 was said to be left, and a release without delta was refused since it "has one"."""
    path = tmp_path / "spent.db"
    spent = sf.Ledger(path)
    spent.reserve("people", sf.Claim(sf.ApproxDP(4, delta="1/1000"), neighbours=ADD), "m").spend()
    words = "the limit is exceeded in delta by what is already spent, so nothing is left unless one with that delta"
    with pytest.warns(UserWarning, match=f"people: {words}"):
        spent.limit("people", 10)
    totals = spent.totals("people")
    assert totals.left == Cost(Fraction(0))
    assert totals.to_json()["exceeded"] == {"people": totals.exceeded["people"]}
    assert totals.exceeded["people"].startswith(words)
    pure = sf.Claim(sf.PureDP(1), neighbours=ADD)
    with pytest.raises(sf.BudgetExceeded, match=words) as refused:
        spent.reserve("people", pure, "m")
    assert "this release has one" not in str(refused.value)
    done = CliRunner().invoke(app, ["ledger", str(path), "--population", "people", "--set-limit", "10"])
    assert "left: epsilon 0\n" in done.output
    assert words in " ".join(done.output.split())
    spent.limit("people", 10, "1/1000")
    assert not spent.totals("people").exceeded
    assert spent.totals("people").left == Cost(Fraction(6))
    assert "exceeded" not in spent.totals("people").to_json()
    spent.reserve("people", pure, "m").spend()
    with pytest.warns(UserWarning, match="the limit is exceeded in epsilon and delta by what is already spent"):
        spent.limit("people", 2)
