from __future__ import annotations

import html
import json
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.frontiers import CHOSEN, MEMBERSHIP, Spread
from sfumato.frontiers.result import with_efficient
from sfumato.pages.contents import _chance, worst_findings
from sfumato.pages.page import LARGEST_PAGE


@pytest.fixture(scope="module")
def clinic_front(clinic_front):
    """The clinic without a floor on k, and a worse second release: a bucket release would be recommended."""
    points = [
        replace(point, utility=Spread((0.02,))) if point.label == "Mondrian k-anonymity(20)" else point
        for point in clinic_front.points
    ]
    marked = with_efficient(points, clinic_front.privacy, clinic_front.utility)
    return replace(clinic_front, points=marked, policy=sf.Policy({"k": 1}))


@pytest.fixture(scope="module")
def written(clinic_front, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    for name in ("page.html", "page.md", "page.json"):
        sf.report(clinic_front, folder / name, command="sfumato frontier clinic.csv clinic.toml -o page.html")
    return folder


class Links(HTMLParser):
    """Everything in a page that could make a browser ask for something, and every id."""

    def __init__(self):
        super().__init__()
        self.asked, self.ids, self.targets = [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "action", "srcset", "data", "poster") and not (value or "").startswith("#"):
                self.asked.append((tag, name, value))
            if name == "href" and (value or "").startswith("#"):
                self.targets.append(value[1:])
            if name == "id":
                self.ids.append(value)


def test_small_chances_are_not_written_as_none():
    assert [_chance(share) for share in (0.0, 0.005, 0.0123, 0.63, 1.0)] == ["0 %", "0.5 %", "1.2 %", "63 %", "100 %"]


class Words(HTMLParser):
    """The words of a page, without its scripts, styles and commands."""

    def __init__(self):
        super().__init__()
        self.inside, self.said, self.typed = "", [], []

    def handle_starttag(self, tag, attrs):
        self.inside = tag if tag in ("script", "style", "pre") else self.inside

    def handle_endtag(self, tag):
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data):
        if not self.inside:
            self.said.append(data)
        elif self.inside == "pre":
            self.typed.append(data)


def test_a_number_and_its_percent_sign_stand_in_one_line(clinic_front, tmp_path):
    """And all of them have a space between, but in commands, which are copied, none that cannot be typed."""
    words = Words()
    command = "sfumato frontier clinic.csv clinic.toml --answer 'age within 10 %'"
    words.feed(sf.report(clinic_front, tmp_path / "page.html", command=command).read_text("utf-8"))
    said = " ".join(words.said)
    assert re.findall(r"\d\N{NO-BREAK SPACE}%", said)
    assert not re.findall(r".{20}\d ?%", said)
    assert command in words.typed


def test_the_page_is_one_small_file_that_asks_for_nothing(written):
    page = (written / "page.html").read_bytes()
    assert len(page) < 1_500_000
    links = Links()
    links.feed(page.decode())
    assert links.asked == [("link", "href", "data:,")]
    assert "default-src 'none'" in page.decode()
    assert "connect-src" not in page.decode()[:3000]
    assert set(links.targets) <= set(links.ids)
    assert len(links.ids) == len(set(links.ids))


def test_the_javascript_is_embedded_once(written):
    page = (written / "page.html").read_text()
    assert page.count('<script type="module">') == 1
    assert page.lower().count("</script>") == 2


def test_numbers_formulas_and_commands_stand_in_the_page(written, clinic_front):
    page = (written / "page.html").read_text()
    best = clinic_front.recommend()
    for text in (
        best.point.label,
        clinic_front.privacy.formula.split(",")[0],
        "Confidential",
        "not made or not measured",
    ):
        assert text.lower() in page.lower(), text
    assert "sfumato publish mondrian data.csv schema.toml --k 5 -o out/" in page
    assert "sfumato frontier clinic.csv clinic.toml -o page.html" in page
    assert "Mondrian k-anonymity(5000)</strong>: k-anonymity(5000) cannot be reached" in page


def test_the_mutants_say_the_same(written, clinic_front):
    story = json.loads((written / "page.json").read_text())
    markdown = (written / "page.md").read_text()
    assert story["audience"] == "steward"
    assert story["confidential"] is True
    made = [point for point in clinic_front.points if not point.failed]
    assert sorted(one["number"] for one in story["releases"]) == [point.number for point in made]
    for one in story["releases"]:
        assert f"| {one['label']} | {one['privacy']} | {one['utility']} |" in markdown
    assert story["recommendation"]["label"] in markdown
    assert story["recommendation"]["reason"] in markdown
    assert story["efficient"] == [point.number for point in clinic_front.efficient]


def test_each_release_has_its_panel(written):
    story = json.loads((written / "page.json").read_text())
    noisy = next(one for one in story["releases"] if one["label"] == "DiffGen epsilon=2")
    exact = next(one for one in story["releases"] if one["label"] == "Mondrian k-anonymity(5)")
    assert noisy["bound"]
    assert "3 runs" in noisy["privacy"]
    assert exact["bound"] is None
    assert sum(one["rows"] for one in exact["sizes"]) == 600
    assert exact["drivers"][0]["values"]
    assert exact["worst"][0]["where"]
    assert [one["selectivity"] for one in exact["queries"]] == ["0.01", "0.05", "0.1", "0.2"]
    assert exact["sample"]["columns"] == ["age", "town", "ill"]
    assert len(exact["sample"]["rows"]) == 6


def test_a_bound_is_never_written_as_a_measurement(written):
    story = json.loads((written / "page.json").read_text())
    for row in story["plotted"]:
        if row["bound"] is not None:
            drawn = row["risks"]["privacy_loss"]
            assert drawn["mean"] != row["bound"]
            assert drawn["low"] <= drawn["mean"] <= drawn["high"]
    noisy = [one for one in story["releases"] if one["bound"]]
    page = (written / "page.html").read_text()
    assert len(noisy) == 2
    assert page.count("Not measured, and not comparable with what was.") == 2


def test_the_card_prints_a_proved_bound_beside_the_measured_figure(written, clinic_front):
    best = json.loads((written / "page.json").read_text())["recommendation"]
    noisy = next(other for other in best["alternatives"] if other["noisy"])
    assert noisy["bound"]
    page = (written / "page.html").read_text()
    card = page[page.index('id="recommendation"') : page.index("The frontier</h2>")]
    assert f"privacy loss {noisy['privacy']}, noise included; proved privacy loss ≤ {noisy['bound']} nats; " in card
    assert f"utility loss {noisy['utility']}" in card
    assert sum(point.bound is not None for point in clinic_front.points) == 2


def test_only_buckets_make_membership_public_and_only_private_releases_are_noisy(written, clinic_front):
    story = json.loads((written / "page.json").read_text())
    methods = {point.number: type(point.mechanism).__name__ for point in clinic_front.points}
    for row in story["plotted"]:
        assert ("membership is public" in row["published"]) == (methods[row["number"]] == "Bucketize")
        assert ("includes noise" in row["published"]) == row["noisy"] == (methods[row["number"]] == "DiffGen")
    for one in story["releases"]:
        assert one["membership"].startswith("Membership is public") == (methods[one["number"]] == "Bucketize")


def test_the_card_tells_what_was_left_out_and_the_picture_shows_it(written, clinic_front):
    best = clinic_front.recommend()
    assert not best.point.buckets
    assert best.bucket.buckets
    page, markdown = (written / "page.html").read_text(), (written / "page.md").read_text()
    card = html.unescape(page[page.index('id="recommendation"') : page.index("The frontier</h2>")])
    assert best.note in card
    assert best.note in markdown
    assert f'<a href="#release-{best.bucket.number}">See it</a>' in card
    assert "--membership-public" in card
    story = json.loads((written / "page.json").read_text())
    buckets = {point.number for point in clinic_front.points if point.buckets}
    assert buckets <= {row["number"] for row in story["plotted"]}
    apart = {one["number"] for one in story["releases"] if one["only_buckets_beat_it"]}
    without = {point.number for point in clinic_front.efficient_without_buckets}
    assert apart == without - {point.number for point in clinic_front.efficient}
    assert story["without_buckets"] == sorted(without)
    caption = page[page.index("<figcaption>") : page.index("</figcaption>")]
    assert apart
    assert "The dashed line is the same without buckets" in caption


def test_where_membership_may_be_public_buckets_are_recommended_and_that_is_said_once(clinic_front, tmp_path):
    page = sf.report(clinic_front, tmp_path / "page.html", membership_public=True).read_text()
    card = page[page.index('id="recommendation"') : page.index("The frontier</h2>")]
    assert clinic_front.recommend(membership_public=True).point.label in card
    assert card.count("who is in the table") == 1
    assert "left out" not in card
    assert "dashed line" not in page[page.index("<figcaption>") : page.index("</figcaption>")]


def test_where_only_buckets_were_made_the_page_says_why_nothing_is_recommended(clinic, tmp_path):
    front = sf.frontier(clinic, sf.sweep(sf.Bucketize, t=["0.03", "0.1"]), workers=0, progress=False)
    for ending in ("html", "md"):
        text = sf.report(front, tmp_path / f"page.{ending}").read_text()
        assert "Nothing is recommended" in text
        assert "ask for buckets with --membership-public" in text


def test_a_column_without_an_entry_is_not_shown(written, clinic, tmp_path):
    front = sf.frontier(clinic, sf.sweep(sf.Mondrian, k=[5, 20]), workers=0, progress=False)
    for ending in ("html", "md"):
        text = sf.report(front, tmp_path / f"page.{ending}").read_text()
        word = "proved bound" if ending == "html" else "proved privacy loss"
        assert word not in text[text.index("All releases" if ending == "html" else "## All") :]
        assert word in (written / f"page.{ending}").read_text()


def test_parameters_that_give_the_same_release_are_named_together(clinic, tmp_path):
    front = sf.frontier(clinic, sf.sweep(sf.Mondrian, k=[5, 400, 500]), workers=0, progress=False)
    story = json.loads(sf.report(front, tmp_path / "page.json").read_text())
    page = sf.report(front, tmp_path / "page.html").read_text()
    together = "Mondrian k-anonymity(400), k-anonymity(500)"
    assert [one["label"] for one in story["releases"]] == [together, "Mondrian k-anonymity(5)"]
    assert [row["label"] for row in story["plotted"]] == [together, "Mondrian k-anonymity(5)"]
    assert "3 releases measured, 2 of them different, 2 efficient" in page
    assert page.count(' id="release-') == 2
    for k in (400, 500):
        assert f"sfumato publish mondrian data.csv schema.toml --k {k} -o out/" in page
    assert "Every class holds at least 500 rows" in page


def test_the_same_reason_is_printed_once(clinic_front, tmp_path):
    why = "2 problems:\n  1. age: has no rule.\n  2. town: has no rule."
    points = [replace(point, failed=why) if "DiffGen" in point.label else point for point in clinic_front.points]
    front = replace(clinic_front, points=tuple(points))
    page = sf.report(front, tmp_path / "page.html").read_text()
    assert page.count("2. town: has no rule.") == 1
    assert "<strong>DiffGen epsilon=0.5, DiffGen epsilon=2</strong>: 2 problems:<ul" in page
    markdown = sf.report(front, tmp_path / "page.md").read_text()
    assert "- **DiffGen epsilon=0.5, DiffGen epsilon=2**: 2 problems:\n  - 1\\. age: has no rule.\n" in markdown


def test_two_parameters_that_fail_alike_are_stated_together(clinic, tmp_path):
    front = sf.frontier(clinic, sf.sweep(sf.Mondrian, k=[5, 700, 800]), workers=0, progress=False)
    reasons = json.loads(sf.report(front, tmp_path / "page.json").read_text())["failed"]
    assert [one["labels"] for one in reasons] == [["Mondrian k-anonymity(700)", "Mondrian k-anonymity(800)"]]
    assert reasons[0]["why"].startswith("cannot be reached: the whole table as one class has 600")


def test_a_target_is_not_said_to_be_protected(clinic, tmp_path):
    for roles, answer in (
        ({"sensitive": "ill", "target": "town"}, "To protect: ill. Published as it is: town (target)"),
        ({"sensitive": (), "target": "ill", "quasi": ["age", "town"]}, "town. Published as it is: ill (target)"),
        ({"sensitive": "ill"}, "To protect: ill. "),
    ):
        table = clinic.with_roles(**{"quasi": ["age"], **roles})
        front = sf.frontier(table, [sf.Mondrian(sf.KAnonymity(5))], workers=0, progress=False)
        for ending in ("html", "md"):
            assert answer.strip() in sf.report(front, tmp_path / f"page.{ending}").read_text(), (roles, ending)


def test_a_target_with_noise_is_not_said_to_be_published_as_it_is(clinic, tmp_path):
    table = clinic.with_roles(quasi=["age"], sensitive=(), target="ill")
    noisy = sf.frontier(table, [sf.NoisyTable(1)], workers=0, progress=False, privacy="inference")
    for ending in ("html", "md"):
        page = sf.report(noisy, tmp_path / f"page.{ending}").read_text()
        assert "Published as it is" not in page
        assert "measured figure of a differentially private" not in page  # the only axis is an attack
    both = sf.frontier(table, [sf.NoisyTable(1), sf.Mondrian(sf.KAnonymity(5))], workers=0, progress=False)
    contents = json.loads(sf.report(both, tmp_path / "page.json").read_text())
    assert contents["as_it_is"] not in ("as it is", json.loads(
        sf.report(noisy, tmp_path / "page.json").read_text())["as_it_is"])  # fmt: skip


def test_the_card_speaks_of_belief_in_the_truth_not_in_the_guess(clinic_front, tmp_path):
    """A guess of what stands out is often one that the attacker holds for unlikely: the share is that of the truth."""
    best = clinic_front.recommend()
    found = {
        "sentence": "", "stops": "", "notes": [], "better_than_baseline": True, "most_exposed": 0.9,
        "who": [{"who": {"age": "30"}, "number": 1, "chance": 0.9}],
    }  # fmt: skip
    point = replace(best.point, attacks={"inference": found})
    page = sf.report(clinic_front, tmp_path / "page.html", recommendation=replace(best, point=point)).read_text()
    assert "age 30 (90" in page
    assert "the guess is held" not in page
    assert "Guessed with the greatest confidence" not in page


def test_the_worst_figure_of_the_recommended_release_is_stated(written, clinic_front):
    point = clinic_front.recommend().point
    answer = json.loads((written / "page.json").read_text())["recommendation"]["worst"]
    assert answer[0] == f"The belief in one value grows up to {point.panel['largest_ratio']:.3g} times."
    several = replace(point, by_rows=True)
    assert worst_findings(several)[0] == answer[0].replace(" times.", " times, counted in rows.")
    ruled_out = replace(point, panel={"largest_ratio": 2.0, "drivers": [RULES_OUT]})
    assert (
        worst_findings(ruled_out)[1]
        == "Some groups rule a value out: flu is 0 % of a group of 1 row and 25.0 % of the table."
    )
    assert worst_findings(replace(point, panel={})) == []
    # What is not in noisy or drawn rows is not ruled out.
    assert all(len(worst_findings(replace(ruled_out, form=form))) == 1 for form in ("cells", "synthetic"))


RULES_OUT = {
    "records": 1,
    "values": [
        {"value": "cold", "here": 0.0, "overall": 0.1},
        {"value": "flu", "here": 0.0, "overall": 0.25},
        {"value": "none", "here": 1.0, "overall": 0.65},
    ],
}


LEFT_OUT = "left out of the recommendation"


def test_the_public_page_says_whether_buckets_took_part(clinic, clinic_front, tmp_path):
    exact = sf.publish(clinic, sf.Bucketize(sf.LDiversity("3/2")))
    rows = sf.publish(clinic, sf.Mondrian(sf.KAnonymity(20)))
    for release, asked, answer in (
        (rows, False, True),
        (rows, True, False),
        (exact, False, False),
        (None, False, True),
    ):
        options = {"audience": "public", "release": release, "membership_public": asked}
        for ending in ("html", "md"):
            text = sf.report(clinic_front, tmp_path / f"public.{ending}", **options).read_text()
            assert MEMBERSHIP in text
            assert (LEFT_OUT in text) == answer, (release, asked)


def test_methods_are_grouped_with_what_was_varied(clinic_front, tmp_path):
    story = json.loads(sf.report(clinic_front, tmp_path / "public.json", audience="public").read_text())
    assert story["methods"] == [
        {"method": "Mondrian, k-anonymity", "varied": ["5", "20", "60", "5000"], "mind": ""},
        {"method": "Mondrian, t-closeness", "varied": ["0.03", "0.1"], "mind": ""},
        {"method": "Bucketize, t-closeness", "varied": ["0.03", "0.1"], "mind": f"{MEMBERSHIP}; {LEFT_OUT}"},
        {"method": "DiffGen", "varied": ["epsilon=0.5", "epsilon=2"], "mind": ""},
        {"method": "Suppress", "varied": [""], "mind": ""},
    ]
    readings = sf.sweep(sf.Mondrian(sf.KAnonymity(3) & sf.TCloseness("0.1", distance="emd")))
    front = replace(clinic_front, points=(replace(clinic_front.points[0], mechanism=readings[0]),))
    answer = json.loads(sf.report(front, tmp_path / "joined.json", audience="public").read_text())["methods"]
    assert answer[0]["varied"] == ["k-anonymity(3) & t-closeness(0.1, emd)"]


def test_the_public_report_names_every_measure_and_claims_no_comparison_that_was_not_made(clinic, tmp_path):
    """Four measures were called two, and a method that could not be applied was listed among those compared."""
    points = sf.sweep(sf.Mondrian, k=[5, 20, 10_000])
    axes = ["privacy_loss", "identity", "inference"]
    front = sf.frontier(clinic, points, privacy=axes, workers=0, repeats=1, progress=False)
    assert [point.label for point in front.failed] == ["Mondrian k-anonymity(10000)"]
    assert repr(front).startswith("<Frontier clinic: 2 releases of 3 tried, ")
    for ending in ("md", "html"):
        text = sf.report(front, tmp_path / f"public.{ending}", audience="public").read_text("utf-8")
        assert "compared releases by 4 measures" in text
        for one in (*front.axes, front.utility):
            assert one.words in text
        assert "Methods tried" in text
        assert "hose that cannot be used on this table" in text
        assert "compared the methods" not in text
        assert "Methods compared" not in text


def test_the_stewards_page_is_for_the_steward_only(written):
    assert not stat.S_IMODE((written / "page.html").stat().st_mode) & 0o077


def fronts_of(tables, points):
    return [sf.frontier(table, points, workers=0, repeats=2, progress=False) for table in tables]


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_the_public_report_does_not_depend_on_the_data(clinic, another_clinic, tmp_path, ending):
    points = sf.sweep(sf.sweep(sf.Mondrian, k=[5, 550]), sf.DiffGen(1))  # 550 is reached on one table only
    one, two = fronts_of([clinic, another_clinic], points)
    assert len(one.failed) != len(two.failed)
    for front, name in ((one, "one"), (two, "two")):
        sf.report(front, tmp_path / f"{name}.{ending}", audience="public")
        sf.report(front, tmp_path / f"steward-{name}.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    assert (tmp_path / f"steward-one.{ending}").read_bytes() != (tmp_path / f"steward-two.{ending}").read_bytes()


def test_with_a_release_the_public_report_is_a_function_of_that_release(clinic, another_clinic, tmp_path):
    points = sf.sweep(sf.Mondrian, k=[5, 20])
    release = sf.publish(clinic, points[1])
    for front, name in zip(fronts_of([clinic, another_clinic], points), ("one", "two"), strict=True):
        sf.report(front, tmp_path / f"{name}.html", audience="public", release=release)
        sf.report(front, tmp_path / f"{name}.json", audience="public", release=release)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    story = json.loads((tmp_path / "one.json").read_text())
    assert story["release"]["promise"] == "k-anonymity(20)"
    assert story["choosing"] == f"No claim covers {CHOSEN}."
    assert story["confidential"] is False


def test_a_page_that_would_be_too_large_shows_efficient_releases_only(clinic_front, tmp_path, monkeypatch):
    monkeypatch.setitem(sf.report.__globals__, "LARGEST_PAGE", 100_000)
    short = sf.report(clinic_front, tmp_path / "short.html").read_text()
    monkeypatch.setitem(sf.report.__globals__, "LARGEST_PAGE", LARGEST_PAGE)
    full = sf.report(clinic_front, tmp_path / "full.html").read_text()
    best = clinic_front.recommend()
    named = {best.point.number, best.bucket.number, *(one.number for one in best.alternatives)}
    proved = {point.number for point in clinic_front.points if point.bound is not None}
    shown = len({point.number for point in clinic_front.efficient} | named | proved)
    assert full.count(' id="release-') == len(clinic_front.points) - 1 > shown
    assert short.count(' id="release-') == shown
    assert "only efficient releases and those named above are shown in full" in short
    links = Links()
    links.feed(short)
    assert set(links.targets) <= set(links.ids)


def test_values_of_cells_can_not_break_out_of_the_page(clinic, tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    schema = {
        "name": evil,
        "source": "public",
        "attribute": {
            "town": {"role": "quasi", "kind": "nominal", "values": [evil, "b|c"]},
            "ill": {"role": "sensitive", "kind": "nominal", "values": [evil, "x"]},
        },
    }
    codes = [[at % 2, (at // 3) % 2] for at in range(60)]
    table = type(clinic).from_codes(sf.Schema.parse(schema), np.array(codes))
    front = sf.frontier(table, sf.sweep(sf.Mondrian, k=[2, 40]), workers=0, progress=False)
    page = sf.report(front, tmp_path / "evil.html").read_text()
    assert page.lower().count("</script>") == 2
    assert "<img src=x" not in page
    markdown = sf.report(front, tmp_path / "evil.md").read_text()
    assert "b|c" not in markdown.replace("b\\|c", "")


def test_nothing_measured_still_makes_a_report(clinic, tmp_path):
    front = sf.frontier(clinic, [sf.Mondrian(sf.KAnonymity(9999))], workers=0, progress=False)
    for ending in ("html", "md", "json"):
        text = sf.report(front, tmp_path / f"none.{ending}").read_text()
        assert "cannot be reached" in text
    assert len((tmp_path / "none.html").read_bytes()) < 100_000  # no chart, no chart library


def test_wrong_parameters_are_named(clinic_front, tmp_path):
    with pytest.raises(ParameterError, match="audience"):
        sf.report(clinic_front, tmp_path / "x.html", audience="everyone")
    with pytest.raises(ParameterError, match="path"):
        sf.report(clinic_front, tmp_path / "x.pdf")
    assert list(tmp_path.iterdir()) == []


def test_the_closest_release_is_looked_for_among_buckets_where_they_may_be_published(clinic, tmp_path):
    policy = sf.Policy({"k": 10_000})
    front = sf.frontier(clinic, [sf.Bucketize(sf.TCloseness("0.4"))], workers=0, progress=False, policy=policy)
    page = sf.report(front, tmp_path / "r.html", membership_public=True).read_text("utf-8")
    assert "Nothing is good enough" in page
    page = sf.report(front, tmp_path / "r.html").read_text("utf-8")
    assert "Nothing is recommended" in page


def test_the_picture_does_not_say_that_one_attack_was_made_on_every_release(clinic, tmp_path):
    """The figure is that of the strongest attack that fits; a count is off by more than its median half of the time."""
    points = [sf.Mondrian(sf.KAnonymity(5)), sf.Suppress()]
    front = sf.frontier(clinic, points, privacy=["inference"], workers=0, progress=False)
    page = sf.report(front, tmp_path / "r.html").read_text("utf-8")
    assert "the strongest of them" in page
    assert "The same attack" not in page
    assert "<span>is typically read as</span>" in page
