"""What `verify --counts` takes from the file without a check is said."""

from __future__ import annotations

import polars as pl
from click.testing import CliRunner

from sfumato.cli.main import app

SCHEMA = 'name = "t"\nrows_per_person = 1\n[attribute.town]\nrole = "quasi"\nvalues = ["a", "b"]\n'


def test_verify_says_that_counts_are_taken_on_trust(tmp_path) -> None:
    pl.DataFrame({"town": ["a", "b"], "n": [12, 30]}).write_csv(tmp_path / "d.csv")
    (tmp_path / "s.toml").write_text(SCHEMA)
    asked = ["verify", str(tmp_path / "d.csv"), "--schema", str(tmp_path / "s.toml"), "--k", "10"]
    done = CliRunner().invoke(app, [*asked, "--counts", "n"])
    assert "is taken from the file and was not checked" in " ".join(done.output.split())
    assert "was not checked" not in CliRunner().invoke(app, asked).output
