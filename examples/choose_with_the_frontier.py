# ruff: noqa: INP001, T201
"""Compare releases, take the most useful one within a limit, publish it, and write both reports."""

import sfumato as sf

table = sf.read("patients.csv", sf.Schema.load("patients.toml"))
points = sf.sweep(
    sf.sweep(sf.Mondrian, k=[5, 20, 80]),
    sf.sweep(sf.Mondrian, t=["0.1", "0.2"]),
    sf.Suppress(),
)
front = sf.frontier(table, points, progress=False, workers=0)
for point in front.efficient:
    print(f"{point.label:30} privacy loss {point.privacy.mean:.4f}, utility loss {point.utility.mean:.4f}")

best = front.recommend(privacy_loss=0.2)
print(best)

release = sf.publish(table, best.mechanism)
release.save("chosen-release")
sf.report(front, "steward.html", recommendation=best)
sf.report(front, "public.html", audience="public", release=release)
print("steward.html is confidential; public.html and chosen-release may leave the house")
