"""Noise that was recorded comes back in the order in which it was drawn, and no other."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.errors import ParameterError
from kernelease.measured.measured import RecordedNoise, Recording


def recorded(*vectors: list[int], counted: bool = False, picks: tuple[int, ...] = ()) -> RecordedNoise:
    parts = tuple(Recording(integers=np.array(vector, dtype=object), counted=counted) for vector in vectors)
    return RecordedNoise(vectors=parts, picks=picks, private=True)


def test_vectors_come_back_one_after_the_other() -> None:
    noise = recorded([1, 2**80, 3], [4])
    assert noise.gaussian(1.0, 3).tolist() == [1, 2**80, 3]
    assert not noise.exhausted
    assert noise.laplace(1.0, 1).tolist() == [4]
    assert noise.exhausted


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_a_vector_that_was_drawn_in_rounds(rounds: list[int]) -> None:
    """The count of rows stands last, and came with the first round."""
    numbers = list(range(sum(rounds)))
    noise = recorded([*numbers, 999], counted=True)
    first = noise.gaussian(1.0, rounds[0] + 1).tolist()
    rest = [number for size in rounds[1:] for number in noise.gaussian(1.0, size).tolist()]
    assert first[-1] == 999
    assert [*first[:-1], *rest] == numbers
    assert noise.exhausted


def test_what_was_not_recorded_is_refused() -> None:
    with pytest.raises(ParameterError, match="other vectors"):
        recorded([1, 2], [3]).gaussian(1.0, 3)
    with pytest.raises(ParameterError, match="more noise"):
        recorded().laplace(1.0, 1)
    with pytest.raises(ParameterError, match="picks more often"):
        recorded().noisy_max([5, 6], 1.0)
    with pytest.raises(ParameterError, match="from fewer"):
        recorded(picks=(2,)).noisy_max([5, 6], 1.0)


def test_picks_come_back() -> None:
    noise = recorded(picks=(1, 0))
    assert [noise.noisy_max([0, 9], 1.0), noise.noisy_max([0, 9], 1.0)] == [1, 0]
    assert noise.exhausted
