"""Columns that are published unchanged can be a fingerprint, and that is counted, said and asked."""

from __future__ import annotations

import json
import random
import tomllib
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

import sfumato as sf
from sfumato.cli.main import app
from sfumato.schema import fingerprints
from sfumato.schema.fingerprints import Fingerprints, lonely_people, lonely_rows, rows_of_few

TOML = """
name = "staff"
[attribute.age]
source = "public"
role = "quasi"
kind = "numeric"
range = [20, 70]
[attribute.grade]
source = "public"
role = "sensitive"
kind = "ordered"
values = ["g1", "g2", "g3"]
[attribute.title]
source = "public"
role = "target"
kind = "nominal"
values = [{titles}]
[attribute.salary]
source = "public"
role = "sensitive"
kind = "numeric"
range = [0, 1000]
""".format(titles=", ".join(f'"t{at}"' for at in range(30)))


def staff(tmp_path, rows: int = 200, salaries: int = 1000):
    (tmp_path / "s.toml").write_text(TOML)
    rng = np.random.default_rng(2)
    lines = [
        f"{rng.integers(20, 70)},g{rng.integers(1, 4)},t{rng.integers(0, 30)},{rng.integers(0, salaries)}"
        for _ in range(rows)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["age,grade,title,salary", *lines]) + "\n")
    schema = sf.Schema.load(tmp_path / "s.toml")
    return sf.read(tmp_path / "d.csv", schema), lines


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(1, 3)), max_size=30))
def test_equals_a_count_by_hand(lines):
    codes = np.array([line[:2] for line in lines], np.int64).reshape(-1, 2)
    weights = np.array([line[2] for line in lines], np.int64)
    by_hand = Counter()
    for one, weight in zip(codes.tolist(), weights.tolist(), strict=True):
        by_hand[tuple(one)] += weight
    assert lonely_rows(codes, weights) == sum(many == 1 for many in by_hand.values())


def test_the_release_the_file_and_a_count_by_hand_agree(tmp_path):
    table, lines = staff(tmp_path)
    for at, mechanism in enumerate((sf.Mondrian(sf.KAnonymity(10)), sf.TopDown(10), sf.Bucketize(sf.LDiversity(2)))):
        release = sf.publish(table, mechanism)
        found = release.fingerprints()
        carried = Counter(line.split(",", 1)[1] for line in lines)
        assert found.alone == sum(many == 1 for many in carried.values())
        release.save(tmp_path / str(at), allow_fingerprints=True)
        verdict = sf.verify(tmp_path / str(at))
        assert verdict.holds
        assert verdict.fingerprints == found
        assert sf.Release.load(tmp_path / str(at)).fingerprints() == found
        if release.form == "buckets":
            ages = Counter(line.split(",", 1)[0] for line in lines)
            assert (found.alone_on_all, found.alone_on_exact) == (None, sum(many == 1 for many in ages.values()))
        else:
            rows = Counter(release.frame().rows())
            assert found.alone_on_all == sum(many == 1 for many in rows.values())
            assert found.alone_on_all >= found.alone


@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(10)), sf.Suppress(), sf.Bucketize(sf.LDiversity(2))])
def test_saving_needs_a_yes_above_the_share(tmp_path, mechanism):
    table, _ = staff(tmp_path)
    release = sf.publish(table, mechanism)
    assert release.fingerprints().above
    with pytest.raises(sf.ReleaseError, match="published unchanged") as caught:
        release.save(tmp_path / "out")
    assert "grade, title and salary" in str(caught.value) or "grade, salary and title" in str(caught.value)
    assert not (tmp_path / "out").exists()
    alone = release.fingerprints().alone
    assert any(f"{alone} of 200 rows" in silence for silence in release.claim.silent_on)
    release.save(tmp_path / "out", allow_fingerprints=True)
    assert "published unchanged" in str(sf.verify(tmp_path / "out"))


@pytest.mark.parametrize("mechanism", [sf.Mondrian(sf.KAnonymity(10)), sf.Suppress()])
def test_a_refusal_before_columns_are_made_coarser_says_nothing_of_all_columns(tmp_path, mechanism):
    """It gave the uniques on all columns of the table, which the method would have made coarser or left out."""
    table, _ = staff(tmp_path)
    with pytest.raises(sf.ReleaseError, match="published unchanged") as caught:
        sf.publish(table, mechanism, save_to=tmp_path / "out")
    assert "on all published columns" not in str(caught.value)
    with pytest.raises(sf.ReleaseError, match="on all published columns together"):
        sf.publish(table, mechanism).save(tmp_path / "out")


def test_a_table_without_fingerprints_asks_nothing(tmp_path):
    table, _ = staff(tmp_path)
    plain = table.with_roles(quasi="age", sensitive="grade", target=[])
    release = sf.publish(plain, sf.Mondrian(sf.KAnonymity(10)))
    assert release.fingerprints().alone == 0
    release.save(tmp_path / "out")
    assert not any("unchanged" in silence for silence in release.claim.silent_on)
    assert Fingerprints(100, unchanged=("a",), alone=5, alone_on_all=5).above is False
    assert Fingerprints(100, unchanged=("a",), alone=6, alone_on_all=6).above is True


def test_a_draw_is_never_refused_for_what_was_drawn(tmp_path):
    """No veto after the draw, and nothing of the data in the claim: a warning on the drawn rows is all there is."""
    table, _ = staff(tmp_path)
    small = table.with_roles(quasi="age", target="title")
    mechanism = sf.DiffGen(1, specializations=2)
    release = sf.publish(small, mechanism)
    assert release.fingerprints().above is False
    release.save(tmp_path / "out", allow_unaccounted=True)
    assert release.claim.silent_on == mechanism.claim(small.schema).silent_on
    assert sf.verify(tmp_path / "out").fingerprints.drawn is True


def test_the_commands_say_it_and_ask(tmp_path):
    staff(tmp_path)
    run, files = CliRunner().invoke, [str(tmp_path / "d.csv"), str(tmp_path / "s.toml")]
    answer = run(app, ["check", *files])
    assert "Warning: " in answer.output
    assert "are unique on" in answer.output
    assert json.loads(run(app, ["check", *files, "--json"]).output)["fingerprints"]["above"] is True
    out = str(tmp_path / "out")
    refused = run(app, ["publish", "mondrian", *files, "--k", "10", "-o", out])
    assert isinstance(refused.exception, sf.ReleaseError)
    assert "--allow-fingerprints" in str(refused.exception)
    done = run(app, ["publish", "mondrian", *files, "--k", "10", "-o", out, "--allow-fingerprints"])
    assert done.exit_code == 0, done.output
    assert "are unique on" in done.output
    assert "are unique on" in run(app, ["verify", out]).output


def test_the_reports_say_it(tmp_path):
    table, _ = staff(tmp_path)
    front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(10)), sf.Suppress()], workers=0, progress=False)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    said = release.fingerprints().describe()
    for ending in ("html", "md"):
        assert said in sf.report(front, tmp_path / f"steward.{ending}").read_text("utf-8")
        page = tmp_path / f"public.{ending}"
        public = sf.report(front, page, audience="public", release=release, allow_fingerprints=True)
        assert said in public.read_text("utf-8")


# -- remarks that a person typed ------------------------------------------------------------


def remarked(tmp_path, remarks):
    """Write a table with a sensitive column of remarks; each stands in as many rows as it takes."""
    listed = ", ".join(f'"{text}"' for text in sorted(set(remarks)))
    kept = TOML.partition("[attribute.title]")[0]
    (tmp_path / "s.toml").write_text(
        f'{kept}[attribute.note]\nsource = "public"\nrole = "sensitive"\nvalues = [{listed}]\n'
    )
    lines = [f"{20 + at % 50},g{at % 3 + 1},{text}" for at, text in enumerate(remarks)]
    (tmp_path / "d.csv").write_text("\n".join(["age,grade,note", *lines]) + "\n")
    return sf.read(tmp_path / "d.csv", sf.Schema.load(tmp_path / "s.toml"))


REMARKS = [f"wife calls: Anna Becker {at % 40}" for at in range(480)]
ILLNESSES = ["Type 2 diabetes mellitus", "Acute upper airway infection", "Fracture of the wrist", "flu"] * 60


def test_free_text_that_is_published_unchanged_needs_a_yes(tmp_path):
    table = remarked(tmp_path, REMARKS)
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    asked = [
        lambda: release.save(tmp_path / "a"),
        lambda: sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "b"),
        lambda: release.save(tmp_path / "c", allow_fingerprints=True),  # a yes to one thing is no yes to another
    ]
    for save in asked:
        with pytest.raises(sf.ReleaseError, match="note looks like free text") as caught:
            save()
        assert "Becker" not in str(caught.value)
        assert "--allow-text" in caught.value.hint
    release.save(tmp_path / "a", allow_text=True)
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "b", allow_text=True)
    words = ["publish", "mondrian", str(tmp_path / "d.csv"), str(tmp_path / "s.toml"), "--k", "5"]
    refused = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "d")])
    assert isinstance(refused.exception, sf.ReleaseError)
    assert not (tmp_path / "d").exists()
    assert CliRunner().invoke(app, [*words, "-o", str(tmp_path / "d"), "--allow-text"]).exit_code == 0


def test_categories_of_several_words_need_no_yes_and_a_draw_is_not_refused(tmp_path):
    table = remarked(tmp_path, ILLNESSES)
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "a")
    drawn = remarked(tmp_path, REMARKS)
    answer = {"seed": 1, "allow_rehearsal": True, "allow_noise": True}
    assert sf.publish(drawn, sf.NoisyTable(1), save_to=tmp_path / "b", **answer).claim.kind == "proved"


# -- mutants of the 5 % rule ----------------------------------------------------------------


def test_the_share_of_fingerprints_is_exact_and_its_mutants_are_caught(monkeypatch):
    """One in twenty is allowed, one row more is not; another share, or `>=` for `>`, fails here."""
    named = {"unchanged": ("pay",), "alone_on_all": 0}

    def as_stated() -> bool:
        at = [
            Fingerprints(rows, alone=alone, **named).above
            for rows, alone in ((100, 5), (100, 6), (99, 5), (40, 2), (41, 3))
        ]
        return at == [False, True, True, False, True]

    assert as_stated()
    for share in (Fraction(1, 19), Fraction(1, 21), Fraction(1, 10), Fraction(0)):
        with monkeypatch.context() as mutant:
            mutant.setattr(fingerprints, "FINGERPRINT_SHARE", share)
            assert not as_stated()
    with monkeypatch.context() as mutant:
        mutant.setattr(Fingerprints, "above", property(lambda self: 20 * self.alone >= self.rows))
        assert not as_stated()
    assert not Fingerprints(100, alone=100, drawn=True, **named).above


@pytest.mark.parametrize(("alone", "saved"), [(10, True), (11, False)])
def test_a_release_is_refused_from_one_row_above_the_share_on(tmp_path, alone, saved):
    """200 rows, of which 10 may be unique on their salary: with 11 nothing is written."""
    common = [at // 50 for at in range(200 - alone)]
    lines = [f"{20 + at % 50},g1,t1,{pay}" for at, pay in enumerate([*common, *range(500, 500 + alone)])]
    (tmp_path / "s.toml").write_text(TOML)
    (tmp_path / "d.csv").write_text("\n".join(["age,grade,title,salary", *lines]) + "\n")
    table = sf.read(tmp_path / "d.csv", sf.Schema.load(tmp_path / "s.toml"))
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(10)))
    if saved:
        release.save(tmp_path / "out")
    else:
        with pytest.raises(sf.ReleaseError, match="11 of 200 rows are unique"):
            release.save(tmp_path / "out")
    assert (tmp_path / "out").exists() is saved


@settings(max_examples=80)
@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 8)), max_size=30))
def test_people_alone_equal_a_count_by_hand(pairs):
    person, line = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    owners = {at: {who for who, mine in pairs if mine == at} for _, at in pairs}
    by_hand = {who for who, at in pairs if owners[at] == {who}}
    assert lonely_people(person, line) == len(by_hand)


KEYED = """
name = "pay"
person = "employee"
source = "public"
[attribute.employee]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 70]
[attribute.salary]
role = "sensitive"
kind = "numeric"
range = [0, 100000]
"""


def payroll(tmp_path, rows: int) -> sf.Table:
    rng = np.random.default_rng(5)
    salaries = rng.permutation(100_000)[:100]
    ages = rng.integers(20, 70, 100)
    lines = [f"e{who},{ages[who]},{salaries[who]}" for who in range(100) for _ in range(rows)]
    (tmp_path / "d.csv").write_text("\n".join(["employee,age,salary", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(KEYED)
    return sf.read(tmp_path / "d.csv", sf.Schema.load(tmp_path / "s.toml"))


def test_the_public_page_has_no_figure_that_needs_the_key(tmp_path):
    release = sf.publish(payroll(tmp_path, 2), sf.Mondrian(k=5), allow_fingerprints=True)
    assert "100 of 100 people are unique" in release.fingerprints().describe()
    page = tmp_path / "page.md"
    sf.report(None, page, audience="public", release=release, allow_fingerprints=True)
    assert "people are unique" not in page.read_text()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_two_rows_a_person_do_not_hide_a_fingerprint(rows, tmp_path):
    """Everybody has a salary of their own, in one row or in several: saving is refused, by either way of saving."""
    table = payroll(tmp_path, rows)
    found = table.fingerprints()
    assert (found.people, found.people_alone) == (100, 100)
    assert found.alone == (100 if rows == 1 else 0)  # counted in rows alone, several rows would hide it
    assert found.above
    mechanism = sf.Mondrian(sf.KAnonymity(5))
    with pytest.raises(sf.errors.ReleaseError, match="100 of 100 people"):
        sf.publish(table, mechanism, save_to=tmp_path / "a")
    release = sf.publish(table, mechanism)
    with pytest.raises(sf.errors.ReleaseError, match="100 of 100 people"):
        release.save(tmp_path / "b")
    release.save(tmp_path / "c", allow_fingerprints=True)
    assert any("100 of 100 people" in text for text in sf.Release.load(tmp_path / "c").claim.silent_on)
    assert sf.verify(tmp_path / "c").holds


def test_two_phases_do_not_hide_a_fingerprint_of_people(tmp_path):
    """Cut in two phases, a release that was published and then saved knew its rows only, and was not refused."""
    table = payroll(tmp_path, 2)
    near = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    table.driver_cells = 20
    far = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    assert far.residence is None
    assert far.fingerprints().to_json() == near.fingerprints().to_json()
    assert (far.warnings(), far.claim.silent_on) == (near.warnings(), near.claim.silent_on)
    with pytest.raises(sf.errors.ReleaseError, match="100 of 100 people"):
        far.save(tmp_path / "a")


PAY = """
name = "pay"
{unit}
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 100]
source = "public"
[attribute.pay]
role = "sensitive"
kind = "numeric"
range = [0, 10000]
step = "0.01"
source = "public"
"""


def paid(unit, rows_each, people=300, pays=None):
    """Read a table of people with several rows, each with the same pay to the cent, and other ages."""
    draw = random.Random(4)
    pay = [draw.randrange(100_000, 900_000 if pays is None else 100_000 + pays) / 100 for _ in range(people)]
    frame = pl.DataFrame({"age": [draw.randrange(20, 80) for _ in range(people * rows_each)], "pay": pay * rows_each})
    return sf.read(frame, sf.Schema.parse(tomllib.loads(PAY.format(unit=unit))))


@pytest.mark.parametrize(
    ("unit", "rows_each"),
    [("", 2), ("", 3), ("rows_per_person = 2", 2), ("rows_per_person = 6", 6), ("rows_per_person = 6", 4)],
)
def test_a_second_row_does_not_hide_a_fingerprint_where_no_key_is_named(unit, rows_each, tmp_path):
    """No row was unique on its pay, since its person had another: everybody was published to the cent."""
    table = paid(unit, rows_each)
    seen = table.fingerprints()
    assert seen.alone == 0
    assert seen.above
    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5)))
    for save in (
        lambda: release.save(tmp_path / "a"),
        lambda: sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "a"),
    ):
        with pytest.raises(sf.ReleaseError, match=r"rows have values of pay that \d rows or fewer have") as caught:
            save()
        assert "--allow-fingerprints" in caught.value.hint
    release.save(tmp_path / "a", allow_fingerprints=True)
    assert any("hardly any other row" in text for text in release.claim.silent_on)
    assert "rows have values of pay that" in str(sf.verify(tmp_path / "a"))


@pytest.mark.parametrize("kinds", [100, 300, 1_000])
def test_rows_that_agree_by_chance_are_not_met_by_the_rule_of_few(kinds):
    """Where half of the rows have what three rows or fewer have by chance, more than 5 % of the rows are unique."""
    for seed in range(20):
        for rows in (kinds, 2 * kinds, 3 * kinds, 4 * kinds):
            codes = np.random.default_rng(seed).integers(0, kinds, (rows, 1))
            found = rows_of_few(codes, np.ones(rows, np.int64))
            alone = lonely_rows(codes, np.ones(rows, np.int64))
            assert 2 * found["few"] <= rows or alone * 20 > rows


@pytest.mark.parametrize(("unit", "rows_each"), [("", 1), ("", 2), ("rows_per_person = 2", 2)])
def test_values_that_many_share_are_no_fingerprint(unit, rows_each, tmp_path):
    table = paid(unit, rows_each, people=400, pays=12)
    assert not table.fingerprints().above
    sf.publish(table, sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "a")


@pytest.mark.parametrize("span", [3, 2**31 - 1], ids=["one key", "keys numbered anew"])
@pytest.mark.parametrize("ordered", [False, True])
def test_lonely_rows_equal_a_count_by_hand(span, ordered):
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, (200, 4)) * (span // 3)
    codes = codes[np.lexsort(codes.T[::-1])] if ordered else codes
    weights = rng.integers(0, 3, 200)
    rows = [tuple(row) for row, many in zip(codes.tolist(), weights, strict=True) for _ in range(many)]
    assert lonely_rows(codes, weights) == sum(rows.count(row) == 1 for row in set(rows)) > 0


def test_a_column_in_declared_intervals_is_not_called_unchanged(tmp_path):
    pay = {"role": "sensitive", "kind": "numeric", "range": [0, 200_000], "step": 20_000, "source": "public"}
    club = {"role": "quasi", "values": ["a", "b"], "source": "public"}
    schema = sf.Schema.parse({"name": "staff", "attribute": {"club": club, "pay": pay}})
    rows = pl.DataFrame({"club": ["a", "b"] * 20, "pay": [str(at * 997) for at in range(40)]})
    table = sf.read(rows, schema)
    release = sf.publish(table, sf.Suppress())
    release.save(tmp_path / "out")
    said = "unique on pay, published as described (pay in intervals of 20,000)."
    for found in (table, release, sf.Release.load(tmp_path / "out")):
        assert said in found.fingerprints().describe()
    assert said in sf.verify(tmp_path / "out").fingerprints.describe()


VISITS = {
    "visitor": {"role": "identifier"},
    "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
    "club": {"role": "quasi", "values": ["a", "b", "c"]},
    "illness": {"role": "sensitive", "values": ["x", "y", "z"]},
}


def visits(seed: int, *, carried: bool = True, most: int = 4):
    draw = random.Random(seed)
    who = [f"v{person}q" for person in range(60) for _ in range(draw.randint(1, most))]
    rows = [
        {"visitor": one, "age": draw.randrange(20, 24 if carried else 50), "club": draw.choice("abc")} for one in who
    ]
    rows = [row | {"illness": draw.choice("xxxxyyz")} for row in rows]
    known = {name: {"source": "public", **keys} for name, keys in VISITS.items() if carried or name != "illness"}
    schema = sf.Schema.parse({"name": "visits", "person": "visitor", "attribute": known})
    return sf.read(pl.DataFrame(rows), schema), rows


def with_a_line_of_their_own(rows, lines) -> int:
    owners: dict[tuple, set] = {}
    for row, line in zip(rows, lines, strict=True):
        owners.setdefault(tuple(line), set()).add(row["visitor"])
    return len({next(iter(who)) for who in owners.values() if len(who) == 1})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("carried", [True, False])
def test_people_alone_on_all_columns_equal_a_count_by_hand(seed, carried, tmp_path):
    """A second row, or the row of somebody who has others, hid people: of 885 people 880 were said to be 496 rows."""
    table, rows = visits(seed, carried=carried)
    names = [name for name in ("age", "club", "illness") if carried or name != "illness"]
    found, people = table.fingerprints(), len({row["visitor"] for row in rows})
    by_hand = with_a_line_of_their_own(rows, [[row[name] for name in names] for row in rows])
    assert (found.people, found.people_alone_on_all) == (people, by_hand)
    said = f"{by_hand} of {people} people have a combination of all published columns that nobody else has."
    assert by_hand > 1
    assert said in found.describe()
    assert found.to_json()["people_alone_on_all"] == by_hand

    release = sf.publish(table, sf.Mondrian(sf.KAnonymity(3)))
    cells = [tuple(line[name] for name in names) for line in sf.apply(release, table).iter_rows(named=True)]
    by_hand = with_a_line_of_their_own(rows, cells)
    assert release.fingerprints().people_alone_on_all == by_hand
    assert f"{by_hand} of {people} people" in release.fingerprints().describe()
    release.save(tmp_path / "out", allow_fingerprints=True)
    loaded, verdict = sf.Release.load(tmp_path / "out").fingerprints(), sf.verify(tmp_path / "out")
    for read in (loaded, verdict.fingerprints):
        assert read.people_alone_on_all is None
        assert "people can be counted with the key only" in read.describe()


def test_rows_that_are_people_are_not_told_apart_from_people(tmp_path):
    """Where everybody has one row, or nobody is named, a folder says nothing about who has several."""
    table, _ = staff(tmp_path)
    assert "with the key only" not in sf.publish(table, sf.Suppress()).fingerprints().describe()
