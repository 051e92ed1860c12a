"""Names that others chose (files, columns, schemas, populations, values) never steer the terminal that shows them."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from tests.claims.light_xlsx import write_xlsx

import sfumato as sf
from sfumato.cli.main import COMMANDS, main
from sfumato.visible import operand, shell_command, visible

# Clears the line, writes a verdict in green, goes to a new line, reverses and hides letters, and uses rich's markup.
EVIL = (
    "\x1b[2K\r\x1b[32mholds\x1b[0m\nFORGED\x9b1m\u202e\u2066\u200b\u2028\x85\x07\ufe0f[green]holds[/][/x] -\U000e0041"
)
FILE = f"-a;touch x{EVIL.replace('/', '')}"
SCHEMA = f"""
name = {json.dumps(EVIL)}
population = {json.dumps(EVIL)}
decide = [{json.dumps(EVIL)}]
source = "public"

[attribute.{json.dumps("q" + EVIL)}]
role = "quasi"
kind = "nominal"
values = [{json.dumps("v1" + EVIL)}, {json.dumps("v2" + EVIL)}]

[attribute.age]
role = "quasi"
kind = "numeric"
range = [0, 8]

[attribute.{json.dumps("t" + EVIL)}]
role = "target"
kind = "nominal"
values = [{json.dumps("w1" + EVIL)}, {json.dumps("w2" + EVIL)}]

[attribute.{json.dumps("s" + EVIL)}]
role = "sensitive"
kind = "nominal"
values = [{json.dumps("i1" + EVIL)}, {json.dumps("i2" + EVIL)}, {json.dumps("i3" + EVIL)}]

[attribute.{json.dumps("i" + EVIL)}]
role = "identifier"
"""


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Hostile files in the folder the command runs in."""
    monkeypatch.chdir(tmp_path)
    text = SCHEMA.replace("\\udb40\\udc41", "\\U000e0041")
    with Path(f"{FILE}.toml").open("w", encoding="utf-8") as file:
        file.write(text)
    with Path(f"{FILE}.decided.toml").open("w", encoding="utf-8") as file:
        file.write(re.sub("^decide.*", "", text, flags=re.MULTILINE))
    columns = {
        "q" + EVIL: [f"v{1 + at % 2}{EVIL}" for at in range(120)],
        "age": [str(at % 8) for at in range(120)],
        "t" + EVIL: [f"w{1 + at // 2 % 2}{EVIL}" for at in range(120)],
        "s" + EVIL: [f"i{1 + at // 4 % 3}{EVIL}" for at in range(120)],
        "i" + EVIL: [str(at) for at in range(120)],
    }
    with Path(f"{FILE}.csv").open("wb") as file:
        pl.DataFrame(columns).write_csv(file)
    with Path(f"{FILE}.bad.csv").open("wb") as file:
        pl.DataFrame({**columns, "q" + EVIL: [f"other{EVIL}"] * 120}).write_csv(file)
    return tmp_path


def command(capfd, *words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    said = capfd.readouterr()
    check_shown(said.out)
    check_shown(said.err)
    return stopped.value.code, said.out, said.err


HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def check_shown(text):
    """Nothing but newlines is hidden, no line is begun by a name, and no markup was taken."""
    assert [letter for letter in text if letter != "\n" and unicodedata.category(letter) in HIDDEN] == []
    assert not re.search(r"^\s*FORGED", text, re.MULTILINE)


def hostile_runs():
    data, schema, bad = f"./{FILE}.csv", f"./{FILE}.toml", f"./{FILE}.bad.csv"
    out, ledger = f"./{FILE}.out", f"./{FILE}.db"
    asked = ["--undecided", "--allow-repeated", "--allow-derived"]
    publish = [data, schema, *asked, "--ledger", ledger]
    dialect = ["--delimiter", ",", "--encoding", "utf-8", "--header"]
    decided = [data, f"./{FILE}.decided.toml", *dialect, "--ledger", ledger]
    return {
        "draft": [
            ["draft", data],
            ["draft", data, "-o", "./-d.toml"],
            ["draft", data, "-o", schema],
            ["draft", data, "--json"],
            ["draft", data, "-o", f"./{FILE}2.toml", "--name", EVIL],
            ["draft", EVIL],
        ],
        "check": [
            ["check", data, schema],
            ["check", bad, schema],
            ["check", bad, schema, "--json"],
            ["check", EVIL, schema],
            ["check", data, EVIL],
            ["check", data, data],
            ["check", schema, schema],
        ],
        "publish": [
            ["publish", "mondrian", *publish, "--k", "2", "-o", out],
            ["publish", "mondrian", *publish, "--k", "2", "-o", out],
            ["publish", "mondrian", data, schema, *asked, "--k", "2", "-o", f"{out}.csv", "--format", "csv"],
            ["publish", "mondrian", data, schema, "--k", "2", "-o", f"{out}.open"],
            ["publish", "mondrian", bad, schema, "--undecided", "--k", "2", "-o", f"{out}.not"],
            ["publish", "mondrian", data, schema, "--undecided", "--k", "500", "-o", f"{out}.not"],
            ["publish", "mondrian", data, schema, "--undecided", "--k", EVIL, "-o", f"{out}.not"],
            ["publish", "mondrian", *publish, "--k", "2", "-o", f"{out}m", "--mapping", f"{out}.map", "--against", out],
            ["publish", "mondrian", *publish, "--k", "2", "--dry-run"],
            ["publish", "bucketize", *publish, "--l", "2", "-o", f"{out}.b"],
            ["publish", "suppress", *publish, "-o", f"{out}.s", "--json"],
            ["publish", "topdown", *publish, "--k", "3", "-o", f"{out}.t"],
            ["publish", "anatomy", *publish, "--l", "2", "-o", f"{out}.a"],
            ["publish", "dlink", *publish, "--k", "3", "--d", "2", "-o", f"{out}.l"],
            ["publish", "diffgen", *decided, "--epsilon", "1", "-o", f"{out}.g"],
            ["publish", "noisy-table", *decided, "--epsilon", "1", "--cut", f"q{EVIL}=*", "-o", f"{out}.n"],
            ["publish", "noisy-table", *decided, "--epsilon", "1", "--cut", f"{EVIL}=*", "-o", f"{out}.n2"],
            ["publish", "noisy-table", *decided, "--epsilon", "1", "--cut", EVIL, "-o", f"{out}.n2"],
            ["publish", EVIL],
            ["publish", "mondrian", f"--{EVIL}"],
            ["publish", "mondrian", data, schema, EVIL, EVIL],
            ["publish", "mondrian", data, schema, "--nominal", EVIL],
        ],
        "verify": [
            ["verify", out],
            ["verify", f"{out}.csv"],
            ["verify", f"{out}.b"],
            ["verify", f"{out}.n"],
            ["verify", f"{out}.g", "--json"],
            ["verify", f"{out}.bad"],
            ["verify", f"{out}.bad", "--json"],
            ["verify", data, "--schema", schema, "--k", "2"],
            ["verify", f"{out}.csv/data.csv", "--schema", schema, "--k", "2", "--l", "2"],
            ["verify", EVIL],
            ["verify", f"{out}.csv/data.csv"],
        ],
        "measure": [
            ["measure", data, schema, out],
            ["measure", data, schema, f"{out}.csv/data.csv", "--json"],
            ["measure", data, schema, out, "--measure", EVIL],
            ["measure", data, schema, f"{out}.csv/data.csv", "--groups", EVIL],
        ],
        "attack": [
            ["attack", "composition", out, f"{out}.csv", "--victims", data, "--schema", schema],
            ["attack", "composition", out, "--victims", data, "--attribute", EVIL],
            ["attack", EVIL],
            [
                "attack",
                "composition",
                out,
                out,
                "--victims",
                data,
                "--schema",
                schema,
                "--json",
                "--records",
                f"{out}.rec",
            ],
        ],
        "frontier": [
            [
                "frontier",
                *decided[:-2],
                "--preset",
                "diffgen",
                "--repeats",
                "1",
                "--workers",
                "0",
                "-o",
                f"{out}.html",
                "--utility",
                "utility_loss",
            ],
            ["frontier", data, schema, "--preset", EVIL],
            ["frontier", data, schema, "--privacy", EVIL],
        ],
        "apply": [
            ["apply", f"{out}.t", data, "--schema", schema, "-o", f"{out}.applied"],
            ["apply", f"{out}.t", data, "-o", f"{out}.applied2"],
            ["apply", EVIL, data, "-o", "x"],
            ["apply", f"{out}.t", bad, "-o", f"{out}.applied3"],
        ],
        "synthesize": [
            ["synthesize", data, "--geography", bad, "--epsilon", "1", "--delta", "0.1", "--ledger", ledger, "-o", out],
            ["synthesize", EVIL, "--geography", EVIL, "--epsilon", EVIL, "--delta", EVIL],
        ],
        "ledger": [
            ["ledger", ledger],
            ["ledger", ledger, "--population", EVIL, "--set-limit", "3"],
            ["ledger", ledger, "--json"],
            ["ledger", ledger, "--population", EVIL, "--part", f"part{EVIL}"],
            ["ledger", ledger, "--population", f"no{EVIL}"],
            ["ledger", EVIL],
            ["ledger", data],
            ["ledger", ledger, "--resolve", "1", "--as", "spent", "--note", EVIL],
        ],
        "explain": [["explain", EVIL], ["explain", f"k{EVIL}", "--json"], ["explain"]],
        "finish": [["finish", EVIL], ["finish", data, "-o", EVIL], ["finish", out, "--ledger", EVIL, "--json"]],
        "demo": [["demo", "-o", f"{data}/{EVIL}"], ["demo", EVIL]],
        "decide": [["decide", schema, "--json"], ["decide", schema], ["decide", data], ["decide", EVIL]],
        "serve": [["serve", data, "--no-browser"], ["serve", EVIL, "--port", EVIL]],
    }


def test_hostile_names_in_every_command(there, capfd):
    """Item 1: one output path for all that is printed."""
    runs = hostile_runs()
    assert set(runs) == set(COMMANDS), "a new command needs hostile names here"
    codes = {}
    for name in ("draft", "check", "publish"):
        for words in runs.pop(name):
            codes[tuple(words)] = command(capfd, *words)[0]
    tampered(there)
    for listed in runs.values():
        for words in listed:
            codes[tuple(words)] = command(capfd, *words)[0]
    assert codes[("verify", f"./{FILE}.out")] == 0
    assert codes[("verify", f"./{FILE}.out.bad")] == 3
    done = sum(code == 0 for code in codes.values())
    assert done > 30, "hostile names must not stop the work"


def tampered(folder):
    """A release with an extra file whose name says that it holds."""
    source = os.fspath(folder / f"{FILE}.out")
    shutil.copytree(source, f"{source}.bad")
    with (Path(f"{source}.bad") / EVIL.replace("/", "")).open("w") as file:
        file.write("x")


def test_verify_on_a_terminal_shows_no_forged_verdict(there, capfd):
    """The whole attack in a real terminal: the only styling is that of the verdict."""
    command(capfd, *hostile_runs()["publish"][0])
    tampered(there)
    shown = in_a_terminal("verify", f"./{FILE}.out.bad")
    assert re.search(rb"\x1b\[1;31m[^\x1b]*FAILS\x1b\[0m", shown)
    left = re.sub(rb"\x1b\[(1;31|0)m", b"", shown).replace(b"\r\n", b"\n")
    assert b"holds\\u001b[0m" in left
    check_shown(left.decode())


def in_a_terminal(*words):
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    near, far = pty.openpty()
    arguments = [os.fsencode(word) for word in (sys.executable, "-m", "sfumato", *words)]
    with subprocess.Popen(arguments, stdin=far, stdout=far, stderr=far, env=environment) as process:
        os.close(far)
        parts = []
        while True:
            try:
                part = os.read(near, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            parts.append(part)
        process.wait(60)
    os.close(near)
    return b"".join(parts)


def test_draft_prints_a_command_that_a_shell_reads_back(tmp_path, capfd, monkeypatch):
    """Item 1: `draft` printed `a;touch x.csv` bare."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "a;touch x.csv",
        "-rf.csv",
        "a b'c.csv",
        "$(touch y).csv",
        "new\nline.csv",
        "\x1b[31m.csv",
    ):
        with Path(name).open("w") as file:
            file.write("age,ill\n" + "".join(f"{20 + at},flu\n" for at in range(9)))
        out = f"{name}.toml"
        _, said, _ = command(capfd, "draft", operand(name), "-o", operand(out))
        printed = said.rstrip("\n").partition("then run: ")[2]
        assert printed.startswith("sfumato check ")
        script = printed.replace("sfumato check ", "printf '%s\\0' ", 1).encode()
        read = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
        assert [os.fsdecode(word) for word in read.split(b"\0")[:-1]] == [operand(operand(name)), operand(operand(out))]
        assert not any(Path(made).exists() for made in ("x.csv", "x", "y"))


@pytest.mark.parametrize(
    ("name", "given"),
    [("two.xlsx", ["--sheet", "the visits"]), ("l.csv", ["--delimiter", "\t", "--encoding", "latin-1", "--header"])],
)
def test_the_command_that_a_draft_prints_reads_the_file_as_the_draft_did(tmp_path, capfd, monkeypatch, name, given):
    """`sfumato check` of a workbook of two sheets without --sheet was refused, or read the other one."""
    monkeypatch.chdir(tmp_path)
    rows = [["age", "ill"], *([str(20 + at), "flu"] for at in range(9))]
    if name.endswith("xlsx"):
        write_xlsx(name, {"people": [["a"], ["1"]], "the visits": rows})
    else:
        Path(name).write_text("".join("\t".join(row) + "\n" for row in rows))
    _, said, _ = command(capfd, "draft", name, "-o", "d.toml", *given)
    printed = said.rstrip("\n").partition("then run: ")[2]
    script = printed.replace("sfumato check ", "printf '%s\\0' ", 1).encode()
    read = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    words = [os.fsdecode(word) for word in read.split(b"\0")[:-1]]
    assert words[:2] == [name, "d.toml"]
    assert sorted(words[2:]) == sorted(given)
    _, said, _ = command(capfd, "check", *words)
    assert "9 rows fit the schema" in said


# -- the two functions themselves ------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=30)


@given(st.text(st.characters()))
@example("\x1b[31m")
@example("a" + "\u0301" * 40)
@settings(max_examples=400)
def test_visible_text_has_no_hidden_character(text):
    shown = visible(text)
    assert not any(unicodedata.category(letter) in HIDDEN for letter in shown)
    assert visible(shown) == shown
    assert not re.search("[\u0300-\u036f]{5}", shown)


def test_every_control_bidirectional_and_ignorable_character_is_replaced():
    bad = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
    bad += [*range(0x2060, 0x2070), 0xFEFF, 0x115F, 0x3164, 0xFFA0, 0x2800, 0x34F, *range(0xFE00, 0xFE10), 0xE0001]
    bad += [0xE0041, 0xE0100, 0x1D173, 0xD800, 0xDCFF, 0xFFFE, 0xFFFF, 0x10FFFF, 0xE000]
    assert [hex(code) for code in bad if visible(chr(code)) == chr(code)] == []
    assert visible("Größe, 年齢, возраст, عمر, é") == "Größe, 年齢, возраст, عمر, é"


@given(st.lists(TEXTS.filter(lambda word: not re.search("[\ud800-\udfff]", word)), min_size=1, max_size=3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_shell_reads_back_every_word(words):
    line = shell_command(["printf", "%s\\0", *words])
    assert visible(line) == line
    done = subprocess.run(["bash", "-c", line.encode()], capture_output=True, check=True).stdout
    assert done == b"".join(word.encode() + b"\0" for word in words)


def test_errors_of_the_library_are_visible_too():
    with pytest.raises(sf.SfumatoError) as found:
        sf.verify(f"nowhere{EVIL.replace('/', '')}")
    check_shown(str(found.value))
    check_shown(str(sf.ParameterError(EVIL, EVIL, EVIL, hint=EVIL)))
    assert "\\u001b" in str(found.value)


def test_a_file_name_that_is_not_utf8_gets_a_message(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Path("\udcff.csv").open("w") as file:
        file.write("age\n1\n")
    for words in (["draft", "\udcff.csv"], ["check", "\udcff.csv", "\udcff.toml"], ["verify", "\udcff"]):
        code, out, err = command(capfd, *words)
        assert code == 2
        assert "\\udcff" in out + err
        assert "unexpected" not in out + err
