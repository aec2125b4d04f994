"""`python -m kernelease`."""

from kernelease.cli.command import app

app()
