"""`sfumato serve`."""

from __future__ import annotations

import click

from sfumato.cli.options import WHOLE
from sfumato.cli.output import emit, say


@click.command(short_help="Open the local web app.")
@click.argument("workspace", type=click.Path(), default="sfumato-workspace")
@click.option("--port", type=WHOLE, default=0, help="Port to use (default: a free one).")
@click.option("--no-browser", is_flag=True, help="Print the address; open nothing.")
@click.option("--upload-limit", type=WHOLE, help="Largest upload in bytes (default: 4000000000).")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object; open nothing.")
def serve(workspace: str, port: int, no_browser: bool, upload_limit: int | None, as_json: bool) -> None:
    """Open the local web app on a folder of projects: from a file to a verified release, without a command.

    It answers on this machine only, to anyone who has the printed address. Ctrl-C ends it; what was running
    continues where it stopped when the app is started again.

    Example: sfumato serve my-workspace
    """
    import sfumato as sf

    try:
        from sfumato.web.app import serve as start
    except ModuleNotFoundError:
        hint = "pip install 'sfumato[web]'"
        raise sf.ParameterError("serve", "starlette or uvicorn", "is not installed", hint=hint) from None

    def ready(address: str) -> None:
        if as_json:
            emit({"ok": True, "address": address})
            return
        say(f"Open {address}")
        say("Ctrl-C ends it.", style="dim")

    def stopped() -> None:
        say("Stopped.", error=True)

    browser = not no_browser and not as_json
    start(workspace, port=port, upload_limit=upload_limit, ready=ready, browser=browser, stopped=stopped)
