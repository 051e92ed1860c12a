"""`sfumato attack`: one subcommand for each attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import completed_by, file_options, given_options, json_option, refuse_target
from sfumato.cli.output import emit, say, say_lines, show_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.attacks import Composition, Suite
    from sfumato.release.atomic import NewFile


@click.group(short_help="Find out what attackers gain from releases.")
def attack() -> None:
    """Attack releases as an outsider would. Results are confidential: they speak about the original.

    Example: sfumato attack all out/ --data made-of.csv --schema patients.toml --control others.csv

    Example: sfumato attack composition a/ b/ --victims people.csv
    """


def _attacks() -> list[str]:
    from sfumato.attacks import REGISTRY

    return list(REGISTRY)


@attack.command("all", short_help="Every attack that fits, ranked by what it gains.")
@click.argument("releases", nargs=-1, required=True, type=click.Path())
@click.option("--data", required=True, type=click.Path(), help="The table the releases were made from.")
@click.option("--schema", required=True, type=click.Path(), help="Schema of all files.")
@click.option("--control", type=click.Path(), help="People of the same population who are in no release.")
@click.option(
    "--again",
    is_flag=True,
    help="Run the release's own mechanism on half of the data; the other half is the control. A rehearsal.",
)
@click.option(
    "--attack",
    "names",
    multiple=True,
    shell_complete=completed_by(_attacks),
    help="One attack by name; may be repeated.",
)
@click.option(
    "--knows", multiple=True, help="A quasi-identifier that the attacker knows; all unless named. Repeatable."
)
@click.option(
    "--attribute", help="The confidential attribute; all sensitive ones unless named, and the worst is shown."
)
@click.option("--population", type=click.Path(), help="A list of people of whom the data are a part (journalist risk).")
@click.option("--groups", help="Column of group numbers in tables where values are linked to groups only.")
@click.option(
    "--counts", help="For a table that is not a saved release: the column that says how many rows a line stands for."
)
@click.option("--seed", default=0, show_default=True, help="Seed that decides who is in a sample of many people.")
@file_options
@json_option
def every(releases: tuple[str, ...], data: str, schema: str, **options: Any) -> None:
    """Run every attack on releases, ours or anyone's files, and rank them by what the attacker gains.

    The gain is how much more often an attack succeeds on people in the data than on the control, people of the same
    population of whom the release knows nothing: what is true of everybody does not count.

    Example: sfumato attack all out/ --data made-of.csv --schema patients.toml --control others.csv

    Example: sfumato attack all out/ --data patients.csv --schema patients.toml --again
    """
    import sfumato as sf
    from sfumato.frontiers.progress import progress_of

    described = sf.Schema.load(schema)
    given = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header", "sheet")})

    def table(path: str | None) -> Any:
        return None if path is None else sf.read(path, described, **given)

    paths = sf.attacks.release_paths(releases, described)
    opened = sf.attacks.open_releases(paths, described, groups=options["groups"], counts=options["counts"])
    knowledge = sf.attacks.Knowledge(
        options["knows"] or None, attribute=options["attribute"], population=table(options["population"])
    )
    with progress_of(not options["as_json"]) as progress:
        found = sf.attacks.attack_all(
            opened,
            table(data),
            table(options["control"]),
            attacks=options["names"] or None,
            knowledge=knowledge,
            again=sf.attacks.mechanism_of(opened[-1].mechanism) if options["again"] else None,
            seed=options["seed"],
            progress=progress,
        )
    named = {f"release {at}": str(path) for at, path in enumerate(paths, 1)} if len(paths) > 1 else {}
    if options["as_json"]:
        emit({"ok": True, **found.to_json(), **({"releases": named} if named else {})})
    else:
        _show(found, named)


def _show(found: Suite, named: Mapping[str, str]) -> None:
    """Print which release is which, the table, then each attack in a sentence with what would stop it."""
    import math

    from sfumato.attacks.base import percent

    for which, path in named.items():
        say(f"{which.capitalize()}: {path}")
    rows = []
    for gain in found.gains:
        low, high = gain.interval
        points = "unknown" if math.isnan(gain.value) else f"{100 * gain.value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        others = "" if gain.controls is None else percent(gain.controls.rate)
        about = gain.attribute or ""
        rows.append((gain.name, about, points, percent(gain.targets.rate), others, percent(gain.baseline.rate)))
    show_table(rows, heads=("attack", "about", "gain, points", "in the table", "others", "guess"), right=(2, 3, 4, 5))
    say_lines(f"\n{found.describe()}")


@attack.command()
@click.argument("releases", nargs=-1, required=True, type=click.Path())
@click.option("--victims", required=True, type=click.Path(), help="People who are in all releases, one row each.")
@click.option("--control", type=click.Path(), help="People who are in one of the releases only.")
@click.option("--schema", type=click.Path(), help="Schema of all files; the first folder's own unless given.")
@click.option(
    "--attribute", help="The confidential attribute; all sensitive ones unless named, and the worst is shown."
)
@click.option(
    "--knows", multiple=True, help="A quasi-identifier that the attacker knows; all unless named. Repeatable."
)
@click.option("--d", default=4, show_default=True, help="Fewer than d values left count as a breach.")
@click.option(
    "--prior",
    type=click.Choice(["local", "overall", "uniform"]),
    default="local",
    show_default=True,
    help="What classes are compared with to weigh the values left.",
)
@click.option("--groups", help="Column of group numbers in tables where values are linked to groups only.")
@click.option(
    "--counts", help="For a table that is not a saved release: the column that says how many rows a line stands for."
)
@click.option("--records", type=click.Path(), help="Write a CSV file with a line for each victim (confidential).")
@file_options
@json_option
def composition(releases: tuple[str, ...], victims: str, control: str | None, **options: Any) -> None:
    """Keep, for each victim, the values that all releases allow: folders of ours, or anyone's CSV.

    The victims' file has the quasi-identifiers, or those of them that are known (--knows), and, to judge the attack,
    the true values.

    Example: sfumato attack composition a/ b/ --victims people.csv --control others.csv
    """
    from contextlib import nullcontext

    import sfumato as sf
    from sfumato.release.atomic import NewFile

    refuse_target("records", options["records"], new=True)
    schema = None if options["schema"] is None else sf.Schema.load(options["schema"])
    opened = sf.attacks.open_releases(releases, schema, groups=options["groups"], counts=options["counts"])
    known = schema or opened[0].schema
    given = given_options(**{name: options[name] for name in ("delimiter", "encoding", "header", "sheet")})
    given |= {"known": options["knows"] or None, "releases": opened}
    with NewFile(options["records"], option="records") if options["records"] else nullcontext() as records:
        found = sf.attacks.composition(
            opened,
            sf.attacks.read_victims(victims, known, **given),
            control=None if control is None else sf.attacks.read_victims(control, known, **given),
            d=options["d"],
            attribute=options["attribute"],
            prior=options["prior"],
        )
        if records is not None:
            _write_records(found, records)
    if options["as_json"]:
        emit({"ok": True, **found.to_json()})
        return
    say_lines(found.describe())


def _write_records(found: Composition, file: NewFile) -> None:
    """Write what the attack says of each victim and attribute, in the order of the victims' file."""
    import csv
    from io import TextIOWrapper

    from sfumato.release.files import marked

    with file.filled() as out:
        text = TextIOWrapper(out, encoding="utf-8", newline="")
        lines = csv.writer(text)
        lines.writerow(["victim", "attribute", "values_left", "guess", "posterior"])
        for name, one in found.by_attribute.items():
            records = one.records
            rows = zip(records.left.tolist(), records.guesses(), records.posterior.tolist(), strict=True)
            lines.writerows(
                [at, marked(name), left, marked(str(guess)), f"{sure:.6f}"]
                for at, (left, guess, sure) in enumerate(rows, 1)
            )
        text.detach()
