"""Start the server on this machine: a free port, a random token, one address to open."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from sfumato.errors import ParameterError
from sfumato.release.atomic import write_whole
from sfumato.web.app import created

__all__ = ["serve"]

_HOST = "127.0.0.1"
_GRACE = 0.6  # seconds in which requests may end after Ctrl-C


class _Server(uvicorn.Server):
    """A server that ends soon after a signal, whatever its threads are still working out.

    Files of a project are written whole or not at all, and runs are processes of their own: nothing is lost.
    """

    def __init__(self, config: uvicorn.Config, *, stopped: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopped = stopped

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let requests end for a moment, then end the process."""
        super().handle_exit(sig, frame)
        end = threading.Timer(_GRACE, self._ended, (sig,))
        end.daemon = True
        end.start()

    def _ended(self, number: int) -> None:
        self._stopped()
        os._exit(128 + number)


def serve(
    folder: str | Path,
    *,
    port: int = 0,
    upload_limit: int | None = None,
    ready: Callable[[str], None] | None = None,
    browser: bool = False,
    stopped: Callable[[], None] = lambda: None,
) -> None:
    """Serve a workspace until stopped.

    `ready` is called with the address to open, `browser` opens it, `stopped` is called where requests do not end in
    time and the process is ended without them.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
    except OSError as error:
        raise ParameterError("port", port, f"cannot be used ({error.strerror})", hint="omit --port") from None
    listening.listen()  # whoever opens the address at once waits until the server answers
    number = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    hosts = frozenset({f"{_HOST}:{number}", f"localhost:{number}"})
    app = created(folder, token=token, hosts=hosts, upload_limit=upload_limit)
    # Addresses hold names of columns, so that no request is logged.
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", server_header=False)
    address = f"http://{_HOST}:{number}/?token={token}"
    if ready is not None:
        ready(address)
    with closing(listening), _page_that_leads_to(address, app.state.app.workspace.folder) as page:
        if browser:
            webbrowser.open(page.as_uri())

        def ended() -> None:
            page.unlink(missing_ok=True)
            stopped()

        _Server(config, stopped=ended).run(sockets=[listening])


@contextmanager
def _page_that_leads_to(address: str, folder: Path) -> Iterator[Path]:
    """Write a page that only its owner can read: the words of a browser's command are shown to every user."""
    page = folder / "open.html"
    text = f'<!doctype html><title>Sfumato</title><meta http-equiv="refresh" content="0; url={address}">\n'
    write_whole(page, text, mode=0o600)
    try:
        yield page
    finally:
        page.unlink(missing_ok=True)
