"""A field is declared once: what is read, written, shown and asked for follows from it."""

from __future__ import annotations

import json
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal

import pytest

import sfumato as sf
from sfumato.claims import GUARANTEES, REQUIREMENTS, promise_from_json
from sfumato.declare import (
    MaybeRational,
    MaybeWhole,
    Rational,
    Whole,
    declare,
    example,
    form,
    from_json,
    given,
    like,
    parameter,
    parameters,
    to_json,
)
from sfumato.mechanisms import REGISTRY


@declare
class Coarsen:
    """Take a parameter of every kind."""

    name: ClassVar[str] = "coarsen"
    k: Whole = parameter("At least k people.", least=1, hint="try 10", unit="people", example=10, grid=(5, 10))
    _: KW_ONLY
    share: Rational = parameter("Share that may be left out.", default="1/2", above=0, most=1)
    limit: MaybeWhole = parameter(default=None, least=2, may_lack=True)
    rate: MaybeRational = parameter(default=None, flag=None)
    cut: Literal["best", "widest"] = parameter("Which cut.", default="best", key="rule")
    tight: bool = parameter(default=False)
    words: tuple[str, ...] = parameter(default=(), read=lambda given: tuple(str(one) for one in given), decode=tuple)

    to_json = to_json

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < self.k:
            raise sf.ParameterError("limit", self.limit, "must be at least k")


@dataclass(frozen=True)
class Plain:
    """A dataclass of another author."""

    k: int = field(metadata={"help": "At least k."})
    share: Fraction = Fraction(1, 3)
    cut: Literal["a", "b"] | None = None
    named: str | None = None
    made: list[int] = field(default_factory=list)
    inner: int = field(default=0, init=False)


def test_what_is_given_is_held_exactly():
    made = Coarsen("5", share=0.1, limit=7.0, rate="1/3", words=["a", 2])
    assert (made.k, made.share, made.limit, made.rate) == (5, Fraction(1, 10), 7, Fraction(1, 3))
    assert [type(value) for value in (made.k, made.share, made.limit)] == [int, Fraction, int]
    assert made.words == ("a", "2")
    assert Coarsen(5).share == Fraction(1, 2)
    assert not hasattr(made, "__dict__")
    assert hash(made) == hash(replace(made))
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(FrozenInstanceError):
        made.k = 3


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"k": 0}, "k"),
        ({"k": "2_0"}, "k"),
        ({"k": 2.5}, "k"),
        ({"k": True}, "k"),
        ({"k": 5, "share": 0}, "share"),
        ({"k": 5, "share": 2}, "share"),
        ({"k": 5, "limit": 1}, "limit"),
        ({"k": 5, "limit": 3}, "limit"),
        ({"k": 5, "cut": "worst"}, "cut"),
    ],
)
def test_a_rule_that_is_broken_is_named(wrong, name):
    with pytest.raises(sf.ParameterError) as refused:
        Coarsen(**wrong)
    assert refused.value.name == name


def test_json_keeps_everything_exact_and_its_own_names():
    made = Coarsen(5, share="1/3", cut="widest", words=("x",))
    written = json.loads(json.dumps(made.to_json()))
    assert written == {
        "name": "coarsen",
        "k": 5,
        "share": "1/3",
        "rate": None,
        "rule": "widest",
        "tight": False,
        "words": ["x"],
    }
    assert from_json(Coarsen, written) == made
    with pytest.raises(sf.ParameterError) as refused:
        from_json(Coarsen, {name: value for name, value in written.items() if name != "rule"})
    assert refused.value.name == "rule"


def test_a_form_is_plain_json_and_says_what_a_page_needs():
    shown = json.loads(json.dumps(form(Coarsen)))
    assert [one["name"] for one in shown] == ["k", "share", "limit", "rate", "cut", "tight", "words"]
    k, share, limit, rate, cut, tight, _ = shown
    assert k == {
        "name": "k",
        "label": "k",
        "help": "At least k people.",
        "type": "whole",
        "choices": [],
        "default": None,
        "required": True,
        "optional": False,
        "unit": "people",
        "hint": "try 10",
        "limits": {"least": 1},
        "example": 10,
        "flag": "--k",
    }
    assert (share["type"], share["default"], share["required"]) == ("number", "1/2", False)
    assert (limit["optional"], limit["default"]) == (True, None)
    assert rate["flag"] == ""
    assert (cut["type"], cut["choices"], cut["default"]) == ("choice", ["best", "widest"], "best")
    assert (tight["type"], tight["default"]) == ("flag", False)


@pytest.mark.parametrize("kind", [*REGISTRY.values(), *REQUIREMENTS.values(), *GUARANTEES.values()])
def test_everything_of_ours_has_a_form_with_a_sentence_for_each_field(kind):
    shown = json.loads(json.dumps(form(kind)))
    assert [one["name"] for one in shown if not one["help"]] == []
    assert len({one["flag"] for one in shown if one["flag"]}) == sum(bool(one["flag"]) for one in shown)


@pytest.mark.parametrize("kind", [*REQUIREMENTS.values(), *GUARANTEES.values()])
def test_an_example_of_every_promise_is_read_back(kind):
    assert promise_from_json(json.loads(json.dumps(example(kind).to_json()))) == example(kind)


def test_a_dataclass_of_another_author_is_described_by_its_types():
    k, share, cut, named, made = parameters(Plain)
    assert (k.kind, k.required, k.help) == ("whole", True, "At least k.")
    assert (share.kind, share.default) == ("number", Fraction(1, 3))
    assert (cut.kind, cut.choices, cut.optional) == ("choice", ("a", "b"), True)
    assert (named.kind, named.optional) == ("text", True)
    assert made.default == []
    assert form(Plain)[1]["default"] == "1/3"


def test_given_are_the_required_and_what_differs_from_the_default():
    assert [(one.name, value) for one, value in given(Coarsen(5))] == [("k", 5)]
    assert [one.name for one, _ in given(Coarsen(5, cut="widest", share=1))] == ["k", "share", "cut"]
    assert [one.name for one, _ in given(sf.Linkability(3))] == ["d"]  # none is required
    paper = sf.DiffGen(1, paper=True, threshold="auto")  # where the paper's default is another
    assert [one.name for one, _ in given(paper)] == ["epsilon", "paper", "threshold"]


def test_a_parameter_that_is_handed_on_is_declared_alike():
    @declare
    class Outer:
        """Hand k on."""

        k: Whole = like(Coarsen, "k", default=3)

    assert (Outer().k, parameters(Outer)[0].help) == (3, "At least k people.")
    with pytest.raises(sf.ParameterError):
        Outer(0)


def test_what_has_no_fields_is_refused():
    with pytest.raises(sf.ParameterError):
        parameters(dict)
