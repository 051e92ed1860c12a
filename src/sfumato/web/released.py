"""What is done with a published release: attack it, print its approval record; and synthetic commuting with its map."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.attacks.base import percent
from sfumato.commuting.flows import FLOW_COLUMNS
from sfumato.errors import NOTHING, ParameterError, SfumatoError
from sfumato.release.files import digest
from sfumato.visible import operand
from sfumato.web.budget import population, refusal
from sfumato.web.edits import Fields, entered, number, one
from sfumato.web.policies import basis_of, judged_by_attacks
from sfumato.web.publishing import Publishing, overridden, refusal_of, shown_answer
from sfumato.web.runs import Run, ended, runs_of, started_once
from sfumato.web.screens import Screens
from sfumato.web.wording import method_plainly
from sfumato.web.workspace import Project, safe_name


class Released:
    """Builds the pages of one release and of the map."""

    def __init__(self, screens: Screens, publishing: Publishing) -> None:
        self.screens, self.publishing = screens, publishing

    def folder(self, project: Project, name: str) -> Path:
        """Return the folder of a published release."""
        for path in project.releases():
            if path.name == name:
                return path
        raise ParameterError("release", name[:60], "is not one of this project", hint="see Publish")

    # -- attacks ------------------------------------------------------------------------------

    def attack_words(self, project: Project, name: str) -> list[str]:
        """Return the command that attacks a release; half of the people serve as the control."""
        release = operand(str(Path("releases") / name))
        data = ["--data", str(Path("data") / project.data.name), "--schema", "schema.toml"]
        return [*self.screens.words(project, "attack", "all", release, *data), "--again", "--json"]

    def attacks(self, project: Project, name: str) -> dict[str, Any]:
        """What attackers gain from a release."""
        self.folder(project, name)
        run = next((run for run in runs_of(project.folder, "attack") if run.about.get("release") == name), None)
        answer = None if run is None else run.answer()
        changed = self._changed(project, name, run)
        return {
            **self.screens.frame(project, "publish", self.attack_words(project, name)),
            "name": name,
            "run": None if run is None else run.to_json(),
            "answer": shown_answer(answer),
            "refusal": refusal_of(answer),
            "policy_limits": bool(project.policy().get("limits")),
            "changed": changed,
            "itself": self._itself(project, name) if run is not None else {},
            "lines": judged_by_attacks(project.policy(), answer) if isinstance(answer, Mapping) and not changed else [],
        }

    def _itself(self, project: Project, name: str) -> dict[str, Any]:
        """Return how likely somebody is picked out of their class in the release as it was published.

        Nothing where no row of the release is anybody's, or where its classes do not say how many people they hold.
        """
        from sfumato.attacks.identity import class_sizes, prosecutor_risk
        from sfumato.pages.contents import BY_PERSON
        from sfumato.release import Release

        def work() -> dict[str, Any]:
            release = Release.load(self.folder(project, name))
            schema = release.schema
            several = schema.several or (schema.unit == "person" and schema.rows_per_person > 1)
            if release.form not in ("generalized", "buckets") or (several and release.people is None):
                return {}
            risk = prosecutor_risk(class_sizes(release))
            shown = {part: percent(risk[part]) for part in ("mean", "highest")}
            person = release.people is not None or schema.unit == "person"
            shown |= {"counted": "person" if person else "row", "by_person": BY_PERSON if several else ""}
            return shown if risk["highest"] else {}

        manifest = self.folder(project, name) / "manifest.json"
        found = self.screens.background.waited(project, "classes", digest(manifest), work)
        return dict(found) if found["ok"] else {}

    def _changed(self, project: Project, name: str, run: Run | None) -> list[str]:
        """Say so if the file or its description has changed since the publication, or since the attack."""
        made, now = self.publishing.made_by(project, name), basis_of(project)
        published = None if made is None else made.about.get("basis")
        attacked = None if run is None else run.about.get("basis")
        said = []
        if published is not None and published != now:
            said.append(
                f"The file or its description was changed after {name} was published. Attacks read both as they are "
                f"now, and run the method again on them: what they find is not about {name}."
            )
        if attacked is not None and attacked != now:
            said.append("The file or its description was changed after these attacks: their figures are of before.")
        return said

    def start_attacks(self, project: Project, _form: Fields, names: Mapping[str, str]) -> str | None:
        """Start every attack on a release."""
        self.folder(project, names["name"])
        with project.locked():
            words = self.attack_words(project, names["name"])
            about = {"release": names["name"], "basis": basis_of(project)}
            started_once(project.folder, "attack", lambda: words, {"release": names["name"]}, **about)
        return None

    # -- the approval record --------------------------------------------------------------------

    def record(self, project: Project, name: str) -> dict[str, Any]:
        """What an approver signs: what was published, by which command, under which policy and promise."""
        import sfumato as sf

        folder = self.folder(project, name)
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        run = self.publishing.made_by(project, name)
        claim = sf.Claim.from_json(manifest["claim"]) if "claim" in manifest else None
        return {
            **self.screens.frame(project, "publish", run.command if run is not None else ""),
            "name": name,
            "release": self.publishing.release(project, folder),
            "claim": [] if claim is None else claim.describe().splitlines(),
            "mechanism": manifest.get("mechanism", {}),
            "plain": method_plainly(manifest.get("mechanism", {})),
            "manifest": hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest(),
            # As they were then: both may have been changed since.
            "input": "" if run is None else run.about.get("description", ""),
            "policy": {} if run is None else run.about.get("policy", {}),
            "lines": [] if run is None else run.about.get("lines", []),
            "breaks": "" if run is None else run.about.get("breaks", ""),
            "earlier": [] if run is None else run.about.get("earlier", []),
            "released": str(manifest.get("created", "")),
            "overridden": [] if run is None else overridden(run.words),
            "proved": claim is not None and claim.kind == "proved",
            "counted": "people" if claim is not None and claim.unit == "person" else "rows",
            "answer": (run.answer() if run is not None else None) or {},
        }

    # -- the map --------------------------------------------------------------------------------

    def map_words(self, project: Project, form: Fields) -> list[str]:
        """Return the command that draws synthetic homes and their map."""
        data = operand(str(Path("data") / project.data.name))
        epsilon, delta = _asked(form)
        name = self.publishing.name(project, form)
        words = ["sfumato", "synthesize", data, "--geography", "geography.csv", "--epsilon", epsilon]
        words += ["--delta", delta, "--format", "csv", "--counts"]
        if bands := one(form, "bands"):
            words += ["--bands", bands]
        if weights := one(form, "weights"):
            words += ["--weights", weights]
        for column in FLOW_COLUMNS:
            words += [word for name in form.get(column.name, ()) if name for word in (f"--{column.name}", name)]
        folder = str(Path("releases") / name)
        words += ["--population", population(project)]
        return [*words, "--ledger", "../../ledger.db", "-o", folder, "--map", f"map-{name}.html", "--json"]

    def map(self, project: Project) -> dict[str, Any]:
        """Synthetic commuting: what is drawn from the prior, and the map of each release."""
        run = next(iter(runs_of(project.folder, "map")), None)
        answer = None if run is None else run.answer()
        maps = [path.name for path in sorted(project.folder.glob("map-*.html"), reverse=True)]
        command: list[str] | str = ""
        with contextlib.suppress(SfumatoError, OSError):
            command = self.map_words(project, {})
        look = self.screens.look(project)
        refused = isinstance(answer, Mapping) and not answer.get("ok")
        return {
            **self.screens.frame(project, "map", command),
            "columns": look["preview"]["columns"] if look is not None and look["ok"] else [],
            "fields": [
                {"name": one.name, "label": one.label, "found": one.found, "several": one.several}
                for one in FLOW_COLUMNS
            ],
            "given": run.about.get("form", {}) if run is not None and refused else {},  # to be mended, not typed again
            "run": None if run is None else run.to_json(),
            "ended": ended(project, run),
            "answer": shown_answer(answer),
            "maps": maps,
            "geography": (project.folder / "geography.csv").is_file(),
            "free": self.publishing.free(project),
            "releases": [self.publishing.release(project, path) for path in project.releases()],
        }

    def start_map(self, project: Project, form: Fields, _names: Mapping[str, str]) -> str | None:
        """Draw synthetic homes: one command, started once."""
        if one(form, "confirm") != "yes":
            raise ParameterError(
                "confirm", NOTHING, "the release is not confirmed", hint="tick the box that confirms it"
            )
        self._refuse_over(project, form)
        with project.locked():
            (project.folder / "releases").mkdir(mode=0o700, exist_ok=True)
            name = safe_name(one(form, "name") or self.publishing.free(project))
            given = {field: list(texts) for field, texts in form.items() if field not in ("name", "confirm")}
            asked = entered(form)
            started_once(project.folder, "map", lambda: self.map_words(project, form), asked, release=name, form=given)
        return None

    def _refuse_over(self, project: Project, form: Fields) -> None:
        """Raise if a limit of the ledger does not allow a draw; its cost does not depend on the prior asked for."""
        import sfumato as sf

        geography = sf.commuting.Geography.read(project.folder / "geography.csv")
        mechanism = sf.Synthesize(*_asked(form))
        claim = mechanism.claim(geography.schema(population=population(project)))
        if (error := refusal(project, claim, mechanism)) is not None:
            raise error


def _asked(form: Fields) -> tuple[str, str]:
    """Return the epsilon and delta of a draw."""
    return str(number(form, "epsilon") or "4.6"), one(form, "delta") or "1e-5"
