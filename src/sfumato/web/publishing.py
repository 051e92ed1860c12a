"""Publication and what comes after: the checklist, the command, the verdict, and the account of the population."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sfumato.attacks.composing.against import ASSUMED
from sfumato.claims.claim import described
from sfumato.declare import plain_name
from sfumato.errors import NOTHING, ParameterError, SfumatoError, in_percent
from sfumato.frontiers import CHOSEN
from sfumato.frontiers.sweep import written_as
from sfumato.mechanisms.from_json import mechanism_of
from sfumato.release.atomic import target_of
from sfumato.visible import operand, shell_command
from sfumato.web.background import schema_of
from sfumato.web.budget import budget, over, population, refusal, totals, unread
from sfumato.web.choosing import Choosing
from sfumato.web.edits import Fields, one
from sfumato.web.methods import made, method_form, methods
from sfumato.web.policies import basis_of, broken, earlier_policies, judged, judged_unmeasured
from sfumato.web.runs import Run, ended, runs_of
from sfumato.web.screens import Screens
from sfumato.web.wording import method_plainly, page_words, said_on_page
from sfumato.web.workspace import Project, safe_name

_ELSEWHERE = ":ledger"  # no folder's name: the releases of the same people that were made outside the project
_DICTIONARY = 40_000  # letters that are shown
_ABOUT_PEOPLE = ("person =", "`person`", "not_person", "not_count", "rows_per_person", "copies_are_people")
_DOUBTS = ("may stand for several people", "the name of a person", "free text", "described two people")
_ALLOWED = {  # flag -> which check it overrides, for the approval record
    "allow-fingerprints": "many rows are unique on the columns that the method does not make coarser",
    "allow-text": "a published column looks like free text, which may hold names",
    "allow-derived": "a published column can be worked out from one that is protected, or the other way round",
    "allow-repeated": "an earlier release covers the same people, and both together may tell more than each",
    "allow-noise": "most of what is published would be noise",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be published: the mechanism, its words on the command line, and where it was chosen."""

    label: str
    _: KW_ONLY
    mechanism: Any
    words: tuple[str, ...]
    number: int | None = None

    @property
    def plain(self) -> str:
        """What the method does, in plain words."""
        return plain_name(self.mechanism)

    @property
    def compared(self) -> bool:
        """Whether its parameters were picked by comparing releases of the same table."""
        return self.number is not None


class Publishing:
    """Builds the pages Publish and Again."""

    def __init__(self, screens: Screens, choosing: Choosing) -> None:
        self.screens, self.choosing = screens, choosing

    def name(self, project: Project, form: Fields) -> str:
        """Return the folder of a release, which must be new."""
        given = safe_name(one(form, "name") or self.free(project))
        if (project.folder / "releases" / given).exists():
            raise ParameterError("name", given, "is the name of an earlier release", hint="choose another name")
        return given

    def free(self, project: Project) -> str:
        """Return the next free name."""
        waiting = (target_of(path) for path in project.unfinished())
        taken = {path.name for path in (*project.releases(), *waiting) if path is not None}
        return next(name for at in range(1, 10_000) if (name := f"release-{at}") not in taken)

    def stated(self, project: Project, form: Fields) -> dict[str, Any]:
        """Return the description and the policy that a release is made under, for its approval record.

        With what is known of each line of the policy, and the policies of earlier comparisons that asked for something
        else: a policy that was changed after its result was seen is told.
        """
        text = project.schema_text() or ""
        choice = self.choice(project, form)
        lines = [] if choice is None else self.judged(project, choice)
        return {
            "basis": basis_of(project),
            "description": hashlib.sha256(text.encode()).hexdigest(),
            "policy": project.policy(),
            "lines": lines,
            "breaks": broken(lines),
            "earlier": earlier_policies(project, project.policy(), self._counted(project)),
        }

    def _counted(self, project: Project) -> str:
        return "people" if schema_of(project).unit == "person" else "rows"

    def judged(self, project: Project, choice: Choice) -> list[dict[str, str]]:
        """State for each policy line whether a release keeps it, by a comparison of the table as described now."""
        policy, asked = project.policy(), json.loads(json.dumps(written_as(choice.mechanism)))
        for run in runs_of(project.folder, "compare"):
            if run.state != "done" or run.about.get("basis") != basis_of(project):
                continue
            answer = run.answer()
            points = answer.get("points", []) if isinstance(answer, Mapping) else []
            for point in points:
                if not point["failed"] and point["mechanism"] == asked:
                    return judged(policy, point)
        claim = choice.mechanism.claim(schema_of(project))
        return judged_unmeasured(policy, claim.promise, proved=claim.kind == "proved", counted=self._counted(project))

    # -- what is chosen ---------------------------------------------------------------------

    def choice(self, project: Project, form: Fields) -> Choice | None:
        """Return the method of a form, else the release it names, else the one that is recommended."""
        from sfumato.frontiers.sweep import label_of
        from sfumato.pages.commands import publish_words

        method, text = one(form, "method"), one(form, "number")
        number: int | None = None
        if method:
            mechanism = made(method, form, project.schema_file)
        else:
            number = int(text) if text.isdigit() and len(text) < 7 else self.recommended(project)
            if number is None:
                return None
            mechanism = self.mechanism(project, number)
        words = publish_words(mechanism)
        label = label_of(mechanism)
        if words is None:
            raise ParameterError("release", label, "has no command that publishes it", hint="choose another")
        return Choice(label, mechanism=mechanism, words=tuple(words), number=number)

    def mechanism(self, project: Project, number: int) -> Any:
        """Return the mechanism of a release of the latest comparison."""
        return mechanism_of(self.choosing.point(project, number)[0]["mechanism"])

    def _ticked(self, project: Project, form: Fields, choice: Choice) -> dict[str, Sequence[str]]:
        """Return the form as the page shows it: earlier releases are ticked unless the new one draws."""
        proved = choice.mechanism.claim(schema_of(project)).kind == "proved"
        elsewhere = [_ELSEWHERE] if self._known_elsewhere(project) else []
        return {**form, **({} if proved else {"against": [*(path.name for path in project.releases()), *elsewhere]})}

    def spends(self, project: Project, choice: Choice) -> dict[str, Any]:
        """Say what a release would promise and cost, from the description alone."""
        import sfumato as sf

        try:
            schema = schema_of(project)
            claim = choice.mechanism.claim(schema)
            plan = sf.plan(schema, choice.mechanism, forecast=False)
            over_limit = refusal(project, claim, choice.mechanism)
        except SfumatoError as error:
            return {"refused": page_words(str(error))}
        found = totals(project)
        left = None if found is None else found.left
        return {
            "kind": claim.kind,
            "promise": str(claim.promise),
            "describe": described(claim.promise, claim.unit),
            "silent_on": [*claim.silent_on, *([CHOSEN] if claim.kind == "proved" and choice.compared else [])],
            "stages": [stage.to_json() for stage in plan.stages],
            "notes": list(plan.notes),
            "refused": "" if plan.refusal is None else str(plan.refusal),
            "allow": "" if plan.refusal is None else _flag_of({"hint": plan.refusal.hint}),
            "left": None if left is None else left.to_json(),
            "left_for": "" if found is None else found.left_for,
            "over": "" if over_limit is None else over(over_limit),
            "population": schema.population or schema.name,
        }

    def refuse_over(self, project: Project, form: Fields) -> None:
        """Raise if a limit of the ledger does not allow what was chosen: the file need not be read for that."""
        choice = self.choice(project, form)
        if choice is None:
            return
        error = refusal(project, choice.mechanism.claim(schema_of(project)), choice.mechanism)
        if error is not None:
            raise error

    def words(self, project: Project, form: Fields, choice: Choice | None = None) -> list[str]:
        """Return the command that publishes what was chosen."""
        found = choice or self.choice(project, form)
        if found is None:
            raise ParameterError(
                "release", NOTHING, "none is chosen", hint="choose one on Compare, or a method of your own"
            )
        allowed = [f"--{flag}" for flag in _ALLOWED if one(form, flag)]
        earlier = [path.name for path in project.releases()]
        against = [word for name in form.get("against", ()) if name in earlier for word in ("--against", name)]
        against = [f"releases/{word}" if word in earlier else word for word in against]
        ledger = operand(str(Path("..") / ".." / project.ledger.name))
        against += ["--against", ledger] if _ELSEWHERE in form.get("against", ()) else []
        (project.folder / "releases").mkdir(mode=0o700, exist_ok=True)
        return [
            *self.screens.data_words(project, "publish", found.words[0]),
            *found.words[1:],
            *(["--compared"] if found.compared else []),
            *["--format", given if (given := one(form, "format")) in ("parquet", "xlsx") else "csv"],
            *(["--page", f"page-{self.name(project, form)}.html"] if form.get("page", ("yes",))[-1] == "yes" else []),
            *allowed,
            *against,
            *["--ledger", ledger],
            *["-o", str(Path("releases") / self.name(project, form)), "--json"],
        ]

    def publish(self, project: Project, *, form: Fields) -> dict[str, Any]:
        """The checklist, what would be spent, and what was published."""
        runs = runs_of(project.folder, "publish")
        latest = runs[0].to_json() if runs else None
        answer = runs[0].answer() if runs and runs[0].state in ("done", "refused") else None
        stale = (
            bool(answer) and runs[0].state == "refused" and runs[0].about.get("basis") not in (None, basis_of(project))
        )
        if stale:  # why another table was refused: a tick against it would allow what nobody has read
            answer = None
        checked = self.screens.checked(project) if project.schema_text() is not None else None
        choice, command, wrong = None, "", ""
        try:
            choice = self.choice(project, form)
            if choice is not None:
                command = shell_command(self.words(project, self._ticked(project, form, choice), choice))
        except SfumatoError as error:
            wrong = str(error)
        method = one(form, "method")
        fields = method_form(method) if method and not wrong.startswith("method") else []
        if fields and not any(field["field"] in form for field in fields):  # nobody has filled it in yet
            wrong = ""
            floor = project.policy().get("k")
            if choice is None and floor and any(field["field"] == "k" for field in fields):
                form = {**form, "k": [str(floor)]}  # what Policy asks for, until another number is typed
        return {
            **self.screens.frame(project, "publish", command),
            "run": latest,
            "ended": ended(project, runs[0] if runs else None),
            "answer": shown_answer(answer),
            "stale": stale,
            "basis": basis_of(project),
            "allow": _flag_of(answer),
            "refusal": refusal_of(answer),
            "query": urlencode([(name, text) for name, texts in form.items() for text in texts if text]),
            "chosen": None
            if choice is None
            else {"label": choice.label, "plain": choice.plain, "number": choice.number},
            "spends": None if choice is None else self.spends(project, choice),
            **({"lines": [], "breaks": "", "earlier": []} if choice is None else self._policy(project, choice)),
            "wrong": wrong,
            "method": method,
            "methods": methods(),
            "fields": fields,
            "given": {name: list(texts) for name, texts in form.items()},
            "points": self._choices(project),
            "compared": self.choosing.compared(project),
            "comparing": any(run.state == "running" for run in runs_of(project.folder, "compare")),
            "free": self.free(project),
            "format": _format_of(runs[0]) if runs and runs[0].state == "refused" else "",
            "checked": checked,
            "doubtful": [
                one for one in (checked or {}).get("warnings", []) if any(map(one["rule"].__contains__, _DOUBTS))
            ],
            "releases": [self.release(project, path) for path in project.releases()],
            "elsewhere": self._known_elsewhere(project),
            "unread": unread(project),
        }

    def _policy(self, project: Project, choice: Choice) -> dict[str, Any]:
        """Return what the checklist says of the policy; nothing of a description that cannot be read."""
        try:
            lines = self.judged(project, choice)
            earlier = earlier_policies(project, project.policy(), self._counted(project))
        except SfumatoError:
            return {"lines": [], "breaks": "", "earlier": []}
        return {"lines": lines, "breaks": broken(lines), "earlier": earlier}

    def recommended(self, project: Project) -> int | None:
        """Return the release the latest comparison recommends."""
        for run in runs_of(project.folder, "compare"):
            if run.state == "done":
                found = self.choosing.result(run, project.policy())
                return found["best"] if found and found["ok"] else None
        return None

    def _choices(self, project: Project) -> list[dict[str, Any]]:
        for run in runs_of(project.folder, "compare"):
            if run.state == "done":
                found = self.choosing.result(run, project.policy())
                return [p for p in found["points"] if p["savable"]] if found and found["ok"] else []
        return []

    def release(self, project: Project, folder: Path) -> dict[str, Any]:
        """Return what a published folder holds and whether its claim holds, checked from the written files."""
        import sfumato as sf

        def verdict() -> dict[str, Any]:
            from sfumato.frontiers import sample_rows, star_shares

            found, release = sf.verify(folder), sf.Release.load(folder)
            return {
                "verdict": found.to_json(),
                "text": str(found),
                "sample": sample_rows(release, 5),
                "stars": star_shares(release) if release.form == "generalized" else {},
            }

        key = f"{folder.name}-{(folder / 'manifest.json').stat().st_mtime_ns:x}"
        checked = self.screens.background.waited(project, "verified", re.sub(r"[^\w.-]", "_", key), verdict)
        page = f"page-{folder.name}.html"
        files = [
            {"name": path.name, "size": path.stat().st_size} for path in sorted(folder.iterdir()) if path.is_file()
        ]
        claim: Any = {}
        dictionary = ""
        run = self.made_by(project, folder.name)
        answer = None if run is None else run.answer()
        told = answer if isinstance(answer, Mapping) else {}
        with contextlib.suppress(OSError, ValueError):
            dictionary = (folder / "dictionary.md").read_text("utf-8")[:_DICTIONARY]
        with contextlib.suppress(OSError, ValueError):
            claim = json.loads((folder / "manifest.json").read_text("utf-8")).get("claim", {})
        return {
            "name": folder.name,
            "files": files,
            "verdict": checked,
            "claim": claim,
            "dictionary": dictionary,
            "page": page if (project.folder / page).is_file() else "",
            "together": None if run is None else together(told, run.words),
            "warnings": list(told.get("warnings", [])),
        }

    def made_by(self, project: Project, name: str) -> Run | None:
        """Return the run that published a release; none where the command was typed in a terminal."""
        return next((run for run in runs_of(project.folder, "publish") if run.about.get("release") == name), None)

    def _entries(self, project: Project) -> list[Any]:
        """Return what the ledger knows about the same people, also under the names of wholes and parts."""
        import sfumato as sf

        if project.ledger.is_file():
            with contextlib.suppress(SfumatoError, OSError):
                return sf.Ledger(project.ledger).entries_about(population(project))
        return []

    def _known_elsewhere(self, project: Project) -> int:
        """Return how many releases of the same people the ledger knows that are not of this project."""
        own = {path.resolve() for path in project.releases()}
        there = [entry for entry in self._entries(project) if entry.state == "spent" and not entry.rehearsal]
        seen = [
            {(project.ledger.parent / place).resolve() for place in (*entry.saved, *entry.meant)}
            for entry in there
            if not entry.unsaved
        ]
        return sum(not places & own for places in seen)

    def again(self, project: Project) -> dict[str, Any]:
        """What was published about the same people, and what is left of the budget."""
        whose = ""
        with contextlib.suppress(SfumatoError, OSError):
            whose = population(project)
        entries = [_entry(entry) for entry in self._entries(project)]
        return {
            **self.screens.frame(project, "again", ["sfumato", "ledger", "../../ledger.db", "--population", whose]),
            "population": whose,
            "entries": entries[::-1],
            "budget": budget(project),
            "releases": [path.name for path in project.releases()],
            "mapped": (project.folder / "geography.csv").is_file(),
            "together": self._tried(project),
        }

    def _tried(self, project: Project) -> list[dict[str, Any]]:
        """Return what each release of the project that was tried together with earlier ones gives away."""
        found = []
        for path in project.releases():
            run = self.made_by(project, path.name)
            tried = None if run is None else together(run.answer(), run.words)
            if tried is not None:
                found.append({"name": path.name, **tried})
        return found


def together(answer: Any, words: Sequence[str]) -> dict[str, Any] | None:
    """Say what a release and earlier ones give away together, as the command that published it found; else None."""
    held = answer.get("against") if isinstance(answer, Mapping) else None
    if not isinstance(held, Mapping):
        return None
    exposed, alone, certain, rows, d = (int(held[key]) for key in ("people", "alone", "certain", "rows", "d"))
    # An answer without `of` is of an older version, which counted rows.
    every, whom = (int(held["of"]), str(held["counted"])) if "of" in held else (rows, "rows")
    few = f"left with fewer than {d} possible values of a private column, the true one among them"
    said = f"None of {every:,} {whom} is {few}, {ASSUMED}; {alone:,} by this release alone."
    if exposed:
        many = f"{exposed:,} of {every:,} {whom} {'is' if exposed == 1 else 'are'}"
        said = f"{many} {few}, {certain:,} of them with one value, {ASSUMED}; {alone:,} by this release alone."
    named = [text for flag, text in pairwise(words) if flag == "--against"]
    return {
        "names": [Path(text).name for text in held.get("names") or named],
        "exposed": exposed,
        "alone": alone,
        "certain": certain,
        "rows": rows,
        "of": every,
        "counted": whom,
        "text": [said, *(_guessed(name, one, whom) for name, one in held["attributes"].items()), *held["notes"]],
    }


def _guessed(name: str, found: Mapping[str, Any], whom: str) -> str:
    """Say how often a private value is guessed from all releases, from the new one alone, and from neither."""
    both, alone, nothing = (
        float(one["rate"]) for one in (found["together"]["guessed"], found["alone"][0]["guessed"], found["baseline"])
    )
    gain = 100 * (both - alone)
    more = f"{gain:.1f} points more often than" if gain >= 0.05 else "no more often than"
    return (
        f"Whoever has all of them guesses {name} right for {in_percent(both, 1)} of the {whom}, {more} with this "
        f"release alone ({in_percent(alone, 1)}); always saying the most frequent value is right for "
        f"{in_percent(nothing, 1)}."
    )


def _entry(entry: Any) -> dict[str, Any]:
    held = entry.to_json()
    state, places = _state(entry)
    return {
        "when": str(held.get("settled_at") or held.get("reserved_at") or "")[:16].replace("T", " "),
        "method": str(held["mechanism"].get("name", "")),
        "plain": method_plainly(held["mechanism"]),
        "promise": str(entry.promise),
        "epsilon": held.get("epsilon") or "",
        "delta": "" if entry.cost is None or not entry.cost.delta else held["delta"],
        "state": state,
        "folder": ", ".join(Path(place).name for place in places),
        "population": entry.population,
    }


def _state(entry: Any) -> tuple[str, Sequence[str]]:
    """State what became of an entry, and which folders to name with it; "published" only if it is known to be saved."""
    if entry.state != "spent":
        return str(entry.state), ()
    if entry.unsaved:
        return f"spent, never saved: {entry.unsaved}", ()
    if entry.saved:
        return ("rehearsal, saved" if entry.rehearsal else "published"), entry.saved
    return ("spent, saving was not confirmed", entry.meant) if entry.meant else ("spent", ())


def shown_answer(answer: Any) -> Mapping[str, Any] | None:
    """Return what a command answered, and of a refusal the reason in the words of a page."""
    if not isinstance(answer, Mapping):
        return None
    return answer if answer.get("ok") else said_on_page(answer)


def refusal_of(answer: Any) -> dict[str, Any]:
    """Return why nothing was published and what to do about it, in the words of a page: no names of flags.

    `person` says whether the answer is on the page Who is a row.
    """
    if not isinstance(answer, Mapping) or answer.get("ok"):
        return {}
    message, hints = str(answer.get("message", "")).partition(" Hint:")[0], [str(answer.get("hint", ""))]
    if problems := answer.get("problems"):  # the hint of each stands in its problem
        message = "\n".join(f"{one['path'].removeprefix('attribute.')}: {one['rule']}." for one in problems)
        hints = list(dict.fromkeys(one["hint"] for one in problems if one["hint"]))
    hint = ".\n".join(text[:1].upper() + text[1:] for text in map(page_words, hints))
    about = any(word in one for one in hints for word in _ABOUT_PEOPLE)
    return {"message": page_words(message), "hint": hint.removesuffix("."), "person": about}


def overridden(words: Collection[str]) -> list[str]:
    """Return the checks that a command published against, in the words of the approval record."""
    return [check for flag, check in _ALLOWED.items() if f"--{flag}" in words]


def _format_of(run: Run) -> str:
    """Return the format of the files that a refused release was to have: it is proposed again."""
    return next(iter(run.about.get("asked", {}).get("format", ())), "")


def _flag_of(answer: Any) -> str:
    """Return the flag with which a refused release would be published anyway, as its hint names it."""
    hint = str(answer.get("hint", "")) if isinstance(answer, Mapping) else ""
    return next((flag for flag in _ALLOWED if f"--{flag}" in hint or flag.replace("-", "_") in hint), "")
