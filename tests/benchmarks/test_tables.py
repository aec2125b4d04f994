"""The benchmark of tables: its scores, its stopwatch, its contenders and its report, on tiny tables."""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import typer
from typer.testing import CliRunner

import kernelease as ke
from benchmarks import raw_adult, stopwatch, table_reports, tables
from benchmarks.adult import FOLDER, SCHEMA, Adult, MissingDataError, discretised, load_raw, read_rows, split
from benchmarks.one_way import nearest_distribution, product_of_marginals
from benchmarks.stopwatch import watch
from benchmarks.table_contenders import (
    KEPT,
    Contender,
    Outcome,
    contenders,
    kept,
    numbered,
    one_run,
    outcomes,
    save,
)
from benchmarks.table_reports import Bar
from benchmarks.tables_scores import accuracy, marginal_errors

SIZES = (3, 2, 4)

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(tables.main)


def codes(rows, sizes=SIZES, seed=0):
    return np.random.default_rng(seed).integers(0, sizes, size=(rows, len(sizes)))


@pytest.fixture
def adult_files():
    if not FOLDER.is_dir():
        pytest.skip("the Adult files do not lie beside this checkout (shared/data/adult)")
    return FOLDER


@pytest.fixture
def tiny_adult(tmp_path):
    """Files like Adult's with 300 random rows."""
    schema = ke.Schema.load(SCHEMA)
    rows = codes(300, schema.sizes)
    pyarrow.csv.write_csv(pa.table(dict(zip(schema.names, rows.T, strict=True))), tmp_path / "adult_discrete.csv")
    domain = dict(zip(schema.names, schema.sizes, strict=True))
    (tmp_path / "adult_discrete_domain.json").write_text(json.dumps(domain))
    return tmp_path


def error_by_counting(real, synthetic, k):
    """Σ |p − q| in plain Python: what the fast form must equal."""
    errors = []
    for columns in itertools.combinations(range(real.shape[1]), k):
        p, q = (Counter(map(tuple, rows[:, columns].tolist())) for rows in (real, synthetic))
        errors.append(sum(abs(p[cell] / len(real) - q[cell] / len(synthetic)) for cell in p | q))
    return np.mean(errors)


def test_marginal_errors_equal_plain_counting():
    real, synthetic = codes(50), codes(37, seed=1)
    errors = marginal_errors(real, synthetic, SIZES)
    assert errors == {k: pytest.approx(error_by_counting(real, synthetic, k)) for k in (1, 2, 3)}
    assert 0 < errors[1] < errors[2] < errors[3]
    assert set(marginal_errors(real, real[::-1], SIZES).values()) == {0.0}


@pytest.mark.parametrize(
    "wrong", [np.zeros((5, 2), int), np.full((5, 3), 3), np.full((5, 3), -1), np.zeros((0, 3), int)]
)
def test_marginal_errors_refuse_what_is_no_code(wrong):
    with pytest.raises(ValueError, match=r"columns|no value"):
        marginal_errors(codes(5), wrong, SIZES)


def test_accuracy_of_a_copy_and_of_noise():
    pytest.importorskip("lightgbm")
    real = codes(600)
    copied, mixed = real.copy(), real.copy()
    copied[:, 1] = copied[:, 0] > 0
    mixed[:, 1] = copied[:, 1]
    teach = accuracy(copied, mixed, SIZES, target=1, numeric=(2,))
    assert min(teach.lightgbm, teach.logistic) > 0.99
    shuffled = accuracy(real, mixed, SIZES, target=1, numeric=(2,))
    assert abs(shuffled.lightgbm - 0.5) < 0.2
    copied[:, 1] = 1
    assert accuracy(copied, mixed, SIZES, target=1, numeric=(2,)).lightgbm == 0.5


def test_the_split_is_the_one_that_all_share(tiny_adult):
    train, test = split(48_842)
    assert (len(train), len(test)) == (39_074, 9_768)
    assert sorted([*train, *test]) == list(range(48_842))
    adult = Adult.load(tiny_adult)
    assert (len(adult.train), len(adult.test)) == (240, 60)
    assert len(Adult.load(tiny_adult, most=100).train) == np.count_nonzero(split(300)[0] < 100)


@pytest.mark.slow
def test_scores_of_real_rows_are_the_known_ones(adult_files):
    adult = Adult.load(adult_files)
    errors = marginal_errors(adult.train, adult.test, adult.sizes)
    assert [round(errors[k], 3) for k in (1, 2, 3)] == [0.023, 0.075, 0.180]


def test_raw_rows_in_cells_are_the_discretised_rows(adult_files):
    adult, raw = load_raw(adult_files)
    assert raw.num_rows == len(adult.train) == 26_110
    assert raw.column("workclass").null_count > 0
    np.testing.assert_array_equal(discretised(raw, adult), adult.train)


@pytest.mark.slow
def test_raw_forms_of_the_table(adult_files, tmp_path):
    made = raw_adult.tasks(adult_files, tmp_path, delta=1e-9)
    assert [len(ke.Schema.load(task.schema)) for task in made.values()] == [14, 14, 15]
    assert {ke.Schema.load(task.schema).neighbours for task in made.values()} == {"add-remove"}
    assert {task.scores(read_rows(task.train))["three_way"] for task in made.values()} == {0.0}


def test_missing_files_are_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"adult_discrete_domain\.json.*--data"):
        Adult.load(tmp_path)
    result = CliRunner().invoke(app, ["--data", str(tmp_path), "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "adult_discrete_domain.json" in result.output


@pytest.mark.slow
def test_stopwatch_counts_the_command_alone(tmp_path):
    mine = np.ones(60_000_000)  # 480 MB here, which are not the command's
    small = watch([sys.executable, "-S", "-c", "pass"], limit=300, cwd=tmp_path)
    large = watch([sys.executable, "-S", "-c", "b'x' * 100_000_000"], limit=300, cwd=tmp_path)
    assert len(mine) > 0
    assert (small.code, large.code) == (0, 0)
    assert small.megabytes < 60
    assert 90 < large.megabytes < 200


@pytest.mark.slow
def test_stopwatch_ends_what_takes_too_long(tmp_path):
    script = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    for limit in (1.0, 4.0, 16.0, 64.0):  # a busy machine takes its time to start it
        late = watch([sys.executable, "-S", "-c", script], limit=limit, cwd=tmp_path)
        assert late.code is None
        assert limit <= late.seconds < 600
        if late.words:
            break
    assert not alive(int(late.words))


@pytest.mark.slow
def test_the_command_ends_with_its_starter(tmp_path):
    script = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    starter = [sys.executable, "-S", "-E", stopwatch.__file__, "600", str(tmp_path / "report.json")]
    process = subprocess.Popen([*starter, sys.executable, "-S", "-c", script])
    said = tmp_path / "report.errors"
    while not (said.is_file() and said.read_text().endswith("\n")):
        time.sleep(0.05)
    process.terminate()
    assert process.wait(timeout=300) == 1
    assert not alive(int(said.read_text()))


def alive(pid):
    for _ in range(600):  # a minute; a busy machine takes its time to bury it
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def test_stopwatch_keeps_the_last_words(tmp_path):
    failed = watch([sys.executable, "-S", "-c", "raise SystemExit('no such luck')"], limit=300, cwd=tmp_path)
    assert (failed.code, failed.words) == (1, "no such luck")
    assert watch(["there-is-no-such-command"], limit=300, cwd=tmp_path).code == 127


def test_nearest_distribution():
    values = np.random.default_rng(0).normal(size=50)
    nearest = nearest_distribution(values)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1.0)
    for other in np.random.default_rng(1).dirichlet(np.full(50, 0.1), size=200):
        assert np.sum((nearest - values) ** 2) <= np.sum((other - values) ** 2)
    np.testing.assert_allclose(nearest_distribution(nearest), nearest, atol=1e-12)


def test_product_of_marginals_keeps_columns_and_loses_pairs():
    schema = ke.Schema.parse("""
        [columns.a]
        type = "category"
        values = ["x", "y"]
        [columns.b]
        type = "category"
        values = ["x", "y"]
    """)
    one = np.random.default_rng(0).choice(["x", "y"], 2_000, p=(0.8, 0.2))
    release = product_of_marginals(
        pa.table({"a": one, "b": one}),
        schema=schema,
        privacy=ke.Privacy(epsilon=5.0, delta=1e-9),
        rows=20_000,
        generator=np.random.default_rng(1),
    )
    a, b = (release.column(name).to_numpy() == "y" for name in ("a", "b"))
    assert a.mean() == pytest.approx(np.mean(one == "y"), abs=0.02)
    assert (a & b).mean() == pytest.approx(a.mean() * b.mean(), abs=0.02)


def test_values_outside_a_column_go_to_the_nearest():
    table = pa.table({"a": [-1.0, 1.4, 9.0], "b": [0, 1, 0], "c": [3, 4, 0]})
    assert numbered(table, ("a", "b", "c"), SIZES).tolist() == [[0, 0, 3], [1, 1, 3], [2, 0, 0]]


def task(tmp_path):
    adult = Adult(("a", "b"), (2, 2), codes(20, (2, 2)), codes(5, (2, 2)), np.arange(20))
    return tables.adult_task(adult, tmp_path, delta=1e-9)


@pytest.mark.slow
def test_a_peer_that_is_not_installed_says_so(tmp_path):
    absent = Contender(name="x", label="x", runner="dpmm_mst")  # by our own Python, which has no dpmm
    outcome = one_run(absent, task(tmp_path), 1.0, 0, limit=60)
    assert outcome.problem in {"not installed (No module named 'dpmm')", "not installed (No module named 'pandas')"}
    assert outcome.scores == {}


@pytest.mark.parametrize(
    ("contender", "words"),
    [
        (Contender(name="x", label="x", runner="x", needs_checkout="--dpsynth"), "--dpsynth PATH"),
        (Contender(name="x", label="x", runner="x", python=SCHEMA / "no-python"), "environment is not there"),
    ],
)
def test_why_a_contender_can_not_run(contender, words):
    assert words in contender.absence()


def test_a_contender_that_fails_is_not_tried_again(tmp_path):
    broken = Contender(name="x", label="x", runner="there_is_no_such_runner")
    done = list(outcomes([broken], task(tmp_path), (1.0, 2.0), runs=3, peer_runs=3, limit=60))
    assert [(outcome.epsilon, outcome.run) for outcome in done] == [(1.0, 0), (2.0, 0)]
    assert all("no_such_runner" in outcome.problem for outcome in done)


def test_outcomes_are_kept(tmp_path):
    mine, theirs, real = (
        Outcome(contender=name, epsilon=epsilon, run=0, scores={"two_way": 0.1})
        for name, epsilon in (("ours", 1.0), ("x", 1.0), ("real rows", 0.0))
    )
    path = tmp_path / "tables.json"
    save([mine, theirs, real], path, delta=1e-9)
    (back,) = kept([path], ["ours"], {"delta": 1e-9})
    assert (back.contender, back.kept, back.scores) == ("x", True, {"two_way": 0.1})
    assert kept([path], ["ours"], {"delta": 1e-6}) == []
    assert kept([tmp_path / "absent.json"], [], {}) == []


def test_the_last_of_several_files_counts(tmp_path):
    paths = [tmp_path / name for name in ("first.json", "last.json")]
    runs = [Outcome(contender="x", epsilon=1.0, run=run, scores={"two_way": 0.1}) for run in range(2)]
    other = Outcome(contender="y", epsilon=1.0, run=0, scores={"two_way": 0.3})
    save([*runs, other], paths[0], delta=1e-9)
    save([dataclasses.replace(runs[0], scores={"two_way": 0.2})], paths[1], delta=1e-9)
    back = kept(paths, [], {"delta": 1e-9})
    assert [(outcome.contender, outcome.scores["two_way"]) for outcome in back] == [("x", 0.2), ("y", 0.3)]


def test_the_peers_of_adult_and_the_product_are_kept(adult_files):
    rows = len(Adult.load(adult_files).train)
    assert {o.contender for o in kept([KEPT / "adult.json"], [], {"delta": tables.DELTA, "rows": rows})} == {
        "dpmm-aim",
        "dpmm-mst",
        "one-way",
    }


@pytest.mark.parametrize(
    ("value", "upward", "mark"),
    [(0.05, False, "✓✓"), (0.07, False, "✓"), (0.08, False, "✗"), (0.05, True, "✗"), (0.075, True, "✓")],
)
def test_marks(value, upward, mark):
    bar = Bar(0.073, 0.08) if upward else Bar(0.073, 0.06)
    assert bar.mark(value, upward=upward) == mark


def test_report():
    runs = [
        Outcome(contender="ours", epsilon=1.0, run=run, seconds=61.0, megabytes=200, scores=scores(error))
        for run, error in enumerate((0.06, 0.08))
    ]
    runs.append(Outcome(contender="one-way", epsilon=1.0, run=0, seconds=1.0, scores=scores(0.2)))
    runs.append(Outcome(contender="dpmm-mst", epsilon=1.0, run=0, problem="not done in 600 s", seconds=600.0))
    lines = table_reports.rows(contenders(), runs)
    assert lines[0][:5] == ["kernelease", "1", ".0350 (.0300–.0400)", ".0700 (.0600–.0800) ✓", ".1400 (.1200–.1600) ✓✓"]
    assert lines[2][-1] == "not done in 600 s"
    assert [line[0] for line in lines[-2:]] == ["required of kernelease", "aimed for"]
    verdicts = {check.claim: check.holds for check in table_reports.checks(runs)}
    assert verdicts == {
        "ε = 1, ours: 2-way error below the product of one-way marginals": True,
        "ε = 1, ours: 3-way error below the product of one-way marginals": True,
        "ε = 1, ours: at most 60 s": False,
        "ε = 1, ours: at most 2048 MB": True,
    }


def scores(error):
    return {"one_way": error / 2, "two_way": error, "three_way": 2 * error, "auc": 0.9}


@pytest.mark.slow
def test_a_whole_run(tiny_adult, tmp_path):
    options = ["--data", str(tiny_adult), "--out", str(tmp_path), "--document", str(tmp_path / "page.md")]
    chosen = ["--only", "ours", "--only", "one-way", "--only", "dpsynth-aim", "--epsilon", "1", "--runs", "1"]
    result = CliRunner().invoke(app, [*options, *chosen])
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "tables.json").read_text())
    done = {outcome["contender"]: outcome for outcome in record["outcomes"]}
    assert 0 < done["ours"]["scores"]["two_way"] < 2
    assert done["one-way"]["megabytes"] > 20
    assert "--dpsynth PATH" in done["dpsynth-aim"]["problem"]
    page = (tmp_path / "page.md").read_text()
    assert "| kernelease | 1 |" in page
    assert str(tmp_path) not in page
    again = CliRunner().invoke(app, [*options, "--only", "one-way", "--epsilon", "1", "--runs", "1", "--keep"])
    assert "kernelease †" in again.output


def test_only_names_a_contender(tiny_adult):
    result = CliRunner().invoke(app, ["--data", str(tiny_adult), "--only", "ours", "--only", "nobody"])
    assert result.exit_code == 2
    assert "dpmm-aim" in result.output
