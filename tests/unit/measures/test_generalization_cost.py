"""The classical loss metrics, by hand and at both ends."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Table
from sfumato.measures import (
    average_class_size,
    certainty_penalty,
    discernibility,
    generalization_steps,
    measure,
    precision,
)

SCHEMA = {
    "name": "small",
    "attribute": {
        "a": {"role": "quasi", "kind": "numeric", "range": [0, 11], "intervals": [5]},
        "b": {"role": "quasi", "hierarchy": {"X": ["x1", "x2"], "Y": ["y1", "y2"]}},
        "s": {"role": "sensitive", "values": ["p", "q"]},
    },
}


def table(rows: list[list[int]]) -> Table:
    return Table.from_codes(sf.Schema.parse(SCHEMA), np.array(rows))


def test_by_hand() -> None:
    original = table([[0, 0, 0]] * 4 + [[10, 2, 1]] * 3 + [[10, 3, 1]] * 3)
    release = sf.publish(original, sf.Mondrian(sf.KAnonymity(4), nominal="nodes"))
    assert release.summary().classes == 2
    labels = {row[:2] for row in release.frame().rows()}
    assert {b for _, b in labels} == {"x1", "Y"} or {b for _, b in labels} <= {"x1", "X", "Y", "*"}
    assert discernibility(original, release).value == 4**2 + 6**2
    assert average_class_size(original, release).value == 5
    details = certainty_penalty(original, release).details
    for at, name in enumerate(("a", "b")):
        sizes = release.boxes.tables[at].size[release.boxes.labels[:, at]]
        by_hand = (
            sum(w * (s - 1) / (10 if name == "a" else 3) for w, s in zip(release.boxes.weight, sizes, strict=True)) / 10
        )
        assert details[name] == pytest.approx(by_hand)


def test_suppress_and_raw_are_the_two_ends() -> None:
    original = table([[i % 11, i % 4, i % 2] for i in range(60)])
    nothing, everything = sf.publish(original, sf.Suppress()), sf.publish(original, sf.Raw())
    assert certainty_penalty(original, nothing).value == 1
    assert certainty_penalty(original, everything).value == 0
    assert precision(original, nothing).value == 0
    assert precision(original, everything).value == 1
    assert generalization_steps(original, everything).value == 0
    assert generalization_steps(original, nothing).value == sum(a.nodes.height for a in original.schema.quasi)
    assert discernibility(original, nothing).value == 60**2


@pytest.mark.parametrize("source", ["public", "data"])
def test_a_loaded_release_costs_what_it_cost_in_memory(source, tmp_path) -> None:
    """Levels and values that were read off the data are not in its files; those of the table's schema are used."""
    given = {name: {**one, "source": source} for name, one in SCHEMA["attribute"].items()}
    schema = sf.Schema.parse({**SCHEMA, "attribute": given})
    original = Table.from_codes(schema, np.array([[i % 7, i % 3, i % 2] for i in range(60)]))
    release = sf.publish(original, sf.Mondrian(sf.KAnonymity(9)))
    release.save(tmp_path / "out")
    for loaded in (sf.Release.load(tmp_path / "out"), sf.Release.load(tmp_path / "out", schema=schema)):
        for one in (precision, certainty_penalty, generalization_steps):
            assert one(original, loaded).details == pytest.approx(one(original, release).details)


def test_suppressed_and_left_out_rows_are_priced() -> None:
    adult = sf.datasets.adult()
    release = sf.publish(adult, sf.Mondrian(sf.KAnonymity(50), max_suppressed=0.02))
    lost = release.summary().suppressed
    assert lost > 0
    sizes = (
        np.delete(release.groups.weight, release.suppressed_group)
        if release.suppressed_group is not None
        else release.groups.weight
    )
    assert discernibility(adult, release).value == (sizes.astype(float) ** 2).sum() + lost * adult.rows
    assert certainty_penalty(adult, release).value >= lost / adult.rows


def test_rows_that_another_tool_left_out_are_priced(tmp_path) -> None:
    """A file with 15 of 60 rows, as they are, was said to have cost nothing."""
    original = table([[i % 11, i % 4, i % 2] for i in range(60)])
    sf.publish(original.take(range(15)), sf.Raw()).frames()["data"].write_csv(tmp_path / "some.csv")
    some = sf.Release.read(tmp_path / "some.csv", original.schema)
    assert some.left_out is None
    assert certainty_penalty(original, some).value == 45 / 60
    assert precision(original, some).value == 15 / 60
    assert average_class_size(original, some).details["suppressed"] == 45
    assert certainty_penalty(original.take(range(15)), some).value == 0


def test_a_middle_level_counts_one_step() -> None:
    schema = sf.Schema.parse(SCHEMA)
    from sfumato.measures.generalization_cost import _steps
    from sfumato.schema import Labels

    labels, _ = Labels.from_sets(schema["b"], [((0, 1),), ((0, 2),), ((0, 3),), ((0, 4),), ((1, 2), (3, 4))])
    assert dict(zip(labels.names, _steps(labels).tolist(), strict=True)) == {
        "x1": 0,
        "X": 1,
        "X | y1": 2,
        "*": 2,
        "x2 | y2": 2,
    }


def test_all_are_registered_with_their_formula() -> None:
    original = table([[i % 11, i % 4, i % 2] for i in range(60)])
    names = ["certainty_penalty", "discernibility", "average_class_size", "precision", "generalization_steps"]
    for found in measure(original, sf.publish(original, sf.Mondrian(sf.KAnonymity(5))), names).values():
        assert found.formula
        assert found.confidential
