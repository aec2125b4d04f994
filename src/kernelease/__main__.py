"""`python -m kernelease`."""

from kernelease.cli import app

app()
