"""`sfumato publish`: one subcommand for each mechanism."""

from sfumato.cli.publish.method import publish

__all__ = ["publish"]
