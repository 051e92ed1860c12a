"""`sfumato publish`: one subcommand for each mechanism."""

from sfumato.cli.publish import dlink, dp, partition  # each adds its subcommands to the group
from sfumato.cli.publish.run import publish

__all__ = ["dlink", "dp", "partition", "publish"]
