"""What noisy blocks must have to make sense together."""

import dataclasses

import numpy as np
import pytest

import kernelease as ke
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, farthest_sum
from kernelease.measured.counts import Counts
from kernelease.privacy import Neighbours
from kernelease.privacy.accounting import Law, Measurement, Step
from kernelease.table.domains import TableDomain
from tests.analysis.tables import SCHEMA, exact_blocks, noisy_blocks, people
from tests.measured.kinds import as_contrasts

ROWS = 200
COUNT = Counts(columns=(), groups=(), share=0.1), np.array([float(ROWS)])


def blocks(exact, neighbours=Neighbours.ADD_REMOVE):
    noisy = noisy_blocks(exact, ROWS, 1.0, np.random.default_rng(0), neighbours=neighbours)
    return dataclasses.replace(noisy, ordered=tuple(column.in_order for column in SCHEMA))


def centred(sets):
    return [(as_contrasts(block), counts) for block, counts in exact_blocks(people(ROWS), sets=sets)]


def test_columns_without_their_mean_need_the_number_of_rows():
    domain, columns = TableDomain(SCHEMA), centred([(0,), (1,)])
    blocks([COUNT, *columns]).check(domain)
    with pytest.raises(ParameterError, match="up to the number of rows, which was not measured apart"):
        blocks([*columns, *exact_blocks(people(ROWS), sets=[(2,)])]).check(domain)
    with pytest.raises(ParameterError, match="up to the number of rows, which was not measured apart"):
        blocks([COUNT, *columns], Neighbours.REPLACE_ONE).check(domain)


def test_the_number_of_rows_is_read_from_counts_alone():
    noisy = blocks([COUNT, *centred([(0,), (1,), (0, 1)])])
    assert noisy.rows == float(noisy.blocks[0].values)


def test_two_releases_with_the_same_number_of_rows_are_two():
    one, other = (blocks([COUNT, *centred(sets)]) for sets in ([(0,)], [(1,)]))
    other = dataclasses.replace(other, blocks=(one.blocks[0], *other.blocks[1:]))
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(("scale", "draws"), [(1 / 12, 2), (1 / 12, 20), (0.7, 3), (5.0, 50)])
def test_a_sum_of_noise_is_beyond_what_its_law_allows_almost_never(scale, draws):
    reach = 400
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale)
    law = one = one / one.sum()
    for _ in range(draws - 1):
        law = np.convolve(law, one)
    off = np.abs(np.arange(len(law)) - len(law) // 2)
    allowed = farthest_sum(Step(law=Law.LAPLACE, coordinates=draws, sensitivity=2.0, scale=scale))
    assert law[off > allowed].sum() < 4e-14
    assert law[off > allowed / 2].sum() > 1e-13  # and not by allowing whatever comes


def test_laplace_noise_of_one_row_is_no_forgery_where_most_draws_are_zero():
    schema = ke.Schema.parse('[table]\nname = "t"\n[columns.sex]\ntype = "category"\nvalues = ["f", "m"]\n')
    block = Counts(columns=(0,), groups=(np.arange(2),), share=1.0)
    step = Step(law=Law.LAPLACE, coordinates=2, sensitivity=2.0, scale=1 / 12)

    def measured(*counts: int) -> NoisyBlocks:
        integers = np.array(counts, dtype=object)
        noisy = NoisyBlock(block=block, measurement=Measurement(integers=integers, step=step, private=True), unit=1)
        return NoisyBlocks(sizes=(2,), blocks=(noisy,), neighbours=Neighbours.REPLACE_ONE, rows=60.0, ordered=(0,))

    domain = TableDomain(schema)
    measured(31, 30).check(domain)  # once in 80,000 draws
    with pytest.raises(ParameterError, match="add up to another number of rows"):
        measured(31, 40).check(domain)
