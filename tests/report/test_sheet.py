"""A page without scripts: what goes in stays text, and nothing can run or be fetched."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernelease.report import sheet
from tests.report import releases
from tests.report.browser import Reader

AXE = Path(__file__).parent / "axe" / "axe.min.js"
TAGS = {
    *("html", "head", "meta", "title", "link", "style", "body", "header", "main", "p", "h1", "h2", "dl", "div"),
    *("dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "svg", "rect"),
}


class _Seen(HTMLParser):
    """The elements of a page, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_hostile_names_stay_text() -> None:
    for name in releases.HOSTILE:
        parts = (
            sheet.facts([(name, name)]),
            sheet.grid(name, (name, "n"), [(name, 1)], note=name),
            sheet.words([name]),
        )
        seen = _Seen(sheet.sheet(*parts, kicker=name, title=name, headline=name))
        assert seen.tags <= TAGS
        assert not {one for one in seen.attributes if one.startswith("on") or one in ("src", "style")}
        assert seen.texts.count(name) == 10  # everywhere but in the title of the window, which joins two of them


def test_the_policy_allows_the_one_style_and_nothing_else() -> None:
    text = sheet.sheet(kicker="Plan", title="people", headline="")
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)[1])
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; script-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    assert "<script" not in text


def test_numbers_are_aligned_and_bars_are_drawn() -> None:
    text = sheet.grid("Left", ("entry", "left", "bar"), [("a", 1.5, sheet.Bar(share=0.25))], text=(0, 2))
    assert '<td>a</td><td class="number">1.5</td><td><svg' in text
    assert '<rect class="bar" width="60.0" height="14"/>' in text
    assert 'width="240.0"' in sheet.Bar(share=1.5).markup
    assert 'width="0.0"' in sheet.Bar(share=-1.0).markup


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_fetches_nothing_and_axe_finds_no_barrier(scheme: str, reader: Reader, tmp_path: Path) -> None:
    rows = [(name, 0.5, sheet.Bar(share=0.5)) for name in releases.HOSTILE]
    parts = (sheet.words(["so"]), sheet.facts([("a", 1)]), sheet.grid("Rows", ("name", "n", "bar"), rows, text=(0, 2)))
    (tmp_path / "sheet.html").write_text(sheet.sheet(*parts, kicker="Plan", title="people", headline="all of it"))
    with reader.opened(tmp_path / "sheet.html", checks=False, color_scheme=scheme) as shown:
        shown.evaluate(AXE.read_text())
        found = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
        assert shown.locator("tbody tr td").first.inner_text() == releases.SCRIPT
