"""Three messy tables with known people, from draft to verified release, DP release and frontier: no false sentence.

What is printed and written is held against the truth kept by `messy_tables`; every sentence that says a number about
people must fit a form whose numbers are compared (`people_sentences`).
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tests.surfaces.messy_tables import TABLES
from tests.surfaces.people_sentences import false_sentences, sentences, texts_of_folder

import sfumato as sf
from sfumato.cli.main import main

K = 5


@pytest.fixture(params=sorted(TABLES))
def messy(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    table = TABLES[request.param](tmp_path)
    (tmp_path / "decided.toml").write_text(table.schema, encoding="utf-8")
    return table


@pytest.fixture
def run(capsys):
    def command(*arguments, code=0):
        with pytest.raises(SystemExit) as stopped:
            main([str(one) for one in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        assert int(stopped.value.code or 0) == code, printed.err
        return printed.out + "\n" + printed.err

    return command


def lines_of(file):
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def shown(value):
    """A truth as the mapping of a release writes it."""
    if value is None:
        return "(missing)"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def classes(messy, mapping):
    """The rows of each published class, by the truth: who they are about and what they hold."""
    published = {}
    for line in lines_of(Path(mapping)):
        key = tuple(line[name] for name in messy.quasi)
        published[key] = tuple(line[f"{name} published"] for name in messy.quasi)
    found = defaultdict(list)
    for row in messy.rows:
        key = tuple(shown(row.cells[name]) for name in messy.quasi)
        if key not in published:  # months are written without a day
            key = tuple(
                text[:7] if name == "Geburtsmonat" else text for name, text in zip(messy.quasi, key, strict=True)
            )
        found[published[key]].append(row)
    return found


def alike_but_missing(messy, truth):
    """In how many classes everyone whose value is known has the same one and someone's is missing, by attribute."""
    found = set()
    for name in messy.sensitive:
        values = [{row.cells[name] for row in rows} for rows in truth.values()]
        found.add(sum(None in here and len(here) == 2 for here in values))
    return found


def alone_with(messy):
    """How many people have a combination of the columns published unchanged that nobody else has."""
    names = [attribute.name for attribute in sf.Schema.parse(tomllib.loads(messy.schema)).carried]
    whose = defaultdict(set)
    for row in messy.rows:
        whose[tuple(row.cells[name] for name in names)].add(row.person)
    return len({person for people in whose.values() if len(people) == 1 for person in people})


def with_one_value(messy, truth):
    """In how many classes everybody has some value, by attribute."""
    found = set()
    for name in messy.sensitive:
        common = 0
        for rows in truth.values():
            holders = defaultdict(set)
            for row in rows:
                holders[row.cells[name]].add(row.person)
            common += max(map(len, holders.values())) == len({row.person for row in rows})
        found.add(common)
    return found


def forms(messy, smallest=None, released=None, truth=None):
    """What a sentence with a number about people may say, and when it is true."""
    people = len(messy.people)
    return [
        (r"rows are about ([\d,]+) people", lambda n: n == people),
        (r"data are about ([\d,]+) people", lambda n: n == (released or people)),
        (r"^people ([\d,]+)$", lambda n: n == people),
        (r"fewest people in a class ([\d,]+)", lambda n: n == smallest),
        (r"[Ee]very class holds at least ([\d,]+) people", lambda n: smallest is not None and n <= smallest),
        (
            r"MRN repeats: ([\d,]+) values?, up to ([\d,]+) rows each",
            lambda n, most: (n, most) == (people, messy.most_rows),
        ),
        (
            r"in ([\d,]+) of ([\d,]+) classes everyone whose .* is known has the same",
            lambda n, of: n in alike_but_missing(messy, truth) and of == len(truth),
        ),
        (
            r"^([\d,]+) of ([\d,]+) people (?:is|are) alone with",
            lambda n, of: (n, of) == (alone_with(messy), people),
        ),
        (
            r"[Ii]n ([\d,]+) of ([\d,]+) classes everybody has one value of",
            lambda n, of: n in with_one_value(messy, truth) and of == len(truth),
        ),
        (r"k-anonymity: every class has at least k people", lambda: True),
        (r"at most (\d+) rows? of each person (?:is|are) kept", lambda n: n == messy.cap),
        (r"keeps at most that many rows of each person|who a row is about", lambda: True),
        (r"left out because their person has more than (\d+)", lambda n: n == messy.cap),
        (r"(?:how many|at most how many)", lambda: True),
        (r"add-or-remove-one, one person", lambda: True),  # the unit of an entry of the ledger
        (r"`people\.csv`: [\d,]+ rows", lambda: True),
    ]


def test_a_draft_says_nothing_false_and_an_untouched_one_is_not_published(messy, run, tmp_path):
    told = run("draft", messy.file.name, *messy.options, "-o", "draft.toml")
    text = (tmp_path / "draft.toml").read_text(encoding="utf-8")
    assert not [line for line in false_sentences([told, text], forms(messy)) if line.startswith("false")]
    if messy.name == "stays":
        assert 'person = "MRN"' in text
        assert f"MRN: {len(messy.people)} values, up to {messy.most_rows} rows each" in text
        assert "25 rows are copies" in text
    run("publish", "mondrian", messy.file.name, "draft.toml", *messy.options, "--k", K, "-o", "hasty", code=2)
    assert not (tmp_path / "hasty").exists()


def test_the_unit_left_open_is_never_called_people(messy, run, tmp_path):
    """Without `person` and `rows_per_person` a table of several rows a person is refused; else it speaks of rows."""
    open_unit = "".join(
        line for line in messy.schema.splitlines(True) if not line.startswith(("person =", "rows_per_person ="))
    )
    (tmp_path / "open.toml").write_text(open_unit, encoding="utf-8")
    given = ("mondrian", messy.file.name, "open.toml", *messy.options, "--k", K, "--format", "csv", "-o", "open")
    if messy.most_rows > 1:
        told = run("publish", *given, code=2)
        assert "looks like the key of a person and repeats" in told
        assert not (tmp_path / "open").exists()
    else:
        told = run("publish", *given) + run("verify", "open")
        assert sentences("\n".join([told, *texts_of_folder(tmp_path / "open")])) == []


@pytest.mark.parametrize("asked", [("--l", "1.2"), ("--t", "0.5")])
def test_what_a_release_says_about_people_is_true(messy, run, tmp_path, asked):
    told = run("check", messy.file.name, "decided.toml", *messy.options)
    given = (messy.file.name, "decided.toml", *messy.options, "--k", K, *asked, "--format", "csv", "-o", "out")
    told += run("publish", "mondrian", *given, "--mapping", "mapping.csv")
    told += run("verify", "out")
    assert "holds (checked)" in told
    truth = classes(messy, "mapping.csv")
    people = {label: {row.person for row in rows} for label, rows in truth.items()}
    smallest = min(map(len, people.values()))
    assert smallest >= K
    published = lines_of(tmp_path / "out" / "data.csv")
    assert Counter(tuple(row[name] for name in messy.quasi) for row in published) == {
        label: len(rows) for label, rows in truth.items()
    }
    for name in messy.sensitive:
        for label, rows in truth.items():
            here = Counter(shown(value) for _, value in {(row.person, row.cells[name]) for row in rows})
            if asked[0] == "--l":  # no value is that of more than 1 / 1.2 of the people of a class
                assert max(here.values()) * 1.2 <= len(people[label])
    if messy.most_rows > 1:
        declared = lines_of(tmp_path / "out" / "people.csv")
        for line in declared:
            label = tuple(line[name] for name in messy.quasi)
            rows = messy.rows if line["scope"] == "all" else truth[label]
            if line["attribute"]:
                rows = [row for row in rows if shown(row.cells[line["attribute"]]) == line["value"]]
            assert int(line["people"]) == len({row.person for row in rows})
    texts = [told, *texts_of_folder(tmp_path / "out"), sf.explain(sf.Release.load("out").claim)]
    assert false_sentences(texts, forms(messy, smallest, truth=truth)) == []


def test_a_differentially_private_release_bounds_people_and_says_so(messy, run, tmp_path):
    cap = f"rows_per_person = {messy.cap}\nrows = 2000\n"
    schema = messy.schema.replace("rows_per_person = 1\n", "")
    first, rest = schema.split("\n", 1)
    (tmp_path / "private.toml").write_text(f"{first}\n{cap}{rest}", encoding="utf-8")
    given = ("diffgen", messy.file.name, "private.toml", *messy.options, "--epsilon", 1, "--specializations", 3)
    told = run("publish", *given, "--ledger", "ledger.db", "--format", "csv", "--counts", "-o", "private")
    told += run("verify", "private") + run("ledger", "ledger.db")
    texts = [told, *texts_of_folder(tmp_path / "private")]
    assert false_sentences(texts, forms(messy)) == []
    manifest = json.loads((tmp_path / "private" / "manifest.json").read_text(encoding="utf-8"))
    assert "presence of one person" in " ".join(texts)
    assert "people" not in {name.partition(".")[0] for name in manifest["files"]}  # nothing counted in the data
    if messy.most_rows > 1:
        (tmp_path / "uncapped.toml").write_text(schema, encoding="utf-8")
        run("publish", *given[:2], "uncapped.toml", *given[3:], "--ledger", "ledger.db", "-o", "uncapped", code=2)


def test_a_frontier_says_nothing_false_about_people(messy, tmp_path):
    options = {"encoding": "latin-1"} if messy.options else {}
    table = sf.read(messy.file, sf.Schema.load("decided.toml"), **options)
    assert table.rows == len(messy.rows)
    assert table.people == (len(messy.people) if messy.most_rows > 1 else None)
    points = sf.sweep(sf.sweep(sf.Mondrian, k=[K, 25]), sf.sweep(sf.Mondrian, t=["0.3"], k=[K]), sf.Suppress())
    front = sf.frontier(table, points, progress=False, workers=0)
    sf.report(front, tmp_path / "steward.html")
    sf.report(front, tmp_path / "steward.md")
    texts = [(tmp_path / name).read_text(encoding="utf-8") for name in ("steward.html", "steward.md")]
    fewest = {
        str(point.mechanism): point.summary.get("fewest people in a class") for point in front.points if point.summary
    }
    assert all(least is None or least >= K for least in fewest.values())
    for point in front.points:  # the smallest class of each release, by the truth
        if isinstance(point.mechanism, sf.Mondrian):
            sf.mapping(sf.publish(table, point.mechanism)).write_csv("mapping.csv")
            held = [len({row.person for row in rows}) for rows in classes(messy, "mapping.csv").values()]
            assert point.people == min(held)
            assert point.counted == ("person", "people")
    told = [line for line in false_sentences(texts, forms(messy, 10**9)) if line.startswith("false")]
    assert told == []
    worst = {name: value for point in front.points for name, value in point.attributes.get("privacy", {}).items()}
    assert len(messy.sensitive) == 1 or worst
