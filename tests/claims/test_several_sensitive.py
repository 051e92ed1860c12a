"""Of several sensitive attributes every figure is the worst, named, with all of them shown."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.attacks import calibrate, composition, overlap_experiment
from sfumato.cli.main import app
from sfumato.errors import NotComparable, ParameterError
from sfumato.measures import REGISTRY

SCHEMA = {
    "name": "clinic",
    "attribute": {
        "age": {"role": "quasi", "source": "public", "kind": "numeric", "range": [20, 60], "step": 1},
        "town": {"role": "quasi", "source": "public", "kind": "nominal", "values": ["Aba", "Bex", "Cas"]},
        "sex": {"role": "sensitive", "source": "public", "kind": "nominal", "values": ["f", "m"]},
        "ill": {"role": "sensitive", "source": "public", "kind": "nominal", "values": [f"d{at}" for at in range(8)]},
        "pay": {"role": "sensitive", "source": "public", "kind": "ordered", "values": ["low", "mid", "high"]},
    },
}


TOML = 'name = "clinic"\n' + "".join(
    f"[attribute.{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
    for name, given in SCHEMA["attribute"].items()
)


def clinic(rows: int = 400, seed: int = 3) -> sf.Table:
    """Illness follows age closely; the first sensitive attribute of the schema follows nothing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 40, rows)
    ill = np.where(rng.random(rows) < 0.7, age // 5, rng.integers(0, 8, rows))
    codes = np.column_stack([age, rng.integers(0, 3, rows), rng.integers(0, 2, rows), ill, rng.integers(0, 3, rows)])
    return sf.Table.from_codes(sf.Schema.parse(SCHEMA), codes)


@pytest.fixture(scope="module")
def table() -> sf.Table:
    return clinic()


@pytest.fixture(scope="module")
def release(table):
    return sf.publish(table, sf.Mondrian(sf.KAnonymity(8)))


def test_privacy_loss_is_the_worst_of_all_sensitive_attributes(table, release):
    found = sf.privacy_loss(table, release)
    each = {name: sf.privacy_loss(table, release, attribute=name) for name in ("sex", "ill", "pay")}
    assert found.value == max(one.value for one in each.values())
    assert found.attribute == "ill"
    assert each["sex"].value < found.value / 2  # what the first in the schema would have shown
    assert {name: one.value for name, one in found.by_attribute.items()} == {n: one.value for n, one in each.items()}
    assert found.largest_ratio == max(one.largest_ratio for one in each.values())
    answer = found.measured().to_json()["details"]
    assert answer["attribute"] == "ill"
    assert set(answer["by_attribute"]) == set(answer["largest_ratios"]) == {"sex", "ill", "pay"}


@pytest.mark.parametrize(
    "name", ["privacy_loss", "utility_loss", "query_error", "unchanged_answers", "histogram_distance"]
)
def test_every_measure_does_not_depend_on_the_order_of_the_sensitive_attributes(table, release, name):
    other = sf.Schema.parse(
        {**SCHEMA, "attribute": {key: SCHEMA["attribute"][key] for key in ("age", "town", "pay", "ill", "sex")}}
    )
    codes = table.codes(["age", "town", "pay", "ill", "sex"])
    turned = sf.Table.from_codes(other, codes)
    first = REGISTRY[name](table, release)
    second = REGISTRY[name](turned, sf.publish(turned, sf.Mondrian(sf.KAnonymity(8))))
    assert first.value == pytest.approx(second.value)
    assert first.details["by_attribute"] == pytest.approx(second.details["by_attribute"])
    assert len(first.details["by_attribute"]) == 3
    pick = min if name == "unchanged_answers" else max
    assert first.value == pick(float(one) for one in first.details["by_attribute"].values())


def test_what_is_about_one_attribute_asks_which(table):
    with pytest.raises(NotComparable, match="sex, ill, pay"):
        sf.workload(table)
    assert sf.workload(table, attribute="ill", dimension=2, queries=5).attribute == "ill"
    two = table.with_roles(target=["sex", "pay"], sensitive=["ill"])
    train, test = two.take(np.arange(300)), two.take(np.arange(300, 400))
    with pytest.raises(ParameterError, match="2 attributes have the role target"):
        sf.classification(train, test, sf.publish(train, sf.Mondrian(sf.KAnonymity(8))))


def test_anatomy_names_what_it_can_not_choose(table):
    with pytest.raises(ParameterError, match="sex, ill, pay"):
        sf.publish(table, sf.Anatomy(2))


def test_composition_attacks_every_sensitive_attribute(table, release):
    second = sf.publish(table, sf.Mondrian(sf.KAnonymity(8), cut="widest"))
    found = composition([release, second], table)
    each = {name: composition([release, second], table, attribute=name) for name in ("sex", "ill", "pay")}
    worst = max(each.values(), key=lambda one: (one.rate, one.below_d, one.confidence))
    assert (found.attribute, found.rate, found.below_d) == (worst.attribute, worst.rate, worst.below_d)
    assert set(found.by_attribute) == set(found.to_json()["by_attribute"]) == {"sex", "ill", "pay"}
    assert all(f"  {name}: one left to" in found.describe() for name in each)


def test_the_overlap_experiment_and_calibration_take_the_worst(table):
    [row] = overlap_experiment(clinic(300), sf.Mondrian(sf.KAnonymity(5)), size=100, overlap=40, queries=20)
    assert row.attribute in ("sex", "ill", "pay")
    two = table.with_roles(sensitive=["ill", "pay"])
    found = calibrate(two, sf.DLink(sf.Mondrian(sf.KAnonymity(8)), d=2, alpha=0.5), repeats=1, victims=50)
    assert 0 <= found.released.rate <= 1


def test_points_references_and_reports_name_the_attribute(table, tmp_path):
    front = sf.frontier(
        table, [sf.Mondrian(sf.KAnonymity(8)), sf.DiffGen(1, specializations=2), sf.Suppress()], workers=0, repeats=2,
        progress=False,
    )  # fmt: skip
    point = front.points[0]
    assert point.attributes["privacy"]["worst"] == "ill"
    each = point.attributes["privacy"]["each"]
    assert set(each) == {"sex", "ill", "pay"}
    assert point.privacy.mean == max(float(one) for one in each.values())
    assert json.loads(json.dumps(point.to_json()))["attributes"]["privacy"]["worst"] == "ill"
    assert "the rarest value of ill is revealed" in [mark.name for mark in front.references]
    loss = next(mark.value for mark in front.references if mark.name.startswith("the rarest"))
    for name in ("sex", "ill", "pay"):
        assert sf.privacy_loss(table, sf.publish(table, sf.Mondrian(sf.KAnonymity(8))), attribute=name).value <= loss
    for form in ("html", "md", "json"):
        text = sf.report(front, tmp_path / f"r.{form}").read_text("utf-8")
        assert "is the figure of ill, the worst of 3 attributes" in text
        assert all(f"{name} {float(one):.4g}" in text for name, one in each.items())


def test_the_commands_print_all_sensitive_attributes(table, tmp_path):
    schema = sf.Schema.parse(SCHEMA)
    names = [known.name for known in schema.published]
    rows = [
        ",".join(schema[name].text(int(code)) for name, code in zip(names, row, strict=True))
        for row in table.codes(names)
    ]
    (tmp_path / "d.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    (tmp_path / "s.toml").write_text(TOML)
    run = CliRunner().invoke
    data, where = str(tmp_path / "d.csv"), str(tmp_path / "s.toml")
    made = run(app, ["publish", "mondrian", data, where, "--k", "8", "-o", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    answer = run(app, ["measure", data, where, str(tmp_path / "out")])
    assert "privacy_loss is the figure of ill, the worst of 3 attributes: sex " in answer.output
    records = tmp_path / "r.csv"
    answer = run(app, ["attack", "composition", str(tmp_path / "out"), "--victims", data, "--records", str(records)])
    assert answer.exit_code == 0, answer.output
    assert "given away most of 3 attributes" in answer.output
    assert {line.split(",")[1] for line in records.read_text().splitlines()[1:]} == {"sex", "ill", "pay"}
