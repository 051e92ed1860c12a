"""`sfumato attack`: one subcommand for each attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import file_options, given_options, json_option, refuse_target
from sfumato.cli.output import emit, say_lines

if TYPE_CHECKING:
    from sfumato.attacks import Composition
    from sfumato.release.atomic import NewFile

__all__ = ["attack", "composition"]


@click.group(short_help="Find out what releases give away together.")
def attack() -> None:
    """Attack releases as an outsider would. Results are confidential: they speak about the original.

    Example: sfumato attack composition a/ b/ --victims people.csv
    """


@attack.command()
@click.argument("releases", nargs=-1, required=True, type=click.Path())
@click.option("--victims", required=True, type=click.Path(), help="People who are in all releases, one row each.")
@click.option("--control", type=click.Path(), help="People who are in one of the releases only.")
@click.option("--schema", type=click.Path(), help="Schema of all files; the first folder's own unless given.")
@click.option(
    "--attribute", help="The confidential attribute; all sensitive ones unless named, and the worst is shown."
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
@click.option("--counts", help="Column of tables that are no folder which says for how many rows a line stands.")
@click.option("--records", type=click.Path(), help="Write a CSV file with a line for each victim (confidential).")
@file_options
@json_option
def composition(releases: tuple[str, ...], victims: str, control: str | None, **options: Any) -> None:
    """Keep, for each victim, the values that all releases allow: folders of ours, or anyone's CSV.

    The victims' file has the quasi-identifiers that are known and, to judge the attack, the true values.

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
