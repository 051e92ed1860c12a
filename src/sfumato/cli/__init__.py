"""The `sfumato` command: parse, one verb, print."""

from sfumato.cli.main import main

__all__ = ["main"]
