"""What can be chosen by name: the project's own mechanisms, requirements and measures, and those of installed packages.

A third party declares an entry point in its own project file, and the name is known everywhere a name is:

    [project.entry-points."sfumato.mechanisms"]
    full-domain = "their_package:FullDomain"

Groups are `sfumato.mechanisms` (a frozen dataclass), `sfumato.requirements` (a `Requirement`, under its `label`),
`sfumato.measures` (a function of table and release) and `sfumato.attacks` (an `Attack`). `examples/plugin` is such a
package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any, NamedTuple

from sfumato.errors import ParameterError

_HEAD = re.compile(r'"""([A-Z][A-Za-z]*): (.+)')
_PLAIN = re.compile(r'^    plain: ClassVar\[str\] = "(.+)"$', re.MULTILINE)


class Head(NamedTuple):
    """What a module says first: the class in it, where that is, and what it does, in terms and in plain words."""

    target: str
    says: str
    plain: str = ""


def heads(package: str) -> dict[str, Head]:
    """Return by name what a package of ours offers, from the first lines of its files: nothing is imported.

    A file, or the file of the same name in a folder, that begins with `Class: what it does` offers that class, under
    the file's own name with dashes.
    """
    found = {}
    for entry in sorted(files("sfumato").joinpath(package).iterdir(), key=lambda one: one.name):
        name = entry.name.removesuffix(".py")
        inside = entry.joinpath(f"{name}.py") if entry.is_dir() else entry
        if not inside.name.endswith(".py") or not inside.is_file():
            continue
        text = inside.read_text("utf-8")
        head = _HEAD.match(text)
        if head:
            where = f"sfumato.{package}.{name}" + (f".{name}" if entry.is_dir() else "")
            says = head[2].strip().removesuffix('"""')
            plain = _PLAIN.search(text)
            target = f"{where}:{head[1]}"
            found[name.replace("_", "-")] = Head(target, says[0].upper() + says[1:], plain[1] if plain else "")
    return found


class Registry(Mapping[str, Any]):
    """Names and what they stand for, imported when they are first asked for.

    `own` gives for each of the project's names the thing itself, or `module:attribute` where it is defined.
    """

    def __init__(self, group: str, own: Mapping[str, Any]) -> None:
        self.group = group
        self._own = dict(own)
        self._loaded = {name: thing for name, thing in own.items() if not isinstance(thing, str)}

    @cached_property
    def third_party(self) -> dict[str, str]:
        """Where the names of installed packages are defined. A third party cannot replace a name of ours."""
        found = {point.name: point.value for point in entry_points(group=self.group)}
        return {name: value for name, value in sorted(found.items()) if name not in self._own}

    def name_of(self, thing: Any) -> str | None:
        """Return the name under which this is known, None where it has none."""
        for name in self:
            try:
                if self[name] is thing:
                    return name
            except ParameterError:  # one that cannot be imported is another
                continue
        return None

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            own = name in self._own
            self._loaded[name] = self._load(name, self._own[name] if own else self.third_party[name], own=own)
        return self._loaded[name]

    def _load(self, name: str, target: str, *, own: bool) -> Any:
        """Import what a name stands for; a package that cannot be imported is named, without a traceback."""
        module, _, attribute = target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except Exception as error:
            if own:
                raise
            rule = f"the installed package that declares it cannot be imported ({type(error).__name__})"
            raise ParameterError(name, target, rule, hint="repair or uninstall that package") from error

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self.third_party

    def __iter__(self) -> Iterator[str]:
        return iter([*self._own, *self.third_party])

    def __len__(self) -> int:
        return len(self._own) + len(self.third_party)
