"""The documentation builds as a site: a short menu, links that work, search without a server, no other host."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

import kernelease as ke
from docs import make_api
from kernelease.report.page import page
from tests.report.browser import chromium, launched

ROOT = Path(__file__).resolve().parent.parent
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
ASKED_FOR = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(https?://[^"'\s>]+)""")
MENU = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
BEHIND = "In depth"  # the one entry of the menu that a newcomer may leave closed
FOR_NEWCOMERS = 20  # pages


def pages_of(entry: str | list | dict) -> list[str]:
    """The pages of the menu's entry, and of all entries below it."""
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for one in below for page in pages_of(one)]


def test_the_menu_has_twenty_pages_for_a_newcomer_and_all_others_below_one_entry() -> None:
    behind = [page for entry in MENU if BEHIND in entry for page in pages_of(entry)]
    first = [page for page in pages_of(MENU) if page not in behind]
    assert len(first) <= FOR_NEWCOMERS
    assert {"tutorial.md", "answers.md", "building-blocks.md"} <= set(first)
    assert {"research.md", "architecture.md", "for-auditors.md", "proofs/README.md"} <= set(behind)


def test_every_page_is_in_the_menu_once_or_in_the_gallery() -> None:
    """The gallery's index, which a test of its own compares with the folder, leads to the ten."""
    written = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    examples = {page for page in written if re.fullmatch(r"gallery/\d\d-.*", page)}
    assert sorted(pages_of(MENU)) == sorted(written - examples)


def test_the_python_reference_has_a_page_for_each_room_and_explains_every_name_once() -> None:
    """Written by `python -m docs.make_api`."""
    folder = ROOT / "docs" / "api"
    assert {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")} == make_api.files()
    rooms = {name for name in ke.__all__ if inspect.ismodule(getattr(ke, name))}
    explained = Counter(make_api.address(value) for page in make_api.pages() for value in _explained(page))
    assert {make_api.address(getattr(ke, name)) for name in set(ke.__all__) - rooms - {"__version__"}} <= set(explained)
    assert set(explained.values()) == {1}


def _explained(page: make_api.Page) -> list[object]:
    return [value for value in page.names.values() if make_api.is_explained(value)]


def test_no_two_pages_have_names_that_are_taken_for_each_other() -> None:
    """Audit and auditing, estimates and estimators: no first word of a name is another's with a different ending."""
    words = sorted({page.stem.split("-")[0] for page in (ROOT / "docs").glob("*.md")})
    assert [(one, other) for one in words for other in words if one < other and one[:5] == other[:5]] == []


@pytest.mark.slow
def test_the_site_builds_without_a_warning_asks_no_other_host_and_is_searched_from_its_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_quiet(), check=False)
    assert done.returncode == 0, done.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    asked = {url for one in pages for url in ASKED_FOR.findall(one.read_text())}
    assert not asked
    reference = (tmp_path / "site" / "api" / "asking.html").read_text()
    assert "kernelease.answers.release.Release" in reference
    demo = (tmp_path / "site" / "demo.html").read_text(encoding="utf-8")
    data = json.loads(DATA.search(demo)[1])
    assert page(data) == demo
    assert all(finding["holds"] for finding in data["seals"]["findings"])
    assert all('href="demo.html"' in (tmp_path / "site" / name).read_text() for name in ("index.html", "explorer.html"))
    for opened in ("index.html", "proofs/rounds.html"):  # last: it needs a browser, which not everybody has
        with ThreadPoolExecutor(1) as thread:  # of its own: another test's browser may be open in this one
            found = thread.submit(found_by_search, tmp_path / "site", opened, "statistician").result()
        assert "first-hour.html" in found


def found_by_search(site: Path, opened: str, word: str) -> set[str]:
    """The pages that the search box finds, in a page that was opened as a file."""
    with launched(chromium()) as browser:
        shown = browser.new_page()
        shown.set_default_timeout(120_000)  # a busy machine takes its time
        shown.goto((site / opened).as_uri())
        shown.get_by_placeholder("Search").click()
        shown.keyboard.type(word)
        links = shown.locator("a.md-search-result__link")
        links.first.wait_for()
        return {Path(str(one.get_attribute("href")).partition("?")[0]).name for one in links.all()}


def _quiet() -> dict[str, str]:
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
