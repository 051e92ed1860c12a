"""Who may use the local web app, and what it never does: each attempt is a request."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sfumato.errors import ParameterError
from sfumato.web.app import COOKIE, created
from sfumato.web.workspace import Workspace

HOST = "127.0.0.1:8765"
HOME = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def app(tmp_path):
    return created(tmp_path / "space", token="t0ken", hosts=frozenset({HOST}), upload_limit=10**6)


def client(app, *, token="t0ken", host=HOST):
    made = TestClient(app, base_url=f"http://{host}", follow_redirects=False)
    if token:
        made.cookies.set(COOKIE, token)
    return made


def put(web, name, body, **headers):
    return web.put("/upload", params={"name": name}, content=body, headers={**HOME, **headers})


def project(web, body=b"name,age\nann,30\nbob,31\n", name="a.csv"):
    return put(web, name, body).json()["next"].split("/")[2]


def test_the_printed_address_lets_in_and_the_cookie_is_kept_from_other_sites(app):
    web = client(app, token="")
    answer = web.get("/", params={"token": "t0ken"})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert '<meta http-equiv="refresh" content="0; url=/">' in answer.text
    assert "t0ken" not in answer.text
    assert web.get("/").status_code == 200


def test_a_path_with_the_token_leads_nowhere_else(app):
    for path in ("//evil.example/x", "/\\evil.example/x", '/"><script>'):
        answer = client(app, token="").get(f"http://{HOST}{path}", params={"token": "t0ken"})
        assert answer.status_code == 200
        assert 'content="0; url=/' in answer.text
        assert "url=//" not in answer.text
        assert "url=/\\" not in answer.text
        assert "<script" not in answer.text


def test_the_token_is_in_no_command_that_others_can_see(tmp_path, monkeypatch):
    """Any user of the machine sees the words of a browser's command: they name a file that only we can read."""
    from sfumato.web import app as module

    said, opened = [], []

    def open_page(address):
        page = Path(address.removeprefix("file://"))
        opened.append((address, page.read_text(), page.stat().st_mode & 0o777))

    monkeypatch.setattr(module.webbrowser, "open", open_page)
    monkeypatch.setattr(module.uvicorn.Server, "run", lambda *_, **__: None)
    module.serve(tmp_path / "space", ready=said.append, browser=True)
    token = said[0].partition("token=")[2]
    assert len(token) > 30
    assert token not in opened[0][0]
    assert f'url={said[0]}"' in opened[0][1]
    assert opened[0][2] == 0o600
    assert not (tmp_path / "space" / "open.html").exists()


def test_a_workspace_is_closed_to_others(tmp_path):
    tmp_path.chmod(0o755)
    made = Workspace.opened(tmp_path / "new" / "space").folder
    assert [oct(one.stat().st_mode & 0o777) for one in (made, made / "projects")] == ["0o700", "0o700"]
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(ParameterError, match="can be changed by other users"):
        Workspace.opened(tmp_path / "open")
    (tmp_path / "linked").mkdir(0o700)
    (tmp_path / "linked" / "projects").symlink_to(made / "projects")
    with pytest.raises(ParameterError, match="is not a folder"):
        Workspace.opened(tmp_path / "linked")


def test_a_workspace_of_another_user_is_refused(tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir(0o700)
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs", 65534, 65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(ParameterError, match="another user"):
        Workspace.opened(tmp_path / "theirs")


@pytest.mark.parametrize("token", ["", "t0ke", "t0ken2", "\u00e9"])
def test_without_the_token_nothing_is_shown(app, token):
    web = client(app, token="")
    for address in ("/", "/index.json", "/static/app.js", "/p/x/file"):
        assert web.get(address, headers={"cookie": f"{COOKIE}={token}"} if token.isascii() else {}).status_code == 403
    assert web.get("/", params={"token": token}).status_code == 403
    assert web.put("/upload", params={"name": "a.csv"}, content=b"x", headers=HOME).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8765"])
def test_another_host_is_not_answered(app, host):
    assert client(app, host=host).get("/").status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": f"https://{HOST}"},
        {**HOME, "sec-fetch-site": "cross-site"},
        {**HOME, "sec-fetch-site": "same-site"},
    ],
)
def test_changes_come_from_its_own_pages_only(app, headers):
    web = client(app)
    name = project(web)
    for answer in (
        web.put("/upload", params={"name": "b.csv"}, content=b"x\n1\n", headers=headers),
        web.post("/sample", data={"sample": "patients"}, headers=headers),
        web.post(f"/p/{name}/delete", data={"confirm": "a.csv"}, headers=headers),
    ):
        assert answer.status_code == 403
    assert len(web.get("/index.json").json()["projects"]) == 1


def test_every_answer_forbids_what_a_page_does_not_need(app):
    web = client(app)
    for address in ("/", "/index.json", "/static/app.css", "/p/none/file"):
        held = web.get(address).headers
        policy = held["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert (held["x-content-type-options"], held["x-frame-options"]) == ("nosniff", "DENY")
        assert held["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("path", ["..%2f..%2fetc%2fpasswd", "..%5c..%5cx", "%2e%2e", "releases", "project.json"])
def test_no_address_leaves_the_workspace(app, path):
    web = client(app)
    name = project(web)
    for address in (
        f"/p/{path}/file",
        f"/p/{name}/releases/{path}/{path}",
        f"/p/{name}/releases/x/{path}",
        f"/p/{name}/pages/{path}",
        f"/static/{path}",
    ):
        assert web.get(address).status_code in (404, 422), address


def test_five_gigabytes_are_refused_before_they_are_received(app):
    read = []

    def body():
        for _ in range(1000):
            read.append(1)
            yield b"x" * 10**5

    answer = client(app).put(
        "/upload", params={"name": "big.csv"}, content=body(), headers={**HOME, "content-length": str(5 * 10**9)}
    )
    assert answer.status_code == 413
    assert client(app).get("/index.json").json()["projects"] == []


def test_an_upload_that_lies_about_its_size_is_refused(app):
    answer = client(app).put("/upload", params={"name": "a.csv"}, content=iter([b"x" * 600_000] * 3), headers=HOME)
    assert answer.status_code == 413
    assert client(app).get("/index.json").json()["projects"] == []


def test_names_and_values_are_never_markup(app, tmp_path):
    web = client(app)
    rows = "".join(f'"{EVIL}{at % 3}",{20 + at % 5},"{EVIL}"\n' for at in range(60))
    name = project(web, f'"{EVIL}",age,"x""on=y"\n{rows}'.encode(), name=f"{EVIL}.csv")
    state = web.app.app.state.app if hasattr(web.app, "app") else app.state.app
    held = state.workspace.project(name)
    for page in ("file", "person", "describe", "policy", "compare", "publish", "again"):
        waited(web, f"/p/{name}/{page}")
        text = web.get(f"/p/{name}/{page}").text
        assert "<script>alert" not in text, page
        assert '"on=y' not in text, page
    column = web.get(f"/p/{name}/column/{EVIL.replace('/', '%2F').replace('<', '%3C')}")
    assert "<script>alert" not in column.text
    assert held.schema_text() is not None


def waited(web, address, seconds=60):
    import time

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        data = web.get(f"{address}.json").json()
        if data.get("look", 1) is not None and data.get("checked", 1) is not None:
            return data
        time.sleep(0.05)
    raise AssertionError(address)


def test_every_page_is_json_too(app):
    web = client(app)
    name = project(web)
    for page in ("file", "person", "describe", "policy", "compare", "publish", "again"):
        assert waited(web, f"/p/{name}/{page}")["project"] == name
    assert web.get(f"/p/{name}/column/age.json").json()["name"] == "age"


def test_an_error_page_quotes_no_cell(app, monkeypatch):
    web = client(app)
    name = project(web)

    def broken(*_):
        raise ValueError("secret-cell 123")

    monkeypatch.setattr(app.state.app.screens, "look", broken)
    quiet = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=False)
    quiet.cookies.set(COOKIE, "t0ken")
    for address in (f"/p/{name}/file", f"/p/{name}/file.json"):
        answer = quiet.get(address)
        assert answer.status_code == 500
        assert "secret" not in answer.text


def test_a_broken_file_is_explained_and_can_be_read_another_way(app):
    web = client(app)
    name = project(web, b'a;b\n1;2\n3;"4\n5;6\n', name="broken.csv")
    data = waited(web, f"/p/{name}/file")
    assert data["look"]["ok"] is False
    assert data["look"]["message"]
    page = web.get(f"/p/{name}/file").text
    assert "Read it another way" in page


def test_a_form_that_cannot_be_meant_changes_nothing(app):
    web = client(app)
    name = project(web)
    before = waited(web, f"/p/{name}/describe")["toml"]
    for address, fields in (
        ("roles", {"role": "king", "column": "age"}),
        ("roles", {"role": "quasi"}),
        ("schema", {"toml": "not toml ="}),
        ("column/age/keys", {"fields": "range", "low": "9" * 5000, "high": "x"}),
        ("column/none/keys", {"fields": "missing", "missing": "x"}),
        ("answer", {"topic": "role", "question": "never asked"}),
    ):
        answer = web.post(f"/p/{name}/{address}", data=fields, headers={**HOME, "accept": "application/json"})
        assert answer.status_code == 422, address
        assert answer.json()["ok"] is False
    assert web.get(f"/p/{name}/describe.json").json()["toml"] == before


def test_a_project_is_deleted_only_by_its_name(app):
    web = client(app)
    name = project(web)
    web.post(f"/p/{name}/delete", data={"confirm": "b.csv"}, headers=HOME)
    assert len(web.get("/index.json").json()["projects"]) == 1
    web.post(f"/p/{name}/delete", data={"confirm": "a.csv"}, headers=HOME)
    assert web.get("/index.json").json()["projects"] == []


def test_nothing_of_the_file_is_logged(app, capfd):
    web = client(app)
    name = project(web, b"name,age\nsecretname,30\n")
    waited(web, f"/p/{name}/describe")
    out = capfd.readouterr()
    assert "secretname" not in out.out + out.err
    assert json.loads(web.get(f"/p/{name}/file.json").text)["look"]["ok"]
