"""A project is plain files: nothing half, nothing outside, nothing lost by two who write at once."""

from __future__ import annotations

import asyncio
import threading

import pytest

import sfumato as sf
from sfumato.web.workspace import Workspace, safe_name


@pytest.fixture
def workspace(tmp_path):
    return Workspace.opened(tmp_path / "space", upload_limit=1000)


async def parts(*held):
    for part in held:
        yield part


def received(workspace, name, *held, declared=None):
    return asyncio.run(workspace.received(name, parts(*held), declared=declared))


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("a.csv", "a.csv"),
        ("../../x.csv", "x.csv"),
        ("C:\\temp\\x y.csv", "x_y.csv"),
        ("..", "table.csv"),
        ("-rf", "rf"),
        ("<script>.csv", "script_.csv"),
        (".lock", "lock"),
    ],
)
def test_names_lead_nowhere(given, safe):
    assert safe_name(given) == safe


def test_an_upload_is_written_as_it_came(workspace):
    project = received(workspace, "a b.csv", b"x,y\n", b"1,2\n", declared=8)
    assert project.data.read_bytes() == b"x,y\n1,2\n"
    assert project.data.stat().st_mode & 0o777 == 0o600
    assert [one.id for one in workspace.projects()] == [project.id]


@pytest.mark.parametrize(
    ("held", "declared"),
    [((b"x" * 600, b"x" * 600), None), ((b"x",), 5 * 10**9), ((), None), ((b"abc",), 9)],
    ids=["larger than declared", "declared too large", "empty", "cut off"],
)
def test_what_is_refused_leaves_nothing(workspace, held, declared):
    with pytest.raises(sf.ParameterError) as caught:
        received(workspace, "a.csv", *held, declared=declared)
    assert caught.value.name == "file"
    assert workspace.projects() == []
    assert list((workspace.folder / "projects").iterdir()) == []


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", "A", "x" * 100, "."])
def test_a_project_is_found_by_its_id_alone(workspace, name):
    with pytest.raises(sf.ParameterError):
        workspace.project(name)


@pytest.mark.parametrize("path", [("..", "x"), ("/etc/passwd",), ("data", "..", "..", ".."), ("a\0b",)])
def test_no_path_leaves_a_project(workspace, path):
    project = received(workspace, "a.csv", b"x\n1\n")
    with pytest.raises(sf.ParameterError):
        project.inside(*path)


def test_a_link_out_of_the_project_is_refused(workspace, tmp_path):
    project = received(workspace, "a.csv", b"x\n1\n")
    (tmp_path / "secret").write_text("s")
    (project.folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(sf.ParameterError):
        project.inside("link")


def test_two_who_edit_at_once_lose_nothing(workspace):
    project = received(workspace, "a.csv", b"x\n1\n")
    project.write_schema(lambda _: "start\n")

    def add(who):
        for at in range(20):
            project.write_schema(lambda now, line=f"{who}{at}\n": now + line)

    both = [threading.Thread(target=add, args=(who,)) for who in "ab"]
    for one in both:
        one.start()
    for one in both:
        one.join()
    lines = project.schema_text().split()
    assert sorted(lines) == sorted(["start", *(f"{who}{at}" for who in "ab" for at in range(20))])


def test_every_change_can_be_undone_once(workspace):
    project = received(workspace, "a.csv", b"x\n1\n")
    for text in ("one\n", "two\n", "three\n", "three\n"):
        project.write_schema(lambda _, text=text: text)
    assert project.can_undo
    project.undo()
    assert project.schema_text() == "two\n"
    project.undo()
    assert (project.schema_text(), project.can_undo) == ("one\n", False)
    with pytest.raises(sf.ParameterError):
        project.undo()


def test_what_was_worked_out_belongs_to_the_description(workspace):
    project = received(workspace, "a.csv", b"x\n1\n")
    project.write_schema(lambda _: "a\n")
    before = project.digest()
    project.write_schema(lambda _: "b\n")
    assert project.digest() != before
    project.undo()
    assert project.digest() == before
    (project.folder / "hierarchies").mkdir()
    (project.folder / "hierarchies" / "x.csv").write_text("1;*\n")
    named = project.digest()
    assert named != before
    (project.folder / "hierarchies" / "x.csv").write_text("1;one;*\n")  # the schema names it as before
    assert project.digest() != named


def test_what_another_version_worked_out_is_worked_out_again(workspace, monkeypatch):
    project = received(workspace, "a.csv", b"x\n1\n")
    project.keep("checked", "a", {"ok": True})
    assert project.kept("checked", "a") == {"ok": True}
    monkeypatch.setattr("sfumato.web.workspace.__version__", "0.0.1")
    assert project.kept("checked", "a") is None
    (project.folder / "checked" / "b.json").write_text('{"ok": true}')  # as it was kept before it named its version
    assert project.kept("checked", "b") is None
    project.set_policy({"k": 5})
    assert project.policy() == {"k": 5}
