"""What a file tells beside its table: our files tell nothing, planted leaks are found, mutants."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.claims.planted_people import PLANTED, drawn, planted

import sfumato as sf
from sfumato.attacks import REGISTRY, Container, Knowledge, attack_all, container as module
from sfumato.errors import NotComparable
from sfumato.schema import Labels

EVERYTHING = Knowledge()
ROWS, OTHERS = drawn(1, 200), drawn(2, 200)
ROWS[:, 0], OTHERS[:, 0] = 40 + ROWS[:, 0] // 2, 40 + OTHERS[:, 0] // 2
TABLE, CONTROL = planted(ROWS), planted(OTHERS)


def texts(rows):
    """The planted rows as somebody writes them: ages by decade, towns and illnesses as they are."""
    decades = [f"[{age // 10 * 10}-{age // 10 * 10 + 10})" for age in rows[:, 0]]
    return {"age": decades, "town": [f"t{at}" for at in rows[:, 1]], "ill": ["abcd"[at] for at in rows[:, 2]]}


def attacked(file, table=TABLE, control=CONTROL):
    release = sf.Release.load(file, schema=PLANTED) if file.is_dir() else sf.Release.read(file, PLANTED)
    return Container().run([release], EVERYTHING, table, control)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "mechanism", [sf.Mondrian(sf.KAnonymity(5)), sf.Bucketize(sf.LDiversity(2)), sf.NoisyTable(1, cuts={"age": ["*"]})]
)
def test_our_files_tell_nothing(tmp_path, mechanism, kind):
    table = TABLE if kind == "csv" else planted(ROWS[np.lexsort(ROWS.T[::-1])])  # sorted as a file of ours is
    if isinstance(mechanism, sf.NoisyTable):
        table = table.with_roles(quasi=["age", "town"], target="ill", sensitive=())
    release = sf.publish(table, mechanism)
    release.save(tmp_path / "out", format=kind, allow_unaccounted=True)
    found = attacked(tmp_path / "out", TABLE)
    assert found.notes == ()
    assert found.interval[0] <= 0 <= found.interval[1]
    assert found.details.keys() == {"trial", "order", "dictionary"}


def test_the_order_of_rows_is_found(tmp_path):
    frame = pl.DataFrame(texts(ROWS))
    frame.write_csv(tmp_path / "kept.csv")
    kept = attacked(tmp_path / "kept.csv")
    assert kept.details["trial"] == "order"
    assert kept.targets.rate == 1.0
    assert kept.controls.rate < 0.05
    assert kept.better_than_baseline
    assert "by the order of the rows" in kept.sentence
    mixed = np.random.default_rng(3).permutation(200)
    frame[mixed].write_csv(tmp_path / "mixed.csv")
    assert attacked(tmp_path / "mixed.csv").targets.rate < 0.05
    half = np.concatenate([np.arange(100), 100 + mixed[mixed < 100]])  # the first half in order
    frame[half].write_csv(tmp_path / "half.csv")
    assert 0.5 <= attacked(tmp_path / "half.csv").targets.rate < 0.6
    # An order of rows of which some are gone is not tried.
    frame[1:].write_csv(tmp_path / "fewer.csv")
    assert attacked(tmp_path / "fewer.csv").targets.rate == 0.0


def test_rows_that_are_alike_are_not_found(tmp_path):
    """Every row of a suppressed table agrees with whoever has its illness: at any place, not by the order."""
    release = sf.publish(TABLE, sf.Suppress())
    release.save(tmp_path / "out", allow_unaccounted=True)
    orders = [planted(np.random.default_rng(seed).permutation(ROWS)) for seed in range(6)]
    tried = [attacked(tmp_path / "out", table, control=None) for table in orders]
    tried = [found for found in tried if found.details["trial"] == "order"]  # where chance agreed less often
    assert tried
    for found in tried:
        assert found.targets.rate > 0.1
        assert "a row that agrees with" in found.sentence
        assert any("at random agrees with" in note for note in found.notes)
        assert found.most_exposed < 0.5
    pl.DataFrame(texts(ROWS)).write_csv(tmp_path / "kept.csv")
    assert attacked(tmp_path / "kept.csv", control=None).most_exposed == 1.0


def test_leftovers_are_found(tmp_path):
    mixed = np.random.default_rng(4).permutation(200)[:150]
    frame = pl.DataFrame({"Unnamed: 0": np.arange(200), **texts(ROWS)})[mixed]
    frame.write_csv(tmp_path / "index.csv")
    found = attacked(tmp_path / "index.csv")
    assert found.details["trial"] == "leftover"
    assert found.targets.successes == 150
    assert "Columns that the schema does not know: Unnamed: 0." in found.notes
    frame.with_columns(pl.col("Unnamed: 0") + 1).write_csv(tmp_path / "from-one.csv")
    assert attacked(tmp_path / "from-one.csv").targets.successes >= 149


def test_unused_dictionary_values_are_found(tmp_path):
    elsewhere = OTHERS.copy()
    elsewhere[:, 1] %= 10  # nobody else lives in these towns
    control = planted(elsewhere)
    kept = ROWS[ROWS[:, 1] < 10]  # towns t10 to t17 were taken out of the rows, not out of the file
    columns = {name: np.array(values) for name, values in texts(kept).items()}
    frame = pd.DataFrame(columns)[::-1]
    frame["town"] = pd.Categorical(frame["town"], categories=[f"t{at}" for at in range(18)])
    frame.index = frame.index.to_numpy() + 0  # kept as numbers, which pandas writes as a column
    frame.to_parquet(tmp_path / "cut.parquet")
    found = attacked(tmp_path / "cut.parquet", control=control)
    gone = (ROWS[:, 1] >= 10) & (ROWS[:, 1] < 18)
    assert found.details["trial"] == "dictionary"
    assert found.targets.successes == gone.sum()
    assert found.controls.successes == 0
    assert any("holds 8 values that no row shows" in note for note in found.notes)
    assert any("Metadata" in note and "pandas" in note for note in found.notes)
    assert any("__index_level_0__" in note for note in found.notes)
    # A dictionary of the whole domain, which is public, says nothing of the table.
    frame["town"] = pd.Categorical(frame["town"].astype(str), categories=[f"t{at}" for at in range(20)])
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    assert attacked(tmp_path / "whole.parquet", control=control).details["dictionary"] == 0


def test_exact_extremes_are_found(tmp_path):
    oldest = int(ROWS[:, 0].max())
    tight = [f"[{max(40, age // 50 * 50)}-{min(oldest + 1, age // 50 * 50 + 50)})" for age in ROWS[:, 0]]
    pl.DataFrame({**texts(ROWS), "age": tight})[::-1].write_csv(tmp_path / "tight.csv")
    found = attacked(tmp_path / "tight.csv")
    assert found.details["trial"] == "extremes"
    assert found.targets.successes == (ROWS[:, 0] == oldest).sum()
    alone = attacked(tmp_path / "tight.csv", control=None)
    assert ",." not in alone.sentence  # it said "the most extreme ones,. Without a control"
    assert " the exact, most extreme age of " in alone.sentence
    wide = [f"[{age // 50 * 50}-{age // 50 * 50 + 50})" for age in ROWS[:, 0]]
    pl.DataFrame({**texts(ROWS), "age": wide})[::-1].write_csv(tmp_path / "wide.csv")
    assert "extremes" not in attacked(tmp_path / "wide.csv").details


def test_labels_with_gaps_hold_what_they_hold():
    rng = np.random.default_rng(1)
    sets = [((int(low), int(low) + 1), (int(low) + 3, int(low) + 7)) for low in rng.integers(0, 12, 8)] + [((2, 9),)]
    labels, ids = Labels.from_sets(PLANTED["town"], sets)
    which, codes = ids[rng.integers(0, len(sets), 300)], rng.integers(0, 20, 300)
    expected = labels.holds(np.arange(20))[which, codes]
    assert module._holds(labels, which, codes).tolist() == expected.tolist()
    assert 0 < expected.mean() < 1


def test_a_manifest_that_says_the_hour_is_noted(tmp_path):
    sf.publish(TABLE, sf.Mondrian(sf.KAnonymity(5))).save(tmp_path / "out", format="csv")
    file = tmp_path / "out" / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "created": "2026-03-01T09:41:07Z"}))
    assert "time of day" in module.open_container(tmp_path / "out", PLANTED).notes[0]


def test_a_release_that_was_not_read_from_a_file_does_not_fit(tmp_path):
    release = sf.publish(TABLE, sf.Mondrian(sf.KAnonymity(5)))
    assert not Container().fits(release)
    with pytest.raises(NotComparable):
        Container().run([release], EVERYTHING, TABLE)
    pl.DataFrame(texts(ROWS)).write_csv(tmp_path / "kept.csv")
    read = sf.Release.read(tmp_path / "kept.csv", PLANTED)
    found = attack_all(read, TABLE, CONTROL, attacks=["container"])
    assert found["container"].value > 0.9
    (tmp_path / "kept.csv").unlink()
    assert "row by row" in attack_all(read, TABLE, CONTROL, attacks=["container"]).skipped["container"]
    assert REGISTRY["container"] is Container
    assert replace(read, source=None) == read


MUTANTS = {
    "sees no order": ("_placed", lambda real: lambda file, sides, names, what, key, *rest: real(
        file, sides, names, what, key[::-1], *rest), test_the_order_of_rows_is_found),
    "sees no leftover": ("_keys", lambda _: lambda *_: iter(()), test_leftovers_are_found),
    "takes the dictionary for the rows": ("_dictionaries", lambda _: lambda *_: ({}, ()),
        test_unused_dictionary_values_are_found),
    "knows no extremes": ("_extremes", lambda _: lambda *_: iter(()), test_exact_extremes_are_found),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_mutants_are_caught(name, monkeypatch, tmp_path):
    what, broken, catches = MUTANTS[name]
    monkeypatch.setattr(module, what, broken(getattr(module, what)))
    with pytest.raises(AssertionError):
        catches(tmp_path)
