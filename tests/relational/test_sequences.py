"""Records in sequence: steps that are recovered, rows in their order, answers with intervals."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers.release import END, NONE, TablesRelease, contents_of, transitions
from kernelease.bundle.container import read_bundle, write_bundle
from kernelease.bundle.data_parquet import write_rows
from kernelease.bundle.verify import key_problems
from kernelease.errors import ParameterError
from kernelease.fit.sequences import Counted, SequenceBlocks, Tilts, step_tables
from kernelease.methods.several_tables import Bags
from kernelease.relational.schema_of_tables import Tables, sequence_keys
from kernelease.table.columns.numbers import Integer
from kernelease.table.columns.temporal import Date

SCHEMA = """
[unit]
table = "patients"
neighbours = "add-remove"
[tables.patients]
key = "patient"
[tables.patients.columns.sex]
type = "category"
values = ["f", "m"]
[tables.visits]
parent = "patients"
foreign_key = "patient"
key = "visit"
max_rows = 6
order = "date"
[tables.visits.columns.date]
type = "date"
min = 2020-01-01
max = 2023-12-31
cells = 12
[tables.visits.columns.state]
type = "category"
values = ["well", "ill", "gone"]
[tables.drugs]
parent = "visits"
foreign_key = "visit"
max_rows = 2
[tables.drugs.columns.new]
type = "boolean"
"""
STATES, CHAIN = ("well", "ill", "gone"), np.array([[0.7, 0.3, 0.0], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]])


def generated(count: int = 3000, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Patients whose states are a chain, and who do not come back once they are gone; visits in no order."""
    rng = np.random.default_rng(seed)
    rows = []
    for patient in range(count):
        state, day = int(rng.random() < 0.2), int(rng.integers(0, 900))
        for _ in range(rng.integers(0, 7)):
            rows.append((patient, len(rows), np.datetime64("2020-01-01") + day, STATES[state]))
            if state == 2:
                break
            state, day = int(rng.choice(3, p=CHAIN[state])), day + 1 + int(rng.exponential(60))
    visits = pd.DataFrame(rows, columns=["patient", "visit", "date", "state"]).sample(frac=1, random_state=0)
    patients = pd.DataFrame({"patient": np.arange(count), "sex": rng.choice(["f", "m"], count)})
    drugs = pd.DataFrame({"visit": np.arange(len(rows)), "new": rng.random(len(rows)) < 0.5})
    return {"patients": patients, "visits": visits, "drugs": drugs}


def chances(visits: pd.DataFrame) -> dict[tuple[str, str], float]:
    """P(next | now), each patient weighing 1, shared out among their visits."""
    visits = visits.sort_values(["patient", "date"], kind="stable")
    then = visits.groupby("patient").state.shift(-1).fillna(END)
    weight = 1.0 / visits.groupby("patient").state.transform("size")
    steps = weight.groupby([visits.state, then]).sum()
    every = weight.groupby(visits.state).sum()
    return {(now, after): steps.get((now, after), 0.0) / every[now] for now in STATES for after in (*STATES, END)}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[TablesRelease, object]:
    path = tmp_path_factory.mktemp("bundle") / "patients"
    options = {"schema": Tables.parse(SCHEMA), "privacy": (4.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    return ke.release(generated(), **options, out=path), path


def test_a_chain_of_three_states_is_recovered_within_noise(made) -> None:
    """By intervals of four standard errors, and by rows: the chain's and those of all that was counted."""
    release, _ = made
    found, truth = release.transitions("visits.state"), chances(generated()["visits"])
    rows = chances(release.tables["visits"].to_pandas())
    for step, share in truth.items():
        error = found[step].standard_error
        assert abs(found[step].value - share) < 4.5 * error + 0.01
        assert abs(rows[step] - share) < 4.5 * error + 0.05
    assert rows["gone", END] > 0.8  # of other records it is a third


def test_shares_of_first_and_last_records_are_of_persons(made) -> None:
    release, _ = made
    visits = generated()["visits"].sort_values(["patient", "date"]).groupby("patient").state
    found = release.transitions("visits.state")
    for answer, own in ((found.first, visits.first()), (found.last, visits.last())):
        assert set(answer) == {*STATES, NONE}
        for state in STATES:
            assert abs(answer[state].value - (own == state).sum() / 3000) < 5 * answer[state].standard_error + 0.01
        assert abs(answer[NONE].value - 1 / 7) < 0.06


def test_rows_come_in_order_and_keys_exist(made) -> None:
    release, _ = made
    assert key_problems(contents_of(release).tables, release.schema) == []
    visits = release.tables["visits"].to_pandas()
    days = pd.to_datetime(visits.date)
    assert (days.groupby(visits.patient).diff().dropna() >= pd.Timedelta(0)).all()
    assert set(release.tables["drugs"].to_pandas().visit) <= set(visits.visit)


def test_times_between_records_are_kept(made) -> None:
    """A third of the range lies between two records drawn at random, and two months between neighbours."""
    release, _ = made
    visits = release.tables["visits"].to_pandas()
    assert pd.to_datetime(visits.date).groupby(visits.patient).diff().median() < pd.Timedelta(days=120)


def test_a_bundle_is_verified_and_made_again(made) -> None:
    release, path = made
    found = {one.check: one for one in ke.verify(path, refit=True)}
    assert found.pop("noise").holds is False  # it came from a seed
    assert all(one.holds for one in found.values()), [one for one in found.values() if not one.holds]
    assert str(ke.load(path).transitions("visits.state")) == str(release.transitions("visits.state"))
    assert "(end)" in release.transitions("visits.state")._repr_html_()


def test_rows_out_of_order_are_noticed(made, tmp_path) -> None:
    release, path = made
    files = {name: data for name, data in read_bundle(path).items() if name != "SHA256SUMS"}
    rows = release.tables["visits"].rows
    turned = rows.set_column(2, rows.schema.field(2), rows.column(2).take(pa.array(np.arange(rows.num_rows)[::-1])))
    files["data.visits.parquet"] = write_rows(turned)
    write_bundle(tmp_path / "harmed", files)
    (told,) = [one for one in ke.verify(tmp_path / "harmed") if one.check == "rows"]
    assert not told.holds
    assert "not in the order of date" in told.detail


def test_transitions_of_what_is_in_no_sequence_are_refused(made) -> None:
    release, _ = made
    with pytest.raises(ParameterError, match=r"Did you mean visits\.state"):
        release.transitions("visits.stat")
    with pytest.raises(ParameterError, match="no column of records in sequence"):
        release.transitions("drugs.new")
    with pytest.raises(ParameterError, match="needs a release of several tables"):
        transitions(release.flat.measurements, {}, "visits.state")
    unordered = Tables.parse(SCHEMA.replace('order = "date"\n', ""))
    options = {"schema": unordered, "privacy": (1.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    with pytest.raises(ParameterError, match="declare its `order`"):
        ke.release(generated(100), **options).transitions("visits.state")


def test_steps_that_were_not_counted_are_refused() -> None:
    options = {"schema": Tables.parse(SCHEMA), "privacy": (1.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    release = ke.release(generated(100), **options, method=Bags(siblings=0.0))
    assert key_problems(contents_of(release).tables, release.schema) == []
    with pytest.raises(ParameterError, match="were not counted"):
        release.transitions("visits.state")


def test_rules_hold_where_values_are_put_in_order() -> None:
    """Within a cell dates change rows; where that would break a rule, whole rows do."""
    ruled = SCHEMA.replace('order = "date"\n', 'order = "date"\nconstraints = ["until >= date"]\n')
    until = '[tables.visits.columns.until]\ntype = "date"\nmin = 2020-01-01\nmax = 2024-12-31\ncells = 12\n'
    data = generated(500)
    data["visits"]["until"] = data["visits"].date + pd.to_timedelta(5, unit="D")
    tables = Tables.parse(ruled + until)
    release = ke.release(data, schema=tables, privacy=(4.0, 1e-6), noise=ke.SeededNoise(1), fast=True)
    visits = release.tables["visits"].to_pandas()
    assert key_problems(contents_of(release).tables, release.schema) == []
    assert (visits.until >= visits.date).all()


def test_nobody_has_a_record() -> None:
    data = generated(50)
    empty = {"patients": data["patients"], "visits": data["visits"].iloc[:0], "drugs": data["drugs"].iloc[:0]}
    options = {"schema": Tables.parse(SCHEMA), "privacy": (50.0, 1e-6), "noise": ke.SeededNoise(1), "fast": True}
    release = ke.release(empty, **options, rows=5)
    assert key_problems(contents_of(release).tables, release.schema) == []


def test_what_sorts_records() -> None:
    day = Date(name="day", min="2020-01-01", max="2020-12-31", cells=3)
    for cells in (pa.array(["2020-03-01", None, "x", "2020-02-01"]), pa.array(["2020-03-01", None, "x", "2020-02-01"])):
        for given in (cells, cells.dictionary_encode(), pa.chunked_array([cells])):
            assert np.argsort(sequence_keys(day, given), kind="stable").tolist() == [3, 0, 1, 2]
    dates = pa.array(["2020-03-01", None, "2020-02-01"]).cast(pa.date32())
    assert np.argsort(sequence_keys(day, dates), kind="stable").tolist() == [2, 0, 1]
    number = sequence_keys(Integer(name="n", min=0, max=9), pa.array([3, None, 1]))
    assert np.lexsort((number,)).tolist() == [2, 0, 1]


def test_tilts_move_drawn_steps_to_those_that_were_counted() -> None:
    """Where all that is counted was drawn as it is, nothing moves; else ratios of wanted and drawn, in part."""
    wanted = np.array([[0.1, 0.3, 0.1], [0.2, 0.2, 0.1]])
    counted = Counted(column=0, other=0, values=wanted, sigma=1e-4)
    blocks = SequenceBlocks(blocks=(counted,), cells={0: np.array([0, 1])})
    tilts = Tilts.of(blocks)
    assert not tilts.move(blocks, [wanted], [0.0], 1.0)
    assert tilts.move(blocks, [np.full((2, 3), 1 / 6)], [0.0], 1.0)
    assert tilts.steps[0, 0] == pytest.approx(wanted[:, :2] * 6, rel=1e-2)
    assert tilts.ends[0] == pytest.approx(np.array([[1.2, 1.2], [0.6, 0.6]]), rel=1e-2)
    assert tilts.of_column(1, None, np.array([0])) is None


def test_step_tables_count_as_the_barrier_does() -> None:
    """Two parents, of two records and of one."""
    steps = Counted(column=0, other=0, values=np.zeros((2, 3)), sigma=1.0)
    first = dataclasses.replace(steps, column=None, values=np.zeros((1, 2)))
    blocks = SequenceBlocks(blocks=(steps, first), cells={0: np.array([0, 1])})
    counted, begun = step_tables(blocks, np.array([[0, 1, 1]]), np.array([2, 1]))
    assert counted.tolist() == [[0.0, 0.25, 0.0], [0.0, 0.0, 0.75]]
    assert begun.tolist() == [[0.5, 0.5]]
    assert math.isclose(counted.sum(), begun.sum())
