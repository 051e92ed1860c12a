# ruff: noqa: INP001, T201
"""Two releases that are each safe, what they give away together, and the check that prevents it."""

import polars as pl

import sfumato as sf

schema = sf.Schema.load("patients.toml")
people = pl.read_csv("patients.csv")
spring, autumn, both = (sf.read(part, schema) for part in (people.head(700), people.tail(700), people.slice(500, 200)))

fine = sf.Mondrian(sf.KAnonymity(3) & sf.LDiversity(2))
releases = [sf.publish(table, fine) for table in (spring, autumn)]
print(sf.attacks.composition(releases, both).describe())

linked = [sf.publish(table, sf.DLink(fine, d=4, alpha="0.8")) for table in (spring, autumn)]
print("with dLink, one value left:", sf.attacks.composition(linked, both).rate)

earlier = sf.publish(spring, sf.Mondrian(sf.KAnonymity(20)))
for k in (10, 40):
    later = sf.publish(autumn, sf.Mondrian(sf.KAnonymity(k)))
    print(f"k = {k}:", sf.attacks.against(later, earlier, autumn).describe())
