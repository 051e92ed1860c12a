"""`sf.apply`: new rows in the labels of a release."""

import duckdb
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.estimate.generalize import label_ids
from sfumato.schema.labels import parse_label

SCHEMA = {
    "name": "small",
    "attribute": {
        "a": {"role": "quasi", "kind": "numeric", "range": [0, 20]},
        "b": {"role": "quasi", "values": ["x", "y", "z"]},
        "s": {"role": "sensitive", "values": ["p", "q"]},
    },
}


def table(rows: list[list[int]]) -> Table:
    return Table.from_codes(sf.Schema.parse(SCHEMA), np.array(rows))


def test_original_rows_get_their_own_labels() -> None:
    rng = np.random.default_rng(5)
    original = table(
        np.column_stack([rng.integers(0, 20, 300), rng.integers(0, 3, 300), rng.integers(0, 2, 300)]).tolist()
    )
    for tight in (False, True):
        release = sf.publish(original, sf.Mondrian(sf.KAnonymity(8), tight=tight))
        again = sf.apply(release, original)
        assert again.sort(again.columns).equals(release.frame())


def test_rows_of_a_database_keep_their_own_values() -> None:
    """Each column was sorted by itself, so that the values of others stood beside the labels of a row."""
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(
        {"a": rng.integers(0, 20, 300), "b": rng.choice(["x", "y", "z"], 300), "s": rng.choice(["p", "q"], 300)}
    )
    there = sf.read(duckdb.connect().from_arrow(frame.to_arrow()), sf.Schema.parse(SCHEMA))
    for method in (sf.Mondrian(sf.KAnonymity(8)), sf.Bucketize(sf.LDiversity("1.2"))):
        release = sf.publish(sf.read(frame, sf.Schema.parse(SCHEMA)), method)
        given, expected = sf.apply(release, there), sf.apply(release, sf.read(frame, sf.Schema.parse(SCHEMA)))
        assert given.sort(given.columns).equals(expected.sort(given.columns))


def test_a_row_in_no_tight_box_goes_to_the_nearest() -> None:
    original = table([[2, 0, 0]] * 5 + [[3, 0, 1]] * 5 + [[15, 0, 0]] * 5 + [[16, 0, 0]] * 5)
    release = sf.publish(original, sf.Mondrian(sf.KAnonymity(10), tight=True))
    assert release.summary().classes == 2
    new = table([[0, 0, 0], [8, 0, 0], [11, 0, 0], [19, 0, 1], [2, 2, 0], [16, 2, 0]])
    codes = new.codes(["a", "b"])
    nearest = [release.boxes.tables[0].name(one) for one in label_ids(release, codes)[:, 0]]
    assert nearest == ["[2-4)", "[2-4)", "[15-17)", "[15-17)", "[2-4)", "[15-17)"]
    given = sf.apply(release, new)
    assert given["a"].to_list() == [
        "*",
        "*",
        "*",
        "*",
        "[2-4)",
        "[15-17)",
    ]  # a label that is false of a row is not given
    assert given["b"].to_list() == ["x", "x", "x", "x", "*", "*"]


ZIPS = {
    "name": "zips",
    "rows_per_person": 1,
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 120], "missing": [""]},
        "zip": {"role": "quasi", "mask": {"length": 5, "from": "right"}},
        "job": {"role": "quasi", "hierarchy": {"care": ["nurse", "doctor"], "trade": ["cook", "baker"]}},
        "ill": {"role": "sensitive", "values": ["flu", "gout", "none"]},
    },
}


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Mondrian(sf.KAnonymity(5)),
        sf.Mondrian(sf.KAnonymity(5), cut="widest"),
        sf.Mondrian(sf.KAnonymity(5), nominal="nodes"),
        sf.Mondrian(sf.KAnonymity(5), tight=True),
        sf.DLink(sf.Mondrian(sf.KAnonymity(5)), d=2),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_label_holds_the_value_it_is_given_for(mechanism) -> None:
    """Postcodes, jobs and gaps that no row of the release had got labels that were false of them."""
    rng = np.random.default_rng(1)
    schema = sf.Schema.parse(ZIPS)

    def rows(zips: list[str], jobs: list[str], ages: list[str], number: int) -> pl.DataFrame:
        drawn = {"age": ages, "zip": zips, "job": jobs, "ill": ["flu", "gout", "none"]}
        return pl.DataFrame({name: rng.choice(values, number) for name, values in drawn.items()})

    ages = [str(age) for age in range(30, 80)]
    old = rows(["81667", "81675", "81925", "80331"], ["nurse", "cook"], ages, 400)
    release = sf.publish(sf.read(old, schema), mechanism)
    new = rows(["81667", "10115", "99999", "81670"], ["nurse", "doctor", "baker"], ["", "3", "44", "99"], 300)
    table = sf.read(new, schema)
    given, codes = sf.apply(release, table), table.codes(["age", "zip", "job"])
    for at, (name, attribute) in enumerate((one.name, one) for one in release.quasi):
        for text in given[name].unique():
            held = parse_label(attribute, text) or ()
            mine = codes[(given[name] == text).to_numpy(), at]
            assert np.any([(low <= mine) & (mine < high) for low, high in held], axis=0).all(), text


def test_a_loaded_release_has_no_recoding(tmp_path) -> None:
    original = table([[2, 0, 0]] * 5)
    sf.publish(original, sf.Mondrian(sf.KAnonymity(2))).save(tmp_path / "out")
    with pytest.raises(sf.ParameterError, match="recoding"):
        sf.apply(sf.Release.load(tmp_path / "out"), original)


def test_the_oracle_walks_all_boxes() -> None:
    rng = np.random.default_rng(8)
    original = table(
        np.column_stack([rng.integers(3, 9, 200), rng.integers(0, 2, 200), rng.integers(0, 2, 200)]).tolist()
    )
    release = sf.publish(original, sf.Mondrian(sf.KAnonymity(9), tight=True))
    new = table([[a, b, 0] for a in range(20) for b in range(3)])
    boxes = release.boxes
    given = label_ids(release, new.codes(["a", "b"]))
    for row, (code_a, code_b) in enumerate((a, b) for a in range(20) for b in range(3)):
        gaps = []
        for labels in boxes.labels:
            low, high = boxes.tables[0].intervals(labels[0])[0]
            held = {c for start, end in boxes.tables[1].intervals(labels[1]) for c in range(start, end)}
            gaps.append(max(low - code_a, code_a - high + 1, 0) / 19 + (code_b not in held))
        best = boxes.labels[int(np.argmin(gaps))]
        at = [i for i, labels in enumerate(boxes.labels) if (labels == given[row]).all()]
        assert min(gaps[i] for i in at) == pytest.approx(min(gaps)), (row, best)


def test_buckets_keep_exact_rows_and_their_group() -> None:
    rng = np.random.default_rng(2)
    original = table(
        np.column_stack([rng.integers(0, 20, 90), rng.integers(0, 3, 90), rng.integers(0, 2, 90)]).tolist()
    )
    release = sf.publish(original, sf.Bucketize(sf.LDiversity("3/2")))
    again = sf.apply(release, original)
    assert again.sort(again.columns).equals(release.frame().select(again.columns).sort(again.columns))
    with pytest.raises(sf.NotComparable, match="Anatomy"):
        sf.apply(sf.publish(table([[0, 0, 0], [1, 0, 1]]), sf.Anatomy(2)), original)
