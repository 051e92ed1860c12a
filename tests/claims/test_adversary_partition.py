"""A second reading of every partition-based claim: the written files, read by `csv` and judged by other code.

Nothing of `sfumato.claims`, `sfumato.release` or the kernels takes part in the judgement. Definitions are taken from
the papers: k (Sweeney 2002), l in four readings (Machanavajjhala et al. 2007; Li & Li 2009), t (Li et al. 2007, with
their own recursion for the hierarchical distance), delta (Brickell & Shmatikov 2008), (alpha, k) (Wong et al. 2006),
beta (Cao & Karras 2012). Tables are small and odd on purpose.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
import re
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sfumato import claims, counts, mechanisms
from sfumato.errors import Infeasible, SchemaError
from sfumato.estimate.generalize import generalize, mapping
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.release import verify
from sfumato.release.files import unmarked
from sfumato.schema import Schema

# -- the judge -----------------------------------------------------------------------------


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        # The documented mark of cells that a spreadsheet would run: one apostrophe in front, taken off by a reader.
        return [
            {unmarked(name): unmarked(cell) for name, cell in row.items()} for row in csv.DictReader(file, strict=True)
        ]


def classes_of(folder: Path, quasi: list[str], carried: list[str], *, buckets: bool) -> list[tuple[int, list[Counter]]]:
    """Each class as its size and one histogram for each carried column."""
    data = rows_of(folder / "data.csv")
    if not buckets:
        found: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in data:
            found.setdefault(tuple(row[name] for name in quasi), []).append(row)
        return [(len(rows), [Counter(row[name] for row in rows) for name in carried]) for rows in found.values()]
    (group,) = [name for name in data[0] if name not in quasi] if data else ["group"]
    sizes = Counter(row[group] for row in data)
    tables = {number: [Counter() for _ in carried] for number in sizes}
    for row in rows_of(folder / "groups.csv"):
        (count,) = [name for name in row if name not in (group, *carried)]
        for at, name in enumerate(carried):
            tables[row[group]][at][row[name]] += int(row[count])
    for number, size in sizes.items():
        assert all(sum(table.values()) == size for table in tables[number])
    return [(sizes[number], tables[number]) for number in sizes]


def broken(
    requirement: Any, classes: list[tuple[int, list[Counter]]], sensitive: list[tuple[int, Any]], c: int
) -> list:
    """Every (part, class, column) that breaks the requirement; `sensitive` holds (column, ground)."""
    offends = []
    for part in requirement.parts:
        name = type(part).__name__
        for n, tables in classes:
            if name in ("KAnonymity", "AlphaK") and n < (part.k * c if part.k > 1 else 1):  # a row is somebody's
                offends.append((str(part), n))
            if name == "KAnonymity":
                continue
            assert sensitive
            for at, ground in sensitive:
                overall = sum((other[at] for _, other in classes), Counter())
                if not holds(part, tables[at], overall, ground):
                    offends.append((str(part), dict(tables[at]), dict(overall)))
    return offends


def holds(part: Any, counts: Counter, overall: Counter, ground: Any) -> bool:
    n, total = sum(counts.values()), sum(overall.values())
    p = {value: Fraction(counts[value], n) for value in overall}
    q = {value: Fraction(overall[value], total) for value in overall}
    match type(part).__name__:
        case "AlphaK":
            return max(p.values()) <= part.alpha
        case "BetaLikeness":
            return all((p[v] - q[v]) / q[v] <= part.beta for v in q if p[v] > q[v])
        case "SemanticPrivacy":
            return _delta(part, p, q)
        case "LDiversity":
            return _diverse(part, p)
        case "TCloseness" if part.distance == "js":
            return _js(p, q) <= float(part.t) + 1e-12
        case "TCloseness":
            return _emd(p, q, ground) <= part.t
    raise AssertionError(part)


def _delta(part: Any, p: dict, q: dict) -> bool:
    for value, share in q.items():
        if p[value] == 0:
            if part.absent == "fail":
                return False
            continue
        log = math.log(p[value] / share)
        if (abs(log) if part.sides == "two" else log) >= float(part.delta) + 1e-12:
            return False
    return True


def _diverse(part: Any, p: dict) -> bool:
    falling = sorted(p.values(), reverse=True)
    if part.kind == "probability":
        return falling[0] * part.l <= 1
    if part.kind == "distinct":
        return sum(share > 0 for share in falling) >= part.l
    if part.kind == "entropy":
        return -math.fsum(float(x) * math.log(x) for x in falling if x) >= math.log(part.l) - 1e-12
    return falling[0] < part.c * sum(falling[int(part.l) - 1 :])


def _js(p: dict, q: dict) -> float:
    terms = []
    for value, share in q.items():
        middle = (p[value] + share) / 2
        terms += [float(x) * math.log(x / middle) / 2 for x in (p[value], share) if x]
    return math.fsum(terms)


def _emd(p: dict, q: dict, ground: Any) -> Fraction:
    if ground is None:
        return sum((abs(p[v] - q[v]) for v in q), Fraction()) / 2
    if callable(ground):
        order = sorted(q, key=ground)
        gaps = [abs(sum((p[v] - q[v] for v in order[: at + 1]), Fraction())) for at in range(len(order) - 1)]
        return sum(gaps, Fraction()) / max(1, len(order) - 1)
    return _tree_cost({v: p[v] - q[v] for v in q}, ground, _height(ground))[0]


def _height(tree: Any) -> int:
    children = tree.values() if isinstance(tree, dict) else tree
    return 1 + max(_height(child) if isinstance(child, dict | list) else 0 for child in children)


def _tree_cost(extra: dict, tree: Any, top: int) -> tuple[Fraction, Fraction]:
    """The paper's recursion: at each inner node the smaller of surplus and need is moved at height / H."""
    cost, surplus, need = Fraction(), Fraction(), Fraction()
    for child in tree.values() if isinstance(tree, dict) else tree:
        below, rest = _tree_cost(extra, child, top) if isinstance(child, dict | list) else (0, extra.get(child, 0))
        cost += below
        surplus += max(rest, 0)
        need += max(-rest, 0)
    return cost + Fraction(_height(tree), top) * min(surplus, need), surplus - need


# -- odd tables ----------------------------------------------------------------------------

ODD = [
    "a,b",
    'he said "x"',
    '"',
    "line\nbreak",
    "cr\rinside",
    "semi;colon",
    "tab\tin",
    "A",
    "\uff21",
    "\u00e9",
    "e\u0301",
    "[1-2)",
    "1-2",
    ">=40",
    "a | b",
    "|",
    "a\\|b",
    "\\",
    "50*",
    "*5",
    "{a, b}",
    "1..2",
    "null",
    "NA",
    "NaN",
    "0",
    "00",
    "1.0",
    "a  b",
    "-",
    "group",
    "(any)",
    "(other)",
    "(part 1)",
    "#x",
    "'",
    "=1+1",
    "missing",
    "None",
    "a\u00a0b",
    "\u200bzero",
    "..",
    "x..y",
]


@st.composite
def listed(draw: Any, role: str) -> tuple[dict, list[str], Any]:
    """A nominal or ordered attribute: its declaration, its texts, its ground distance."""
    values = draw(st.lists(st.sampled_from(ODD), min_size=1, max_size=6, unique=True))
    declared: dict[str, Any] = {"role": role, "kind": draw(st.sampled_from(["nominal", "nominal", "ordered"]))}
    ground: Any = None
    if declared["kind"] == "ordered":
        declared["values"] = values
        ground = [*values, "(missing)"].index
    elif len(values) > 2 and draw(st.booleans()):
        at = draw(st.integers(1, len(values) - 1))
        # the same name on two levels: an inner node is called like a leaf below or beside it
        first, second = draw(st.sampled_from([("G", "H"), (values[0], "H"), (values[-1], values[0])]))
        tree = {first: values[:at], second: values[at:]}
        if draw(st.booleans()):
            tree = {first: values[:at], second: {"chain": values[at:]}}
        declared["hierarchy"] = tree
        if draw(st.booleans()):
            declared["ground"] = "hierarchical"
            ground = tree
    else:
        declared["values"] = values
    return declared, values, ground


@st.composite
def numbers(draw: Any, role: str) -> tuple[dict, list[str], Any]:
    step = draw(st.sampled_from(["1", "0.5", "3"]))
    size = draw(st.integers(1, 8))
    low = draw(st.sampled_from([-2, 0, 17]))
    declared = {"role": role, "kind": "numeric", "range": [low, str(low + Fraction(step) * size)], "step": step}
    declared["range"][1] = str(float(low + Fraction(step) * size))
    texts = [str(float(low + Fraction(step) * at)) for at in range(size)]

    def rank(text: str) -> Fraction:
        found = re.match(r"\[?(-?[\d.]+)", text)
        return Fraction(found[1]) if found else Fraction(10**6)  # missing stands last

    return declared, texts, rank


@st.composite
def days(draw: Any, role: str) -> tuple[dict, list[str], Any]:
    size = draw(st.integers(1, 9))
    first = dt.date(2020, 2, 26)
    declared = {"role": role, "kind": "date", "range": [str(first), str(first + dt.timedelta(size))]}
    return declared, [str(first + dt.timedelta(at)) for at in range(size)], lambda text: text.replace("(", "~")


@st.composite
def tables(draw: Any, *, sensitive: int | None = None, target: bool | None = None) -> tuple[dict, list[dict], dict]:
    """A schema as plain data, rows as texts (None: missing), and the ground distance of each sensitive attribute."""
    wanted = ["quasi"] * draw(st.integers(1, 3))
    wanted += ["sensitive"] * (draw(st.integers(0, 2)) if sensitive is None else sensitive)
    wanted += ["target"] * (draw(st.booleans()) if target is None else target)
    pool = ["x", "group", "count", "rows", "a b", "w,z", 'q"', "data"]
    names = draw(st.permutations(pool))[: len(wanted)]
    attributes, texts, grounds = {}, {}, {}
    for name, role in zip(names, wanted, strict=True):
        declared, values, ground = draw(st.one_of(listed(role), listed(role), numbers(role), days(role)))
        missing = draw(st.sampled_from([None, None, ["?"], "suppress"]))
        if missing is not None:
            declared["missing"] = missing
        declared["source"] = draw(st.sampled_from(["public", "public", "data"]))
        used = values[: draw(st.integers(1, len(values)))]  # the rest of the domain stays unused
        attributes[name], texts[name] = declared, used + ([None] if missing is not None else [])
        if isinstance(ground, dict):
            ground = None if declared["source"] == "data" else ground
            if ground is not None and missing == ["?"]:
                ground = {**ground, "\0": "(missing)"}
        grounds[name] = ground
    row = st.fixed_dictionaries({name: st.sampled_from(texts[name]) for name in names})
    row = row.filter(lambda cells: any(text is not None for text in cells.values()))  # a row without a value is refused
    some = draw(st.lists(row, max_size=10))
    times = draw(st.lists(st.integers(1, 6), min_size=len(some), max_size=len(some)))
    schema = {"name": "odd", "rows_per_person": draw(st.sampled_from([1, 1, 1, 2, 3])), "attribute": attributes}
    return schema, [row for row, many in zip(some, times, strict=True) for _ in range(many)], grounds


PARTS = [
    claims.KAnonymity(2),
    claims.KAnonymity(5),
    claims.LDiversity(2),
    claims.LDiversity("1.5"),
    claims.LDiversity(2, kind="distinct"),
    claims.LDiversity("1.4", kind="entropy"),
    claims.LDiversity(2, kind="entropy"),
    claims.LDiversity(2, kind="recursive", c=2),
    claims.LDiversity(1, kind="recursive", c="1.5"),
    claims.TCloseness("0.1"),
    claims.TCloseness(0),
    claims.TCloseness("0.3", distance="emd"),
    claims.TCloseness("1/7", distance="emd"),
    claims.SemanticPrivacy(1),
    claims.SemanticPrivacy("0.5", sides="one"),
    claims.SemanticPrivacy(1, absent="ignore"),
    claims.SemanticPrivacy(2, sides="one", absent="fail"),
    claims.AlphaK("2/3", k=2),
    claims.BetaLikeness(1),
    claims.BetaLikeness("0.3"),
]
PLAIN = [part for part in PARTS if not part.reads_sensitive]


def read(schema: dict, rows: list[dict]) -> Any:
    """Read the rows, or None where the schema itself is refused (a value that another rule reserves)."""
    try:
        parsed = Schema.parse(schema)
    except SchemaError:
        return None
    frame = pl.DataFrame(rows, schema=dict.fromkeys(schema["attribute"], pl.String), orient="row")
    return counts.read(frame, parsed)


def judge(table: Any, mechanism: Any, schema: dict, rows: list[dict], grounds: dict) -> Any:
    """Publish, save, and judge the written files; return the release, None where it cannot be reached."""
    try:
        release = run(mechanism, gather(mechanism, table), Entropy.seeded(3))
    except Infeasible:
        return None
    except SchemaError as refused:
        if "differ from another only in case" in str(refused):  # the only thing wrong with a schema that was read
            return None
        raise
    attributes = schema["attribute"]
    quasi, carried = (
        [n for n, a in attributes.items() if a["role"] in roles] for roles in (("quasi",), ("sensitive", "target"))
    )
    carried.sort(key=lambda name: ["sensitive", "target"].index(attributes[name]["role"]))
    buckets = release.form == "buckets"
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where) / "out"
        release.save(folder, format="csv", allow_rehearsal=True, allow_fingerprints=True)
        classes = classes_of(folder, quasi, carried, buckets=buckets)
        verdict = verify(folder)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    grounded = [(at, grounds[n]) for at, n in enumerate(carried) if attributes[n]["role"] == "sensitive"]
    promise = release.claim.promise
    assert broken(promise, classes, grounded, schema["rows_per_person"]) == []
    assert verdict.holds, str(verdict)
    published = sum(size for size, _ in classes)
    assert published + manifest["left_out"] == len(rows) == table.rows + table.left_out
    assert published == release.rows
    _true(release, table, classes, carried)
    return release


def _true(release: Any, table: Any, classes: list, carried: list[str]) -> None:
    """Nobody is lost, doubled or moved: residence, boxes and the carried values agree with the table."""
    home = release.residence
    stays = home.group >= 0
    assert int(home.weight[stays].sum()) == release.rows
    assert int(home.weight.sum()) == table.rows
    landed = np.bincount(home.group[stays], weights=home.weight[stays], minlength=len(release.groups))
    assert landed.tolist() == release.groups.weight.tolist()
    width = len(release.quasi)
    for codes, group in zip(home.codes[stays], home.group[stays], strict=True):
        boxes = np.flatnonzero(release.boxes.group == group)
        assert any(
            all(
                any(low <= codes[at] < high for low, high in labels.intervals(int(release.boxes.labels[box, at])))
                for at, labels in enumerate(release.boxes.tables)
            )
            for box in boxes
        )
    for at, name in enumerate(carried):
        answer = sum((tables[at] for _, tables in classes), Counter())
        kept = Counter()
        for codes, many in zip(home.codes[stays], home.weight[stays], strict=True):
            kept[table.schema[name].text(int(codes[width + at]))] += int(many)
        assert answer == kept


MONDRIANS = [
    {"cut": "best"}, {"cut": "widest"}, {"cut": "best", "nominal": "nodes"}, {"cut": "widest", "nominal": "nodes"},
    {"cut": "best", "tight": True}, {"cut": "widest", "tight": True, "nominal": "nodes"},
    {"cut": "best", "max_suppressed": "0.2"}, {"cut": "best", "max_suppressed": "0.5", "tight": True},
]  # fmt: skip

CHECKS = settings(max_examples=40, suppress_health_check=list(HealthCheck))


def about_values(requirement: Any) -> Any:
    """What buckets may promise of it: exact quasi-identifiers hide nobody among k people."""
    kept = [part for part in requirement.parts if "k-anonymity" not in part.label] or [claims.TCloseness("0.4")]
    return kept[0] if len(kept) == 1 else kept[0] & kept[1]


def requirement_for(draw: Any, schema: dict) -> Any:
    has = any(a["role"] == "sensitive" for a in schema["attribute"].values())
    parts = draw(st.lists(st.sampled_from(PARTS if has else PLAIN), min_size=1, max_size=2))
    return parts[0] if len(parts) == 1 else parts[0] & parts[1]


@CHECKS
@given(st.data())
def test_mondrian(data: Any) -> None:
    schema, rows, grounds = data.draw(tables())
    table = read(schema, rows)
    if table is None:
        return
    mechanism = mechanisms.Mondrian(requirement_for(data.draw, schema), **data.draw(st.sampled_from(MONDRIANS)))
    judge(table, mechanism, schema, rows, grounds)


@CHECKS
@given(st.data())
def test_bucketize(data: Any) -> None:
    schema, rows, grounds = data.draw(tables(sensitive=data.draw(st.integers(1, 2))))
    table = read(schema, rows)
    if table is None:
        return
    cut = data.draw(st.sampled_from(["best", "widest"]))
    requirement = about_values(requirement_for(data.draw, schema))
    judge(table, mechanisms.Bucketize(requirement, cut=cut), schema, rows, grounds)


@CHECKS
@given(st.data())
def test_anatomy(data: Any) -> None:
    schema, rows, grounds = data.draw(tables(sensitive=1))
    table = read(schema, rows)
    if table is not None:
        judge(table, mechanisms.Anatomy(data.draw(st.integers(2, 4))), schema, rows, grounds)


@CHECKS
@given(st.data())
def test_topdown(data: Any) -> None:
    schema, rows, grounds = data.draw(tables(target=True))
    table = read(schema, rows)
    if table is not None:
        judge(table, mechanisms.TopDown(data.draw(st.integers(1, 4))), schema, rows, grounds)


# -- larger tables, so that there are many classes ---------------------------------------------


def larger(seed: int) -> tuple[dict, list[dict], dict]:
    """Up to 300 people, correlated quasi-identifiers and sensitive values, some of each missing."""
    rng = np.random.default_rng(seed)
    tree = {"u": ["a", "b | c"], "v": {"w": ["d,e", "f"], "a": ["g"]}}
    leaves = ["a", "b | c", "d,e", "f", "g"]
    ages, ranks = [str(at) for at in range(20)], ["low", "mid", "high", "unused"]
    attributes: dict[str, Any] = {
        "age": {"role": "quasi", "kind": "numeric", "range": [0, 20]},
        "job": {"role": "quasi", "kind": "nominal", "hierarchy": tree},
        "seen": {"role": "quasi", "kind": "date", "range": ["2021-12-25", "2022-01-08"]},
        "ill": {"role": "sensitive", "kind": "nominal", "hierarchy": tree, "ground": "hierarchical"},
        "pain": {"role": "sensitive", "kind": "ordered", "values": ranks},
        "vote": {"role": "target", "kind": "nominal", "values": ["l", "r"]},
    }
    grounds: dict[str, Any] = {"ill": tree, "pain": [*ranks, "(missing)"].index}
    for name, declared in attributes.items():
        if rng.random() < 0.3:
            declared["missing"] = ["?"]
            if name == "ill":
                grounds["ill"] = {**tree, "\0": "(missing)"}
    if rng.random() < 0.5:
        del attributes["pain"]
    people = int(rng.integers(1, 300))
    draw = rng.beta(1, rng.uniform(1, 4), (people, 6)) * 0.7 + rng.random((people, 1)) * 0.3
    days = [str(dt.date(2021, 12, 25) + dt.timedelta(at)) for at in range(14)]
    texts = {"age": ages, "job": leaves, "seen": days, "ill": leaves, "pain": ranks[:3], "vote": ["l", "r"]}
    rows = []
    for line in draw:
        row = {name: texts[name][int(x * len(texts[name]))] for name, x in zip(texts, line, strict=True)}
        rows.append({n: None if "missing" in a and rng.random() < 0.1 else row[n] for n, a in attributes.items()})
    return {"name": "larger", "rows_per_person": int(rng.integers(1, 3)), "attribute": attributes}, rows, grounds


def larger_case(seed: int) -> Any:
    schema, rows, grounds = larger(seed)
    rng = np.random.default_rng([seed, 1])
    table = read(schema, rows)
    one, other = (PARTS[int(at)] for at in rng.integers(0, len(PARTS), 2))
    requirement = one & other if rng.random() < 0.4 else one
    kinds = [mechanisms.Mondrian(requirement, **options) for options in MONDRIANS]
    kinds += [mechanisms.Bucketize(about_values(requirement)), mechanisms.TopDown(int(rng.integers(1, 9)))]
    if "pain" not in schema["attribute"]:
        kinds.append(mechanisms.Anatomy(int(rng.integers(2, 4))))
    return judge(table, kinds[seed % len(kinds)], schema, rows, grounds)


@pytest.mark.cells(15)
@pytest.mark.parametrize("seed", range(45))
def test_larger_tables(seed: int) -> None:
    larger_case(seed)


@pytest.mark.full
def test_thousands_of_larger_tables() -> None:
    several = sum(release is not None and len(release.groups) > 1 for release in map(larger_case, range(100, 2100)))
    assert several > 500


# -- the judge itself --------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_the_judge_accepts_the_table_itself_and_refuses_a_class_apart(part: Any) -> None:
    """One class of everything is fine by all; beside it one person with one value breaks every requirement."""
    overall = Counter(a=9, b=9, c=9)
    order = ["a", "b", "c"].index
    assert broken(part, [(27, [overall])], [(0, order)], 1) == []
    if str(part) == "recursive l-diversity(1, c=1.5)":
        return  # r_1 < 1.5 (r_1 + ...) holds for every class: l = 1 asks for nothing
    assert broken(part, [(27, [overall]), (1, [Counter(c=1)])], [(0, order)], 1)


def test_the_judge_knows_distances_by_hand() -> None:
    p = {"a": Fraction(1), "b": Fraction(0), "c": Fraction(0)}
    q = {"a": Fraction(1, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)}
    assert _emd(p, q, None) == Fraction(2, 3)
    assert _emd(p, q, ["a", "b", "c"].index) == Fraction(1, 2)  # 2/3 over the first step, 1/3 over the second, of 2
    assert _emd(p, q, {"x": ["a", "b"], "y": ["c"]}) == Fraction(1, 6) + Fraction(1, 3)
    assert _js(p, q) == pytest.approx(0.3182570841474064)  # (ln 3/2 + (ln 1/2 + 2 ln 2) / 3) / 2, by hand


# -- shapes that broke something once ----------------------------------------------------------

SMALL: dict[str, Any] = {
    "name": "small",
    "rows_per_person": 1,
    "attribute": {
        "group": {"role": "quasi", "kind": "numeric", "range": [0, 4], "source": "data"},
        'a "b"': {"role": "quasi", "kind": "ordered", "values": ["(part 1)", "x", "y", "(other)"], "source": "data"},
        "rows": {"role": "sensitive", "kind": "nominal", "values": ["only"], "source": "data"},
        "vote": {"role": "target", "kind": "nominal", "values": ["l", "r"]},
    },
}
LINES = [
    {"group": str(i % 4), 'a "b"': ["x", "(other)"][i % 2], "rows": "only", "vote": "lr"[i // 8]} for i in range(16)
]
EVERY = [
    mechanisms.Mondrian(claims.KAnonymity(2)),
    mechanisms.Mondrian(claims.TCloseness("0.1", distance="emd"), tight=True),
    mechanisms.Bucketize(claims.TCloseness("0.5")),
    mechanisms.TopDown(2),
]


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("rows", [[], LINES[:1], LINES], ids=["empty", "one row", "some"])
def test_empty_one_row_one_value_and_names_we_use_ourselves(mechanism: Any, rows: list[dict]) -> None:
    """An empty table; a constant column read off the data; columns `group`, `rows`; a quote in a name."""
    grounds = {"rows": None}
    release = judge(read(SMALL, rows), mechanism, SMALL, rows, grounds)
    closeness = "t-closeness" in json.dumps(mechanism.to_json())
    assert (release is None) == (len(rows) == 1 and not closeness)  # one row is not two people


@pytest.mark.parametrize("mechanism", [EVERY[0], EVERY[2]], ids=["classes", "buckets"])
def test_columns_we_add_never_replace_an_attribute(mechanism: Any) -> None:
    table = read(SMALL, LINES)
    release = run(mechanism, gather(mechanism, table), Entropy.seeded(1))
    assert {"group", 'a "b"'} <= set(generalize(release, table).columns)
    answer = mapping(release)
    assert set(answer["group"]) == {"0", "1", "2", "3"}
    assert answer["rows_"].sum() == len(LINES)
    if release.form == "buckets":
        assert generalize(release, table)["group"].to_list() == [line["group"] for line in LINES]
        assert "group_" in answer.columns


def test_the_note_counts_only_rows_that_did_not_fit() -> None:
    """Rows without a value are left out for another reason than rows that no class can hold."""
    declared = {"kind": "numeric", "range": [0, 10], "missing": "suppress"}
    schema = {
        "name": "left",
        "rows_per_person": 1,
        "attribute": {
            "age": {"role": "quasi", **declared},
            "ill": {"role": "sensitive", "kind": "nominal", "values": ["p", "q"]},
        },
    }
    rows = [{"age": age, "ill": ill} for age in "12" for ill in "ppqq"] + [{"age": "9", "ill": "p"}]
    rows += [{"age": None, "ill": "p"}] * 2
    mechanism = mechanisms.Mondrian(claims.KAnonymity(2), max_suppressed="0.2")
    release = judge(read(schema, rows), mechanism, schema, rows, {"ill": None})
    assert release.left_out == 3
    assert [note for note in release.notes if note.startswith("1 row was left out")]
