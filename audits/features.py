"""White-box audits of feature maps: rows as far apart as the map allows, against the diameter that it claims."""

import math
from typing import Any

import numpy as np

from audits.case import Case
from audits.methods import PRIVACY, normal_game, of_method
from audits.transcript import Run
from kernelease.exact.rows import ExactEmbedding
from kernelease.features import Ball, ClassMoments, FeatureMap, Fourier, KarKarnick
from kernelease.fit import UniformPoints
from kernelease.kernels import LabelledSphere
from kernelease.ledgers import MemoryLedger
from kernelease.methods import ClassGaussians, RandomFeatures
from kernelease.privacy import NoiseSource, PrivacyFilter
from kernelease.privacy.sensitivity import ROWS
from tests.features.broken_maps import Altered, OffsetCosines

WAVE = Fourier(frequencies=np.array([[1.0]]), resolution=(2.0**-20,))
HALF_A_TURN = math.pi
START = UniformPoints(low=(0.0,), high=(1.0,))

# Two products of degree 1 with weight 3, cut to a norm of ½.
STEEP = KarKarnick(
    degrees=np.array([1, 1]),
    weights=np.array([3.0, 3.0]),
    signs=np.ones((2, 1, 1), dtype=np.int8),
    half_width=1.0,
    clip=0.5,
)

# Two classes of vectors in the plane; a vector that is far too long.
SPHERE = LabelledSphere(dimension=2, classes=("one", "other"))
MOMENTS = ClassMoments(kernel=SPHERE)
LONG = 4.0

BALL = Ball(middle=(1.0, 0.0), reach=(1.0, 2.0))


def of_map(feature_map: FeatureMap) -> Run:
    """A noisy sum of a map's features, through the same doors as a method."""

    def run(rows: Any, noise: NoiseSource) -> object:
        books = MemoryLedger(PRIVACY)
        budget = PrivacyFilter.open(
            PRIVACY, ledger=books, subject=ROWS, coordinates=feature_map.dimension + 1, purpose="an audit"
        )
        return ExactEmbedding.of(np.array(rows, dtype=np.float64), feature_map).privatise(budget, noise=noise)

    return run


def _unclipped(rows: Any) -> Any:
    """What `STEEP` has before its clip, in the same integers."""
    return np.rint(STEEP.evaluate_unclipped(rows) / STEEP.step).astype(np.int64)


def _unscaled(rows: Any) -> Any:
    """Counts, sums and second moments of vectors as they are, in the integers of `MOMENTS`."""
    cells = np.asarray(rows, dtype=np.float64)
    sizes = np.linalg.norm(cells[:, :-1], axis=1)
    powers = np.array([0.0] * 2 + [1.0] * 4 + [2.0] * 6)
    return np.rint(MOMENTS.integers(cells) * sizes[:, None] ** powers).astype(np.int64)


def _beyond(rows: Any) -> Any:
    """Rows as they are, in the integers of `BALL`."""
    cells = np.asarray(rows, dtype=np.float64)
    return np.rint((cells - np.array(BALL.middle)) / np.array(BALL.reach) / BALL.step).astype(np.int64)


CASES = (
    Case(
        name="RandomFeatures",
        kind="audit",
        claim="Algorithm 2 on paired Fourier features, of diameter 2, keeps (ε, δ) for every row.",
        run=normal_game(
            of_method(RandomFeatures(start=START, features=WAVE)),
            ([[0.0], [0.0]], [[0.0], [HALF_A_TURN]]),
            {
                "Fourier features with Δ = √2/N": of_map(Altered(inner=WAVE, changes={"diameter": math.sqrt(2.0)})),
                "offset cosines with Δ = 2/N": of_map(
                    OffsetCosines(
                        frequencies=np.array([[1.0]]), offsets=np.zeros(1), scale=2**18, amplitude=math.sqrt(2.0)
                    )
                ),
            },
        ),
    ),
    Case(
        name="clipped features",
        kind="audit",
        claim="Features that need a clip have it: Kar–Karnick products keep the norm that they claim.",
        run=normal_game(
            of_map(STEEP),
            ([[0.0], [1.0]], [[0.0], [-1.0]]),
            {"a clip that is computed and not used": of_map(Altered(inner=STEEP, changes={"integers": _unclipped}))},
        ),
    ),
    Case(
        name="mean of rows",
        kind="audit",
        claim="A sum of rows within a public ball keeps (ε, δ) for every row, however far it lies.",
        run=normal_game(
            of_map(BALL),
            ([[1.0, 0.0], [-LONG, 0.0]], [[1.0, 0.0], [LONG, 0.0]]),
            {
                "a row that goes from one end to the other, charged half": of_map(
                    Altered(inner=BALL, changes={"diameter": BALL.norm_bound})
                ),
                "rows that are not cut": of_map(
                    Altered(inner=BALL, changes={"integers": _beyond, "total": lambda rows: _beyond(rows).sum(axis=0)})
                ),
            },
        ),
    ),
    Case(
        name="moments of classes",
        kind="audit",
        claim="Counts, means and second moments of classes keep (ε, δ) for every vector, of any length and class.",
        run=normal_game(
            of_method(ClassGaussians(), kernel=SPHERE),
            ([[1.0, 0.0, 0.0], [LONG, 0.0, 0.0]], [[1.0, 0.0, 0.0], [LONG, 0.0, 1.0]]),
            {
                "a row that leaves a class and joins another, charged once": of_map(
                    Altered(inner=MOMENTS, changes={"diameter": MOMENTS.norm_bound})
                ),
                "vectors that are not scaled": of_map(
                    Altered(
                        inner=MOMENTS,
                        changes={"integers": _unscaled, "total": lambda rows: _unscaled(rows).sum(axis=0)},
                    )
                ),
            },
        ),
    ),
)
