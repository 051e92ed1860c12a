"""`sfumato demo`."""

from __future__ import annotations

import click

from sfumato.cli.options import emit, json_option, table_of

__all__ = ["demo"]


@click.command(short_help="The main job on the bundled Adult data.")
@click.option("-o", "--output", type=click.Path(), default="demo-out", show_default=True, help="Folder to write.")
@json_option
def demo(output: str, as_json: bool) -> None:
    """Read the bundled Adult table, publish it, save the release, and verify what was written.

    Example: sfumato demo -o demo-out
    """
    from pathlib import Path

    import sfumato as sf

    table = sf.datasets.adult()
    release = sf.publish(table, sf.Suppress())
    folder = _free(Path(output))
    release.save(folder)
    verdict = sf.verify(folder)
    if as_json:
        emit(
            {
                "ok": verdict.holds,
                "folder": str(folder),
                "summary": release.summary().to_json(),
                "verdict": verdict.to_json(),
            }
        )
        return
    rows = [
        ("rows", table.rows),
        ("claim", release.claim.promise),
        ("folder", folder),
        ("verified", "holds" if verdict.holds else "does not hold"),
    ]
    table_of("Adult, every quasi-identifier removed", rows)
    click.echo(release.frame().head(5))
    click.echo("Still missing from this demo: the frontier, the recommendation and report.html.")


def _free(folder: object) -> object:
    """Return the folder, or the first numbered one that does not exist: a demo never overwrites."""
    from pathlib import Path

    wanted = Path(str(folder))
    numbered = (wanted.with_name(f"{wanted.name}-{number}") for number in range(2, 10_000))
    return wanted if not wanted.exists() else next(path for path in numbered if not path.exists())
