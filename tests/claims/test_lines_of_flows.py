"""What a line of flows stands for: every job is counted or reading is refused, and a checked cap is one of people."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app
from sfumato.commuting import Geography, flows as reading, map_data, read_flows
from sfumato.commuting.map import map_page

CODES = [f"{at:02}" for at in range(1, 13)]
BLOCKS = pl.DataFrame({"code": CODES, "latitude": np.linspace(41, 42, 12), "longitude": [-71.0] * 12})
GEOGRAPHY = Geography.read(BLOCKS)

Job = tuple[str, str, str]  # person, work, home


def jobs_of(seed: int, people: int = 60) -> list[Job]:
    """People with up to three jobs at different places."""
    draw = random.Random(seed)
    found = []
    for one in range(people):
        home = draw.choice(CODES)
        found += [(f"p{one + 1}", work, home) for work in draw.sample(CODES[:4], draw.choice([1, 1, 2, 3]))]
    draw.shuffle(found)
    return found


def crossed(jobs: list[Job], count: str) -> pl.DataFrame:
    frame = pl.DataFrame(jobs, schema=["who", "work", "home"], orient="row")
    return frame.group_by("work", "home", maintain_order=True).len(count)


def totals(flows) -> dict[str, int]:
    destinations, n = flows.sizes()
    return {CODES[at]: many for at, many in zip(destinations.tolist(), n.tolist(), strict=True)}


def truth(jobs: list[Job]) -> dict[str, int]:
    return {work: sum(job[1] == work for job in jobs) for work in sorted({job[1] for job in jobs})}


# ---------------------------------------------------------------------------- counts

NAMES = [
    *("Freq", "n_workers", "n", "Count", "COUNT", "total", "Total jobs", "number of workers", "Anzahl", "Pendler"),
    *("num_employees", "flow", "effectif", "job_count", "s000", "value", "weight", "V3", "x", "commuters", "jobs"),
]


def read_or_refused(frame: pl.DataFrame, **options) -> dict[str, int] | None:
    try:
        return totals(read_flows(frame, GEOGRAPHY, **options))
    except sf.ReadError:
        return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", [pl.String, pl.Int64, pl.Float64])
def test_jobs_are_those_of_the_file_or_reading_is_refused(name, form):
    for seed in range(5):
        jobs = jobs_of(seed)
        frame = crossed(jobs, name).with_columns(pl.col(name).cast(form))
        assert read_or_refused(frame) in (None, truth(jobs))
        assert read_or_refused(frame, count=name) == truth(jobs)


def test_a_mutant_that_knows_fewer_names_is_caught(monkeypatch):
    monkeypatch.setattr(reading, "named_like_counts", lambda *_: False)
    monkeypatch.setattr(reading, "_crossed", lambda *_: False)
    jobs = jobs_of(1)
    assert read_or_refused(crossed(jobs, "Freq")) not in (None, truth(jobs))


def test_the_refusal_says_which_option_names_it_and_which_says_that_it_is_none():
    frame = crossed(jobs_of(2), "n_workers")
    with pytest.raises(sf.ReadError) as error:
        read_flows(frame, GEOGRAPHY)
    answer = str(error.value)
    assert 'count="n_workers" (--count)' in answer
    assert 'ignore=["n_workers"] (--ignore)' in answer
    assert totals(read_flows(frame, GEOGRAPHY, ignore=["n_workers"])) == truth([("", *row[:2]) for row in frame.rows()])
    with pytest.raises(sf.ReadError, match="no column nothing"):
        read_flows(frame, GEOGRAPHY, ignore=["nothing"])


def test_two_columns_of_counts_are_refused_until_one_is_named():
    frame = crossed(jobs_of(3), "count").with_columns(n_workers=pl.col("count") + 1)
    with pytest.raises(sf.ReadError, match="n_workers: may be the number of jobs a line stands for, and so may count"):
        read_flows(frame, GEOGRAPHY)
    assert totals(read_flows(frame, GEOGRAPHY, ignore=["n_workers"])) == truth(jobs_of(3))
    assert read_flows(frame, GEOGRAPHY, count="n_workers").table.rows == len(jobs_of(3)) + frame.height


PASSED = {
    "ones": pl.lit(1),
    "words": pl.lit("full time"),
    "nothing": pl.lit(None, pl.Float64),
}


@pytest.mark.parametrize("cells", PASSED.values(), ids=PASSED)
def test_a_column_of_that_name_without_numbers_is_no_count(cells):
    jobs = jobs_of(4)
    frame = pl.DataFrame(jobs, schema=["who", "work", "home"], orient="row").drop("who").with_columns(n_workers=cells)
    assert totals(read_flows(frame, GEOGRAPHY)) == truth(jobs)


def test_ages_beside_jobs_that_share_places_are_no_counts():
    jobs = jobs_of(5)
    frame = pl.DataFrame([(*job[1:], 20 + at % 40) for at, job in enumerate(jobs)], schema=["work", "home", "age"],
                         orient="row")  # fmt: skip
    assert totals(read_flows(frame, GEOGRAPHY)) == truth(jobs)


@pytest.mark.parametrize("cells", [[1.5, 1.0], [float("nan"), 1.0], [float("inf"), 1.0], [-1.0, 2.0], [True, False]])
def test_decimals_in_a_frame_are_not_cut_to_whole_numbers(cells):
    frame = pl.DataFrame({"work": ["01", "02"], "home": ["03", "04"], "count": cells})
    with pytest.raises(sf.ReadError, match="whole numbers"):
        read_flows(frame, GEOGRAPHY)


def test_a_mutant_that_cuts_decimals_is_caught(monkeypatch):
    monkeypatch.setattr(reading, "jobs_of_lines", lambda frame, many: frame[many].cast(pl.Int64, strict=False))
    frame = pl.DataFrame({"work": ["01"], "home": ["03"], "count": [1.5]})
    assert read_flows(frame, GEOGRAPHY).table.rows == 1  # what the test above refuses


@pytest.mark.parametrize("blank", ["", "   ", None])
@pytest.mark.parametrize("place", ["work", "home"])
def test_a_blank_place_is_refused_and_not_elsewhere(place, blank, tmp_path):
    frame = pl.DataFrame({"work": ["01", "02"], "home": ["03", "04"]}).with_columns(
        pl.Series(place, ["01", blank], dtype=pl.String)
    )
    frame.write_csv(tmp_path / "od.csv")
    for data in (frame, tmp_path / "od.csv"):
        with pytest.raises(sf.ReadError, match="must not be empty") as error:
            read_flows(data, GEOGRAPHY, unknown="elsewhere")
        assert error.value.problems[0].rows == 1


def test_codes_that_became_decimals_are_the_places_they_were():
    places = Geography.read(BLOCKS.with_columns(code=pl.Series(range(101, 113))))
    frame = pl.DataFrame({"work": [101.0, 102.0], "home": [103.0, 104.0]})
    flows = read_flows(frame, places, unknown="elsewhere")
    assert [column.tolist() for column in flows.pairs] == [[0, 1], [2, 3], [1, 1]]


# ---------------------------------------------------------------------------- people

SPELLINGS = {
    "case": (str, str.upper),
    "blanks": (str, lambda key: f"{key} "),
    "zeros": (str, lambda key: f"p00{key[1:]}"),
    "hyphen": (str, lambda key: f"p-{key[1:]}"),
    "decimals": (lambda key: key[1:], lambda key: f"{key[1:]}.0"),
    "wide": (str, lambda key: key.replace("p", "\uff50")),
}


def spelled(jobs: list[Job], ways) -> pl.DataFrame:
    """Each job of a person under another spelling of the key."""
    seen: dict[str, int] = {}
    rows = []
    for who, work, home in jobs:
        seen[who] = seen.get(who, -1) + 1
        rows.append((ways[seen[who] % 2](who), work, home))
    return pl.DataFrame(rows, schema=["who", "work", "home"], orient="row")


def claim_is_true(frame: pl.DataFrame, jobs: list[Job], cap: int) -> bool:
    """Whether reading is refused, or nobody has more jobs than the cap."""
    try:
        read_flows(frame, GEOGRAPHY, person="who", unit="person", cap=cap)
    except sf.ReadError:
        return True
    return max(sum(job[0] == who for job in jobs) for who, *_ in jobs) <= cap


@pytest.mark.parametrize("ways", SPELLINGS.values(), ids=SPELLINGS)
def test_a_checked_cap_holds_for_people(ways):
    for seed in range(5):
        jobs = jobs_of(seed)
        for cap in (1, 2, 3):
            assert claim_is_true(spelled(jobs, ways), jobs, cap)


def test_a_mutant_that_compares_raw_texts_is_caught(monkeypatch):
    def raw(keys, where, jobs, cap, *, exact, rows):
        each = pl.DataFrame({"who": keys, "jobs": jobs}).group_by("who").agg(pl.col("jobs").sum())
        if each["jobs"].max() > cap:
            raise sf.ReadError([])

    monkeypatch.setattr(reading, "check_cap", raw)
    monkeypatch.setattr(reading, "_refuse_other_keys", lambda *_: None)
    jobs = [job for job in jobs_of(1) if job[1] in CODES[:2]]  # at most two jobs of a person
    assert not claim_is_true(spelled(jobs, SPELLINGS["case"]), jobs, 1)


def test_keys_that_differ_in_spelling_may_be_said_to_be_different():
    frame = pl.DataFrame({"who": ["a1", "A1"], "work": ["01", "02"], "home": ["03", "04"]})
    options = {"person": "who", "unit": "person", "cap": 1}
    with pytest.raises(sf.ReadError, match=r"person_exact=True \(--person-exact\)"):
        read_flows(frame, GEOGRAPHY, **options)
    assert read_flows(frame, GEOGRAPHY, person_exact=True, **options).table.rows == 2


@pytest.mark.parametrize("key", ["", None, "unknown", "k.A.", "?"])
def test_a_line_without_a_key_is_refused(key):
    frame = pl.DataFrame({"who": ["a1", key], "work": ["01", "02"], "home": ["03", "04"]})
    with pytest.raises(sf.ReadError, match="1 row has no value in who"):
        read_flows(frame, GEOGRAPHY, person="who", unit="person", cap=1)


@pytest.mark.parametrize("work", [["01", "01 "], ["0199", "0198"]])
def test_two_jobs_at_one_place_are_two_however_the_place_is_written(work):
    near = Geography.read(BLOCKS.filter(pl.col("code") != "01"))
    far = Geography.read(BLOCKS.filter(pl.col("code") == "01"))
    frame = pl.DataFrame({"who": ["a", "a"], "work": work, "home": ["03", "04"]})
    with pytest.raises(sf.ReadError, match=r"two jobs or more at one destination\. Hint: keep one of them: no cap"):
        read_flows(frame, near.beyond(far), person="who", unit="person", cap=2)


@pytest.mark.parametrize("key", ["worker_id", "BSN", "nr", "Personalnummer"])
@pytest.mark.parametrize("named", [None, "job"])
def test_a_cap_is_refused_where_a_key_that_is_not_named_passes_it(key, named):
    jobs = jobs_of(7)
    frame = pl.DataFrame(jobs, schema=[key, "work", "home"], orient="row").with_columns(
        job=pl.Series([f"j{at}" for at in range(len(jobs))])
    )
    options = {"unit": "person", "person": named}
    with pytest.raises(sf.ReadError, match=f"{key}: looks like the key of a person"):
        read_flows(frame, GEOGRAPHY, cap=1, **options)
    assert read_flows(frame, GEOGRAPHY, cap=1, ignore=[key], **options).table.rows == len(jobs)
    assert read_flows(frame, GEOGRAPHY, cap=3, **options).table.rows == len(jobs)
    assert key in [remark.path for remark in read_flows(frame, GEOGRAPHY).remarks]


def test_a_promise_to_people_needs_somebody_who_says_how_many_rows_they_have():
    frame = pl.DataFrame(jobs_of(8), schema=["who", "work", "home"], orient="row")
    flows = read_flows(frame, GEOGRAPHY)
    with pytest.raises(sf.ParameterError, match="nobody said how many rows a person has"):
        sf.publish(flows.table, sf.Synthesize(2, "1e-5", unit="person"), seed=1)
    assert sf.Synthesize(2, "1e-5").claim(flows.schema).unit == "row"


# ---------------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("unit", "cap", "counted"), [("job", None, "jobs"), ("person", 3, "jobs"), ("person", 1, "people")]
)
def test_every_sentence_counts_in_its_unit(unit, cap, counted, tmp_path):
    jobs = jobs_of(9)
    if cap == 1:
        jobs = list({job[0]: job for job in jobs}.values())
    pl.DataFrame(jobs, schema=["worker_id", "work", "home"], orient="row").write_csv(tmp_path / "od.csv")
    BLOCKS.write_csv(tmp_path / "blocks.csv")
    options = [] if cap is None else ["--cap", str(cap), "--person", "worker_id"]
    words = ["synthesize", str(tmp_path / "od.csv"), "--geography", str(tmp_path / "blocks.csv"), "--epsilon", "2"]
    words += ["--delta", "1e-5", "--allow-unaccounted", "-o", str(tmp_path / "out"), "--unit", unit, *options]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.exception
    other = "people" if counted == "jobs" else "jobs"
    assert f"synthetic {counted}" in done.stdout
    assert f"{counted} to a destination on average" in done.stdout
    release = sf.Release.load(tmp_path / "out")
    geography = Geography.read(tmp_path / "blocks.csv")
    page = map_page(map_data(release, geography))
    assert f"{len(jobs)} of {len(jobs)} {counted}" in page
    assert f"how many {counted} each has" in page
    for text in (done.stdout, page):
        assert f"synthetic {other}" not in text
        assert f"{other} (public)" not in text
    assert f'"title": "{other}"' not in page.replace('":"', '": "')
    protected = "where one person lives" if unit == "person" else "the origin of one row"
    assert protected in release.claim.describe()
    assert "worker" not in release.claim.describe()
