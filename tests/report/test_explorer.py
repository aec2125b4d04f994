"""The page of a release, in a real browser: what it shows, that it computes as Python does, what it never does."""

import itertools
import math
import re
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from kernelease import Privacy
from kernelease.analysis.estimate import Estimate
from kernelease.answers.release import Release
from kernelease.cli import app
from kernelease.report.page import report_bundle, report_release
from tests.report import releases
from tests.report.browser import Reader

pytestmark = pytest.mark.slow

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PANELS = ("what", "columns", "pairs", "ask", "rows", "officer")
VECTOR_PANELS = ("what", "points", "rows", "officer")
BOXES = """(all) => all.map((one) => {
    const box = one.getBoundingClientRect();
    return [box.left, box.right, box.top, box.bottom];
})"""
EVENTS = (  # what people write: round numbers that cut cells, dates without quotes, = and between
    *("age > 40", "age between 30 and 44", "age = 50", "age in (20, 30, 40)", "age < 30 or age > 60", "age <> 18"),
    *("hours > 40", "hours >= 35 and hours <= 45", "hours between 20 and 30", "hours = 0", "hours > 20.3"),
    *("hours is null", "not (hours > 40)", "moved >= '2020-01-01'", "moved > 2021-06-15", "moved is not null"),
    *("moved between 2016-01-01 and 2016-12-31", "sex = female", "education in ('school', 'college')"),
    *("education >= 'college'", "not (employed = true)", "sex = 'male' and age > 65", "hours > 40 AND employed = true"),
    *("moved >= '2022-03-03' and sex = 'male'", "if sex = 'female' then employed = false"),
    *("not (sex == 'male' or hours is null)", "age > 30 and age <= 45"),
)
OF_ONE_COLUMN = EVENTS[:20]
AMONG = ("sex = 'male'", "hours > 37.5", "age between 25 and 41", "moved < '2019-07-01'")
QUESTIONS = (  # what, about, where, by
    *(("probability", event, "", "") for event in EVENTS),
    *(("count", "", event, "") for event in EVENTS),
    *(
        ("probability", event, among, "")
        for event in ("age > 52", "employed = true", "education = 'university'", *OF_ONE_COLUMN)
        for among in AMONG
    ),
    *(
        ("probability", event, "", by)
        for event in ("age > 52", "employed = true", "moved is null", "moved < '2018-01-01'", *OF_ONE_COLUMN[:16])
        for by in ("sex", "education")
    ),
    *(("count", "", "", by) for by in ("", "age", "sex", "education", "hours", "moved", "employed")),
    *(("mean", "age", "", by) for by in ("", "sex", "education", "hours", "moved", "employed")),
    *(
        ("mean", "hours", "", ""),
        ("mean", "hours", "", "education"),
        ("mean", "hours", "", "age"),
        ("mean", "employed", "sex == 'male'", ""),
    ),
)
ELSEWHERE = (  # what the page leaves to the command line
    ("probability", "employed == true", "sex == 'male'", "education"),
    ("mean", "age", "sex == 'male'", "education"),
    ("count", "", "age < hours", ""),
)
UNREADABLE = {  # a condition, and what the page says of it: names and values that exist
    "agee > 3": "Is it age?",
    "age >": "is expected",
    "sex == 'other'": "There are 'female', 'male'.",
    "sex < 'male'": "has no order",
    "age == null": "is null",
    "age 3": "A comparison is expected",
    "(age > 3": "is expected",
    "'a' == 'b'": "needs a column",
    "age > 'x'": "compared with numbers",
    "moved > 3": "A date is written '2020-01-01'",
}


def _fragment(what: str, about: str, where: str, by: str) -> str:
    """The question as the page's own address has it."""
    named = {"probability": "event", "mean": "column"}
    parts = {"what": what, **({named[what]: about} if what in named else {}), "where": where, "by": by}
    return "ask?" + urlencode({name: value for name, value in parts.items() if value})


def _ask(page, *question: str) -> None:
    page.evaluate("(hash) => { location.hash = hash; }", _fragment(*question))
    page.wait_for_function("(hash) => document.querySelector('#lines code') !== null && location.hash.length > 4")
    page.wait_for_timeout(20)


def _answers(page, by: str) -> list[str]:
    return page.locator("#answer .estimate" if by else "#answer .big").all_inner_texts()


def _printed(page, by: str) -> list[str]:
    """What the command line prints, where the page says a share in percent."""
    place = page.locator("#answer .estimate" if by else "#answer .big")
    return place.evaluate_all("(all) => all.map((one) => one.dataset.printed)")


def _copied(page, label: str) -> str:
    return page.locator("#lines .copyable", has_text=label).locator("code").inner_text()


def _expected(release: Release, page, by: str) -> list[Estimate]:
    """What the line of Python says that the page gives to copy."""
    line = _copied(page, "Python")
    call = line[line.index(").") + 2 :]
    answer = eval(f"release.{call}", {"release": release})
    return list(answer.values()) if by else [answer]


def _far(page, expected: list[Estimate], by: str) -> float:
    """How far the page's value and both ends are from Python's, in margins. Where nothing can be told, the page says
    unknown, and Python what the rows would say: then only the ends."""
    digits = "(all) => all.map((one) => [one.dataset.value, one.dataset.low, one.dataset.high].map(Number))"
    shown = page.locator("#answer .estimate" if by else "#answer .big").evaluate_all(digits)
    assert len(shown) == len(expected)
    found = [0.0]
    for own, estimate in zip(shown, expected, strict=True):
        theirs, margin = (estimate.value, *estimate.interval()), max(estimate.margin(), 1e-9)
        known = not math.isnan(own[0])
        assert known or estimate.says_little
        found += [abs(one - other) / margin for one, other in list(zip(own, theirs, strict=True))[not known :]]
    return max(found)


def _alike(page, expected: list[Estimate], by: str) -> bool:
    """A hundred-thousandth of a margin is below every shown digit; texts differ where a digit is about to turn."""
    texts = _printed(page, by)
    turned = [text for text, one in zip(texts, expected, strict=True) if text != str(one) and not one.says_little]
    return _far(page, expected, by) < 1e-4 and len(turned) <= 1


def test_every_panel_opens_and_asks_for_nothing(page: Path, reader: Reader) -> None:
    with reader.opened(page, offline=True) as shown:
        assert "good" in shown.locator("#verdict").get_attribute("class").split()
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} h2").first.is_visible()
            assert shown.locator("section.current").count() == 1
        shown.locator("#tab-columns").click()
        for card in shown.locator("#column-cards article").all():
            card.scroll_into_view_if_needed()
            card.locator("svg.plot").wait_for()
        assert shown.locator("#column-cards article").count() == 6
        assert shown.locator("#panel-officer .checks .bad").count() == 0
        assert shown.locator("#panel-rows table").count() == 2
        names = shown.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert [name for name in names if not name.startswith("data:")] == []


def test_two_hundred_questions_are_answered_as_python_answers_them(page: Path, people, reader: Reader) -> None:
    """Each by its address, which is the link that the page gives; the line of Python is the one to copy."""
    assert len(QUESTIONS) >= 200
    with reader.opened(page, "ask") as shown:
        for question in QUESTIONS:
            _ask(shown, *question)
            assert shown.locator("#answer .notice").count() == 0, (question, shown.inner_text("#answer"))
            assert _alike(shown, _expected(people[0], shown, question[3]), question[3]), question


def test_what_the_page_can_t_answer_it_says(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        for question in ELSEWHERE:
            _ask(shown, *question)
            assert "kernelease answers it" in shown.inner_text("#answer"), question
            assert _copied(shown, "Command").startswith("kernelease query")
            assert all(estimate is not None for estimate in _expected(people[0], shown, question[3]))
        for text, told in UNREADABLE.items():
            _ask(shown, "probability", text, "", "")
            assert told in shown.inner_text("#answer .notice.bad"), text


def test_commands_that_are_copied_work(page: Path, bundle: Path, reader: Reader) -> None:
    questions = (
        ("probability", "sex = 'female'", "hours between 20 and 40", ""),
        ("probability", "moved >= 2020-01-01", "", "sex"),
        ("count", "", "education in ('school') and employed = true", ""),
        ("mean", "hours", "", "education"),
    )
    with reader.opened(page, "ask") as shown:
        for question in questions:
            _ask(shown, *question)
            words = shlex.split(_copied(shown, "Command"))
            assert words[:3] == ["kernelease", "query", str(bundle)]
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, result.output
            assert all(text.split()[0] in result.output for text in _printed(shown, question[3])), question


def test_a_link_opens_the_same_answer(page: Path, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        shown.get_by_label("Condition", exact=True).fill("hours > 40")
        shown.get_by_label("Among rows with (optional)").fill("sex = 'male'")
        answer, link = shown.inner_text("#answer .big"), _copied(shown, "Link")
        assert link == shown.url
    with reader.opened(page, link.split("#")[1]) as again:
        assert again.inner_text("#answer .big") == answer
        assert again.get_by_label("Condition", exact=True).input_value() == "hours > 40"
    with reader.opened(page, "ask?what=mean&column=nobody") as other:  # of another release: the page's own question
        assert other.locator("#answer .big").count() == 1


def test_an_answer_that_cuts_a_cell_says_so(page: Path, reader: Reader) -> None:
    with reader.opened(page, "ask?what=probability&event=hours+%3E+40") as shown:
        assert "cuts through counted cells" in shown.inner_text("#answer")
    with reader.opened(page, "ask?what=probability&event=employed+%3D+true") as shown:
        assert "cuts through" not in shown.inner_text("#answer")


def test_examples_are_about_columns_that_are_there(page: Path, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        examples = shown.locator("button.example")
        assert examples.count() >= 4
        for place in range(examples.count()):
            examples.nth(place).click()
            assert shown.get_by_label("Condition", exact=True).input_value() == examples.nth(place).inner_text()
            assert shown.locator("#answer .big").count() == 1


def test_shares_are_said_in_percent(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "ask?what=probability&event=employed+%3D+true") as shown:
        expected = people[0].probability("employed == true")
        said = shown.inner_text("#answer .big")
        assert float(said.split()[0]) == pytest.approx(100 * expected.value, abs=0.1)
        assert "%" in said
        assert shown.get_attribute("#answer .big", "data-printed") == str(expected)
        assert "%" in shown.locator("#answer p").nth(1).inner_text()


def test_columns_are_looked_up_and_put_into_the_condition(page: Path, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        assert shown.locator(".names li").count() == 0  # made when it is unfolded
        shown.get_by_text("All columns and their values").click()
        lines = shown.locator(".names li")
        lines.nth(5).wait_for()
        assert lines.count() == 6
        assert "female, male" in lines.nth(1).inner_text()
        assert "18 to 99" in lines.nth(0).inner_text()
        shown.get_by_label("Condition", exact=True).fill("sex = 'male'")
        lines.nth(4).get_by_role("button").click()
        assert shown.get_by_label("Condition", exact=True).input_value().startswith("sex = 'male' and employed")
        assert shown.locator("#answer .big").count() == 1


def test_cards_lie_without_gaps(page: Path, reader: Reader) -> None:
    """In each column of the page, the next card begins where the one above it ends, and no two overlap."""
    with reader.opened(page, "columns") as shown:
        for card in shown.locator("#column-cards article").all():
            card.scroll_into_view_if_needed()
            card.locator("svg.plot").wait_for()
        shown.wait_for_timeout(200)  # their heights are told to the grid
        places = shown.locator("#column-cards article").evaluate_all(BOXES)
        for left in {place[0] for place in places}:
            column = sorted(place[2:] for place in places if place[0] == left)
            for (_, bottom), (top, _) in itertools.pairwise(column):
                assert 0 <= top - bottom <= 28


def _whole_numbers(texts: list[str]) -> list[float]:
    return [float(text.replace(",", "")) for text in texts if text.replace(",", "").isdigit()]


def test_pictures_keep_to_where_rows_are(tmp_path: Path, reader: Reader) -> None:
    """Of a number whose declared range is a hundred times too wide, the picture shows the part that holds the rows; and
    no share is above 100 %."""
    with reader.opened(report_release(releases.tails(), tmp_path / "page.html"), "columns") as shown:
        card = shown.locator("#column-0")
        card.locator("svg.plot").wait_for()
        assert "holds all values" in card.inner_text()
        texts = card.locator("svg text").all_text_contents()
        assert max(_whole_numbers(texts)) <= 1_000
        assert max(float(text.split("\u00a0")[0]) for text in texts if text.endswith("%")) <= 100
        card.get_by_role("button", name="all").click()
        assert "holds all values" not in card.inner_text()
        assert max(_whole_numbers(card.locator("svg text").all_text_contents())) >= 5_000


@pytest.mark.parametrize("what", ["Command", "Python", "Link"])
def test_lines_are_copied(page: Path, what: str, reader: Reader) -> None:
    with reader.opened(page, "ask", permissions=["clipboard-read", "clipboard-write"]) as shown:
        shown.locator("#lines .copyable", has_text=what).get_by_role("button").click()
        shown.locator("#lines button", has_text="Copied").wait_for()
        assert shown.evaluate("navigator.clipboard.readText()") == _copied(shown, what)


def test_columns_are_found_sorted_and_pinned(page: Path, reader: Reader) -> None:
    def names() -> list[str]:
        return shown.locator("#column-cards article h3 bdi").all_inner_texts()

    with reader.opened(page, "columns") as shown:
        assert names() == ["age", "sex", "education", "hours", "employed", "moved"]
        shown.get_by_label("Sort").select_option("name")
        assert names() == ["age", "education", "employed", "hours", "moved", "sex"]
        shown.get_by_label("Search").fill("ed")
        assert names() == ["education", "employed", "moved"]
        assert shown.inner_text("#column-count") == "3 of 6 columns"
        shown.get_by_role("button", name="Pin moved").click()
        shown.get_by_label("Search").fill("sex")
        assert names() == ["moved", "sex"]
        shown.get_by_label("Search").fill("")
        assert names()[0] == "moved"
        shown.get_by_role("button", name="Pin moved").click()
        shown.get_by_label("Sort").select_option("relation")
        assert set(names()[:3]) == {"hours", "employed", "age"}


def test_pairs_come_by_strength_and_open_on_the_strongest(page: Path, reader: Reader) -> None:
    with reader.opened(page, "pairs") as shown:
        rows = shown.locator("#pair-list tbody tr")
        texts = rows.locator("td.number").all_inner_texts()
        clear = [float(text.split()[0]) for text in texts if text[0].isdigit()]
        assert len(clear) >= 2
        assert clear == sorted(clear, reverse=True)
        assert all(text.startswith("too small to tell") for text in texts[len(clear) :])
        first = rows.locator("button").first
        assert first.get_attribute("aria-pressed") == "true"
        assert shown.inner_text("#pair h3") == first.inner_text()
        shown.get_by_label("Search").last.fill("sex moved")
        assert rows.count() == 1
        rows.locator("button").first.click()
        assert "sex" in shown.inner_text("#pair h3")
        assert "moved" in shown.inner_text("#pair h3")


def test_a_table_of_many_columns_can_be_used(tmp_path: Path, reader: Reader) -> None:
    """Pairs that were not measured are a sentence, not squares; columns are found by name, and drawn when seen."""
    release = releases.wide(40, 1_500)
    with reader.opened(report_release(release, tmp_path / "page.html"), "columns") as shown:
        assert shown.locator("#column-cards article").count() == 40
        assert shown.locator("#column-cards svg.plot").count() < 40
        shown.get_by_label("Search").fill("q039")
        shown.locator("#column-cards svg.plot").wait_for()
        shown.locator("#tab-pairs").click()
        assert "were not measured together, and are not listed" in shown.inner_text("#panel-pairs")
        assert shown.locator("#pair-list tbody tr").count() <= 30
        more = shown.locator("#pair-list button", has_text="more of")
        if more.count():
            more.click()
            assert shown.locator("#pair-list tbody tr").count() > 30
        assert shown.locator("#filter-cards article").count() <= 18


def test_axes_have_round_numbers_and_nothing_touches(page: Path, reader: Reader) -> None:
    """Ticks of numbers are multiples of 1, 2 or 5, dates are years, NULL is named; no two texts overlap."""
    with reader.opened(page, "columns") as shown:
        texts = {}
        for card in shown.locator("#column-cards article").all():
            card.scroll_into_view_if_needed()
            card.locator("svg.plot").wait_for()
            texts[card.locator("h3 bdi").inner_text()] = card.locator("svg text").all_text_contents()
            boxes = card.locator("svg text").evaluate_all(BOXES)
            for one, other in itertools.combinations(boxes, 2):
                across = min(one[1], other[1]) - max(one[0], other[0])
                down = min(one[3], other[3]) - max(one[2], other[2])
                assert across <= 0.5 or down <= 3.0, (texts, one, other)
        assert {"20", "40", "60", "80"} <= set(texts["age"])
        assert {"20", "40", "60", "NULL"} <= set(texts["hours"])  # 0 and 80 where rows were seen there
        years = [text for text in texts["moved"] if re.fullmatch(r"20\d\d", text)]
        assert len(years) >= 4
        assert "NULL" in texts["moved"]
        assert not any(re.search(r"\d\.\d{3}", text) for own in texts.values() for text in own)


def test_cells_are_as_wide_as_they_are(page: Path, reader: Reader) -> None:
    """Of hours, whose pairs have cells of several widths: a bar's area is its share."""
    with reader.opened(page, "pairs") as shown:
        shown.get_by_label("Choose rows by").select_option(label="hours")
        options = shown.get_by_label("from", exact=True).locator("option").all_inner_texts()
        assert not any("9999" in text or "0.0001" in text for text in options)  # 32.5 to 35; above 0 to 2.5
        ends = [text.removeprefix("above ").split(" to ") for text in options if " to " in text]
        widths = [float(high) - float(low) for low, high in ends]
        bars = shown.locator("#filter-chart rect.bar").evaluate_all(
            "(all) => all.map((one) => one.width.baseVal.value)"
        )
        bars = [bar for bar, text in zip(bars, options, strict=False) if " to " in text]
        ratio = [bar / width for bar, width in zip(bars, widths, strict=True) if width > 2]
        assert max(ratio) < 1.35 * min(ratio)
        assert max(widths) > 1.5 * min(widths)


def test_no_count_is_below_0(page: Path, reader: Reader) -> None:
    with reader.opened(page, "rows") as shown:
        numbers = shown.locator("#panel-rows table").first.locator("td:nth-child(2), td:nth-child(3)").all_inner_texts()
        assert len(numbers) == 30
        assert all(not text.startswith("-") for text in numbers)


def test_numbers_are_not_broken(page: Path, reader: Reader) -> None:
    """Wherever a number with its error stands in a sentence, on the narrowest phone."""
    lines = """(all) => all.map((one) => { const range = document.createRange(); range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; })"""
    with reader.opened(page, "pairs", viewport={"width": 320, "height": 700}) as shown:
        assert shown.locator("td.number, .facts dd").count() > 5
        assert set(shown.locator("td.number").evaluate_all(lines)) == {1}
        worth = shown.inner_text("#worth")
        assert "±\u00a0" in worth
        assert "\u00a0%" in worth


def test_the_data_sheet_is_no_raw_markdown(page: Path, reader: Reader) -> None:
    with reader.opened(page, "officer") as shown:
        sheet = shown.inner_text(".sheet")
        assert not re.search(r"^#|\*\*|\| ---|^\|", sheet, re.MULTILINE)
        assert shown.locator(".sheet table").count() == 2
        assert shown.locator(".sheet h4").count() >= 6
        assert shown.locator(".sheet td", has_text="approximate differential privacy").count() == 1


def test_nobody_s_signature_has_no_tick(people, tmp_path: Path, reader: Reader) -> None:
    with reader.opened(report_release(people[0], tmp_path / "page.html"), "officer") as shown:
        line = shown.locator("#panel-officer .checks li", has_text="not signed")
        assert line.get_attribute("class") == "open"
        assert "✓" not in line.inner_text()


def test_the_promise_is_in_plain_words(page: Path, people, reader: Reader) -> None:
    with reader.opened(page) as shown:
        assert shown.inner_text("#headline") == people[0].certificate.words
        assert "ε\u00a0=\u00a02" in shown.inner_text("#print")
        assert shown.inner_text("#worth").startswith("Good for shares of single columns to\u00a0±")


def test_the_risk_is_that_of_the_chosen_rate(page: Path, people, reader: Reader) -> None:
    with reader.opened(page) as shown:
        before = shown.inner_text("#risk p")
        shown.locator("#rate").focus()
        shown.keyboard.press("Home")
        assert shown.inner_text("#risk p") != before
        assert "0.01" in shown.inner_text("#risk p")


def test_cross_tables_are_those_of_python(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        shown.get_by_label("What", exact=True).select_option("crosstab")
        for first, second in (("sex", "education"), ("age", "employed")):
            shown.get_by_label("First").select_option(label=first)
            shown.get_by_label("Second").select_option(label=second)
            expected = [str(estimate) for row in people[0].crosstab(first, second).estimates for estimate in row]
            assert shown.locator("#answer td").all_inner_texts() == expected


@pytest.mark.parametrize(("neighbours", "delta", "epsilon"), [("add-remove", 1e-6, 2.0), ("replace-one", 0.0, 20.0)])
def test_other_promises_are_answered_alike(
    neighbours: str, delta: float, epsilon: float, tmp_path: Path, reader: Reader
) -> None:
    """A noisy number of rows, whose shares are ratios; and Laplace noise, whose intervals are longer."""
    release = releases.promised(neighbours, Privacy(epsilon=epsilon, delta=delta))
    with reader.opened(report_release(release, tmp_path / "page.html"), "ask") as shown:
        answered = 0
        for question in QUESTIONS:
            if any(name in part for name in ("age", "education", "moved") for part in question):
                continue
            _ask(shown, *question)
            if shown.locator("#answer .notice").count() == 0:  # pairs may not have been measured
                assert _alike(shown, _expected(release, shown, question[3]), question[3]), question
                answered += 1
        assert answered >= 20


def test_pairs_that_have_details_are_answered_as_in_python(tmp_path: Path, reader: Reader) -> None:
    release = releases.twins()
    assert len(release.measurements.measured.details) > 0
    with reader.opened(report_release(release, tmp_path / "page.html"), "ask") as shown:
        for about in ("end > 98", "start > 98", "late == true", "end > 33 and start < 60"):
            _ask(shown, "probability", about, "", "")
            assert _alike(shown, _expected(release, shown, ""), ""), about


def test_a_filter_shows_what_python_says_of_the_chosen_rows(page: Path, people, reader: Reader, capsys) -> None:
    with reader.opened(page, "pairs") as shown:
        shown.get_by_label("Choose rows by").select_option(label="age")
        chart = shown.locator("#filter-chart svg")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        middle, took = box["y"] + box["height"] / 2, []
        shown.mouse.move(box["x"] + 0.2 * box["width"], middle)
        shown.mouse.down()
        for step in range(5, 15):
            shown.mouse.move(box["x"] + box["width"] * step / 20, middle)
            took.append(float(shown.get_attribute("#filter", "data-milliseconds")))
        shown.mouse.up()
        low, high = (
            shown.get_by_label(name, exact=True).evaluate("(choice) => choice.selectedOptions[0].text")
            for name in ("from", "to")
        )
        where = f"age >= {low.split(' to ')[0]} and age <= {high.split(' to ')[-1]}"
        assert low != high
        assert str(people[0].count(where)) in shown.inner_text("#filter-words")
        said = shown.locator("#filter-cards article", has_text="employed").locator(".said").inner_text()
        label, _, text = said.replace("\u00a0", " ").partition(": ")
        value, margin = (float(part) for part in re.findall(r"[\d.]+", text)[:2])
        expected = people[0].probability(f"employed == {label}", where=where)
        assert value == pytest.approx(100 * expected.value, abs=0.06)
        assert margin == pytest.approx(100 * expected.margin(), abs=0.06) or "(" in text
    with capsys.disabled():
        sys.stdout.write(
            f"\n  dragging: {sorted(took)[len(took) // 2]:.0f} ms for the middle one of {len(took)} moves\n"
        )


def test_values_without_order_are_chosen_by_buttons(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "pairs") as shown:
        shown.get_by_label("Choose rows by").select_option(label="sex")
        shown.get_by_role("button", name="male", exact=True).click()
        shown.get_by_role("button", name="female", exact=True).click()
        assert str(people[0].count("sex == 'male'")) in shown.inner_text("#filter-words")


def test_means_and_quantiles_on_cards_are_python_s(page: Path, people, reader: Reader) -> None:
    release = people[0]
    with reader.opened(page, "columns") as shown:
        card = shown.locator("#column-3")
        card.scroll_into_view_if_needed()
        card.locator("svg.plot").wait_for()
        for estimate in (release.mean("hours"), release.quantile("hours", 0.5)):
            assert str(estimate) in card.inner_text()
        null = release.probability("hours is null")
        assert f"{100 * null.value:.2f} %"[:4] in card.inner_text()


def test_a_changed_document_shows_red(tiny: Path, tmp_path: Path, reader: Reader) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(tiny, changed)
    sheet = changed / "datasheet.md"
    sheet.write_text(sheet.read_text().replace("Hazards", "Blessings"))
    written, holds = report_bundle(changed, tmp_path / "page.html")
    assert not holds
    with reader.opened(written) as shown:
        assert "bad" in shown.locator("#verdict").get_attribute("class").split()
        assert shown.locator("#checks .bad", has_text="datasheet.md").count() == 1


def test_a_signature_of_something_else_shows_red(tiny: Path, tmp_path: Path, reader: Reader) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(tiny, changed)
    (changed / "SHA256SUMS.sig").write_bytes(bytes(64))
    with reader.opened(report_bundle(changed, tmp_path / "page.html")[0]) as shown:
        assert shown.locator("#checks .bad", has_text="Signature").count() == 1
        assert shown.locator("#verdict.bad").count() == 1


def test_files_of_the_bundle_are_checked_by_hand(page: Path, bundle: Path, tmp_path: Path, reader: Reader) -> None:
    other = tmp_path / "data.parquet"
    other.write_bytes(b"not these rows")
    with reader.opened(page) as shown:
        shown.set_input_files("#pick", bundle / "data.parquet")
        shown.locator("#checks .good", has_text="chosen").wait_for()
        assert shown.locator("#verdict.good").count() == 1
        shown.set_input_files("#pick", other)
        shown.locator("#checks .bad", has_text="chosen").wait_for()
        assert shown.locator("#verdict.bad").count() == 1


def test_hostile_names_stay_text(tmp_path: Path, reader: Reader) -> None:
    with reader.opened(report_release(releases.hostile(), tmp_path / "page.html")) as shown:
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            width = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert width <= 0, panel
        assert shown.evaluate("window.hacked") is None
        assert shown.locator("main img, main script, header img").count() == 0
        assert "<script>" in shown.inner_text("#panel-columns") or shown.locator("bdi", has_text="<script>").count() > 0
        assert "\u202e" not in shown.evaluate("document.body.innerText")


def test_nothing_else_runs_or_is_fetched(page: Path, reader: Reader) -> None:
    with reader.opened(page) as shown:
        blocked = shown.evaluate(
            """async () => {
                const seen = [];
                addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
                const script = document.createElement("script");
                script.textContent = "window.hacked = 1";
                document.body.append(script);
                const image = document.createElement("img");
                image.src = "https://example.invalid/x.png";
                document.body.append(image);
                await fetch("https://example.invalid/").catch(() => null);
                await new Promise((resolve) => setTimeout(resolve, 50));
                return [window.hacked ?? null, seen.sort()];
            }"""
        )
        assert blocked == [None, ["connect-src", "img-src", "script-src-elem"]]
        assert all("Content Security Policy" in said or "example.invalid" in said for said in reader.wrong)
        reader.wrong.clear()


def test_a_sample_is_saved_as_csv(page: Path, reader: Reader) -> None:
    with reader.opened(page, "rows") as shown:
        with shown.expect_download() as download:
            shown.get_by_role("button", name="Download").click()
        lines = Path(download.value.path()).read_bytes().decode().split("\r\n")
        assert lines[0] == "age,sex,education,hours,employed,moved"
        assert len(lines) == 202


def test_vectors_have_a_page_too(tmp_path: Path, reader: Reader) -> None:
    """A picture of all points, which weigh; how exact it is, beside a fresh sample; no panel without a word to say."""
    with reader.opened(report_release(releases.vectors(), tmp_path / "page.html"), "points") as shown:
        assert shown.locator("[role=tab]").all_inner_texts() == ["What is this?", "Points", "Rows", "For the officer"]
        assert shown.locator("#point-picture circle").count() == 20
        assert "as exact as a sample of about" in shown.inner_text("#panel-points")
        assert "real rows" in shown.inner_text("#worth")
        assert shown.locator("#panel-points select").count() == 0  # of two numbers there is one picture
        for panel in VECTOR_PANELS:
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} h2").first.is_visible()


def test_vectors_with_classes_are_shown_by_class_and_axis(tmp_path: Path, reader: Reader) -> None:
    with reader.opened(report_release(releases.classes(), tmp_path / "page.html"), "points") as shown:
        every = shown.locator("#point-picture circle").count()
        assert every == 1_000
        places = shown.locator("#point-picture circle").first.get_attribute("cx")
        shown.get_by_label("Across", exact=True).select_option(index=2)
        assert shown.locator("#point-picture circle").first.get_attribute("cx") != places
        shown.get_by_role("button", name="sport", exact=True).click()
        assert 100 < shown.locator("#point-picture circle").count() < every
        assert shown.get_by_role("button", name="sport", exact=True).get_attribute("aria-pressed") == "true"
        rows = shown.locator("#panel-points table", has_text="in the synthetic rows").locator("tbody tr")
        assert rows.locator("th").all_inner_texts() == ["sport", "science", "law"]
        shares = [float(text.split()[0]) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
        assert sum(shares) == pytest.approx(100.0, abs=0.2)


def test_several_tables_have_a_page_about_persons(tmp_path: Path, reader: Reader) -> None:
    """Each household counts once; the lines to copy ask the bundle, and each table shows its own rows."""
    bundle = releases.tables(tmp_path)
    written, holds = report_bundle(bundle, tmp_path / "page.html")
    assert holds
    with reader.opened(written) as shown:
        assert shown.inner_text("#title") == "homes and persons"
        assert "Every home counts once here" in shown.inner_text("#panel-what")
        assert "one home with all its persons" in shown.inner_text("#print")
        shown.locator("#tab-rows").click()
        assert shown.locator("#panel-rows h4 bdi").all_inner_texts() == ["homes", "persons"]
        _ask(shown, "mean", "persons.age", "", "homes.region")
        words = shlex.split(_copied(shown, "Command"))
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, result.output
        assert all(text.split()[0] in result.output for text in _printed(shown, "homes.region"))
        assert ".flat.mean(" in _copied(shown, "Python")


def test_the_rows_of_objects_have_no_picture(tmp_path: Path, reader: Reader) -> None:
    with reader.opened(report_release(releases.words(), tmp_path / "page.html"), "points") as shown:
        assert "no numbers" in shown.inner_text("#panel-points")


def test_the_owner_s_page_says_private_on_every_panel(tiny: Path, tiny_table, tmp_path: Path, reader: Reader) -> None:
    written, _ = report_bundle(tiny, tmp_path / "tiny-private.html", private=tiny_table[1])
    with reader.opened(written) as shown:
        for panel in (*PANELS, "owner"):
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} > .private").is_visible()
        assert shown.locator("#panel-owner article .private").count() == 3
