"""The local web app: from a file to a verified release, on this machine. Each request is one call of the library."""
