"""Policy, comparison and inspection: which release keeps what the steward asks for, and what each costs."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.declare import plain_name
from sfumato.errors import ParameterError, SfumatoError, count_of, two_digits
from sfumato.frontiers import moved_words, typical_in_tables
from sfumato.frontiers.sweep import PRESETS
from sfumato.schema.open_questions import asks_about
from sfumato.visible import shell_command
from sfumato.web.background import schema_of
from sfumato.web.budget import budget
from sfumato.web.edits import Fields, number, one, whole
from sfumato.web.policies import basis_of, broken, judged, policy_lines, policy_of_words, policy_words, same_policy
from sfumato.web.questions import open_questions
from sfumato.web.runs import Run, runs_of
from sfumato.web.screens import Screens
from sfumato.web.wording import axis_plainly, method_plainly, page_sentence, page_words, plainly
from sfumato.web.workspace import Project

# What an office asks for, with where it says so. A profile only fills in the fields.
PROFILES = (
    {
        "name": "Common floor",
        "k": "5",
        "source": "a common floor: no group of fewer than 5 people",
    },
    {
        "name": "US Medicare and Medicaid (CMS)",
        "k": "11",
        "source": "CMS Cell Size Suppression Policy: no cell of 1 to 10 people",
    },
    {
        "name": "European Medicines Agency",
        "k": "12",
        "identity": "0.09",
        "source": "EMA Policy 0070, external guidance, section 5.4: risk of at most 0.09",
    },
    {
        "name": "NHS hospital statistics",
        "k": "8",
        "source": "HES Analysis Guide: counts of 1 to 7 are not shown",
    },
)
_LIMITS = ("inference", "membership", "identity")
_ANSWERS = 20
_LISTED = 5  # releases that are described in words
_ASKED_COLUMNS = 4  # that one COUNT may name: the table over all their values is held
_ASKED_CELLS = 2_000_000


_SWEEPS = {  # in the words of a page
    "standard": "a first look at every kind of method",
    "tradeoff": "groups of people only, under k, l and t in many strengths",
    "tradeoff-buckets": "buckets only: exact columns, the private value hidden in a group",
    "tradeoff-readings": "groups of people only, under other readings of what an attacker learns",
    "diffgen": "differential privacy only, for a column to be predicted",
    "marginals": "differential privacy only, by noisy tables of a few columns",
    "private": "differential privacy only, for tables of counts",
}


class Choosing:
    """Builds the pages between description and publication."""

    def __init__(self, screens: Screens) -> None:
        self.screens = screens

    def policy_of(self, form: Fields) -> dict[str, Any]:
        """Return what a policy form says; every number is checked."""
        k = whole(form, "k")
        limits = {name: str(value) for name in _LIMITS if (value := number(form, name)) is not None}
        for name, value in limits.items():
            if not 0 <= float(value) <= 1:
                raise ParameterError(name, value, "must lie between 0 and 1", hint="0.02 is two points")
        answers = [line.strip() for line in one(form, "answers").splitlines() if line.strip()][:_ANSWERS]
        epsilon = number(form, "epsilon")
        return {
            "k": k,
            "limits": limits,
            "answers": answers,
            "epsilon": None if epsilon is None else str(epsilon),
            "membership_public": bool(one(form, "membership_public")),
        }

    def policy(self, project: Project) -> dict[str, Any]:
        """What a release must keep, and what a budget would buy."""
        held = project.policy()
        checked = self.screens.checked(project)
        return {
            **self.screens.frame(project, "policy", self.compare_words(project, {})),
            "policy": {"k": 5, "limits": {}, "answers": [], "epsilon": None, "membership_public": False, **held},
            "profiles": [dict(one) for one in PROFILES],
            "plans": self.plans(project, held.get("epsilon")),
            "needs": self.needs(project),
            "budget": budget(project, held.get("epsilon")),
            "checked": checked,
            "counted": (checked or {}).get("counted", "rows"),
            "example": self._example(project),
        }

    def _example(self, project: Project) -> str:
        """Return a line of counts that must stay accurate, with columns of this table."""
        checked = self.screens.checked(project) or {}
        names = [*checked.get("quasi", [])[:1], *checked.get("sensitive", [])[:1]] or ["age", "town"]
        return f"{' x '.join(names)} within 10 %"

    def plans(self, project: Project, epsilon: str | None) -> dict[str, Any] | None:
        """Say what a budget buys with each differentially private method, from public numbers alone.

        Each method is tried on stand-in rows in the background: None meanwhile, and nothing without an epsilon or while
        the description does not allow such a method yet.
        """
        if not epsilon or any(self.needs(project).values()):
            return {"ok": True, "methods": []}

        def work() -> dict[str, Any]:
            schema = schema_of(project)
            return {"methods": [_bought(schema, name, made) for name, made in self._private(epsilon)]}

        key = project.digest(epsilon)
        found: dict[str, Any] | None = self.screens.background.result(project, "plans", key, work)
        return found

    def needs(self, project: Project) -> dict[str, list[str]]:
        """Return what a differentially private method still needs: columns to declare, and whether rows are bounded."""
        import sfumato as sf

        found: dict[str, list[str]] = {"public": [], "rows": [], "population": []}
        try:
            schema = schema_of(project)
            sf.plan(schema, sf.Marginals(1), forecast=False)  # a noisy table may lack a column to be predicted first
        except sf.SchemaError as error:
            for problem in error.problems:
                name = problem.path.removeprefix("attribute.")
                if problem.path == "rows_per_person":
                    found["rows"] = [problem.rule]
                elif problem.path == "population":
                    found["population"] = [problem.rule]
                elif name not in found["public"]:
                    found["public"].append(name)
        except SfumatoError:
            pass
        return found

    def _private(self, epsilon: str) -> list[tuple[str, Any]]:
        import sfumato as sf

        made = [("DiffGen", sf.DiffGen.recommended(epsilon)), ("Noisy table", sf.NoisyTable(epsilon))]
        marginals = getattr(sf, "Marginals", None)
        return made if marginals is None else [("Marginals", marginals(epsilon)), *made]

    def refuse_open(self, project: Project) -> None:
        """Raise while a role is undecided: a comparison would publish what nobody has looked at."""
        text = project.schema_text()
        if text is None:
            raise ParameterError("file", project.title, "is not described yet", hint="wait until it is read")
        roles = [
            one.attribute
            for one in open_questions(text)
            if one.attribute and asks_about([f"{one.topic}: {one.question}"], "role", column=True)
        ]
        if roles:
            listed = ", ".join(roles[:5]) + (" and more" if len(roles) > 5 else "")
            raise ParameterError("role", listed, "is not decided yet", hint="give each column a role on Describe")

    def compare_words(self, project: Project, form: Fields) -> list[str]:
        """Return the command of a comparison under the project's policy."""
        held = project.policy()
        words = self.screens.data_words(project, "frontier")
        presets = self._presets(project, one(form, "preset") or "standard")
        words += [word for name in presets for word in ("--preset", name)]
        return [*words, *policy_words(held), "--keep", "kept", "-o", "report.html", "--json"]

    def _presets(self, project: Project, name: str) -> list[str]:
        """Return the sweeps of a choice: the first look tries marginals too, where the description allows it."""
        return [name, "marginals"] if name == "standard" and self._allows_marginals(project) else [name]

    def _allows_marginals(self, project: Project) -> bool:
        import sfumato as sf

        try:
            return sf.plan(schema_of(project), sf.Marginals(1), forecast=False).refusal is None
        except (SfumatoError, OSError):  # something is not public yet, or not described
            return False

    def shown_command(self, project: Project) -> str:
        """Return the command of the comparison that a page shows, or of the one that would be made."""
        runs = runs_of(project.folder, "compare")
        if runs and not self.stale(project, runs[0]):
            return runs[0].command
        return shell_command(self.compare_words(project, {"preset": [_preset(runs[0])]} if runs else {}))

    def stale(self, project: Project, run: Run) -> dict[str, Any]:
        """Return what was changed since a comparison was started, policy or description; nothing if neither."""
        now, was = project.policy(), policy_of_words(run.words)
        described = run.about.get("basis", "") not in ("", basis_of(project))
        if same_policy(now, was) and not described:
            return {}
        counted = (self.screens.checked(project) or {}).get("counted", "rows")
        return {
            "described": described,
            "was": [] if same_policy(now, was) else policy_lines(was, counted),
            "now": policy_lines(now, counted),
            # other limits are judged by the figures that are kept; another floor or table makes new releases
            "quick": run.state == "done"
            and not described
            and (now.get("k") or 5, now.get("answers", [])) == (was["k"], was["answers"]),
            "preset": _preset(run),
        }

    def compare(self, project: Project) -> dict[str, Any]:
        """The comparison: running, or its result in words and as a picture."""
        runs = runs_of(project.folder, "compare")
        latest = runs[0] if runs else None
        result = self.result(latest, project.policy()) if latest is not None and latest.state == "done" else None
        refused = _refusal(latest) if latest is not None and latest.state in ("refused", "stopped") else None
        waiting = ""
        try:
            self.refuse_open(project)
        except SfumatoError as error:
            waiting = str(error)
        return {
            **self.screens.frame(project, "compare", self.shown_command(project)),
            "run": None if latest is None else latest.to_json(),
            "result": result,
            "stale": {} if latest is None else self.stale(project, latest),
            "refused": refused,
            "unfit": _unfit(self.screens.checked(project)),
            "waiting": waiting,
            "policy": project.policy(),
            "presets": {name: _SWEEPS.get(name, preset.about) for name, preset in PRESETS.items()},
            "estimate": self.estimate(project),
            "report": (project.folder / "report.html").is_file(),
            "cannot": self.cannot(project),
            "needs": self.needs(project),
            "danger": checked if (checked := self.screens.checked(project)) and checked.get("above") else None,
        }

    def cannot(self, project: Project) -> dict[str, Any] | None:
        """Say which methods of each sweep this description does not allow, and why; None while that is worked out."""
        checked = self.screens.checked(project)
        if not checked or not checked.get("fits"):
            return {}

        def work() -> dict[str, Any]:
            schema = schema_of(project)
            return {"sweeps": {name: _unmakeable(schema, preset.mechanisms()) for name, preset in PRESETS.items()}}

        found: dict[str, Any] | None = self.screens.background.result(project, "cannot", project.digest(), work)
        return found

    def estimate(self, project: Project) -> dict[str, Any] | None:
        """Say how many releases a comparison makes and about how much memory it takes; None before the file is read."""
        from sfumato.frontiers import sweep
        from sfumato.frontiers.run import free_bytes

        checked = self.screens.checked(project)
        if not checked or not checked.get("fits"):
            return None
        one, free = int(checked.get("process_bytes", 0)), free_bytes()
        wanted = os.cpu_count() or 1
        workers = wanted if free is None or not one else min(wanted, max(free // one, 1))
        return {
            "releases": {name: len(sweep(*self._presets(project, name))) for name in PRESETS},
            "workers": workers,
            "memory": round((workers * one + int(checked.get("program_bytes", 0))) / 1e6, -1),
            "free": None if free is None else round(free / 1e6, -1),
            "rows": checked["rows"],
        }

    def result(self, run: Run, policy: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Return the releases of a finished comparison: ranked, with their place in the picture.

        Where the policy was changed since, each release is judged under the present one, by the figures that are kept.
        """
        answer = run.answer()
        if not isinstance(answer, Mapping) or "points" not in answer:
            return {
                "ok": False,
                "message": plainly(str((answer or {}).get("message", ""))),
                "hint": plainly(str((answer or {}).get("hint", ""))),
            }
        said = answer.get("recommendation") or {}
        best = {key: plainly(held) if isinstance(held, str) else held for key, held in said.items()}
        number = best.get("point")
        points = [one for one in answer["points"] if not one["failed"]]
        if policy is not None and not same_policy(policy, policy_of_words(run.words)):
            points = [{**one, "breaks": [broken(judged(policy, one))]} for one in points]
        return {
            "ok": True,
            "privacy": axis_plainly(answer["privacy"]["name"]),
            "utility": axis_plainly(answer["utility"]["name"]),
            "rows": answer.get("rows"),
            "recommendation": best,
            "best": number,
            "words": [_in_words(one) for one in _ranked(points, answer) if one["efficient"] or one["number"] == number][
                :_LISTED
            ],
            "points": [_point(one, number) for one in _ranked(points, answer)],
            "failed": _failed(answer["points"]),
            "chart": picture(
                points, axis_plainly(answer["privacy"]["name"]), axis_plainly(answer["utility"]["name"]), number
            ),
            "message": plainly(str(answer.get("message", ""))),
        }

    def point(self, project: Project, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a release of the latest comparison, and the whole answer."""
        answer = self.latest(project)
        for one_point in () if answer is None else answer["points"]:
            if one_point["number"] == number and answer is not None:
                return dict(one_point), answer
        raise ParameterError("release", number, "is not in the latest comparison", hint="compare again")

    def latest(self, project: Project) -> dict[str, Any] | None:
        """Return the answer of the latest finished comparison."""
        for run in runs_of(project.folder, "compare"):
            answer = run.answer() if run.state == "done" else None
            if isinstance(answer, Mapping) and "points" in answer:
                return dict(answer)
        return None

    def compared(self, project: Project) -> bool:
        """Say whether a comparison has ended, whatever it found."""
        return any(run.state == "done" for run in runs_of(project.folder, "compare"))

    def _first(self, project: Project, form: Fields) -> int | None:
        """Return the release that the address asks for, else the recommended one, else the first of the ranking."""
        text = one(form, "number")
        if text.isdigit() and len(text) < 7:
            return int(text)
        answer = self.latest(project)
        made = [] if answer is None else [held for held in answer["points"] if not held["failed"]]
        return int(_ranked(made, answer)[0]["number"]) if answer is not None and made else None

    def inspect(self, project: Project, number: int | None = None, *, form: Fields) -> dict[str, Any]:
        """One release: what it publishes, what it promises and does not, what it costs; beside another if asked for.

        Without a number it is the recommended one; before a comparison there is none.
        """
        number = self._first(project, form) if number is None else number
        if number is None:
            comparing = any(run.state == "running" for run in runs_of(project.folder, "compare"))
            return {
                **self.screens.frame(project, "inspect", self.shown_command(project)),
                "point": None,
                "comparing": comparing,
                "compared": self.compared(project),
            }
        point, answer = self.point(project, number)
        beside = one(form, "beside")
        other = None
        if beside.isdigit() and len(beside) < 7 and int(beside) != number:
            found = self.point(project, int(beside))[0]
            other = None if found["failed"] else found
        points = [held for held in answer["points"] if not held["failed"] and held["number"] != number]
        panel = point.get("panel", {})
        count = None
        if one(form, "ask"):
            count = _counted(self.screens, project, point, int(answer.get("seed", 0)), _where_of(form))
        return {
            **self.screens.frame(project, "inspect", self.shown_command(project)),
            "point": point,
            "best": (answer.get("recommendation") or {}).get("point"),
            "plain": method_plainly(point["mechanism"]),
            "other": other,
            "lines": _lines(point, other, answer),
            "privacy": answer["privacy"],
            "utility": answer["utility"],
            "others": [_named(held) for held in points],
            "typical": _typical(point),
            "panel": panel,
            "ask": bool(one(form, "ask")),
            "count": count,
            "columns": [_before_after(held) for held in panel.get("columns", [])],
            "claim": point.get("claim", {}),
        }


def _unmakeable(schema: Any, mechanisms: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the methods that cannot be used with a description, each once, with the reason in the words of a page."""
    import sfumato as sf

    found: dict[str, dict[str, Any]] = {}
    for mechanism in mechanisms:
        try:
            sf.plan(schema, mechanism, forecast=False)
        except SfumatoError as error:
            public = isinstance(error, sf.SchemaError)  # a range that is not public, rows of a person without a bound
            target = isinstance(error, ParameterError) and error.name == "target"
            why = "needs a column to be predicted" if target else "" if public else _why_not(error)
            held = found.setdefault(
                plain_name(mechanism) or type(mechanism).__name__, {"releases": 0, "public": public, "why": why}
            )
            held["releases"] += 1
    return [{"plain": name, **held} for name, held in found.items()]


def _why_not(error: SfumatoError) -> str:
    """Return why a method cannot be used, in the words of a page; which method it is stands beside it."""
    if not isinstance(error, ParameterError):
        return page_words(plainly(str(error)))
    return plainly(page_words(error.rule) + (f". {page_sentence(error.hint)}" if error.hint else ""))


def _named(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a list names a release: in plain words, then as the literature does."""
    plain = method_plainly(point.get("mechanism", {}))
    return {"number": point["number"], "label": f"{plain}: {point['label']}" if plain else point["label"]}


def _bought(schema: Any, name: str, mechanism: Any) -> dict[str, Any]:
    """Say what one method would do with a budget, and how wrong a reader would be."""
    import sfumato as sf

    plain = plain_name(mechanism)
    try:
        plan = sf.plan(schema, mechanism)
    except SfumatoError as error:
        return {"name": name, "plain": plain, "stages": [], "notes": [], "refused": str(error), "buys": ""}
    seen = plan.forecast
    count = "" if seen is None or not seen.count else f"A count of {seen.count:,} will be off by about {seen.off:,.0f}."
    return {
        "name": name,
        "plain": plain,
        "stages": [stage.to_json() for stage in plan.stages],
        "notes": list(plan.notes),
        "refused": "" if plan.refusal is None else str(plan.refusal),
        "buys": count,
        "forecast": "" if seen is None else seen.describe(),
    }


def _before_after(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return the places of two bars for each bin of a column: in the table, and as a reader of the release counts."""
    width, height = 440, 96
    before, after = column["before"], column["after"]
    most = max([*before, *after, 1])
    step = width / max(len(before), 1)
    marks = [
        {
            "x": round(at * step + 1, 1),
            "w": round(max(step / 2 - 1.5, 0.7), 1),
            "b": round(height * was / most, 1),
            "a": round(height * now / most, 1),
            "text": f"{name}: {was:,} in the table, {now:,.0f} in the release",
        }
        for at, (name, was, now) in enumerate(zip(column["bins"], before, after, strict=True))
    ]
    return {"name": column["name"], "moved": moved_words(column), "marks": marks, "width": width, "height": height}


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1000 else f"{value:.3g}"


def _lines(point: Mapping[str, Any], other: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> list[list[str]]:
    """Return the figures of a release, and of another beside it, one to a line."""

    def of(held: Mapping[str, Any] | None) -> dict[str, str]:
        if held is None:
            return {}
        risks = {name: spread["mean"] for name, spread in held.get("risks", {}).items()}
        first = {answer["privacy"]["name"]: held["privacy"]["mean"], **risks}
        figures = {**first, answer["utility"]["name"]: held["utility"]["mean"], **held.get("summary", {})}
        return {axis_plainly(name): _figure(value) for name, value in figures.items() if _figure(value)}

    mine, its = of(point), of(other)
    return [[name, value, its.get(name, "")] for name, value in mine.items()]


def _preset(run: Run) -> str:
    """Return which releases a comparison made."""
    words = run.words
    return words[words.index("--preset") + 1] if "--preset" in words[:-1] else "standard"


def _unfit(checked: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the first problems of a file that can be read but does not fit its description."""
    return [] if not checked or not checked["ok"] or checked["fits"] else list(checked["problems"][:_LISTED])


def _refusal(run: Run) -> dict[str, Any]:
    answer = run.answer()
    if isinstance(answer, Mapping) and answer.get("message"):
        message, _, hint = str(answer["message"]).partition(" Hint: ")
        hints = [str(answer.get("hint") or hint)]
        if problems := answer.get("problems"):  # the hint of each stands in its problem
            message = "\n".join(f"{one['path'].removeprefix('attribute.')}: {one['rule']}." for one in problems)
            hints = list(dict.fromkeys(one["hint"] for one in problems))
        return {"message": page_words(message), "hint": "\n".join(page_sentence(one) for one in hints if one)}
    with contextlib.suppress(OSError):
        lines = (run.folder / "err.txt").read_text("utf-8", "replace").strip().splitlines()
        if lines and run.state == "refused":
            return {"message": lines[-1], "hint": ""}
    return {"message": "The run ended before it was finished.", "hint": "Resume goes on with what was kept."}


def _ranked(points: Sequence[Mapping[str, Any]], answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The recommended release first, then those that keep the policy, the efficient ones before others, by utility."""
    sign = 1 if answer["utility"]["better"] == "less" else -1
    best = (answer.get("recommendation") or {}).get("point")

    def rank(one: Mapping[str, Any]) -> tuple[bool, bool, bool, float]:
        mean = one["utility"]["mean"]
        useful = sign * mean if isinstance(mean, int | float) else math.inf
        return one["number"] != best, bool(_breaks(one)), not one["efficient"], useful

    return sorted(points, key=rank)


def _failed(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return why methods could not be applied, each reason once, with the methods it holds for."""
    found: dict[str, list[str]] = {}
    for point in points:
        if point["failed"]:
            found.setdefault(plainly(point["failed"]), []).append(point["label"])
    return [{"labels": labels, "why": why} for why, labels in found.items()]


def _in_words(point: Mapping[str, Any]) -> dict[str, Any]:
    """State what a release means for the people in it and for its readers."""
    said = []
    if isinstance(point.get("people"), int) and point["form"] == "generalized":
        counted = ("person", "people") if point.get("counted") == "people" else ("row", "rows")
        said.append(f"every group has at least {count_of(point['people'], *counted)}")
    elif point.get("membership_public"):
        said.append("known columns are published exactly")
    elif point.get("drew"):
        said.append("what is published is drawn with noise")
    if point.get("typical"):
        said.append(_typical(point))
    said += _gains(point.get("risks", {}))
    text = "; ".join(said)
    return {
        "number": point["number"],
        "label": point["label"],
        "plain": method_plainly(point.get("mechanism", {})),
        "text": text[:1].upper() + text[1:] + "." if text else "",
        "breaks": _breaks(point),
    }


def _typical(point: Mapping[str, Any]) -> str:
    """Say which counts are typically how far off, in the words of a page; nothing if none was measured."""
    return plainly(typical_in_tables(point.get("typical") or {}))


_GAINS = {"inference": "guesses a private value", "membership": "tells who is in the table"}


def _gains(risks: Mapping[str, Any]) -> list[str]:
    """Say what an attacker gains, the largest of the measured gains first."""
    means = {name: (risks.get(name) or {}).get("mean") for name in _GAINS}
    found = {name: mean for name, mean in means.items() if isinstance(mean, int | float)}
    ordered = sorted(found, key=lambda name: -found[name])
    return [f"an attacker {_GAINS[name]} {_more(found[name])} often" for name in ordered]


def _more(gain: float) -> str:
    return f"{two_digits(100 * gain)} points more" if gain > 0 else "no more"


def _breaks(point: Mapping[str, Any]) -> str:
    """Say which lines of the policy a release breaks, nothing if it keeps it."""
    return plainly("; ".join(filter(None, point.get("breaks", ()))))


def _point(one: Mapping[str, Any], best: Any) -> dict[str, Any]:
    kept = ("number", "label", "family", "efficient", "promise", "promises", "form", "membership_public", "savable")
    return {
        **{name: one.get(name) for name in kept},
        "plain": method_plainly(one.get("mechanism", {})),
        "breaks": _breaks(one),
        "privacy": one["privacy"]["mean"],
        "utility": one["utility"]["mean"],
        "best": one["number"] == best,
        "people": one.get("people"),
        "counted": one.get("counted", "rows"),
        "at_least": bool(one.get("at_least")),
    }


def picture(points: Sequence[Mapping[str, Any]], x_name: str, y_name: str, best: Any) -> dict[str, Any]:
    """Return the marks of a scatter plot with their places, so that the page only draws."""
    width, height, left, bottom = 640, 380, 68, 44
    placed = [
        (one, one["privacy"]["mean"], one["utility"]["mean"])
        for one in points
        if isinstance(one["privacy"]["mean"], int | float) and isinstance(one["utility"]["mean"], int | float)
    ]
    if not placed:
        return {"marks": [], "width": width, "height": height, "x": x_name, "y": y_name, "ticks_x": [], "ticks_y": []}
    x_low, x_high = _ends([x for _, x, _ in placed])
    y_low, y_high = _ends([y for _, _, y in placed])

    def at(x: float, y: float) -> tuple[float, float]:
        inner_w, inner_h = width - left - 16, height - bottom - 12
        x, y = min(max(x, x_low), x_high), min(max(y, y_low), y_high)  # a few far away must not squeeze the rest
        return left + inner_w * (x - x_low) / (x_high - x_low), 12 + inner_h * (1 - (y - y_low) / (y_high - y_low))

    families = sorted({str(one["family"]) for one, _, _ in placed})
    plain = {str(one["family"]): method_plainly(one.get("mechanism", {})) for one, _, _ in placed}
    marks = []
    for held, x, y in placed:
        px, py = at(x, y)
        marks.append(
            {
                "number": held["number"],
                "x": round(px, 1),
                "y": round(py, 1),
                "label": held["label"],
                "family": families.index(str(held["family"])) % 10,
                "efficient": held["efficient"],
                "best": held["number"] == best,
                "far": not (x_low <= x <= x_high and y_low <= y <= y_high),
                "text": f"{held['label']}: {x_name} {x:.3g}, {y_name} {y:.3g}",
            }
        )
    line = sorted((m["x"], m["y"]) for m in marks if m["efficient"])
    return {
        "marks": marks,
        "line": " ".join(f"{x},{y}" for x, y in line),
        "width": width,
        "height": height,
        "left": left,
        "bottom": bottom,
        "x": x_name,
        "y": y_name,
        "ticks_x": [{"at": round(at(v, y_low)[0], 1), "label": f"{v:.3g}"} for v in _ticks(x_low, x_high)],
        "ticks_y": [{"at": round(at(x_low, v)[1], 1), "label": f"{v:.3g}"} for v in _ticks(y_low, y_high)],
        "families": [{"name": name, "plain": plain[name], "color": at % 10} for at, name in enumerate(families)],
    }


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return ends that hold nearly all values; one far away does not decide the scale."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    body = ordered[min(len(ordered) - 1, int(0.9 * (len(ordered) - 1)))]
    if len(ordered) > 5 and high - low > 4 * (body - low) > 0:
        high = body
    room = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return (0.0 if 0 <= low < room * 6 else low - room), high + room


def _ticks(low: float, high: float) -> list[float]:
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / 4))
    step *= next(by for by in (1, 2, 5, 10) if span / (step * by) <= 5)
    first = math.ceil(low / step) * step
    return [round(first + step * at, 12) for at in range(int((high - first) / step + 1e-9) + 1)]


# A COUNT asked of a release before it is published: what a reader would expect, beside the true count.


def _where_of(form: Fields) -> dict[str, int]:
    """Return which bin of which column the form selects: fields `where-NAME` of a form, the others any."""
    found = {}
    for name in form:
        text = one(form, name)
        if name.startswith("where-") and text.isdigit() and len(text) < 8:
            found[name.removeprefix("where-")] = int(text)
    if len(found) > _ASKED_COLUMNS:
        raise ParameterError(
            "columns", len(found), f"must be at most {_ASKED_COLUMNS} in one question", hint="ask for fewer"
        )
    return found


def _counted(screens: Screens, project: Project, point: Mapping[str, Any], seed: int, where: Mapping[str, int]) -> Any:
    """Return the columns with their bins, and the count in the table and in the release; None while it is made."""
    key = f"{project.digest()} {point['number']}"

    def tables() -> Any:
        import sfumato as sf
        from sfumato.attacks import mechanism_of
        from sfumato.estimate import exact_tables, read_tables

        table = screens.tables.table(project)
        # A draw of the comparison: it is shown to the steward alone and never saved.
        release = sf.publish(
            table, mechanism_of(point["mechanism"]), seed=seed, allow_noise=True, allow_undecided=True, allow_void=True
        )
        return exact_tables(table), read_tables(release)

    def work() -> dict[str, Any]:
        exact, read = screens.tables.held(key, tables)
        named = [name for name in exact.bins if name in read.bins]
        return {"columns": [{"name": name, "bins": list(exact.bins[name].names)} for name in named]}

    known = screens.background.result(project, "counting", f"{project.digest()}-{point['number']}", work)
    if known is None or not known["ok"]:
        return known
    sizes = {column["name"]: len(column["bins"]) for column in known["columns"]}
    wanted = {name: at for name, at in where.items() if at < sizes.get(name, 0)}
    cells = 1
    for name in wanted:
        cells *= sizes[name]
    if cells > _ASKED_CELLS:
        return {**known, "message": "These columns have too many values together. Ask for fewer."}
    exact, read = screens.tables.held(key, tables)
    places = tuple(wanted.values())
    truth = float(exact.counts(*wanted)[places]) if wanted else float(exact.weight.sum())
    released = float(read.counts(*wanted)[places]) if wanted else float(read.weight.sum())
    off = abs(released - truth)
    return {
        **known,
        "where": wanted,
        "truth": truth,
        "released": released,
        "off": off,
        "share": off / truth if truth else None,
    }
