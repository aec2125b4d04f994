"""What noisy blocks must have to make sense together."""

import dataclasses

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.measured.counts import Counts
from kernelease.privacy import Neighbours
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
