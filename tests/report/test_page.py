"""How a page is put together, without a browser."""

import base64
import hashlib
import json
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.analysis.estimate import Target
from kernelease.answers.frames import export_table
from kernelease.answers.reading import evidence_of
from kernelease.answers.release import save
from kernelease.bundle.container import read_bundle
from kernelease.bundle.verify import verify
from kernelease.cli import app
from kernelease.errors import BundleError, ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.report import sheet as assets
from kernelease.report.columns import pair_records, worth, worth_in_words
from kernelease.report.marginals import marginal_records
from kernelease.report.page import (
    check_private_name,
    embed_json,
    owner_record,
    page,
    report_bundle,
    report_release,
    seal_record,
    sealed_contents,
    write_page,
)
from kernelease.table import Schema
from tests.report import releases


def _data(text: str):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_what_is_embedded_comes_back_and_ends_no_element() -> None:
    content = {"a": [releases.ENDING, "&amp;", "\u2028", 1.5, None], releases.BIDI: releases.LONG}
    text = embed_json(content)
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028")


def test_a_page_is_one_file_whose_policy_names_every_script(tiny: Path, tmp_path: Path) -> None:
    text = report_bundle(tiny, tmp_path / "page.html")[0].read_text(encoding="utf-8")
    policy = unescape(re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', text)[1])
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    assert len(scripts) == 1
    assert f"script-src {' '.join(digests)};" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="(?!data:,|#)', text.split("<script>")[0])


def test_no_script_could_end_its_element() -> None:
    assert all("</script" not in script.lower() for script in assets.page_scripts())


def test_the_title_is_text(tmp_path: Path, tiny_table) -> None:
    files = {"SHA256SUMS": b""}
    content = {**sealed_contents(tiny_table[0], files, bundle="b"), "title": releases.ENDING}
    text = page(content)
    assert releases.ENDING not in text
    assert _data(text)["title"] == releases.ENDING


def test_names_that_are_refused(tiny: Path, tiny_table, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"must end in \.html"):
        report_bundle(tiny, tmp_path / "page.pdf")
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(BundleError, match="already exists"):
        report_release(tiny_table[0], tmp_path / "page.html")
    with pytest.raises(BundleError, match=r"its folder is missing\. Make it first"):
        write_page(sealed_contents(tiny_table[0], {}, bundle="b"), tmp_path / "missing" / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_private_page_says_so_and_lies_elsewhere(tiny: Path, tiny_table, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"Call it page-private\.html"):
        report_bundle(tiny, tmp_path / "page.html", private=tiny_table[1])
    with pytest.raises(BundleError, match="must not lie in the bundle"):
        check_private_name(tiny / "private.html", tiny)
    assert not list(tmp_path.iterdir())


def test_measurements_alone_have_no_page(tiny_table, tmp_path: Path) -> None:
    save(tiny_table[0].measurements, tmp_path / "measured")
    with pytest.raises(BundleError, match="holds measurements only"):
        report_bundle(tmp_path / "measured", tmp_path / "page.html")


def test_the_owner_sees_distances_and_scores(tiny_table) -> None:
    release, private = tiny_table
    found = owner_record(release, private)
    assert found["rows"] == 300
    assert all(0.0 <= distance <= 1.0 for distance in found["columns"]["distances"])
    assert found["columns"]["real"][0] == pytest.approx(
        [1 - sum(private["a"].to_pylist()) / 300, sum(private["a"].to_pylist()) / 300]
    )
    assert isinstance(found["learning"], str) or {one["target"] for one in found["learning"]} == {"a", "b"}


def test_the_owner_s_comparison_needs_rows_and_columns(tiny_table) -> None:
    with pytest.raises(ParameterError, match="no rows"):
        owner_record(tiny_table[0], tiny_table[1].slice(0, 0))
    with pytest.raises(ParameterError, match="of vectors"):
        owner_record(releases.vectors(), tiny_table[1])


def test_marginals_stop_where_there_is_no_room(tiny_table) -> None:
    release = tiny_table[0]
    assert isinstance(release.measurements.measured, NoisyBlocks)
    evidence = evidence_of(release, Target.TABLE)
    whole, some = (
        {tuple(record["columns"]) for record in marginal_records(release.measurements.measured, most, evidence)}
        for most in (10_000, 600)
    )
    assert (0, 1) in whole
    assert (0,) in some
    assert (0, 1) not in some


def test_large_documents_are_checked_by_hand() -> None:
    record = seal_record({"certificate.json": b"{}" * 30_000, "datasheet.md": b"# so", "SHA256SUMS": b""})
    assert record["by_hand"] == ["certificate.json"]
    assert set(record["documents"]) == {"datasheet.md", "SHA256SUMS"}


def test_nobody_s_signature_is_neither_right_nor_wrong(tiny: Path, tiny_table, tmp_path: Path) -> None:
    """A tick beside a signature says that there is one."""
    signed = seal_record(read_bundle(tiny))
    bare = seal_record(read_bundle(save(tiny_table[0], tmp_path / "bare")))
    state = {
        name: next(item["open"] for item in record["findings"] if item["check"] == "signature")
        for name, record in (("signed", signed), ("bare", bare))
    }
    assert state == {"signed": False, "bare": True}


def test_the_verdict_is_about_noise_pairs_and_groups(people) -> None:
    release = people[0]
    answers = release.answers()
    pairs = pair_records(release.measurements.measured, answers)
    found = worth(answers, pairs)
    seen = sum(pair["association"] is not None and pair["association"]["seen"] for pair in pairs)
    worst = max(item.noise for item in answers.items if len(item.columns) == 1)
    assert found["good"][1] == f"relations between {seen} of 15 pairs of columns"
    assert float(found["good"][0].split("± ")[1].split()[0]) == pytest.approx(196 * worst / 3_000, rel=0.06)
    assert found["bad"][0].startswith("groups under ")
    hidden = [{**pair, "association": None} for pair in pairs]
    assert worth(answers, hidden)["bad"][0].startswith("relations between columns")


@pytest.mark.slow
def test_a_wide_table_fits_into_a_page(tmp_path: Path) -> None:
    """66 columns, of which hundreds of pairs were measured."""
    release = releases.wide(66, 1_500)
    written = report_release(release, tmp_path / "page.html")
    assert written.stat().st_size <= 1_500_000
    data = _data(written.read_text())
    assert {tuple(record["columns"]) for record in data["marginals"]} >= {(place,) for place in range(66)}


def test_the_command_writes_a_page_and_tells_a_changed_bundle(tiny: Path, tmp_path: Path) -> None:
    run = CliRunner()
    result = run.invoke(app, ["report", str(tiny), "-o", str(tmp_path / "page.html"), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["holds"] is True
    changed = tmp_path / "changed"
    shutil.copytree(tiny, changed)
    (changed / "registry.yaml").write_text("name: other\n")
    result = run.invoke(app, ["report", str(changed), "-o", str(tmp_path / "changed.html")])
    assert result.exit_code == 1
    assert "DOES NOT HOLD" in result.stdout
    assert _data((tmp_path / "changed.html").read_text())["seals"]["findings"][0]["holds"] is False


def test_the_owner_s_command_warns(tiny: Path, tiny_table, tmp_path: Path) -> None:
    data = export_table(tiny_table[1], tmp_path / "rows.csv")
    words = ["report", str(tiny), "-o", str(tmp_path / "tiny-private.html"), "--private", str(data)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "do not send or publish" in " ".join(result.stdout.split())


def test_the_page_of_persons_with_several_rows_needs_no_identifier(tmp_path: Path) -> None:
    """The column that names persons is read and never released, so that no page finds it among the rows."""
    draws = np.random.default_rng(0)
    visits = pa.table({"who": draws.integers(0, 300, 900), "age": draws.integers(0, 9, 900)})
    schema = Schema.parse(
        '[table]\nunit = "who"\nmax_rows_per_unit = 3\n[columns.age]\ntype = "integer"\nmin = 0\nmax = 9\n'
    )
    release = ke.release(visits, schema=schema, privacy=(1.0, 1e-6), out=tmp_path / "bundle")
    shown = _data(report_bundle(tmp_path / "bundle", tmp_path / "page.html")[0].read_text(encoding="utf-8"))
    assert [column["name"] for column in shown["columns"]] == ["age"]
    assert "each person (up to 3 rows of one who)" in json.dumps(shown)
    assert (shown["promise"]["one"], shown["rows"]) == ("person", len(set(visits.column("who").to_pylist())))
    assert "Every person counts once" in (tmp_path / "bundle" / "datasheet.md").read_text(encoding="utf-8")
    assert all(finding.holds for finding in verify(tmp_path / "bundle", refit=True))
    assert owner_record(release, visits)["rows"] == 900
    assert release.count().about == "number of persons"


def test_a_page_is_not_good_for_shares_that_may_be_off_by_everything() -> None:
    """A table of three rows was called good for shares to ± 434 %."""
    schema = Schema.parse('[columns.ill]\ntype = "boolean"\n')
    release = ke.release(pa.table({"ill": [True, False, True]}), schema=schema, privacy=(0.5, 1e-6))
    assert sealed_contents(release, {}, bundle="b")["worth"]["good"] == []
    assert not any("±" in sentence for sentence in worth_in_words(release.answers()))
