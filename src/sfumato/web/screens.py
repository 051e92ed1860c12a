"""What each page shows, as plain data: the page and its `.json` are two prints of the same answer."""

from __future__ import annotations

import contextlib
import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.drafting import keys_of, look_at, preview, profiles, sheets_of, text_of
from sfumato.drafting.profile import UNREAD_TEXTS
from sfumato.errors import ParameterError, Problem, SfumatoError
from sfumato.raw_files import EXCEL, PARQUET, STATS
from sfumato.visible import operand, shell_command
from sfumato.web.background import Background, RecentTables, schema_of
from sfumato.web.cell_formats import read_as, reading_of, spelling_of_keys
from sfumato.web.edits import is_public, leaves_out
from sfumato.web.questions import ROLES, asked, asked_together, asks_who, groups_of, none_texts, open_questions
from sfumato.web.runs import Run, runs_of
from sfumato.web.workspace import Project, Workspace

STEPS = (
    ("file", "File"),
    ("person", "Who is a row"),
    ("describe", "Describe"),
    ("policy", "Policy"),
    ("compare", "Compare"),
    ("inspect", "Inspect"),
    ("publish", "Publish"),
    ("again", "Again"),
)

_MAPPED = (("file", "File"), ("map", "Map"), ("again", "Again"))  # commuting: homes, workplaces and their geography

_VALUES = 400  # values of a column that one page lists
_PROBLEMS = 50
_LINES = 40  # of a hierarchy that a page shows


def bars(profile: Mapping[str, Any], *, hidden: bool, width: int = 220, height: int = 44) -> dict[str, Any]:
    """Return the places of a small bar chart's marks; the page draws them without computing.

    Bars of a column that holds words stand in the order of their rows, also where it is now described as numbers.
    """
    found = [] if hidden else profile.get("bars", [])
    most = max([rows for _, rows in found] + [1])
    step = width / max(len(found), 1)
    marks = [
        {
            "x": round(at * step + 0.5, 2),
            "w": round(max(step - 1.5, 0.8), 2),
            "h": round(height * rows / most, 2),
            "y": round(height - height * rows / most, 2),
            "label": label,
            "rows": rows,
        }
        for at, (label, rows) in enumerate(found)
    ]
    ordered = profile.get("kind") in ("date", "number")
    return {"marks": marks, "width": width, "height": height, "rest": profile.get("rest", 0), "ordered": ordered}


class Screens:
    """Builds what each page shows of a workspace."""

    def __init__(self, workspace: Workspace, background: Background, tables: RecentTables) -> None:
        self.workspace, self.background, self.tables = workspace, background, tables

    # -- shared ------------------------------------------------------------------------------

    def words(self, project: Project, *words: str) -> list[str]:
        """Return the words of a command on the project's file, with how it is read."""
        flags: list[str] = []
        for name, value in project.options.items():
            if name == "header":
                flags.append("--header" if value else "--no-header")
            else:
                flags += [f"--{name}", str(value)]
        return ["sfumato", *words, *flags]

    def data_words(self, project: Project, *words: str, schema: bool = True) -> list[str]:
        """Return `sfumato WORDS data/FILE schema.toml` with how the file is read."""
        data = operand(str(Path("data") / project.data.name))
        return self.words(project, *words, data, *(["schema.toml"] if schema else []))

    def look(self, project: Project) -> Any:
        """Return what the file shows, None while it is being read; the first look drafts the schema."""

        def work() -> dict[str, Any]:
            seen = look_at(project.data, name=Path(project.title).stem or "table", **project.options)
            if project.schema_text() is None:
                project.write_schema(lambda now: now or seen.schema_text())
            facts = seen.seen
            return {
                "preview": preview(seen.source).to_json(),
                "profiles": [one.to_json() for one in profiles(seen)],
                "written": {name: reading_of(keys) for name, keys in _columns(seen.schema_text())},
                "read_as": seen.read_as,
                "rows": facts.rows,
                "copies": facts.copies,
                "stray": str(facts.stray) if facts.stray is not None else "",
                "repeated": [{"name": one.name, "values": one.values, "most": one.most} for one in facts.repeated],
                "related": [str(one) for one in facts.related],
                "person": seen.person,
            }

        return self.background.result(project, "look", _file_key(project), work)

    def profile(self, project: Project, look: Any, name: str, keys: Mapping[str, Any]) -> dict[str, Any]:
        """Return the profile of a column as its cells are read now; without bars while these are counted anew."""
        column = str(keys.get("column", name))
        found = next((one for one in (look or {}).get("profiles", []) if one["name"] == column), None)
        if found is None:
            return {}
        now, drafted = reading_of(keys), look.get("written", {}).get(column, "")
        if now == drafted or not all(held.startswith(("date ", "number ")) for held in (now, drafted)):
            return dict(found)

        def work() -> dict[str, Any]:
            seen = look_at(project.data, written={column: spelling_of_keys(keys)}, **project.options)
            (again,) = profiles(seen, [column])
            return again.to_json()

        units = "".join(keys.get("units", ()))
        key = hashlib.sha256(f"{_file_key(project)} {column} {now} {units}".encode()).hexdigest()[:16]
        again = self.background.result(project, "profile", key, work)
        return dict(again) if again is not None and again["ok"] else {**found, "bars": [], "rest": 0}

    def checked(self, project: Project) -> Any:
        """Return problems and dangers of the table as it is described now, None while they are worked out."""

        def work() -> dict[str, Any]:
            import sfumato as sf

            try:
                schema = schema_of(project)
            except sf.SchemaError as error:
                return {"problems": [_shown(one) for one in error.problems], "fits": False}
            problems = sf.check(project.data, schema, **project.options)
            if problems:
                shown = [_shown(one) for one in problems[:_PROBLEMS]]
                return {"problems": shown, "more": len(problems) - len(shown), "fits": False}
            table = self.tables.table(project)
            return {"fits": True, "problems": [], **_dangers(table)}

        if project.schema_text() is None:
            return None
        return self.background.result(project, "checked", project.digest(), work)

    def frame(self, project: Project, step: str, command: list[str] | str = "") -> dict[str, Any]:
        """Return what every page of a project shows."""
        text = project.schema_text()
        mapped = (project.folder / "geography.csv").is_file()
        opened = 0
        with contextlib.suppress(SfumatoError):
            opened = 0 if text is None else len(open_questions(text))
        return {
            "project": project.id,
            "title": project.title,
            "file": project.data.name,
            "step": step,
            "steps": [{"id": name, "label": label} for name, label in (_MAPPED if mapped else STEPS)],
            "command": command if isinstance(command, str) else shell_command(command),
            "open": opened,
            "described": text is not None,
        }

    def start(self) -> dict[str, Any]:
        """The first page."""
        listed = []
        for project in self.workspace.projects():
            with contextlib.suppress(OSError, ValueError, KeyError):
                listed.append(
                    {
                        "id": project.id,
                        "title": project.title,
                        "file": project.data.name,
                        "size": project.data.stat().st_size,
                        "releases": len(project.releases()),
                        "changed": project.changed_at,
                    }
                )
        return {
            "projects": listed,
            "limit": self.workspace.upload_limit,
            "accepted": [".csv", ".tsv", ".txt", ".gz", ".zst", *sorted(PARQUET | EXCEL | STATS)],
            "command": "sfumato draft FILE -o schema.toml",
            "workspace": self.workspace.folder.name,
        }

    def file(self, project: Project) -> dict[str, Any]:
        """The file as it was read, and how it could be read otherwise."""
        look, sheets = self.look(project), self._sheets(project)
        look = None if sheets is None else look
        shown = self.frame(project, "file", [*self.data_words(project, "draft", schema=False), "-o", "schema.toml"])
        suffix = project.data.suffix.lower()
        return {
            **shown,
            "look": look,
            "options": project.options,
            "text": suffix not in PARQUET | EXCEL | STATS,
            "excel": suffix in EXCEL,
            "sheets": sheets or [],
            "read_as": self._readings(project, look),
            "checked": self.checked(project) if look is not None and look["ok"] else {},
            "unread": [one for one in (look or {}).get("profiles", []) if one["unread"]],
        }

    def _sheets(self, project: Project) -> list[str] | None:
        """Return the sheets of a workbook that hold values, None while they are looked for; none of other files."""
        if project.data.suffix.lower() not in EXCEL:
            return []

        def work() -> dict[str, Any]:
            return {"names": sheets_of(project.data)}

        found = self.background.result(project, "sheets", _file_key(project), work)
        return None if found is None else found.get("names", [])

    def _readings(self, project: Project, look: Any) -> list[dict[str, Any]]:
        """Return how the columns are read that could be read another way, with the first cells as examples."""
        if look is None or not look["ok"]:
            return []
        return read_as(project.schema_text(), look["preview"]["rows"], look["preview"]["columns"])

    def person(self, project: Project) -> dict[str, Any]:
        """Who a row is about."""
        look = self.look(project)
        text = project.schema_text()
        keys = {} if text is None else keys_of(text)
        person = keys.get("person", [])
        ready = look is not None and look["ok"] and text is not None
        opened = [asked(one, keys) for one in open_questions(text)] if text is not None else []
        columns = [one["name"] for one in look["profiles"]] if ready else []
        return {
            **self.frame(project, "person", self.data_words(project, "check")),
            "look": look,
            "ready": ready,
            "keys": {name: keys.get(name) for name in ("population", "rows_per_person", "rows", "copies_are_people")},
            "person": [person] if isinstance(person, str) else list(person),
            "not_person": list(keys.get("not_person", [])),
            "columns": columns,
            "questions": [one for one in opened if not one["attribute"]],
            "checked": (checked := self.checked(project) if ready else None),
            "rows_only": text is not None and not person and keys.get("rows_per_person") is None and not asks_who(text),
            "alike": any("copies_are_people" in one["hint"] for one in _refused(checked or {})),
            "suggested": [] if person or not checked else _keys_found(checked, "as the rows of one person do"),
            "counting": [] if not checked else _keys_found(checked, "each row is counted as one"),
            "like_keys": [] if person or not checked else _keys_found(checked, "looks like the key of a person and"),
        }

    def describe(self, project: Project) -> dict[str, Any]:
        """Every column with its proposed role, and the file that says it all."""
        look, text = self.look(project), project.schema_text()
        shown = self.frame(project, "describe", self.data_words(project, "check"))
        if look is None or not look["ok"] or text is None:
            return {**shown, "look": look, "ready": False}
        held = tomllib.loads(text).get("attribute", {})
        questions: dict[str, list[dict[str, Any]]] = {}
        unread = {one["name"]: one["unread_texts"] for one in look["profiles"]}
        table = keys_of(text)
        for one in open_questions(text):
            keys = held.get(one.attribute, {}) if one.attribute else table
            texts = unread.get(str(keys.get("column", one.attribute)), ())
            questions.setdefault(one.attribute, []).append(asked(one, keys, texts))
        cards = []
        for name, keys in held.items():
            profile = self.profile(project, look, name, keys)
            hidden = keys.get("role") == "identifier"  # its bars would list people
            cards.append(
                {
                    "name": name,
                    "role": keys.get("role", "other"),
                    "kind": keys.get("kind", "nominal"),
                    "source": keys.get("source", ""),
                    "profile": profile,
                    "chart": bars(profile, hidden=hidden),
                    "missing": none_texts(keys),
                    "merged": _merged(keys),
                    "unread": _unread(profile, keys),
                    "why": [text for text in profile.get("why", []) if not text.startswith("not read: ")],
                    "questions": questions.get(name, []),
                    "summary": _summary(keys),
                    "grouped": any(key in keys for key in ("groups", "hierarchy", "mask", "intervals", "dates")),
                }
            )
        return {
            **shown,
            "look": look,
            "ready": True,
            "cards": cards,
            "roles": {name: list(words) for name, words in ROLES.items()},
            "table_questions": questions.get("", []),
            "together": asked_together(text),
            "toml": text,
            "can_undo": project.can_undo,
            "checked": self.checked(project),
        }

    def column(self, project: Project, name: str, *, form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """One column: its range, groups, spellings and texts that mean no value."""
        text = project.schema_text() or ""
        keys = keys_of(text, name)
        look = self.look(project)
        profile = self.profile(project, look, name, keys)
        query = next(iter(form.get("q", ())), "")
        values, groups, total, more = _values_of(keys, query)
        held = [label for label, _ in profile.get("bars", [])]
        questions = [
            asked(one, keys, profile.get("unread_texts", ())) for one in open_questions(text) if one.attribute == name
        ]
        return {
            **self.frame(project, "describe", self.data_words(project, "check")),
            "name": name,
            "place": list(tomllib.loads(text).get("attribute", {})).index(name) + 1,
            "keys": keys,
            "role": keys.get("role", "other"),
            "kind": keys.get("kind", "nominal"),
            "roles": {role: list(words) for role, words in ROLES.items()},
            "questions": questions,
            "profile": profile,
            "unread": _unread(profile, keys),
            "chart": bars(profile, hidden=keys.get("role") == "identifier", width=420, height=90),
            "same": _same(keys),
            "merged": _merged(keys),
            "groups": groups,
            "loose": values,
            "ungrouped": total - sum(one["size"] for one in groups),
            "total": total,
            "query": query,
            "more": more,
            "missing_texts": none_texts(keys),
            "leaves_out": leaves_out(keys),
            "public": is_public(text, keys),
            "can_undo": project.can_undo,
            "toml": text_of(text, name),
            "prefixes": _prefixes(keys, held),
            "mask_codes": _codes(keys),
            "hidden_first": _hidden_first(keys),
            "hierarchy": self._hierarchy(project, name) if "hierarchy" in keys else [],
            "checked": self.checked(project) if look is not None and look["ok"] else None,
        }

    def _hierarchy(self, project: Project, name: str) -> list[list[str]]:
        """Return the first lines of a column's hierarchy file: each value, then what it becomes."""
        import csv

        with contextlib.suppress(SfumatoError, OSError):
            lines = schema_of(project).arx_hierarchy(name).splitlines()
            return list(csv.reader(lines[:_LINES], delimiter=";"))
        return []

    def rows_of(self, project: Project, name: str) -> dict[str, int]:
        """Return how many rows have each of a column's most frequent values; nothing before the file is read."""
        column = str(keys_of(project.schema_text() or "", name).get("column", name))
        found = (self.look(project) or {}).get("profiles", [])
        return {str(label): int(rows) for one in found if one["name"] == column for label, rows in one["bars"]}

    def run(self, project: Project, name: str) -> Run:
        """Return a run of a project by its name."""
        for run in runs_of(project.folder):
            if run.name == name:
                return run
        raise ParameterError("run", name, "is not one of this project")


def _file_key(project: Project) -> str:
    """Identify a state of the file; a change in how it is read deletes what was kept."""
    stat = project.data.stat()
    return f"{stat.st_size:x}-{stat.st_mtime_ns:x}"


def _columns(text: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Return the columns of a description by their names in the file."""
    for name, keys in tomllib.loads(text).get("attribute", {}).items():
        yield str(keys.get("column", name)), keys


def _keys_found(checked: Mapping[str, Any], said: str) -> list[str]:
    """Return the columns that may be a person's key and that nobody has named, by what is said of them."""
    found = checked.get("problems") or [*checked.get("warnings", []), *_refused(checked)]
    return list(dict.fromkeys(one["path"].removeprefix("attribute.") for one in found if said in one["rule"]))


def _refused(checked: Mapping[str, Any], kind: str = "checked") -> list[dict[str, Any]]:
    """Return why publishing will be refused for what the rows are, by the kind of the claim."""
    return list(checked.get("refused", {}).get(kind, []))


def _shown(problem: Problem) -> dict[str, Any]:
    """A problem with its values: for the steward's own screen."""
    return {**problem.as_json(), "values": list(problem.values[:20])}


def _dangers(table: Any) -> dict[str, Any]:
    """What the light shows: who stands out by what others may know, and what no method makes coarser."""
    schema = table.schema
    names = [attribute.name for attribute in schema.quasi]
    found = table.fingerprints()
    alone = smallest = 0
    person = schema.unit == "person"
    keyed = person and bool(schema.person)
    unit = "people" if keyed or (person and schema.rows_per_person == 1) else "rows"
    if names:
        counts = table.counts(names)
        sizes = counts.weights
        members = table.members(names) if keyed else None
        if members is not None:
            import numpy as np

            sizes = np.bincount(members.line, minlength=len(sizes))
        smallest = int(sizes.min()) if len(sizes) else 0
        alone = int((sizes == 1).sum())
    from sfumato.frontiers.run import bytes_of_one

    return {
        "process_bytes": bytes_of_one(table),
        "program_bytes": bytes_of_one(table, panels=False),
        "rows": table.rows,
        "people": table.people,
        "left_out": table.left_out,
        "surplus": table.surplus,
        "unit": unit,
        "counted": "people" if person else "rows",
        "keyed_by": list(schema.keyed_by),
        "alone": alone,
        "smallest": smallest,
        "unchanged": list(found.unchanged),
        "alone_unchanged": found.alone,
        "how": found.how,
        # All columns together are coarser in the release.
        "fingerprints": replace(found, alone_on_all=None, people_alone_on_all=None).describe(),
        "above": found.above,
        "warnings": [one.as_json() for one in table.doubts.remarks()],
        "refused": {
            kind: [one.as_json() for one in table.doubts.key_refusals(proved=kind == "proved")]
            for kind in ("proved", "checked")
        },
        "remarks": [one.as_json() for one in schema.remarks()],
        "quasi": names,
        "ungrouped": [attribute.name for attribute in schema.quasi if attribute.grouped_by_list],
        "sensitive": [attribute.name for attribute in schema.sensitive],
    }


def _same(keys: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the other spellings of each value."""
    held = keys.get("same")
    given = held.items() if isinstance(held, Mapping) else ()
    return {str(kept): [str(text) for text in texts] for kept, texts in given}


def _merged(keys: Mapping[str, Any]) -> int:
    """Return how many values are left where several spellings are read as one; 0 if none are."""
    return sum(map(len, groups_of(keys).values())) if _same(keys) else 0


def _unread(profile: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    """Return the lines of cells that are not read; none once the description says what each of them means."""
    told = {*none_texts(keys), *(text for held in _same(keys).values() for text in held)}
    texts = profile.get("unread_texts", [])
    settled = 0 < len(texts) < UNREAD_TEXTS and told.issuperset(texts)  # there may be more than are listed
    return "" if settled else str(profile.get("unread", ""))


def _summary(keys: Mapping[str, Any]) -> str:
    """How a column is made coarser, in a few words."""
    if "groups" in keys:
        return f"{len(keys['groups'])} groups"
    if "hierarchy" in keys:
        return "hierarchy"
    if "mask" in keys:
        return f"digits hidden from the {_hidden_first(keys)}"
    if "intervals" in keys:
        return f"intervals of {', '.join(map(str, keys['intervals']))}"
    if "dates" in keys:
        return f"by {', '.join(map(str, keys['dates']))}"
    if "range" in keys:
        step = f" in steps of {keys['step']}" if "step" in keys else ""
        return f"{keys['range'][0]} to {keys['range'][1]}{step}"
    if "values" in keys and isinstance(keys["values"], list):
        return f"{len(keys['values'])} values, no groups"
    return ""


def _hidden_first(keys: Mapping[str, Any]) -> str:
    """Return at which end of a code its digits are hidden first."""
    mask = keys.get("mask")
    return "front" if isinstance(mask, Mapping) and mask.get("from") == "left" else "end"


def _prefixes(keys: Mapping[str, Any], values: Sequence[str]) -> list[str]:
    """Return how a code becomes coarser, digit by digit, on a code of the file."""
    mask = keys.get("mask")
    length = mask.get("length") if isinstance(mask, Mapping) else None
    code = next((value for value in values if len(value) == length), None)
    if code is None or not isinstance(mask, Mapping):
        return []
    left = _hidden_first(keys) == "front"
    return [("*" * at + code[at:]) if left else (code[: len(code) - at] + "*" * at) for at in range(len(code) + 1)]


def _codes(keys: Mapping[str, Any]) -> int:
    """Return how many codes a mask of digits allows; 0 if it has another alphabet."""
    mask = keys.get("mask")
    if not isinstance(mask, Mapping) or "alphabet" in mask:
        return 0
    return int(10 ** mask.get("length", 0))


def _values_of(keys: Mapping[str, Any], query: str) -> tuple[list[str], list[dict[str, Any]], int, int]:
    """Return values in no group, the groups with theirs, how many values there are, and how many fit and are left out.

    Of each group, and of the values in none, as many are returned as one page lists.
    """
    named = groups_of(keys)
    loose = [name for name, held in named.items() if held == [name]]
    wanted = query.casefold()

    def fitting(texts: list[str]) -> list[str]:
        return [text for text in texts if wanted in text.casefold()]

    found = {name: fitting(held) for name, held in named.items() if held != [name]}
    alone = fitting(loose)
    listed = [{"name": name, "values": texts[:_VALUES], "size": len(named[name])} for name, texts in found.items()]
    more = sum(max(0, len(texts) - _VALUES) for texts in (alone, *found.values()))
    return alone[:_VALUES], listed, sum(map(len, named.values())), more
