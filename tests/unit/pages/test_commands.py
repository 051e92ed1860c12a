"""The command a report prints makes the mechanism it stands beside."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.pages.commands import publish_command

MECHANISMS = [
    *sf.sweep("tradeoff", "tradeoff-buckets", "tradeoff-readings")[::5],
    sf.Mondrian(sf.KAnonymity(10) & sf.LDiversity("2.5", kind="entropy") & sf.TCloseness("1/3", distance="emd")),
    sf.Mondrian(sf.LDiversity(3, kind="recursive", c="1.5"), cut="widest", nominal="nodes", tight=True),
    sf.Mondrian(sf.AlphaK("0.4", k=5), max_suppressed="0.01"),
    sf.Bucketize(sf.BetaLikeness(2), cut="widest"),
    sf.Anatomy(3),
    sf.TopDown(5),
    sf.Suppress(),
    sf.DiffGen("0.5"),
    sf.DiffGen("1/3", specializations="leaves", threshold=3),
    sf.DiffGen(1, paper=True, score="infogain", specializations=7),
    sf.DiffGen(1, paper=True, threshold="auto"),
    sf.DiffGen.recommended("0.25"),
    sf.DiffGen(2, first="gini", scored="cells", splits="together", selection="permute-and-flip", structure="0.7",
               ratio="1.5", penalty="0.1", prefix="0.05"),
    sf.DLink(sf.Mondrian(sf.KAnonymity(10))),
    sf.DLink(sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2)), d=3, alpha="0.7", organisations=3, others=(100, 200),
             probability="product", max_suppressed="0.02", nominal="leaves", distance="uniform"),
    sf.DLink(sf.Mondrian(sf.KAnonymity(5)), population="joint"),
    sf.NoisyTable("0.5"),
    sf.NoisyTable(1, cuts={"age": ["[17-40)", "[40-91)"], "marital status": ["*"]}, threshold=2),
]  # fmt: skip


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_the_command_makes_the_mechanism(mechanism, monkeypatch):
    made = []
    monkeypatch.setattr("sfumato.cli.publish.run", lambda one, *_, **__: made.append(one))
    program, *words = shlex.split(publish_command(mechanism, "data.csv", "schema.toml"))
    assert program == "sfumato"
    done = CliRunner().invoke(app, words, standalone_mode=False)
    assert done.exception is None, done.exception
    assert made == [mechanism]


def test_our_one_configuration_is_asked_for_by_its_name():
    command = publish_command(sf.DiffGen.recommended(1), "data.csv", "schema.toml")
    assert (
        command == "sfumato publish diffgen data.csv schema.toml --epsilon 1 --recommended --ledger ledger.db -o out/"
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Raw(),
        sf.Mondrian(sf.KAnonymity(5) & sf.Linkability(3)),
        sf.DLink(sf.Mondrian(sf.KAnonymity(5)), partner="all"),
        sf.DLink(sf.Mondrian(sf.KAnonymity(5), cut="widest")),
        sf.DLink(sf.TopDown(5)),
        sf.NoisyTable(1, cuts={"a=b": ["*"]}),
        sf.NoisyTable(1, cuts={"a": ["one;two", "three"]}),
        sf.NoisyTable(1, cuts={"a": [" one"]}),
    ],
    ids=str,
)
def test_what_flags_can_not_say_has_no_command(mechanism):
    assert publish_command(mechanism, "data.csv", "schema.toml") is None
