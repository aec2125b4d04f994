"""The data sheet: it says what the certificate says, in words that its subject can't bend."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers.release import save
from kernelease.bundle import documents as datasheet
from kernelease.bundle.container import SIGNATURE, SUMS, read_bundle, write_bundle
from kernelease.certificate import NOT_PROMISED
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.pipeline import measure
from kernelease.report.page import contents

SCHEMA = """
[table]
name = "the | people\\n# of <b>"
neighbours = "{neighbours}"
constraints = ["age >= 2"]

[columns."a|ge"]
type = "integer"
min = 0
max = 9
cells = 5

[columns.age]
type = "integer"
min = 0
max = 7

[columns.sex]
type = "category"
values = ["f", "m"]
nullable = true
"""
TABLE = pa.table(
    {"a|ge": [1, 2, 3, 4] * 250, "age": [1, 2, 3, 4] * 250, "sex": ["f", "m"] * 500, "id": list(range(1000))}
)
METHOD = ke.Interactions(solver=MixtureSolver(components=4, steps=5))


def made(neighbours: str = "replace-one", **options: Any) -> ke.Release:
    privacy = ke.Privacy(epsilon=1.0, delta=1e-6)
    schema = ke.Schema.parse(SCHEMA.format(neighbours=neighbours))
    return ke.release(TABLE, schema=schema, privacy=privacy, method=METHOD, **options)


def sheet(release: ke.Release) -> str:
    return datasheet.datasheet(release.measurements).decode()


def test_it_is_in_every_bundle_and_verified(tmp_path: Path) -> None:
    release = made()
    files = read_bundle(release.save(tmp_path / "bundle"))
    assert files["datasheet.md"].decode() == sheet(release)
    assert {finding.check: finding.holds for finding in ke.verify(tmp_path / "bundle")}["documents"]
    measured = measure(
        TABLE,
        schema=ke.Schema.parse(SCHEMA.format(neighbours="add-remove")),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
    )
    assert "datasheet.md" in read_bundle(save(measured, tmp_path / "measured"))


def test_it_states_what_is_promised_and_what_is_not() -> None:
    text = sheet(made())
    for words in (
        "| epsilon | 1 |",
        "| delta | 1e-06 |",
        "| neighbouring tables | replace-one |",
        "The unit of protection is each row.",
        "Their number, 1,000, is public and not protected.",
        "discrete gaussian noise",
        "the analytic Gaussian mechanism",
        "| age | integer | 0 to 7, 8 cells | no |",
        "| sex | category | 3 values | yes |",
        "Every synthetic row keeps these rules: age \\>= 2.",
        *NOT_PROMISED,
    ):
        assert words in text


def test_names_can_not_bend_it() -> None:
    lines = sheet(made()).splitlines()
    assert lines[0] == "# Data sheet: synthetic rows in place of the \\| people \\# of \\<b\\>"
    assert sum(line.startswith("# ") for line in lines) == 1
    assert "| a\\|ge | integer | 0 to 9, 5 cells | no |" in lines


def test_under_add_remove_no_number_of_rows_is_stated() -> None:
    text = sheet(made("add-remove"))
    assert "Their number is protected too" in text
    assert "Their number, " not in text
    assert "1,000 rows" not in text


def test_persons_are_named_with_their_cap() -> None:
    toml = SCHEMA.format(neighbours="replace-one").replace(
        "constraints", 'unit = "id"\nmax_rows_per_unit = 2\nconstraints'
    )
    release = ke.release(
        TABLE, schema=ke.Schema.parse(toml), privacy=ke.Privacy(epsilon=1.0, delta=1e-6), method=METHOD
    )
    assert "each person (up to 2 rows of one id)" in sheet(release)
    assert "the others were left out" in sheet(release)


def test_a_seeded_release_promises_nothing() -> None:
    text = sheet(made(noise=ke.SeededNoise(0)))
    assert "NOT PRIVATE" in text.splitlines()[2]
    assert "| epsilon |" not in text


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [(12.0, 1e-6, "An epsilon of 12 is large"), (1.0, 0.05, "Delta is not below one over the number of rows")],
)
@pytest.mark.filterwarnings("ignore:delta = 0.05")  # the warning is what tests/test_pipeline.py is about
def test_weak_guarantees_are_hazards(epsilon: float, delta: float, words: str) -> None:
    schema = ke.Schema.parse(SCHEMA.format(neighbours="replace-one"))
    privacy = ke.Privacy(epsilon=epsilon, delta=delta)
    assert words in sheet(ke.release(TABLE, schema=schema, privacy=privacy, method=METHOD))
    assert words not in sheet(made())


def test_releases_of_points_have_one_too() -> None:
    rows, kernel = np.eye(2), ke.kernels.Gaussian(lengthscale=1.0)
    subspace = ke.Subspace(points=ke.fit.NormalPoints(dimension=2), count=5)
    text = sheet(ke.release(rows, kernel=kernel, method=subspace, privacy=ke.Privacy(epsilon=1.0, delta=1e-6)))
    assert "A mean of 5 features was measured" in text or "features was measured" in text
    assert "Kernel: Gaussian(lengthscale=1.0)." in text
    small = ke.SmallDatabase(domain=np.eye(2), size=2)
    text = sheet(ke.release(rows, kernel=kernel, method=small, privacy=ke.Privacy(epsilon=1.0, delta=0.0)))
    assert "pure differential privacy" in text
    assert "A selection among candidates was published" in text


def _resealed(bundle: Path, **changed: bytes) -> Path:
    files = {name: data for name, data in read_bundle(bundle).items() if name not in (SUMS, SIGNATURE)}
    return write_bundle(
        bundle, {**files, **{name.replace("_", "."): data for name, data in changed.items()}}, overwrite=True
    )


def test_a_sheet_that_promises_more_is_caught(tmp_path: Path) -> None:
    bundle = made().save(tmp_path / "bundle")
    text = (bundle / "datasheet.md").read_bytes()
    found = {
        finding.check: finding
        for finding in ke.verify(_resealed(bundle, datasheet_md=text.replace(b"1e-06", b"1e-16")))
    }
    assert found["sums"].holds
    assert not found["documents"].holds
    assert "datasheet.md" in found["documents"].detail


def test_what_can_not_be_compared_does_not_hold(tmp_path: Path) -> None:
    bundle = made().save(tmp_path / "bundle")
    certificate = (bundle / "certificate.json").read_bytes()
    changed = _resealed(bundle, certificate_json=certificate.replace(f'"{ke.__version__}"'.encode(), b'"99.0"'))
    found = {finding.check: finding for finding in ke.verify(changed)}
    assert not found["version"].holds
    assert "'99.0'" in found["version"].detail


def test_what_the_release_can_not_show_is_on_the_sheet_on_the_page_and_among_the_answers() -> None:
    schema = "".join(f'[columns.v{i}]\ntype = "integer"\nmin = 0\nmax = 5\n' for i in range(30))
    table = pa.table({f"v{i}": np.random.default_rng(i).integers(0, 6, 300) for i in range(30)})
    release = ke.release(table, schema=ke.Schema.parse(schema), privacy=(1.0, 1e-6), method=METHOD)
    notices = release.measurements.notices
    assert any("No relation between columns was measured: with 300 rows and 30 columns" in notice for notice in notices)
    answers = release.answers()
    for notice in notices:
        assert f"**{notice}**" in sheet(release)
        assert notice in contents(release, bundle="b")["notices"]
        assert notice in str(answers)
        assert notice in answers._repr_html_()
