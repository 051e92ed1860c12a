"""`sfumato demo`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import json_option, refuse_target
from sfumato.cli.output import emit, made, say
from sfumato.visible import operand, shell_command

if TYPE_CHECKING:
    from sfumato.frontiers import Frontier, Recommendation

AXES = ("inference", "membership", "identity", "privacy_loss", "proved")


@click.command(short_help="The main job on the bundled Adult data.")
@click.option("-o", "--output", type=click.Path(), default="demo-out", show_default=True, help="Folder to write.")
@click.option("--quick", is_flag=True, help="A handful of releases only.")
@click.option(
    "--membership-public",
    is_flag=True,
    help="Membership is not secret: buckets, which publish exact quasi-identifiers, may be recommended.",
)
@json_option
def demo(output: str, quick: bool, membership_public: bool, as_json: bool) -> None:
    """Do the main job on bundled data: compare releases of Adult, recommend one, publish it, verify it, report.

    Writes adult.csv and its schema adult.toml (the input), report.html (for the steward), public.html (for everyone)
    and the folder release/.

    Example: sfumato demo -o demo-out
    """
    import sfumato as sf
    from sfumato.pages.contents import membership

    refuse_target("output", output, folder=True)
    folder = _free(output)
    data, schema = _written(folder)
    table = sf.read(data, sf.Schema.load(schema))
    policy = sf.Policy()
    points = policy.strengthened(sf.sweep(sf.Mondrian, t=["0.1", "0.15", "0.2"]) if quick else sf.sweep("standard"))
    if not as_json:
        say(f"Adult, {table.rows:,} people: making, attacking and measuring {len(points)} releases.")
    front = sf.frontier(table, points, privacy=AXES, policy=policy, progress=not as_json, repeats=2)
    chosen = front.recommend(membership_public=membership_public)
    release = sf.publish(table, chosen.mechanism)
    release.save(folder / "release")
    verdict = sf.verify(folder / "release")
    flags = [flag for flag, on in (("--quick", quick), ("--membership-public", membership_public)) if on]
    again = shell_command(["sfumato", "demo", *flags, "-o", output])
    given = (str(data), str(schema))
    sf.report(front, folder / "report.html", recommendation=chosen, command=again, source=given)
    public = folder / "public.html"
    sf.report(front, public, audience="public", release=release, folder="release", membership_public=membership_public)
    made(f"Everything is in {folder}.")
    if as_json:
        emit(
            {
                "ok": verdict.holds,
                "folder": str(folder),
                "data": str(data),
                "schema": str(schema),
                "releases": len(front.points),
                "efficient": [point.label for point in front.efficient],
                "recommendation": chosen.to_json(),
                "membership": membership(release.form),
                "summary": release.summary().to_json(),
                "verdict": verdict.to_json(),
            }
        )
        return
    _show(front, chosen, given)
    say("")
    say(f"Published and verified: {'the claim holds' if verdict.holds else 'the claim does not hold'}.")
    verifying = shell_command(["sfumato", "verify", operand(folder / "release")])
    for name, what in (
        ("adult.csv", "the table; adult.toml beside it is its schema"),
        ("report.html", "for the steward, confidential"),
        ("public.html", "for everyone"),
        ("release", f"what is published; check it with: {verifying}"),
    ):
        say(f"  {folder / name}  {what}")


def _show(front: Frontier, chosen: Recommendation, given: tuple[str, str]) -> None:
    """Print the comparison, then the worst that was found in the recommended release, then the command."""
    from sfumato.cli.frontier import show
    from sfumato.pages.commands import publish_command
    from sfumato.pages.contents import worst_findings

    show(front, chosen)
    for line in worst_findings(chosen.point):
        say(line, style="bold")
    command = publish_command(chosen.point.mechanism, *given)
    if command is not None:
        for line in ("", "To make it again:", f"  {command}"):
            say(line)


def _written(folder: Path) -> tuple[Path, Path]:
    """Write Adult as a steward would hold it: a CSV file and a schema with its hierarchies."""
    from sfumato.datasets.adult import ADULT_SCHEMA, adult_frame

    data, schema = folder / "adult.csv", folder / "adult.toml"
    adult_frame().write_csv(data)
    # The paper has no class to predict: income, the bundled schema's target, takes no part.
    text = ADULT_SCHEMA.read_text("utf-8").replace('role = "target"', 'role = "other"')
    schema.write_text(text, "utf-8")
    (folder / "hierarchies").mkdir()
    for name in sorted(set(re.findall(r'"hierarchies/([^"]+)"', text))):
        shutil.copyfile(ADULT_SCHEMA.parent / "hierarchies" / name, folder / "hierarchies" / name)
    return data, schema


def _free(wanted: str) -> Path:
    """Return the folder, or the first numbered one that does not exist: a demo never overwrites."""
    folder = Path(wanted)
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 10_000))
    found = folder if not folder.exists() else next(path for path in numbered if not path.exists())
    found.mkdir(parents=True)
    return found
