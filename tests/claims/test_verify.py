"""Does the verifier catch what does not hold? Broken releases, and broken verifiers, beside the real ones."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from sfumato.claims import (
    AlphaK,
    BetaLikeness,
    Claim,
    KAnonymity,
    LDiversity,
    Linkable,
    Neighbours,
    PureDP,
    SemanticPrivacy,
    TCloseness,
)
from sfumato.errors import ParameterError, ReleaseError
from sfumato.release import Release, assemble, check_classes as examine, verify
from sfumato.release.check_classes import examine_rows
from sfumato.schema import Labels, Schema

SCHEMA = Schema.parse(
    {
        "name": "clinic",
        "source": "public",
        "attribute": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
            "job": {"role": "quasi", "kind": "nominal", "values": ["clerk", "mason", "smith"], "missing": [""]},
            "size": {"role": "sensitive", "kind": "numeric", "range": [0, 200]},
            "illness": {
                "role": "sensitive",
                "kind": "nominal",
                "hierarchy": {"Lung": ["flu", "asthma"], "Gut": ["ulcer", "colitis"]},
                "ground": "hierarchical",
            },
        },
    }
)

IN_ROWS = "rows are counted; how many of them are about one person is not stated"


def release_of(claim: Claim, *, groups: int = 4, rows: int = 10, suppressed: bool = True, **rest: Any) -> Release:
    """Return classes [10 g, 10 g + 10) x job, each with the same mixed sensitive values; one of them suppressed."""
    ages = [((10 * g, 10 * g + 10),) for g in range(groups)]
    jobs = [((g % 4, g % 4 + 1),) for g in range(groups)]
    if suppressed:
        ages.append(((0, 100),))
        jobs.append(((0, 4),))
    total = len(ages)
    tables, ids = zip(
        *(Labels.from_sets(SCHEMA[name], sets) for name, sets in (("age", ages), ("job", jobs))), strict=True
    )
    codes = np.array([[9 if row % 2 else 10, row % 4] for _ in range(total) for row in range(rows)])
    release, _ = assemble(
        SCHEMA,
        tables=tables,
        labels=np.column_stack(ids),
        weight=np.full(total, rows),
        group=np.arange(total),
        carried_group=np.repeat(np.arange(total), rows),
        carried_codes=codes,
        carried_weight=np.ones(total * rows, np.int64),
        claim=claim,
        suppressed_group=total - 1 if suppressed else None,
        **rest,
    )
    return release


CLAIM = Claim(KAnonymity(10) & LDiversity(2) & TCloseness("0.01"))


@pytest.fixture
def folder(tmp_path):
    release_of(CLAIM).save(tmp_path / "out", format="csv")
    return tmp_path / "out"


def edit(folder, change, *, rehash=False, table="data"):
    """Rewrite a table through `change`; with `rehash` the manifest is made to agree, as a careful cheat would."""
    file = folder / f"{table}.csv"
    frame = change(pl.read_csv(file, infer_schema=False))
    frame.write_csv(file)
    if rehash:
        manifest = json.loads((folder / "manifest.json").read_text())
        entry = manifest["files"][file.name]
        entry |= {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "rows": len(frame), "columns": frame.columns}
        (folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_good_release_holds(folder):
    verdict = verify(folder)
    assert (verdict.kind, verdict.holds, verdict.offending, verdict.classes, verdict.rows) == (
        "checked",
        True,
        0,
        5,
        50,
    )
    assert verdict.asked == CLAIM.promise
    assert verdict.found["k-anonymity"] == 10
    assert verdict.found["t-closeness"] == 0
    assert verdict.problems == ()
    assert verdict.notes == (IN_ROWS,)
    assert verdict.exit_code == 0
    assert json.loads(json.dumps(verdict.to_json()))["holds"] is True


def one_more(column, text):
    """Give one row of the first class another text."""
    return lambda frame: frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(text)).otherwise(column).alias(column)
    )


EDITS = {
    "a row dropped": lambda frame: frame[1:],
    "a label edited": one_more("age", "[0-1)"),
    "a label outside the domain": one_more("age", "[200-300)"),
    "a label nobody knows": one_more("job", "pope"),
    "a missing cell": one_more("job", ""),
    "a value edited": lambda frame: frame.with_columns(
        illness=pl.when(pl.col("age") == "[0-10)").then(pl.lit("flu")).otherwise("illness")
    ),
    "a row index": lambda frame: frame.with_row_index("index"),
    "a column dropped": lambda frame: frame.drop("size"),
    "a column renamed": lambda frame: frame.rename({"job": "jobs"}),
    "rows with missing values dropped": lambda frame: frame.filter(
        (pl.col("job") != "(missing)") | (pl.int_range(pl.len()) % 2 == 0)
    ),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("rehash", [False, True])
def test_edits_are_caught(folder, name, rehash):
    edit(folder, EDITS[name], rehash=rehash)
    verdict = verify(folder)
    assert verdict.holds is False
    assert verdict.exit_code == 3
    changed = [problem for problem in verdict.problems if "SHA-256" in problem.rule]
    assert len(changed) == (0 if rehash else 1)
    if rehash:
        assert verdict.problems or verdict.offending


def test_an_edit_that_keeps_the_claim_fails_by_its_hash_or_by_the_words_about_it(folder):
    edit(folder, lambda frame: pl.concat([frame, frame]).sort(frame.columns))
    verdict = verify(folder)
    assert verdict.holds is False
    assert verdict.offending == 0
    edit(folder, lambda frame: frame, rehash=True)
    verdict = verify(folder)
    assert (verdict.holds, verdict.offending) == (False, 0)
    assert [problem.path for problem in verdict.problems] == ["dictionary.md"]  # which counts the rows as they were


def test_other_ways_to_break_a_folder(folder):
    manifest = json.loads((folder / "manifest.json").read_text())

    def broken(**change):
        copy = folder.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        (copy / "manifest.json").write_text(json.dumps({**manifest, **change}))
        return copy

    assert verify(broken()).holds is True
    wrong_k = {**manifest["claim"], "promise": KAnonymity(11).to_json()}
    verdict = verify(broken(claim=wrong_k))
    assert (verdict.holds, verdict.offending, verdict.offending_rows) == (False, 5, 50)
    assert verify(broken(claim={"kind": "checked"})).holds is False
    files = {**manifest["files"], "data.csv": {**manifest["files"]["data.csv"], "sha256": "0" * 64}}
    assert verify(broken(files=files)).holds is False
    (broken() / "dictionary.md").write_text("changed")
    assert verify(folder.parent / "copy").holds is False
    (broken() / "raw.csv").write_text("age\n42\n")
    assert verify(folder.parent / "copy").holds is False
    (broken() / ".DS_Store").write_text("")
    assert verify(folder.parent / "copy").holds is False
    (broken() / "data.csv").unlink()
    assert verify(folder.parent / "copy").holds is False
    (broken() / "data.csv").write_bytes(b"")
    assert verify(folder.parent / "copy").holds is False
    with pytest.raises(ReleaseError):
        verify(folder.parent / "nowhere")


def test_the_suppressed_group_counts_too(tmp_path):
    """Three suppressed rows under a claim of ten: the class of all `*` offends like any other."""
    release = release_of(Claim(KAnonymity(10)))
    small = release_of(Claim(KAnonymity(10)), groups=0, rows=3)
    release.save(tmp_path / "out", format="csv", allow_fingerprints=True)
    edit(
        tmp_path / "out",
        lambda frame: pl.concat([frame.filter(pl.col("age") != "*"), small.frame()]).sort(frame.columns),
        rehash=True,
    )
    verdict = verify(tmp_path / "out")
    assert verdict.found["k-anonymity"] == 3
    assert (verdict.holds, verdict.offending, verdict.offending_rows) == (False, 1, 3)


def test_order_and_index_of_rows(folder):
    edit(folder, lambda frame: frame.reverse(), rehash=True)
    verdict = verify(folder)
    assert verdict.holds is False
    assert [problem for problem in verdict.problems if "sorted" in problem.rule]


def test_a_hidden_file_is_not_overlooked(folder):
    (folder / ".raw.csv").write_text("age\n3\n")
    assert verify(folder).holds is False


def test_a_requirement_may_be_asked_of_any_folder(folder):
    assert verify(folder, requirement=KAnonymity(10)).holds is True
    assert verify(folder, requirement=KAnonymity(11)).holds is False
    assert verify(folder, schema=SCHEMA).holds is True
    other = SCHEMA.with_roles(quasi=["age"], sensitive=["size", "illness"], target=["job"])
    assert verify(folder, schema=other).holds is False


# -- buckets -------------------------------------------------------------------------------


def buckets(tmp_path, form="csv"):
    codes = np.array([[g * 10 + i, i % 4] for g in range(3) for i in range(4)])
    release, _ = assemble(
        SCHEMA,
        tables=(Labels.of_codes(SCHEMA["age"]), Labels.of_codes(SCHEMA["job"])),
        labels=codes,
        weight=np.ones(12, np.int64),
        group=np.repeat(np.arange(3), 4),
        carried_group=np.repeat(np.arange(3), 4),
        carried_codes=np.array([[i, i] for _ in range(3) for i in range(4)]),
        carried_weight=np.ones(12, np.int64),
        claim=Claim(LDiversity(4, kind="distinct")),
        form="buckets",
    )
    release.save(tmp_path / "out", format=form, allow_fingerprints=True)
    return tmp_path / "out"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_buckets_hold(tmp_path, form):
    verdict = verify(buckets(tmp_path, form))
    assert verdict.holds is True
    assert verdict.found == {"l-diversity": 4}
    assert verdict.notes == (IN_ROWS,)


BUCKET_EDITS = {
    "sizes differ": ("groups", lambda frame: frame[1:]),
    "a negative count": ("groups", one_more("count", "-1")),
    "a count that is none": ("groups", one_more("count", "many")),
    "a group moved": ("data", one_more("group", "2")),
    "a group without values": ("data", one_more("group", "17")),
    "less diverse": ("groups", lambda frame: frame.with_columns(illness=pl.lit("flu"))),
    "values beside the rows": ("data", lambda frame: frame.with_columns(illness=pl.lit("flu"))),
}


@pytest.mark.parametrize("name", BUCKET_EDITS)
def test_bucket_edits_are_caught(tmp_path, name):
    table, change = BUCKET_EDITS[name]
    folder = buckets(tmp_path)
    edit(folder, change, rehash=True, table=table)
    assert verify(folder).holds is False


# -- proved and estimated claims -----------------------------------------------------------

PROVED = Claim(PureDP(1), neighbours=Neighbours.ADD_OR_REMOVE_ONE, trace=[("a", Fraction(1, 3)), ("b", Fraction(2, 3))])


def test_a_proved_claim_holds_and_says_what_it_can_not_show(tmp_path):
    release_of(PROVED, form="cells").save(tmp_path / "out", allow_unaccounted=True)
    verdict = verify(tmp_path / "out")
    assert (verdict.kind, verdict.holds, verdict.findings) == ("proved", True, ())
    assert any("not checkable on the file" in note for note in verdict.notes)
    assert any("not accounted" in note for note in verdict.notes)


@pytest.mark.parametrize(
    "change",
    [
        {"trace": [["a", "1/3"], ["b", "1/3"]]},
        {"trace": []},
        {"rehearsal": True},
        {"neighbours": None},
        {"promise": {"kind": "pure-dp", "epsilon": "1/2"}},
        {"kind": "checked"},
    ],
    ids=str,
)
def test_a_proved_claim_fails(tmp_path, change):
    release_of(PROVED, form="cells").save(tmp_path / "out", allow_unaccounted=True)
    file = tmp_path / "out" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["claim"] |= change
    file.write_text(json.dumps(manifest))
    assert verify(tmp_path / "out").holds is False


def test_a_proved_claim_needs_public_domains_and_its_files(tmp_path):
    release_of(PROVED, form="cells").save(tmp_path / "out", allow_unaccounted=True, format="csv")
    file = tmp_path / "out" / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["schema"]["attributes"][0]["source"] = "data"
    file.write_text(json.dumps(manifest))
    assert verify(tmp_path / "out").holds is False
    manifest["schema"]["attributes"][0]["source"] = "public"
    file.write_text(json.dumps(manifest))
    assert verify(tmp_path / "out").holds is True
    edit(tmp_path / "out", one_more("age", "[200-300)"), rehash=True)
    assert verify(tmp_path / "out").holds is False


def test_an_estimate_is_checked_by_what_it_rests_on(tmp_path):
    def estimate(k, d):
        return Claim(Linkable(d, alpha="0.8", population="p", other_rows=100, organisations=2, base=KAnonymity(k)))

    release_of(estimate(10, 2)).save(tmp_path / "good")
    release_of(estimate(11, 2)).save(tmp_path / "bad")
    release_of(estimate(10, 3)).save(tmp_path / "impossible")  # a class cannot share more values than it has
    good, bad, impossible = (verify(tmp_path / name) for name in ("good", "bad", "impossible"))
    assert (impossible.kind, impossible.holds) == ("estimate", False)
    assert (good.kind, good.holds) == ("estimate", True)
    assert any("not checkable" in note for note in good.notes)
    assert (bad.kind, bad.holds) == ("estimate", False)


# -- bare files ----------------------------------------------------------------------------


def test_a_bare_file(tmp_path):
    frame = release_of(CLAIM).frame()
    frame.write_csv(tmp_path / "t.csv", separator=";")
    frame.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        good = verify(tmp_path / name, schema=SCHEMA, requirement=KAnonymity(10) & LDiversity(2))
        assert (good.kind, good.holds) == ("checked", True)
        assert verify(tmp_path / name, schema=SCHEMA, requirement=KAnonymity(11)).holds is False
    for column in ("index", "name", "unheard of"):
        frame.with_row_index(column).write_csv(tmp_path / "t.csv")
        assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(1)).holds is False
    frame.drop("illness", "size").write_csv(tmp_path / "t.csv")
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(10)).holds is True
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=LDiversity(2)).holds is False
    with pytest.raises(ParameterError, match="requirement"):
        verify(tmp_path / "t.csv", schema=SCHEMA)


FLUS = pl.DataFrame({"age": ["[0-50)"] * 6 + ["[50-100)"], "illness": ["flu", "ulcer"] * 3 + ["ulcer"]})


@pytest.mark.parametrize(
    ("said", "cell", "hint"),
    [
        (
            {"kind": "numeric", "range": [0, 99_000], "thousands": ",", "units": ["$"]},
            "$7,000",
            "without units and marks",
        ),
        ({"kind": "date", "range": ["2000-01-01", "2030-01-01"], "format": "%d.%m.%Y"}, "5.1.2020", "as 2024-05-31"),
        ({"kind": "ordered", "values": ["low", "high"]}, "mid", "add them to `values`"),
    ],
)
def test_a_hint_for_values_that_cannot_be_read_fits_their_kind(tmp_path, said, cell, hint):
    """Numbers and days were to be added to `values`, which their columns do not have."""
    age = {"role": "quasi", "kind": "numeric", "range": [0, 100]}
    schema = Schema.parse({"name": "t", "attribute": {"age": age, "held": {"role": "sensitive", **said}}})
    pl.DataFrame({"age": ["[0-50)"] * 4, "held": [cell] * 4}).write_csv(tmp_path / "t.csv")
    (problem,) = verify(tmp_path / "t.csv", schema=schema, requirement=LDiversity(1)).problems
    assert hint in problem.hint


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_blank_line_of_a_bare_file_is_no_person(tmp_path, ends):
    """Blank lines were counted as people: they hid a class of one, and made a correct table fail."""
    asked = {"schema": SCHEMA, "requirement": KAnonymity(5)}
    good, bad = (frame.write_csv(line_terminator=ends) for frame in (FLUS.head(6), FLUS))
    one = ends.join(["age", *["[0-50)"] * 6, ""])
    for text, rows, holds in ((good, 6, True), (bad, 7, False), (one, 6, True)):
        first, rest = text.split(ends, 1)
        (tmp_path / "t.csv").write_text(f"{first}{3 * ends}{rest}{5 * ends}", newline="")
        found = verify(tmp_path / "t.csv", **asked)
        assert (found.rows, found.holds) == (rows, holds)
        assert Release.read(tmp_path / "t.csv", SCHEMA).rows == rows


def test_a_row_without_a_value_is_refused_in_a_bare_file(tmp_path):
    """Rows in which every cell is empty or blank were counted as people."""
    empty = FLUS.write_csv() + ",\n" * 2 + '"", \n' * 2
    (tmp_path / "t.csv").write_text(empty)
    nulls = pl.concat([FLUS, pl.DataFrame({"age": [None, " "], "illness": [None] * 2}, schema=FLUS.schema)])
    nulls.write_parquet(tmp_path / "t.parquet")
    for name, places in (("t.csv", "4 rows have no value in any column: lines 9, 10, 11, 12"), ("t.parquet", "8, 9")):
        with pytest.raises(ReleaseError, match=places):
            verify(tmp_path / name, schema=SCHEMA, requirement=KAnonymity(5))
        with pytest.raises(ReleaseError, match=places):
            Release.read(tmp_path / name, SCHEMA)
    with pytest.raises(ReleaseError, match="rows 8, 9"):
        Release.read(nulls, SCHEMA)
    with pytest.raises(ReleaseError, match="rows 8, 9"):
        Release.read(nulls.to_pandas(), SCHEMA)
    people = pl.DataFrame({"illness": ["flu", None, "ulcer"]})  # one column: somebody's missing value
    people.write_parquet(tmp_path / "t.parquet")
    assert verify(tmp_path / "t.parquet", schema=SCHEMA, requirement=LDiversity(2)).rows == 3


def test_a_bare_text_file_is_read_as_read_reads_it(tmp_path):
    """A stray quote swallowed lines, and of UTF-16 nothing was known but that the table had no column of the schema."""
    asked = {"schema": SCHEMA, "requirement": KAnonymity(5)}
    for line, rule in (('[0-50),"flu\n[50-100),flu\n[0-50),flu"\n', "line 8 opens a quote"), ("flu\n", "fewer cells")):
        (tmp_path / "t.csv").write_text(FLUS.head(6).write_csv() + line)
        with pytest.raises(ReleaseError, match=rule):
            verify(tmp_path / "t.csv", **asked)
        with pytest.raises(ReleaseError, match=rule):
            Release.read(tmp_path / "t.csv", SCHEMA)
    (tmp_path / "t.csv").write_text(FLUS.head(6).write_csv(), "utf-16")
    assert verify(tmp_path / "t.csv", **asked).holds
    (tmp_path / "t.csv").write_text(FLUS.head(6).write_csv(), "utf-16-le")
    with pytest.raises(ReleaseError, match="is not text"):
        verify(tmp_path / "t.csv", **asked)


def test_rows_of_a_bare_file_are_unique_on_all_its_columns(tmp_path):
    """A column that the schema does not know was not looked at, and makes every row unique."""
    rows = pl.DataFrame({"age": ["[0-50)"] * 4, "job": ["mason"] * 4, "illness": ["flu", "flu", "ulcer", "ulcer"]})
    asked = {"schema": SCHEMA, "requirement": KAnonymity(2)}
    for more, alone in (({}, 0), ({"": ["1", "2", "3", "4"]}, 4), ({"pay": ["7", "8", "9", "9"]}, 2)):
        rows.with_columns(**{name: pl.Series(cells) for name, cells in more.items()}).write_csv(tmp_path / "t.csv")
        assert verify(tmp_path / "t.csv", **asked).fingerprints.alone_on_all == alone
    counted = pl.DataFrame({"age": ["[0-50)"] * 2, "illness": ["flu", "ulcer"], "pay": ["7", "8"], "n": [2, 1]})
    counted.write_csv(tmp_path / "n.csv")
    assert verify(tmp_path / "n.csv", **asked, counts="n").fingerprints.alone_on_all == 1


def test_hints_for_a_bare_file_lead_somewhere(tmp_path):
    """A column with a role was to be given one, and a file without a folder was to be verified as a folder."""
    keyed = replace(SCHEMA, person=("name",), rows_per_person=3)
    rows = pl.DataFrame({"name": ["a", "b"], "age": ["[0-50)"] * 2, "job": ["mason"] * 2, "illness": ["flu", "ulcer"]})
    rows.write_csv(tmp_path / "t.csv")
    found = {one.path: one for one in verify(tmp_path / "t.csv", schema=keyed, requirement=KAnonymity(2)).problems}
    assert found["name"].hint.startswith("remove it: the schema says")
    assert "omit person" in found["people"].hint
    (tmp_path / "manifest.json").write_text("{}")
    beside = verify(tmp_path / "t.csv", schema=keyed, requirement=KAnonymity(2)).problems
    assert any("verify the folder" in one.hint for one in beside)


def test_groups_of_a_bare_file(tmp_path):
    frame = pl.DataFrame({"age": ["1", "2", "3", "4"], "illness": ["flu", "ulcer", "flu", "asthma"], "g": [1, 1, 2, 2]})
    frame.write_csv(tmp_path / "t.csv")
    for requirement in (KAnonymity(2), LDiversity(2), KAnonymity(2) & LDiversity(2)):
        assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=requirement, groups="g").holds is False
        assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=requirement).holds is False
    pl.concat([frame, frame.with_columns(illness=pl.lit("colitis"))]).with_columns(age=pl.lit("[0-10)")).write_csv(
        tmp_path / "alike.csv"
    )
    good = verify(tmp_path / "alike.csv", schema=SCHEMA, requirement=KAnonymity(4) & LDiversity(2), groups="g")
    assert good.holds is True, good
    assert verify(tmp_path / "alike.csv", schema=SCHEMA, requirement=KAnonymity(5), groups="g").holds is False


@pytest.mark.parametrize("other", ["Flu", "flu ", " FLU", "f l u", "influenza", "{flu, ulcer}"])
def test_two_spellings_of_one_value_are_not_diversity(tmp_path, other):
    """A class of one value written in two ways, or of a text that the schema does not know."""
    rows = [{"age": "[0-10)", "illness": text, "job": "*"} for text in ("flu", other)]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv", quote_style="always")
    verdict = verify(tmp_path / "t.csv", schema=SCHEMA, requirement=LDiversity(2, kind="distinct"))
    assert verdict.holds is False, verdict
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2)).holds is True
    rows[1]["illness"] = "Ulcer "
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=LDiversity(2, kind="distinct")).holds is True


@pytest.mark.parametrize("other", ["Flu", "f\u200blu", "\uff46lu", "ulcer"])
def test_two_listed_spellings_of_one_value_are_not_diversity_of_our_own_folder(tmp_path, other):
    attributes = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 100]},
        "illness": {"role": "sensitive", "values": ["flu", other]},
    }
    schema = Schema.parse({"name": "clinic", "attribute": attributes})
    ages, ids = Labels.from_sets(schema["age"], [((0, 100),)])
    release, _ = assemble(
        schema,
        tables=(ages,),
        labels=np.column_stack([ids]),
        weight=np.array([4]),
        group=np.array([0]),
        carried_group=np.zeros(4, np.int64),
        carried_codes=np.array([[0], [1], [0], [1]]),
        carried_weight=np.ones(4, np.int64),
        claim=Claim(KAnonymity(2) & LDiversity(2, kind="distinct")),
    )
    release.save(tmp_path / "out", format="csv", allow_fingerprints=True)
    verdict = verify(tmp_path / "out")
    assert verdict.holds is (other == "ulcer"), verdict
    assert verify(tmp_path / "out", requirement=LDiversity(2)).holds is (other == "ulcer")
    assert verify(tmp_path / "out", requirement=KAnonymity(4)).holds is True


@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini"])
def test_what_is_named_like_a_system_file_is_not_skipped(tmp_path, name):
    release_of(CLAIM).save(tmp_path / "out")
    (tmp_path / "out" / name).write_bytes(b"x")
    assert verify(tmp_path / "out").holds is False
    (tmp_path / "out" / name).unlink()
    assert verify(tmp_path / "out").holds is True
    (tmp_path / "out" / name).mkdir()
    (tmp_path / "out" / name / "people.csv").write_text("name")
    assert verify(tmp_path / "out").holds is False
    (tmp_path / "out" / name / "people.csv").unlink()
    (tmp_path / "out" / name).rmdir()
    (tmp_path / "people.csv").write_text("name")
    (tmp_path / "out" / name).symlink_to(tmp_path / "people.csv")
    assert verify(tmp_path / "out").holds is False


def test_rows_per_person(tmp_path):
    release_of(CLAIM).frame().write_csv(tmp_path / "t.csv")
    data = {"name": "t", "rows_per_person": 2, "attribute": {"age": {"role": "quasi", "kind": "numeric"}}}
    data["attribute"]["age"]["range"] = [0, 100]
    for name in ("job", "size", "illness"):
        role = "quasi" if name == "job" else "sensitive"
        data["attribute"][name] = {"role": role, "kind": "nominal", "values": ["x"]}
    twice = Schema.parse(data)
    assert verify(tmp_path / "t.csv", schema=twice, requirement=KAnonymity(5)).holds is True
    assert verify(tmp_path / "t.csv", schema=twice, requirement=KAnonymity(6)).holds is False


# -- against oracles -----------------------------------------------------------------------

cells = st.lists(
    st.tuples(
        st.sampled_from(["[0-10)", "[10-20)", "*", None]),
        st.sampled_from(["clerk", "mason", None]),
        st.sampled_from(["9", "10", "100"]),
        st.sampled_from(["flu", "asthma", "ulcer"]),
    ),
    min_size=1,
    max_size=40,
)


def by_hand(rows):
    """Return smallest class, fewest distinct illnesses, and the worst ordered distance of sizes, by plain loops."""
    order = sorted({int(row[2]) for row in rows})
    classes: dict[Any, list[Any]] = {}
    for row in rows:
        classes.setdefault(row[:2], []).append(row)
    worst = Fraction(0)
    for members in classes.values():
        moved = total = Fraction(0)
        for size in order:
            mine = Fraction(sum(int(row[2]) == size for row in members), len(members))
            moved += mine - Fraction(sum(int(row[2]) == size for row in rows), len(rows))
            total += abs(moved)
        worst = max(worst, total / max(1, len(order) - 1))
    return min(map(len, classes.values())), min(len({row[3] for row in m}) for m in classes.values()), worst


@given(rows=cells)
@settings(max_examples=80)
def test_finds_what_plain_loops_find(tmp_path_factory, rows):
    """Blank cells are classes of their own; sizes are ordered as numbers (9, 10, 100), not as text (10, 100, 9)."""
    file = tmp_path_factory.mktemp("t") / "t.csv"
    pl.DataFrame(rows, schema=["age", "job", "size", "illness"], orient="row").write_csv(file)
    k, distinct, worst = by_hand(rows)
    alone = SCHEMA.with_roles(quasi=["age", "job"], sensitive=["illness"], target=["size"])
    asked = KAnonymity(k) & LDiversity(distinct, kind="distinct")
    verdict = verify(file, schema=alone, requirement=asked)
    assert verdict.holds is True
    assert verdict.found == {"k-anonymity": k, "l-diversity": distinct}
    assert verify(file, schema=alone, requirement=KAnonymity(k + 1)).holds is False
    assert verify(file, schema=alone, requirement=LDiversity(distinct + 1, kind="distinct")).holds is False
    sizes = SCHEMA.with_roles(quasi=["age", "job"], sensitive=["size"], target=["illness"])
    assert verify(file, schema=sizes, requirement=TCloseness(1, distance="emd")).found["t-closeness"] == worst


@pytest.mark.parametrize(
    "requirement",
    [
        KAnonymity(2),
        LDiversity(2),
        LDiversity("1.5", kind="entropy"),
        LDiversity(2, kind="recursive", c=2),
        TCloseness("0.2"),
        TCloseness("0.2", distance="emd"),
        SemanticPrivacy(1, absent="ignore"),
        AlphaK("0.9", k=2),
        BetaLikeness(2),
    ],
    ids=str,
)
def test_values_that_never_occur_change_nothing(tmp_path, requirement):
    """The verifier counts occurring values only; a histogram over the whole domain gives the same answer."""
    from sfumato.release import ground_of

    rng = np.random.default_rng(3)
    rows = 300
    frame = pl.DataFrame(
        {
            "age": [f"[{10 * a}-{10 * a + 10})" for a in rng.integers(0, 5, rows)],
            "job": ["clerk"] * rows,
            "size": rng.choice([3, 9, 10, 100], rows),
            "illness": rng.choice(["flu", "asthma", "ulcer"], rows),
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    verdict = verify(tmp_path / "t.csv", schema=SCHEMA, requirement=requirement)
    release = Release.read(frame, SCHEMA)
    for finding in verdict.findings:
        if finding.attribute is None:
            continue
        given = {"ground": ground_of(SCHEMA[finding.attribute])}
        whole = release.groups.histogram(finding.attribute)
        overall = release.groups.overall[finding.attribute]
        assert requirement.found(whole, overall, **given) == pytest.approx(finding.found)
        assert requirement.check(whole, overall, **given).all() == finding.holds


def test_recomputes_what_pycanon_finds(tmp_path):
    from pycanon import anonymity

    rng = np.random.default_rng(8)
    rows = 400
    frame = pl.DataFrame(
        {
            "age": [f"[{20 * a}-{20 * a + 20})" for a in rng.integers(0, 5, rows)],
            "job": rng.choice(["clerk", "mason"], rows),
            "illness": rng.choice(["flu", "asthma", "ulcer", "colitis"], rows, p=[0.5, 0.3, 0.1, 0.1]),
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    verdict = verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2) & LDiversity(2, kind="distinct"))
    table = frame.to_pandas()
    assert verdict.found["k-anonymity"] == anonymity.k_anonymity(table, ["age", "job"])
    assert verdict.found["l-diversity"] == anonymity.l_diversity(table, ["age", "job"], ["illness"])


# -- broken verifiers must be caught by the tests above ------------------------------------


def test_mutant_that_forgets_blank_cells_is_caught(tmp_path, monkeypatch):
    rows = [("[0-10)", "clerk", "9", "flu")] * 5 + [("[0-10)", None, "9", "flu")]
    pl.DataFrame(rows, schema=["age", "job", "size", "illness"], orient="row").write_csv(tmp_path / "t.csv")
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2)).holds is False
    real = examine.tally
    monkeypatch.setattr(examine, "tally", lambda *given: real(*given).drop_nulls())
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2)).holds is True


def test_mutant_that_forgets_the_suppressed_group_is_caught(tmp_path, monkeypatch):
    rows = [("[0-10)", "clerk", "9", "flu")] * 5 + [("*", "*", "9", "flu")]
    pl.DataFrame(rows, schema=["age", "job", "size", "illness"], orient="row").write_csv(tmp_path / "t.csv")
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2)).holds is False
    real = examine.tally
    monkeypatch.setattr(examine, "tally", lambda *given: real(*given).filter(pl.col("age") != "*"))
    assert verify(tmp_path / "t.csv", schema=SCHEMA, requirement=KAnonymity(2)).holds is True


def test_examined_rows_are_all_rows():
    frame = release_of(CLAIM).frame()
    examined = examine_rows(SCHEMA, frame.lazy(), {name: name for name in frame.columns}, KAnonymity(1))
    assert examined.rows == len(frame)


def test_verify_imports_no_mechanism_kernel_or_source_of_rows():
    code = (
        "import sys, sfumato.release.verify;"
        "bad = [m for m in sys.modules if m.startswith(('sfumato.kernels', 'sfumato.mechanisms', 'sfumato.counts'))];"
        "sys.exit(1 if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0
