# ruff: noqa: INP001, T201
"""Synthetic commuting patterns with a proved (epsilon, delta), from flows in the form of LODES."""

import sfumato as sf
from sfumato.commuting.measures import distance_shares, fictitious_people

made = sf.datasets.commuting(blocks=300, jobs=3_000, seed=3)  # or the paths of real files below
geography = sf.commuting.Geography.read(made.geography)
flows = sf.commuting.read_flows(made.flows, geography)

prior = sf.commuting.Shape(geography, bands=[5, 20], weights=[8, 2, 1])
release = sf.publish(flows.table, sf.Synthesize("4.6", "0.00001", prior=prior), ledger="ledger.db")
release.save("synthetic-commuters")
print(release.claim)
print(*release.notes, sep="\n")
print(sf.verify("synthetic-commuters"))
print("confidential: shares by distance", distance_shares(flows.table, release, geography, [1, 2, 5]))
print("confidential: share of synthetic people on pairs nobody real has", fictitious_people(flows.table, release).value)
