"""Bundled Adult: the file, its schema and taxonomies, and the blow-up."""

from __future__ import annotations

import csv
import tomllib
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from sfumato.datasets import ADULT_COLUMNS, ADULT_SCHEMA, adult_frame
from sfumato.errors import ParameterError
from sfumato.schema import Schema

DATA = ADULT_SCHEMA.parent
NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
SCHEMA = tomllib.loads(ADULT_SCHEMA.read_text(encoding="utf-8"))["attribute"]
TREES = sorted(DATA.glob("hierarchies/*.csv"))


def paths(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter=";"))


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    return adult_frame()


def share(frame: pl.DataFrame, name: str, value: str) -> float:
    return (frame[name] == value).sum() / frame.height


def test_the_file_is_small():
    assert (DATA / "adult.parquet").stat().st_size < 500_000


def test_rows_columns_and_known_shares(adult):
    assert adult.shape == (45_222, 15)
    assert tuple(adult.columns) == ADULT_COLUMNS
    assert adult.null_count().sum_horizontal().item() == 0
    assert round(share(adult, "occupation", "Craft-repair"), 4) == 0.1331
    assert round(share(adult, "occupation", "Prof-specialty"), 4) == 0.1329
    assert round(share(adult, "occupation", "Exec-managerial"), 4) == 0.1323
    assert round(share(adult, "occupation", "Armed-Forces"), 4) == 0.0003
    sizes = {"age": 74, "workclass": 7, "education": 16, "marital-status": 7, "occupation": 14}
    sizes |= {"relationship": 6, "race": 5, "sex": 2, "native-country": 41, "income": 2}
    assert {name: adult[name].n_unique() for name in sizes} == sizes


def test_splits_are_uci_s_own(adult):
    train, test = adult_frame("train"), adult_frame("test")
    assert (train.height, test.height) == (30_162, 15_060)
    assert pl.concat([train, test]).equals(adult)


def test_rows_are_those_of_the_original_files(adult, public_data):
    original = public_data("adult", "the files of UCI Adult")
    rows = []
    for name in ("adult.data", "adult.test"):
        for line in (original / name).read_text(encoding="ascii").splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == 15 and "?" not in cells:
                rows.append([*cells[:-1], cells[-1].rstrip(".")])
    expected = pl.DataFrame(rows, schema=list(ADULT_COLUMNS), orient="row")
    assert adult.equals(expected.with_columns(pl.col(NUMERIC).cast(pl.Int64)))


def test_schema_describes_every_column_with_a_public_domain():
    assert tuple(SCHEMA) == ADULT_COLUMNS
    assert {attribute["source"] for attribute in SCHEMA.values()} == {"public"}
    roles = {name: attribute["role"] for name, attribute in SCHEMA.items() if attribute["role"] != "other"}
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex"]
    assert roles == {**dict.fromkeys(quasi, "quasi"), "occupation": "sensitive", "income": "target"}


@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_lie_in_the_public_range(adult, name):
    low, high = SCHEMA[name]["range"]
    assert adult[name].is_between(low, high, closed="left").all()
    assert (high - low) % SCHEMA[name]["step"] == 0


def test_capital_gain_of_zero_is_alone_in_its_cell(adult):
    for name in ("capital-gain", "capital-loss"):
        first = adult.filter(pl.col(name) < SCHEMA[name]["step"])[name]
        assert first.unique().to_list() == [0]


@pytest.mark.parametrize("name", [name for name in ADULT_COLUMNS if name not in NUMERIC])
def test_every_value_is_declared(adult, name):
    attribute = SCHEMA[name]
    declared = attribute.get("values") or [path[0] for path in paths(DATA / attribute["hierarchy"])]
    assert set(adult[name].unique()) <= set(declared)
    unused = {"Never-worked"} if name == "workclass" else set()
    assert set(declared) - set(adult[name].unique()) == unused


@pytest.mark.parametrize("file", TREES, ids=lambda file: file.stem)
def test_taxonomies_are_trees_in_depth_first_order(file):
    lines = paths(file)
    leaves = [line[0] for line in lines]
    assert len({len(line) for line in lines}) == 1
    assert len(set(leaves)) == len(leaves)
    assert all(line[-1] == "*" for line in lines)
    parents: dict[str, set[str]] = {}
    children: dict[str, set[str]] = {}
    for line in lines:
        for child, parent in pairwise(line):
            if child != parent:  # a repeated name only pads the line
                parents.setdefault(child, set()).add(parent)
                children.setdefault(parent, set()).add(child)
    assert all(len(found) == 1 for found in parents.values())
    assert all(len(found) > 1 for found in children.values()), "a node with one child says nothing"
    assert not set(children) & set(leaves), "a group has the name of a leaf"
    for level in range(1, len(lines[0])):
        names = [line[level] for line in lines]
        runs = [name for at, name in enumerate(names) if at == 0 or name != names[at - 1]]
        assert len(set(runs)) == len(runs), "a group is split: the lines are not depth-first"


def test_education_is_in_the_order_of_its_number(adult):
    numbers = dict(adult.select("education", "education-num").unique().iter_rows())
    order = [path[0] for path in paths(DATA / SCHEMA["education"]["hierarchy"])]
    assert [numbers[value] for value in order] == list(range(1, 17))


def test_schemas_load():
    for file in sorted(DATA.glob("*.toml")):
        if file.name == "census_parameters.toml":
            continue
        schema = Schema.load(file)
        assert list(schema.names) == list(tomllib.loads(file.read_text(encoding="utf-8"))["attribute"])


def test_blowup_keeps_the_originals_and_varies_the_rest(adult):
    big = adult_frame(blowup=4, seed=1)
    assert big.schema == adult.schema
    assert big.height == 4 * 45_222
    assert big.head(45_222).equals(adult)
    for variation in range(1, 4):
        part = big.slice(variation * 45_222, 45_222)
        changed = pl.DataFrame({name: part[name] != adult[name] for name in ADULT_COLUMNS})
        assert not changed["income"].any()
        assert set(part["occupation"].unique()) == set(adult["occupation"].unique())
        # 1/4 replaced (a little more: never none), by the same value once in as many as there are
        assert changed["fnlwgt"].mean() == pytest.approx(0.25 + 0.75**14 / 14, abs=0.01)
        assert changed["sex"].mean() == pytest.approx((0.25 + 0.75**14 / 14) / 2, abs=0.01)


def test_blowup_draws_uniformly_from_the_values_that_occur(adult):
    part = adult_frame(blowup=2, seed=2).tail(45_222)
    replaced = part.filter(part["occupation"] != adult["occupation"])["occupation"]
    # Armed-Forces holds 14 of the original rows; replaced values are spread evenly over 14 occupations.
    assert (replaced == "Armed-Forces").mean() == pytest.approx(1 / 13, abs=0.01)


def test_blowup_is_nested_and_splits_agree():
    two, three = adult_frame(blowup=2, seed=5), adult_frame(blowup=3, seed=5)
    assert three.head(two.height).equals(two)
    assert not two.equals(adult_frame(blowup=2, seed=6))
    train, test = (adult_frame(split, blowup=2, seed=5) for split in ("train", "test"))
    assert two.equals(pl.concat([train[:30_162], test[:15_060], train[30_162:], test[15_060:]]))


def test_without_a_seed_each_call_draws_anew():
    assert not adult_frame("test", blowup=2).equals(adult_frame("test", blowup=2))


@pytest.mark.parametrize("wrong", [{"split": "dev"}, {"blowup": 0}, {"seed": -1}], ids=str)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        adult_frame(**wrong)
