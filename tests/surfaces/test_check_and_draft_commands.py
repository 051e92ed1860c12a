"""`draft` and `check` on real files, as the steward sees them."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app

REAL = [
    "adult/adult.data",
    pytest.param("census_income_kdd/census_income_kdd.parquet", marks=pytest.mark.full),  # 299,285 rows
    pytest.param("lodes_ri_2019/ri_od_main_JT00_2019.csv.gz", marks=pytest.mark.full),  # more than 200,000
    pytest.param("lodes_ri_2019/ri_xwalk.csv.gz", marks=pytest.mark.full),
]


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value or 0, done.output


@pytest.mark.parametrize("name", REAL)
def test_draft_then_check(name: str, tmp_path: Path, public_data) -> None:
    file = str(public_data(name, "UCI Adult, UCI Census-Income (KDD) or LODES"))
    schema = str(tmp_path / "s.toml")
    run("draft", file, "-o", schema)
    code, text = run("check", file, schema, "--json")
    answer = json.loads(text)
    assert code == 0
    assert answer["ok"]
    assert answer["decisions"]
    code, text = run("check", file, schema)
    assert code == 0
    assert "Open decisions" in text


def test_a_dp_claim_on_a_drafted_schema_is_refused_by_name(tmp_path: Path) -> None:
    pl.DataFrame({"age": list(range(20, 60)), "sex": ["m", "f"] * 20, "illness": ["a", "b", "c", "d"] * 10}).write_csv(
        tmp_path / "d.csv"
    )
    (tmp_path / "s.toml").write_text(sf.draft(tmp_path / "d.csv"))
    drafted = sf.Schema.load(tmp_path / "s.toml").with_roles(quasi=["age", "sex"], target="illness", sensitive=[])
    table = sf.read(tmp_path / "d.csv", drafted)
    for mechanism in (sf.DiffGen(1), sf.NoisyTable(1)):
        with pytest.raises(sf.SchemaError) as caught:
            sf.publish(table, mechanism)
        assert {problem.path for problem in caught.value.problems} == {
            *("attribute.age", "attribute.sex", "attribute.illness"),
            *("population", "rows_per_person"),  # nobody has decided these yet
        }


@pytest.fixture
def arx_copy(tmp_path: Path) -> Path:
    """A hierarchy as ARX writes it, three lines short."""
    lines = [f"{group}{leaf};{group};*" for group in "abcd" for leaf in range(4)]
    (tmp_path / "h.csv").write_text("\n".join(line for line in lines if not line.startswith(("a0", "b2", "d3"))))
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(f"{line.split(';')[0]},1" for line in lines * 3))
    (tmp_path / "s.toml").write_text(
        'name="t"\n[attribute.x]\nrole="quasi"\nhierarchy="h.csv"\n[attribute.y]\nrole="sensitive"\nvalues=["1"]\n'
    )
    return tmp_path


def test_check_names_column_and_hierarchy_and_lists_every_value(arx_copy: Path) -> None:
    code, text = run("check", str(arx_copy / "d.csv"), str(arx_copy / "s.toml"))
    assert code == 2
    for word in ("x", "h.csv", "'a0'", "'b2'", "'d3'", "9 rows"):
        assert word in text
    code, text = run("check", str(arx_copy / "d.csv"), str(arx_copy / "s.toml"), "--json")
    assert json.loads(text)["problems"][0]["count"] == 3
    assert "a0" not in text
    assert "confidential" not in text


def test_contradictions_of_a_schema_name_column_key_and_fix(arx_copy: Path) -> None:
    (arx_copy / "s.toml").write_text(
        'name="t"\n[attribute.x]\nrole="quasi"\nvalues=["secret1"]\ngroups={ g = ["secret2"] }\n'
    )
    code, text = run("check", str(arx_copy / "d.csv"), str(arx_copy / "s.toml"))
    assert code == 2
    for word in ("attribute.x.groups", "lack 1 of the declared values", "'secret1'", "drop `values`", "confidential"):
        assert word in text
    code, text = run("check", str(arx_copy / "d.csv"), str(arx_copy / "s.toml"), "--json")
    assert "secret" not in text


def test_one_row_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x\na\n")
    (tmp_path / "s.toml").write_text('name="t"\n[attribute.x]\nrole="quasi"\nvalues=["a"]\n')
    assert run("check", str(tmp_path / "d.csv"), str(tmp_path / "s.toml"))[1].startswith("1 row fits the schema.")


def test_the_same_on_the_real_arx_files(tmp_path: Path, public_data) -> None:
    files = public_data("adult/hierarchies_arx", "ARX's hierarchies of Adult")
    lines = (files / "adult_hierarchy_education.csv").read_text().splitlines()
    (tmp_path / "h.csv").write_text("\n".join(lines[3:]))
    frame = sf.datasets.adult_frame().select("age", "education", "occupation")
    frame.write_csv(tmp_path / "d.csv")
    occupation = files / "adult_hierarchy_occupation.csv"
    (tmp_path / "s.toml").write_text(
        f'name="t"\n[attribute.education]\nrole="quasi"\nhierarchy="h.csv"\n[attribute.occupation]\nrole="sensitive"\nhierarchy="{occupation}"\n'
    )
    code, text = run("check", str(tmp_path / "d.csv"), str(tmp_path / "s.toml"))
    assert code == 2
    for line in lines[:3]:
        assert f"'{line.split(';')[0]}'" in text


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    heavy = "{'polars', 'pydantic', 'numba', 'rich', 'numpy'} & set(sys.modules)"
    code = (
        f"import sys; from sfumato.cli import main\ntry: main(['--help'])\nexcept SystemExit: print('LOADED', {heavy})"
    )
    used = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert "LOADED set()" in done.stdout
    assert min(used) < 0.3


@pytest.mark.parametrize("command", ["demo", "draft", "check", "publish", "verify", "apply", "explain"])
def test_every_help_has_an_example(command: str) -> None:
    assert "Example:" in run(command, "--help")[1]


def test_a_draft_is_for_its_owner_only(tmp_path: Path) -> None:
    pl.DataFrame({"age": list(range(20, 60))}).write_csv(tmp_path / "d.csv")
    run("draft", str(tmp_path / "d.csv"), "-o", str(tmp_path / "s.toml"))
    assert (tmp_path / "s.toml").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "s.toml").read_text()
    for target in (tmp_path / "s.toml", tmp_path / "no folder" / "s.toml"):
        done = CliRunner().invoke(app, ["draft", str(tmp_path / "d.csv"), "-o", str(target)], standalone_mode=False)
        assert isinstance(done.exception, sf.ParameterError)
    assert (tmp_path / "s.toml").read_text() == before
    assert not (tmp_path / "no folder").exists()
