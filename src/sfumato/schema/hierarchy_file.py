"""Hierarchy files: ARX's (`value;group;...;*`, ragged or padded) exactly as they come, and plain CSV.

A file whose header is `value,parent` or `child,parent` is read as a list of edges.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from sfumato.errors import Problem, count_of
from sfumato.limits import HIERARCHY_BYTES, read_regular
from sfumato.schema.tree import LEVELS_LIMIT, ROOT, Branch, Tree, branch_from_paths

__all__ = ["arx_lines", "read_hierarchy", "read_text"]

_QUOTED = re.compile(r'"[^"]*"')
_ENDLESS = -1  # in place of a depth: the way up leads into a cycle
_EDGE_HEADERS = {("value", "parent"), ("child", "parent")}


def read_text(path: Path, where: str, *, most: int = HIERARCHY_BYTES) -> tuple[str, list[Problem]]:
    """Return a small text file (UTF-8, else Latin-1), or the reason why it can not be read."""
    try:
        raw, reason = read_regular(path, most=most), ""
    except (OSError, ValueError) as error:  # ValueError: a path that no file system takes
        raw, reason = b"", getattr(error, "strerror", None) or "no such file"
    if reason:
        hint = "check the path" if where == path.name else "check the path; it is relative to the schema file"
        return "", [Problem(where, f"the file {path.name} can not be read ({reason})", hint)]
    if b"\0" in raw:
        return "", [Problem(where, f"the file {path.name} is not text", "save it as UTF-8 text, one value a line")]
    try:
        return raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        return raw.decode("latin-1"), []


def read_hierarchy(path: Path, where: str) -> tuple[Branch, list[Problem]]:
    """Read a hierarchy file; all problems at once."""
    text, problems = read_text(path, where)
    if problems:
        return Branch(ROOT, []), problems
    delimiter = _delimiter([line for line in re.split(r"[\r\n]", _QUOTED.sub("", text)) if line.strip()])
    try:
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [[cell.strip() for cell in row] for row in cells if len(row) > 1 or "".join(row).strip()]
    except csv.Error:
        return Branch(ROOT, []), [
            Problem(
                where,
                f"the file {path.name} is not a hierarchy",
                "write one line for each value: value;group;*",
            )
        ]
    if rows and tuple(cell.lower() for cell in rows[0]) in _EDGE_HEADERS:
        return _from_edges(rows[1:], where)
    return branch_from_paths([_trimmed(row) for row in rows], where)


def _delimiter(lines: Sequence[str]) -> str:
    """Return the separator most lines share; `;` (ARX's) wins where it occurs in every line."""
    for candidate in (";", "\t", ","):
        if lines and all(candidate in line for line in lines):
            return candidate
    return max((";", "\t", ","), key=lambda mark: sum(mark in line for line in lines))


def _trimmed(row: list[str]) -> list[str]:
    """Drop the empty cells that end a ragged line."""
    while len(row) > 1 and row[-1] == "":
        row = row[:-1]
    return row


def _from_edges(rows: Sequence[Sequence[str]], where: str) -> tuple[Branch, list[Problem]]:
    parents: dict[str, str] = {}
    twice: dict[str, None] = {}
    empty = 0
    for row in rows:
        if len(row) < 2 or not row[0] or not row[1]:
            empty += 1
        elif parents.setdefault(row[0], row[1]) != row[1]:
            twice[row[0]] = None
    problems = []
    if empty:
        problems.append(
            Problem(
                where,
                f"{count_of(empty, 'line has', 'lines have')} an empty node",
                "write value,parent on every line",
                count=empty,
            )
        )
    if twice:
        problems.append(
            Problem(
                where,
                f"{count_of(len(twice), 'value stands', 'values stand')} under two parents",
                "keep one parent for each value",
                count=len(twice),
                values=tuple(twice),
            )
        )
    inner = set(parents.values())
    paths: list[list[str]] = []
    loops: dict[str, None] = {}
    depth: dict[str, int] = {}  # steps to the top; each name is walked once, however many lie below it
    for leaf in [name for name in parents if name not in inner]:
        way, at = {leaf: None}, leaf
        while at not in depth and at in parents and parents[at] not in way:
            at = parents[at]
            way[at] = None
        if at not in depth and at in parents:  # its parent is already on the way
            loops.update(dict.fromkeys(list(way)[list(way).index(parents[at]) :]))
        steps = depth.get(at, _ENDLESS if at in parents else 0)
        for above, name in enumerate(reversed(way)):
            depth[name] = _ENDLESS if steps == _ENDLESS else steps + above
        if steps == _ENDLESS:
            continue
        path = [leaf]
        while path[-1] in parents and len(path) <= LEVELS_LIMIT + 1:  # a longer one is refused for its length
            path.append(parents[path[-1]])
        paths.append(path)
    cycles = (*loops, *(name for name in parents if name not in depth))
    if cycles:
        problems.append(
            Problem(
                where,
                f"{count_of(len(cycles), 'name is its', 'names are their')} own ancestor (a cycle)",
                "follow the parents up: they must end at *",
                count=len(cycles),
                values=cycles,
            )
        )
    branch, more = branch_from_paths(paths, where) if paths or not problems else (Branch(ROOT, []), [])
    return branch, problems + more


def arx_lines(tree: Tree, leaves: Sequence[str]) -> list[str] | None:
    """Return an ARX hierarchy file, one line a leaf, all of one length; None where no such file means this tree.

    Short lines end in more `*`, or begin with the leaf repeated where only that keeps equal names apart.
    Cells of a grid that are no node of the tree hang below the narrowest interval that holds them.
    """
    ways = []
    for code, leaf in enumerate(leaves):
        node, way = tree.ancestor(code, code + 1), []
        if tree.high[node] - tree.low[node] != 1 or node == 0:
            way.append(leaf)
        while node != 0:
            way.append(tree.names[node])
            node = int(tree.parent[node])
        ways.append(way)
    depth = max((len(way) for way in ways), default=0)
    ended = [[*way, *[ROOT] * (depth - len(way) + 1)] for way in ways]
    begun = [[*way[:1] * (depth - len(way)), *way, ROOT] for way in ways]
    for rows in (ended, begun):
        branch, problems = branch_from_paths(rows, "")
        if not problems and list(branch.leaves()) == list(leaves):
            return [";".join(_quoted(cell) for cell in row) for row in rows]
    return None


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ';"\r\n') else cell
