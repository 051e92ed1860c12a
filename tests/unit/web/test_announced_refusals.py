"""What publishing will be refused for is said on the checklist, with the fix and a link, and again by the refusal."""

from __future__ import annotations

import io
import random

import openpyxl
import pytest
from tests.unit.web.served import HOME, asked, client

from sfumato.web.publishing import refusal_of
from sfumato.web.wording import page_words

WORKERS = """name = "t"
population = "t"
rows_per_person = 1

[attribute.worker]
role = "other"

[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 70]

[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d", "e"]

[attribute.ill]
role = "sensitive"
values = ["x", "y", "z"]
"""


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    return client(tmp_path_factory.mktemp("space"))


def uploaded(web, name, content):
    answer = web.put("/upload", params={"name": name}, content=content, headers=HOME)
    return answer.json()["next"].rpartition("/")[0]


def workbook(**sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def test_the_sheets_of_a_workbook_are_offered(web):
    rows = [["age", "ill"], *([20 + at, "xy"[at % 2]] for at in range(40))]
    book = workbook(People=rows, Notes=[["note"], ["about people"]], Empty=[])
    base = uploaded(web, "two.xlsx", book)
    data = asked(web, f"{base}/file", lambda data: data["look"] is not None)
    assert not data["look"]["ok"]
    assert data["sheets"] == ["People", "Notes"]
    page = web.get(f"{base}/file").text
    assert "--sheet" not in page
    assert "choose the one to read under Sheet" in page
    assert '<option value="">choose one</option>' in page
    assert '<option value="People">' in page
    assert "Empty" not in page
    web.post(f"{base}/options", data={"sheet": "People"}, headers=HOME)
    data = asked(web, f"{base}/file", lambda data: data["look"] is not None)
    assert data["look"]["ok"]
    assert data["look"]["rows"] == 40
    page = web.get(f"{base}/file").text
    assert '<option value="People" selected>' in page
    assert "40 rows, 2 columns; sheet People." in page


@pytest.fixture(scope="module")
def base(web):
    """A table in which each worker has two rows, which nearly agree, and rows are called people."""
    draw, lines = random.Random(1), ["worker,age,town,ill"]
    for who in range(300):
        age, town = draw.randrange(20, 70), draw.choice("abcde")
        for _ in range(2):
            moved = draw.random() < 0.1
            there = draw.choice("abcde") if moved else town
            lines.append(f"W{who},{min(69, age + moved)},{there},{draw.choice('xyz')}")
    found = uploaded(web, "workers.csv", "\n".join(lines).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    web.post(f"{found}/schema", data={"toml": WORKERS}, headers=HOME)
    return found


METHOD = "method=mondrian&k=3"


def test_the_checklist_says_before_it_that_a_key_which_repeats_will_be_refused(web, base):
    data = asked(web, f"{base}/publish", lambda data: data.get("checked") is not None)
    assert data["checked"]["fits"], data["checked"]
    assert [one["path"] for one in data["checked"]["refused"]["checked"]] == ["attribute.worker"]
    assert data["checked"]["refused"]["proved"] == []  # what is drawn may not be refused for what the rows are
    page = web.get(f"{base}/publish?{METHOD}").text
    checklist = page.partition('class="checklist"')[2].partition("</ol>")[0]
    assert "Publishing will be refused: worker" in checklist
    assert "On Who is a row, choose it to count people by it; say there" in checklist
    assert "not a person" in checklist
    assert "quasi-identifier" not in checklist
    assert "erson = " not in checklist
    assert f'href="{base}/person"' in checklist
    assert "Publishing will be refused for this" in web.get(f"{base}/describe").text
    person = web.get(f"{base}/person").text
    assert '<option value="worker" selected>' in person
    assert 'name="column" value="worker"' in person  # a household or another group, not a person


def test_a_refusal_on_publish_keeps_its_hint_and_links_to_who_is_a_row(web, base):
    form = {"method": "mondrian", "k": "3", "name": "one", "confirm": "yes", "format": "xlsx"}
    web.post(f"{base}/publish", data=form, headers=HOME)
    data = asked(web, f"{base}/publish", lambda data: data["run"] is not None and data["run"]["state"] != "running")
    assert data["run"]["state"] == "refused"
    assert '<option value="xlsx" selected>' in web.get(f"{base}/publish?{METHOD}").text  # not CSV all of a sudden
    assert data["refusal"]["person"]
    assert "on Who is a row" in data["refusal"]["hint"]
    assert "not a person" in data["refusal"]["hint"]
    notice = web.get(f"{base}/publish").text.partition('role="alert"><p>')[2].partition("</div>")[0]
    assert f'href="{base}/person"' in notice
    assert "worker" in notice
    assert "on Who is a row" in notice


def test_nothing_is_announced_once_the_person_is_named(web, base):
    named = WORKERS.replace("rows_per_person = 1\n", 'person = "worker"\n').replace('"other"', '"identifier"')
    web.post(f"{base}/schema", data={"toml": named}, headers=HOME)
    data = asked(web, f"{base}/publish", lambda data: data.get("checked") is not None)
    assert data["checked"]["fits"]
    assert data["checked"]["refused"] == {"proved": [], "checked": []}
    assert "Publishing will be refused" not in web.get(f"{base}/publish?{METHOD}").text


def test_hints_of_a_refusal_are_said_once_and_in_the_words_of_a_page():
    problem = {"path": "t.csv", "rule": "9 of 40 rows are copies", "hint": "remove the copies, or name the `person`; "
               "copies_are_people = true where they are different people"}  # fmt: skip
    answer = {
        "ok": False,
        "error": "SchemaError",
        "message": "2 problems:\n  1. ...",
        "hint": "",
        "problems": [problem] * 2,
    }
    found = refusal_of(answer)
    assert found["message"].startswith("t.csv: 9 of 40 rows are copies.")
    assert found["person"]
    assert "copies_are_people" not in found["hint"]
    assert found["hint"].count("what a person is known by") == 1
    assert not refusal_of({"ok": False, "message": "no. Hint: try k = 3.", "hint": "try k = 3"})["person"]
    assert "`person`" not in page_words("name them in `person` if the published columns describe them")


def test_a_column_with_a_question_of_no_topic_is_not_compared(web, base):
    """The command refuses it: such a question may be about the role. The page began, and failed."""
    text = WORKERS.replace('role = "sensitive"\n', 'role = "sensitive"\ndecide = ["ask the board first"]\n')
    web.post(f"{base}/schema", data={"toml": text.replace("rows_per_person = 1", 'person = "worker"')}, headers=HOME)
    answer = web.post(f"{base}/compare", data={"preset": "standard"}, headers=HOME)
    assert "role = ill: is not decided yet." in web.get(answer.headers["location"]).text


NAMES = """name = "t"
population = "t"
rows_per_person = 1

[attribute.pay]
role = "sensitive"
kind = "numeric"
range = [0, 1000]

[attribute.town]
role = "quasi"
values = ["a", "b", "c", "d", "e"]
"""


def test_a_refusal_of_another_description_is_not_ticked_away(tmp_path):
    """A tick against names in labels let names go out that were published as they are, after the role was changed."""
    web = client(tmp_path)
    rows = ["pay,town", *(f"{at},{'abcde'[at % 5]}" for at in range(100))]
    found = uploaded(web, "pay.csv", "\n".join(rows).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    web.post(f"{found}/schema", data={"toml": NAMES}, headers=HOME)
    asked(web, f"{found}/describe", lambda data: data.get("checked") is not None)
    web.post(f"{found}/publish", data={"method": "mondrian", "k": "3", "name": "one", "confirm": "yes"}, headers=HOME)
    ended = asked(web, f"{found}/publish", lambda data: data["run"] and data["run"]["state"] != "running")
    assert ended["run"]["state"] == "refused"
    assert "unique" in ended["refusal"]["message"]
    assert ended["allow"] == "allow-fingerprints"
    other = NAMES.replace("range = [0, 1000]", "range = [0, 1000]\nstep = 2")
    web.post(f"{found}/schema", data={"toml": other}, headers=HOME)
    now = web.get(f"{found}/publish.json").json()
    assert (now["stale"], now["allow"], now["refusal"]) == (True, "", {})
    page = web.get(f"{found}/publish?{METHOD}").text
    assert "described in another way now" in page
    assert "Publish anyway" not in page


GIVEN = ("Anna", "Ben", "Cara", "Dirk", "Eva", "Fritz", "Greta", "Hans", "Ida", "Jan")
FAMILY = ("Adler", "Becker", "Conrad", "Diehl", "Ernst", "Fischer", "Graf", "Huber", "Jung", "Klein")


def test_a_column_that_is_only_named_like_a_key_is_not_proposed(web):
    """Of names of 480 people it was said that rows agree as those of one person do; they agreed as any two rows do."""
    draw, lines = random.Random(7), ["Name,age,town,ill"]
    for _ in range(300):
        name = f"{draw.choice(GIVEN)} {draw.choice(FAMILY)}"
        lines.append(f"{name},{draw.randrange(20, 70)},{draw.choice('abcde')},{draw.choice('xyz')}")
    found = uploaded(web, "staff.csv", "\n".join(lines).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    text = WORKERS.replace("[attribute.worker]", "[attribute.Name]").replace('"other"', '"identifier"')
    web.post(f"{found}/schema", data={"toml": text}, headers=HOME)
    asked(web, f"{found}/describe", lambda data: data.get("checked") is not None)
    said = web.get(f"{found}/person.json").json()
    assert (said["suggested"], said["like_keys"]) == ([], ["Name"])
    assert "It is proposed below" not in web.get(f"{found}/person").text


def test_a_doubt_about_people_stands_on_the_checklist(web):
    """That a key may stand for several people was said on Describe only, which nobody reads again before publishing."""
    draw, lines = random.Random(3), ["worker,age,town,ill"]
    for family in range(100):
        lines += [f"F{family},{draw.randrange(20, 70)},{'abcde'[family % 5]},{draw.choice('xyz')}" for _ in range(4)]
    found = uploaded(web, "families.csv", "\n".join(lines).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    text = WORKERS.replace("rows_per_person = 1\n", 'person = "worker"\n').replace('"other"', '"identifier"')
    web.post(f"{found}/schema", data={"toml": text}, headers=HOME)
    asked(web, f"{found}/publish", lambda data: data.get("checked") is not None)
    page = web.get(f"{found}/publish?{METHOD}").text
    checklist = page.partition('class="checklist"')[2].partition("</ol>")[0]
    assert "one key may stand for several people" in checklist
    assert f'href="{found}/describe"' in checklist


def test_a_column_that_counts_something_else_is_still_asked_about_as_a_key(web):
    """To say that a column counts nobody took it off the list of possible keys of people as well."""
    draw = random.Random(5)
    people = [(at + 1, draw.randrange(20, 70), draw.choice("abcde")) for at in range(100)]
    lines = [
        "N,age,town,ill",
        *(",".join(map(str, (*draw.choice(people), draw.choice("xyz")))) for _ in range(300)),
    ]
    found = uploaded(web, "visits.csv", "\n".join(lines).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    text = WORKERS.replace("[attribute.worker]", "[attribute.N]")
    web.post(f"{found}/schema", data={"toml": text}, headers=HOME)
    data = asked(web, f"{found}/person", lambda data: data.get("checked") is not None)
    assert data["counting"] == ["N"]
    button = f'<form method="post" action="{found}/not-count"><input type="hidden" name="column" value="N">'
    assert button in web.get(f"{found}/person").text
    assert web.post(f"{found}/not-count", data={"column": "N"}, headers=HOME).status_code == 303
    data = asked(web, f"{found}/person", lambda data: data.get("checked") is not None)
    assert data["counting"] == []
    assert data["suggested"] == ["N"]
    assert "a household or another group, not of a person" not in web.get(f"{found}/person").text


def test_a_description_that_changed_while_publish_was_open_is_read_again(tmp_path):
    """In another tab a column was made private; the open page published it, though its checklist did not name it."""
    web = client(tmp_path)
    rows = ["pay,town", *(f"{at},{'abcde'[at % 5]}" for at in range(100))]
    found = uploaded(web, "pay.csv", "\n".join(rows).encode())
    asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
    web.post(f"{found}/schema", data={"toml": NAMES}, headers=HOME)
    page = web.get(f"{found}/publish?{METHOD}").text
    basis = page.partition('name="basis" value="')[2].partition('"')[0]
    assert basis
    web.post(f"{found}/schema", data={"toml": NAMES.replace("1000]", "1000]\nstep = 2")}, headers=HOME)
    form = {"method": "mondrian", "k": "3", "name": "one", "confirm": "yes", "basis": basis}
    refused = web.post(f"{found}/publish", data=form, headers=HOME)
    assert "described in another way while this page was open" in web.get(refused.headers["location"]).text
    assert web.get(f"{found}/publish.json").json()["run"] is None


def test_the_first_release_of_a_project_is_tried_with_those_of_another(tmp_path):
    """The ledger refused it, "try them together first", and no page offered anything to try."""
    web = client(tmp_path)
    draw = random.Random(2)
    rows = [
        "age,town,ill",
        *(f"{draw.randrange(20, 70)},{draw.choice('abcde')},{draw.choice('xyz')}" for _ in range(200)),
    ]
    text = WORKERS.replace('[attribute.worker]\nrole = "other"\n\n', "").replace(
        "= 1\n", "= 1\ncopies_are_people = true\n"
    )
    for name in ("spring", "autumn"):
        found = uploaded(web, f"{name}.csv", "\n".join(rows).encode())
        asked(web, f"{found}/describe", lambda data: data["look"] is not None and data.get("checked") is not None)
        web.post(f"{found}/schema", data={"toml": text}, headers=HOME)
        asked(web, f"{found}/publish", lambda data: data.get("checked") is not None)
        page = web.get(f"{found}/publish?{METHOD}").text
        assert ('name="against" value=":ledger" checked' in page) == (name == "autumn")
        form = {"method": "mondrian", "k": "20", "name": name, "confirm": "yes"}
        if name == "autumn":
            form["against"] = ":ledger"
        web.post(f"{found}/publish", data=form, headers=HOME)
        ended = asked(web, f"{found}/publish", lambda data: data["run"] and data["run"]["state"] != "running")
        assert ended["run"]["state"] == "done", ended["refusal"]
    assert ended["answer"]["against"]["earlier"] == 1
