from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sfumato.kernels import cache

PROGRAM = """
from numba.core import config
config.CACHE_DIR = "mine"
from sfumato.kernels import cache
@cache.compiled
def one():
    return 1
assert one() == 1
assert config.CACHE_DIR == "mine"
print(cache.folder())
"""


def run(tmp_path, where) -> str:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    environment = {**os.environ, "SFUMATO_CACHE": str(where), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_kernels_are_kept_where_asked(tmp_path):
    place = tmp_path / "kept"
    found = run(tmp_path, place)
    assert found.startswith(str(place / "kernels-"))
    assert any(place.rglob("*.nbi"))


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert run(tmp_path, blocked) == "None"


def test_the_package_alone_does_not_import_numba():
    program = "import sys, sfumato.kernels; assert 'numba' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


# -- item 3: code of other users is not run --------------------------------------------------

OTHER = 12345  # a user that is not us
AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="the attack is a file of another user, which only root can make: run the tests as root"
)
KEY = f"kernels-{cache.source_key()}"


@pytest.fixture
def asked(monkeypatch):
    """What `folder` says of a place."""

    def ask(place):
        monkeypatch.setenv("SFUMATO_CACHE", str(place))
        cache.folder.cache_clear()
        return cache.folder()

    yield ask
    cache.folder.cache_clear()


def test_a_folder_of_ours_is_used_again(tmp_path, asked):
    place = tmp_path / "a" / "b"
    assert asked(place) == asked(place) == place / KEY
    assert (place / KEY).stat().st_mode & 0o777 == 0o700
    assert place.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o702, 0o750, 0o705])
def test_a_folder_that_others_can_enter_is_not_used(tmp_path, asked, mode):
    (tmp_path / KEY).mkdir()
    (tmp_path / KEY).chmod(mode)
    assert asked(tmp_path) is None


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_below_a_folder_that_others_can_write_nothing_is_used(tmp_path, asked, mode):
    shared = tmp_path / "shared"
    (shared / "home").mkdir(parents=True)
    shared.chmod(mode)
    assert asked(shared / "home") is None
    assert asked(shared) is None


def test_below_a_sticky_folder_of_root_ours_is_used(tmp_path, asked):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    assert asked(shared / "home") == shared / "home" / KEY


@AS_ROOT
def test_below_a_folder_of_another_user_nothing_is_used(tmp_path, asked):
    for name, depth in (("theirs", 0), ("deep", 1)):
        theirs = tmp_path / name
        (theirs / "home" / KEY).mkdir(parents=True, mode=0o700)
        os.chown(theirs if depth == 0 else theirs / "home", OTHER, OTHER)
        assert asked(theirs / "home") is None
    sticky = tmp_path / "sticky"  # whoever owns a sticky folder may replace what is in it
    sticky.mkdir()
    sticky.chmod(0o1777)
    os.chown(sticky, OTHER, OTHER)
    assert asked(sticky / "home") is None


@AS_ROOT
def test_what_another_user_made_first_in_a_sticky_folder_is_not_used(tmp_path, asked):
    shared = tmp_path / "shared"
    (shared / "home" / KEY).mkdir(parents=True, mode=0o700)
    shared.chmod(0o1777)
    os.chown(shared / "home", OTHER, OTHER)
    os.chown(shared / "home" / KEY, OTHER, OTHER)
    assert asked(shared / "home") is None
    os.chown(shared / "home", 0, 0)
    assert asked(shared / "home") is None


@AS_ROOT
def test_files_that_another_user_left_are_not_loaded(tmp_path, asked):
    assert asked(tmp_path) == tmp_path / KEY
    (tmp_path / KEY / "inner").mkdir()
    (tmp_path / KEY / "inner" / "one.nbi").write_bytes(b"")
    assert asked(tmp_path) == tmp_path / KEY
    os.chown(tmp_path / KEY / "inner" / "one.nbi", OTHER, OTHER)
    assert asked(tmp_path) is None


def test_links_are_not_followed(tmp_path, asked):
    real = tmp_path / "real"
    (real / KEY).mkdir(parents=True, mode=0o700)
    (tmp_path / "link").symlink_to(real)
    assert asked(tmp_path / "link") is None
    assert asked(tmp_path / "link" / "below") is None
    other = tmp_path / "other"
    other.mkdir()
    (other / KEY).symlink_to(real / KEY)
    assert asked(other) is None
    assert asked(real) == real / KEY
    (real / KEY / "one.nbi").symlink_to(tmp_path / "elsewhere")
    assert asked(real) is None


@AS_ROOT
def test_code_in_a_shared_home_is_not_run(tmp_path):
    """The attack: another user fills the folder in a home that all can write; a victim runs as yet another user."""
    shared = Path(tempfile.mkdtemp(dir="/tmp"))  # tmp_path is closed to other users
    try:
        shared.chmod(0o777)
        victim = OTHER + 1
        program = (  # imported as who may read the installation, asked as who may not
            "import os, tempfile\nfrom sfumato.kernels import cache\ncache.source_key()\n"
            f"os.setgroups([]); os.setgid({victim}); os.setuid({victim})\nprint(cache.folder())"
        )
        environment = {**os.environ, "HOME": str(shared), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        for name in ("SFUMATO_CACHE", "XDG_CACHE_HOME"):
            environment.pop(name, None)

        def said(*, prepared):
            if prepared:
                (shared / ".cache" / "sfumato" / KEY).mkdir(parents=True, mode=0o777)
                for place in (shared / ".cache", shared / ".cache" / "sfumato", shared / ".cache" / "sfumato" / KEY):
                    place.chmod(0o777)
                    os.chown(place, OTHER, OTHER)
            command = [sys.executable, "-c", program]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

        assert said(prepared=False) == "None"
        assert said(prepared=True) == "None"
        shared.chmod(0o1777)
        shutil.rmtree(shared / ".cache")
        assert said(prepared=False) == f"{shared / '.cache' / 'sfumato' / KEY}"
    finally:
        shutil.rmtree(shared)


@pytest.mark.full
def test_a_run_that_can_keep_nothing_says_so_once_with_the_fix(tmp_path):
    code = "from sfumato.commuting import urn; from sfumato.kernels import anatomy, cache; print(cache.folder())"
    environment = {**os.environ, "SFUMATO_CACHE": "/proc/none", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
    assert done.stderr.count("Compiling") == 1
    assert "set SFUMATO_CACHE to a folder of your own" in done.stderr
    assert "in /proc/none" in done.stderr
    environment["SFUMATO_CACHE"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
