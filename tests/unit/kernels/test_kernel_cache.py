from __future__ import annotations

import os
import subprocess
import sys

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
