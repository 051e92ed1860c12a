"""`sfumato demo`."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import emit, json_option

__all__ = ["demo"]

# Li & Li 2009, table 1: six quasi-identifiers and the occupation.
QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
PRESETS = ("tradeoff", "tradeoff-buckets")


@click.command(short_help="The main job on the bundled Adult data.")
@click.option("-o", "--output", type=click.Path(), default="demo-out", show_default=True, help="Folder to write.")
@click.option("--quick", is_flag=True, help="A handful of releases instead of the paper's.")
@json_option
def demo(output: str, quick: bool, as_json: bool) -> None:
    """Do the main job on bundled data: compare releases of Adult, recommend one, publish it, verify it, report.

    Writes report.html (for the steward), public.html (for everyone) and the folder release/.

    Example: sfumato demo -o demo-out
    """
    import sfumato as sf

    table = sf.datasets.adult().with_roles(quasi=QUASI, sensitive="occupation", target=())
    private = sf.sweep(sf.DiffGen, epsilon=["0.5", 1, 2, 4])
    points = sf.sweep(sf.Mondrian, t=["0.1", "0.15", "0.2"]) if quick else sf.sweep(*PRESETS, private)
    if not as_json:
        click.echo(f"Adult, {table.rows:,} people: making and measuring {len(points)} releases.")
    front = sf.frontier(table, points, progress=not as_json, repeats=3)
    chosen = front.recommend()
    folder = _free(output)
    release = sf.publish(table, chosen.mechanism)
    release.save(folder / "release")
    verdict = sf.verify(folder / "release")
    again = f"sfumato demo -o {output}"
    sf.report(front, folder / "report.html", recommendation=chosen, command=again, source=("adult.csv", "adult.toml"))
    sf.report(front, folder / "public.html", audience="public", release=release)
    if as_json:
        emit(
            {
                "ok": verdict.holds,
                "folder": str(folder),
                "releases": len(front.points),
                "efficient": [point.label for point in front.efficient],
                "recommendation": chosen.to_json(),
                "summary": release.summary().to_json(),
                "verdict": verdict.to_json(),
            }
        )
        return
    from sfumato.cli.frontier import show

    show(front, chosen)
    click.echo(f"\nPublished and verified: {'the claim holds' if verdict.holds else 'the claim does not hold'}.")
    for name, what in (
        ("report.html", "for the steward, confidential"),
        ("public.html", "for everyone"),
        ("release/", "what is published; check it with sfumato verify"),
    ):
        click.echo(f"  {folder / name}  {what}")


def _free(wanted: str) -> Path:
    """Return the folder, or the first numbered one that does not exist: a demo never overwrites."""
    folder = Path(wanted)
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 10_000))
    found = folder if not folder.exists() else next(path for path in numbered if not path.exists())
    found.mkdir(parents=True)
    return found
