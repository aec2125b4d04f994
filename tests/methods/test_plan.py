"""Plans: the noise that a release then has."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.errors import ParameterError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.plan import EPSILONS, Setting, plan
from kernelease.methods.interactions.singles import first_look
from kernelease.pipeline import measure
from kernelease.privacy import Privacy, SeededNoise
from kernelease.table import Schema

TEXT = """
[table]
neighbours = "{}"
[columns.a]
type = "integer"
min = 0
max = 999
[columns.b]
type = "number"
min = 0
max = 1
nullable = true
[columns.c]
type = "date"
min = 2020-01-01
max = 2020-12-31
"""


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_single_columns_is_that_of_a_release(delta):
    schema, privacy = Schema.parse(TEXT.format("replace-one")), Privacy(epsilon=0.7, delta=delta)
    table = pa.table({"a": [1, 2] * 500, "b": [0.5, None] * 500, "c": ["2020-02-02", "x"] * 500})
    measured = measure(table, schema=schema, privacy=privacy, noise=SeededNoise(0))
    expected = plan(schema, privacy=privacy, rows=1000)
    planned = [floor.count for floor in expected.floors if len(floor.columns) == 1]
    sigmas = [block.sigma for block in measured.measured.blocks if len(block.block.columns) == 1]
    first = first_look(len(schema), pure=privacy.pure) ** (1.0 if privacy.pure else 0.5)
    assert planned == pytest.approx(first * np.array(sigmas[: len(planned)]), rel=1e-2)  # Laplace noise is discrete
    assert expected.attacker == pytest.approx(measured.certificate.attacker)


def test_more_rows_cost_more_and_drown_less():
    schema, privacy = Schema.parse(TEXT.format("replace-one")), Privacy(epsilon=1.0, delta=1e-6)
    small, large = (plan(schema, privacy=privacy, rows=rows) for rows in (1000, 1_000_000))
    assert small.floors[0].share > 100 * large.floors[0].share
    assert small.numbers < large.numbers
    assert small.seconds < large.seconds
    assert small.memory < large.memory
    assert small.size < large.size


def test_every_epsilon_is_planned_for_at_the_smallest_delta():
    schema = Schema.parse(TEXT.format("replace-one"))
    settings = plan(schema, privacy=Privacy(epsilon=0.1, delta=1e-14), rows=10).settings
    assert [setting.epsilon for setting in settings] == list(EPSILONS)
    assert np.all(np.diff([setting.column for setting in settings]) < 0.0)


def test_a_plan_needs_rows():
    with pytest.raises(ParameterError, match="rows must be at least 1"):
        plan(Schema.parse(TEXT.format("replace-one")), privacy=Privacy(epsilon=1.0, delta=0.0), rows=0)


def test_advice_names_the_smallest_share_that_is_answered():
    """Four standard deviations of the median noise, of columns and of pairs."""
    schema, privacy = Schema.parse(TEXT.format("replace-one")), Privacy(epsilon=1.0, delta=1e-6)
    expected = plan(schema, privacy=privacy, rows=40_000)
    single = [floor.share for floor in expected.floors if len(floor.columns) == 1]
    assert f"epsilon = 1 answers shares of one column down to {400 * np.median(single):.2g} %" in expected.advice[0]
    assert expected.advice[0].startswith("With 40,000 rows and 3 columns, ")
    enough = [setting.epsilon for setting in expected.settings if setting.pair and 4 * setting.pair <= 0.01]
    assert expected.advice[1] == f"For shares of 1 % of two columns together, epsilon = {min(enough):g} is enough."


def test_advice_says_where_no_epsilon_is_enough():
    few = plan(Schema.parse(TEXT.format("replace-one")), privacy=Privacy(epsilon=1.0, delta=1e-6), rows=20)
    assert "not at all: they drown in noise" in few.advice[0]
    assert few.advice[1].startswith("No epsilon up to 10 shows shares of 1 %")


def _wide(columns: int) -> Schema:
    kinds = ('type = "boolean"', 'type = "integer"\nmin = 0\nmax = 59', 'type = "category"\nvalues = ["a", "b", "c"]')
    return Schema.parse("\n".join(f"[columns.c{i}]\n{kinds[i % 3]}" for i in range(columns)))


@pytest.mark.parametrize("target", [None, "c1"])
def test_pairs_that_are_alike_are_planned_for_once(target):
    """Other epsilons are compared by one pair of each kind, and say what a plan for them says of all of its pairs."""
    schema, method = _wide(20), Interactions(target=target)
    plans = [plan(schema, privacy=Privacy(epsilon=e, delta=1e-6), rows=3000, method=method) for e in EPSILONS]
    assert {True} < {one.chosen and one.pairs > 0 for one in plans}  # in some plans pairs are chosen, not in all
    compared = plans[0].settings
    whole = [Setting.of(one.privacy.epsilon, one.floors, one.attacker) for one in plans]
    for ours, theirs in zip(compared, whole, strict=True):
        assert ours.column == theirs.column
        assert ours.pair == (None if theirs.pair is None else pytest.approx(theirs.pair, rel=1e-12))
