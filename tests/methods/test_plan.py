"""Plans: the noise that a release then has."""

import re

import numpy as np
import pyarrow as pa
import pytest

from kernelease.errors import ParameterError
from kernelease.fit import NormalPoints
from kernelease.kernels import Gaussian
from kernelease.methods import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.singles import first_look
from kernelease.methods.plan import EPSILONS, Setting, plan
from kernelease.noises import SeededNoise
from kernelease.pipeline import measure
from kernelease.privacy import Neighbours, Privacy
from kernelease.table import Schema

TEXT = """
[table]
neighbours = "{}"
[columns.a]
type = "integer"
min = 0
max = 999
cells = 200
[columns.b]
type = "number"
min = 0
max = 1
cells = 200
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


@pytest.mark.slow
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


# ------------------------------------------------------------------------------------------- what a release can't show

ONE = Privacy(epsilon=1.0, delta=1e-6)


def wide(columns: int, more: str = "") -> Schema:
    return Schema.parse("".join(f'[columns.v{i}]\ntype = "integer"\nmin = 0\nmax = 5\n' for i in range(columns)) + more)


def told(schema: Schema, table: pa.Table, privacy: Privacy = ONE) -> tuple[str, ...]:
    """What is said before a release, and after it: the same, where nothing is in the rows that was not declared."""
    before = plan(schema, privacy=privacy, rows=table.num_rows).notices
    after = measure(table, schema=schema, privacy=privacy, noise=SeededNoise(0)).notices
    assert before == tuple(sentence.replace(" was ", " will be ") for sentence in after)
    return after


def rows_of(schema: Schema, rows: int) -> pa.Table:
    generator = np.random.default_rng(0)
    return pa.table({name: generator.integers(0, 6, rows) for name in schema.names})


@pytest.mark.slow
def test_that_no_pair_is_measured_is_said_with_how_many_columns_would_do():
    schema, count = wide(66), 400
    (sentence,) = relations(schema, count)
    start = "No relation between columns was measured: with 400 rows and 66 columns, epsilon = 1 shows single columns"
    assert sentence.startswith(start)
    columns, epsilon = (
        int(number) for number in re.findall(r"up to (\d+) columns or raise epsilon to (\d+)", sentence)[0]
    )
    fewer, more = relations(wide(columns), count), relations(wide(columns + 1), count)  # the number is the largest
    assert not any("No relation" in one for one in fewer)
    assert "No relation" in more[0]
    raised = relations(schema, count, Privacy(epsilon=float(epsilon), delta=1e-6))
    assert not any("No relation" in one for one in raised)


def relations(schema: Schema, count: int, privacy: Privacy = ONE) -> list[str]:
    """What is said of relations before a release, and after it: the same."""
    before = plan(schema, privacy=privacy, rows=count).notices
    after = measure(rows_of(schema, count), schema=schema, privacy=privacy, noise=SeededNoise(0)).notices
    planned, found = ([one for one in said if "measured" in one] for said in (before, after))
    assert planned == [re.sub(" (was|were) measured", " will be measured", one) for one in found]
    return found


def test_that_sides_alone_are_measured_is_said_before_and_after():
    schema = wide(10)
    expected = plan(schema, privacy=ONE, rows=700)
    assert expected.pairs == 0
    start = "No pair of columns will be counted: with 700 rows and 10 columns, epsilon = 1 shows single columns, and of"
    assert [sentence.startswith(start) for sentence in expected.notices] == [True]
    measured = measure(rows_of(schema, 700), schema=schema, privacy=ONE, noise=SeededNoise(0))
    assert [sentence.replace(" was ", " will be ") for sentence in measured.notices] == list(expected.notices)


def test_that_noise_hides_nearly_all_is_said_with_what_would_show_more():
    schema = wide(12)
    sentences = plan(schema, privacy=ONE, rows=150).notices
    assert re.match(
        r"Noise hides nearly all: with 150 rows and 12 columns, epsilon = 1 shows only shares", sentences[0]
    )
    epsilon = float(re.findall(r"raise epsilon to (\d+)", sentences[0])[0])
    assert not any(
        "Noise hides" in s for s in plan(schema, privacy=Privacy(epsilon=epsilon, delta=1e-6), rows=150).notices
    )
    assert "a table of more rows is needed" in plan(wide(66), privacy=ONE, rows=5).notices[1]
    assert "shows no share of one column" in plan(wide(66), privacy=ONE, rows=5).notices[0]
    measured = measure(rows_of(schema, 150), schema=schema, privacy=ONE, noise=SeededNoise(0))
    assert measured.notices[0].startswith("Noise hides nearly all: with 150 rows and 12 columns")


def test_free_text_is_named_before_and_after():
    schema = wide(2, '[columns.note]\ntype = "string"\nmax_length = 20\n')
    table = rows_of(wide(2), 2000).append_column("note", pa.array(["it hurts"] * 2000))
    (sentence,) = told(schema, table)
    assert sentence.startswith(
        "Column 'note' is free text, of which nothing can be counted: every released value is __other__"
    )


def test_a_column_whose_cells_may_all_be_unread_is_named():
    """Weights with a unit behind them become 30 kg for everybody; some that are read, or much noise, say nothing."""
    text = '[columns.weight]\ntype = "integer"\nmin = 30\nmax = 99\n[columns.ill]\ntype = "boolean"\n'
    schema = Schema.parse(text)

    def columns_told(weights: list[str]) -> list[str]:
        table = pa.table({"weight": weights, "ill": [True, False] * (len(weights) // 2)})
        found = measure(table, schema=schema, privacy=ONE, noise=SeededNoise(0)).notices
        return [sentence for sentence in found if sentence.startswith("Column")]

    (sentence,) = columns_told(["72,5 kg"] * 2000)
    assert re.match(r"Column 'weight': by the noisy counts all of its cells may be 30, .* can't be read", sentence)
    assert columns_told(["30"] * 1600 + ["80"] * 400) == columns_told(["72,5 kg"] * 20) == []


def test_nothing_is_said_of_what_is_declared_to_be_constant():
    """It has no relation to measure, at any epsilon, and nobody wonders that all of its cells are alike."""
    schema = wide(1, '[columns.currency]\ntype = "category"\nvalues = ["EUR"]\n')
    table = rows_of(wide(1), 2000).append_column("currency", pa.array(["EUR"] * 2000))
    assert told(schema, table) == ()


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_column_that_is_lost_is_named_by_its_noisy_counts_alone(neighbours):
    """All `other`, all NULL. Half of them is not lost, nor is a column of few rows, of which noise says nothing."""
    listed = 'type = "category"\nvalues = ["a", "b"]\nother = true\n'
    text = (
        f'[table]\nneighbours = "{neighbours.value}"\n[columns.code]\n{listed}[columns.half]\n{listed}'
        '[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nnullable = true\n'
    )
    table = pa.table({"code": ["x"] * 3000, "half": ["a", "x"] * 1500, "age": pa.nulls(3000, pa.int64())})
    order = {"schema": Schema.parse(text), "privacy": ONE, "noise": SeededNoise(1)}
    code, age = measure(table, **order).notices
    assert re.match(
        r"Column 'code': by the noisy counts about \d+ % of its cells are __other__, .* declare them\.", code
    )
    assert re.match(r"Column 'age': by the noisy counts about \d+ % of its cells are NULL, .* can't be read", age)
    assert not any("Column" in sentence for sentence in measure(table.slice(0, 30), **order).notices)


@pytest.mark.slow
def test_vectors_have_no_notices():
    array = np.random.default_rng(0).normal(size=(50, 2))
    method = Adaptive(points=NormalPoints(dimension=2), features=64, rank=32)
    measured = measure(array, kernel=Gaussian(lengthscale=1.0), method=method, privacy=ONE, noise=SeededNoise(0))
    assert measured.notices == ()


def test_a_plan_for_persons_speaks_of_persons():
    schema = Schema.parse('[table]\nunit = "who"\nmax_rows_per_unit = 2\n[columns.a]\ntype = "boolean"\n')
    expected = plan(schema, privacy=ONE, rows=500)
    assert expected.advice[0].startswith("With 500 persons and 1 column")
    assert "attacker finds a given person" in expected._repr_html_()
