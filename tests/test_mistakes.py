"""docs/mistakes.md is what is said about the mistakes; no message shows a cell, and each says what to do."""

import re

import pytest

from docs.make_mistakes import CELLS, GROUPS, TARGET, page

WRITTEN = TARGET.read_text(encoding="utf-8")
PRIVATE_PART = "## The private look"
REMEDY = re.compile(  # a verb that says what to do, an option to give, or what must be there
    r"(--\w|must|needs?|Check|Choose|Convert|Give|Remove|Rename|Leave|Write|Widen|Did you mean|left:|Use|Set|not valid|"
    r"Make|Save|download|not filled in|write|Ask|Say|say|takes|goes in|Download|name (a|one) column|compared with)"
)


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert page() == WRITTEN, "run: python docs/make_mistakes.py"


def test_there_are_a_hundred_and_sixty() -> None:
    assert sum(len(group) for group in GROUPS.values()) == 160
    assert WRITTEN.count("\n### ") == 160


def test_no_message_shows_a_cell() -> None:
    before, _, rest = WRITTEN.partition(PRIVATE_PART)
    look, _, after = rest.partition("\n## ")
    messages = before + after
    assert not [cell for cell in CELLS if cell in messages]
    assert any(cell in look for cell in CELLS)  # the owner asked


@pytest.mark.parametrize("text", re.findall(r"```text\n(.*?)```", WRITTEN, re.DOTALL))
def test_every_message_says_what_to_do(text: str) -> None:
    said = text.split("\n", 1)[1]
    assert REMEDY.search(said), said
