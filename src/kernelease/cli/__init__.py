"""The command line. Presentation only: everything it does is a call of the library."""

from kernelease.cli.command import app

__all__ = ["app"]
