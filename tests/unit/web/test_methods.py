"""A method's form has the fields its flags have, and makes what the command makes."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.mechanisms import REGISTRY
from sfumato.pages.commands import publish_words
from sfumato.web.methods import made, method_form, methods


def test_every_method_of_the_command_has_a_form():
    from sfumato.cli.publish import publish

    with_commands = set(publish.list_commands(None)) - {"synthesize"}
    assert {one["name"] for one in methods()} == with_commands
    for one in methods():
        command = publish.get_command(None, one["name"])
        flags = {flag for option in command.params for flag in option.opts}
        assert {field["flag"] for field in method_form(one["name"])} <= flags


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("mondrian", {"k": ["10"], "t": ["0.2"]}, ["--k", "10", "--t", "0.2"]),
        ("mondrian", {"k": ["5"], "cut": ["widest"], "tight": ["yes"]}, ["--k", "5", "--cut", "widest", "--tight"]),
        ("anatomy", {"l": ["3"]}, ["--l", "3"]),
        ("suppress", {}, []),
    ],
)
def test_a_form_says_what_the_command_says(name, fields, words):
    assert publish_words(made(name, fields, Path("schema.toml"))) == [name, *words]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mondrian", {}),
        ("mondrian", {"k": ["0"]}),
        ("mondrian", {"k": ["x"]}),
        ("raw", {}),
        ("none", {}),
        ("topdown", {}),
    ],
)
def test_what_cannot_be_meant_is_refused(name, fields):
    with pytest.raises(sf.ParameterError):
        made(name, fields, Path("schema.toml"))


def test_the_list_says_which_methods_are_differentially_private():
    private = {one["name"] for one in methods() if one["private"]}
    assert {"diffgen", "marginals", "noisy-table"} <= private
    assert private.isdisjoint({"mondrian", "topdown", "suppress", "bucketize", "anatomy", "dlink"})
    for name in private:
        claim = REGISTRY[name](1).claim(sf.datasets.census(50).schema)
        assert claim.kind == "proved", name
