"""Noisy embeddings with a known truth, made without a private row."""

import dataclasses
import math

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.features import FeatureMap, Fourier
from kernelease.kernels import Gaussian
from kernelease.measured import NoisyEmbedding
from kernelease.methods.method import rehearse_measurement
from kernelease.privacy import Privacy
from kernelease.seeds import PublicSeed

KERNEL = Gaussian(lengthscale=1.0)


def mixture(count: int, seed: int = 0) -> Rows:
    """Rows of two clouds in the plane: (count, 2)."""
    generator = np.random.default_rng(seed)
    centres = np.where(generator.random(count)[:, None] < 0.3, [-2.0, 1.0], [2.0, 0.0])
    return centres + 0.7 * generator.normal(size=(count, 2))


def waves(features: int = 100, seed: int = 0) -> Fourier:
    return Fourier.random(KERNEL, features=features, dimension=2, seed=PublicSeed(seed))


def noisy_embedding(feature_map: FeatureMap, mean: Floats, sigma: float, seed: int = 0) -> NoisyEmbedding:
    """`mean` with Gaussian noise of standard deviation `sigma` in each coordinate."""
    silent = rehearse_measurement(feature_map, Privacy(epsilon=1.0, delta=1e-6))
    noise = np.random.default_rng(seed).normal(0.0, sigma, len(mean))
    rows = silent.sigma / max(sigma, 1e-15)  # the size of a table whose mean would be that noisy
    return with_mean(dataclasses.replace(silent, rows=rows), mean + noise)


def with_mean(noisy: NoisyEmbedding, mean: Floats) -> NoisyEmbedding:
    """The embedding with integers that give another mean."""
    unit = math.ldexp(noisy.feature_map.step, -noisy.measurement.step.bits)
    integers = np.array([round(value) for value in (mean * noisy.rows / unit).tolist()], dtype=object)
    return dataclasses.replace(noisy, measurement=dataclasses.replace(noisy.measurement, integers=integers))


def of_mixture(*, features: int = 100, floor: float = 0.02, seed: int = 0) -> NoisyEmbedding:
    """The embedding of a mixture in Fourier features, with a given noise floor."""
    phi = waves(features)
    return noisy_embedding(phi, phi.evaluate(mixture(4000)).mean(axis=0), floor / math.sqrt(features), seed)
