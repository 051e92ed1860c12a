"""The web app in a real browser: from a dropped file to a verified release, by mouse and by keyboard."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

import sfumato as sf

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
WAIT = 600_000  # ms; a busy machine is not a failure
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")

expect.set_options(timeout=WAIT)

TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TOWNS = ("Köln", "Bonn", "Aachen", "Düren", "Neuss")
ILLS = ("Asthma", "Grippe", "Migräne", "Diabetes", "unbekannt")


def messy(rows=260, seed=4):
    """A file as it comes: semicolons, umlauts in cp1252, decimal commas, two spellings, words for no value, a copy."""
    draw = random.Random(seed)
    lines = ["Nummer;Alter;Geschlecht;Ort;Gewicht;Diagnose"]
    for at in range(rows):
        sex = draw.choice(["m", "w", "w", "W", "k.A."])
        weight = f"{draw.uniform(48, 110):.1f}".replace(".", ",")
        lines.append(f"N{at:04};{draw.randint(18, 90)};{sex};{draw.choice(TOWNS)};{weight};{draw.choice(ILLS)}")
    return "\r\n".join([*lines, lines[-1]]).encode("cp1252") + b"\r\n"


@contextmanager
def served(folder):
    """A server in a process of its own, and the address it printed."""
    command = [sys.executable, "-m", "sfumato", "serve", str(folder), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "the server ended before it printed its address"
            text += line
        yield json.loads(text)["address"], process.pid
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """One server for the module: its folder and its address."""
    folder = tmp_path_factory.mktemp("web") / "space"
    with served(folder) as (address, _):
        yield folder, address


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


def let_in(page, address):
    """Open the printed address: a page that leads to the first one."""
    page.goto(address)
    page.wait_for_url(lambda url: "token" not in url)


@contextmanager
def watched(browser, address, **context):
    """A page on which errors and requests to anywhere else are noted; at the end there must be none."""
    home, faults = urlsplit(address).netloc, []
    held = browser.new_context(viewport={"width": 1280, "height": 900}, **context)

    def only_home(route):
        if urlsplit(route.request.url).netloc != home and not route.request.url.startswith("data:"):
            faults.append(f"asked {route.request.url}")
            route.abort()
        else:
            route.continue_()

    held.route("**/*", only_home)
    page = held.new_page()
    page.set_default_timeout(WAIT)
    page.on("console", lambda message: message.type in ("error", "warning") and faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    let_in(page, address)
    yield page
    held.close()
    assert faults == []


def settled(page):
    """Wait until what is worked out in the background is on the page."""
    expect(page.locator('[data-wait="yes"]')).to_have_count(0, timeout=WAIT)


def sent(page, button):
    """Click a button that sends a form, and wait for the page that answers: the one before it is gone."""
    with page.expect_navigation():
        button.click()


def answered_all(page):
    """Answer every question on Describe as proposed, one click each."""
    for _ in range(80):
        settled(page)
        if "No question is open" in page.locator(".lead").inner_text():
            return
        sent(page, page.locator(".question button").first)
    raise AssertionError("questions stay open")


def project_of(folder, name):
    (found,) = (folder / "projects").glob(f"{name}-*")
    return found


@pytest.mark.full
def test_a_messy_file_becomes_a_release_that_its_command_makes_again(browser, space, tmp_path):
    (tmp_path / "klinik.csv").write_bytes(messy())
    folder, address = space
    with watched(browser, address) as page:
        page.set_input_files("#pick", tmp_path / "klinik.csv")
        page.wait_for_url("**/file")
        settled(page)
        expect(page.locator("main")).to_contain_text("261 rows, 6 columns")
        expect(page.locator("table").first).to_contain_text("Köln")
        read_another_way(page)
        page.click("text=Next: who is a row?")
        settled(page)
        expect(page.locator(".facts")).to_contain_text("1 row is a copy")
        page.select_option("#who", "Nummer")
        page.check('input[name=rows][value="most"]')
        page.fill("#population", "klinik")
        page.click("text=Save and describe the columns")
        page.wait_for_url("**/describe*")
        settled(page)

        roles = {"Alter": "quasi", "Geschlecht": "quasi", "Ort": "quasi", "Gewicht": "other", "Diagnose": "sensitive"}
        for name, role in roles.items():
            sent(page, page.locator(f'li.column[data-name="{name}"] .roles button[value={role}]'))
        grouped_by_hand(page)
        arx_file_out_and_in(page, tmp_path)
        page.click("text=All columns")
        answered_all(page)
        expect(page.locator(".lead")).to_contain_text("No question is open")
        expect(page.locator(".light")).to_contain_text("one person alone")

        page.click("text=Next: policy")
        page.click("text=European Medicines Agency")
        expect(page.locator("[name=k]")).to_have_value("12")
        page.fill("[name=k]", "4")
        page.fill("[name=identity]", "")
        page.click("text=Save and compare")
        page.wait_for_url("**/compare*")
        compared(page)

        page.click("nav >> text=Inspect")  # as a reader who follows the steps finds it
        expect(page.locator("main")).to_contain_text("Rows of the original, and what is published of them")
        expect(page.locator("main")).to_contain_text("Columns, before and after")
        expect(page.locator("main")).to_contain_text("What an attacker gains")
        followed = page.locator("h1").inner_text()
        page.go_back()
        page.click("text=Inspect it")
        expect(page.locator("main")).to_contain_text("What it promises")
        expect(page.locator("h1")).to_have_text(followed)
        inspected = page.url
        counted(page)
        page.goto(inspected.split("/inspect")[0] + "/publish?method=mondrian&k=4&l=2")
        expect(page.locator(".checklist .yes").first).to_be_visible()
        page.select_option("[name=format]", label="Excel")
        page.uncheck("input[type=checkbox][name=page]")
        page.fill("input[name=name]", "other")
        shown = page.locator("#command")
        expect(shown).to_contain_text("--format xlsx")
        expect(shown).not_to_contain_text("--page")
        expect(shown).to_contain_text("-o releases/other ")
        page.fill("input[name=name]", "release-1")
        page.check("input[type=checkbox][name=page]")
        command = shown.inner_text()
        assert "--page page-release-1.html" in command
        page.check("[name=confirm]")
        sent_once(page, page.locator('button:text-is("Publish")'))
        page.wait_for_selector(".release", timeout=WAIT)
        expect(page.locator(".verdict")).to_contain_text("The claim holds")
        expect(page.locator(".release table tbody tr")).to_have_count(5)
        expect(page.locator(".release")).to_contain_text("tells nothing (* or (known))")
        with page.expect_popup() as opened:
            page.click("text=Page for everyone")
        expect(opened.value.locator("h1")).to_contain_text("the published table")
        opened.value.close()
        page.click("text=Approval record")
        expect(page.locator("main")).to_contain_text("at least 4 people")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate(TOO_WIDE) <= 0
        page.set_viewport_size({"width": 1280, "height": 900})
        page.click("nav >> text=Again")
        expect(page.locator("main")).to_contain_text("release-1")

        base = inspected.split("/inspect")[0]
        attacked(page, base)
        accessible(browser, address, pages_of(base, inspected))

    made = project_of(folder, "klinik")
    assert sf.verify(made / "releases" / "release-1").holds
    again = tmp_path / "other" / "projects" / made.name
    shutil.copytree(made, again, ignore=shutil.ignore_patterns("releases", "runs", "kept"))
    (again / "releases").mkdir()
    words = shlex.split(command)
    subprocess.run([sys.executable, "-m", *words], cwd=again, check=True, stdout=subprocess.DEVNULL)
    assert (again / "page-release-1.html").read_text() == (made / "page-release-1.html").read_text()
    for name in ("data.xlsx", "dictionary.md"):
        assert (again / "releases/release-1" / name).read_bytes() == (made / "releases/release-1" / name).read_bytes()


def sent_once(page, button):
    """Two clicks send a form once; while it is worked on, there is no form to send again."""
    posts = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    button.dblclick()
    page.wait_for_selector(".running, .release", timeout=WAIT)
    assert len(posts) == 1
    if page.locator(".running").count():
        expect(page.locator('button:text-is("Publish")')).to_have_count(0)


def grouped_by_hand(page):
    """Two spellings are one value; towns are grouped by keyboard, then one more by drag; a change is undone."""
    page.click("text=Geschlecht")
    for value in ("w", "W"):
        page.locator(f'.value[data-value="{value}"] input').check()
    page.select_option("[name=into]", "w")
    page.click("text=Merge spellings")
    expect(page.locator('.value[data-value="W"]')).to_have_count(0)

    page.click("text=All columns")
    page.click('li.column[data-name="Ort"] h2 a')
    for value in ("Köln", "Bonn"):
        page.locator(f'.value[data-value="{value}"] input').focus()
        page.keyboard.press("Space")
    page.locator("#new-group").focus()
    page.keyboard.type("Rhein")
    page.keyboard.press("Enter")
    expect(page.locator('.bin[data-group="Rhein"] .value')).to_have_count(2)
    settled(page)
    page.locator('.value[data-value="Neuss"]').drag_to(page.locator('.bin[data-group="Rhein"]'))
    expect(page.locator('.bin[data-group="Rhein"] .value')).to_have_count(3)
    settled(page)
    page.locator('.value[data-value="Neuss"]').drag_to(page.locator('.bin[data-group=""]'))
    expect(page.locator('.bin[data-group="Rhein"] .value')).to_have_count(2)
    page.click("text=Undo the last change")
    expect(page.locator('.bin[data-group="Rhein"] .value')).to_have_count(3)


def read_another_way(page):
    """Decimal commas read as points are not numbers, and the page says so at once; then back."""
    weights = page.get_by_label("How Gewicht is read")
    expect(weights).to_have_value("number ,")
    weights.select_option("number .")
    expect(page.locator("#readings tr", has_text="Gewicht")).to_contain_text("not read")
    settled(page)
    page.get_by_label("How Gewicht is read").select_option("number ,")
    expect(page.locator("#readings tr", has_text="Gewicht")).not_to_contain_text("not read")
    settled(page)


def arx_file_out_and_in(page, folder):
    """The groups leave as an ARX file, which comes back as the hierarchy; then the groups are had back."""
    with page.expect_download() as given:
        page.click("text=Download as an ARX hierarchy")
    given.value.save_as(folder / "ort.csv")
    assert "Köln;Rhein;*" in (folder / "ort.csv").read_text("utf-8").splitlines()
    page.set_input_files("#arx", folder / "ort.csv")
    expect(page.get_by_role("region", name="Hierarchy")).to_contain_text("Rhein")
    page.click("text=Undo the last change")
    expect(page.locator('.bin[data-group="Rhein"] .value')).to_have_count(3)


def attacked(page, base):
    """Every attack that fits is made on the release, from its page."""
    page.goto(f"{base}/publish")
    page.click("text=Attack it")
    page.click('main form button:text-is("Attack")')
    page.wait_for_selector(".attacks li", timeout=WAIT)
    reported = page.locator(".attacks").inner_text()
    assert "guesses Diagnose" in reported
    assert "identity" in reported


def counted(page):
    """A count is asked of the release, beside the true one."""
    page.click("#count a")
    settled(page)
    page.select_option("[name=where-Ort]", label="Aachen")
    page.click("#count button")
    expect(page.locator("#count .numbers b")).to_have_count(3)
    stated = int(page.locator("#count .numbers b").nth(1).inner_text())
    assert stated == sum(b";Aachen;" in line for line in messy().splitlines()[:-1])


def compared(page):
    """A comparison is started, cancelled, resumed and ends."""
    page.select_option("[name=preset]", "tradeoff-readings")
    page.click('main form button:has-text("Compare")')
    page.wait_for_selector(".running")
    page.click("text=Cancel")
    page.click("text=Resume")
    page.wait_for_selector(".running")
    settled(page)
    expect(page.locator(".choice .kind")).to_have_text("Recommended")
    assert "--preset tradeoff-readings" in page.locator("#command").inner_text()
    assert page.locator("table tbody tr").count() > 5
    assert page.locator(".picture circle").count() > 5
    assert "people" in page.locator(".ranked li").first.inner_text()


def pages_of(base, inspected):
    names = ("file", "person", "describe", "column/Ort", "column/Alter", "policy", "compare", "inspect", "publish")
    more = ("publish?method=mondrian", "record/release-1", "attacks/release-1", "again", "nowhere")
    return [inspected, f"{inspected}?ask=yes", *(f"{base}/{name}" for name in (*names, *more))]


TRIED = set()  # addresses that axe has seen


def accessible(browser, address, pages):
    """No page has a serious or critical violation; in the dark the colours are tried again."""
    found = []
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    let_in(page, address)
    for where in [page.url, *pages]:
        page.emulate_media(color_scheme="light")
        page.goto(where)
        TRIED.add(urlsplit(where).path)
        for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
            page.emulate_media(color_scheme=scheme)
            seen = Axe().run(page, options=options).response
            assert seen["passes"]
            for fault in seen["violations"]:
                if fault["impact"] in ("serious", "critical"):
                    targets = [node["target"] for node in fault["nodes"][:3]]
                    found.append((scheme, urlsplit(where).path, fault["id"], targets))
    context.close()
    assert found == []


def test_the_address_answers_as_soon_as_it_is_printed(tmp_path):
    with served(tmp_path / "space") as (address, _):
        assert asked(address, "GET", "/index.json")[0] == 200


def asked(address, method, path, body=None, **headers):
    """One request with the token's cookie, from the server's own page."""
    parts = urlsplit(address)
    line = HTTPConnection(parts.netloc, timeout=300)
    given = {"cookie": f"sfumato={parts.query.removeprefix('token=')}", "origin": f"http://{parts.netloc}", **headers}
    line.request(method, path, body, given)
    answer = line.getresponse()
    found = answer.status, answer.headers, answer.read()
    line.close()
    return found


def sampled(address, name):
    """A project of a sample, once it has been looked at; returns its address."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    _, headers, _ = asked(address, "POST", "/sample", f"sample={name}".encode(), **form)
    base = headers["location"].rpartition("/")[0]
    until = time.monotonic() + 300
    while time.monotonic() < until:
        data = json.loads(asked(address, "GET", f"{base}/describe.json")[2])
        if data["look"] is not None and data.get("checked") is not None:
            break
        time.sleep(0.2)
    return base


def test_every_sample_and_a_broken_file_are_shown_without_a_fault(browser, space, tmp_path):
    (tmp_path / "broken.csv").write_bytes(b'a;b\n1;2\n3;"4\n5;6\n')
    _, address = space
    home = address.partition("/?")[0]
    pages = [f"{home}{sampled(address, name)}/{page}" for name, page in (("visits", "describe"), ("commuting", "map"))]
    pages.append(pages[0].replace("describe", "inspect"))  # before anything was compared
    with watched(browser, address) as page:
        page.set_input_files("#pick", tmp_path / "broken.csv")
        page.wait_for_url("**/file")
        settled(page)
        expect(page.locator("[role=alert]:visible")).to_be_visible()
        expect(page.locator("main")).to_contain_text("Read it another way")
        broken = page.url
        for width in (1440, 1024, 800, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for where in [f"{home}/", *pages, pages[0].replace("describe", "file")]:
                page.goto(where)
                assert page.evaluate(TOO_WIDE) <= 0, (width, where)
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(pages[0].replace("describe", "file"))
        middles = [middle(page.locator(part)) for part in ("[name=header]", "form.row button:text-is('Read again')")]
        assert abs(middles[0] - middles[1]) < 2  # what stands in one line stands at one height
    accessible(browser, address, [broken, *pages])


def middle(found):
    box = found.bounding_box()
    return box["y"] + box["height"] / 2


@pytest.mark.full
def test_axe_has_seen_every_page_there_is(tmp_path):
    """After the tests above: each address that shows a page of ours was among those they tried."""
    from sfumato.web.app import created

    if not TRIED:
        pytest.fail("run this file as a whole: the pages are tried by the tests above")
    alone = ("/static/", "/runs/", "/pages/", "/releases/", "hierarchy.csv", ".json")  # files, and data of pages
    for route in created(tmp_path, hosts=frozenset()).routes:
        if "GET" in route.methods and not any(part in route.path for part in alone):
            assert any(route.path_regex.fullmatch(path) for path in TRIED), route.path


def peak(pid):
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmHWM")]
    return int(line.split()[1]) / 1000


@pytest.mark.parametrize("size", [20_000_000, pytest.param(200_000_000, marks=pytest.mark.full)])
def test_an_upload_is_streamed_to_the_disk(tmp_path, size):
    def large(rows=b"31,female,Arnhem,flu\n" * 5000):
        yield b"age,sex,town,ill\n"
        for _ in range(size // len(rows)):
            yield rows

    with served(tmp_path / "space") as (address, pid):
        asked(address, "GET", "/index.json")
        before, length = peak(pid), sum(map(len, large()))
        status, _, _ = asked(address, "PUT", "/upload?name=large.csv", large(), **{"content-length": str(length)})
        print(f"{length / 1e6:.0f} MB received: peak memory {before:.0f} MB before, {peak(pid):.0f} MB after")
        assert status == 200
        assert peak(pid) < before + min(50, size / 2e6)
        (kept,) = (tmp_path / "space").glob("projects/*/data/large.csv")
        assert kept.stat().st_size == length


def test_a_killed_server_goes_on_where_it_was(tmp_path):
    form = {"content-type": "application/x-www-form-urlencoded"}
    with served(tmp_path / "space") as (address, pid):
        base = sampled(address, "adult")
        before = json.loads(asked(address, "GET", f"{base}/describe.json")[2])
        assert asked(address, "POST", f"{base}/compare", b"preset=private", **form)[0] == 303
        os.kill(pid, signal.SIGKILL)
    with served(tmp_path / "space") as (address, _):
        after = json.loads(asked(address, "GET", f"{base}/describe.json")[2])
        assert after["toml"] == before["toml"]
        assert after["look"] == before["look"]
        run = json.loads(asked(address, "GET", f"{base}/compare.json")[2])["run"]
        assert run["state"] == "running"  # it is a process of its own
        for step, state in (("cancel", "cancelled"), ("resume", "running"), ("cancel", "cancelled")):
            asked(address, "POST", f"{base}/runs/{run['name']}/{step}", b"", **form)
            assert json.loads(asked(address, "GET", f"{base}/compare.json")[2])["run"]["state"] == state


def test_ctrl_c_ends_the_server_although_a_file_is_being_read(tmp_path):
    data = tmp_path / "space" / "projects" / "endless" / "data"
    data.mkdir(parents=True)
    os.mkfifo(data / "pipe.csv")  # whoever reads it waits for ever
    about = {"title": "pipe.csv", "file": "pipe.csv", "options": {}}
    (data.parent / "project.json").write_text(json.dumps(about))
    (data.parent / "schema.toml").write_text("[attribute]\n")
    # A shell that runs tests in the background ignores SIGINT. Not set in a fork, which brings what other tests loaded.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; from sfumato.cli import main; main()"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "serve", str(tmp_path / "space"), "--json"], text=True, **pipes) as process:
        text = ""
        while not text.rstrip().endswith("}"):
            text += process.stdout.readline()
        assert asked(json.loads(text)["address"], "GET", "/p/endless/file.json")[0] == 200
        time.sleep(0.2)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(30)
        finally:
            process.kill()
        print(f"ended after {time.monotonic() - begun:.2f} s")
        assert code == 130
        assert process.stderr.read().strip() == "Stopped."
