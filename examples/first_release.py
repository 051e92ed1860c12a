# ruff: noqa: INP001, T201
"""From a CSV file to a release that anyone can verify. Run it in this folder: `python first_release.py`."""

import sfumato as sf

table = sf.read("patients.csv", sf.Schema.load("patients.toml"))
release = sf.publish(table, sf.Mondrian(sf.KAnonymity(5) & sf.LDiversity(2)))
print(release.summary())
print(release.frame().head(5))

release.save("first-release", format="csv")
print(sf.verify("first-release"))
print(sf.explain(release.claim))
