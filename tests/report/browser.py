"""A real browser, and releases to look at in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "axe" / "axe.min.js"
REQUIRED = "KERNELEASE_REQUIRE_BROWSER"  # set where the absence of a browser is a failure: in continuous integration
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The path of Chromium; a skip where there is none, or a failure where one is required."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or util.find_spec("playwright") is None:
        reason = "needs Chromium (Debian: apt-get install chromium) and the Python package playwright"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def launched(path: str) -> Iterator[Any]:
    """A browser with a fresh profile."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # not everybody has it

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Reader:
    """Somebody who opens pages, and notes whatever a page should not do: errors, dialogs, requests."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self.wrong: list[str] = []

    @contextmanager
    def opened(self, path: Path, panel: str = "what", *, checks: bool = True, **options: Any) -> Iterator[Any]:
        """The page, its checks done where it has any; at the end, nothing may have gone wrong."""
        self.wrong.clear()
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        page = context.new_page()
        page.set_default_timeout(120_000)  # a busy machine takes its time
        page.on("console", lambda said: self.wrong.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._note(request.url, path))
        page.goto(f"{path.resolve().as_uri()}#{panel}")
        if checks:
            page.wait_for_function("document.getElementById('verdict').className !== 'verdict'")
        yield page
        context.close()

    def _note(self, url: str, path: Path) -> None:
        if not url.startswith((path.resolve().as_uri(), "data:", "blob:")):
            self.wrong.append(f"request: {url}")


def barriers(page: Path, reader: Reader, *, checks: bool = True, **options: Any) -> list[object]:
    """What axe finds in every panel of a page, with whatever is folded unfolded."""
    told: list[object] = []
    with reader.opened(page, checks=checks, **options) as shown:
        shown.evaluate(AXE.read_text())
        tabs = shown.locator("[role=tab]")
        for place in range(max(1, tabs.count())):
            if tabs.count():
                tabs.nth(place).click()
            shown.evaluate(
                "document.querySelectorAll('section.current details').forEach((one) => { one.open = true; })"
            )
            found = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
            told += [(place, one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found]
    return told
