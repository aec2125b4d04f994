"""A report of the owner's private look, on the screen."""

import typer

from kernelease.check.finding import Level
from kernelease.check.report import Report
from kernelease.cli.screen import Screen

_COLOURS = {Level.NOTE: "green", Level.LOOK: "yellow", Level.DAMAGE: "red"}


def show(screen: Screen, report: Report) -> None:
    """The report in colours, every line of it marked as private: so none is wrapped into two."""
    if screen.json:
        screen.result(report.to_dict())
        return
    for level, text in report.lines():
        typer.secho(text, fg=_COLOURS[level], bold=level is Level.DAMAGE)
