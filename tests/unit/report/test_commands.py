"""The command a report prints makes the mechanism it stands beside."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli import publish as publish_commands
from sfumato.cli import publish_partition
from sfumato.cli.main import app
from sfumato.report.commands import publish_command

MECHANISMS = [
    *sf.sweep("tradeoff", "tradeoff-buckets", "tradeoff-readings")[::5],
    sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity("2.5", kind="entropy") & sf.TCloseness("1/3", distance="emd")),
    sf.Mondrian(sf.LDiversity(3, kind="recursive", c="1.5"), cut="widest", nominal="nodes", tight=True),
    sf.Mondrian(sf.AlphaK("0.4", k=5), max_suppressed="0.01"),
    sf.Bucketize(sf.BetaLikeness(2), cut="widest"),
    sf.Anatomy(3),
    sf.TopDown(5),
    sf.Suppress(),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_command_makes_the_mechanism(mechanism, monkeypatch):
    made = []
    for module in (publish_partition, publish_commands):
        monkeypatch.setattr(module, "run", lambda one, **_: made.append(one))
    program, *words = shlex.split(publish_command(mechanism, "data.csv", "schema.toml"))
    assert program == "sfumato"
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert done.exception is None, done.exception
    assert made == [mechanism]


def test_methods_without_a_command_have_none():
    assert publish_command(sf.NoisyTable(1), "data.csv", "schema.toml") is None
