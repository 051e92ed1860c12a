"""The forms of a column page: what they show unchanged stays, with everything that they do not show."""

from __future__ import annotations

import time
import tomllib
from html.parser import HTMLParser

import pytest
from tests.unit.web.served import HOME, client

import sfumato as sf
from sfumato.web import edits


def uploaded(web, text):
    answer = web.put("/upload", params={"name": "t.csv"}, content=text.encode(), headers=HOME)
    base = answer.json()["next"].rpartition("/")[0]
    until = time.monotonic() + 60
    while web.get(f"{base}/describe.json").json()["look"] is None and time.monotonic() < until:
        time.sleep(0.05)
    return base


class Forms(HTMLParser):
    """The forms of a page with what a browser would send of each."""

    def __init__(self):
        super().__init__()
        self.found, self.select, self.area = [], None, None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.found.append({"action": given.get("action"), "id": given.get("id"), "fields": []})
        if not self.found:
            return
        fields = self.found[-1]["fields"]
        if tag == "input" and given.get("name"):
            ticked = given.get("type") not in ("checkbox", "radio") or "checked" in given
            if ticked and given.get("type") not in ("file", "search"):
                fields.append((given["name"], given.get("value", "on")))
        elif tag == "textarea":
            self.area = (given["name"], [])
        elif tag == "select":
            self.select = (given["name"], [])
        elif tag == "option" and self.select is not None:
            self.select[1].append(("selected" in given, given.get("value")))

    def handle_data(self, data):
        if self.area is not None:
            self.area[1].append(data)

    def handle_endtag(self, tag):
        if tag == "textarea" and self.area is not None:
            self.found[-1]["fields"].append((self.area[0], "".join(self.area[1])))
            self.area = None
        elif tag == "select" and self.select is not None:
            name, options = self.select
            chosen = next((value for on, value in options if on), options[0][1] if options else "")
            self.found[-1]["fields"].append((name, chosen))
            self.select = None


@pytest.fixture
def web(tmp_path):
    return client(tmp_path / "space")


COLUMNS = {
    "job": """mask = { length = 4, from = "right" }
missing = [""]""",
    "plate": """mask = { length = 3, from = "left", alphabet = "ABC0" }
missing = { values = ["", "?"], action = "suppress" }""",
    "pay": """kind = "numeric"
range = ["0.5", 100]
step = 0.5
decimal = "."
thousands = " "
units = ["EUR"]
missing = "suppress\"""",
    "fine": """kind = "numeric"
range = [0, 90]
step = "0.25"
intervals = ["0.5", 1.0, 9]
decimal = ","
missing = "category"
clamp = true""",
    "born": """kind = "date"
range = ["1930-01-01", 2025-01-01]
step = "month"
format = "%m/%Y"
dates = ["year", "month"]""",
    "level": """kind = "ordered"
values = ["low", "high"]
same = { low = ["Low"] }
other = "Other"
source = "data\"""",
    "town": """groups = { north = ["a", "b"], south = ["c"] }
missing = ["-", ""]
ground = "hierarchical\"""",
}
SCHEMA = 'name = "t"\nsource = "public"\n\n' + "\n".join(
    f'[attribute.{name}]\nrole = "quasi"\n{text}\n' for name, text in COLUMNS.items()
)


@pytest.mark.cells(3)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_form_saved_without_a_change_changes_nothing(web, tmp_path, name):
    """`missing = [""]` of 1,563 rows was gone once the number of digits had been saved."""
    base = uploaded(web, f"{','.join(COLUMNS)}\n1234,ABC,1,1,03/1994,low,a\n")
    assert web.post(f"{base}/schema", data={"toml": SCHEMA}, headers=HOME).status_code == 303
    (folder,) = (tmp_path / "space" / "projects").iterdir()
    page = Forms()
    page.feed(web.get(f"{base}/column/{name}").text)
    ours = [form for form in page.found if (form["action"] or "").endswith("/keys")]
    assert ours
    assert len({form["id"] for form in ours}) == len(ours)  # by it the page finds the form to fill in again
    for form in ours:
        fields: dict[str, list[str]] = {}
        for field, value in form["fields"]:
            fields.setdefault(field, []).append(value)
        answer = web.post(form["action"], data=fields, headers=HOME)
        assert answer.status_code == 303, answer.text
        assert "wrong=" not in answer.headers["location"]
        after = tomllib.loads((folder / "schema.toml").read_text("utf-8"))
        assert after == tomllib.loads(SCHEMA), form["id"]


def test_what_is_changed_keeps_the_rest():
    text = edits.own_keys("plate", {"fields": ["missing", "mask"], "digits": ["4"], "missing": ["?"], "empty": ["yes"],
                                    "suppress": ["yes"]})(SCHEMA)  # fmt: skip
    keys = tomllib.loads(text)["attribute"]["plate"]
    assert keys["mask"] == {"length": 4, "from": "left", "alphabet": "ABC0"}
    assert keys["missing"] == {"values": ["", "?"], "action": "suppress"}


def test_a_text_that_means_no_value_is_no_longer_a_value():
    """It was refused: a text is a value or means missing, not both."""
    form = {"fields": ["missing"], "missing": ["9\nc"]}
    text = '[attribute.a]\nrole = "quasi"\nvalues = ["1", "2", "9"]\n[attribute.b]\nrole = "quasi"\n'
    text += 'groups = { x = ["1", "9"], y = ["c"] }\nsame = { c = ["C"], 1 = ["9"] }\n'
    listed = tomllib.loads(edits.own_keys("a", form)(text))["attribute"]["a"]
    assert (listed["values"], listed["missing"]) == (["1", "2"], ["9", "c"])
    grouped = tomllib.loads(edits.own_keys("b", form)(text))["attribute"]["b"]
    assert grouped["groups"] == {"x": ["1"]}
    assert "same" not in grouped
    sf.Schema.parse(tomllib.loads('name = "t"\n' + edits.own_keys("a", form)(text.partition("[attribute.b]")[0])))


def test_a_column_that_is_a_code_no_longer_gets_its_values_from_the_file():
    text = '[attribute.a]\nrole = "quasi"\nmask = { length = 1, from = "right" }\nmissing = ["9"]\nsource = "public"\n'
    drafted = '[attribute.a]\nrole = "quasi"\nkind = "nominal"\nvalues = ["1", "2", "9"]\nsource = "data"\n'
    after = edits.own_keys("a", {"fields": ["mask"], "digits": [""]}, lambda _name, _role: drafted)(text)
    keys = tomllib.loads(after)["attribute"]["a"]
    assert (keys["values"], keys["source"], keys["missing"]) == (["1", "2"], "data", ["9"])
    assert "mask" not in keys


@pytest.mark.parametrize(("step", "levels"), [("quarter", ["year"]), ("year", ["year"]), ("decade", None)])
def test_dates_come_in_steps_of_the_calendar(step, levels):
    ends = ["1930-01-01", "2030-01-01"]
    text = f'[attribute.a]\nrole = "quasi"\nkind = "date"\nrange = {ends}\ndates = ["month", "year"]\n'
    form = {"fields": ["range", "dates"], "kind": ["date"], "low": ends[:1], "high": ends[1:]}
    form |= {"step": [step], "dates": ["month", "year"]}
    after = tomllib.loads('name = "t"\n' + edits.own_keys("a", form)(text))
    assert (after["attribute"]["a"]["step"], after["attribute"]["a"].get("dates")) == (step, levels)
    sf.Schema.parse(after)


def test_a_code_of_digits_can_be_declared_public(web):
    """Policy asked for it, and the page of the column had no tick; it says how many codes that are."""
    base = uploaded(web, f"{','.join(COLUMNS)}\n1234,ABC,1,1,03/1994,low,a\n")
    web.post(f"{base}/schema", data={"toml": SCHEMA.replace('source = "public"', "", 1)}, headers=HOME)
    page = web.get(f"{base}/column/job").text
    assert "all 10,000 codes of 4 digits" in page
    form = {"fields": ["missing", "mask", "source"], "digits": "4", "empty": "yes", "public": "yes"}
    web.post(f"{base}/column/job/keys", data=form, headers=HOME)
    keys = web.get(f"{base}/column/job.json").json()["keys"]
    assert (keys["source"], keys["missing"]) == ("public", [""])


def test_codes_that_are_hidden_from_the_front_are_not_said_to_lose_their_end(web):
    base = uploaded(web, "plz,ill\n50667,x\n50668,y\n")
    for end, first, shown in (("right", "end", "5066*"), ("left", "front", "*0667")):
        mask = f'mask = {{ length = 5, from = "{end}" }}'
        text = f'name = "t"\n[attribute.plz]\nrole = "quasi"\n{mask}\n[attribute.ill]\nvalues = ["x", "y"]\n'
        web.post(f"{base}/schema", data={"toml": text}, headers=HOME)
        page = web.get(f"{base}/column/plz").text
        assert f"It becomes coarser from the {first}: " in page
        assert shown in page
        assert f"the {'first' if end == 'left' else 'last'} hidden first" in page
        assert f"digits hidden from the {first}" in web.get(f"{base}/describe").text


def test_values_that_are_listed_are_not_said_to_be_left_out(web):
    """500 values in groups of 100 are all listed, and the page said that 100 more were not."""
    names = [f"v{at:03d}" for at in range(500)]
    base = uploaded(web, "a\n" + "\n".join(names) + "\n")
    groups = "".join(f"g{at} = {names[100 * at : 100 * at + 100]}\n" for at in range(5)).replace("'", '"')
    head = 'name = "t"\n[attribute.a]\nrole = "quasi"\nkind = "nominal"\n'
    web.post(f"{base}/schema", data={"toml": f"{head}[attribute.a.groups]\n{groups}"}, headers=HOME)
    assert "more values are not listed" not in web.get(f"{base}/column/a").text
    listed = str(names).replace("'", '"')
    web.post(f"{base}/schema", data={"toml": f"{head}values = {listed}\n"}, headers=HOME)
    page = web.get(f"{base}/column/a").text
    assert "100 more values are not listed" in page
    assert "In no group (500)" in page
    found = web.get(f"{base}/column/a?q=v01").text
    assert "more values are not listed" not in found
