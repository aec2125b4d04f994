"""The report of the demo, docs/demo.html, and pictures of it: python docs/make_pictures.py.

Its noise is the operating system's, as anybody's is: with seeded noise the page would say, rightly, that it protects
nobody. So each run makes another release of the same generated table.
"""

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from kernelease.cli.demo import demo
from kernelease.release.bundle import load, save
from kernelease.release.signing import load_private_key, make_key
from kernelease.report.page import report_bundle
from tests.report.browser import Reader, chromium, launched

PAGE = Path(__file__).resolve().with_name("demo.html")
FOLDER = PAGE.parent / "pictures"
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


def write_page() -> None:
    """The release of `kernelease demo`, signed with a key made for it, in an empty folder: its page names no other."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        bundle = Path("demo-release")
        demo(out=bundle, quiet=True)
        save(load(bundle), bundle, key=load_private_key(make_key(Path()).private), overwrite=True)
        report_bundle(bundle, PAGE, overwrite=True)
    print(f"{PAGE.name}: {PAGE.stat().st_size / 1e3:.0f} kB")


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
    write_page()
    draw_pictures()
