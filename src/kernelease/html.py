"""Small pieces of HTML for notebooks. Whatever goes in is escaped; colours are the reader's, light or dark."""

from collections.abc import Iterable, Sequence
from html import escape

_MOST_ROWS = 30  # of a table in a notebook: the rest is counted
_CARD = (
    "display:inline-block;border:1px solid color-mix(in srgb,currentColor 30%,transparent);border-radius:6px;"
    "padding:.6em .9em;font-size:90%;max-width:60em"
)
_MUTED = "opacity:.7;text-align:left;font-weight:normal;padding:.1em 1em .1em 0;vertical-align:top;white-space:nowrap"
_CELL = "text-align:left;padding:.1em 1em .1em 0;vertical-align:top"


def card(title: str, *parts: str) -> str:
    """A title over pieces made here.

    >>> "<b>a &lt; b</b>" in card("a < b")
    True
    """
    return f'<div style="{_CARD}"><b>{escape(title)}</b>{"".join(parts)}</div>'


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Names and values, one below the other."""
    lines = (
        f'<tr><th style="{_MUTED}">{escape(name)}</th><td style="{_CELL}">{escape(str(value))}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{''.join(lines)}</table>"


def grid(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a header, and at most so many rows."""
    listed = [*rows]
    head = "".join(f'<th style="{_MUTED}">{escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in listed[:_MOST_ROWS]
    )
    more = f"<div>and {len(listed) - _MOST_ROWS:,} more</div>" if len(listed) > _MOST_ROWS else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"


def lines(texts: Iterable[str]) -> str:
    """Sentences, one below the other."""
    return "".join(f"<div>{escape(text)}</div>" for text in texts)
