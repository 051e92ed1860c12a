"""What the forms do: one change of a project, or one command started. Each returns where to go next, None for back."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from sfumato.drafting import changed, decisions, keys_of, look_at
from sfumato.drafting.infer_formats import Spelling
from sfumato.errors import NOTHING, ParameterError
from sfumato.release.atomic import write_whole
from sfumato.web import edits
from sfumato.web.budget import population
from sfumato.web.cell_formats import as_dates, reading
from sfumato.web.choosing import Choosing
from sfumato.web.edits import Fields, one, whole
from sfumato.web.policies import basis_of
from sfumato.web.publishing import Publishing
from sfumato.web.questions import groups_of
from sfumato.web.runs import started_once
from sfumato.web.screens import Screens
from sfumato.web.workspace import Project, safe_name

Names = Mapping[str, str]  # what the address names: a column, a run


class Actions:
    """The forms of all pages."""

    def __init__(self, screens: Screens, choosing: Choosing, publishing: Publishing) -> None:
        self.screens, self.choosing, self.publishing = screens, choosing, publishing

    # -- the file and its description -----------------------------------------------------------

    def set_options(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Read the file another way."""
        marks = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
        header = {"yes": True, "no": False}.get(one(form, "header"))
        given = one(form, "delimiter")
        options = {
            "delimiter": marks.get(given) or None,
            "encoding": one(form, "encoding") or None,
            "header": header,
            "sheet": one(form, "sheet") or None,
        }
        project.set_options(options)
        return None

    def set_reading(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Read the cells of a column another way."""

        def described(column: str, spelling: Any, role: Any) -> str:
            return look_at(project.data, written={column: spelling}, **project.options).attribute_text(column, role)

        project.write_schema(reading(form, described))
        return None

    def set_person(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Say who a row is about."""
        project.write_schema(edits.person(form))
        return f"/p/{project.id}/describe" if one(form, "next") else None

    def not_person(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Say that a column identifies a household or another group."""
        project.write_schema(edits.not_person(form))
        return None

    def not_count(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Say that a column counts something else than people."""
        project.write_schema(edits.not_count(form))
        return None

    def set_roles(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Give columns a role."""
        project.write_schema(edits.roles(form, self._described(project)))
        return None

    def set_ranges(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Give several columns of numbers the same ends and steps."""
        project.write_schema(edits.ranges(form))
        return None

    @staticmethod
    def _described(project: Project) -> Callable[[str, Any], str]:
        """Return what gives the table of a column as it would be drafted in a role; the file is looked at once."""

        @cache
        def look() -> Any:
            return look_at(project.data, **project.options)

        return lambda name, role: str(look().attribute_text(name, role))

    def answer(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Close one question."""
        project.write_schema(edits.answer(form))
        return None

    def answers(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Close every question about some columns."""
        project.write_schema(edits.answers(form))
        return None

    def answer_same(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Close one and the same question of several columns."""
        project.write_schema(edits.answer_same(form))
        return None

    def merge_alike(self, project: Project, form: Fields, names: Names) -> str | None:
        """Read spellings that differ only in case as one value."""
        project.write_schema(edits.merge_alike(names["name"], form, self.screens.rows_of(project, names["name"])))
        return None

    def as_numbers(self, project: Project, form: Fields, names: Names) -> str | None:
        """Read a column as numbers; the few words among them mean no value."""
        project.write_schema(edits.as_numbers(names["name"], form))
        return None

    def as_dates(self, project: Project, _form: Fields, names: Names) -> str | None:
        """Read a column as dates; the few cells that are not dates mean no value."""

        def described(column: str, form: str) -> str:
            first = look_at(project.data, **project.options)
            odd = next(one.unread for one in first.facts if one.name == column)
            seen = look_at(project.data, written={column: Spelling(form or None, strays=odd)}, **project.options)
            role = keys_of(project.schema_text() or "", names["name"]).get("role", "other")
            if role not in ("quasi", "sensitive", "target"):  # proposed of texts, not of dates
                role = next(one.role for one in seen.proposals if one.name == column)
            return str(seen.attribute_text(column, role))

        project.write_schema(as_dates(names["name"], described))
        return None

    def undo(self, project: Project, _form: Fields, _names: Names) -> str | None:
        """Take the last change back."""
        project.undo()
        return None

    def set_schema(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Take the whole description as it was typed; what cannot be read changes nothing."""
        text = form.get("toml", [""])[0].replace("\r\n", "\n")
        decisions(text)
        project.write_schema(lambda _: text)
        return None

    def set_keys(self, project: Project, form: Fields, names: Names) -> str | None:
        """Set what the form of one column holds."""
        project.write_schema(edits.own_keys(names["name"], form, self._described(project)))
        return None

    def group(self, project: Project, form: Fields, names: Names) -> str | None:
        """Move values into a group."""
        project.write_schema(edits.group(names["name"], form))
        return None

    def ungroup(self, project: Project, form: Fields, names: Names) -> str | None:
        """Take values out of their group."""
        project.write_schema(edits.ungroup(names["name"], form))
        return None

    def merge(self, project: Project, form: Fields, names: Names) -> str | None:
        """Read several spellings as one value."""
        project.write_schema(edits.merge(names["name"], form))
        return None

    def take_hierarchy(self, project: Project, name: str, body: bytes) -> None:
        """Use an ARX file as a column's hierarchy; one that cannot be read changes nothing."""
        import sfumato as sf

        try:
            text = body.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ParameterError("hierarchy", name, "is not UTF-8 text", hint="save it as UTF-8") from None
        path = f"hierarchies/{safe_name(name)}.csv"
        place = project.inside(path)
        before = place.read_text("utf-8") if place.is_file() else None
        write_whole(place, text, mode=0o600)
        keys = {"hierarchy": path, "groups": None, "values": None, "mask": None, "intervals": None}
        after = changed(project.schema_text() or "", keys, attribute=name, closes=["groups", "mask"])
        try:
            import tomllib

            lines = sf.Schema.parse(tomllib.loads(after), folder=project.folder).arx_hierarchy(name).splitlines()
            known = {value for held in groups_of(keys_of(project.schema_text() or "", name)).values() for value in held}
            if known and known.isdisjoint(line[0] for line in csv.reader(lines, delimiter=";") if line):
                hint = "each line is a value of the column, then what it becomes, step by step"
                raise ParameterError("hierarchy", name, "holds none of the column's values", hint=hint)
        except sf.SfumatoError:
            if before is None:
                place.unlink(missing_ok=True)
            else:
                write_whole(place, before, mode=0o600)
            raise
        project.write_schema(partial(changed, keys=keys, attribute=name, closes=["groups", "mask"]))

    # -- policy, comparison, release ------------------------------------------------------------

    def set_policy(self, project: Project, form: Fields, _names: Names) -> str | None:
        """State what a release must keep."""
        project.set_policy(self.choosing.policy_of(form))
        return f"/p/{project.id}/compare" if one(form, "next") else None

    def start_compare(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Start a comparison."""
        self.choosing.refuse_open(project)
        with project.locked():
            started_once(
                project.folder,
                "compare",
                lambda: self.choosing.compare_words(project, form),
                edits.entered(form),
                basis=basis_of(project),
            )
        return None

    def cancel(self, project: Project, _form: Fields, names: Names) -> str | None:
        """End a run."""
        self.screens.run(project, names["run"]).cancel()
        return None

    def resume(self, project: Project, _form: Fields, names: Names) -> str | None:
        """Go on with a run that was ended."""
        with project.locked():
            self.screens.run(project, names["run"]).resume()
        return None

    def start_publish(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Publish: one command, started once."""
        if one(form, "basis") not in ("", basis_of(project)):
            rule = "the table was described in another way while this page was open"
            raise ParameterError("release", NOTHING, rule, hint="read the checklist again, and confirm it")
        if one(form, "confirm") != "yes":
            raise ParameterError(
                "confirm", NOTHING, "the release is not confirmed", hint="tick the box that confirms it"
            )
        stated = self.publishing.stated(project, form)
        if stated["breaks"] and not one(form, "allow-policy"):
            hint = "tick the box to publish it anyway, or choose another release"
            raise ParameterError("release", NOTHING, f"it breaks your policy: {stated['breaks']}", hint=hint)
        self.publishing.refuse_over(project, form)
        with project.locked():  # a second click waits here, then finds the run of the first, or its folder
            started_once(
                project.folder,
                "publish",
                lambda: self.publishing.words(project, form),
                edits.entered(form),
                release=safe_name(one(form, "name") or self.publishing.free(project)),
                **stated,
            )
        return None

    def set_limit(self, project: Project, form: Fields, _names: Names) -> str | None:
        """Set how much may be spent about a population."""
        import sfumato as sf

        sf.Ledger(project.ledger).limit(population(project), one(form, "epsilon"), one(form, "delta") or 0)
        return None

    def page(self, form: Fields) -> int:
        """Return which page of a list the form selects."""
        return whole(form, "page") or 1
