"""The parts that pages are made of, and a sheet: a page of facts and tables without any script."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import final

# ---- The parts that a page is made of: its own style and its own scripts. No code of others is in it.


SCRIPTS = (  # in the order in which they are read: each uses what stands before it
    *("dom.js", "numbers.js", "cells.js", "estimates.js", "conditions.js", "questions.js", "charts.js"),
    *("overview.js", "seals.js", "columns.js", "pairs.js", "filter.js", "ask.js", "points.js", "rows.js"),
    *("officer.js", "owner.js", "compare.js", "main.js"),
)


def template() -> str:
    """The page without its parts."""
    return _read("page.html")


def page_style() -> str:
    """The one style sheet."""
    return _read("style.css")


@cache
def page_scripts() -> tuple[str, ...]:
    """The page's code as one script that leaves no names behind."""
    own = "\n".join(_read(name) for name in SCRIPTS)
    return (f'"use strict";\n(() => {{\n{own}\n}})();\n',)


def policy(scripts: tuple[str, ...], style: str) -> str:
    """A content security policy by which nothing runs but these scripts, and nothing is fetched from anywhere."""
    runs = " ".join(f"'{_digest(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {runs}; style-src '{_digest(style)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _read(name: str) -> str:
    return resources.files("kernelease.report").joinpath("page", name).read_text(encoding="utf-8")


# ---- A sheet: a page of facts and tables in the style of the release explorer, without any script.


_WIDE, _HIGH = 240, 14  # units of a bar's drawing: it is as wide as its cell


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A cell that is drawn: so much of its width is filled. The number stands in a cell beside it."""

    share: float  # from 0 to 1

    @property
    def markup(self) -> str:
        """A drawing that readers of the screen pass over."""
        filled = _WIDE * min(max(self.share, 0.0), 1.0)
        return (
            f'<svg class="plain" viewBox="0 0 {_WIDE} {_HIGH}" aria-hidden="true">'
            f'<rect class="bar off" width="{_WIDE}" height="{_HIGH}"/>'
            f'<rect class="bar" width="{filled:.1f}" height="{_HIGH}"/></svg>'
        )


def sheet(*parts: str, kicker: str, title: str, headline: str) -> str:
    """One file that fetches nothing and runs nothing. The parts are made by the functions below.

    >>> "<h1>a &lt; b</h1>" in sheet(kicker="Plan", title="a < b", headline="")
    True
    """
    style = page_style()
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy((), style))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(f'{title} · {kicker}')}</title>\n"
        f'<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>\n'
        f'<header class="masthead"><p class="kicker">{escape(kicker)}</p><h1>{escape(title)}</h1>'
        f'<p class="headline">{escape(headline)}</p></header>\n'
        f"<main>\n{''.join(parts)}</main>\n</body>\n</html>\n"
    )


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Names and values, one below the other."""
    lines = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{lines}</dl>\n'


def grid(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, text: Sequence[int] = (0,), note: str = ""
) -> str:
    """A table under its title. All columns but those of `text` hold numbers, and are aligned to the right."""
    kinds = ["" if place in text else ' class="number"' for place in range(len(header))]
    head = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{_cell(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>\n"
        for row in rows
    )
    said = f'<p class="hint">{escape(note)}</p>\n' if note else ""
    return (
        f"<h2>{escape(title)}</h2>\n{said}"
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )


def words(lines: Iterable[str]) -> str:
    """Sentences, each a paragraph."""
    return "".join(f'<p class="lead">{escape(text)}</p>\n' for text in lines)


def _cell(cell: object) -> str:
    return cell.markup if isinstance(cell, Bar) else escape(str(cell))
