from __future__ import annotations

import pytest

from sfumato.schema import Schema
from sfumato.schema.hierarchies import arx_lines, read_hierarchy, read_text
from sfumato.schema.tree import branch_from_inline, grow

ARX_FILES = [
    "age",
    "education",
    "marital-status",
    "native-country",
    "occupation",
    "race",
    "salary-class",
    "sex",
    "workclass",
]


def read(tmp_path, text, encoding="utf-8"):
    file = tmp_path / "h.csv"
    file.write_bytes(text.encode(encoding))
    return read_hierarchy(file, "here")


def leaves_and_names(branch):
    tree, leaves = grow(branch)
    return leaves, tree.names


@pytest.mark.parametrize(
    "text",
    [
        "a;X;*\nb;X;*\nc;Y;*\n",
        "a;X;*\r\nb;X;*\r\nc;Y;*",
        "\ufeffa;X;*\n\n  \nb;X;*\nc;Y;*\n",
        "a,X,*\nb,X,*\nc,Y,*\n",
        "a\tX\t*\nb\tX\t*\nc\tY\t*\n",
        "a;X;*;\nb;X;*;;\nc;Y;*\n",
        "a;X;*;*\nb;X;*;*\nc;Y;*;*\n",
        '"a";"X";"*"\n"b";X;*\nc;Y;*',
        " a ; X ;*\nb;X;*\nc;Y; * ",
        "value,parent\na,X\nb,X\nc,Y\nX,*\nY,*\n",
        "child,parent\na,X\nb,X\nc,Y\n",
    ],
)
def test_every_way_to_write_one_hierarchy(tmp_path, text):
    branch, problems = read(tmp_path, text)
    assert problems == []
    assert leaves_and_names(branch) == (("a", "b", "c"), ("*", "X", "a", "b", "Y", "c"))


def test_a_comma_in_an_arx_value_is_no_separator(tmp_path):
    branch, problems = read(tmp_path, "Smith, J;X;*\nb, c;Y;*\n")
    assert problems == []
    assert leaves_and_names(branch)[0] == ("Smith, J", "b, c")


@pytest.mark.parametrize(
    ("values", "encoding"), [(("Zürich", "Genève"), "latin-1"), (("bis 10 €", "10\u201320 €"), "cp1252")]
)
def test_text_that_is_not_utf8_is_read(tmp_path, values, encoding):
    branch, _ = read(tmp_path, "".join(f"{value};CH;*\n" for value in values), encoding)
    assert leaves_and_names(branch)[0] == values


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ["holds no values"]),
        ("\n \n", ["holds no values"]),
        ("value,parent\na,X\na,Y\n,X\n", ["1 line has an empty node", "1 value stands under two parents"]),
        ("value,parent\na,b\nb,a\n", ["2 names are their own ancestor (a cycle)"]),
        ("value,parent\nx,a\na,b\nb,a\n", ["2 names are their own ancestor (a cycle)"]),
        (";;\na;X;*", ["1 line or entry has an empty node"]),
    ],
)
def test_each_problem_of_a_file_is_named(tmp_path, text, rules):
    found = [problem.rule for problem in read(tmp_path, text)[1]]
    assert found == rules


def test_a_long_cycle_of_edges_ends(tmp_path):
    ring = "".join(f"{at},{(at + 1) % 3000}\n" for at in range(3000))
    _, problems = read(tmp_path, "value,parent\n" + ring + "".join(f"leaf{at},0\n" for at in range(300)))
    assert [problem.rule for problem in problems] == ["3000 names are their own ancestor (a cycle)"]


def test_files_that_can_not_be_read(tmp_path):
    for path, part in [
        (tmp_path / "absent.csv", "absent.csv cannot be read"),
        (tmp_path, "not a file"),
        (tmp_path / "a\0b", "cannot be read"),
        (tmp_path / ("x" * 5000), "cannot be read"),
    ]:
        text, problems = read_text(path, "here")
        assert text == ""
        assert part in problems[0].rule
        assert str(tmp_path.parent) not in str(problems[0])
    (tmp_path / "binary").write_bytes(b"a\0b")
    assert "is not text" in read_text(tmp_path / "binary", "here")[1][0].rule


def test_export_pads_short_lines_with_the_root(tmp_path):
    branch, _ = read(tmp_path, "a;X;U;*\nb;Y;*\nc;*\n")
    tree, leaves = grow(branch, missing="(missing)")
    assert arx_lines(tree, leaves) == ["a;X;U;*", "b;Y;*;*", "c;*;*;*"]


def test_export_keeps_equal_names_apart():
    for data, lines in [
        ({"X": {"G": ["a"]}, "Y": {"H": {"G": ["b"]}}}, ["a;a;G;X;*", "b;G;H;Y;*"]),
        ({"X": ["a"], "Y": {"a": ["b"]}}, ["a;X;*;*", "b;a;Y;*"]),
    ]:
        branch, problems = branch_from_inline(data, "here")
        assert problems == []
        assert arx_lines(*grow(branch)) == lines
    branch, problems = branch_from_inline({"X": {"G": ["a"]}, "Y": {"H": {"G": ["b"]}}, "Z": ["H"]}, "here")
    assert problems == []
    assert arx_lines(*grow(branch)) is None


@pytest.mark.parametrize("text", ["a;a;*\nc;a;*\n", 'x"y;X;*\n"p;q";X;*\nz;*\n', '"two\nlines";X;*\nb;Y;*\n', "a;*\n"])
def test_export_reads_back(tmp_path, text):
    branch, problems = read(tmp_path, text)
    assert problems == []
    tree, leaves = grow(branch)
    again, problems = read(tmp_path, "\n".join(arx_lines(tree, leaves)) + "\n")
    assert problems == []
    assert grow(again) == (tree, leaves)


@pytest.mark.parametrize("name", ARX_FILES)
def test_the_arx_files_of_adult_load_and_round_trip(name, tmp_path, public_data):
    file = public_data(f"adult/hierarchies_arx/adult_hierarchy_{name}.csv", "ARX's hierarchies of Adult")
    table = {
        "role": "quasi",
        "kind": "numeric" if name == "age" else "nominal",
        "hierarchy": str(file),
        "missing": ["?"],
    }
    schema = Schema.parse({"name": "adult", "attribute": {name: table}})
    lines = [line.split(";") for line in file.read_text("utf-8").split("\n") if line.strip()]
    assert sorted(schema[name].values.names) == sorted(line[0].strip() for line in lines)
    (tmp_path / "again.csv").write_text(schema.arx_hierarchy(name), encoding="utf-8")
    again = Schema.parse({"name": "adult", "attribute": {name: {**table, "hierarchy": "again.csv"}}}, folder=tmp_path)
    assert again[name] == schema[name]
    # each line of the original says the same as the tree
    tree = schema[name].nodes
    for line in lines:
        node = tree.by_interval[code := schema[name].values.code(line[0].strip()), code + 1]
        way = [tree.names[node]]
        while node:
            node = int(tree.parent[node])
            way.append(tree.names[node])
        assert way == list(dict.fromkeys(cell.strip() for cell in line))
