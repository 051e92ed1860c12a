"""`sfumato publish`: one subcommand for each mechanism."""

from sfumato.cli.publish.run import publish

__all__ = ["publish"]
