"""Attacks on the differentially private claims by a second pair of eyes: each failed, or found what is fixed now."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from tests.claims.tiny_tables import gathered, paper_table, tiny_schema

import sfumato as sf
from sfumato.attacks.audit import Walk, exact_audit
from sfumato.ledger import Ledger
from sfumato.mechanisms.diffgen import growth as diffgen_growth
from sfumato.mechanisms.diffgen.growth import CellTables, Drawn

# Two grids and a taxonomy, all of which may be missing: the last code.
HOLES = sf.Schema.parse(
    {
        "name": "holes",
        "source": "public",
        "attribute": {
            "a": {"role": "quasi", "kind": "numeric", "range": [0, 2], "step": 1, "missing": ["?"]},
            "b": {"role": "quasi", "kind": "numeric", "range": [0, 3], "step": 1, "missing": ["?"]},
            "c": {"role": "quasi", "kind": "nominal", "hierarchy": {"U": ["p", "q"], "V": ["r"]}, "missing": ["?"]},
            "y": {"role": "target", "kind": "nominal", "values": ["j", "k"]},
        },
    }
)
SIZES = (3, 4, 4, 2)
# Who has no `a` is of class j; whose `a` is known, and whose `b` is 0, of class k. The new row has a = b = 0, class j:
# splitting the known values of `a` gains what splitting `b` loses.
ROWS, NEW = [(2, 1, 0, 0)] * 18 + [(1, 0, 0, 1)] * 6, (0, 0, 0, 0)

IN_CELLS = {
    "max": {"splits": "together"},
    "gini": {"splits": "together", "score": "gini"},
    "weighted": {"splits": "together", "first": "gini"},
    "recommended": {
        "splits": "together",
        "first": "gini",
        "selection": "permute-and-flip",
        "ratio": "3/2",
        "penalty": "1/10",
    },
    "ahead": {"score": "gini"},
    "flip": {"selection": "permute-and-flip"},
}


def in_cells(kind, epsilon=2, h=1):
    return sf.DiffGen(epsilon, specializations=h, scored="cells", structure="19/20", threshold=1, **IN_CELLS[kind])


def random_rows(rng):
    kinds = [tuple(rng.randrange(size) for size in SIZES) for _ in range(rng.randrange(1, 5))]
    return [row for row in kinds for _ in range(rng.choice([1, 1, 3, 6]))], tuple(rng.randrange(s) for s in SIZES)


def forget_missing_parts(patch):
    """The bug that was found: missing values were a part of the cut, but had no cells of their own."""
    divide = CellTables.specialize

    def specialize(self, at, node, children):
        if not any(child.closed for child in children):
            divide(self, at, node, children)

    patch.setattr(CellTables, "specialize", specialize)


# -- data that sneaks in -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", IN_CELLS)
def test_missing_values_cost_nothing_more_in_cells(kind):
    mechanism, rng = in_cells(kind), random.Random(7)
    for rows, new in [(ROWS, NEW), *(random_rows(rng) for _ in range(5))]:
        found = exact_audit(mechanism, gathered(mechanism, HOLES, rows), gathered(mechanism, HOLES, [*rows, new]))
        assert found.holds, (rows, new, found.describe())


@pytest.mark.parametrize("kind", ["max", "gini", "weighted", "recommended"])
def test_missing_values_without_cells_are_caught(kind, monkeypatch):
    forget_missing_parts(monkeypatch)
    mechanism = in_cells(kind)
    found = exact_audit(mechanism, gathered(mechanism, HOLES, ROWS), gathered(mechanism, HOLES, [*ROWS, NEW]))
    assert found.loss > 3  # of 2 allowed


class Spy(Walk):
    """Takes random choices and keeps what each was made by."""

    def __init__(self, rng):
        super().__init__()
        self.rng, self.seen = rng, []

    def choose(self, scores, *, epsilon, score, weights=None):
        at = self.rng.randrange(len(scores))
        self.seen.append((epsilon, score, [int(s) for s in scores], at, weights))
        return at

    def flip(self, scores, *, epsilon, score):
        return self.choose(scores, epsilon=epsilon, score=score)


def table_sum(name, rows, parts):
    """By the definition, with fractions: a sum over the cells of a table of (lists of codes by attribute)."""
    place = [{code: at for at, part in enumerate(codes) for code in part} for codes in parts]
    cells = {}
    for *codes, label in rows:
        cell = tuple(where[code] for where, code in zip(place, codes, strict=True))
        cells.setdefault(cell, Counter())[label] += 1
    if name == "max":
        return sum(max(counts.values()) for counts in cells.values())
    return sum(
        math.floor(Fraction(sum(n * n for n in counts.values()), counts.total()) * 2**20) for counts in cells.values()
    )


def ways(parts):
    """Every table that one specialization gives; written anew, for HOLES alone."""
    for at, attribute in enumerate(parts):
        for part in attribute:
            if at == 2:
                tree = {(0, 1, 2, 3): ((0, 1), (2,), (3,)), (0, 1): ((0,), (1,))}
                options = [tree[part]] if part in tree else []
            else:
                options = [(part[:i], part[i:]) for i in range(1, len(part))]
            for children in options:
                refined = tuple(sorted([p for p in attribute if p != part] + list(children)))
                yield (*parts[:at], refined, *parts[at + 1 :])


@pytest.mark.parametrize("name", ["max", "gini"])
def test_scores_in_cells_by_the_definition(name):
    """Up to what all candidates share, a score is the sum over the refined table, missing values being parts."""
    rng = random.Random(3)
    for _ in range(12):
        rows = [tuple(rng.randrange(size) for size in SIZES) for _ in range(rng.randrange(25))]
        mechanism = in_cells({"max": "max", "gini": "gini"}[name], h=3)
        spy = Spy(rng)
        mechanism.decide(gathered(mechanism, HOLES, rows), spy)
        parts = (((0, 1), (2,)), ((0, 1, 2), (3,)), ((0, 1, 2, 3),))
        assert len(spy.seen) == 3
        for _, score, scores, at, _ in spy.seen:
            tables = list(ways(parts))
            truth = [table_sum(name, rows, table) for table in tables]
            assert [s - scores[0] for s in scores] == [t - truth[0] for t in truth]
            assert (score.sensitivity, score.monotone) == ((1, True) if name == "max" else (2**20, False))
            parts = tables[at]


KINDS = {
    "weighted": {"scored": "cells", "splits": "together", "first": "gini", "structure": "7/10"},
    "recommended": {"scored": "cells", "structure": "7/10", **IN_CELLS["recommended"]},
    "prefix": {"splits": "together", "score": "gini", "prefix": "1/4", "structure": "1/4"},
    "paper": {"paper": True},
    "infogain": {"score": "infogain"},
    "leaves": {"specializations": "leaves"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("person", [1, 3])
def test_the_amounts_given_to_draws_add_up(kind, person, monkeypatch):
    """By what the samplers were handed, not by the trace: for a person, epsilon."""
    handed = []
    real = sf.mechanisms.noisy_cells.sparse_noise

    def noise(cells, occupied, epsilon, threshold, entropy):
        handed.append(epsilon)
        return real(cells, occupied, epsilon, threshold, entropy)

    monkeypatch.setattr(sf.mechanisms.noisy_cells, "sparse_noise", noise)
    mechanism = sf.DiffGen("7/3", **{"specializations": 4, **KINDS[kind]})
    spy = Spy(random.Random(1))
    monkeypatch.setattr("sfumato.mechanisms.diffgen.diffgen.Drawn", lambda _: spy)
    schema = tiny_schema(rows_per_person=person)
    release = mechanism.apply(gathered(mechanism, schema, [(0, 0, 0, 0), (3, 2, 1, 1)]), sf.Entropy.system())
    total = sum(epsilon for epsilon, *_ in spy.seen) + sum(handed)
    trace = dict(release.claim.trace)
    assert len(handed) == 1
    assert handed[0] * person == trace["counts"]
    assert sum(trace.values()) == Fraction(7, 3)
    if kind in ("weighted", "recommended", "prefix", "leaves"):  # every draw is a step of its own
        assert total * person == Fraction(7, 3)
    if kind == "recommended":
        parts = [Fraction(7, 3) * Fraction(7, 10) * part / 65 for part in (8, 12, 18, 27)]  # each 3/2 of the last
        assert [epsilon * person for epsilon, *_ in spy.seen] == parts
    if kind == "weighted":
        assert [epsilon * person for epsilon, *_ in spy.seen] == [Fraction(7, 3) * Fraction(7, 40)] * 4
        assert all(len(weights) == len(scores) for _, _, scores, _, weights in spy.seen)
    if kind in ("paper", "infogain"):  # two halves of an interval share no row: no more than twice the later splits
        again = trace.get("later splits", Fraction(0)) + trace.get("unspent", Fraction(0))
        assert total * person <= Fraction(7, 3) + again


@pytest.mark.parametrize("kind", KINDS)
def test_order_of_rows_and_no_rows_change_nothing_but_counts(kind):
    """The same words give the same release for every order of rows; no table, be it empty, is refused."""
    mechanism, rng = sf.DiffGen(1, **{"specializations": 2, **KINDS[kind]}), random.Random(2)
    rows = [tuple(rng.randrange(size) for size in SIZES) for _ in range(30)]
    frames = []
    for _ in range(3):
        rng.shuffle(rows)
        frames.append(mechanism.apply(gathered(mechanism, HOLES, rows), sf.Entropy.seeded(5)).frame())
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    for few in ([], [(2, 3, 3, 1)]):
        made = mechanism.apply(gathered(mechanism, HOLES, few), sf.Entropy.system())
        assert made.left_out is None
        assert made.residence is None
        assert [len(codes) for codes in made.recoding.labels] == [3, 4, 4]  # every code, whether or not it occurs


def test_a_guessed_reading_is_refused(tmp_path):
    """One row that is not UTF-8 changes how all are read: where the encoding is named, it is one row again.

    The same holds of a delimiter or header that rows decide; a first line that names the columns decides both.
    """
    schema = sf.Schema.parse(
        {
            "name": "towns",
            "source": "public",
            "attribute": {
                "town": {"role": "quasi", "kind": "nominal", "values": ["Orléans", "Other"], "other": "Other"},
                "y": {"role": "target", "kind": "nominal", "values": ["j", "k"]},
            },
        }
    )
    text = b"town,y\n" + "Orléans,j\n".encode() * 50
    (tmp_path / "x.csv").write_bytes(text)
    (tmp_path / "y.csv").write_bytes(text + "Besançon,j\n".encode("latin-1"))

    def moved(**options):
        one, two = (sf.read(tmp_path / f"{name}.csv", schema, **options).counts(("town", "y")) for name in "xy")
        a, b = (
            Counter({tuple(r): int(w) for r, w in zip(c.codes.tolist(), c.weights, strict=True)}) for c in (one, two)
        )
        return ((a - b) + (b - a)).total()

    assert moved() > 1
    assert moved(encoding="latin-1") == 1
    (tmp_path / "z.csv").write_bytes(text.partition(b"\n")[2].replace(b",", b";"))
    names = {"header": ("town", "y")}
    for mechanism in (sf.DiffGen(1, specializations=1), sf.NoisyTable(1)):
        assert any("encoding" in answer for answer in mechanism.claim(schema).public_inputs)
        sf.publish(sf.read(tmp_path / "x.csv", schema), mechanism)
        sf.publish(sf.read(tmp_path / "y.csv", schema, encoding="latin-1"), mechanism)
        sf.publish(sf.read(tmp_path / "z.csv", schema, delimiter=";", **names), mechanism)
        book = Ledger(tmp_path / f"{type(mechanism).__name__}.db")
        for table, guessed in (
            (sf.read(tmp_path / "y.csv", schema), r"encoding was guessed .*--encoding"),
            (sf.read(tmp_path / "z.csv", schema, **names), r"delimiter was guessed .*--delimiter"),
        ):
            for part in (table, table.take(np.arange(table.rows)), pickle.loads(pickle.dumps(table))):
                with pytest.raises(sf.ReadError, match=guessed):
                    sf.publish(part, mechanism, ledger=book)
        assert not (tmp_path / f"{type(mechanism).__name__}.db").exists()  # nothing was reserved
    sf.publish(
        sf.read(tmp_path / "y.csv", schema).with_roles(quasi="town", sensitive="y", target=()),
        sf.Suppress(),
    )


def test_of_several_files_the_one_that_was_guessed_is_named(tmp_path):
    """The refusal named the first file of a glob, whichever file's encoding was guessed."""
    town = {"role": "target", "values": ["Ulm", "Köln"]}
    schema = sf.Schema.parse({"name": "t", "source": "public", "attribute": {"town": town}})
    for name, encoding in (("a.csv", "utf-8"), ("b.csv", "latin-1"), ("c.csv", "utf-8")):
        (tmp_path / name).write_text("town\nUlm\nKöln\n", encoding)
    table = sf.read(tmp_path / "*.csv", schema)
    for part in (table, table.take(np.arange(table.rows))):
        with pytest.raises(sf.ReadError, match=r"^b\.csv: its encoding was guessed"):
            sf.publish(part, sf.NoisyTable(1), allow_noise=True)


def test_the_first_line_settles_delimiter_and_header(tmp_path):
    """Whatever the rows below it look like, so that no row can change how others are read."""
    schema = sf.Schema.parse(
        {
            "name": "t",
            "source": "public",
            "attribute": {
                "a": {"role": "quasi", "values": ["x;y", "z|w", "a"], "other": "a"},
                "b": {"role": "target", "values": ["1", "2"]},
            },
        }
    )
    path = tmp_path / "t.csv"
    for rows in ("x;y,1\nz|w,2\n", "x;y,1\n" * 300, "a,1\na,2\n", "a,b\n".replace("b", "1"), ""):
        path.write_text("a,b\n" + rows)
        assert sf.read(path, schema).guesses == ()
    one = sf.Schema.parse({"name": "t", "attribute": {"a": {"role": "quasi", "values": ["x;y", "x"]}}})
    path.write_text("a\nx;y\nx\n")
    assert sf.read(path, one).guesses == ()
    assert sf.read(path, one).codes()[:, 0].tolist() == [0, 1]
    path.write_text("a;b,a\nx;y,x\n")  # two marks cut the line into the wanted names
    assert sf.read(path, one, delimiter=",").guesses == ()


# -- from outside ------------------------------------------------------------------------------


def lower_bound(one, two):
    """Clopper-Pearson, 99.9 %, of the first choice alone; which cut to count is known from theory: that of `a`."""
    runs = len(one)
    bounds = []
    for p, q in ((one, two), (two, one)):
        hits, misses = sum(p), sum(q)
        low = stats.beta.ppf(0.00025, hits, runs - hits + 1) if hits else 0
        bounds.append(math.log(max(low, 1e-9) / stats.beta.ppf(0.99975, misses + 1, runs - misses)))
    return max(bounds)


def cut_of_a(mechanism, rows, seeds):
    """Whether `a` was cut, in one run for each seed: the choices alone, as the mechanism makes them."""
    [table] = gathered(mechanism, HOLES, rows).by_names.values()
    drawn = (mechanism._grown(HOLES, table, Drawn(sf.Entropy.seeded(seed))) for seed in seeds)
    return [len(growth.cuts[-1][0]) > 2 for growth in drawn]


def test_black_box_runs_accuse_the_mutant_alone(monkeypatch):
    """`a` is cut with 0.33 and 0.77; by the mutant with 0.0066 and 0.2189, which is 3.5 of the 2 allowed."""
    mechanism = in_cells("max")
    rows = [(2, 1, 0, 0)] * 4 + [(1, 0, 0, 1)] * 3

    def accused(runs):
        one = cut_of_a(mechanism, rows, range(runs))
        return lower_bound(one, cut_of_a(mechanism, [*rows, NEW], range(runs, 2 * runs)))

    assert 0.2 < accused(500) <= 2
    forget_missing_parts(monkeypatch)
    assert accused(2000) > 2


# -- manifests that are not what was made ------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "out"
    while True:  # no cell reaching the threshold is possible, but nothing can be edited then
        release = sf.publish(paper_table(), sf.DiffGen(3, specializations=3, threshold=1))
        if release.rows:
            release.save(folder, format="csv", allow_unaccounted=True)
            return {file.name: file.read_bytes() for file in folder.iterdir()}


def claim(**changes):
    return lambda answer, _: answer["claim"].update(changes)


def without(name):
    return lambda answer, _: answer["claim"].pop(name)


def cheaper(answer, _):
    answer["claim"] |= {"promise": {"kind": "pure-dp", "epsilon": "1/10"}, "trace": [["counts", "1/10"]]}


def row_of(text):
    def change(answer, files):
        head, *lines = files["data.csv"].decode().splitlines()
        files["data.csv"] = "\n".join([head, *sorted([*lines, text]), ""]).encode()
        answer["files"]["data.csv"] |= {"sha256": hashlib.sha256(files["data.csv"]).hexdigest(), "rows": len(lines) + 1}

    return change


CRAFTED = {
    "rehearsal": claim(rehearsal=True),
    "no stamp": without("rehearsal"),
    "stamp is no flag": claim(rehearsal="no"),
    "no neighbours": without("neighbours"),
    "no trace": without("trace"),
    "trace short": claim(trace=[["counts", "1"]]),
    "trace below 0": claim(trace=[["cuts", "4"], ["counts", "-1"]]),
    "cheaper than it was": cheaper,
    "epsilon of the mechanism is not a number": lambda answer, _: answer["mechanism"].update(epsilon=["3"]),
    "rows left out": lambda answer, _: answer.update(left_out=7),
    "domain off the data": lambda answer, _: answer["schema"]["attributes"][1].update(source="data"),
    "outside the domain": row_of("Plumber,*,Y"),
    "no class": row_of("*,*,Z"),
    "a raw row": row_of("Engineer,34,Y"),
    "cuts unreadable": lambda answer, _: answer["recoding"].update(labels=[1]),
}


@pytest.mark.parametrize("name", ["untouched", *CRAFTED])
def test_crafted_manifests_fail(name, made, tmp_path):
    files = dict(made)
    answer = json.loads(files["manifest.json"])
    if name in CRAFTED:
        CRAFTED[name](answer, files)
    files["manifest.json"] = json.dumps(answer).encode()
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    if name == "cuts unreadable":
        with pytest.raises(sf.ReleaseError, match="must have cuts and labels of the same attributes"):
            sf.verify(tmp_path)
        return
    assert sf.verify(tmp_path).holds is (name == "untouched")


# -- the ledger --------------------------------------------------------------------------------


def test_a_failure_between_cuts_and_counts_stays_spent(tmp_path, monkeypatch):
    book = Ledger(tmp_path / "ledger.db")

    def broken(*_):
        raise MemoryError

    monkeypatch.setattr("sfumato.mechanisms.noisy_cells.sparse_noise", broken)
    for seed in (None, 4):
        with pytest.raises(MemoryError):
            sf.publish(paper_table(), sf.DiffGen.recommended(1), ledger=book, seed=seed)
    assert [entry.state for entry in book.entries()] == ["spent", "spent"]
    monkeypatch.setattr(diffgen_growth.CellTables, "along", broken)
    with pytest.raises(MemoryError):
        sf.publish(paper_table(), sf.DiffGen.recommended(1), ledger=book)
    assert book.entries()[-1].state == "refunded"  # nothing was drawn


def test_a_release_inside_a_release_is_charged_beside_it(tmp_path):
    book, table = Ledger(tmp_path / "ledger.db"), paper_table()
    book.limit("table-1a", "5/2")

    class Greedy:
        def __init__(self, first):
            self.first = first

        def __getattr__(self, name):
            return getattr(sf.NoisyTable(1), name)

        def apply(self, counts, entropy):
            if self.first:
                sf.publish(table, sf.NoisyTable(1), ledger=book)
            made = sf.NoisyTable(1).apply(counts, entropy)
            if not self.first:
                sf.publish(table, sf.NoisyTable(1), ledger=book)
            return made

    sf.publish(table, Greedy(first=True), ledger=book)
    assert book.totals("table-1a").combined.epsilon == 2
    book.limit("table-1a", 3)
    with pytest.raises(sf.BudgetExceeded):
        sf.publish(table, Greedy(first=False), ledger=book)
    assert book.totals("table-1a").combined.epsilon == 3  # the outer one had drawn
    assert [entry.state for entry in book.entries()] == ["spent"] * 3


# -- exactness ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1e-12", "1/1000", "1", "40", "1e12"])
def test_geometric_draws_at_the_ends_of_a_word(epsilon):
    """V near 0 and near 1, huge and tiny rates, against logarithms of 60 digits taken here."""
    from decimal import Decimal, localcontext

    from sfumato.randomness.enclosure import rational_rate
    from sfumato.randomness.entropy import Entropy as Stream
    from sfumato.randomness.refinement import floors

    class Words:
        seeded = True

        def __init__(self, first):
            self.first = first

        def read(self, count):
            import numpy as np

            given, self.first = self.first, 2**63  # V lies in the middle of its cell
            return np.array([given] + [2**63] * (count - 1), dtype=np.uint64)

    rate = Fraction(epsilon)
    words = [
        0,
        1,
        2,
        2**46 - 1,
        2**46,
        2**63,
        2**64 - 1,
        2**64 - 2,
        2**64 - 2**11,
        *random.Random(1).choices(range(2**60), k=9),
    ]
    with localcontext() as work:
        work.prec = 60
        for word in words:
            [drawn] = floors(1, rational_rate(rate), Stream(Words(word)))
            v = (Decimal(word) + Decimal("0.5")) / 2**64
            assert int(drawn) == math.floor(Fraction(-v.ln()) / rate), word


def test_rounding_down_never_costs_sensitivity():
    """Gini in cells by brute force: every table of two classes up to 12 rows, and near the largest counts."""
    import numpy as np

    from sfumato.mechanisms.diffgen.scores import score_of

    score = score_of("gini", classes=2, in_cells=True)
    large = [2**30, 2**30 - 1, 2**29 + 12345, 3, 0]
    tables = [*product(range(13), repeat=2), *product(large, repeat=2)]
    here = np.array(tables, np.int64)
    for row in ((1, 0), (0, 1)):
        moved = score.summed(here + np.array(row)) - score.summed(here)
        assert np.abs(moved).max() <= score.sensitivity
    exact = [math.floor(Fraction(a * a + b * b, a + b) * 2**20) if a + b else 0 for a, b in tables]
    assert score.summed(here).tolist() == exact
