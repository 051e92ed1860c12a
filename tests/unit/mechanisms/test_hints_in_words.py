"""Hints near a limit can be followed, and a cut that does not hold each value once is explained in words."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.mechanisms.conditions import refuse_infeasible


def table(shares: list[int]) -> Table:
    schema = sf.Schema.parse(
        {
            "name": "t",
            "source": "public",
            "attribute": {
                "a": {"role": "quasi", "kind": "numeric", "range": [0, 10]},
                "s": {"role": "sensitive", "values": [f"v{at}" for at in range(len(shares))]},
            },
        }
    )
    rows = [[at % 10, code] for code, times in enumerate(shares) for at in range(times)]
    return Table.from_codes(schema, np.array(rows))


@pytest.mark.parametrize("kind", ["probability", "entropy"])
@pytest.mark.parametrize("shares", [[72, 28], [51, 49], [60, 25, 15], [30, 30, 20, 20]])
def test_every_l_that_a_hint_names_is_accepted_and_reached(kind, shares):
    data = table(shares)
    with pytest.raises(sf.Infeasible) as caught:
        sf.publish(data, sf.Mondrian(sf.LDiversity(9, kind=kind)))
    hint = str(caught.value)
    best = float(re.search(r"ask for at most ([\d.]+)\.", hint)[1])
    easier = re.search(r"; ([\d.]+) leaves more", hint)
    assert (easier is None) == (best >= 3) == ("half of it" in hint)
    asked = best / 2 if easier is None else float(easier[1])
    assert 1 < asked < best
    assert not sf.LDiversity(str(round(asked, 3)), kind=kind).vacuous
    sf.publish(data, sf.Mondrian(sf.LDiversity(str(round(asked, 3)), kind=kind)))


def refused(shares: list[int], mechanism: object) -> str:
    with pytest.raises(sf.Infeasible) as caught:
        sf.publish(table(shares), mechanism)  # type: ignore[arg-type]
    return caught.value.hint


@pytest.mark.parametrize(
    ("shares", "l", "leaves_out"),
    [
        ([93, 7], 2, False),  # one value would be left
        ([90, 9, 1], 2, False),  # nine of ten again
        ([90, 5, 5], 2, True),
        ([60, 25, 15], 9, False),
        ([70, 10, 10, 10], 3, True),
    ],
)
def test_rows_are_left_out_only_where_that_reaches_what_is_asked(shares, l, leaves_out):
    hint = refused(shares, sf.Mondrian(sf.LDiversity(l)))
    assert (
        ("leave its rows out" in hint) == leaves_out == ("readers then know that nobody in the release has it" in hint)
    )
    assert ("split it into finer values" in hint) == (len(shares) > 2)
    assert ("ask for t in the place of l" in hint) == (len(shares) == 2)
    if leaves_out:
        sf.publish(table([0, *shares[1:]]), sf.Mondrian(sf.LDiversity(l)))


@pytest.mark.parametrize("kind", ["probability", "entropy", "distinct"])
@pytest.mark.parametrize(("shares", "other"), [([50], True), ([0, 40], True), ([99_999, 1], False)])
def test_no_hint_asks_for_an_l_that_promises_nothing(kind, shares, other):
    if kind == "distinct" and not other:
        return  # two values are two
    hint = refused(shares, sf.Mondrian(sf.LDiversity(3, kind=kind)))
    assert "ask for at most" not in hint
    assert "leave its rows out" not in hint
    assert 'give s the role "other"' in hint
    assert ("ask for t" in hint) == (not other)


@pytest.mark.parametrize(("shares", "said"), [([93, 7], "ask for t"), ([40, 30, 30], "ask for l = 2"), ([9], "role")])
def test_anatomy_does_not_ask_for_one_value(shares, said):
    hint = refused(shares, sf.Anatomy(l=3))
    assert said in hint
    assert "l = 1" not in hint


CUT = sf.Schema.parse(
    {
        "name": "t",
        "source": "public",
        "attribute": {
            "a": {"role": "quasi", "values": ["x", "y", "z"], "missing": ["-9"]},
            "s": {"role": "sensitive", "values": ["u", "v"]},
        },
    }
)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["x", "y | z"], "a: (missing) is in none of its labels. Hint: add a label (missing)."),
        (["x", "(missing)"], "a: 2 values are in none of its labels. Hint: put each value into exactly one label."),
        (["x | y", "y | z", "(missing)"], "a: 1 value is in more than one label."),
        (
            ["x", "x | y"],
            "a: 1 value is in none of its labels and (missing) is in none of its labels and 1 value is in",
        ),
    ],
)
def test_a_cut_is_stated_in_words(labels, said):
    with pytest.raises(sf.ParameterError) as caught:
        sf.NoisyTable(1, cuts={"a": labels}).plan(CUT)
    assert said.removeprefix("a: ") in str(caught.value)
    assert "a" in str(caught.value)


@pytest.mark.parametrize(
    ("l", "said"),
    [(2, "more than 1/2 of the rows: max p <= 1/2"), ("1.2", "more than 83.4 % of the rows: max p <= 1/1.2")],
)
def test_a_share_is_a_fraction_or_a_percentage_that_says_no_more_than_holds(l, said):
    assert said in sf.LDiversity(l).describe()


def _few(rows: int, each: int) -> sf.Table:
    schema = sf.Schema.parse(
        {
            "name": "few",
            "rows_per_person": each,
            "attribute": {
                "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
                "ill": {"role": "sensitive", "values": ["a", "b", "c", "d", "e"]},
            },
        }
    )
    cells = {"age": [20 + at for at in range(rows)], "ill": ["abcde"[at % 5] for at in range(rows)]}
    return sf.read(pl.DataFrame(cells), schema)


@pytest.mark.parametrize(
    ("rows", "each", "asked", "best", "said"),
    [
        (20, 1, sf.AlphaK("0.5", k=100), "attainable: 20.", "k of at most 20"),  # k sets the limit, not a value
        (20, 1, sf.AlphaK("0.1", k=5), "attainable: 0.2 and 20.", "a larger alpha"),
        (3, 5, sf.KAnonymity(2), "attainable: 1.", "too small for any k of at least 2"),
        (1, 1, sf.KAnonymity(2), "attainable: 1.", "too small for any k of at least 2"),  # k = 1 is refused as void
    ],
)
def test_a_hint_names_the_half_that_fails_and_no_k_below_2(rows, each, asked, best, said) -> None:
    with pytest.raises(sf.Infeasible) as error:
        sf.publish(_few(rows, each), sf.Mondrian(asked))
    assert best in str(error.value)
    assert said in error.value.hint
    assert ("most frequent" in error.value.hint) == ("alpha" in said)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(("asked", "best"), [(sf.LDiversity(4), 1.111), (sf.AlphaK(alpha="1/10", k=5), (0.9, 300))])
def test_of_several_columns_the_one_that_attains_least_is_named(turn, asked, best):
    """The first of them was: "ask for at most 3", which the second does not reach."""
    columns = {"illness": [100, 100, 100], "status": [270, 30]}
    listed = {name: {"role": "sensitive", "values": list("abc")[: len(held)]} for name, held in columns.items()}
    quasi = {"a": {"role": "quasi", "values": ["x", "y"]}}
    schema = sf.Schema.parse({"name": "t", "attribute": {**quasi, **listed}})
    counts = [np.array(held) for held in columns.values()]
    with pytest.raises(sf.Infeasible) as caught:
        refuse_infeasible(asked, schema.sensitive[::turn], counts[::turn], 300, 1)
    found = caught.value.best if isinstance(best, tuple) else (caught.value.best,)
    assert [float(one) for one in found] == pytest.approx(list(best) if isinstance(best, tuple) else [best], rel=1e-3)
    assert "status" in str(caught.value)
    assert "illness" not in str(caught.value)


def test_the_best_that_can_be_reached_is_rounded_to_what_can_be_asked_for():
    """l-diversity(1.247) was refused with "Best found: 1.247"; 1.24654 is reached."""
    for asked, best, said in (
        (sf.LDiversity("1.247"), Fraction(124654, 100000), "Best found: 1.246."),
        (sf.TCloseness("0.1"), Fraction(10001, 100000), "Best found: 0.1001."),
        (sf.KAnonymity(5), 4, "Best found: 4."),
    ):
        assert str(sf.Infeasible(asked, best, "why", proved=False)).endswith(said)
