"""The laws of the noise. Statistical tests raise a false alarm once in a million runs each (`ALARM`)."""

import dataclasses
import inspect
import math
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pytest
from scipy import stats

import kernelease.privacy
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.noises import SeededNoise
from kernelease.privacy import NoiseSource, Privacy, SystemNoise
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.noise import LARGEST_GAUSSIAN_SCALE, LARGEST_LAPLACE_SCALE
from kernelease.privacy.sensitivity import Neighbours, Sensitivity
from kernelease.seeds import PublicSeed
from tests.privacy.toys import open_filter

ALARM = 1e-6
DRAWS = 1500  # of noisy max, which come one by one
Z = float(stats.norm.isf(ALARM / 2))

SOURCES = [SystemNoise(), SystemNoise(threads=1), SystemNoise(threads=2), SeededNoise(1)]
LAWS = ["gaussian", "laplace"]


def draw(source: NoiseSource, law: str, scale: float, size: int) -> Integers:
    return source.gaussian(scale, size) if law == "gaussian" else source.laplace(scale, size)


def deviation_is_right(draws: Integers, law: str, scale: float) -> bool:
    """Whether the root mean square is that of the law, up to Monte-Carlo error.

    The variance of a squared standardised draw is 2 for the Gaussian and 5 for the Laplace law; a little is added
    because squares are skewed.
    """
    spread, unit = (2.3, 1.0) if law == "gaussian" else (6.5, math.sqrt(2.0))
    square = float(np.mean((draws / (scale * unit)) ** 2))
    return abs(square - 1.0) <= Z * math.sqrt(spread / len(draws))


class NarrowNoise:
    """A broken twin: OpenDP's `int` means 32 bits, and its samplers saturate there without a word."""

    private = True

    def gaussian(self, scale: float, size: int) -> Integers:
        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T=int))
        return np.array(dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)([0] * size), dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T=int))
        return np.array(dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)([0] * size), dtype=np.int64)


# Laws.


@pytest.mark.statistical
@pytest.mark.parametrize(("law", "cdf"), [("gaussian", stats.norm.cdf), ("laplace", stats.laplace.cdf)])
@pytest.mark.parametrize("source", SOURCES[1:], ids=repr)
def test_the_law_on_a_fine_grid(source: NoiseSource, law: str, cdf: Callable[[Floats], Floats]) -> None:
    draws = draw(source, law, 2.0**35, 30_000) / 2.0**35
    assert stats.kstest(draws, cdf).pvalue > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.5, 1.5])
def test_the_law_on_a_coarse_grid(law: str, scale: float) -> None:
    """Where the discrete law is far from the continuous one, each integer comes as often as it should."""
    assert fits_law(draw(SystemNoise(), law, scale, 30_000), law, scale)


@pytest.mark.statistical
def test_rounded_noise_fails_the_test_on_a_coarse_grid() -> None:
    """The twin of the test above: rounding a Gaussian number is not the discrete law."""
    assert not fits_law(SeededNoise(5).gaussian(0.5, 30_000), "gaussian", 0.5)


def fits_law(draws: Integers, law: str, scale: float) -> bool:
    support = np.arange(-200, 201)
    weights = np.exp(-(support**2) / (2 * scale**2)) if law == "gaussian" else np.exp(-np.abs(support) / scale)
    expected = len(draws) * weights / weights.sum()
    usual = expected >= 20
    observed = np.array([np.count_nonzero(draws == k) for k in support[usual]])
    counts, wanted = [*observed, len(draws) - observed.sum()], [*expected[usual], len(draws) - expected[usual].sum()]
    return stats.chisquare(counts, wanted).pvalue > ALARM


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "scale"),
    [*(("gaussian", 2.0**bits) for bits in (33, 36, 55, 56)), *(("laplace", 2.0**bits) for bits in (33, 36, 50))],
)
def test_the_standard_deviation_at_large_scales(law: str, scale: float) -> None:
    assert deviation_is_right(draw(SystemNoise(), law, scale, 8000), law, scale)


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [2.0**33, 2.0**36, 2.0**55])
def test_32_bit_noise_fails_the_same_check(law: str, scale: float) -> None:
    assert not deviation_is_right(draw(NarrowNoise(), law, scale, 8000), law, scale)


@pytest.mark.statistical
def test_32_bit_noise_passes_where_it_does_not_saturate() -> None:
    """So that the check above rejects saturation, and not the twin as such."""
    assert deviation_is_right(NarrowNoise().gaussian(2.0**20, 8000), "gaussian", 2.0**20)


@pytest.mark.statistical
def test_blocks_and_threads_share_no_draws() -> None:
    draws = SystemNoise(threads=2).gaussian(2.0**50, 20_000)
    assert len(np.unique(draws)) == len(draws)


@pytest.mark.statistical
@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(2)], ids=repr)
@pytest.mark.parametrize(("scores", "scale"), [([0, 1, 2, 3], 1.5), ([-5, 100, 96], 4.0), ([7, 7], 0.1)])
def test_noisy_max_is_the_exponential_mechanism(source: NoiseSource, scores: list[int], scale: float) -> None:
    chosen = np.bincount([source.noisy_max(scores, scale) for _ in range(DRAWS)], minlength=len(scores))
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    usual = weights / weights.sum() > 0.005
    expected = DRAWS * weights[usual] / weights[usual].sum()
    assert chosen[~usual].sum() < 5  # each of these has a chance below 1e-10
    assert stats.chisquare(chosen[usual], expected * chosen[usual].sum() / DRAWS).pvalue > ALARM


@pytest.mark.statistical
def test_noisy_max_with_half_the_scale_fails_the_same_check() -> None:
    chosen = np.bincount([SystemNoise().noisy_max([0, 1, 2, 3], 0.75) for _ in range(DRAWS)], minlength=4)
    weights = np.exp(np.arange(4) / 1.5)
    assert stats.chisquare(chosen, DRAWS * weights / weights.sum()).pvalue < ALARM


# Limits.


@pytest.mark.parametrize("source", SOURCES, ids=repr)
@pytest.mark.parametrize("law", LAWS)
def test_size_zero(source: NoiseSource, law: str) -> None:
    draws = draw(source, law, 10.0, 0)
    assert draws.shape == (0,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("source", SOURCES, ids=repr)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("size", [1, 4095, 4097])
def test_any_size(source: NoiseSource, law: str, size: int) -> None:
    draws = draw(source, law, 2.0**40, size)
    assert draws.shape == (size,)
    assert draws.dtype == np.int64


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(1)], ids=repr)
@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, -math.inf, math.nan])
def test_a_scale_is_positive_and_finite(source: NoiseSource, scale: float) -> None:
    for call in (
        lambda: source.gaussian(scale, 1),
        lambda: source.laplace(scale, 1),
        lambda: source.noisy_max([1], scale),
    ):
        with pytest.raises(ParameterError, match="positive and finite"):
            call()


@pytest.mark.parametrize("source", [SystemNoise(), SeededNoise(1)], ids=repr)
def test_a_scale_near_the_end_of_64_bits_is_refused(source: NoiseSource) -> None:
    gaussian, laplace = (math.nextafter(s, math.inf) for s in (LARGEST_GAUSSIAN_SCALE, LARGEST_LAPLACE_SCALE))
    for call in (
        lambda: source.gaussian(gaussian, 1),
        lambda: source.laplace(laplace, 1),
        lambda: source.noisy_max([1], gaussian),
    ):
        with pytest.raises(CapacityError, match="coarser"):
            call()


def test_a_draw_does_not_saturate_at_the_largest_scales() -> None:
    """Chances of a draw beyond ±2⁶³, in natural logarithms: far below those of any δ."""
    assert stats.norm.logsf(2.0**63 / LARGEST_GAUSSIAN_SCALE) < -8000
    assert -(2.0**63) / LARGEST_LAPLACE_SCALE < -8000


# Where randomness comes from.


def test_system_noise_is_private_and_has_nothing_to_seed() -> None:
    assert SystemNoise().private
    assert [field.name for field in dataclasses.fields(SystemNoise)] == ["threads"]
    with pytest.raises(TypeError):
        SystemNoise(seed=1)
    with pytest.raises((AttributeError, TypeError)):
        SystemNoise().seed = 1


def test_no_seed_of_the_process_reaches_system_noise() -> None:
    draws = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - the global state is what this is about
        draws.append(SystemNoise(threads=1).gaussian(2.0**40, 8))
    assert not np.array_equal(*draws)


def test_seeded_noise_is_reproducible_and_says_that_it_is_not_private() -> None:
    one, two = SeededNoise(3), SeededNoise(3)
    for law in LAWS:
        assert np.array_equal(draw(one, law, 2.0**40, 8), draw(two, law, 2.0**40, 8))
    assert one.noisy_max([1, 2, 3], 1.0) == two.noisy_max([1, 2, 3], 1.0)
    assert not one.private
    assert "NOT PRIVATE" in repr(one)
    assert not np.array_equal(one.gaussian(2.0**40, 8), SeededNoise(4).gaussian(2.0**40, 8))


def test_successive_draws_of_seeded_noise_differ() -> None:
    noise = SeededNoise(3)
    assert not np.array_equal(noise.gaussian(2.0**40, 8), noise.gaussian(2.0**40, 8))


# A public seed is no noise.


def test_a_public_seed_has_no_method_of_a_noise_source() -> None:
    wanted = {name for name, _ in inspect.getmembers(NoiseSource) if not name.startswith("_")}
    assert wanted == {"gaussian", "laplace", "noisy_max", "private"}
    assert not any(hasattr(PublicSeed(7), name) for name in wanted)


def test_a_public_seed_gives_no_measurement() -> None:
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    sensitivity = Sensitivity(l2=1.0, l1=1.0, neighbours=Neighbours.REPLACE_ONE)
    with pytest.raises(AttributeError):
        measure(
            np.array([1], dtype=object),
            sensitivity,
            budget=open_filter(privacy),
            share=1.0,
            noise=PublicSeed(7),
            label="a test",
        )


def test_seeded_noise_is_not_made_from_a_public_seed() -> None:
    with pytest.raises(TypeError):
        SeededNoise(PublicSeed(7))


@pytest.mark.slow
def test_the_type_checker_tells_seeds_from_noise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    source = Path(inspect.getfile(kernelease.privacy)).parents[2]
    monkeypatch.setenv("MYPYPATH", str(source))
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path))
    code = tmp_path / "seed_as_noise.py"
    code.write_text(
        "from kernelease.noises import SeededNoise\n"
        "from kernelease.privacy.noise import NoiseSource, SystemNoise\n"
        "from kernelease.seeds import PublicSeed\n"
        "sources: list[NoiseSource] = [SystemNoise(), SeededNoise(1)]\n"
        "wrong: NoiseSource = PublicSeed(1)\n"
    )
    report, _, _ = mypy.run(["--strict", "--config-file", os.devnull, "--follow-imports", "silent", str(code)])
    complaints = [line for line in report.splitlines() if "seed_as_noise.py" in line and ": error:" in line]
    assert len(complaints) == 1
    assert 'expression has type "PublicSeed", variable has type "NoiseSource"' in complaints[0]
