# ruff: noqa: INP001
"""Pages that are written by the code they describe: commands, mechanisms, claims, schema files, the Python names.

`make pages` (or `python docs/generate.py`) writes those that are kept in the repository; a test fails when one is
stale. The pages of Python names are written anew by every build of the site and are not kept.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

import sfumato as sf
from sfumato.claims import GUARANTEES, REQUIREMENTS
from sfumato.cli.main import COMMANDS, app
from sfumato.mechanisms import REGISTRY
from sfumato.schema.toml_models import REFERENCE

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py (make pages). Change the code, not this page. -->\n"
LABELS = ("Source", "Claim", "Because", "Checked", "Silent on", "Cost")
_LABELLED = re.compile(rf"^({'|'.join(LABELS)}) +", re.MULTILINE)
# Formulas that stand in modules of their own, for checking a number by hand.
FORMULAS = (
    "sfumato.mechanisms.diffgen",
    "sfumato.mechanisms.dlink",
    "sfumato.measures.distances",
    "sfumato.commuting.prior",
    "sfumato.randomness",
    "sfumato.ledger",
    "sfumato.measures",
)
WIDTH = 80  # of a terminal, and of what a page shows without scrolling
KINDS = (
    ("Verbs", inspect.isfunction),
    ("Methods", lambda thing: thing in REGISTRY.values()),
    ("Requirements", lambda thing: thing in REQUIREMENTS.values()),
    ("Guarantees and claims", lambda thing: getattr(thing, "__module__", "").startswith("sfumato.claims")),
    ("Errors", lambda thing: isinstance(thing, type) and issubclass(thing, Exception)),
    ("Values", lambda thing: isinstance(thing, type)),
)


def kept_pages() -> dict[str, str]:
    """Return the pages of the repository that are written here: path below docs -> text."""
    found = {"reference/commands.md": commands(), "reference/claims.md": claims(), "reference/schema.md": schema()}
    found |= {f"mechanisms/{name}.md": mechanism(name, kind) for name, kind in REGISTRY.items()}
    found["mechanisms/index.md"] = mechanism_index()
    return {name: text if text.endswith("\n") else f"{text}\n" for name, text in found.items()}


def built_pages() -> dict[str, str]:
    """Return the pages that only the site has."""
    return api()


# --- commands -----------------------------------------------------------------------------------------------------


def commands() -> str:
    """Return the help of every command, as the terminal shows it."""
    parts = [
        NOTE,
        "# Commands\n",
        (
            "Every command has `--help` with an example, and `--json` for one machine-readable object. Exit codes: 0 "
            "success, 2 invalid input, 3 the claim does not hold or cannot be reached.\n"
        ),
    ]
    for path, command in _every_command():
        heading = "#" * len(path)  # commands below the title, their subcommands below them
        parts.append(f"{heading} {' '.join(path)}\n\n```text\n{_help(path, command)}\n```\n")
    return "\n".join(parts)


def _every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    top = click.Context(app, info_name="sfumato")
    for name in COMMANDS:
        command = app.get_command(top, name)
        assert command is not None
        yield ("sfumato", name), command
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=top)
            for below in command.list_commands(inner):
                part = command.get_command(inner, below)
                assert part is not None
                yield ("sfumato", name, below), part


def _help(path: tuple[str, ...], command: click.Command) -> str:
    parent = click.Context(app, info_name=" ".join(path[:-1]), **app.context_settings)
    return command.get_help(click.Context(command, info_name=path[-1], parent=parent, terminal_width=WIDTH)).rstrip()


# --- docstrings ---------------------------------------------------------------------------------------------------


def labelled(text: str) -> tuple[str, dict[str, str]]:
    """Divide a module's docstring into what stands before its labelled lines, and those."""
    pieces = _LABELLED.split(text)
    found = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    return pieces[0].strip(), {name: _flowing(said) for name, said in found.items()}


def _flowing(text: str) -> str:
    first = text.strip().split("\n\n")[0]
    return " ".join(line.strip() for line in first.splitlines())


def _safe(text: str) -> str:
    """Keep stars and angle brackets of formulas as they are, outside code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*<|\\])", r"\\\1", part).replace("\\|", "|") for part in parts
    )


def _linked(text: str) -> str:
    """Turn names of theory pages, and of headings on them, into links."""

    def link(found: re.Match[str]) -> str:
        page, heading = found[1], found[2]
        said = heading.removeprefix("#").replace("-", " ") if heading else f"theory of {page}"
        return f"[{said}](../theory/{page}.md{heading or ''})"

    text = re.sub(r"docs/theory/([\w-]+)\.md(#[\w-]+)?", link, text)
    return re.sub(r"docs/([\w-]+)\.md", lambda found: f"[{found[1].replace('-', ' ')}](../{found[1]}.md)", text)


def _labelled_section(text: str) -> list[str]:
    titles = {
        "Claim": "What it promises.",
        "Because": "Why that is so.",
        "Silent on": "It is silent on",
        "Cost": "Cost.",
        "Source": "Source.",
    }
    _, said = labelled(text)
    parts = [
        f"**{title}** {_linked(_safe(_opening(name, said[name])))}\n" for name, title in titles.items() if name in said
    ]
    if "Checked" in said:
        tests = ", ".join(f"`{test}`" for test in said["Checked"].split())
        parts.append(f"**Checked by** {tests}.\n")
    return parts


def _opening(label: str, text: str) -> str:
    return text if label == "Silent on" else _sentence(text)


def _sentence(text: str) -> str:
    """Begin with a capital, unless the first word is a symbol or a name followed by a colon."""
    first = text.partition(" ")[0]
    return text if first.startswith("epsilon") or first.endswith(":") else text[:1].upper() + text[1:]


# --- mechanisms and claims ----------------------------------------------------------------------------------------


def mechanism(name: str, kind: Any) -> str:
    """Return the page of one mechanism, from its module's docstring and its parameters."""
    module = inspect.getmodule(kind)
    opening, said = labelled(inspect.getdoc(module) or "")
    lacking = [label for label in LABELS if label not in said]
    if lacking:
        raise ValueError(f"the docstring of {name}'s module has no line {', '.join(lacking)}")
    title, _, rest = opening.partition(": ")
    parts = [NOTE, f"# {title}\n", f"{_sentence(_safe(_flowing(rest or opening)))}\n", *_begin(name), *_call(kind)]
    parts += _formula(name)
    parts += _labelled_section(inspect.getdoc(module) or "")
    used = f"`sfumato publish {name}`" if name in _published() else None
    used = "`sfumato synthesize`" if name == "synthesize" else used
    if used:
        parts.append(f"On the command line: {used}; see [the commands](../reference/commands.md).\n")
    parts.append(f"In a terminal: `sfumato explain {name}`.\n")
    return "\n".join(parts)


def _begin(name: str) -> list[str]:
    """What a reader of the page should take before anything else on it, where there is such a thing."""
    said = tomllib.loads((DOCS / "formulas.toml").read_text("utf-8")).get(name, {})
    return [f"{said['begin']}\n"] if "begin" in said else []


def _formula(name: str) -> list[str]:
    said = tomllib.loads((DOCS / "formulas.toml").read_text("utf-8")).get(name)
    return (
        []
        if said is None
        else [f"**Formula.**\n\n```text\n{said['formula'].strip()}\n```\n", f"{_safe(said['where'])}\n"]
    )


def _published() -> set[str]:
    return {path[2] for path, _ in _every_command() if path[:2] == ("sfumato", "publish") and len(path) == 3}


def _call(kind: Any) -> list[str]:
    about = inspect.getdoc(kind) or ""
    first, _, rest = about.partition("\n\n")
    parts = [f"```text\n{_wrapped(kind.__name__ + _signature(kind))}\n```\n", f"{_safe(first)}\n"]
    if rest.strip():
        parts.append(_prose(rest))
    return parts


def _prose(text: str) -> str:
    """Turn a docstring into markdown: paragraphs, lists of `name   what it does`, and what is typed into Python."""
    parts = []
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.startswith(">>> "):
            parts.append(f"```pycon\n{part}\n```")
        elif re.match(r"\w+(?:, \w+)* {2,}\S", part):
            parts.append(_parameters(part))
        else:
            parts.append(_safe(_flowing(part)))
    return "\n\n".join(parts) + "\n"


def _parameters(text: str) -> str:
    """Turn lines of the form `name   what it does` into a list."""
    items: list[str] = []
    for line in text.splitlines():
        named = re.match(r"(\w+(?:, \w+)*) {2,}(\S.*)", line)
        if named:
            items.append(f"- `{named[1]}`: {_safe(named[2])}")
        elif line.strip():
            items[-1] += f" {_safe(line.strip())}"
    return "\n".join(items)


def _wrapped(call: str) -> str:
    """Break a long call between its parameters, so that it needs no scrolling."""
    call = re.sub(r"=(\"[^\"]{40,}\"|'[^']{40,}')", '="..."', call)
    if len(call) <= WIDTH:
        return call
    name, _, rest = call.partition("(")
    inside, _, after = rest.rpartition(")")
    lines = textwrap.wrap(_glued(inside), WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    body = "\n".join(f"    {line}" for line in lines).replace("\u00a0", " ")
    return f"{name}(\n{body}\n){after}"


def _glued(inside: str) -> str:
    """Keep a parameter together: blanks that do not follow a comma at the outermost level do not break."""
    depth, kept = 0, []
    for at, letter in enumerate(inside):
        depth += (letter in "([{") - (letter in ")]}")
        breaks = letter == " " and depth == 0 and inside[at - 1] == ","
        kept.append("\u00a0" if letter == " " and not breaks else letter)
    return "".join(kept)


def _signature(thing: Any) -> str:
    """Return the parameters with their defaults, without annotations: those are on the page of Python names."""
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(...)"
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in given.parameters.values()]
    text = str(given.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"Fraction\((\d+), (\d+)\)", r"\1/\2", text)


def mechanism_index() -> str:
    """Return the list of mechanisms."""
    lines = []
    for name, kind in REGISTRY.items():
        opening, _ = labelled(inspect.getdoc(inspect.getmodule(kind)) or "")
        title, _, rest = opening.partition(": ")
        lines.append(f"- [{title}]({name}.md): {_safe(_flowing(rest))}")
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *REGISTRY, "```"])
    said = "One page for each method: what it promises and why, what it does not, what it costs, where it comes from."
    return "\n".join([NOTE, "# Methods\n", f"{said}\n", *lines, "", toctree])


def claims() -> str:
    """Return every requirement and guarantee with its formula."""
    parts = [
        NOTE,
        "# Claims\n",
        (
            "What a release may promise. Requirements are checked on the published file by anyone; guarantees are "
            "proved for the mechanism and cannot be read off a file. Requirements are joined with `&`.\n"
        ),
    ]
    for title, names in (("Requirements", REQUIREMENTS), ("Guarantees", GUARANTEES)):
        parts.append(f"## {title}\n")
        shown: set[str] = set()
        for name, kind in names.items():
            module = inspect.getmodule(kind)
            parts += [f"### {name}\n", *_call(kind)]
            if module is not None and module.__name__ not in shown:
                parts += _labelled_section(inspect.getdoc(module) or "")
                shown.add(module.__name__)
            elif module is not None:
                first = next(other for other, its in names.items() if inspect.getmodule(its) is module)
                parts.append(f"Stated and checked together with `{first}` above.\n")
    return "\n".join(parts)


def schema() -> str:
    """Return the keys of a schema file."""
    return (
        f"{NOTE}\n# Schema files\n\nThe same text as `sfumato explain schema`.\n\n```text\n{REFERENCE.rstrip()}\n```\n"
    )


# --- Python names -------------------------------------------------------------------------------------------------


def api() -> dict[str, str]:
    """Return every public name with its parameters and docstring: a page for each kind, and a list of them."""
    left = {name: getattr(sf, name) for name in sf.__all__}
    found: dict[str, tuple[str, list[str]]] = {}
    for title, belongs in KINDS:
        chosen = {name: thing for name, thing in left.items() if not isinstance(thing, ModuleType) and belongs(thing)}
        left = {name: thing for name, thing in left.items() if name not in chosen}
        said = [part for name, thing in chosen.items() for part in _entry(f"sf.{name}", thing, depth=2)]
        found[_page_name(title)] = (title, said)
    for name, thing in left.items():
        found[_page_name(name)] = (f"sf.{name}", _room(thing))
    for name in FORMULAS:
        found[_page_name(name)] = (name, _room(import_module(name)))
    pages = {
        f"reference/api/{page}.md": "\n".join([NOTE, f"# {title}\n", *said]) for page, (title, said) in found.items()
    }
    return {"reference/api.md": _api_index(found)} | pages


def _api_index(found: dict[str, tuple[str, list[str]]]) -> str:
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *(f"api/{page}" for page in found), "```"])
    lines = []
    for page, (title, said) in found.items():
        names = [line[3:].strip() for part in said for line in part.splitlines() if line.startswith("## ")]
        lines.append(f"- [{title}](api/{page}.md): " + ", ".join(f"`{name}`" for name in names))
    return "\n".join(
        [
            NOTE,
            "# Python names\n",
            "`import sfumato as sf`; what begins with `sf.` is found there.\n",
            *lines,
            "",
            toctree,
            "",
        ]
    )


def _page_name(title: str) -> str:
    return re.sub(r"\W+", "-", title.removeprefix("sfumato.").lower())


def _room(module: ModuleType) -> list[str]:
    parts = [f"{_safe(_flowing(inspect.getdoc(module) or ''))}\n"]
    for name in _public(module):
        thing = getattr(module, name)
        if inspect.isfunction(thing) or isinstance(thing, type):
            parts += _entry(name, thing, depth=2)
    return parts


def _public(module: ModuleType) -> list[str]:
    """Return the names a package exports, or those without an underscore that a module defines."""
    defined = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
    return getattr(module, "__all__", sorted(name for name in defined if not name.startswith("_")))


def _entry(shown: str, thing: Any, *, depth: int) -> list[str]:
    """Return one name: its call, what it is, and, of a class, what can be asked of it."""
    about = inspect.getdoc(thing) or ""
    call = f"{shown}{inspect.signature(thing)}" if inspect.isfunction(thing) else f"{shown}{_signature(thing)}"
    call = re.sub(r"<function (\w+) at \w+>", r"\1", call)
    call = call.replace("'", "") if inspect.isfunction(thing) else call
    parts = [f"{'#' * depth} {shown}\n", f"```text\n{_wrapped(call)}\n```\n", _prose(about) if about else ""]
    if isinstance(thing, type) and not issubclass(thing, Exception):
        rows = [f"- `{name}`: {_safe(line)}" for name, line in _members(thing)]
        parts += ["\n".join(rows) + "\n"] if rows else []
    return parts


def _members(kind: type) -> Iterator[tuple[str, str]]:
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(inner):
            yield f"{name}()", _first(inner)
        elif isinstance(inner, property):
            yield name, _first(inner.fget)


def _first(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def write(pages: dict[str, str]) -> list[str]:
    """Write pages that differ from what is there; return their names."""
    changed = []
    for name, text in pages.items():
        target = DOCS / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8")
            changed.append(name)
    return changed


if __name__ == "__main__":
    for written in write(kept_pages()):
        sys.stdout.write(f"wrote docs/{written}\n")
