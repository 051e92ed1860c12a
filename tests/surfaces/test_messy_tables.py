"""Three messy tables with known people, from draft to verified release, DP release and frontier: no false sentence.

What is printed and written is held against the truth kept by `messy_tables`; every sentence that says a number about
people must fit a form whose numbers are compared (`people_sentences`, `people_truth`), and each of these numbers is
seen as wrong once it is off by one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.surfaces.messy_tables import TABLES
from tests.surfaces.people_sentences import false_sentences, off_by_one, sentences, texts_of_folder
from tests.surfaces.people_truth import (
    Published,
    forms,
    forms_of_attacks,
    forms_of_releases,
    lines_of,
    published,
    shown,
)

import sfumato as sf
from sfumato.cli.main import main
from sfumato.web.app import COOKIE, created

K = 5
HOST = "127.0.0.1:8765"
HOME = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
# The list of stays is slow to attack and to compare: its codes of five digits are 100,000.
QUICK = [*(name for name in sorted(TABLES) if name != "stays"), pytest.param("stays", marks=pytest.mark.full)]


def laid_out(name, folder):
    table = TABLES[name](folder)
    (folder / "decided.toml").write_text(table.schema, encoding="utf-8")
    return table


@pytest.fixture(params=sorted(TABLES))
def messy(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return laid_out(request.param, tmp_path)


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


def held_against(texts, known, least=1):
    """Nothing is false or unknown, and every number is seen as wrong once it is off by one."""
    assert false_sentences(texts, known) == []
    tried, unseen = off_by_one(texts, known)
    assert unseen == []
    assert tried >= least


def test_a_draft_says_nothing_false_and_an_untouched_one_is_not_published(messy, run, tmp_path):
    answer = run("draft", messy.file.name, *messy.options, "-o", "draft.toml")
    text = (tmp_path / "draft.toml").read_text(encoding="utf-8")
    held_against([answer, text], forms(messy))
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
        answer = run("publish", *given, code=2)
        assert "looks like the key of a person and repeats" in answer
        assert not (tmp_path / "open").exists()
    else:
        answer = run("publish", *given) + run("verify", "open")
        assert sentences("\n".join([answer, *texts_of_folder(tmp_path / "open")])) == []


@pytest.mark.cells(1)
@pytest.mark.parametrize("asked", [("--l", "1.2"), pytest.param(("--t", "0.5"), marks=pytest.mark.full)])
def test_what_a_release_says_about_people_is_true(messy, run, tmp_path, asked):
    surfaces = {"check": [run("check", messy.file.name, "decided.toml", *messy.options)]}
    given = (messy.file.name, "decided.toml", *messy.options, "--k", K, *asked, "--format", "csv", "-o", "out")
    surfaces["publish"] = [run("publish", "mondrian", *given, "--mapping", "mapping.csv", "--page", "page.html")]
    surfaces["verify"] = [run("verify", "out")]
    figures = [word for name in ("average_class_size", "discernibility") for word in ("--measure", name)]
    surfaces["measure"] = [run("measure", messy.file.name, "decided.toml", "out", *messy.options, *figures)]
    surfaces["page"] = [(tmp_path / "page.html").read_text(encoding="utf-8")]
    surfaces["folder"] = texts_of_folder(tmp_path / "out")
    surfaces["explain"] = [sf.explain(sf.Release.load("out").claim)]
    assert "holds (checked)" in surfaces["verify"][0]
    truth = published(messy, "mapping.csv", K, t=float(asked[1]) if asked[0] == "--t" else None)
    assert truth.smallest >= K
    data = lines_of(tmp_path / "out" / "data.csv")
    assert Counter(tuple(row[name] for name in messy.quasi) for row in data) == {
        label: len(rows) for label, rows in truth.classes.items()
    }
    for name in messy.sensitive:
        for label, rows in truth.classes.items():
            here = Counter(shown(value) for _, value in {(row.person, row.cells[name]) for row in rows})
            if asked[0] == "--l":  # no value is that of more than 1 / 1.2 of the people of a class
                assert max(here.values()) * 1.2 <= len(truth.people[label])
    declared = lines_of(tmp_path / "out" / "people.csv") if messy.most_rows > 1 else []
    for line in declared:
        label = tuple(line[name] for name in messy.quasi)
        rows = messy.rows if line["scope"] == "all" else truth.classes[label]
        if line["attribute"]:
            rows = [row for row in rows if shown(row.cells[line["attribute"]]) == line["value"]]
        assert int(line["people"]) == len({row.person for row in rows})
    known = forms(messy, truth, len(declared))
    silent = {"check", "publish", "verify"} if messy.most_rows == 1 else {"verify"}  # of some tables they say none
    for surface, texts in surfaces.items():
        held_against(texts, known, 0 if surface in {*silent, "measure"} else 1)
    assert [one for one in surfaces["measure"] if sentences(one)] == []  # its figures count rows


@pytest.mark.cells(1)
def test_a_differentially_private_release_bounds_people_and_says_so(messy, run, tmp_path):
    cap = f"rows_per_person = {messy.cap}\nrows = 2000\n"
    schema = messy.schema.replace("rows_per_person = 1\n", "")
    first, rest = schema.split("\n", 1)
    (tmp_path / "private.toml").write_text(f"{first}\n{cap}{rest}", encoding="utf-8")
    given = ("diffgen", messy.file.name, "private.toml", *messy.options, "--epsilon", 1, "--specializations", 3)
    answer = run("publish", *given, "--ledger", "ledger.db", "--format", "csv", "--counts", "-o", "private")
    answer += run("verify", "private") + run("ledger", "ledger.db")
    texts = [answer, *texts_of_folder(tmp_path / "private")]
    held_against(texts, forms(messy), 0)
    manifest = json.loads((tmp_path / "private" / "manifest.json").read_text(encoding="utf-8"))
    assert "presence of one person" in " ".join(texts)
    assert "people" not in {name.partition(".")[0] for name in manifest["files"]}  # nothing counted in the data
    if messy.most_rows > 1:
        (tmp_path / "uncapped.toml").write_text(schema, encoding="utf-8")
        run("publish", *given[:2], "uncapped.toml", *given[3:], "--ledger", "ledger.db", "-o", "uncapped", code=2)


@pytest.mark.cells(1)
@pytest.mark.parametrize("table_name", QUICK)
def test_attacks_count_people_and_say_so(run, tmp_path, monkeypatch, table_name):
    """Other people of the same kind are the controls: who is tried is known, and so is what a class gives away."""
    monkeypatch.chdir(tmp_path)
    messy = laid_out(table_name, tmp_path)
    (tmp_path / "elsewhere").mkdir()
    others = TABLES[table_name](tmp_path / "elsewhere", seed=90)
    given = (messy.file.name, "decided.toml", *messy.options, "--k", K, "--format", "csv", "-o", "out")
    run("publish", "mondrian", *given, "--mapping", "mapping.csv")
    held, whole = [], sf.attacks.attack_all
    monkeypatch.setattr("sfumato.attacks.attack_all", lambda *a, **o: held.append(whole(*a, **o)) or held[-1])
    against = ("--data", messy.file.name, "--schema", "decided.toml", "--control", others.file)
    answer = run("attack", "all", "out", *against, *messy.options)
    found = held[0].to_json()["attacks"]
    assert len(found) >= 12
    known = forms_of_attacks(found, published(messy, "mapping.csv"), len(others.people))
    held_against([answer], known, 40)
    rows = [one["sentence"] for one in found if one["counted"] == "rows"]
    assert rows
    assert not any("people" in sentence for sentence in rows)


# -- a comparison: its reports, and the web app's pages about it


@pytest.fixture(scope="module")
def compared(request, tmp_path_factory):
    """A frontier of one table and the truth of each of its releases, by name."""
    folder = tmp_path_factory.mktemp("compared")
    messy = laid_out(request.param, folder)
    options = {"encoding": "latin-1"} if messy.options else {}
    table = sf.read(messy.file, sf.Schema.load(folder / "decided.toml"), **options)
    assert table.rows == len(messy.rows)
    assert table.people == (len(messy.people) if messy.most_rows > 1 else None)
    points = sf.sweep(sf.sweep(sf.Mondrian, k=[K, 25]), sf.sweep(sf.Mondrian, t=["0.3"], k=[K]), sf.Suppress())
    front = sf.frontier(table, points, progress=False, workers=0)
    shown = {name for point in front.points for name in point.attributes.get("privacy", {}).get("each", {})}
    assert len(messy.sensitive) == 1 or shown == {*messy.sensitive}
    truth = {"Suppress": Published(messy, {("*",) * len(messy.quasi): list(messy.rows)})}
    for point in front.points:  # the smallest class of each release, by the truth
        if isinstance(point.mechanism, sf.Mondrian):
            release = sf.publish(table, point.mechanism)
            sf.mapping(release).write_csv(folder / "mapping.csv")
            (asked,) = [part for part in point.mechanism.requirement.parts if isinstance(part, sf.KAnonymity)]
            truth[point.label] = published(messy, folder / "mapping.csv", asked.k)
            assert truth[point.label].smallest >= truth[point.label].k
            least = point.summary.get("fewest people in a class")
            assert least is None or least == truth[point.label].smallest
        assert point.people == truth[point.label].smallest
        assert point.counted == ("person", "people")
    return folder, front, truth


def reports(folder, front):
    texts = []
    for name, audience in (("steward.html", "steward"), ("steward.md", "steward"), ("public.html", "public")):
        sf.report(front, folder / name, audience=audience)
        texts.append((folder / name).read_text(encoding="utf-8"))
        (folder / name).unlink()
    return texts


def web_pages(folder, front, messy):
    """The pages of the app about a comparison that ended: the list, and each release beside its original."""
    space = Path(tempfile.mkdtemp(dir=folder))
    app = created(space, token="t0ken", hosts=frozenset({HOST}))
    web = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
    web.cookies.set(COOKIE, "t0ken")
    sent = web.put("/upload", params={"name": messy.file.name}, content=messy.file.read_bytes(), headers=HOME)
    base = sent.json()["next"].rpartition("/")[0]
    (project,) = [path.parent for path in space.rglob("data") if path.is_dir() and path.parent.name in base]
    ended = project / "runs" / "compare-1"
    ended.mkdir(parents=True)
    (ended / "run.json").write_text(json.dumps({"kind": "compare", "words": ["sfumato", "frontier"]}))
    (ended / "process").write_text("1 0")
    (ended / "code").write_text("0")
    chosen = front.recommend().to_json()
    (ended / "out.json").write_text(json.dumps({"ok": True, "recommendation": chosen, **front.to_json()}))
    addresses = [f"{base}/compare", *(f"{base}/inspect/{point.number}" for point in front.points)]
    answers = [web.get(address) for address in addresses]
    assert {answer.status_code for answer in answers} == {200}
    return [answer.text for answer in answers]


@pytest.mark.cells(1)
@pytest.mark.parametrize("compared", QUICK, indirect=True)
def test_a_comparison_says_nothing_false_about_people(compared):
    folder, front, truth = compared
    messy = truth["Suppress"].messy
    known = forms_of_releases(truth, front.recommend().point.label)
    held_against(reports(folder, front), known, 40)
    held_against(web_pages(folder, front, messy), known, 20)


@pytest.mark.parametrize("compared", ["register"], indirect=True)
def test_a_count_that_is_off_by_one_is_caught_in_reports_and_pages(compared):
    """The smallest class and the people of the riskiest classes, one more than there are."""
    folder, front, truth = compared
    messy = truth["Suppress"].messy
    known = forms_of_releases(truth, front.recommend().point.label)
    more = [replace(point, people=point.people + 1) for point in front.points]
    wrong = replace(front, points=tuple(more))
    assert len(false_sentences(reports(folder, wrong), known)) >= len(more)
    assert len(false_sentences(web_pages(folder, wrong, messy), known)) >= len(more)
    worse = []
    for point in front.points:
        classes = [{**one, "people": one["people"] + 1} for one in point.panel["classes"]]
        worse.append(replace(point, panel={**point.panel, "classes": classes}))
    wrong = replace(front, points=tuple(worse))
    assert len(false_sentences(reports(folder, wrong), known)) >= len(more)
    assert len(false_sentences(web_pages(folder, wrong, messy), known)) >= len(more)
