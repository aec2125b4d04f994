"""What people write where objects are taken."""

import dataclasses
import inspect
import os
import re

import pyarrow as pa
import pytest
from rich.console import Console

import kernelease as ke
from kernelease.arguments import Order, privacy_of, schema_of
from kernelease.errors import KerneleaseError, LedgerError
from kernelease.progress import SILENT, show_progress
from tests.cli.conftest import SCHEMA, people

PAIR = (2.0, 1e-6)
SEEDED = {"noise": ke.SeededNoise(1)}


@pytest.fixture
def schema_file(tmp_path):
    path = tmp_path / "people.toml"
    path.write_text(SCHEMA, encoding="utf-8")
    return path


def test_paths_and_pairs_stand_for_objects(schema_file, tmp_path):
    ledger = tmp_path / "ledger"
    with pytest.raises(LedgerError, match="Choose its cap, the most that all releases of 'people' together"):
        ke.release(people(), schema=str(schema_file), privacy=PAIR, ledger=ledger)
    ke.LedgerFile.create(ledger, cap=ke.Privacy(epsilon=PAIR[0], delta=PAIR[1]))
    made = ke.release(people(), schema=str(schema_file), privacy=PAIR, ledger=ledger, target="employed")
    assert (made.certificate.epsilon, made.certificate.delta) == PAIR
    assert made.measurements.method == ke.Interactions(target="employed")
    assert [entry.charge.asked.epsilon for entry in ke.LedgerFile.open(ledger).entries()] == [2.0]
    with pytest.raises(ke.errors.BudgetError, match="would pass the cap"):  # the second time, the file is there
        ke.measure(people(), schema=schema_file, privacy=PAIR, ledger=str(ledger))


def test_a_ledger_of_another_table_is_refused_by_its_path(schema_file, tmp_path):
    ke.LedgerFile.create(tmp_path / "ledger", cap=ke.Privacy(epsilon=9.0, delta=1e-6), dataset="cars")
    with pytest.raises(ke.errors.BudgetError, match="of the data set 'cars', the release is of 'people'"):
        ke.measure(people(), schema=schema_file, privacy=PAIR, ledger=tmp_path / "ledger")


@pytest.mark.parametrize("given", [1.0, (1.0,), (1.0, "x"), "1", (True, 1e-6), None])
def test_a_promise_is_whole(given):
    with pytest.raises(ke.errors.ParameterError, match=r"a pair \(epsilon, delta\)"):
        privacy_of(given)
    with pytest.raises(ke.errors.ParameterError, match=r"got \(str, float\)"):
        privacy_of(("one", 1e-6))


def test_a_schema_is_a_schema_or_a_path():
    with pytest.raises(ke.errors.ParameterError, match="the path of its TOML file, got dict"):
        schema_of({"age": 1})


def test_target_and_method_are_one_choice(schema_file):
    with pytest.raises(ke.errors.ParameterError, match=r"give it to the method, Interactions\(target=…\)"):
        ke.release(people(), schema=schema_file, privacy=PAIR, method=ke.Interactions(), target="sex")
    with pytest.raises(KerneleaseError, match="'sexe'"):
        ke.release(people(), schema=schema_file, privacy=PAIR, target="sexe")


def test_help_names_every_option():
    signature = str(inspect.signature(ke.release))
    assert signature.startswith("(data, *, privacy, schema=None")  # no types of other modules, which fill a screen
    listed = re.findall(r"^ *- ([\w, ]+):|; (\w+):", ke.release.__doc__, re.MULTILINE)
    named = {name for groups in listed for group in groups for name in group.split(", ") if name}
    assert named == {"data", *(field.name for field in dataclasses.fields(Order))}


def test_plan_takes_paths_too(schema_file):
    expected = ke.plan(schema_file, privacy=PAIR, rows=400, target="employed")
    assert expected.privacy.relation is ke.Neighbours.REPLACE_ONE
    with pytest.warns(UserWarning, match="not below 1/N"):
        ke.plan(schema_file, privacy=(1.0, 0.01), rows=400)


# Drafts


def test_a_draft_of_a_frame_is_from_names_and_declared_types():
    text = ke.draft(pa.table({"age": [41], "name": ["Ada"]}), name="people")
    assert 'name = "people"' in text
    assert 'type = "integer"' in text
    assert "41" not in text
    assert "Ada" not in text


def test_a_draft_of_a_file_takes_its_name(tmp_path):
    (tmp_path / "clinic.csv").write_text("age,sex\n41,f\n")
    assert 'name = "clinic"' in ke.draft(tmp_path / "clinic.csv")


def test_a_public_table_gives_bounds():
    text = ke.draft(public=pa.table({"age": [20, 60]}))
    assert ke.Schema.parse(text).column("age").labels()[0] == "20"


@pytest.mark.parametrize("given", [{}, {"metadata": {}, "public": pa.table({"a": [1]})}])
def test_a_draft_is_of_one_thing(given):
    with pytest.raises(ke.errors.ParameterError, match="one of the three"):
        ke.draft(**given)


# Progress


def test_bars_only_where_somebody_watches():
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        with show_progress(console=Console(file=nowhere, force_terminal=True)) as progress:
            assert progress is not SILENT
            progress.step()  # before any stage: nothing to advance
            progress.stage("a", 2)
            progress.step()
            progress.expect({"b": 3.0})
            progress.stage("b")
        with show_progress(console=Console(file=nowhere, force_terminal=False)) as progress:
            assert progress is SILENT
        with show_progress(SILENT, console=Console(file=nowhere, force_terminal=True)) as progress:
            assert progress is SILENT


def test_a_progress_that_can_not_be_told_is_refused_before_anything_is_spent():
    with (
        pytest.raises(ke.errors.ParameterError, match="must have the methods expect, stage and step"),
        show_progress("loud"),
    ):
        pass
