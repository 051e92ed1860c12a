"""`sf.apply`: new rows in the labels of a release."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table

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


def test_a_row_in_no_tight_box_goes_to_the_nearest() -> None:
    original = table([[2, 0, 0]] * 5 + [[3, 0, 1]] * 5 + [[15, 0, 0]] * 5 + [[16, 0, 0]] * 5)
    release = sf.publish(original, sf.Mondrian(sf.KAnonymity(10), tight=True))
    assert release.summary().classes == 2
    new = table([[0, 0, 0], [8, 0, 0], [11, 0, 0], [19, 0, 1], [2, 2, 0]])
    assert sf.apply(release, new)["a"].to_list() == ["[2-4)", "[2-4)", "[15-17)", "[15-17)", "[2-4)"]


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
    given = sf.apply(release, new)
    boxes = release.boxes
    for row, (code_a, code_b) in enumerate((a, b) for a in range(20) for b in range(3)):
        gaps = []
        for labels in boxes.labels:
            low, high = boxes.tables[0].intervals(labels[0])[0]
            held = {c for start, end in boxes.tables[1].intervals(labels[1]) for c in range(start, end)}
            gaps.append(max(low - code_a, code_a - high + 1, 0) / 19 + (code_b not in held))
        best = boxes.labels[int(np.argmin(gaps))]
        found = (given["a"][row], given["b"][row])
        at = [
            i
            for i, labels in enumerate(boxes.labels)
            if (boxes.tables[0].names[labels[0]], boxes.tables[1].names[labels[1]]) == found
        ]
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
