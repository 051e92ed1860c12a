"""Synthetic commuting patterns: cost, and what is kept, on Rhode Island LODES 2019 (when present) and generated data.

Run: python benchmarks/bench_commuting.py [folder with the data sets]. Everything printed about Rhode Island is computed
against the original; LODES itself is public, so it may be shown.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from laplace_flows import laplace_flows

import sfumato as sf
from sfumato.commuting import Geography, OlderFlows, Shape, haversine, read_flows
from sfumato.commuting.measures import commute_distances, fictitious_people, prior_people, regional_flows
from sfumato.commuting.synthesize import laws_for

EPSILON, DELTA = "4.6", "1e-5"
EDGES = (1, 10, 50)
BANDS = (2, 5, 10, 20, 50)
LEAST_KEEP = 0.0378  # the paper's smallest f


class Clock:
    def __init__(self):
        self.at = time.process_time()

    def __call__(self):
        before, self.at = self.at, time.process_time()
        return self.at - before


def rhode_island(folder):
    clock = Clock()
    blocks = Geography.read(folder / "lodes_ri_2019" / "ri_xwalk.csv.gz")
    flows = read_flows(folder / "lodes_ri_2019" / "ri_od_main_JT00_2019.csv.gz", blocks)
    print(f"Rhode Island, homes and jobs in the state: read in {clock():.1f} s CPU")
    destinations, n = flows.sizes()
    print(f"  {len(flows.pairs[0]):,} pairs, {len(blocks):,} blocks, {len(set(n.tolist()))} sizes up to {n.max():,}")
    mechanism = sf.Synthesize(EPSILON, DELTA)
    sf.publish(sf_warm().table, mechanism, seed=0)  # compile the kernels
    clock()
    laws_for(mechanism.prior.cells(0, len(blocks) + 1), n, mechanism.asked)
    print(f"  choosing alpha for every n(d): {clock():.1f} s CPU (target 60)")
    sf.publish(flows.table, mechanism, seed=0)
    print(
        f"  drawing all {flows.table.rows:,} jobs of {len(destinations):,} destinations: {clock():.1f} s CPU (target 5)"
    )
    return blocks, flows


def sf_warm():
    data = sf.datasets.commuting(50, 200, 0)
    return read_flows(data.flows, Geography.read(data.geography))


def older_flows(folder, blocks):
    """Public 2018 flows between tracts (within counties), and the public distribution of commute distances."""
    frame = pl.read_csv(folder / "lodes_tract_od_2018" / "ri_tract_od_2018.csv.gz", infer_schema=False)
    rows = [(w, h, int(c)) for h, w, c in frame.select("h_tract", "w_tract", "S000").iter_rows()]
    at = {name: i for i, name in enumerate(blocks.level("tract").names)}
    latitude, longitude = blocks.points("tract")
    known = np.array([(at[w], at[h], c) for w, h, c in rows if w in at and h in at])
    miles = haversine(latitude[known[:, 0]], longitude[known[:, 0]], latitude[known[:, 1]], longitude[known[:, 1]])
    order = np.argsort(miles)
    total = np.cumsum(known[order, 2])
    median = float(miles[order][np.searchsorted(total, total[-1] / 2)])
    shares = np.bincount(np.searchsorted(BANDS, miles), weights=known[:, 2], minlength=len(BANDS) + 1)
    keep = np.maximum(shares / shares.max(), LEAST_KEEP).round(4)
    return OlderFlows({(w, h): c for w, h, c in rows}, "tract", name="LODES 2018 tract flows"), median, keep.tolist()


def line(name, flows, drawn, median, extra="", within=None):
    parts = []
    for label, limit in (("all", within), ("short", median)):
        found = commute_distances(flows.table, drawn, flows.geography, shorter_than=limit)
        cells = []
        for row in found.by_size(EDGES):
            error, within, bias = row["median_error"], row["within_10_percent"], row["bias"]
            cells.append("-" if error is None else f"{error:4.0%}/{within:4.0%}/{bias:+4.0%}")
        parts.append(f"{label} {'  '.join(cells)}")
    false = fictitious_people(flows.table, drawn).value
    regions = flows.geography.level("tract")
    moved = regional_flows(flows.table, drawn, regions.of_block, np.append(regions.of_block, len(regions.names))).value
    print(f"  {name:34s} {' | '.join(parts)} | false {false:3.0%} | tract flows moved {moved:3.0%} {extra}", flush=True)


HEADER = (
    "  (median error / share of destinations within 10 % / bias of all their people; "
    f"destinations with {EDGES[0]}-{EDGES[1] - 1}, {EDGES[1]}-{EDGES[2] - 1}, {EDGES[2]}+ jobs)"
)


def draw(name, flows, mechanism, median, within=None):
    clock = Clock()
    release = sf.publish(flows.table, mechanism, seed=1)
    spent = clock()
    added = prior_people(mechanism, flows.schema, *flows.sizes())
    cells = "-".join(f"{k:,}" for k in sorted(set(added.details["cells"])))
    epsilon = float(release.claim.promise.epsilon)
    after = added.details["after_shrinking"]
    extra = f"| epsilon {epsilon:.2f}, k {cells}, prior {added.value:,.0f} people, {after:,.0f} shrunk, {spent:.0f} s"
    line(name, flows, release, median, extra, within)


def all_destinations(blocks, flows, older, median):
    print(f"\nAll destinations; short commutes are below {median:.2f} miles, the public median of 2018 within counties")
    print(HEADER)
    tract = {"coarsen": "tract"}
    draw("no privacy: drawing anew only", flows, sf.Synthesize(30, DELTA), median)
    line("discrete Laplace, public threshold", flows, laplace_flows(
        flows.pairs, len(blocks) + 1, EPSILON, sf.Entropy.seeded(1)), median)  # fmt: skip
    draw("Algorithm 1, Theorem 4.1's alpha", flows, sf.Synthesize(EPSILON, DELTA, rule="pure"), median)
    draw("Algorithm 1, Theorem 4.4's alpha", flows, sf.Synthesize(EPSILON, DELTA, rule="theorem44"), median)
    draw("hockey stick, uniform over blocks", flows, sf.Synthesize(EPSILON, DELTA), median)
    draw(
        "  cells are block groups",
        flows,
        sf.Synthesize(EPSILON, DELTA, prior=Shape(blocks, coarsen="block_group")),
        median,
    )
    draw("  cells are tracts", flows, sf.Synthesize(EPSILON, DELTA, prior=Shape(blocks, **tract)), median)
    near = Shape(blocks, by="tract", bands=[2, 5, 10], weights=[8, 4, 2, 1], **tract)
    draw("  tracts, weights by distance", flows, sf.Synthesize(EPSILON, DELTA, prior=near), median)
    last = Shape(blocks, older=older, **tract)
    draw("  tracts, weights by 2018 flows", flows, sf.Synthesize(EPSILON, DELTA, prior=last), median)


def sampled(folder, blocks, older, median, keep):
    """120 random destinations as in the paper, homes in other states as counties, domains cut at 200 and 100 miles."""
    counties = Geography.read(folder / "geo" / "us_county_centroids.csv")
    places = blocks.beyond(counties)
    files = [folder / "lodes_ri_2019" / f"ri_od_{part}_JT00_2019.csv.gz" for part in ("main", "aux")]
    frame = pl.concat([pl.read_csv(file, infer_schema=False) for file in files])
    flows = read_flows(frame, places)
    destinations, _ = flows.sizes()
    chosen = np.sort(np.random.default_rng(120).choice(destinations, 120, replace=False))
    some = flows.only(chosen)
    print(
        f"\n120 random destinations ({some.table.rows:,} jobs), homes in other states by county: {len(places):,} places"
    )
    print(f"  keep f by band {BANDS} miles, from public 2018 flows: {keep}")
    print(HEADER)
    for miles in (None, 200, 100):
        cut = "whole domain" if miles is None else f"cut at {miles} miles"
        base = {"max_distance": miles}
        draw(f"{cut}: uniform", some, sf.Synthesize(EPSILON, DELTA, prior=Shape(places, **base)), median, miles)
        decay = Shape(places, bands=BANDS, keep=keep, **base)
        draw(f"{cut}: domain sampling", some, sf.Synthesize(EPSILON, DELTA, prior=decay), median, miles)
    whole = round(float(sf.Synthesize(EPSILON, DELTA, prior=decay).asked.total), 4)
    cut = Shape(places, max_distance=100)
    draw(f"100 miles: uniform, epsilon {whole:.2f}", some, sf.Synthesize(whole, DELTA, prior=cut), median, 100)
    coarse = Shape(places, coarsen="tract", max_distance=100)
    draw("100 miles: tracts and counties", some, sf.Synthesize(EPSILON, DELTA, prior=coarse), median, 100)
    far = Shape(places, far=(10, "tract"), max_distance=100)
    draw("100 miles: blocks, tracts past 10", some, sf.Synthesize(EPSILON, DELTA, prior=far), median, 100)


def generated():
    clock = Clock()
    data = sf.datasets.commuting(233_726, 1_750_000, 1)
    print(f"\nGenerated: {data.flows.height:,} pairs over 233,726 origins, made in {clock():.1f} s CPU")
    flows = read_flows(data.flows, Geography.read(data.geography))
    read = clock()
    sf.publish(flows.table, sf.Synthesize(EPSILON, DELTA), seed=1)
    print(f"  read {read:.1f} s, prior and synthesis {clock():.1f} s CPU (target 60)")
    print(
        f"  peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB (target 4)"
    )


def main():
    default = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    generated()
    if not (folder / "lodes_ri_2019").is_dir():
        print("Rhode Island LODES is not there: give its folder as the argument.")
        return
    blocks, flows = rhode_island(folder)
    older, median, keep = older_flows(folder, blocks)
    sampled(folder, blocks, older, median, keep)
    all_destinations(blocks, flows, older, median)


if __name__ == "__main__":
    main()
