"""The parts that a page is made of: its own style and scripts, and the chart library that is carried along."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import final

from kernelease.errors import BundleError

SCRIPTS = (  # in the order in which they are read: each uses what stands before it
    "dom.js",
    "numbers.js",
    "evidence.js",
    "conditions.js",
    "questions.js",
    "charts.js",
    "overview.js",
    "seals.js",
    "columns.js",
    "pairs.js",
    "filter.js",
    "ask.js",
    "rows.js",
    "officer.js",
    "owner.js",
    "main.js",
)
# What Plot writes into each chart: its one style sheet, for charts of the class "plot". A policy must know it.
_PLOT_STYLE = "sha256-+TfQir1nvDucAdvE6XUQBt4ayUjpAWkbw2kCdSfekHM="


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A script of others that every page carries, as its registry has it: name, version, licence and digest."""

    name: str
    version: str
    licence: str
    file: str
    sha256: str

    @property
    def text(self) -> str:
        """The script; `BundleError` where it is not the one that was looked at."""
        text = _read(f"vendor/{self.file}")
        if hashlib.sha256(text.encode()).hexdigest() != self.sha256:
            raise BundleError(f"{self.file} is not {self.name} {self.version}: install kernelease again.")
        return text


LIBRARIES = (
    Library(
        name="d3",
        version="7.9.2",
        licence="ISC",
        file="d3.min.js",
        sha256="912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
    ),
    Library(
        name="@observablehq/plot",
        version="0.6.17",
        licence="ISC",
        file="plot.umd.min.js",
        sha256="4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
    ),
)


def template() -> str:
    """The page without its parts."""
    return _read("page.html")


def style() -> str:
    """The one style sheet."""
    return _read("style.css")


@cache
def scripts() -> tuple[str, ...]:
    """Libraries, then the page's own code as one script that leaves no names behind."""
    own = "\n".join(_read(name) for name in SCRIPTS)
    return (*(library.text for library in LIBRARIES), f'"use strict";\n(() => {{\n{own}\n}})();\n')


def policy(scripts: tuple[str, ...], style: str) -> str:
    """A content security policy by which nothing runs but these scripts, and nothing is fetched from anywhere."""
    runs = " ".join(f"'{_digest(script)}'" for script in scripts) or "'none'"
    styles = f"'{_digest(style)}' '{_PLOT_STYLE}'" if scripts else f"'{_digest(style)}'"
    return (
        f"default-src 'none'; script-src {runs}; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _read(name: str) -> str:
    return resources.files("kernelease.report").joinpath("page", name).read_text(encoding="utf-8")
