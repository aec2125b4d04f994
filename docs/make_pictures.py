"""Pictures of pages that are made for them: python -m docs.make_pictures.

Of 6, 66 and 200 columns, of vectors, of several tables. It prints how large each page is, and how long a browser took
to open it. With the name of a folder, every panel of every page is drawn into it instead, on a screen, on a phone, in
light and dark and on paper, and axe looks at each. The noise is the operating system's: numbers are others each time.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelease.answers.release import save
from kernelease.report.page import report_bundle, report_release
from tests.report import releases
from tests.report.browser import Reader, barriers, chromium, launched

FOLDER = Path(__file__).resolve().parent / "pictures"
DESKTOP, PHONE, PAPER = (1120, 820), (375, 780), (794, 1123)
OPENED = "Math.round(performance.getEntriesByType('navigation')[0].loadEventEnd)"


def _nothing(_page: Any) -> None:
    """As it opens."""


def _filter(page: Any) -> None:
    page.get_by_label("Choose rows by").select_option(label="age")
    page.get_by_label("from", exact=True).select_option(index=4)
    page.evaluate("window.scrollBy(0, document.querySelector('#filter-title').getBoundingClientRect().top - 64)")


def _below(page: Any) -> None:
    page.evaluate("window.scrollBy(0, document.querySelector('section.current h2').getBoundingClientRect().top - 64)")


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
    "explorer-columns": State(page="6", panel="columns", arrange=_below),
    "explorer-pairs": State(page="6", panel="pairs"),
    "explorer-filter": State(page="6", panel="pairs", arrange=_filter),
    "explorer-ask": State(page="6", panel="ask?what=probability&event=hours+%3E+40&by=education", dark=True),
    "explorer-officer": State(page="6", panel="officer"),
    "explorer-compared": State(page="compared", panel="compare"),
    "explorer-phone-columns": State(page="6", panel="columns", size=PHONE, arrange=_below),
    "explorer-phone-ask": State(page="6", panel="ask?what=probability&event=hours+%3E+40", size=PHONE),
    "explorer-phone-dark": State(page="66", panel="pairs", size=PHONE, dark=True),
    "explorer-print": State(page="6", panel="what", size=PAPER, arrange=_paper),
    "explorer-66-columns": State(page="66", panel="columns", dark=True, arrange=_below),
    "explorer-66-pairs": State(page="66", panel="pairs"),
    "explorer-200-columns": State(page="200", panel="columns"),
    "explorer-200-pairs": State(page="200", panel="pairs"),
    "explorer-vectors": State(page="vectors", panel="points", arrange=_below),
    "explorer-classes": State(page="classes", panel="points", arrange=_below),
    "explorer-tables": State(page="tables", panel="what"),
}


def _pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every page that a picture is of. Commands on them name the bundle as it is called in that folder."""
    with chdir(folder):
        made = [(name, path.resolve()) for name, path in _written()]
    yield from made


def _written() -> Iterator[tuple[str, Path]]:
    people = releases.signed(releases.people()[0], Path())
    yield "6", report_bundle(people, "6.html")[0]
    first, second = (save(one, str(place)) for place, one in enumerate(releases.years()))
    yield "compared", report_bundle(first, "compared.html", compare=second)[0]
    for columns in (66, 200):
        yield str(columns), report_release(releases.wide(columns), f"{columns}.html")
    for name in ("vectors", "classes"):
        yield name, report_release(getattr(releases, name)(), f"{name}.html")
    yield "tables", report_bundle(releases.tables(Path()), "tables.html")[0]


def draw_pictures() -> None:
    """The pictures of the documents."""
    FOLDER.mkdir(exist_ok=True)
    with launched(chromium()) as browser, tempfile.TemporaryDirectory() as folder:
        pages = dict(_pages(Path(folder)))
        for name, path in pages.items():
            elapsed, busy = _opening(browser, path)
            print(f"page {name}: {path.stat().st_size / 1e6:.2f} MB, opened in {elapsed} ms, {busy:.0f} ms of CPU time")
        for name, state in STATES.items():
            with Reader(browser).opened(pages[state.page], state.panel, **_screen(state.size, state.dark)) as page:
                state.arrange(page)
                _draw(page, FOLDER / f"{name}.png")


def _opening(browser: Any, path: Path) -> tuple[int, float]:
    """Milliseconds until a page is there, and of CPU time that its scripts and its layout took; of a second opening."""
    for _ in range(2):
        page = browser.new_page()
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(f"{path.as_uri()}#columns")
        spent = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        elapsed = int(page.evaluate(OPENED))
        page.close()
    return elapsed, 1000.0 * spent["TaskDuration"]


def draw_everything(folder: Path) -> None:
    """All panels of all pages; ends with what axe found."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[object] = []
    with launched(chromium()) as browser:
        for name, path in _pages(folder):
            for size, dark in ((DESKTOP, False), (DESKTOP, True), (PHONE, False), (PHONE, True)):
                kind = f"{'phone' if size == PHONE else 'desktop'}-{'dark' if dark else 'light'}"
                found += barriers(path, Reader(browser), **_screen(size, dark))
                with Reader(browser).opened(path, **_screen(size, dark)) as page:
                    for panel in _panels(page):
                        page.locator(f"#tab-{panel}").click()
                        _draw(page, folder / f"{name}-{panel}-{kind}.png", full_page=True)
            with Reader(browser).opened(path, **_screen(PAPER, dark=False)) as page:
                page.pdf(path=folder / f"{name}.pdf", format="A4")
                _paper(page)
                _draw(page, folder / f"{name}-paper.png", full_page=True)
    print("axe:", found or "no findings")


def _panels(page: Any) -> list[str]:
    return [str(tab.get_attribute("id")).removeprefix("tab-") for tab in page.locator("[role=tab]").all()]


def _screen(size: tuple[int, int], dark: bool) -> dict[str, Any]:
    return {
        "viewport": dict(zip(("width", "height"), size, strict=True)),
        "color_scheme": "dark" if dark else "light",
    }


def _draw(page: Any, path: Path, *, full_page: bool = False) -> None:
    if full_page:
        page.set_viewport_size({**page.viewport_size, "height": page.evaluate("document.documentElement.scrollHeight")})
    page.wait_for_timeout(300)  # cards are drawn when they are seen
    page.screenshot(path=path, full_page=full_page)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    draw_everything(Path(sys.argv[1])) if len(sys.argv) > 1 else draw_pictures()
