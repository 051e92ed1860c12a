"""`sfumato finish`."""

from __future__ import annotations

import click

from sfumato.cli.options import json_option
from sfumato.cli.output import emit, made, saved_in, say
from sfumato.visible import operand, shell_command


@click.command(short_help="Finish a release that was written but not moved to its folder.")
@click.argument("partial", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Folder to write (default: the one it was made for).")
@click.option("--ledger", type=click.Path(), help="Ledger of the release, to record the folder in.")
@json_option
def finish(partial: str, output: str | None, ledger: str | None, as_json: bool) -> None:
    """Finish a release that was drawn and written, but whose process ended before the folder got its name.

    PARTIAL is the hidden folder, .NAME.partial-..., beside the place NAME it was made for. Every file is checked
    against the manifest first; nothing is drawn or spent.

    Example: sfumato finish .out.partial-4711-0123456789ab -o out
    """
    from pathlib import Path

    from sfumato.ledger import Ledger
    from sfumato.release.atomic import is_accounted, target_of
    from sfumato.release.store import finish as finished

    meant = target_of(Path(partial).resolve())
    folder = finished(partial, output)
    shown = output or str(folder)
    saved = saved_in(shown)
    made(saved)
    entry = None if ledger is None or meant is None else Ledger(ledger).record_finished(meant, folder)
    unnoted = ledger is None and output is not None and is_accounted(folder)
    if unnoted:
        noting = shell_command(["sfumato", "ledger", "LEDGER", "--saved", "ENTRY", operand(shown)])
        say(f"Warning: a ledger knows this release, but not where it is now. Note it: {noting}", error=True)
    if as_json:
        emit({"ok": True, "folder": shown, "entry": entry})
        return
    say(saved)
