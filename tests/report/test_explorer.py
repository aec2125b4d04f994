"""The page of a release, in a real browser: what it shows, that it computes as Python does, what it never does."""

import shutil
import sys
from pathlib import Path

import pytest

from kernelease import Privacy
from kernelease.release.release import Release
from kernelease.report.page import report_bundle, report_release
from tests.report import releases
from tests.report.browser import Reader

pytestmark = pytest.mark.slow

AXE = Path(__file__).parent / "axe" / "axe.min.js"
PANELS = ("what", "columns", "pairs", "ask", "rows", "officer")
QUESTIONS = (  # what, about, where, by: on edges of cells, so that the page answers them
    ("count", "", "", ""),
    ("count", "", "age > 30 and age <= 45", ""),
    ("count", "", "not (sex == 'male' or hours is null)", ""),
    ("count", "", "", "age"),
    ("count", "", "employed == true", "education"),
    ("probability", "employed == true", "", ""),
    ("probability", "employed == true", "sex == 'female'", ""),
    ("probability", "education >= 'college'", "", "sex"),
    ("probability", "education in ('school', 'university')", "hours is not null", ""),
    ("probability", "if sex == 'female' then employed == false", "", ""),
    ("probability", "moved is null", "", "employed"),
    ("probability", "moved >= '2015-01-01'", "", "sex"),
    ("mean", "age", "", ""),
    ("mean", "hours", "", "education"),
    ("mean", "employed", "sex == 'male'", ""),
)
ELSEWHERE = (  # what the page leaves to the command line
    ("probability", "hours > 20.3", "sex == 'male'", ""),
    ("probability", "employed == true", "sex == 'male'", "education"),
    ("mean", "age", "sex == 'male'", "education"),
    ("count", "", "age < hours", ""),
)
UNREADABLE = ("agee > 3", "age >", "sex == 'other'", "sex < 'male'", "age == null", "age 3", "(age > 3", "'a' == 'b'")


def _ask(page, what: str, about: str, where: str, by: str) -> None:
    page.get_by_label("What", exact=True).select_option(what)
    if what == "probability":
        page.get_by_label("Condition", exact=True).fill(about)
    if what == "mean":
        page.get_by_label("Column", exact=True).select_option(label=about)
    page.get_by_label("Among rows with (optional)").fill(where)
    page.get_by_label("By (optional)").select_option(label=by or "–")


def _answers(page, by: str) -> list[str]:
    return page.locator("#answer .estimate").all_inner_texts() if by else page.locator("#answer .big").all_inner_texts()


def _expected(release: Release, what: str, about: str, where: str, by: str) -> list[str]:
    options = {name: value for name, value in (("where", where), ("by", by)) if value}
    answer = getattr(release, what)(*([about] if about else []), **options)
    return [str(estimate) for estimate in answer.values()] if by else [str(answer)]


def test_every_panel_opens_and_asks_for_nothing(page: Path, reader: Reader) -> None:
    with reader.opened(page, offline=True) as shown:
        assert "good" in shown.locator("#verdict").get_attribute("class").split()
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} h2").first.is_visible()
            assert shown.locator("section.current").count() == 1
        assert shown.locator("#panel-columns svg").count() == 6
        assert shown.locator("table.pairs button").count() == 15
        assert shown.locator("#panel-officer .checks .bad").count() == 0
        assert shown.locator("#panel-rows table").count() == 2
        names = shown.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert [name for name in names if not name.startswith("data:")] == []


def test_the_page_answers_as_python_does(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "ask") as shown:
        for question in QUESTIONS:
            _ask(shown, *question)
            assert _answers(shown, question[3]) == _expected(people[0], *question), question
        for question in ELSEWHERE:
            _ask(shown, *question)
            assert "kernelease answers it" in shown.inner_text("#answer"), question
            assert shown.inner_text("#lines code").startswith("kernelease query")
        for text in UNREADABLE:
            _ask(shown, "probability", text, "", "")
            assert shown.locator("#answer .notice.bad").count() == 1, text


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
            if shown.locator("#answer .notice").count() == 0:  # cells may be too coarse, or pairs not measured
                assert _answers(shown, question[3]) == _expected(release, *question), question
                answered += 1
        assert answered >= 5


def test_pairs_that_have_details_are_answered_as_in_python(tmp_path: Path, reader: Reader) -> None:
    release = releases.twins()
    assert len(release.measured.details) > 0
    with reader.opened(report_release(release, tmp_path / "page.html"), "ask") as shown:
        for about in ("end > 98", "start > 98", "late == true"):
            _ask(shown, "probability", about, "", "")
            assert _answers(shown, "") == _expected(release, "probability", about, "", ""), about


def test_a_filter_shows_what_python_says_of_the_chosen_rows(page: Path, people, reader: Reader, capsys) -> None:
    with reader.opened(page, "pairs") as shown:
        overlay = shown.locator("#filter-chart .brush .overlay")
        overlay.scroll_into_view_if_needed()
        box = overlay.bounding_box()
        middle, took = box["y"] + box["height"] / 2, []
        shown.mouse.move(box["x"] + 0.1 * box["width"], middle)
        shown.mouse.down()
        for step in range(2, 15):
            shown.mouse.move(box["x"] + box["width"] * step / 20, middle)
            took.append(float(shown.get_attribute("#filter", "data-milliseconds")))
        shown.mouse.up()
        low, high = (
            shown.get_by_label(name, exact=True).evaluate("(choice) => choice.selectedOptions[0].text")
            for name in ("from", "to")
        )
        where = f"age >= {low.split('..')[0]} and age <= {high.split('..')[-1]}"
        assert str(people[0].count(where)) in shown.inner_text("#filter-words")
        said = shown.locator("#filter-cards article", has_text="employed").locator(".said").inner_text()
        label, _, text = said.partition(": ")
        assert text.split(";")[0] == str(people[0].probability(f"employed == {label}", where=where))
    with capsys.disabled():
        sys.stdout.write(
            f"\n  brushing: {sorted(took)[len(took) // 2]:.0f} ms for the middle one of {len(took)} moves\n"
        )


def test_values_without_order_are_chosen_by_buttons(page: Path, people, reader: Reader) -> None:
    with reader.opened(page, "pairs") as shown:
        shown.get_by_label("Filter by").select_option(label="sex")
        shown.get_by_role("button", name="male", exact=True).click()
        shown.get_by_role("button", name="female", exact=True).click()
        assert str(people[0].count("sex == 'male'")) in shown.inner_text("#filter-words")


def test_means_and_quantiles_on_cards_are_python_s(page: Path, people, reader: Reader) -> None:
    release = people[0]
    with reader.opened(page, "columns") as shown:
        card = shown.locator("article.card", has_text="hours").first.inner_text()
        for estimate in (release.mean("hours"), release.quantile("hours", 0.5), release.probability("hours is null")):
            assert str(estimate) in card


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(page: Path, scheme: str, reader: Reader) -> None:
    with reader.opened(page, color_scheme=scheme) as shown:
        shown.evaluate(AXE.read_text())
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            found = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
            told = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found]
            assert told == [], panel


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
        assert shown.pdf(format="A4").startswith(b"%PDF")


def test_a_sample_is_saved_as_csv(page: Path, reader: Reader) -> None:
    with reader.opened(page, "rows") as shown:
        with shown.expect_download() as download:
            shown.get_by_role("button", name="Download").click()
        lines = Path(download.value.path()).read_bytes().decode().split("\r\n")
        assert lines[0] == "age,sex,education,hours,employed,moved"
        assert len(lines) == 202


def test_vectors_have_a_page_too(tmp_path: Path, reader: Reader) -> None:
    with reader.opened(report_release(releases.vectors(), tmp_path / "page.html")) as shown:
        for panel in PANELS:
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} h2").first.is_visible()


def test_the_owner_s_page_says_private_on_every_panel(tiny: Path, tiny_table, tmp_path: Path, reader: Reader) -> None:
    written, _ = report_bundle(tiny, tmp_path / "tiny-private.html", private=tiny_table[1])
    with reader.opened(written) as shown:
        for panel in (*PANELS, "owner"):
            shown.locator(f"#tab-{panel}").click()
            assert shown.locator(f"#panel-{panel} > .private").is_visible()
        assert shown.locator("#panel-owner article .private").count() == 3
