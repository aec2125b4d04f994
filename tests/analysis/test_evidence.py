"""What a release says, from what the table method really measures; and what it can answer."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.analysis.averages import count, mean, probability
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import answers
from tests.analysis.tables import SCHEMA, evidence_of, people, simple

ROWS = 3_000
TABLE = people(ROWS)
PRIVACY = ke.Privacy(epsilon=2.0, delta=1e-6)


def test_each_column_and_pair_is_there():
    found = answers(simple(TABLE, 10.0, sets=[(0,), (1,), (2,), (3,), (4,), (0, 1)]))
    assert len(found.items) == 5 + 10
    assert found["age"].is_measured
    assert found["age"].cells == 48
    assert found["age"].noise == pytest.approx(math.sqrt(200 / 3 * 47 / 48))  # its pair and the number of rows help
    assert found["sex", "age"].is_measured
    assert not found["age", "kids"].is_measured
    assert found["age", "kids"].share(ROWS) is None
    assert "not measured" in str(found)
    assert "<td>age × kids</td>" in found._repr_html_()
    with pytest.raises(KeyError):
        found["agee"]


def test_the_smallest_group_is_usable():
    evidence = simple(TABLE, 10.0)
    smallest = answers(evidence)["age"].smallest
    margins = [count(evidence, f"age == {age}").margin() for age in (25, 40, 60)]
    assert np.max(margins) <= 0.25 * smallest * 1.01
    assert np.max(margins) >= 0.25 * smallest * 0.9


def test_a_column_is_also_seen_through_its_pairs():
    assert answers(simple(TABLE, 10.0, sets=[(0, 1)]))["sex"].noise == pytest.approx(
        10.0 * np.sqrt(24)
    )  # the number of rows is known


def test_where_the_noise_hides_everything():
    assert "hides every single cell" in str(answers(simple(TABLE, 1_000.0)))


def measured(table, schema):
    method = ke.Interactions(triples=0)  # no fit is needed for these
    return ke.measure(table, schema=schema, privacy=PRIVACY, method=method, noise=ke.SeededNoise(2)).measured


def test_persons_with_several_rows():
    table = people(ROWS)
    persons = np.random.default_rng(0).integers(0, 1_500, ROWS)
    schema = dataclasses.replace(SCHEMA, unit="person", max_rows_per_unit=16)
    blocks = measured(table.append_column("person", pa.array(persons)), schema)
    ages = np.bincount(persons, table.column("age").to_numpy()) / np.maximum(np.bincount(persons), 1)
    known = np.bincount(persons) > 0
    evidence = evidence_of(blocks, schema)
    assert float(count(evidence)) == known.sum()
    low, high = mean(evidence, "age").interval(0.999)
    assert low < ages[known].mean() < high
    sampling = mean(evidence_of(blocks, schema, target=Target.POPULATION), "age").parts.sampling
    assert sampling > 0.95 * ages[known].std() / np.sqrt(known.sum())  # by person, and an upper bound


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_both_neighbour_relations(neighbours):
    table = people(ROWS)
    schema = dataclasses.replace(SCHEMA, neighbours=neighbours)
    evidence = evidence_of(measured(table, schema), schema)
    ages, sexes = table.column("age").to_numpy(), table.column("sex").to_numpy()
    for estimate, truth in (
        (count(evidence), ROWS),
        (mean(evidence, "age"), ages.mean()),
        (probability(evidence, "age >= 40", where="sex == 'F'"), (ages[sexes == "F"] >= 40).mean()),
        (count(evidence, "sex == 'F'"), (sexes == "F").sum()),
    ):
        low, high = estimate.interval(0.999)
        assert low <= truth <= high
