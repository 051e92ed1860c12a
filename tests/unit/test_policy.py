"""What protects people is refused by the library, and allowed only by saying so."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

import sfumato as sf

SCHEMA = """
name = "policy"
rows_per_person = 1
source = "public"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 40]
{age}
[attribute.ill]
role = "sensitive"
values = ["flu", "gout", "pox"]
"""


def table(age: str = "") -> sf.Table:
    frame = pl.DataFrame(
        {"age": [i % 40 for i in range(120)], "ill": [("flu", "gout", "pox")[i * i // 7 % 3] for i in range(120)]}
    )
    return sf.read(frame, sf.Schema.parse(tomllib.loads(SCHEMA.format(age=age))))


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Mondrian(sf.KAnonymity(1)),
        sf.Mondrian(sf.KAnonymity(5) & sf.TCloseness("0.7")),
        sf.Mondrian(sf.TCloseness(1, distance="emd")),
        sf.Bucketize(sf.LDiversity(1)),
        sf.DLink(sf.Mondrian(sf.KAnonymity(1)), d=2, alpha="0.1"),
    ],
    ids=str,
)
def test_a_requirement_that_every_table_satisfies_is_refused(mechanism, tmp_path):
    for given in ({}, {"save_to": tmp_path / "out"}):
        with pytest.raises(sf.ParameterError) as refused:
            sf.publish(table(), mechanism, **given)
        assert refused.value.name == "requirement"
    assert not (tmp_path / "out").exists()


def test_it_is_made_where_that_is_said():
    release = sf.publish(table(), sf.Mondrian(sf.KAnonymity(1)), allow_void=True)
    assert release.claim.promise == sf.KAnonymity(1)


def test_a_method_without_parameters_was_asked_for_nothing():
    schema = sf.Schema.parse({"name": "b", "attribute": {"age": {"role": "quasi", "kind": "numeric", "range": [0, 9]}}})
    bare = sf.read(pl.DataFrame({"age": [1, 2]}), schema)
    assert sf.publish(bare, sf.Suppress()).claim.promise == sf.KAnonymity(1)


def test_a_column_whose_role_is_open_is_refused():
    draft = table('decide = ["role: is it known to others?"]')
    with pytest.raises(sf.SchemaError) as refused:
        sf.publish(draft, sf.Mondrian(sf.KAnonymity(5)))
    assert "age" in refused.value.problems[0].path
    assert len(sf.publish(draft, sf.Mondrian(sf.KAnonymity(5)), allow_undecided=True).groups)


def test_what_is_looked_at_before_it_is_saved_can_be_given_up(tmp_path):
    seen = []

    def look(release: sf.Release) -> None:
        seen.append(release)
        raise sf.ReleaseError("not this one")

    book = sf.Ledger(tmp_path / "ledger.db")
    with pytest.raises(sf.ReleaseError):
        sf.publish(
            table(), sf.Mondrian(sf.KAnonymity(5)), save_to=tmp_path / "out", ledger=book, before_saving=look,
            allow_fingerprints=True,
        )  # fmt: skip
    assert len(seen) == 1
    assert not (tmp_path / "out").exists()


def test_a_differentially_private_release_is_never_withheld(tmp_path):
    allowed = {"allow_noise": True, "allow_unaccounted": True}
    with pytest.raises(sf.ParameterError) as refused:
        sf.publish(table(), sf.NoisyTable(8), save_to=tmp_path / "out", before_saving=lambda _: None, **allowed)
    assert refused.value.name == "before_saving"
    assert not (tmp_path / "out").exists()


def test_what_no_ledger_accounts_for_is_refused_before_it_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(sf.NoisyTable, "apply", lambda *_: pytest.fail("something was drawn"))
    with pytest.raises(sf.ParameterError) as refused:
        sf.publish(table(), sf.NoisyTable(8), save_to=tmp_path / "out", allow_noise=True)
    assert (refused.value.name, refused.value.value) == ("ledger", "none")
    assert "allow_unaccounted" in refused.value.hint
    assert not (tmp_path / "out").exists()


def test_a_release_in_memory_is_not_saved_without_an_account(tmp_path):
    release = sf.publish(table(), sf.NoisyTable(8), allow_noise=True)
    with pytest.raises(sf.ParameterError) as refused:
        release.save(tmp_path / "out")
    assert refused.value.name == "ledger"
    release.save(tmp_path / "out", allow_unaccounted=True)
    assert not sf.Release.load(tmp_path / "out").claim.accounted
    with pytest.raises(sf.ParameterError):  # a copy needs the same word
        sf.Release.load(tmp_path / "out").save(tmp_path / "copy")


def test_what_needs_no_account(tmp_path):
    paid = sf.publish(
        table(), sf.NoisyTable(8), allow_noise=True, ledger=tmp_path / "ledger.db", save_to=tmp_path / "paid"
    )
    assert paid.claim.accounted
    rehearsed = sf.publish(table(), sf.NoisyTable(8), allow_noise=True, seed=1)
    rehearsed.save(tmp_path / "rehearsed", allow_rehearsal=True)  # stamped: it is not for publication
    checked = sf.publish(table(), sf.Mondrian(sf.KAnonymity(5)))
    checked.save(tmp_path / "checked", allow_fingerprints=True)  # spends nothing
    assert sf.verify(tmp_path / "checked").holds


def test_groups_of_a_bare_file(tmp_path):
    rows = zip(range(12), ["flu", "gout", "pox"] * 4, strict=True)
    lines = ["age,ill,g", *(f"{age},{ill},{age // 3}" for age, ill in rows)]
    (tmp_path / "b.csv").write_text("\n".join(lines))
    asked = {"schema": table().schema, "requirement": sf.LDiversity(1), "groups": "g"}
    assert "g:" in str(sf.verify(tmp_path / "b.csv", **asked))
    with pytest.raises(sf.ParameterError) as refused:
        sf.verify(tmp_path / "b.csv", **(asked | {"groups": "h"}))
    assert refused.value.name == "groups"
