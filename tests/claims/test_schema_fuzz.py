"""Is it true that any file at all gives a schema or a `SchemaError`, never another exception, and soon?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sfumato.errors import SchemaError
from sfumato.schema import Schema, label_name, parse_label

VALID = """name = "people"
population = "town"
rows_per_person = 2
[attribute.id]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [17, 91]
step = 0.5
intervals = [5, 10, 20]
clamp = true
[attribute.job]
role = "quasi"
hierarchy = { White = ["Clerk", "Nurse"], Blue = { Deep = ["Miner"], High = ["Roofer", 1, 2.5, true] } }
other = "Other"
[attribute.town]
role = "quasi"
hierarchy = "h.csv"
[attribute.grade]
role = "sensitive"
kind = "ordered"
values = ["low", "mid", "high"]
missing = ["?", ""]
[attribute.zip]
role = "quasi"
mask = { length = 2, from = "right", alphabet = "abc" }
missing = { values = ["x"], action = "suppress" }
[attribute.born]
role = "quasi"
kind = "date"
range = [1990-01-01, "1992-01-01"]
dates = ["month", "year"]
source = "data"
decide = ["range"]
[attribute.wage]
role = "target"
kind = "numeric"
edges = [0, 1, 10, 100]
[attribute.group]
role = "other"
groups = { a = ["b", "c"], d = ["e"] }
"""
TOWNS = "Ulm;South;*\nBonn;West;*\nKiel;*\n"
PIECES = [
    "[attribute.age]", "[[attribute]]", "[attribute.age.hierarchy.a.b.c]", '""', "inf", "nan", "-1e400",
    "1979-05-27T07:32:00Z", "07:32:00", "{}", "[]", "[[]]", "{ a = {} }", "{ a = 1 }", '{ "*" = ["*"] }',
    "0xffffffffffffffffffffffff", "true",
    '"\\u0000"', '"/"', '".."', '"1e999999999"', '"-0"', '"nominal"', '"date"', '"numeric"', '"ordered"', "9" * 400,
    '"quasi"',
    'step = "1e-30"', "range = [0, 1e300]", 'hierarchy = "h.csv"', 'values = "h.csv"', "mask = { length = 64 }",
    "\n", "=", "'''",
]  # fmt: skip


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """The valid file after a few cuts, copies, swaps of lines and pieces put in the place of a value."""
    lines = VALID.split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 5)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, draw(st.sampled_from(lines)))
            case 2:
                lines[at] = lines[at].partition("=")[0] + "= " + draw(st.sampled_from(PIECES))
            case 3:
                lines[at] = lines[at].partition("=")[0] + "=" + draw(st.sampled_from(lines)).partition("=")[2]
            case 4:
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(st.text(max_size=3)) + lines[at][cut + 1 :]
            case _:
                lines.insert(at, draw(st.sampled_from(PIECES)))
        lines = lines or [""]
    return "\n".join(lines).encode("utf-8", "replace")


def settle(folder: Path, raw: bytes) -> bool:
    """Load; a schema must also be able to name and read its labels."""
    (folder / "h.csv").write_text(TOWNS, encoding="utf-8")
    (folder / "s.toml").write_bytes(raw)
    try:
        schema = Schema.load(folder / "s.toml")
    except SchemaError as caught:
        error = caught
    else:
        error = None
    if error is not None:
        assert error.problems
        assert all(p.path and p.rule for p in error.problems)
        return False
    for attribute in schema.published:
        for intervals in {((0, 1),), ((0, attribute.size),), ((attribute.size - 1, attribute.size),)}:
            assert parse_label(attribute, label_name(attribute, intervals)) == intervals
    return True


KINDS = {
    "bytes": st.binary(max_size=200),
    "text": st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    "mutants": mutants(),
}
SHARE = {"bytes": 50, "text": 50, "mutants": 200}


def fuzz(folder: Path, kind: str, examples: int) -> list[bool]:
    sound: list[bool] = []

    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
    @given(KINDS[kind])
    def run(raw: bytes) -> None:
        sound.append(settle(folder, raw))

    run()
    return sound


def test_the_file_that_is_mutated_is_sound(tmp_path):
    assert settle(tmp_path, VALID.encode())


@pytest.mark.parametrize("kind", KINDS)
def test_any_file_gives_a_schema_or_a_schema_error(kind, tmp_path):
    sound = fuzz(tmp_path, kind, SHARE[kind])
    if kind == "mutants":  # both outcomes must occur, else the fuzz is too wild or too tame
        assert {True, False} == set(sound)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_any_file_gives_a_schema_or_a_schema_error_long(kind, tmp_path):
    fuzz(tmp_path, kind, 10 * SHARE[kind])


@given(raw=st.binary(max_size=80) | st.text(alphabet='ab;,*"\n\r\t |', max_size=80).map(str.encode))
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
def test_any_hierarchy_file_gives_a_schema_or_a_schema_error(tmp_path, raw):
    (tmp_path / "h2.csv").write_bytes(raw)
    try:
        schema = Schema.parse(
            {"name": "t", "attribute": {"x": {"role": "quasi", "hierarchy": "h2.csv"}}}, folder=tmp_path
        )
    except SchemaError:
        return
    (tmp_path / "again.csv").write_text(schema.arx_hierarchy("x"), encoding="utf-8", newline="")
    again = Schema.parse(
        {"name": "t", "attribute": {"x": {"role": "quasi", "hierarchy": "again.csv"}}}, folder=tmp_path
    )
    assert again["x"] == schema["x"]


@pytest.mark.parametrize(
    "lines",
    [
        "[attribute.x.hierarchy" + ".a" * 3000 + "]\nb = ['c']",
        "[attribute.x]\nrole = 'quasi'\nhierarchy = " + "{ a = " * 300 + "['b']" + " }" * 300,
        "[attribute.x]\nrole = 'quasi'\nkind = 'numeric'\nrange = [0, 2147483647]\nintervals = [1]",
        "[attribute.x]\nrole = 'quasi'\nkind = 'numeric'\nrange = [0, '1e999999999']",
        "[attribute.x]\nrole = 'quasi'\nkind = 'numeric'\nrange = [0, 0x" + "f" * 9000 + "]",
        "[attribute.x]\nrole = 'quasi'\nhierarchy = '/dev/zero'",
        "[attribute.x]\nrole = 'quasi'\nmask = { length = 64, alphabet = 'ab' }",
        "[attribute.x]\nrole = 'quasi'\nkind = 'date'\nrange = [0001-01-01, 9999-12-31]\nstep = 99999999999999999999",
    ],
)
def test_files_meant_to_exhaust_the_machine_are_refused(lines, tmp_path):
    assert not settle(tmp_path, f"name = 't'\n{lines}\n".encode())
