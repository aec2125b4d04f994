"""What the constants of the search for Gaussians are worth: each halved and doubled, one at a time.

python benchmarks/constants.py            every constant
python benchmarks/constants.py explorer   those of modules whose name contains a word

Prints, for each, the root mean square distance to the private embedding over a few releases, relative to that with the
constants as they are. Releases with the same seed have the same rows and the same noise, so that most of the chance
cancels.
"""

import importlib
import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from kernelease.arrays import Floats

SEEDS = range(3)
ROWS, DIMENSION, COMPONENTS, EPSILON = 3_000, 2, 6, 0.3
CONSTANTS = {
    "fit.gaussians.sliding_frank_wolfe": (
        *("STEPS", "_LONGEST", "_APART"),
        *("_FIRST_WIDTH", "_PROMISING", "_TRIED", "_CLEAR", "_REMOVED", "_HIDDEN", "_SHORT"),
        *("LEAST", "_NARROWEST", "_FARTHEST", "_FACTOR", "_DAMPING", "_RELIEF", "_TIGHTENING", "_ATTEMPTS", "_GAIN"),
        "_LEAST",
    ),
    "fit.tilting": ("_STEPS", "_PATIENCE", "_DESCENT", "_VISIBLE"),
    "methods.adaptive": (
        *("_MORE_RANK", "_SPANNING", "_PUBLIC_DRAWS", "_RELEASED", "_MATCHING"),
        *("_NEAR", "_FAR", "_PEAK_WIDTH", "_LIKENESS"),
        *("WORTH_SEEING", "LEAST_SHARE", "LARGEST_SHARE", "MOST_OCTAVES"),
    ),
}


def distance() -> float:
    """Root mean square over the seeds of ‖μ_synthetic − μ_private‖."""
    squares = [_squared_distance(seed) for seed in SEEDS]
    return math.sqrt(sum(squares) / len(squares))


def _squared_distance(seed: int) -> float:
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    rows = _rows(np.random.default_rng(seed))
    release = ke.release(
        rows,
        kernel=kernel,
        method=ke.Adaptive(points=ke.fit.NormalPoints(dimension=DIMENSION, scale=5.0), features=256, rank=128),
        privacy=ke.Privacy(epsilon=EPSILON, delta=1e-6),
        seed=seed,
        noise=ke.SeededNoise(seed),
    )
    points, weights = np.asarray(release.points, dtype=np.float64), release.weights
    mine = weights @ kernel.gram(points, points) @ weights
    cross = float((weights @ kernel.gram(points, rows)).mean())
    return float(mine - 2.0 * cross + kernel.gram(rows, rows).mean())


def _rows(generator: np.random.Generator) -> Floats:
    centres = generator.normal(0.0, 4.0, (COMPONENTS, DIMENSION))
    return centres[generator.integers(COMPONENTS, size=ROWS)] + 0.4 * generator.standard_normal((ROWS, DIMENSION))


def varied(module: str, name: str, factor: float) -> float:
    """`distance` with one constant multiplied."""
    home = importlib.import_module(f"kernelease.{module}")
    usual = getattr(home, name)
    setattr(home, name, type(usual)(max(1, usual * factor) if isinstance(usual, int) else usual * factor))
    try:
        return distance()
    finally:
        setattr(home, name, usual)


def main() -> None:
    """A line for each constant."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    usual = distance()
    print(f"as they are: {usual:.4f}\n| constant | halved | doubled |\n| --- | --- | --- |")
    for module, names in CONSTANTS.items():
        for name in names if word in module else ():
            ratios = [varied(module, name, factor) / usual for factor in (0.5, 2.0)]
            print(f"| `{name}` of {module} |", " | ".join(f"{ratio:.2f}" for ratio in ratios), "|", flush=True)


if __name__ == "__main__":
    main()
