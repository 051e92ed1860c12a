from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sfumato.release.whole_file import write_whole


def test_it_replaces_what_was_and_has_its_mode(tmp_path):
    target = tmp_path / "made" / "page.html"
    for text, mode in (("first\n", 0o600), ("second\n", 0o644)):
        write_whole(target, text, mode=mode)
        assert target.read_bytes() == text.encode()
        assert stat.S_IMODE(target.stat().st_mode) == mode
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("broken", ["write", "replace"])
def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, broken):
    target = tmp_path / "page.html"
    write_whole(target, "old", mode=0o644)
    text = "new"
    if broken == "write":
        text = "\ud800"  # has no UTF-8
    else:
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises((UnicodeEncodeError, OSError)):
        write_whole(target, text, mode=0o644)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
