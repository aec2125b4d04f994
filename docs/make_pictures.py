"""Pictures of the demo's report, which `make docs` has made: python -m docs.make_pictures."""

from pathlib import Path
from typing import Any

from tests.report.browser import Reader, chromium, launched

ROOT = Path(__file__).resolve().parent.parent
PAGE, FOLDER = ROOT / "site" / "demo.html", ROOT / "docs" / "pictures"
SIZE = {"width": 1120, "height": 820}


def _overview(page: Any) -> None:
    page.evaluate("window.scrollTo(0, 0)")


def _filter(page: Any) -> None:
    page.get_by_label("from", exact=True).select_option(index=20)
    page.locator("#filter-title").scroll_into_view_if_needed()
    page.evaluate("window.scrollBy(0, document.querySelector('#filter-title').getBoundingClientRect().top - 64)")


def _question(page: Any) -> None:
    page.get_by_label("Condition", exact=True).fill("employed == true")
    page.get_by_label("By (optional)").select_option(label="education")


STATES = {
    "explorer-what.png": ("what", "light", _overview),
    "explorer-filter.png": ("pairs", "light", _filter),
    "explorer-ask.png": ("ask", "dark", _question),
}


def draw_pictures() -> None:
    """The page in three states."""
    FOLDER.mkdir(exist_ok=True)
    with launched(chromium()) as browser:
        for name, (panel, scheme, arrange) in STATES.items():
            with Reader(browser).opened(PAGE, panel, viewport=SIZE, color_scheme=scheme) as page:
                arrange(page)
                page.screenshot(path=FOLDER / name)
            print(f"{name}: {(FOLDER / name).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    draw_pictures()
