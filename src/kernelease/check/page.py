"""A private look as a page for a browser."""

from html import escape
from typing import Final

from kernelease.check.finding import PRIVATE, Level
from kernelease.check.report import Report

COLOURS: Final = {Level.NOTE: "#2a7", Level.LOOK: "#c80", Level.DAMAGE: "#c22"}
_STYLE = (
    "body{font:16px/1.5 sans-serif;margin:2em auto;max-width:70em;padding:0 1em}"
    "td,th{text-align:left;vertical-align:top;padding:.4em .8em .4em 0;border-top:1px solid #ddd}"
    "small{color:#888}code{background:#f4f4f4;padding:.1em .3em}"
)


def html_page(report: Report) -> str:
    """One file without scripts or anything from elsewhere. Every row of it says that it is private."""
    rows = "".join(
        f'<tr><td style="color:{COLOURS[item.level]}"><b>{item.level.name.lower()}</b></td>'
        f"<td>{escape(item.where)}</td><td>{escape(item.words)}<br><small>{PRIVATE}</small></td>"
        f"<td><code>{escape(item.remedy)}</code></td></tr>"
        for item in report.findings
    )
    head = "<tr><th></th><th>where</th><th>what</th><th>what to write or do</th></tr>"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{PRIVATE}</title><style>{_STYLE}</style>'
        f"<h1>{escape(report.source)}</h1><p><b>{PRIVATE}</b></p>"
        f'<p style="color:{COLOURS[report.level]}"><b>{escape(report.verdict)}</b>, {report.size}</p>'
        f"<table>{head if report.findings else ''}{rows}</table></html>\n"
    )
