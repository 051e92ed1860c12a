"""Start the server on this machine: a free port, a random token, one address to open."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from sfumato.errors import ParameterError
from sfumato.web.app import created

__all__ = ["serve"]

_HOST = "127.0.0.1"


def serve(
    folder: str | Path, *, port: int = 0, upload_limit: int | None = None, ready: Callable[[str], None] | None = None
) -> None:
    """Serve a workspace until stopped; `ready` is called with the address to open."""
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
    server = uvicorn.Server(config)
    if ready is not None:
        ready(f"http://{_HOST}:{number}/?token={token}")
    server.run(sockets=[listening])
