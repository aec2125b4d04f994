"""The version, kept in this one place; the build reads it from here."""

__version__ = "0.3.0"
