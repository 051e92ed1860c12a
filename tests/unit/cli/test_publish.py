"""The command of a mechanism, made from its fields: what each kind of field becomes."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import click
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.claims import Requirement
from sfumato.cli.publish import method_command, publish


@dataclass(frozen=True)
class Every:
    """Take a field of every kind."""

    requirement: Requirement
    share: Fraction = Fraction(1, 2)
    rounds: int = field(default=3, metadata={"help": "How often."})
    d: int = 4
    cut: Literal["best", "widest"] = "best"
    tight: bool = False
    wide: bool = True
    limit: int | None = None
    made: str = field(default="", init=False)


@dataclass(frozen=True)
class Clashing:
    seed: int


@dataclass(frozen=True)
class Untyped:
    named: "NoSuchName"  # noqa: F821


@pytest.fixture
def asked(monkeypatch):
    found = []
    monkeypatch.setattr("sfumato.cli.publish.run", lambda mechanism, **options: found.append((mechanism, options)))

    def ask(kind, *words):
        done = CliRunner().invoke(method_command("every", kind), ["data.csv", "schema.toml", *words])
        return done, (found[-1] if found else None)

    return ask


def test_what_is_omitted_keeps_the_default_of_the_dataclass(asked):
    done, (mechanism, options) = asked(Every, "--k", "5")
    assert done.exit_code == 0, done.output
    assert mechanism == Every(sf.KAnonymity(5))
    assert options["d"] == 4
    assert "rounds" not in options


def test_every_field_can_be_given(asked):
    words = [
        "--k",
        "5",
        "--l",
        "2",
        "--rounds",
        "7",
        "--d",
        "2",
        "--cut",
        "widest",
        "--tight",
        "--no-wide",
        "--limit",
        "9",
    ]
    _, (mechanism, options) = asked(Every, *words, "--share", "1/3")
    given = {"rounds": 7, "d": 2, "cut": "widest", "tight": True, "wide": False, "limit": 9, "share": "1/3"}
    assert mechanism == Every(sf.KAnonymity(5) & sf.LDiversity(2), **given)
    assert options["d"] == 2


def test_a_requirement_that_is_needed_is_asked_for(asked):
    done, found = asked(Every)
    assert found is None
    assert isinstance(done.exception, sf.ParameterError)


@pytest.mark.parametrize("words", [["--k", "5", "--cut", "other"], ["--k", "5", "--rounds", "2_0"], ["--made", "x"]])
def test_a_wrong_value_is_refused(asked, words):
    done, found = asked(Every, *words)
    assert (done.exit_code, found) == (2, None)


def test_help_names_fields_defaults_and_package():
    said = CliRunner().invoke(method_command("every", Every), ["--help"]).output
    for part in ("How often. [default: 3]", "[best|widest]", "--wide / --no-wide", "Of the installed package"):
        assert part in said
    assert "--made" not in said


def test_a_field_named_like_a_shared_option_is_refused():
    with pytest.raises(sf.ParameterError) as refused:
        method_command("clashing", Clashing)
    assert "seed" in refused.value.rule


def test_what_is_not_a_dataclass_is_refused():
    with pytest.raises(sf.ParameterError) as refused:
        method_command("raw", dict)
    assert "is not a dataclass" in refused.value.rule


def test_a_field_of_unknown_type_is_text(asked):
    _, (mechanism, _) = asked(Untyped, "--named", "x")
    assert mechanism.named == "x"


def test_what_is_never_saved_and_what_is_not_known_have_no_command():
    context = click.Context(publish)
    assert publish.get_command(context, "raw") is None
    assert publish.get_command(context, "no-such-method") is None
    assert publish.get_command(context, "mondrian").name == "mondrian"


@pytest.mark.parametrize(
    "words",
    [["--k", "5", "--c", "2"], ["--k", "5", "--distance", "emd"], ["--alpha", "0.5"], ["--k", "5", "--sides", "one"]],
)
def test_a_part_of_a_requirement_that_is_not_asked_for_is_refused(asked, words):
    done, found = asked(Every, *words)
    assert found is None
    assert isinstance(done.exception, sf.ParameterError)
    assert done.exception.name == words[-2].removeprefix("--")


def test_parts_of_requirements_go_to_their_own(asked):
    words = ["--alpha", "1/2", "--k", "5", "--t", "0.2", "--distance", "emd", "--l", "3", "--l-kind", "recursive"]
    _, (mechanism, _) = asked(Every, *words, "--c", "2")
    wanted = sf.AlphaK("1/2", k=5) & sf.TCloseness("0.2", distance="emd") & sf.LDiversity(3, kind="recursive", c=2)
    assert mechanism == Every(wanted)


def test_a_variant_takes_what_its_constructor_takes(asked):
    _, (mechanism, _) = asked(sf.DiffGen, "--epsilon", "1/2", "--recommended")
    assert mechanism == sf.DiffGen.recommended("1/2")
    done, _ = asked(sf.DiffGen, "--epsilon", "1/2", "--recommended", "--score", "gini")
    assert done.exception.name == "score"


def test_linkability_inside_or_afterwards(asked):
    words = ["--k", "10", "--l", "2", "--d", "3", "--others", "100", "--max-suppressed", "0.1"]
    _, (united, options) = asked(sf.DLink, *words)
    base = sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity(2))
    assert united == sf.DLink(base, d=3, others=100, max_suppressed="0.1")
    _, (cut, inside) = asked(sf.DLink, *words, "--inside")
    assert cut == sf.Mondrian(base.requirement & sf.Linkability(3, others=100), max_suppressed="0.1")
    assert (options["d"], inside["d"]) == (3, 3)
