"""`sfumato publish`: one subcommand for each mechanism."""
