"""Generated tables, and the cells that they are compared in."""

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import other_tables
from benchmarks.generated_tables import KINDS, generated
from benchmarks.scoring_cells import MOST, ScoringCells
from benchmarks.table_contenders import Outcome
from benchmarks.tables_scores import marginal_errors
from kernelease.table.encode import Encoder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [5, 14, 60])
def test_generated_tables_keep_their_schema(kind, columns):
    table, schema = generated(kind, columns=columns, rows=500)
    assert table.num_columns == len(schema) == columns
    assert Encoder(schema).encode(table).shape == (500, columns)
    assert other_tables.broken(schema, table) == 0
    assert generated(kind, columns=columns, rows=500)[0].equals(table)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unrelated"])
def test_generated_columns_depend_on_each_other(kind):
    table, schema = generated(kind, columns=10, rows=5_000)
    cells = ScoringCells.of(schema, table)
    real = cells.encode(table)
    generator = np.random.default_rng(0)
    shuffled = np.column_stack([generator.permutation(column) for column in real.T])
    assert marginal_errors(real, shuffled, cells.sizes, ways=(2,))[2] > 0.2
    bootstrap = real[generator.integers(0, len(real), len(real))]
    assert marginal_errors(real, bootstrap, cells.sizes, ways=(2,))[2] < 0.2


def test_tables_have_what_real_ones_have():
    banking, _ = generated("banking", columns=14, rows=20_000)
    overdraft = banking.column("overdraft").to_numpy()
    assert 0.8 < np.mean(overdraft == 0) < 0.97
    assert np.quantile(overdraft, 0.999) > 20 * overdraft.mean()
    medical, _ = generated("medical", columns=14, rows=2_000)
    assert 0.02 < medical.column("lab_1").null_count / 2_000 < 0.5


def test_cells_are_quantiles_with_spikes_and_nulls_of_their_own():
    table, schema = generated("medical", columns=12, rows=4_000)
    cells = ScoringCells.of(schema, table)
    codes = cells.encode(table)
    assert (codes < np.array(cells.sizes)).all()
    lab = schema.names.index("lab_1")
    counts = np.bincount(codes[:, lab], minlength=cells.sizes[lab])
    assert counts[-1] == table.column("lab_1").null_count
    assert counts[:MOST].max() < 2 * counts[:MOST].min()
    banking, declared = generated("banking", columns=9, rows=4_000)
    spiked = ScoringCells.of(declared, banking).encode(banking)[:, declared.names.index("overdraft")]
    np.testing.assert_array_equal(spiked == 0, banking.column("overdraft").to_numpy() == 0)


def test_broken_rules_are_counted():
    table, schema = generated("banking", columns=5, rows=100)
    swapped = table.set_column(0, "opened", table.column("last_seen")).set_column(
        1, "last_seen", table.column("opened")
    )
    expected = np.count_nonzero(table.column("opened").to_numpy() < table.column("last_seen").to_numpy())
    assert other_tables.broken(schema, swapped) == expected > 0


def test_scores_of_the_table_itself(tmp_path):
    task = other_tables.generated_task("flights", 6, 300, tmp_path, delta=1e-9)
    table, _ = generated("flights", columns=6, rows=300)
    assert task.scores(table) == {"one_way": 0.0, "two_way": 0.0, "broken": 0.0}
    assert task.scores(table.slice(0, 100))["two_way"] > 0.1


def test_report_and_checks():
    def outcome(name, **more):
        return Outcome(contender=name, epsilon=1.0, run=0, seconds=3.0, megabytes=90.0, **more)

    def scores(error, broken=0.0):
        return {"one_way": error / 2, "two_way": error, "broken": broken}

    done = {
        "good": [outcome("ours", scores=scores(0.1)), outcome("one-way", scores=scores(0.2))],
        "bad": [outcome("ours", scores=scores(0.3, 4.0)), outcome("one-way", scores=scores(0.2))],
        "none": [outcome("ours", problem="failed (x)"), outcome("one-way", scores=scores(0.2))],
    }
    verdicts = {check.claim: check.holds for check in other_tables.checks(done)}
    assert verdicts == {
        "good: below the product": True,
        "good: every row keeps the rules": True,
        "bad: below the product": False,
        "bad: every row keeps the rules": False,
        "none: released": False,
    }
    shown = other_tables.page(done, {0.1: 0.5, 1.0: 0.4, 10.0: 0.45}, epsilon=1.0, delta=1e-9)
    assert "| good | 0.0500 | 0.1000 | 0.1000 | 0.2000 | 0.50 | 0 | 3 | 90 |" in shown
    assert "failed (x)" in shown
    assert "PASS  ε = 1 is no worse than 0.1" in shown
    assert "miss  ε = 10 is no worse than 1" in shown
    assert pa.types.is_date(generated("flights", columns=5, rows=5)[0].schema.field("booked").type)
