"""Folders that do not satisfy their claim, made by someone who knows how the verifier works and mends every hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from sfumato import counts
from sfumato.claims import KAnonymity, LDiversity, TCloseness
from sfumato.errors import ReleaseError
from sfumato.mechanisms import Bucketize, Mondrian
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import Release, verify
from sfumato.schema import Schema

DECLARED = {
    "name": "ward",
    "attribute": {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 8]},
        "job": {"role": "quasi", "kind": "nominal", "hierarchy": {"A": ["x", "y"], "B": ["z"]}, "missing": ["?"]},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "hiv", "none"], "missing": ["?"]},
        "pay": {"role": "sensitive", "kind": "numeric", "range": [0, 9]},
        "born": {"role": "sensitive", "kind": "date", "range": ["2020-01-01", "2020-01-09"]},
        "vote": {"role": "target", "kind": "nominal", "values": ["l", "r"]},
    },
}
SCHEMA = Schema.parse(DECLARED)
REQUIREMENT = KAnonymity(4) & LDiversity(2, kind="distinct")


def table():
    """Eight people of each age, every sensitive value equally often."""
    rows = [
        {
            "age": str(i // 8),
            "job": "xyz?"[i % 4],
            "ill": ["flu", "hiv", "none", "?"][(i + i // 8) % 4],
            "pay": str(i % 5),
            "born": f"2020-01-0{1 + i % 5}",
            "vote": "lr"[i % 2],
        }
        for i in range(64)
    ]
    return counts.read(pl.DataFrame(rows), SCHEMA)


def saved(where: Path, mechanism=None, form: str = "csv") -> Path:
    mechanism = mechanism or Mondrian(REQUIREMENT)
    release = run(mechanism, gather(mechanism, table()), Entropy.seeded(1))
    release.save(where / "out", format=form, allow_rehearsal=True, allow_fingerprints=True)
    return where / "out"


@pytest.fixture
def folder(tmp_path):
    return saved(tmp_path)


@pytest.fixture
def buckets(tmp_path):
    return saved(tmp_path, Bucketize(LDiversity(2, kind="distinct")))


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def mend(folder, change=None, **files):
    """Write the manifest again with true hashes, rows and columns; `files` lists more files."""
    answer = manifest(folder)
    answer["files"] |= {name.replace("__", "."): entry for name, entry in files.items()}
    for name, entry in answer["files"].items():
        entry["sha256"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if entry.get("table") and name.endswith(".csv"):
            frame = pl.read_csv((folder / name).read_bytes(), infer_schema=False)
            entry |= {"rows": len(frame), "columns": frame.columns}
    if change is not None:
        change(answer)
    (folder / "manifest.json").write_text(json.dumps(answer))
    return folder


def rewrite(folder, change, name="data.csv"):
    frame = change(pl.read_csv((folder / name).read_bytes(), infer_schema=False))
    frame.write_csv(folder / name)
    return mend(folder)


def fails(folder, **given):
    try:
        verdict = verify(folder, **given)
    except ReleaseError:
        return True
    assert verdict.holds or verdict.problems or verdict.offending
    return not verdict.holds


def first_class(frame, column, texts):
    """Give the rows of the first class the texts, in turn."""
    keys = frame.select("age", "job").row(0)
    inside = (pl.col("age") == keys[0]) & (pl.col("job") == keys[1])
    turn = inside.cum_sum() % len(texts)
    picked = pl.coalesce(pl.when(turn == at).then(pl.lit(text)) for at, text in enumerate(texts))
    return frame.with_columns(pl.when(inside).then(picked).otherwise(column).alias(column))


def test_the_folder_holds_before_it_is_touched(folder):
    assert verify(folder).holds
    assert verify(mend(folder)).holds


SPELLINGS = {
    "blanks": ("ill", ["flu", " flu", "flu "]),
    "a set of one": ("ill", ["flu", "{flu}"]),
    "a tail": ("pay", ["3", "3.0", "3.00"]),
    "a sign": ("pay", ["3", "+3"]),
    "an interval": ("pay", ["3", "[3-4)", "[3, 4["]),
    "missing": ("ill", ["(missing)", "", " "]),
    "a time of day": ("born", ["2020-01-01", "2020-01-01 09:00", "2020-01-01T10:00"]),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_value_in_two_spellings_is_one_value(folder, name):
    """A class where everybody has the same value is not 2-diverse, however the value is written."""
    column, texts = SPELLINGS[name]
    rewrite(folder, lambda frame: first_class(frame, column, texts))
    assert fails(folder)


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_value_in_two_spellings_in_buckets(buckets, name):
    column, texts = SPELLINGS[name]

    def change(frame):
        inside = pl.col("group") == frame["group"][0]
        turn = inside.cum_sum() % len(texts)
        picked = pl.coalesce(pl.when(turn == at).then(pl.lit(text)) for at, text in enumerate(texts))
        return frame.with_columns(pl.when(inside).then(picked).otherwise(column).alias(column))

    rewrite(buckets, change, "groups.csv")
    assert fails(buckets)


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_in_a_bare_file(folder, name, tmp_path):
    column, texts = SPELLINGS[name]
    frame = first_class(pl.read_csv((folder / "data.csv").read_bytes(), infer_schema=False), column, texts)
    frame.write_csv(tmp_path / "bare.csv")
    assert fails(tmp_path / "bare.csv", schema=SCHEMA, requirement=LDiversity(2, kind="distinct"))


def test_spelling_can_not_mark_people(folder):
    """Every class still satisfies the claim, but blanks behind the target tell who is who."""

    def change(frame):
        return frame.with_columns(
            vote=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("vote") + " ").otherwise("vote")
        )

    rewrite(folder, change)
    assert fails(folder)


def test_a_listed_file_that_no_claim_covers(folder):
    (folder / "raw.csv").write_text("name,ill\nAnna,hiv\n")
    mend(folder, raw__csv={})
    assert fails(folder)


@pytest.mark.parametrize("entry", [{"table": "data"}, {"table": "more"}, {"table": "groups"}])
def test_a_second_table(folder, entry):
    (folder / "raw.csv").write_text("age,job,ill,pay,born,vote\n3,x,hiv,3,2020-01-01,l\n")
    mend(folder, raw__csv=entry)
    assert fails(folder)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_whose_name_is_a_pattern(tmp_path, form):
    """out[1] is read from out[1], not from out1."""
    good = saved(tmp_path, form=form)
    good.rename(tmp_path / "out1")
    bad = saved(tmp_path, Mondrian(KAnonymity(1)), form=form)
    bad.rename(tmp_path / "out[1]")
    bad = tmp_path / "out[1]"
    answer, other = manifest(bad), manifest(tmp_path / "out1")
    (bad / "manifest.json").write_text(json.dumps(answer | {"claim": other["claim"]}))
    assert fails(bad)
    assert len(Release.load(bad).groups) > len(Release.load(tmp_path / "out1").groups)


def test_links_lead_out_of_the_folder(folder, tmp_path):
    (folder / "data.csv").rename(tmp_path / "elsewhere.csv")
    (folder / "data.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert fails(folder)


# -- the manifest --------------------------------------------------------------------------


def role(name, new):
    def change(answer):
        attributes = answer["schema"]["attributes"]
        for attribute in attributes:
            if attribute["name"] == name:
                attribute["role"] = new

    return change


def without(name):
    def change(answer):
        answer["schema"]["attributes"] = [a for a in answer["schema"]["attributes"] if a["name"] != name]

    return change


@pytest.mark.parametrize("change", [role("job", "target"), role("age", "sensitive"), role("ill", "quasi")])
def test_another_role_is_seen_by_the_stewards_schema(folder, change):
    mend(folder, change)
    attributes = manifest(folder)["schema"]["attributes"]
    order = [a["name"] for a in sorted(attributes, key=lambda a: a["role"] != "quasi")]
    rewrite(folder, lambda frame: frame.select(order).sort(order))
    verdict = verify(folder, schema=SCHEMA)
    assert not verdict.holds
    assert [p.path for p in verdict.problems if "published as" in p.rule]


@pytest.mark.parametrize("name", ["age", "job", "ill", "vote"])
def test_an_attribute_dropped_from_the_manifest(folder, name):
    mend(folder, without(name))
    assert fails(folder)


def test_rows_per_person_of_the_steward_counts(folder):
    assert verify(folder, schema=SCHEMA).holds
    twice = Schema.parse({**DECLARED, "rows_per_person": 4})
    assert fails(folder, schema=twice)


@pytest.mark.parametrize("kind", ["ordered", "numeric"])
def test_another_distance_than_the_stewards(tmp_path, kind):
    """Ranks make near what the steward holds to be equally far: emd shrinks."""
    folder = saved(tmp_path, Mondrian(TCloseness("0.3", distance="emd")))

    def change(answer):
        for attribute in answer["schema"]["attributes"]:
            if attribute["name"] == "ill":
                attribute["kind"] = kind

    mend(folder, change)
    assert fails(folder, schema=SCHEMA)


def test_a_domain_the_steward_does_not_know(folder):
    def change(answer):
        for attribute in answer["schema"]["attributes"]:
            if attribute["name"] == "ill":
                attribute["domain"]["values"] = ["fever", *attribute["domain"]["values"]]

    mend(folder, change)
    rewrite(folder, lambda frame: first_class(frame, "ill", ["fever", "flu"]))
    assert fails(folder, schema=SCHEMA)


def test_a_key_given_twice(folder):
    """One reader takes the first claim, another the last."""
    answer = manifest(folder)
    strong = json.dumps(answer["claim"] | {"promise": KAnonymity(1000).to_json()})
    text = json.dumps(answer)
    (folder / "manifest.json").write_text('{"claim": ' + strong + ", " + text[1:])
    assert fails(folder)


MANGLED = {
    "k is 0": {"kind": "k-anonymity", "k": 0},
    "k is a text": {"kind": "k-anonymity", "k": "few"},
    "k is not whole": {"kind": "k-anonymity", "k": 1.5},
    "k is infinite": {"kind": "k-anonymity", "k": 1e999},
    "all of nothing": {"kind": "all", "of": []},
    "nested": {"kind": "all", "of": [{"kind": "all", "of": []}]},
    "t above 1": {"kind": "t-closeness", "t": 2, "distance": "js"},
    "another distance": {"kind": "t-closeness", "t": "1/2", "distance": "none"},
    "nothing": {"kind": "nothing"},
}


@pytest.mark.parametrize("name", MANGLED)
def test_a_claim_that_is_none(folder, name):
    def change(answer):
        answer["claim"]["promise"] = MANGLED[name]

    assert fails(mend(folder, change))


# -- the rows ------------------------------------------------------------------------------

ROWS = {
    "a person alone": "3,x,flu,3,2020-01-01,l\n",
    "a blank quasi-identifier": ",x,flu,3,2020-01-01,l\n" * 8,
    "a quoted blank": '"",x,flu,3,2020-01-01,l\n' * 8,
    "a short line": "3,x\n" * 8,
    "a long line": "3,x,flu,3,2020-01-01,l,Anna\n" * 8,
    "an open quote": '"3,x,flu,3,2020-01-01,l\n',
    "a quote inside": '3,"x"y,flu,3,2020-01-01,l\n',
    "a line inside a cell": '"3\n3",x,flu,3,2020-01-01,l\n' * 8,
    "two persons alone, blank and missing": "3,,flu,3,2020-01-01,l\n3,(missing),hiv,3,2020-01-01,l\n" * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_rows_added_by_hand(folder, name):
    with (folder / "data.csv").open("a") as file:
        file.write(ROWS[name])

    def change(answer):
        answer["files"]["data.csv"] |= {
            "sha256": hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest(),
            "rows": answer["files"]["data.csv"]["rows"] + ROWS[name].count("\n"),
        }

    answer = manifest(folder)
    change(answer)
    (folder / "manifest.json").write_text(json.dumps(answer))
    assert fails(folder)


def test_two_columns_of_one_name(folder):
    text = (folder / "data.csv").read_text().replace("age,job", "age,age,job").replace("\n", "\n3,")
    (folder / "data.csv").write_text(text.removesuffix("\n3,") + "\n")
    answer = manifest(folder)
    answer["files"]["data.csv"]["sha256"] = hashlib.sha256((folder / "data.csv").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(answer))
    assert fails(folder)


def parquet(tmp_path, change, mechanism=None):
    folder = saved(tmp_path, mechanism, form="parquet")
    change(pl.read_parquet(folder / "data.parquet")).write_parquet(folder / "data.parquet")
    answer = manifest(folder)
    answer["files"]["data.parquet"]["sha256"] = hashlib.sha256((folder / "data.parquet").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(answer))
    return folder


TYPES = {
    "as it was": (lambda frame: frame, True),
    "categories": (lambda frame: frame.with_columns(pl.col("ill").cast(pl.Categorical)), True),
    "numbers": (lambda frame: frame.with_columns(pl.col("pay").cast(pl.Int8)), True),
    "days": (lambda frame: frame.with_columns(pl.col("born").str.to_date()), True),
    "nulls": (lambda frame: frame.with_columns(job=pl.when(pl.int_range(pl.len()) > 0).then("job")), False),
    "blanks": (lambda frame: frame.with_columns(job=pl.lit("")), False),
    "moments": (
        lambda frame: frame.with_columns(
            born=pl.col("born").str.to_date().cast(pl.Datetime) + pl.duration(minutes=pl.int_range(pl.len()))
        ),
        False,
    ),
    "halves": (lambda frame: frame.with_columns(pay=pl.col("pay").cast(float) + pl.int_range(pl.len()) / 100), False),
    "lists": (lambda frame: frame.with_columns(pl.concat_list("ill")), False),
    "bytes": (lambda frame: frame.with_columns(pl.col("ill").cast(pl.Binary)), False),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_parquet(tmp_path, name):
    change, good = TYPES[name]
    assert fails(parquet(tmp_path, change)) is not good


# -- buckets -------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["data.csv", "groups.csv"])
def test_two_tables_in_the_same_order_are_one_table(buckets, table):
    """Both tables list a group's people in one order: the link is back, though all counts agree."""
    rewrite(buckets, lambda frame: frame.reverse().sort(pl.col("group").cast(int), maintain_order=True), table)
    assert fails(buckets)


def test_values_of_a_group_listed_one_by_one(tmp_path):
    """The same for a group in which several people have the same values."""
    mechanism = Bucketize(LDiversity(2, kind="distinct"))
    one = table().with_roles(quasi=["age", "job"], sensitive=["ill"])
    run(mechanism, gather(mechanism, one), Entropy.seeded(1)).save(
        tmp_path / "out", format="csv", allow_fingerprints=True
    )
    groups = pl.read_csv((tmp_path / "out" / "groups.csv").read_bytes(), infer_schema=False)
    assert set(groups["count"]) - {"1"}
    assert verify(mend(tmp_path / "out")).holds
    answer = pl.all().repeat_by(pl.col("count").cast(int)).explode()
    rewrite(tmp_path / "out", lambda frame: frame.select(answer).with_columns(count=pl.lit("1")), "groups.csv")
    assert fails(tmp_path / "out")


def change_column(column, change):
    return lambda frame: frame.with_columns(change(pl.col(column)).alias(column))


BUCKETS = {
    "a group renamed in one table": ("data.csv", change_column("group", lambda c: c.replace("0", "00"))),
    "a negative count": ("groups.csv", change_column("count", lambda c: "-" + c)),
    "counts that are none": ("groups.csv", change_column("count", lambda c: c + ".5")),
    "an empty count": ("groups.csv", change_column("count", lambda _: pl.lit(""))),
    "a line of no rows": (
        "groups.csv",
        lambda frame: pl.concat([frame, frame.head(1).with_columns(group=pl.lit("99"), count=pl.lit("0"))]),
    ),
    "all groups one": ("groups.csv", change_column("group", lambda _: pl.lit("0"))),
}


@pytest.mark.parametrize("name", BUCKETS)
def test_groups_that_do_not_match(buckets, name):
    table, change = BUCKETS[name]
    rewrite(buckets, change, table)
    assert fails(buckets)


def test_groups_are_numbers_and_nothing_else(buckets):
    """A name for a group could say anything about it."""
    for table in ("data.csv", "groups.csv"):
        rewrite(buckets, change_column("group", lambda c: "ward of Dr. Hu " + c), table)
    assert fails(buckets)


def test_buckets_read_as_classes(buckets):
    """Two tables declared as one: the exact rows are no classes of four."""
    mend(buckets, lambda answer: answer.update(form="generalized"))
    assert fails(buckets)


def test_a_verdict_tells_no_cell(folder):
    rewrite(folder, lambda frame: first_class(frame, "ill", ["SECRET-1", "SECRET-2"]))
    verdict = verify(folder)
    answer = f"{verdict} {verdict!r} {json.dumps(verdict.to_json())}"
    assert not verdict.holds
    assert "SECRET" not in answer
