"""Two releases of the same people under k, l or t on one ledger: the second is not saved before somebody looked."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.counts import Table
from sfumato.ledger import Ledger

K5 = sf.Mondrian(sf.KAnonymity(5))
PUBLIC = {"source": "public"}
ATTRIBUTES = {
    "age": {**PUBLIC, "role": "quasi", "kind": "numeric", "range": [0, 100]},
    "ill": {**PUBLIC, "role": "sensitive", "values": ["a", "b", "c"]},
}


def people(population: str = "town") -> Table:
    rng = np.random.default_rng(1)
    schema = sf.Schema.parse({"name": "t", "population": population, "rows_per_person": 1, "attribute": ATTRIBUTES})
    return Table.from_codes(schema, np.column_stack([rng.integers(0, 100, 300), rng.integers(0, 3, 300)]))


def second_is_refused(tmp_path) -> bool:
    sf.publish(people(), K5, ledger=tmp_path / "l.db", save_to=tmp_path / "one")
    release = sf.publish(people(), sf.Mondrian(sf.KAnonymity(9)), ledger=tmp_path / "l.db")
    try:
        release.save(tmp_path / "two")
    except sf.ReleaseError as error:
        release.save(tmp_path / "two", allow_repeated=True)
        return "--against l.db" in error.hint
    return False


def test_a_second_release_of_the_same_people_is_not_saved_unasked(tmp_path):
    assert second_is_refused(tmp_path)
    with pytest.raises(sf.ReleaseError, match="2 earlier releases of the same people"):
        sf.publish(people(), sf.Suppress(), ledger=tmp_path / "l.db", save_to=tmp_path / "three")
    assert len(Ledger(tmp_path / "l.db").saved_folders("town")) == 2  # the third was refused, and the ledger heard so


def test_a_mutant_that_looks_at_nothing_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "uncomposed", lambda *_: [])
    assert not second_is_refused(tmp_path)


def test_what_is_no_second_release_of_the_same_people_is_saved(tmp_path):
    book = tmp_path / "l.db"
    first = sf.publish(people(), K5, ledger=book)
    sf.publish(people(), K5, ledger=book)  # never saved: nobody has seen it
    first.save(tmp_path / "one")
    first.save(tmp_path / "again", format="csv")  # the same release
    sf.publish(people("village"), K5, ledger=book, save_to=tmp_path / "other people")
    answer = {"allow_noise": True, "allow_rehearsal": True, "seed": 1}
    sf.publish(people(), sf.NoisyTable(1), ledger=book, save_to=tmp_path / "drawn", **answer)  # epsilon adds up
    sf.publish(people(), K5, save_to=tmp_path / "without a ledger")
    sf.publish(people("county"), sf.NoisyTable(1), ledger=book, save_to=tmp_path / "noise", **answer)
    sf.publish(people("county"), K5, ledger=book, save_to=tmp_path / "after noise")


def test_a_part_of_a_population_shares_its_people(tmp_path):
    book = Ledger(tmp_path / "l.db")
    book.declare_parts("county", ["town", "village"])
    sf.publish(people("town"), K5, ledger=book, save_to=tmp_path / "town")
    sf.publish(people("village"), K5, ledger=book, save_to=tmp_path / "village")
    with pytest.raises(sf.ReleaseError, match="2 earlier releases"):
        sf.publish(people("county"), K5, ledger=book, save_to=tmp_path / "county")


def test_the_command_asks_and_against_is_an_answer(tmp_path):
    rng = np.random.default_rng(1)
    lines = [f"{rng.integers(0, 100)},{'abc'[rng.integers(0, 3)]}" for _ in range(300)]
    (tmp_path / "d.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(
        'name = "t"\nrows_per_person = 1\nsource = "public"\n'
        '[attribute.age]\nrole = "quasi"\nkind = "numeric"\nrange = [0, 100]\n'
        '[attribute.ill]\nrole = "sensitive"\nvalues = ["a", "b", "c"]\n'
    )
    words = [
        "publish",
        "mondrian",
        str(tmp_path / "d.csv"),
        str(tmp_path / "s.toml"),
        "--ledger",
        str(tmp_path / "l.db"),
    ]

    def run(out, *more):
        return CliRunner().invoke(app, [*words, *more, "-o", str(tmp_path / out)])

    assert run("one", "--k", "5").exit_code == 0
    refused = run("two", "--k", "9")
    assert isinstance(refused.exception, sf.ReleaseError)
    assert "--allow-repeated" in refused.exception.hint
    assert not (tmp_path / "two").exists()
    assert run("two", "--k", "9", "--against", str(tmp_path / "l.db")).exit_code == 0
    assert run("three", "--k", "12", "--allow-repeated").exit_code == 0
