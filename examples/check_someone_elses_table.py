# ruff: noqa: INP001, T201
"""Verify and measure a table that another tool anonymized; here one that is written by hand, with ARX's labels."""

from pathlib import Path

import sfumato as sf

schema = sf.Schema.load("patients.toml")
THEIRS = """\
age,sex,town,diagnosis
"[18, 40[",female,West,asthma
"[18, 40[",female,West,flu
">=40",*,East,flu
">=40",*,East,migraine
"""
Path("theirs.csv").write_text(THEIRS, "utf-8")
for requirement in (sf.KAnonymity(2), sf.KAnonymity(3), sf.LDiversity(2)):
    print(sf.verify("theirs.csv", schema=schema, requirement=requirement))
theirs = sf.Release.read("theirs.csv", schema)
print(theirs.summary())
