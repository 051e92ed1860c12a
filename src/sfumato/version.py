"""The one version number; `pyproject.toml` reads it from here."""

__version__ = "0.1.0"
