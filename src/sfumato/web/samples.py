"""Samples to try the app with: each becomes a project of its own."""

from __future__ import annotations

import re
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.web.workspace import Project, Workspace


@dataclass(frozen=True, slots=True)
class Sample:
    """A table that comes with the package."""

    name: str
    _: KW_ONLY
    title: str
    about: str

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping."""
        return {"name": self.name, "title": self.title, "about": self.about}


SAMPLES = (
    Sample(
        "patients", title="Patients", about="1,200 made-up patients: age, town, diagnosis. Nothing is described yet."
    ),
    Sample(
        "visits",
        title="Visits",
        about="Several rows a person, missing values and German dates. Nothing is described yet.",
    ),
    Sample("adult", title="Adult", about="45,222 people of a census, described and ready to compare."),
    Sample("commuting", title="Commuting", about="Homes and workplaces: a synthetic map with a proved promise."),
)


# Names of the made-up tracts of the sample.
_FIRST = ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Juniper", "Linden", "Maple", "Oak", "Pine", "Rowan", "Willow")
_SECOND = ("ton", "field", "brook", "ford", "wood", "bridge", "dale", "hill")


def sample_project(workspace: Workspace, name: str) -> Project:
    """Make a project of a sample."""
    makers = {"patients": _patients, "visits": _visits, "adult": _adult, "commuting": _commuting}
    if name not in makers:
        raise ParameterError("sample", name, "is not one of the samples", hint=", ".join(makers))
    with tempfile.TemporaryDirectory() as folder:
        return makers[name](workspace, Path(folder))


def _patients(workspace: Workspace, folder: Path) -> Project:
    from sfumato.datasets.clinic import patients_text

    (folder / "patients.csv").write_text(patients_text(), "utf-8")
    return workspace.copied(folder / "patients.csv", title="patients.csv")


def _visits(workspace: Workspace, folder: Path) -> Project:
    from sfumato.datasets.clinic import visits_text

    (folder / "visits.csv").write_text(visits_text(), "utf-8")
    return workspace.copied(folder / "visits.csv", title="visits.csv")


def _adult(workspace: Workspace, folder: Path) -> Project:
    from sfumato.datasets.adult import ADULT_SCHEMA, adult_frame

    adult_frame().write_csv(folder / "adult.csv")
    text = ADULT_SCHEMA.read_text("utf-8").replace('role = "target"', 'role = "other"')
    names = sorted(set(re.findall(r'"hierarchies/([^"]+)"', text)))
    beside = {f"hierarchies/{n}": (ADULT_SCHEMA.parent / "hierarchies" / n).read_text("utf-8") for n in names}
    return workspace.copied(folder / "adult.csv", title="adult.csv", schema=text, beside=beside)


def _commuting(workspace: Workspace, folder: Path) -> Project:
    from sfumato.datasets.commuting import commuting

    frames = commuting(blocks=600, jobs=8_000, seed=3)
    frames.flows.write_csv(folder / "commuting.csv")
    tracts = frames.geography["tract"].unique().sort().to_list()
    names = {
        tract: f"{_FIRST[at % len(_FIRST)]}{_SECOND[at // len(_FIRST) % len(_SECOND)]}"
        for at, tract in enumerate(tracts)
    }
    places = frames.geography.with_columns(name=frames.geography["tract"].replace_strict(names))
    beside = {"geography.csv": places.write_csv()}
    return workspace.copied(folder / "commuting.csv", title="commuting.csv", beside=beside)
