import hashlib
import math

import numpy as np

from kernelease.features.fourier import (
    ANGLE_BITS,
    RADIUS,
    ROWS_PER_SUM,
    circle,
    cosines_and_sines,
    packed_circle,
    unpack,
)

ANGLES = math.tau * np.arange(2**ANGLE_BITS) / 2**ANGLE_BITS
DIGEST = "1d9c095096dba014e67d2579dd3af90a7371121964a05dfc79355ae3a97f7c08"


def test_every_entry_is_within_the_circle_in_integers() -> None:
    cosines, sines = circle()
    assert len(cosines) == len(sines) == 2**ANGLE_BITS
    assert all(c * c + s * s <= RADIUS**2 for c, s in zip(cosines.tolist(), sines.tolist(), strict=True))


def test_every_entry_is_rounded_toward_zero_by_less_than_one() -> None:
    for table, wave in zip(circle(), (np.cos(ANGLES), np.sin(ANGLES)), strict=True):
        loss = np.sign(wave) * (wave * RADIUS - table)
        assert loss.min() > -1e-6
        assert loss.max() < 1.0


def test_the_table_is_the_same_on_every_machine() -> None:
    cosines, sines = circle()
    digest = hashlib.sha256(np.stack([cosines, sines]).astype("<i8").tobytes()).hexdigest()
    assert digest == DIGEST


def test_the_table_can_not_be_changed() -> None:
    assert not any(table.flags.writeable for table in (*circle(), packed_circle()))


def test_sums_of_packed_entries_unpack_exactly() -> None:
    packed, (cosines, sines) = packed_circle(), circle()
    generator = np.random.default_rng(0)
    for start in (0, 2**13, 2**14, 2**15, 3 * 2**14):  # equal extreme entries, the worst for carries
        for index in (np.full((1, ROWS_PER_SUM), start), generator.integers(0, 2**16, (1, ROWS_PER_SUM))):
            x, y = unpack(packed[index].sum(axis=1))
            assert (x[0], y[0]) == (cosines[index].sum(), sines[index].sum())


def test_public_waves_are_as_good_as_the_library_s() -> None:
    phases = np.concatenate(
        [np.random.default_rng(0).normal(size=10_000) * 600, np.arange(-8, 9) * math.pi / 4, [1e15]]
    )
    cosines, sines = cosines_and_sines(phases)
    assert np.abs(cosines - np.cos(phases)).max() < 1e-15
    assert np.abs(sines - np.sin(phases)).max() < 1e-15
