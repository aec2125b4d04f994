"""The pictures of the release explorer: python docs/make_pictures.py BUNDLE (the demo's, unless another is given)."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from kernelease.report.page import report_bundle
from tests.report.browser import Reader, chromium, launched

FOLDER = Path(__file__).parent / "pictures"
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


def main(bundle: Path) -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, launched(chromium()) as browser:
        written, _ = report_bundle(bundle, Path(folder) / "page.html")
        for name, (panel, scheme, arrange) in STATES.items():
            with Reader(browser).opened(written, panel, viewport=SIZE, color_scheme=scheme) as page:
                arrange(page)
                page.screenshot(path=FOLDER / name)
            print(f"{name}: {(FOLDER / name).stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-release"))
