"""The command for another package's mechanism: what each kind of field becomes."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.claims import Requirement
from sfumato.cli.publish import third_party


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
    monkeypatch.setattr("sfumato.cli.publish.run.run", lambda mechanism, **options: found.append((mechanism, options)))

    def ask(kind, *words):
        done = CliRunner().invoke(third_party._command("every", kind), ["data.csv", "schema.toml", *words])
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
    said = CliRunner().invoke(third_party._command("every", Every), ["--help"]).output
    for part in ("How often. [default: 3]", "[best|widest]", "--tight / --no-tight", "Of the installed package"):
        assert part in said
    assert "--made" not in said


def test_a_field_named_like_a_shared_option_is_refused():
    with pytest.raises(sf.ParameterError) as refused:
        third_party._command("clashing", Clashing)
    assert "seed" in refused.value.rule


def test_what_is_not_a_dataclass_is_refused():
    with pytest.raises(sf.ParameterError) as refused:
        third_party._command("raw", dict)
    assert "is not a dataclass" in refused.value.rule


def test_a_field_of_unknown_type_is_text(asked):
    _, (mechanism, _) = asked(Untyped, "--named", "x")
    assert mechanism.named == "x"


def test_only_names_of_packages_have_such_a_command():
    assert third_party.third_party_command("raw") is None
    assert third_party.third_party_command("no-such-method") is None
