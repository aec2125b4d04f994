"""fit and sample, in the manner of scikit-learn."""

import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import kernelease as ke
from kernelease.relational.schema_of_tables import Tables
from kernelease.synthesizer import Synthesizer, bounds_schema
from tests.cli.conftest import people

BOUNDS = {"age": (18, 99), "sex": ["female", "male"], "hours": (0.0, 80.0), "employed": bool}


@pytest.fixture(scope="module")
def fitted():
    return ke.Synthesizer(bounds=BOUNDS, privacy=(3.0, 1e-6)).fit(people().to_pandas())


@pytest.mark.slow
def test_a_frame_goes_in_and_a_frame_comes_out(fitted):
    frame = fitted.sample(50)
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape == (50, 4)
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "category", "float64", "boolean"]
    assert frame["age"].dropna().between(18, 99).all()
    assert fitted.release_.certificate.headline.startswith(
        "Each row is protected: differentially private with epsilon 3 "
    )


def test_any_number_of_rows_is_free(fitted):
    assert len(fitted.sample()) == 400
    assert len(fitted.sample(600)) == 600


def test_a_schema_in_place_of_bounds_and_arrow_in_place_of_a_frame(tmp_path):
    (tmp_path / "s.toml").write_text('[columns.sex]\ntype = "category"\nvalues = ["female", "male"]\n')
    ke.LedgerFile.create(tmp_path / "books", cap=ke.Privacy(epsilon=2.0, delta=1e-6))
    made = ke.Synthesizer(schema=tmp_path / "s.toml", privacy=(2, 1e-6), ledger=str(tmp_path / "books"))
    assert made.fit_sample(people(), 10).column_names == ["sex"]
    with pytest.raises(ke.errors.BudgetError):  # each fit is a release of its own
        made.fit(people())


def test_columns_without_bounds_are_not_released():
    with pytest.warns(UserWarning, match="not released, since bounds don't name them: age, "):
        made = ke.Synthesizer(bounds={"sex": ["female", "male"]}, privacy=(1, 1e-6)).fit(people())
    assert made.schema_.names == ("sex",)


def test_no_warning_names_cells_of_a_first_line(tmp_path, recwarn):
    """Where files have no header, what is taken for names is somebody's row."""
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        path.write_text("sex,secret\n" + "female,1\nmale,2\n" * 50)
    made = ke.Synthesizer(bounds={"sex": ["female", "male"]}, privacy=(1, 1e-6)).fit(paths)
    assert made.schema_.names == ("sex",)
    assert not [warning for warning in recwarn if "secret" in str(warning.message)]


def test_columns_keep_the_order_of_the_data(fitted):
    turned = dict(reversed(BOUNDS.items()))
    assert ke.Synthesizer(bounds=turned)._schema_of(people()).names == tuple(BOUNDS)


def test_scikit_learn_can_clone_it():
    made = ke.Synthesizer(bounds=BOUNDS, privacy=(0.5, 1e-6), target="employed")
    again = clone(made)
    assert again is not made
    assert again.get_params() == made.get_params()
    assert again.set_params(privacy=(2.0, 1e-6)).privacy == (2.0, 1e-6)
    with pytest.raises(ke.errors.ParameterError, match="there is no setting 'epsilom'"):
        made.set_params(epsilom=1.0)


def test_what_is_public_must_be_said():
    with pytest.raises(ke.errors.ParameterError, match="say what is public about the columns"):
        ke.Synthesizer(privacy=(1, 1e-6)).fit(people())
    with pytest.raises(ke.errors.ParameterError, match="one of the two"):
        ke.Synthesizer(schema="x.toml", bounds=BOUNDS, privacy=(1, 1e-6)).fit(people())
    with pytest.raises(ke.errors.ParameterError, match="needs privacy"):
        ke.Synthesizer(bounds=BOUNDS).fit(people())


def test_refusals(fitted):
    with pytest.raises(ke.errors.ParameterError, match="call fit first"):
        ke.Synthesizer(bounds=BOUNDS, privacy=(1, 1e-6)).sample(3)
    with pytest.raises(ke.errors.ParameterError, match="y must be a column of X"):
        ke.Synthesizer(bounds=BOUNDS, privacy=(1, 1e-6)).fit(people(), y=[1])


def test_bounds_of_every_kind():
    day = datetime.date(2020, 1, 1)
    schema = bounds_schema(
        {"d": (day, datetime.date(2021, 1, 1)), "t": (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1))}
    )
    assert [column.tag for column in schema] == ["date", "datetime"]
    assert [column.tag for column in bounds_schema({"x": (0, 1.5)})] == ["number"]


@pytest.mark.parametrize("bound", [(1,), 3, (True, False), ("a", "b"), None])
def test_bounds_of_no_kind(bound):
    with pytest.raises(ke.errors.ParameterError, match="bounds of 'x' must be"):
        bounds_schema({"x": bound})


def test_bounds_of_nothing():
    with pytest.raises(ke.errors.ParameterError, match="at least one column"):
        bounds_schema({})


def test_several_tables_go_in_and_come_out() -> None:
    """Frames by their names, with keys that exist; other numbers of rows are free."""
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"home": range(200), "town": rng.choice(["a", "b"], 200)})
    people = pd.DataFrame({"home": rng.integers(0, 200, 500), "age": rng.integers(0, 99, 500)})
    schema = Tables.parse(SEVERAL)
    made = Synthesizer(schema=schema, privacy=(1.0, 1e-6)).fit({"homes": homes, "people": people})
    tables = made.sample()
    assert isinstance(tables["people"], pd.DataFrame)
    assert len(tables["homes"]) == 200
    assert set(tables["people"].home) <= set(tables["homes"].home)
    fewer = made.sample(50, seed=1)
    assert len(fewer["homes"]) == 50
    assert set(fewer["people"].home) <= set(fewer["homes"].home)
    assert made.schema_ == schema


SEVERAL = """
[unit]
table = "homes"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b"]
[tables.people]
parent = "homes"
foreign_key = "home"
max_rows = 6
[tables.people.columns.age]
type = "integer"
min = 0
max = 99
cells = 10
"""
