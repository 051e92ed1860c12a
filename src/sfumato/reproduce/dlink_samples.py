"""What the dLink figures measure: pairs of samples that share people, utility, distances, time. Confidential."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.attacks import overlap_experiment
from sfumato.claims import KAnonymity
from sfumato.counts import Table, read
from sfumato.datasets import census
from sfumato.errors import Infeasible
from sfumato.measures import Workload, histogram_distance, unchanged_answers, workload
from sfumato.mechanisms import REGISTRY, DiffGen, Mechanism, Mondrian
from sfumato.mechanisms.base import gather, run
from sfumato.randomness import Entropy
from sfumato.reading import Regions
from sfumato.reproduce.figures import Settings
from sfumato.schema import Schema

__all__ = ["distances", "measured", "mechanism_of", "tables", "timed", "unchanged"]

_MIDDLE = 17_500  # dollars: near the median; the paper's cut, the 25th of 50 classes, leaves 94 % on one side here
_KDD = {"sex": "sex", "education": "education", "race": "race", "country_of_birth_self": "birthplace"}


def tables(settings: Settings) -> tuple[str, ...]:
    """Names of the data sets: Salary and Occupation, of given data Occupation alone."""
    return ("Salary", "Occupation") if settings.data is None else ("Occupation",)


def mechanism_of(method: str, *, k: int = 10, d: int = 4, alpha: str = "0.8") -> Mechanism:
    """Return the mechanism of a curve: "Mondrian", "dLink" or "DP epsilon"."""
    if method.startswith("DP "):
        return DiffGen(method.split(" ")[1], paper=True)
    base = Mondrian(KAnonymity(k), cut="widest")  # the rule of LeFevre et al., which the paper uses
    made: Mechanism = base if method == "Mondrian" else REGISTRY["dlink"](base, d=d, alpha=alpha)
    return made


def measured(
    settings: Settings, table: str, method: str, *, share: int = 1, k: int = 10, d: int = 4, alpha: str = "0.8"
) -> dict[str, Any]:
    """One mechanism at one overlap: attack accuracy, query error, classification accuracy, classes."""
    whole = _table(settings.size, None if settings.data is None else str(settings.data), table)
    samples, size = _shape(settings, whole.rows)
    classify = {"target": "salary", "bins": [_MIDDLE]} if table == "Salary" and not method.startswith("DP ") else None
    try:
        (row,) = overlap_experiment(
            whole,
            {method: mechanism_of(method, k=k, d=d, alpha=alpha)},
            size=size,
            overlap=max(1, size * share // 100),
            samples=samples,
            d=d,
            seed=settings.seed,
            reading="residence" if not method.startswith("DP ") else "label",
            queries=settings.pick(full=1000, quick=1000, tiny=50),
            kinds=("equality",),
            controls=1,
            classify=classify,
        )
    except Infeasible:
        return {"infeasible": True}
    return {
        "risk": 100 * row.one.rate,
        "below d": 100 * row.below_d.rate,
        "victims": row.one.trials,
        "error": row.errors["equality"],
        "accuracy": None if row.accuracy is None else 100 * row.accuracy,
        "classes": row.classes,
    }


def distances(settings: Settings, table: str, method: str) -> dict[str, Any]:
    """How far the histogram of the confidential attribute is from the original."""
    part = _sample(settings, table)
    found = histogram_distance(part, _released(part, mechanism_of(method)))
    return {"kl": min(found.value, 1e9), "city block": found.city_block}


def timed(settings: Settings, table: str, method: str, *, share: int = 1, d: int = 4) -> dict[str, float]:
    """Seconds (CPU) of one release of a sample with its overlap."""
    whole = _sample(settings, table, share)
    mechanism = mechanism_of(method, d=d)
    gathered = gather(mechanism, whole)
    start = time.process_time()
    run(mechanism, gathered, Entropy.seeded(0))
    return {"seconds": time.process_time() - start}


def unchanged(settings: Settings, table: str, epsilon: str, *, people: bool) -> dict[str, float]:
    """Percent of queries that DiffGen at this epsilon answers as the original does, averaged over releases.

    `people`: points of the domain that hold somebody; else any points, most of which hold nobody.
    """
    part = _sample(settings, table)
    queries, releases = settings.pick(full=(100_000, 5), quick=(5000, 3), tiny=(100, 1))
    work = workload(part, kind="equality", queries=queries, seed=7) if people else _any_points(part, queries)
    mechanism = mechanism_of(f"DP {epsilon}")
    gathered = gather(mechanism, part)
    drawn = [run(mechanism, gathered, Entropy.seeded(seed)) for seed in range(releases)]
    shares = [unchanged_answers(part, release, work).value for release in drawn]
    return {"unchanged": 100 * sum(shares) / len(shares)}


def _any_points(part: Table, queries: int) -> Workload:
    """Equality queries drawn from the whole domain, every point equally likely."""
    *quasi, wanted = attributes = (*part.schema.quasi, part.schema.sensitive[0])
    entropy = Entropy.seeded(7).child("any points")
    codes = np.column_stack([entropy.child(known.name).below_many(known.size, queries) for known in attributes])
    return Workload(
        "equality",
        attribute=wanted.name,
        sizes={known.name: known.size for known in attributes},
        dimension=len(quasi),
        selectivity=None,
        reading=None,
        seed=7,
        regions=Regions.points(quasi, codes[:, :-1].astype(np.int64)),
        values=Regions.points([wanted], codes[:, -1:].astype(np.int64)),
    )


def _released(part: Table, mechanism: Mechanism) -> Any:
    return run(mechanism, gather(mechanism, part), Entropy.seeded(0))


def _shape(settings: Settings, rows: int) -> tuple[int, int]:
    """How many samples and of how many rows; given data are cut into two of at most a third each."""
    samples, size = settings.pick(full=(5, 100_000), quick=(3, 40_000), tiny=(2, 1500))
    if settings.data is not None:
        return 2, min(size, rows // 3)
    return samples, size


def _sample(settings: Settings, table: str, share: int = 1) -> Table:
    whole = _table(settings.size, None if settings.data is None else str(settings.data), table)
    _, size = _shape(settings, whole.rows)
    order = Entropy.seeded(settings.seed).child("sample").permutation(whole.rows)
    return whole.take(order[: size + size * share // 100])


@lru_cache(maxsize=2)
def _table(size: str, data: str | None, table: str) -> Table:
    if data is not None:
        return _kdd(Path(data))
    rows = {"full": 610_000, "quick": 135_000, "tiny": 4000}[size]
    return census(rows, 7).with_roles(sensitive=table.lower(), target=())


def _kdd(path: Path) -> Table:
    """Rows with an occupation: age, sex, education, race, country of birth; the detailed occupation is confidential."""
    job = "detailed_occupation_recode"
    frame = pl.read_parquet(path).filter(pl.col(job) != 0)
    frame = frame.select(
        "age", *(pl.col(old).alias(new) for old, new in _KDD.items()), pl.col(job).cast(pl.String).alias("occupation")
    )
    attributes: dict[str, Any] = {"age": {"role": "quasi", "kind": "numeric", "range": [0, 91], "step": 1}}
    for name in _KDD.values():
        values = frame[name].unique().sort().to_list()
        attributes[name] = {"role": "quasi", "kind": "nominal", "values": values}
    values = [str(code) for code in range(1, 47)]
    attributes["occupation"] = {"role": "sensitive", "kind": "nominal", "values": values}
    return read(frame, Schema.parse({"name": "kdd", "attribute": attributes}))
