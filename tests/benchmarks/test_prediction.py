"""What is learned from released rows: the split of a table, its task, and the page."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import prediction
from benchmarks.prediction import Split
from benchmarks.table_contenders import KEPT, Outcome, kept
from benchmarks.tables_scores import trees_auc
from kernelease.table import Schema
from kernelease.table.encode import Encoder

NAME = "br2000"
SCHEMA = Schema.parse(
    """
    [table]
    neighbours = "add-remove"
    [columns.size]
    type = "integer"
    min = 3
    max = 12
    [columns.c13]
    type = "category"
    values = ["0", "1"]
    """
)


def table(rows, seed):
    """The category follows the size in nine rows of ten."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(3, 13, rows)
    return pa.table({"size": sizes, "c13": ((sizes > 7) ^ (generator.random(rows) < 0.1)).astype(np.int64)})


@pytest.fixture
def split():
    train, test = table(2_000, 0), table(500, 1)
    codes = [Encoder(SCHEMA).encode(rows) for rows in (train, test)]
    return Split(name=NAME, schema=SCHEMA, text=train, train=codes[0], test=codes[1])


def outcome(who, auc=None, run=0, **more):
    scores = {} if auc is None else {"auc": auc}
    return Outcome(contender=f"{who}: {NAME}", epsilon=1.0, run=run, scores=scores, **more)


def test_one_value_is_ranked_against_all_others():
    pytest.importorskip("lightgbm")
    codes = np.stack([np.arange(300) % 3, np.arange(300) % 3], axis=1)
    assert trees_auc(codes, codes, target=1, value=2) == 1.0
    assert trees_auc(codes[codes[:, 1] == 0], codes, target=1, value=2) == 0.5


@pytest.mark.parametrize("numbers", [True, False])
def test_a_task_scores_what_a_contender_writes(split, tmp_path, numbers):
    pytest.importorskip("lightgbm")
    task = split.task(tmp_path, delta=1e-9, numbers=numbers)
    lowest = prediction.pyarrow.csv.read_csv(task.train).column("size").to_numpy().min()
    assert lowest == (0 if numbers else 3)
    rows = prediction.pyarrow.csv.read_csv(task.train)
    assert task.scores(rows)["auc"] == split.auc(split.train) > 0.85
    generator = np.random.default_rng(0)
    shuffled = rows.set_column(1, "c13", pa.array(generator.permutation(rows.column("c13").to_numpy())))
    assert task.scores(shuffled)["auc"] < 0.7


def test_the_page_states_means_problems_and_what_was_kept(split):
    done = [outcome("ours", auc, run) for run, auc in enumerate((0.85, 0.9))]
    done += [outcome("dpmm-aim", problem="not done in 900 s"), outcome("dpmm-mst", 0.84, kept=True)]
    shown = prediction.page([split], done, epsilon=1.0, delta=1e-9)
    row = "| br2000 | 2,000 × 2 | c13 = 1 | .8750 (.8500–.9000) | not done in 900 s | .8400 † | – |"
    assert row in shown
    assert "PASS  br2000: the worst of 2 runs no lower than the better peer: 0.8500, 0.8400" in shown
    worse = [dataclasses.replace(done[0], scores={"auc": 0.83}), *done[1:]]  # one run is enough
    assert [check.holds for check in prediction.checks([split], worse)] == [False]
    assert prediction.checks([split], done[:3]) == []


def test_the_peers_are_kept():
    back = kept([KEPT / "prediction.json"], [], {"epsilon": 1.0, "delta": prediction.DELTA})
    names = [name for name in prediction.TARGETS if name != "bank"]  # of which peers were not run
    expected = {f"{peer}: {name}" for peer in prediction.PEERS for name in names}
    assert {each.contender for each in back} == expected
    assert all(0.5 < each.scores["auc"] < 1.0 for each in back if each.problem is None)
    assert {each.problem for each in back} == {None, "not done in 1500 s"}
