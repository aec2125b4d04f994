"""Values in groups, thousands of them: counted on their own, released as they are seen, asked about one by one."""

import json
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease import Privacy, Release, Schema
from kernelease.arrays import Integers
from kernelease.bundle.codec import from_json, to_json
from kernelease.errors import BundleError
from kernelease.exact.counting import count_blocks
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.counts import Counts
from kernelease.measured.offsets import declared_levels, in_groups, levels_of
from kernelease.methods.plan import plan
from kernelease.noises import SeededNoise
from kernelease.passes import Layout
from kernelease.report.page import contents
from kernelease.table import Category, Hierarchy, Integer

GROUPS, EACH, ROWS = 200, 250, 100_000
LEAVES = GROUPS * EACH
VALUES = tuple(f"{number // EACH:03d}.{number % EACH:03d}" for number in range(LEAVES))
SCHEMA = Schema(
    (
        Hierarchy(name="code", values=VALUES, prefix=3),
        Integer(name="age", min=0, max=99),
        Category(name="sex", values=("f", "m")),
        Category(name="region", values=("a", "b", "c", "d")),
    )
)
PRIVACY = Privacy(epsilon=1.0, delta=1e-6)
MOST_BYTES = 400e6  # of a release of all of it: about 110 MB beyond the libraries


def _codes() -> Integers:
    """Frequencies of leaves as in Zipf's law within each group, in a random order."""
    generator = np.random.default_rng(1)
    groups = 1.0 / np.arange(1, GROUPS + 1) ** 0.7
    zipf = 1.0 / np.arange(1, EACH + 1)
    shares = np.concatenate([weight * generator.permutation(zipf) for weight in groups / groups.sum()])
    return generator.choice(LEAVES, ROWS, p=shares / shares.sum())


def _table(codes: Integers) -> pa.Table:
    generator = np.random.default_rng(2)
    group = codes // EACH
    age = np.clip((40 + group / 5 + generator.normal(0.0, 12.0, len(codes))).round(), 0, 99)
    return pa.table(
        {
            "code": np.array(VALUES)[codes],
            "age": age.astype(np.int64),
            "sex": np.where(generator.random(len(codes)) < 0.3 + 0.4 * (group % 2), "f", "m"),
            "region": generator.choice(["a", "b", "c", "d"], len(codes)),
        }
    )


def _peak() -> float:
    return 1000.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture(scope="module")
def codes() -> Integers:
    return _codes()


@pytest.fixture(scope="module")
def made(codes: Integers) -> Release:
    table = _table(codes)
    before = _peak()
    made = ke.release(table, schema=SCHEMA, privacy=PRIVACY, noise=SeededNoise(1))
    assert _peak() - before < MOST_BYTES
    return made


@pytest.fixture(scope="module")
def heaviest(codes: Integers) -> list[tuple[str, int]]:
    """The 20 heaviest leaves, and how many rows have each."""
    counts = np.bincount(codes, minlength=LEAVES)
    return [(VALUES[leaf], int(counts[leaf])) for leaf in np.argsort(-counts)[:20]]


def _leaf_block(made: Release) -> NoisyBlock:
    assert isinstance(made.measurements.measured, NoisyBlocks)
    (block,) = [block for block in made.measurements.measured.blocks if block.block.cells == LEAVES]
    return block


@pytest.mark.slow
def test_leaves_are_counted_once_and_pairs_keep_to_groups(made: Release) -> None:
    assert isinstance(made.measurements.measured, NoisyBlocks)
    assert made.measurements.measured.sizes == (LEAVES, 100, 2, 4)
    assert _leaf_block(made).block.columns == (0,)
    (groups, *others) = levels_of(made.measurements.measured)
    assert groups is not None
    assert others == [None] * 3
    np.testing.assert_array_equal(groups, declared_levels(SCHEMA.columns)[0])
    several = [block.block for block in made.measurements.measured.blocks if len(block.block.columns) > 1]
    for block in (block for block in several if 0 in block.columns):
        cells = block.groups[block.columns.index(0)]
        assert len(set(zip(groups.tolist(), cells.tolist(), strict=True))) == GROUPS  # none of them is parted
    assert in_groups(made.measurements.measured, levels_of(made.measurements.measured)).sizes == (GROUPS, 100, 2, 4)


@pytest.mark.slow
def test_the_heaviest_leaves_are_released_as_often_as_there_are(made: Release, heaviest: list[tuple[str, int]]) -> None:
    released = made.rows.column("code").value_counts().to_pylist()
    found = {item["values"]: item["counts"] for item in released}
    errors = np.array([found.get(value, 0) - count for value, count in heaviest]) / _leaf_block(made).sigma
    assert np.abs(errors).max() < 5.0  # by chance in one of 10⁵ tables
    assert np.sqrt(np.mean(errors**2)) < 1.7


@pytest.mark.slow
def test_released_leaves_are_near_the_table(made: Release, codes: Integers) -> None:
    there = np.bincount(codes, minlength=LEAVES) / ROWS
    places = {value: place for place, value in enumerate(VALUES)}
    released = np.array([places[value] for value in made.rows.column("code").to_pylist()])
    rows = np.bincount(released, minlength=LEAVES) / len(released)
    held = there.reshape(GROUPS, EACH).sum(axis=1)
    even = np.repeat(held / EACH, EACH)
    assert np.abs(rows - there).sum() < 0.9 * np.abs(even - there).sum()
    assert 0.5 * np.abs(rows.reshape(GROUPS, EACH).sum(axis=1) - held).sum() < 0.03


@pytest.mark.slow
def test_questions_about_a_leaf_have_its_own_interval(made: Release, heaviest: list[tuple[str, int]]) -> None:
    sigma = _leaf_block(made).sigma
    held = 0
    for value, count in heaviest:
        estimate = made.count(f"code == '{value}'")
        low, high = estimate.interval()
        held += low <= count <= high
        assert high - low == pytest.approx(2 * 1.96 * sigma, rel=0.02)
    assert held >= 15  # of 20: fewer in one of 3,000 tables
    value, count = heaviest[0]
    low, high = made.probability(f"code == '{value}'").interval(0.9999)
    assert low <= count / ROWS <= high
    group = made.count(by="code")[value[:3]]
    assert group.standard_error < 2.0 * sigma
    assert len(made.count(by="code")) == GROUPS


@pytest.mark.slow
def test_a_leaf_beside_another_column_is_bounded_by_its_count(
    made: Release, codes: Integers, heaviest: list[tuple[str, int]]
) -> None:
    value, count = heaviest[0]
    table = _table(codes).to_pandas()
    for condition, rows in (("sex == 'f'", table.sex == "f"), ("age > 40", table.age > 40)):
        low, high = made.count(f"code == '{value}' and {condition}").interval()
        assert low <= int((rows & (table.code == value)).sum()) <= high
        assert high < 1.2 * count
    cells = made.crosstab("code", "sex").rows
    assert cells[0] == "000"
    assert len(cells) <= GROUPS


@pytest.mark.slow
def test_a_bundle_of_leaves_is_small_and_verified(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    made.save(path)
    assert (path / "measurements.json").stat().st_size < 3e6
    again = ke.load(path)
    assert again.measurements.measured.fingerprint == made.measurements.measured.fingerprint
    assert again.table == made.table
    asked = f"code == '{VALUES[7]}'"  # sums of arrays elsewhere in memory round otherwise, in the last digit
    assert again.count(asked).value == pytest.approx(made.count(asked).value, rel=1e-12)
    assert all(finding.holds for finding in ke.verify(path) if finding.check != "noise")


@pytest.mark.slow
def test_the_page_shows_groups(made: Release) -> None:
    shown = contents(made, bundle="bundle")
    column = shown["columns"][0]
    assert column["labels"][:2] == ["000", "001"]
    assert len(column["labels"]) == len(column["synthetic"]) == GROUPS
    assert column["values"] == []
    single = next(record for record in shown["marginals"] if record["columns"] == [0])
    assert len(single["groups"][0]) <= GROUPS + 2  # with the mark of how they are written; leaves are many more
    pair = next(record for record in shown["marginals"] if record["columns"] == [0, 2])
    assert len(pair["groups"][0]) <= GROUPS + 2
    assert len(json.dumps(shown)) < 2e6


def test_a_plan_counts_leaves_once() -> None:
    expected = plan(SCHEMA, privacy=PRIVACY, rows=ROWS)
    assert [floor.cells for floor in expected.floors if floor.columns == ("code",)] == [GROUPS, LEAVES]
    assert LEAVES < expected.numbers < 2 * LEAVES
    assert expected.memory < 1e9


SMALL = Schema(
    (
        Hierarchy(name="code", values=tuple(f"{i}{j}" for i in range(4) for j in range(5)), prefix=1, nullable=True),
        Category(name="sex", values=("f", "m")),
    )
)


def _small(seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    values = np.array([f"{i}{j}" for i in range(4) for j in range(5)])
    shares = np.tile([16.0, 8.0, 4.0, 2.0, 1.0], 4)
    code = generator.choice(values, 3000, p=shares / shares.sum())
    return pa.table({"code": code, "sex": generator.choice(["f", "m"], 3000)})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("neighbours", "delta"), [("replace-one", 1e-6), ("add-remove", 1e-6), ("replace-one", 0.0), ("add-remove", 0.0)]
)
def test_intervals_of_leaves_cover(neighbours: str, delta: float, tmp_path: Path) -> None:
    schema = Schema(SMALL.columns, neighbours=neighbours)
    table = _small(0)
    truth = {item["values"]: item["counts"] for item in table.column("code").value_counts().to_pylist()}
    held, total = 0, 0
    for seed in range(6):
        privacy = Privacy(epsilon=1.0, delta=delta)
        made = ke.release(table, schema=schema, privacy=privacy, noise=SeededNoise(seed), rows=500)
        for value, count in truth.items():
            low, high = made.count(f"code == '{value}'").interval()
            held, total = held + (low <= count <= high), total + 1
    assert held / total > 0.85  # 95 % of 120, less five standard deviations
    made.save(tmp_path / "bundle")
    assert all(finding.holds for finding in ke.verify(tmp_path / "bundle") if finding.check != "noise")


def test_a_single_column_of_leaves() -> None:
    schema = Schema(SMALL.columns[:1])
    made = ke.release(_small(0), schema=schema, privacy=PRIVACY, noise=SeededNoise(0))
    assert isinstance(made.measurements.measured, NoisyBlocks)
    assert [block.block.cells for block in made.measurements.measured.blocks] == [5, 21]
    again = ke.release(_small(0), schema=schema, privacy=PRIVACY, noise=SeededNoise(0))
    assert again.measurements.measured.fingerprint == made.measurements.measured.fingerprint


def test_leaves_that_are_groups_of_their_own_are_a_category() -> None:
    column = Hierarchy(name="code", values=("a1", "b1"), prefix=1)
    assert declared_levels([column]) == (None,)
    table = pa.table({"code": ["a1", "b1"] * 500, "sex": ["f", "m"] * 500})
    made = ke.release(table, schema=Schema((column, SMALL.columns[1])), privacy=PRIVACY, noise=SeededNoise(0))
    assert isinstance(made.measurements.measured, NoisyBlocks)
    assert made.measurements.measured.sizes == (2, 2)
    assert levels_of(made.measurements.measured) == (None, None)


@pytest.mark.slow
def test_other_questions_about_leaves(made: Release, codes: Integers, heaviest: list[tuple[str, int]]) -> None:
    value, _ = heaviest[0]
    ages = _table(codes).to_pandas().query("code == @value").age
    low, high = made.quantile("age", 0.5, where=f"code == '{value}'").interval()
    assert low <= ages.median() <= high
    low, high = made.mean("age", where=f"code == '{value}'").interval()
    assert low <= ages.mean() <= high
    assert not made.tests.independence("code", "sex").p_value > 0.05
    assert made.tests.two_sample(made).p_value > 0.05
    assert "agree within the noise" in str(made.agreement())


@pytest.mark.slow
def test_a_table_of_counts_in_several_groupings_of_leaves(codes: Integers) -> None:
    other = np.random.default_rng(0).integers(0, 6, ROWS)
    groups = declared_levels(SCHEMA.columns)[0]
    assert groups is not None
    pairs = [(groups, np.arange(6)), (groups % 7, np.arange(6) // 2), (groups // 9, np.arange(6))]
    blocks = [Counts(columns=(0, 1), groups=pair, share=0.1) for pair in pairs]
    found = count_blocks([((codes, other), None)], blocks, (LEAVES, 6))
    for block, table in zip(blocks, found, strict=True):
        expected = np.zeros(block.shape, dtype=np.int64)
        np.add.at(expected, (block.groups[0][codes], block.groups[1][other]), 1)
        np.testing.assert_array_equal(table, expected)
    assert Layout.of(blocks, (LEAVES, 6)).starts[-1] <= GROUPS * 6  # not 50,000 × 6


def test_long_groupings_are_written_as_runs() -> None:
    groups = declared_levels(SCHEMA.columns)[0]
    assert groups is not None
    written = to_json(groups)
    assert written["tag"] == "runs"
    assert len(json.dumps(written)) < 6000
    np.testing.assert_array_equal(from_json(written), groups)
    assert to_json(np.arange(LEAVES))["tag"] == to_json(groups[:4000])["tag"] == "array"


@pytest.mark.parametrize(
    "changes",
    [
        {"length": 2**40},
        {"length": 3},
        {"length": True},
        {"starts": to_json(np.array([1, 250]))["data"]},
        {"starts": to_json(np.array([0, 0]))["data"]},
        {"starts": to_json(np.array([0]))["data"]},
        {"starts": "", "values": ""},
        {"values": "no base64"},
        {"values": None},
    ],
)
def test_runs_that_a_stranger_wrote_are_refused(changes: dict[str, object]) -> None:
    two = {name: to_json(np.array(numbers))["data"] for name, numbers in (("starts", [0, 250]), ("values", [0, 1]))}
    honest = {"tag": "runs", "length": 5000, **two}
    assert len(from_json(honest)) == 5000
    with pytest.raises(BundleError, match="An array in this bundle can't be read"):
        from_json({**honest, **changes})
