"""Small random tables and releases, and slow readings of them straight from the definitions, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from sfumato.claims import Claim, Nothing
from sfumato.counts import Table
from sfumato.mechanisms.base import Gathered
from sfumato.randomness import Entropy
from sfumato.release import Residence, assemble
from sfumato.schema import Labels, Schema
from sfumato.schema.labels import merged

SCHEMA = {
    "name": "small",
    "source": "public",
    "attribute": {
        "job": {
            "role": "quasi",
            "kind": "nominal",
            # `Only` is a chain: its one child has the same codes.
            "hierarchy": {"White": ["clerk", "boss"], "Blue": {"Only": ["smith"]}, "Other": ["poet"]},
            "missing": ["?"],
        },
        "age": {"role": "quasi", "kind": "numeric", "range": [20, 28], "step": 1},
        "town": {"role": "quasi", "kind": "nominal", "values": ["a", "b", "c"]},
        "ill": {"role": "sensitive", "kind": "nominal", "values": ["flu", "cold", "hiv", "none"]},
        "pay": {"role": "target", "kind": "ordered", "values": ["low", "high"]},
    },
}


def small_schema() -> Schema:
    return Schema.parse(SCHEMA)


def small_table(seed: int, rows: int | None = None) -> Table:
    rng = np.random.default_rng(seed)
    schema = small_schema()
    rows = int(rng.integers(1, 25)) if rows is None else rows
    sizes = [attribute.size for attribute in schema.published]
    # Few distinct values in half of the tables, so that populations are large and groups repeat.
    top = [int(rng.integers(1, size + 1)) for size in sizes] if rng.random() < 0.5 else sizes
    return Table.from_codes(schema, np.column_stack([rng.integers(0, t, rows) for t in top]))


def publish(table, mechanism, seed=1):
    schema = table.schema
    counts = {names: table.counts(list(names)) for names in mechanism.needs(schema)}
    return mechanism.apply(Gathered(schema, by_names=counts), Entropy.seeded(seed))


def random_release(table: Table, seed: int, kind: str):
    """`classes`: rows generalized by group; `buckets`: exact boxes in groups; `noise`: boxes that follow no row."""
    rng = np.random.default_rng(seed)
    schema = table.schema
    if kind == "noise":
        return _noise(schema, rng)
    codes = table.codes()
    width = len(schema.quasi)
    group = rng.integers(0, rng.integers(1, 5), len(codes))
    _, group = np.unique(group, return_inverse=True)
    count = int(group.max()) + 1
    if kind == "classes":
        sets = [[_cover(a, codes[group == g, at], rng) for g in range(count)] for at, a in enumerate(schema.quasi)]
        made = [Labels.from_sets(a, sets[at]) for at, a in enumerate(schema.quasi)]
        tables, labels = tuple(m[0] for m in made), np.column_stack([m[1] for m in made])
        weight, box_group = np.bincount(group, minlength=count), np.arange(count)
    else:
        tables = tuple(Labels.of_codes(a) for a in schema.quasi)
        boxes, weight = np.unique(np.column_stack([group, codes[:, :width]]), axis=0, return_counts=True)
        labels, box_group = boxes[:, 1:], boxes[:, 0]
    release, number = assemble(
        schema,
        tables=tables,
        labels=labels,
        weight=weight,
        group=box_group,
        carried_group=group,
        carried_codes=codes[:, width:],
        carried_weight=np.ones(len(codes), np.int64),
        claim=Claim(Nothing()),
        form="buckets" if kind == "buckets" else "generalized",
        residence=None,
    )
    names = tuple(a.name for a in schema.published)
    landed = Residence(names, codes, number[group], np.ones(len(codes), np.int64))
    return release, landed


def _cover(attribute, codes, rng):
    """A label that holds the codes and perhaps more, in one or several pieces."""
    extra = [code for code in range(attribute.size) if rng.random() < 0.3]
    return merged((code, code + 1) for code in {*codes.tolist(), *extra})


def _noise(schema, rng):
    boxes, groups = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    group = np.concatenate([np.arange(min(groups, boxes)), rng.integers(0, min(groups, boxes), max(0, boxes - groups))])
    groups = int(group.max()) + 1
    made = []
    for attribute in schema.quasi:
        sets = [_cover(attribute, rng.integers(0, attribute.size, 1), rng) for _ in group]
        made.append(Labels.from_sets(attribute, sets))
    entries = int(rng.integers(0, 10))
    release, _ = assemble(
        schema,
        tables=tuple(m[0] for m in made),
        labels=np.column_stack([m[1] for m in made]),
        weight=rng.integers(0, 5, len(group)),
        group=group,
        carried_group=rng.integers(0, groups, entries),
        carried_codes=np.column_stack([rng.integers(0, a.size, entries) for a in schema.carried]),
        carried_weight=rng.integers(0, 6, entries),
        claim=Claim(Nothing()),
        form="cells",
    )
    return release, None


# -- slow readings ------------------------------------------------------------------------------


def histograms(release, attribute):
    """H_g as lists of ints."""
    return release.groups.histogram(attribute).toarray().tolist()


def estimate_slowly(release, region, attribute):
    """est(s | y) with y a mapping from attribute name to a set of codes. Fractions."""
    boxes, found = release.boxes, None
    for g, histogram in enumerate(histograms(release, attribute)):
        found = found or [Fraction(0)] * len(histogram)
        inside = Fraction(0)
        for b in range(len(boxes)):
            if boxes.group[b] != g:
                continue
            cover = Fraction(int(boxes.weight[b]))
            for at, table in enumerate(boxes.tables):
                label = {c for low, high in table.intervals(int(boxes.labels[b, at])) for c in range(low, high)}
                wanted = region.get(table.attribute.name, label)
                cover *= Fraction(len(label & wanted), len(label))
            inside += cover
        weight = int(release.groups.weight[g])
        for s, rows in enumerate(histogram):
            found[s] += inside * rows / weight if weight else 0
    return found


def js_slowly(p, q):
    """JS of two lists of fractions, in nats."""
    found = []
    for a, b in zip(p, q, strict=True):
        m = (a + b) / 2
        found += [float(x) * math.log(x / m) / 2 for x in (a, b) if x]
    return math.fsum(found)


def shares(counts):
    total = sum(counts)
    return [Fraction(c) / total for c in counts]


def populations_slowly(table, min_support, attribute):
    """Every large population as a frozenset of (attribute, low, high), with its true counts."""
    schema, codes = table.schema, table.codes().tolist()
    names = [a.name for a in schema.published]
    at = names.index(attribute)
    choices = []
    for a in schema.quasi:
        spans = sorted({(int(low), int(high)) for low, high in zip(a.nodes.low, a.nodes.high, strict=True)})
        choices.append([None, *(span for span in spans if span != (0, a.size))])
    found = {}
    for chosen in itertools.product(*choices):
        if not any(chosen):
            continue
        counts = [0] * schema[attribute].size
        for row in codes:
            if all(span is None or span[0] <= row[j] < span[1] for j, span in enumerate(chosen)):
                counts[row[at]] += 1
        if sum(counts) >= max(1, Fraction(min_support) * len(codes)):
            key = frozenset((a.name, *span) for a, span in zip(schema.quasi, chosen, strict=True) if span)
            found[key] = counts
    return found


def utility_slowly(table, release, min_support, attribute):
    """The mean JS over large populations, each read on its own."""
    losses = []
    overall = [sum(column) for column in zip(*histograms(release, attribute), strict=True)]
    for key, truth in populations_slowly(table, min_support, attribute).items():
        region = {name: set(range(low, high)) for name, low, high in key}
        estimate = estimate_slowly(release, region, attribute)
        guess = shares(estimate if sum(estimate) else overall)
        losses.append(js_slowly(shares(truth), guess))
    return losses
