from __future__ import annotations

from collections import Counter

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.frontiers import PRESETS
from sfumato.frontiers.sweep import family_of, label_of, python_of


def test_the_papers_grids():
    figure_2a = sf.sweep("tradeoff")
    assert len(figure_2a) == 32
    assert Counter(family_of(one) for one in figure_2a) == {
        "Mondrian, k-anonymity": 8,
        "Mondrian, l-diversity": 8,
        "Mondrian, t-closeness": 8,
        "Mondrian, semantic-privacy": 8,
    }
    assert sf.Mondrian(sf.KAnonymity(5000)) in figure_2a
    assert sf.Mondrian(sf.TCloseness("0.075")) in figure_2a
    assert sf.Mondrian(sf.LDiversity("4.25")) in figure_2a
    assert sf.Mondrian(sf.SemanticPrivacy("2.1")) in figure_2a
    assert len(sf.sweep("tradeoff-buckets")) == 16
    assert len(sf.sweep("tradeoff-readings")) == 16
    assert len(sf.sweep("diffgen")) == 20


def test_every_preset_makes_mechanisms_once_each():
    for name in PRESETS:
        made = sf.sweep(name)
        assert len(made) == len({label_of(one) for one in made}) > 0


def test_a_grid_is_every_combination_in_order():
    assert sf.sweep(sf.Mondrian, k=[10, 20], t="0.2", cut=["best", "widest"]) == (
        sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2")),
        sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2"), cut="widest"),
        sf.Mondrian(sf.KAnonymity(20) & sf.TCloseness("0.2")),
        sf.Mondrian(sf.KAnonymity(20) & sf.TCloseness("0.2"), cut="widest"),
    )
    assert sf.sweep(sf.Mondrian, sf.Bucketize, l=3) == (sf.Mondrian(sf.LDiversity(3)), sf.Bucketize(sf.LDiversity(3)))
    assert sf.sweep(sf.Mondrian, requirement=sf.BetaLikeness(2), k=5) == (
        sf.Mondrian(sf.KAnonymity(5) & sf.BetaLikeness(2)),
    )


def test_own_parameters_are_not_taken_for_requirements():
    assert sf.sweep(sf.TopDown, k=[5, 10]) == (sf.TopDown(5), sf.TopDown(10))
    assert sf.sweep(sf.Anatomy, l=3) == (sf.Anatomy(3),)
    assert sf.sweep(sf.DiffGen, epsilon=["0.5"], specializations=4) == (sf.DiffGen("0.5", specializations=4),)


def test_anything_goes_together_each_once():
    parts = sf.sweep(sf.sweep("tradeoff"), "tradeoff", sf.Suppress(), [sf.Suppress(), sf.Anatomy(3)])
    assert len(parts) == 34
    assert parts[-2:] == (sf.Suppress(), sf.Anatomy(3))


@pytest.mark.parametrize(
    ("parts", "grid", "name"),
    [
        ((), {}, "parts"),
        (("no such preset",), {}, "preset"),
        ((sf.Mondrian,), {}, "parts"),
        ((7,), {}, "parts"),
        ((sf.Suppress(),), {"k": 1}, "parts"),
        ((sf.Mondrian,), {"epsilon": 1}, "epsilon"),
        ((sf.TopDown,), {"t": "0.1"}, "t"),
        ((sf.Mondrian,), {"k": []}, "grid"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(parts, grid, name):
    with pytest.raises(ParameterError) as caught:
        sf.sweep(*parts, **grid)
    assert caught.value.name == name


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Mondrian(sf.KAnonymity(10) & sf.TCloseness("0.2", distance="emd"), cut="widest", tight=True),
        sf.Mondrian(sf.LDiversity(3, kind="recursive", c="1.5")),
        sf.Bucketize(sf.SemanticPrivacy("1.2", sides="one")),
        sf.DiffGen("1/3", specializations=4),
        sf.NoisyTable(1),
        sf.Anatomy(3),
        sf.TopDown(5),
        sf.Suppress(),
    ],
)
def test_python_of_a_mechanism_makes_it_again(mechanism):
    assert eval(python_of(mechanism), {"sf": sf}) == mechanism


def test_labels_name_what_differs_and_families_what_does_not():
    assert label_of(sf.Mondrian(sf.TCloseness("0.1"))) == "Mondrian t-closeness(0.1)"
    assert label_of(sf.Mondrian(sf.KAnonymity(5), cut="widest")) == "Mondrian k-anonymity(5), cut=widest"
    assert label_of(sf.DiffGen("0.5")) == "DiffGen epsilon=0.5"
    assert label_of(sf.Suppress()) == "Suppress"
    one, two = (family_of(sf.Mondrian(sf.SemanticPrivacy(1, sides=sides))) for sides in ("one", "two"))
    assert one != two
    assert family_of(sf.Mondrian(sf.TCloseness("0.1"))) == family_of(sf.Mondrian(sf.TCloseness("0.2")))
