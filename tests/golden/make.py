"""Golden files: what Sfumato wrote, printed and computed when they were made. `tests/surfaces/test_golden.py` compares.

    python tests/golden/make.py                      # write every case anew
    python tests/golden/make.py releases/mondrian    # write one case, or all whose name begins so
    python tests/golden/make.py --check              # write nothing; show what differs

A case is a folder of text files, made by one function below from a small table that is made here as well. Only what a
user can reach is called: `import sfumato as sf` and `python -m sfumato`, in this process. So the files survive any
change of the code's layout, and a difference means that a release, a format, a key or a number is another one.

Not compared: versions, dates and the hashes that contain them (`VOLATILE`), and wording. A sentence in JSON is replaced
by "..." (`PROSE` lists the keys), a paragraph of a page by the numbers and `code` in it. Only the cases `wording/...`
hold sentences, those of manifests and of `explain`: a new wording changes these alone. Numbers of JSON files may differ
by one part in 10^9, the last digits of a sum; manifests and texts must be equal byte for byte.

Write a case anew only when its change is meant, and read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import hashlib
import io
import json
import math
import re
import runpy
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.declare import example
from sfumato.mechanisms import REGISTRY

HERE = Path(__file__).resolve().parent
SEED = 3
Files = dict[str, str]  # of one case: name and text
CASES: dict[str, Callable[[], Files]] = {}

# Keys of JSON whose text, or whose texts below it, are sentences for people.
PROSE = frozenset(
    {
        "because",
        "caution",
        "choice",
        "choosing",
        "claim",
        "describes",
        "does",
        "expected_error",
        "exposed",
        "failed",
        "fingerprints",
        "formula",
        "hint",
        "lost",
        "membership",
        "message",
        "mind",
        "not measured",
        "note",
        "notes",
        "price",
        "problem",
        "promises",
        "public_inputs",
        "published",
        "reason",
        "reasons",
        "refusal",
        "rule",
        "schema",
        "rehearsal",
        "sentence",
        "silent_on",
        "standing",
        "stops",
        "text",
        "warnings",
        "without",
        "worst",
    }
)
# Keys whose value is a version, a day, a duration or the hash of a file with one: another on another day or machine.
VOLATILE = frozenset(
    (
        "$schema",
        "at",
        "created",
        "manifest",
        "polars",
        "python",
        "reserved_at",
        "saved_at",
        "set_at",
        "settled_at",
        "sfumato",
    )
)
A_VERSION = r"^\d+\.\d|^\d{4}-\d\d-\d\d|v\d+\.\d|^[0-9a-f]{64}$"
A_SENTENCE = 6  # words; a shorter cell or item of a page is a label or a value


def case(name: str) -> Callable[[Callable[[], Files]], Callable[[], Files]]:
    """Enter a function that makes the files of one case."""

    def entered(function: Callable[[], Files]) -> Callable[[], Files]:
        if name in CASES:
            raise ValueError(f"two cases are called {name}")
        CASES[name] = function
        return function

    return entered


# -- what is compared ------------------------------------------------------------------------


def masked(value: Any, key: str = "") -> Any:
    """Return JSON without sentences and without what changes by the day; keys, numbers and labels stay."""
    if isinstance(value, dict):
        return {name: masked(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, key) for item in value]
    if isinstance(value, str) and value and key in PROSE:
        return "..."
    if key in VOLATILE and (isinstance(value, float) or (isinstance(value, str) and re.search(A_VERSION, value))):
        return "(volatile)"
    return value


def as_json(value: Any) -> str:
    """Return masked JSON with sorted keys, one item to a line."""
    plain = json.loads(json.dumps(value, default=str))
    return json.dumps(masked(plain), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def sentences(value: Any, key: str = "") -> Iterator[str]:
    """Yield what `masked` takes away under the keys of PROSE, in its order."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from sentences(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from sentences(item, key)
    elif isinstance(value, str) and value and key in PROSE:
        yield value


def figures(text: str) -> str:
    """Return the `code` of a sentence and its words with a number or a parameter: 120, k-anonymity(4), cut=best."""
    kept = []
    for word in re.findall(r"`[^`]*`|[^\s`]+", text):
        if word.startswith("`"):
            kept.append(word if len(word.split()) < A_SENTENCE else f"`{figures(word.strip('`'))}`")
        elif re.search(r"\d|\w=\w", word):
            kept.append(word.strip(".,:;!?\"'") if "(" in word or ")" not in word else word.strip(".,:;)"))
    return " ".join(kept)


def brief(text: str) -> str:
    """Return a label as it is, of a sentence its figures."""
    words = text.split()
    return " ".join(words) if len(words) < A_SENTENCE else figures(text)


def markdown(text: str) -> str:
    """Return headings, rows of tables and commands of a Markdown page; of the rest numbers and `code`."""
    lines = []
    for line in text.splitlines():
        cells = line.strip().removeprefix("|").removesuffix("|")
        if line.startswith("|"):
            lines.append(" | ".join(brief(cell.replace("\\|", "¦")) for cell in re.split(r"(?<!\\)\|", cells)))
        elif line.startswith(("#", "    ")):
            lines.append(line)
        else:
            lines.append(figures(line) if len(line.split()) >= A_SENTENCE else line)
    return "\n".join(line for line in lines if line.strip()) + "\n"


class _Page(HTMLParser):
    """Blocks of a page in their order: tag and text; what scripts hold as data is kept apart."""

    BLOCKS = ("title", "h1", "h2", "h3", "h4", "p", "td", "th", "dt", "dd", "li", "pre", "summary", "figcaption", "b")

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.held: list[str] = []
        self._open: list[tuple[str, list[str]]] = []
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "style", "svg"):
            self._silent = "held" if given.get("type") == "application/json" else tag
            if self._silent == "held":
                self.held.append("")
        elif tag == "tr":
            self.lines.append("tr")
        elif tag in self.BLOCKS:
            self._open.append((tag, []))
        if "data-chart" in given:
            self.lines.append(f"chart {given['data-chart']} {given.get('data-release', '')}".rstrip())

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "svg"):
            self._silent = ""
        elif self._open and self._open[-1][0] == tag:
            _, parts = self._open.pop()
            if text := brief(" ".join(parts)):
                self.lines.append(f"{tag} {text}")

    def handle_data(self, data: str) -> None:
        if self._silent == "held":
            self.held[-1] += data
        elif not self._silent and self._open and data.strip():
            self._open[-1][1].append(" ".join(data.split()))


def page(path: Path) -> Files:
    """Return what a page shows: its text, normalised, and the data of its figures."""
    text = path.read_text("utf-8").replace(sf.__version__, "(version)")
    if path.suffix == ".json":
        return {path.name: as_json(json.loads(text))}
    if path.suffix == ".md":
        return {f"{path.name}.txt": markdown(text)}
    parser = _Page()
    parser.feed(text)
    found = {f"{path.name}.txt": "\n".join(parser.lines) + "\n"}
    for at, held in enumerate(parser.held, 1):
        found[f"{path.name}.figures-{at}.json"] = as_json(json.loads(held))
    return found


def folder(path: Path) -> Files:
    """Return the files of a saved release: tables as they are, the manifest byte for byte save what is masked."""
    found = {}
    for file in sorted(path.iterdir()):
        text = file.read_bytes().decode("utf-8")
        if file.name == "manifest.json":
            text = _manifest(text)
        elif file.suffix == ".md":
            found[f"{file.name}.txt"] = markdown(text)
            continue
        found[file.name] = text
    return found


def _manifest(text: str) -> str:
    """Replace sentences and versions in the text itself: indentation, order and every other byte stay."""
    data = json.loads(text)
    for said in {*sentences(data)}:
        text = text.replace(json.dumps(said, ensure_ascii=False), '"..."').replace(json.dumps(said), '"..."')
    for key in VOLATILE:
        text = re.sub(rf'("{key}": )"[^"]*"', r'\1"(volatile)"', text)
    return re.sub(r'("dictionary.md": \{\s*"sha256": )"[^"]*"', r'\1"(of wording)"', text)


# -- tables, schemas, releases -----------------------------------------------------------------

TABLE_HEAD = """
name = "members"
population = "members-2024"
source = "public"
rows_per_person = 1
rows = 100
[attribute.name]
role = "identifier"
[attribute.age]
role = "quasi"
kind = "numeric"
range = [20, 60]
step = 2
[attribute.town]
role = "quasi"
hierarchy = { North = ["a", "b"], South = ["c", "d", "e"] }
missing = ["?"]
[attribute.ill]
values = ["flu", "gout", "none", "pox"]
"""
SENSITIVE = TABLE_HEAD + 'role = "sensitive"\n'
TARGET = TABLE_HEAD + 'role = "target"\n'
VISITS = """
name = "visits"
person = "mrn"
rows_per_person = 2
source = "public"
[attribute.seen]
role = "quasi"
kind = "date"
range = ["2023-01-01", "2025-01-01"]
dates = ["month", "quarter", "year"]
[attribute.code]
role = "quasi"
mask = { length = 3, from = "right" }
values = ["101", "102", "110", "201", "211", "212"]
[attribute.cost]
role = "sensitive"
kind = "numeric"
range = [0, 100]
step = 25
[attribute.ward]
role = "target"
values = ["day", "night"]
"""


def _rows(seed: int, many: int) -> list[list[str]]:
    """Return people; `Random.random` is the same in every version of Python."""
    draw = Random(seed).random
    rows = [["name", "age", "town", "ill"]]
    for number in range(many):
        age, town = int(draw() * 40), int(draw() * 5.5)
        ill = (age // 10 + town) % 4 if draw() < 0.5 else int(draw() * 4)
        rows.append([f"person {number}", str(20 + age), "abcde?"[town], ("flu", "gout", "none", "pox")[ill]])
    return rows


def _visits(seed: int, many: int) -> list[list[str]]:
    draw = Random(seed).random
    rows = [["mrn", "seen", "code", "cost", "ward"]]
    for number in range(many):
        code = ("101", "102", "110", "201", "211", "212")[int(draw() * 6)]
        for _ in range(1 + int(draw() * 3)):
            day = f"{2023 + int(draw() * 2)}-{1 + int(draw() * 12):02d}-{1 + int(draw() * 28):02d}"
            rows.append([f"M{number:03d}", day, code, str(int(draw() * 100)), "day" if draw() < 0.6 else "night"])
    return rows


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def desk() -> Path:
    """Return a folder with the inputs, in which commands are run."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="golden-"))
    place = Path(_KEPT[0].name).resolve()
    tables = {"members": _rows(7, 120), "others": _rows(8, 80), "visits": _visits(9, 60)}
    for name, rows in tables.items():
        with (place / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    for name, text in {"members": SENSITIVE, "target": TARGET, "visits": VISITS}.items():
        (place / f"{name}.toml").write_text(text, "utf-8")
    flows = sf.datasets.commuting(60, 400, 1)
    flows.flows.write_csv(place / "flows.csv")
    flows.geography.write_csv(place / "blocks.csv")
    return place


@cache
def table(schema: str = "members", data: str = "") -> Any:
    """Return one of the tables, read with one of the schemas."""
    data = data or {"target": "members"}.get(schema, schema)
    return sf.read(desk() / f"{data}.csv", sf.Schema.load(desk() / f"{schema}.toml"))


@cache
def flows() -> tuple[Any, Any]:
    """Return the public geography and the flows."""
    geography = sf.commuting.Geography.read(desk() / "blocks.csv")
    return geography, sf.commuting.read_flows(desk() / "flows.csv", geography)


def _shaped(**shape: Any) -> Any:
    return sf.Synthesize("4.6", "1e-5", prior=sf.commuting.Shape(flows()[0], **shape))


# Name, schema, how it is made. A new mechanism adds a line; the part before the dot is its name in the registry.
MADE: dict[str, tuple[str, Callable[[], Any]]] = {
    "anatomy": ("members", lambda: sf.Anatomy(2)),
    "bucketize": ("members", lambda: sf.Bucketize(sf.LDiversity(2))),
    "bucketize.closeness": ("members", lambda: sf.Bucketize(sf.TCloseness("0.1"), cut="widest")),
    "diffgen": ("target", lambda: sf.DiffGen(4, specializations=4)),
    "diffgen.gini": (
        "target",
        lambda: sf.DiffGen(
            6, specializations=5, score="gini", scored="cells", prefix="1/10", selection="permute-and-flip"
        ),
    ),
    "diffgen.paper": ("target", lambda: sf.DiffGen(4, specializations=3, paper=True)),
    "diffgen.recommended": ("target", lambda: sf.DiffGen.recommended(2)),
    "dlink": ("members", lambda: sf.DLink(sf.Mondrian(sf.KAnonymity(4)), d=2, alpha="0.5")),
    "dlink.inside": ("members", lambda: sf.Mondrian(sf.KAnonymity(4) & sf.Linkability(2, alpha="0.5"))),
    "mondrian": ("members", lambda: sf.Mondrian(sf.KAnonymity(4) & sf.TCloseness("0.3"))),
    "mondrian.alpha": ("members", lambda: sf.Mondrian(sf.AlphaK("0.7", k=3) & sf.BetaLikeness(2))),
    "mondrian.emd": ("members", lambda: sf.Mondrian(sf.TCloseness("0.2", distance="emd"), nominal="nodes")),
    "mondrian.people": ("visits", lambda: sf.Mondrian(sf.KAnonymity(4))),
    "mondrian.semantic": ("members", lambda: sf.Mondrian(sf.SemanticPrivacy(2))),
    "mondrian.widest": ("members", lambda: sf.Mondrian(sf.KAnonymity(5), cut="widest")),
    "mondrian.tight": (
        "members",
        lambda: sf.Mondrian(
            sf.KAnonymity(3) & sf.LDiversity(2, kind="distinct"),
            nominal="nodes",
            tight=True,
            max_suppressed="0.05",
        ),
    ),
    "noisy-table": ("members", lambda: sf.NoisyTable(8)),
    "noisy-table.cuts": (
        "members",
        lambda: sf.NoisyTable("1/2", cuts={"age": ["[20-40)", "[40-60)"], "town": ["*"]}, threshold=1),
    ),
    "raw": ("members", sf.Raw),
    "suppress": ("members", sf.Suppress),
    "synthesize": ("commuting", _shaped),
    "synthesize.shaped": (
        "commuting",
        lambda: _shaped(by="tract", bands=(2.0, 5.0), weights=(4, 2, 1), keep="0.5", coarsen="tract"),
    ),
    "topdown": ("target", lambda: sf.TopDown(4)),
}
for _name in sorted(set(REGISTRY) - {name.split(".")[0] for name in MADE} - set(REGISTRY.third_party)):
    MADE[_name] = ("members", lambda kind=REGISTRY[_name]: example(kind))  # a new one, as its fields give it
NEVER_SAVED = ("raw",)
PAGES = [name for name, (schema, _) in MADE.items() if schema in ("members", "target") and name not in NEVER_SAVED]


@cache
def released(name: str) -> Any:
    """Return the rehearsal of one setting."""
    schema, make = MADE[name]
    source = flows()[1].table if schema == "commuting" else table(schema)
    return sf.publish(source, make(), seed=SEED, allow_noise=True)


@cache
def saved(name: str) -> Path:
    """Return the folder of one setting, written as CSV."""
    place = desk() / f"release-{name}"
    released(name).save(
        place, format="csv", allow_rehearsal=True, allow_fingerprints=True, counts=name == "noisy-table.cuts"
    )
    return place


def _release_case(name: str) -> None:
    @case(f"releases/{name}")
    def made() -> Files:
        release = released(name)
        mechanism = MADE[name][1]()
        facts = {
            "mechanism": mechanism.to_json(),
            "claim": release.claim.to_json(),
            "plan": sf.plan(release.schema, mechanism, forecast=False).to_json(),
            "summary": release.summary().to_json(),
            "promise": str(release.claim.promise),
            "fingerprints": release.fingerprints().to_json(),
        }
        if name in NEVER_SAVED:
            return {"facts.json": as_json(facts)} | {
                f"{part}.csv": frame.write_csv() for part, frame in release.frames().items()
            }
        facts["verdict"] = sf.verify(saved(name)).to_json()
        again = sf.Release.load(saved(name))
        facts["loaded"] = {part: [frame.height, frame.columns] for part, frame in again.frames().items()}
        return folder(saved(name)) | {"facts.json": as_json(facts)}


for _name in MADE:
    _release_case(_name)


@case("releases/parquet")
def _parquet() -> Files:
    """Columns and types of Parquet files; the bytes are those of the library that writes them."""
    found = {}
    for name in ("mondrian", "bucketize", "noisy-table.cuts"):
        place = desk() / f"parquet-{name}"
        released(name).save(place, allow_rehearsal=True, allow_fingerprints=True, counts=name == "noisy-table.cuts")
        for file in sorted(place.glob("*.parquet")):
            table_schema = pl.read_parquet_schema(file)
            types = {column: str(kind) for column, kind in table_schema.items()}
            found[f"{name}.{file.stem}.json"] = as_json(types)
            found[f"{name}.{file.stem}.csv"] = pl.read_parquet(file).write_csv()
    return found


# -- requirements, measures, attacks -----------------------------------------------------------


@case("requirements")
def _requirements() -> Files:
    both = sf.KAnonymity(4) & sf.LDiversity(2) & sf.TCloseness("1/8")
    promises = [
        sf.KAnonymity(5),
        sf.AlphaK("1/2", k=3),
        sf.LDiversity(3),
        sf.LDiversity(3, kind="distinct"),
        sf.LDiversity("2.5", kind="entropy"),
        sf.LDiversity(3, kind="recursive", c=2),
        sf.TCloseness("0.15"),
        sf.TCloseness("0.15", distance="emd"),
        sf.SemanticPrivacy("1.5"),
        sf.SemanticPrivacy(1, sides="one", absent="ignore"),
        sf.BetaLikeness("3/2"),
        both,
        sf.Linkability(4, alpha="0.8"),
        sf.Linkability(3, alpha="0.5", organisations=3, others=(100, 200), probability="product"),
        sf.Linkable(4, alpha="0.8", other_rows=100, base=both),
        sf.PureDP("7/3"),
        sf.ApproxDP(1, delta="1e-6"),
        sf.ProbabilisticDP("1/2", delta="1/1000"),
        sf.ConcentratedDP("1/100", epsilon="7/10", delta="1e-6"),
    ]
    stated = [{"kind": type(one).__name__, "json": one.to_json(), "shown": str(one)} for one in promises]
    claims = [
        sf.Claim(both),
        sf.Claim(sf.PureDP(1), neighbours=sf.Neighbours.ADD_OR_REMOVE_ONE),
        sf.Claim(sf.ApproxDP(1, delta="1e-6"), neighbours=sf.Neighbours.REPLACE_ONE),
    ]
    return {
        "promises.json": as_json(stated),
        "claims.json": as_json([claim.to_json() for claim in claims]),
        "neighbours.json": as_json([relation.value for relation in sf.Neighbours]),
    }


def _measures_case(name: str) -> None:
    @case(f"measures/{name}")
    def made() -> Files:
        source = table(MADE[name][0])
        return {
            "measures.json": as_json({key: one.to_json() for key, one in sf.measure(source, released(name)).items()})
        }


for _name in (
    "bucketize",
    "diffgen",
    "dlink",
    "mondrian",
    "mondrian.people",
    "noisy-table",
    "raw",
    "suppress",
    "topdown",
):
    _measures_case(_name)


@case("measures/in-detail")
def _in_detail() -> Files:
    source, release = table(), released("mondrian")
    asked = sf.workload(source, dimension=2, queries=40, seed=SEED)
    ranges = sf.workload(source, dimension=2, queries=40, kind="range", seed=SEED)
    found = {
        "privacy_loss": sf.privacy_loss(source, release).to_json(),
        "utility_loss": sf.utility_loss(source, release).to_json(),
        "query_error": sf.query_error(source, release, asked).to_json(),
        "unchanged_answers": sf.unchanged_answers(source, release, ranges).to_json(),
        "workload": asked.to_json(),
    }
    return {f"{name}.json": as_json(data) for name, data in found.items()}


@case("measures/classification")
def _classification() -> Files:
    train, test = table("target"), table("target", "others")
    found = {name: sf.classification(train, test, released(name)) for name in ("topdown", "diffgen")}
    found["bayes"] = sf.classification(train, test, released("topdown"), model="bayes")
    found["cross"] = sf.cross_validate(train, sf.TopDown(4), folds=2, repeats=1, seed=SEED)
    return {f"{name}.json": as_json(one.to_json()) for name, one in found.items()}


@dataclass(init=False)
class _Spy:
    """A mechanism that keeps the counts it was given: what an audit of the mechanism itself needs."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism, self.seen = mechanism, None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)

    def apply(self, counts: Any, entropy: Any) -> Any:
        self.seen = counts
        return self.mechanism.apply(counts, entropy)


def _audited(mechanism: Any) -> dict[str, Any]:
    seen = []
    for rows in (range(4), range(5)):
        spy = _Spy(mechanism)
        sf.publish(table("target").take(list(rows)), spy, seed=SEED, allow_noise=True)
        seen.append(spy.seen)
    audit = sf.attacks.exact_audit(mechanism, *seen)
    return {
        "loss": float(audit.loss),
        "epsilon": str(audit.epsilon),
        "structures": audit.structures,
        "holds": audit.holds,
    }


@case("attacks")
def _attacks() -> Files:
    source = table()
    drawn = sf.attacks.draw_samples(source, size=40, overlap=30, seed=SEED)
    first, second = (
        sf.publish(sample, mechanism)
        for sample, mechanism in zip(
            drawn.tables, (sf.Mondrian(sf.KAnonymity(4)), sf.Mondrian(sf.LDiversity(2), cut="widest")), strict=True
        )
    )
    found = {
        "against": sf.attacks.against(second, first, drawn.tables[1], 2),
        "calibration": sf.attacks.calibrate(source, MADE["dlink"][1](), repeats=2, victims=50, seed=SEED),
        "black-box": sf.attacks.black_box_audit(lambda at: at % 3 == 0, lambda at: at % 5 == 0, runs=400),
        "share": sf.attacks.Share(7, trials=40),
    }
    for prior in ("local", "overall", "uniform"):
        found[f"composition-{prior}"] = sf.attacks.composition(
            [first, second], drawn.shared, d=2, control=drawn.only[0], prior=prior
        )
    stated = {f"{name}.json": as_json(value.to_json()) for name, value in found.items()}
    rows = sf.attacks.overlap_experiment(
        source, {"k": sf.Mondrian(sf.KAnonymity(4))}, size=40, overlap=[10, 20], d=2, queries=20, controls=20, seed=SEED
    )
    stated["overlap.json"] = as_json([row.to_json() for row in rows])
    audits = [_audited(sf.NoisyTable("7/3")), _audited(sf.DiffGen(1, specializations=1))]
    return stated | {"exact-audit.json": as_json(audits)}


# -- frontiers and pages -----------------------------------------------------------------------


@cache
def front(schema: str) -> Any:
    """Return the frontier of every setting of one schema."""
    points = [make() for name, (known, make) in MADE.items() if known == schema]
    return sf.frontier(table(schema), points, workers=0, repeats=2, seed=SEED, progress=False)


def _frontier_case(schema: str) -> None:
    @case(f"frontier/{schema}")
    def made() -> Files:
        found = front(schema)
        most = 1.1 * min(point.privacy.mean for point in found.efficient_without_buckets)
        free = sf.Policy({"k": 1})
        stated = {
            "knee": found.recommend().to_json(),
            "privacy": found.recommend(free, privacy_loss=most).to_json(),
            "utility": found.recommend(utility_loss=0.5).to_json(),
            "membership": found.recommend(membership_public=True).to_json(),
        }
        labels = [[point.number, point.label, point.mechanism.to_json()] for point in found.points]
        return {
            "frontier.json": as_json(found.to_json()),
            "labels.json": as_json(labels),
            "recommended.json": as_json(stated),
        }

    @case(f"pages/steward-{schema}")
    def shown() -> Files:
        return _pages(schema, "steward")


def _pages(schema: str, name: str, **options: Any) -> Files:
    found: Files = {}
    for ending in ("html", "md", "json"):
        place = desk() / f"pages-{name}"
        place.mkdir(exist_ok=True)
        found |= page(Path(sf.report(front(schema), place / f"page.{ending}", **options)))
    return found


def _page_case(name: str) -> None:
    @case(f"pages/{name}")
    def made() -> Files:
        allowed = {"allow_rehearsal": True, "allow_fingerprints": True}
        return _pages(MADE[name][0], name, audience="public", release=released(name), **allowed)


for _name in ("members", "target"):
    _frontier_case(_name)
for _name in PAGES:
    _page_case(_name)


# -- the command -------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    """Run `python -m sfumato` in this process, in the folder of the inputs; return its exit code and output."""
    out, before, code = io.StringIO(), sys.argv, 0
    sys.argv = ["sfumato", *arguments]
    try:
        with contextlib.chdir(desk()), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_module("sfumato", run_name="__main__")
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    return code, out.getvalue()


def answer(command: str) -> dict[str, Any]:
    """Run a command with --json; return its exit code beside what it printed."""
    code, text = run(*command.split(), "--json")
    return {"command": command, "exit": code, "printed": json.loads(text)}


def _answers(*calls: str) -> Files:
    return {f"{at}.json": as_json(answer(call)) for at, call in enumerate(calls, 1)}


def _commands(name: str, *calls: str) -> None:
    @case(f"commands/{name}")
    def made() -> Files:
        for needed in re.findall(r"release-([\w.-]+)", " ".join(calls)):
            saved(needed)
        return _answers(*calls)


SEEDED = f"--format csv --seed {SEED} --allow-rehearsal --allow-fingerprints"
METHODS = {
    "anatomy": "members.toml --l 2",
    "bucketize": "members.toml --l 2 --l-kind distinct --t 0.3",
    "diffgen": "target.toml --epsilon 4 --specializations 3 --score gain --threshold 2 --allow-noise --counts",
    "dlink": "members.toml --k 4 --d 2 --alpha 0.5 --probability product",
    "mondrian": "members.toml --k 4 --l 3 --l-kind recursive --c 2 --max-suppressed 0.1",
    "noisy-table": "members.toml --epsilon 2 --cut age=[20-40);[40-60) --cut town=North;South;(missing)",
    "suppress": "members.toml",
    "topdown": "target.toml --k 4",
}


def _publish_case(method: str, flags: str) -> None:
    @case(f"commands/publish-{method}")
    def made() -> Files:
        asked = f"publish {method} members.csv {flags}"
        stated = answer(f"{asked} {SEEDED} -o out-{method}")
        written = desk() / f"out-{method}"
        manifest = json.loads((written / "manifest.json").read_text("utf-8"))
        kept = {
            key: manifest[key] for key in ("mechanism", "claim", "form", "suppressed", "left_out") if key in manifest
        }
        hashes = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(written.iterdir())
            if file.suffix == ".csv"
        }
        return {
            "published.json": as_json(stated),
            "manifest.json": as_json(kept),
            "tables.json": as_json(hashes),
            "plan.json": as_json(answer(f"{asked} --dry-run")),
        }


for _name, _flags in METHODS.items():
    _publish_case(_name, _flags)

_commands("check", "check members.csv members.toml", "check visits.csv visits.toml", "check others.csv visits.toml")
_commands(
    "verify",
    *(f"verify release-{name}" for name in MADE if name not in NEVER_SAVED),
    "verify release-mondrian/data.csv --schema members.toml --k 4 --l 2",
    "verify members.csv --schema members.toml --k 4 --t 0.2 --distance emd",
)
_commands(
    "measure",
    "measure members.csv members.toml release-mondrian",
    "measure members.csv members.toml release-bucketize --measure privacy_loss --measure utility_loss",
    "measure members.csv members.toml release-mondrian/data.csv --measure query_error",
)


@case("commands/attack")
def _attack() -> Files:
    for name in ("mondrian", "mondrian.tight", "mondrian.emd"):
        saved(name)
    victims = "--victims members.csv"
    ours = f"attack composition release-mondrian release-mondrian.tight {victims} --control others.csv"
    anyones = f"attack composition release-mondrian/data.csv release-mondrian.emd {victims} --schema members.toml"
    stated = _answers(
        f"{ours} --schema members.toml --d 3 --records records.csv", f"{anyones} --attribute ill --prior overall"
    )
    return stated | {"records.csv": (desk() / "records.csv").read_text("utf-8")}


_commands(
    "refusals",
    "publish mondrian members.csv members.toml --k 0 -o no",
    "publish mondrian members.csv members.toml --k 5000 -o no",
    "publish mondrian members.csv members.toml --k 1 -o no",
    "publish mondrian members.csv target.toml --l 2 -o no",
    "publish topdown members.csv members.toml --k 4 --refuse -o no",
    f"publish noisy-table members.csv members.toml --epsilon 1/20 --seed {SEED} -o no",
    "publish suppress missing.csv members.toml -o no",
    "verify nowhere",
    "finish nowhere",
    "explain nothing-of-the-kind",
)


@case("commands/draft")
def _draft() -> Files:
    found = {}
    for name in ("members", "visits"):
        found[f"{name}.json"] = as_json(answer(f"draft {name}.csv"))
        run("draft", f"{name}.csv", "-o", f"draft-{name}.toml")
        found[f"{name}.toml"] = _toml((desk() / f"draft-{name}.toml").read_text("utf-8"))
    return found


def _toml(text: str) -> str:
    """Return a drafted schema without its remarks; a question for a person becomes "..."."""
    lines = []
    for line in text.splitlines():
        kept = line if line.startswith("decide") else re.split(r"(?:^|\s)#", line)[0].rstrip()
        if kept:
            lines.append(re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: brief_text(text[0]), kept))
    return "\n".join(lines) + "\n"


def brief_text(text: str) -> str:
    """Return a TOML string as it is, or "..." for a sentence."""
    return text if len(text.split()) < A_SENTENCE else '"..."'


@case("commands/frontier")
def _frontier_command() -> Files:
    asked = "frontier members.csv {} --repeats 1 --workers 0 --keep kept --preset {}"
    stated = {
        "buckets": asked.format("members.toml", "tradeoff-buckets"),  # nothing that may be recommended
        "membership": asked.format("members.toml", "tradeoff-buckets --membership-public --privacy-loss 0.2"),
        "diffgen": asked.format("target.toml", "diffgen -o front.md --public public.md"),
    }
    found = {f"{name}.json": as_json(answer(call)) for name, call in stated.items()}
    return found | page(desk() / "front.md") | page(desk() / "public.md")


@case("commands/explain")
def _explain() -> Files:
    return {"names.json": as_json(explained())}


def explained() -> list[str]:
    """Return every name that `sfumato explain` lists: requirements, guarantees, mechanisms, measures and attacks."""
    listed = answer("explain")["printed"]["text"].splitlines()
    return [line.split()[0] for line in listed if line.startswith("  ")]


@case("commands/synthesize")
def _synthesize() -> Files:
    given = "synthesize flows.csv --geography blocks.csv --epsilon 4.6 --delta 1e-5"
    asked = f"{given} --by tract --bands 2,5 --weights 4,2,1 --format csv --seed {SEED} --allow-rehearsal -o out-flows"
    stated = {"published.json": as_json(answer(f"{asked} --map map.html"))}
    stated["plan.json"] = as_json(answer(f"{given} --keep 0.2 --dry-run"))
    stated["person.json"] = as_json(answer(f"{given} --unit person --cap 2 --dry-run"))
    return stated | folder(desk() / "out-flows") | page(desk() / "map.html")


@case("commands/apply")
def _apply() -> Files:
    saved("topdown")
    stated = answer("apply release-topdown others.csv -o applied.csv --schema target.toml")
    return {"1.json": as_json(stated), "applied.csv": (desk() / "applied.csv").read_text("utf-8")}


@case("commands/mapping-and-against")
def _mapping() -> Files:
    saved("mondrian.tight")
    asked = "publish mondrian members.csv members.toml --k 6 --mapping mapping.csv --against release-mondrian.tight"
    stated = answer(f"{asked} --d 2 --allow-repeated {SEEDED} -o out-mapping")
    return {"1.json": as_json(stated), "mapping.csv": (desk() / "mapping.csv").read_text("utf-8")}


@case("commands/ledger")
def _ledger() -> Files:
    """Two releases and a limit: what the command lists, and every row of the file."""
    found = {"limit.json": as_json(answer("ledger book.db --population members-2024 --set-limit 3"))}
    for at, asked in enumerate(
        (
            "publish noisy-table members.csv members.toml --epsilon 2 --allow-noise",
            "publish mondrian members.csv members.toml --k 4",
            "publish diffgen members.csv target.toml --epsilon 2 --allow-noise",
        ),
        1,
    ):
        stated = answer(f"{asked} {SEEDED} --ledger book.db -o out-book-{at}")
        found[f"published-{at}.json"] = as_json(stated)
    found["listed.json"] = as_json(answer("ledger book.db"))
    with contextlib.closing(sqlite3.connect(desk() / "book.db")) as book:
        book.row_factory = sqlite3.Row
        names = [row[0] for row in book.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        rows = {name: [dict(row) for row in book.execute(f"SELECT * FROM {name}")] for name in names}
        found["format.json"] = as_json(book.execute("PRAGMA user_version").fetchone()[0])
    for row in rows.pop("seal", []):  # a hash over dates
        rows.setdefault("seal", []).append({"what": row["what"]})
    for row in rows["entry"]:
        row["mechanism"], row["promise"] = json.loads(row["mechanism"]), json.loads(row["promise"])
    return found | {"rows.json": as_json(rows)}


# -- wording -----------------------------------------------------------------------------------


@case("wording/manifests")
def _wording() -> Files:
    found = {}
    for name in MADE:
        if name not in NEVER_SAVED:
            manifest = json.loads((saved(name) / "manifest.json").read_text("utf-8"))
            found[f"{name}.txt"] = "\n".join(dict.fromkeys(sentences(manifest))) + "\n"
    return found


@case("wording/explain")
def _explained() -> Files:
    return {f"{name}.txt": answer(f"explain {name}")["printed"]["text"] + "\n" for name in explained()}


# -- compare, write ----------------------------------------------------------------------------


def stored(name: str) -> Files:
    """Return the files of a case as they are stored."""
    place = HERE / name
    return {path.name: path.read_bytes().decode("utf-8") for path in sorted(place.glob("*")) if path.is_file()}


def difference(name: str, made: Files | None = None) -> str:
    """Return how a case differs from what is stored, as a unified diff; empty when it does not."""
    made, before, parts = CASES[name]() if made is None else made, stored(name), []
    for file in sorted({*made, *before}):
        old, new = before.get(file), made.get(file)
        if old is not None and new is not None and file.endswith(".json") and file != "manifest.json":
            new = _snapped(old, new)
        if old != new:
            lines = difflib.unified_diff(
                (old or "").splitlines(keepends=True),
                (new or "").splitlines(keepends=True),
                f"stored/{name}/{file}" if old is not None else "(not stored)",
                f"now/{name}/{file}" if new is not None else "(not made)",
            )
            parts.append("".join(line if line.endswith("\n") else f"{line}\n" for line in lines))
    return "".join(parts)


def _snapped(old: str, new: str) -> str:
    """Return the new text with the old one's numbers where the two differ in the last digits only."""
    try:
        was, now = json.loads(old), json.loads(new)
    except ValueError:
        return new
    return old if old != new and _close(was, now) else new


def _close(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return list(old) == list(new) and all(_close(old[key], new[key]) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_close, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-9, abs_tol=1e-12)
    return type(old) is type(new) and old == new


def write(name: str) -> int:
    """Write a case anew; return how many bytes it takes."""
    made, place = CASES[name](), HERE / name
    place.mkdir(parents=True, exist_ok=True)
    for path in place.glob("*"):
        if path.is_file() and path.name not in made:
            path.unlink()
    for file, text in made.items():
        (place / file).write_bytes(text.encode("utf-8"))
    return sum(len(text.encode("utf-8")) for text in made.values())


def main(arguments: list[str]) -> int:
    """Write the cases whose name begins with an argument, or all of them; with --check only compare."""
    wanted = [word for word in arguments if not word.startswith("-")]
    names = [name for name in CASES if not wanted or any(name.startswith(word) for word in wanted)]
    changed = 0
    for name in names:
        if "--check" in arguments:
            found = difference(name)
            sys.stdout.write(found)
            changed += bool(found)
        else:
            sys.stdout.write(f"{name}: {write(name)} bytes\n")
    return int(changed > 0)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
