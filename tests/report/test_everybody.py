"""Every page for everybody: axe, keys, phones, paper."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelease.answers.release import save
from kernelease.cli import app
from kernelease.cli.work.summary import SCHEMA
from kernelease.report.page import report_bundle, report_release
from tests.report import releases
from tests.report.browser import AXE, Reader, barriers

pytestmark = pytest.mark.slow

PANELS = ("what", "columns", "pairs", "ask", "rows", "officer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(page: Path, scheme: str, reader: Reader) -> None:
    """On a screen, and on a phone, where more has to be scrolled."""
    assert barriers(page, reader, color_scheme=scheme) == []
    assert barriers(page, reader, color_scheme=scheme, viewport={"width": 375, "height": 780}) == []


@pytest.mark.parametrize("kind", ["vectors", "classes", "words", "wide", "compared", "owner", "changed", "tables"])
def test_axe_finds_no_barrier_in_other_pages(kind: str, tiny: Path, tiny_table, tmp_path, reader) -> None:
    path = tmp_path / f"{kind}-private.html"
    if kind == "compared":
        other = save(releases.tiny()[0], tmp_path / "other")
        report_bundle(tiny, path, compare=other)
    elif kind == "owner":
        report_bundle(tiny, path, private=tiny_table[1])
    elif kind == "tables":
        report_bundle(releases.tables(tmp_path), path)
    elif kind == "changed":
        changed = tmp_path / "changed"
        shutil.copytree(tiny, changed)
        (changed / "datasheet.md").write_text("# Other\n")
        report_bundle(changed, path)
    else:
        made = releases.wide(24, 600) if kind == "wide" else getattr(releases, kind)()
        report_release(made, path)
    for scheme in ("light", "dark"):
        assert barriers(path, reader, color_scheme=scheme) == [], scheme


def test_axe_finds_no_barrier_in_plans_and_budgets(tmp_path: Path, reader: Reader) -> None:
    schema = tmp_path / "people.toml"
    schema.write_text(SCHEMA, encoding="utf-8")
    pages = [tmp_path / "plan.html", tmp_path / "budget.html"]
    promise = ["--epsilon", "1", "--delta", "1e-6"]
    run = CliRunner().invoke
    run(app, ["plan", "--schema", str(schema), "--rows", "9000", *promise, "--html", str(pages[0])])
    run(app, ["budget", "create", str(tmp_path / "ledger"), *promise, "--dataset", "people"])
    run(app, ["budget", "show", str(tmp_path / "ledger"), "--html", str(pages[1])])
    for path in pages:
        assert barriers(path, reader, checks=False) == [], path.name


def test_axe_would_find_a_barrier(page: Path, reader: Reader) -> None:
    """The broken twin: a button without a name."""
    with reader.opened(page) as shown:
        shown.evaluate(AXE.read_text())
        shown.evaluate("document.querySelector('main').append(document.createElement('button'))")
        found = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert "button-name" in [one["id"] for one in found]


def test_panels_are_reached_by_keys(page: Path, reader: Reader) -> None:
    with reader.opened(page) as shown:
        shown.locator("#tab-what").focus()
        for key, panel in (
            ("ArrowRight", "columns"),
            ("End", "officer"),
            ("ArrowRight", "what"),
            ("ArrowLeft", "officer"),
        ):
            shown.keyboard.press(key)
            assert shown.evaluate("document.activeElement.id") == f"tab-{panel}"
            assert shown.locator(f"#panel-{panel}.current").count() == 1


def test_phones_have_room_for_every_panel(page: Path, reader: Reader) -> None:
    with reader.opened(page, viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True) as shown:
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            assert shown.evaluate("document.documentElement.scrollWidth") <= 360, panel


def test_paper_shows_the_promise_and_the_officer_s_part(page: Path, reader: Reader) -> None:
    with reader.opened(page, "pairs") as shown:
        shown.evaluate("dispatchEvent(new Event('beforeprint'))")
        shown.emulate_media(media="print")
        visible = [panel for panel in PANELS if shown.locator(f"#panel-{panel}").is_visible()]
        assert visible == ["what", "officer"]
        assert "documents are as their checksums say" in shown.inner_text("#seals .paper")
        heights = shown.locator(".steps tbody tr").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
        assert sum(height > 0 for height in heights) == 25
        assert "certificate.json has all of them" in shown.inner_text("#panel-officer")
        assert shown.pdf(format="A4").startswith(b"%PDF")
