"""`python -m kernelease`."""

from kernelease.cli.app import app

app()
