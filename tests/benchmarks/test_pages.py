"""Pages that several benchmarks write together, and units that run in processes."""

from pathlib import Path

import pytest

from benchmarks.checks import Check, bullets, markdown, write_part
from benchmarks.machine import in_processes


def test_a_part_of_a_page_takes_the_place_of_its_older_self(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# All of it\n\nFew words.\n", encoding="utf-8")
    for heading, text in (("One", "first"), ("Two", "second"), ("One", "third")):
        write_part(page, heading, "written by\n   a command", text)
    assert page.read_text(encoding="utf-8") == (
        "# All of it\n\nFew words.\n\n## One\n\nwritten by a command\n\nthird\n"
        "\n## Two\n\nwritten by a command\n\nsecond\n"
    )


def test_tables_and_claims_read_as_markdown() -> None:
    assert markdown(("what", "how far"), [("rows", 0.12345)]) == "| what | how far |\n| --- | --- |\n| rows | 0.1235 |"
    checks = [Check("near", "1", True), Check("nearer", "2", False)]
    assert bullets(checks) == "- Met: near (1).\n- **Missed**: nearer (2)."


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_results_come_in_the_order_of_units(jobs: int) -> None:
    assert list(in_processes(abs, range(-5, 5), jobs)) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
