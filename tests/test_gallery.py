"""The gallery: every page has its picture, drawn by the one script, small, and asking no other host for anything."""

import ast
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted(page for page in (DOCS / "gallery").glob("*.md") if page.name != "index.md")
LARGEST = 60_000  # bytes of a picture
ANOTHER_HOST = re.compile(r"""(?:href|src)=["']|url\((?!#)|@import""")


def test_there_are_ten_and_the_index_shows_each() -> None:
    assert len(PAGES) == 10
    index = (DOCS / "gallery" / "index.md").read_text()
    assert all(f"]({page.name}) |" in index and f"/{page.stem}.svg)" in index for page in PAGES)


def test_the_script_draws_exactly_these_pages() -> None:
    """Read, not imported: drawing needs the extra `plot`."""
    assigned = {
        node.target.id: node.value
        for node in ast.parse((DOCS / "make_gallery.py").read_text()).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    charts = assigned["CHARTS"]
    assert isinstance(charts, ast.Dict)
    assert [ast.literal_eval(key) for key in charts.keys if key] == [page.stem for page in PAGES]
    assert {picture.stem for picture in (DOCS / "pictures" / "gallery").iterdir()} == {page.stem for page in PAGES}


def test_words_of_a_picture_are_not_rounded_with_its_lines() -> None:
    words = (DOCS / "pictures" / "gallery" / "08-risk.svg").read_text()
    assert all(f">advantage {advantage}<" in words for advantage in ("0.05", "0.1", "0.3"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_its_picture_small_and_alone(page: Path) -> None:
    text = page.read_text()
    assert text.startswith("# ")
    assert text.splitlines()[0].endswith("?")
    assert f"](../pictures/gallery/{page.stem}.svg)" in text
    assert len(text.splitlines()) < 60
    picture = DOCS / "pictures" / "gallery" / f"{page.stem}.svg"
    drawing = picture.read_text()
    assert len(drawing.encode()) <= LARGEST
    assert not ANOTHER_HOST.search(drawing)
    assert ElementTree.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
