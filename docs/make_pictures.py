"""Pictures of pages that are made for them, of 6, 66 and 200 columns and of vectors: python -m docs.make_pictures.

It prints how large each page is, and how long a browser took to open it. The noise is the operating system's: the
numbers in the pictures are others each time.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelease.bundle.saving import save
from kernelease.report.page import report_bundle, report_release
from tests.report import releases
from tests.report.browser import Reader, chromium, launched

FOLDER = Path(__file__).resolve().parent / "pictures"
DESKTOP, PHONE, PAPER = (1120, 820), (375, 780), (794, 1123)
OPENED = "Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"


def _nothing(_page: Any) -> None:
    """As it opens."""


def _filter(page: Any) -> None:
    page.get_by_label("Choose rows by").select_option(label="age")
    page.get_by_label("from", exact=True).select_option(index=4)
    page.evaluate("window.scrollBy(0, document.querySelector('#filter-title').getBoundingClientRect().top - 64)")


def _cards(page: Any) -> None:
    page.evaluate("window.scrollBy(0, document.querySelector('#panel-columns h2').getBoundingClientRect().top - 64)")


def _paper(page: Any) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.evaluate("document.body.style.padding = '18mm 16mm'")  # the margin of the sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A page to be drawn: which one, which of its panels, on what, and what is done before."""

    page: str
    panel: str
    size: tuple[int, int] = DESKTOP
    dark: bool = False
    arrange: Callable[[Any], None] = _nothing


STATES = {
    "explorer-what": State(page="6", panel="what"),
    "explorer-columns": State(page="6", panel="columns", arrange=_cards),
    "explorer-pairs": State(page="6", panel="pairs"),
    "explorer-filter": State(page="6", panel="pairs", arrange=_filter),
    "explorer-ask": State(page="6", panel="ask?what=probability&event=hours+%3E+40&by=education", dark=True),
    "explorer-officer": State(page="6", panel="officer"),
    "explorer-compared": State(page="compared", panel="compare"),
    "explorer-phone-columns": State(page="6", panel="columns", size=PHONE, arrange=_cards),
    "explorer-phone-ask": State(page="6", panel="ask?what=probability&event=hours+%3E+40", size=PHONE),
    "explorer-phone-dark": State(page="66", panel="pairs", size=PHONE, dark=True),
    "explorer-print": State(page="6", panel="what", size=PAPER, arrange=_paper),
    "explorer-66-columns": State(page="66", panel="columns", dark=True, arrange=_cards),
    "explorer-66-pairs": State(page="66", panel="pairs"),
    "explorer-200-columns": State(page="200", panel="columns"),
    "explorer-200-pairs": State(page="200", panel="pairs"),
    "explorer-vectors": State(page="vectors", panel="what"),
}


def _pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every page that a picture is of."""
    people = releases.signed(releases.people()[0], folder)
    yield "6", report_bundle(people, folder / "6.html")[0]
    first, second = (save(one, folder / str(place)) for place, one in enumerate(releases.years()))
    yield "compared", report_bundle(first, folder / "compared.html", compare=second)[0]
    for columns in (66, 200):
        yield str(columns), report_release(releases.wide(columns), folder / f"{columns}.html")
    yield "vectors", report_release(releases.vectors(), folder / "vectors.html")


def draw_pictures() -> None:
    """All states, one by one."""
    FOLDER.mkdir(exist_ok=True)
    with launched(chromium()) as browser, tempfile.TemporaryDirectory() as folder:
        pages = dict(_pages(Path(folder)))
        for name, path in pages.items():
            with Reader(browser).opened(path, "columns") as page:
                print(f"page {name}: {path.stat().st_size / 1e6:.2f} MB, opened in {page.evaluate(OPENED)} ms")
        for name, state in STATES.items():
            size = dict(zip(("width", "height"), state.size, strict=True))
            scheme = "dark" if state.dark else "light"
            with Reader(browser).opened(pages[state.page], state.panel, viewport=size, color_scheme=scheme) as page:
                state.arrange(page)
                page.wait_for_timeout(300)  # cards are drawn when they are seen
                page.screenshot(path=FOLDER / f"{name}.png")
            print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    draw_pictures()
