"""Releases whose rows are public ones, and rehearsals on public rows."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.answers.release import Release, load, save
from kernelease.bundle.verify import verify
from kernelease.errors import ParameterError, SchemaError
from kernelease.ledgers import MemoryLedger
from kernelease.pipeline import PUBLIC_POINTS, rehearse, release, weighting
from kernelease.privacy import Privacy
from kernelease.table import Schema
from kernelease.table.encode import Encoder

PRIVACY = Privacy(epsilon=5.0, delta=1e-6)
TEXT = """
[table]
neighbours = "replace-one"
[columns.start]
type = "integer"
min = 0
max = 99
cells = 20
[columns.end]
type = "integer"
min = 0
max = 99
cells = 20
[columns.kind]
type = "category"
values = ["a", "b"]
"""


def schema(**changes):
    text = TEXT
    for old, new in changes.items():
        text = text.replace(*{"relation": ('"replace-one"', new), "table": ("[table]", f"[table]\n{new}")}[old])
    return Schema.parse(text)


def table(rows, *, share, seed):
    generator = np.random.default_rng(seed)
    start = generator.integers(0, 50, rows)
    return pa.table(
        {
            "start": start,
            "end": start + generator.integers(1, 50, rows),
            "kind": np.where(generator.random(rows) < share, "a", "b"),
        }
    )


def weighted(public: pa.Table, declared: Schema, *, published: bool = False, **options: object) -> Release:
    """The public rows, weighted to stand for the private ones."""
    method = weighting(public, schema=declared, published=published)
    rows = PRIVATE if declared.unit is None else PRIVATE.append_column(declared.unit, pa.array(range(len(PRIVATE))))
    return release(rows, schema=declared, privacy=PRIVACY, method=method, **options)


PRIVATE, PUBLIC = table(3000, share=0.8, seed=0), table(200, share=0.5, seed=1)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_public_rows_are_weighted_to_stand_for_the_private_ones(relation, tmp_path):
    declared = schema(relation=f'"{relation}"')
    result = weighted(PUBLIC, declared)
    share = result.weights[np.array(result.table.column("kind").to_pylist()) == "a"].sum()
    assert abs(share - 0.8) < 0.05 < abs(share - 0.5)
    assert result.weights.min() >= 0.0
    assert result.weights.sum() == pytest.approx(1.0)
    assert result.certificate.published_rows == 0
    save(result, tmp_path / "out")
    assert all(finding.holds for finding in verify(tmp_path / "out"))
    assert load(tmp_path / "out").table.equals(result.table)


def test_published_rows_are_on_the_certificate():
    result = weighted(PRIVATE.slice(0, 70), schema(), published=True)
    assert result.certificate.published_rows == 70
    assert "the 70 rows published before have no guarantee" in str(result.certificate)


def test_only_lawful_rows_are_used():
    mixed = pa.concat_tables([PUBLIC, pa.table({"start": [90], "end": [3], "kind": ["a"]})])
    declared = schema(table='constraints = ["start <= end"]')
    result = weighted(mixed, declared)
    assert all(row["start"] <= row["end"] for row in result.table.to_pylist())
    assert result.table.num_rows == len(np.unique(Encoder(declared).encode(PUBLIC), axis=0))


def test_many_public_rows_are_thinned():
    result = weighted(table(3000, share=0.5, seed=4), schema())
    assert result.table.num_rows <= PUBLIC_POINTS


@pytest.mark.parametrize(
    ("declared", "public", "published", "message"),
    [
        (schema(table='unit = "person"\nmax_rows_per_unit = 2'), PUBLIC, False, "rows, not persons"),
        (schema(relation='"add-remove"'), PUBLIC, True, "replace-one"),
        (schema(table='constraints = ["start > 99"]'), PUBLIC, False, "keeps the declared constraints"),
        (schema(), PUBLIC.drop_columns(["kind"]), False, "the source has no column"),
    ],
)
def test_what_can_not_be_done_costs_nothing(declared, public, published, message):
    ledger = MemoryLedger(Privacy(epsilon=9.0, delta=1e-5))
    with pytest.raises((ParameterError, SchemaError), match=message):
        weighted(public, declared, published=published, ledger=ledger)
    assert ledger.entries == []


@pytest.mark.slow
def test_a_rehearsal_is_repeatable_and_better_with_more_epsilon():
    once, twice = (rehearse(PUBLIC, schema=schema(), privacy=PRIVACY, rows=2000) for _ in range(2))
    assert once == twice
    worse = rehearse(PUBLIC, schema=schema(), privacy=Privacy(epsilon=0.05, delta=1e-6), rows=2000)
    assert once.mean_one_way < worse.mean_one_way
    with pytest.raises(ParameterError, match="nothing to rehearse"):
        rehearse(PUBLIC.slice(0, 0), schema=schema(), privacy=PRIVACY, rows=10)
