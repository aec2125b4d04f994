"""Kernel herding: points of equal weight, taken one by one where the embedding is still missing mass."""

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.fit.solution import SyntheticSet


def herd(feature_map: FeatureMap, target: Floats, candidates: Rows, count: int) -> SyntheticSet:
    """`count` points of weight 1/count, each a candidate (repeats allowed), whose mean embedding follows `target`.

    The t-th point maximises ⟨φ(z), t·target − Σ_{s<t} φ(z_s)⟩ (Chen, Welling & Smola 2010). Candidates and target are
    public, so this is free.
    """
    if count < 1 or len(candidates) == 0:
        raise ParameterError(f"herd: needs at least one point and one candidate, got {count!r} and {len(candidates)}.")
    features = feature_map.evaluate(candidates)
    pull, gram = features @ target, features @ features.T
    # With norms that differ, subtracting half the squared norm makes each step the nearest one in the embedding space.
    handicap = 0.5 * np.diagonal(gram)
    chosen = np.empty(count, dtype=np.int64)
    taken = np.zeros(len(candidates))
    for step in range(count):
        chosen[step] = np.argmax((step + 1) * pull - taken - handicap)
        taken += gram[chosen[step]]
    return SyntheticSet(points=candidates[chosen], weights=np.full(count, 1.0 / count))
