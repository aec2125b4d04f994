"""Frequent values of text columns, named by a charged mechanism: a histogram of what occurs, with a threshold.

Only values that occur are counted, so their list need not be known. Each count gets discrete Laplace noise of scale b,
and a value is named if its noisy count reaches T. With Δ₁ the L1 sensitivity of a column's counts and

    b = Δ₁/ε,        T = 1 + ⌈b·ln((1 + e^ε)/δ)⌉,

one column is (ε, δ)-DP. Proof. Let t, t′ be neighbours and A the values that occur in both. The noisy counts of A are
ε-DP. At most one value occurs in t only and one in t′ only, each once; either is named with probability at most
P(noise ≥ T − 1) ≤ e^{−(T−1)/b} ≤ δ/(1 + e^ε) =: η. Write M for all that is named and M_A for what is named of A. Then
P(M(t) ∈ S) ≤ η + P(M_A(t) ∈ S) ≤ η + e^ε·P(M_A(t′) ∈ S) ≤ η + e^ε·(P(M(t′) ∈ S) + η) = e^ε·P(M(t′) ∈ S) + δ. ∎

C columns have ε/C and δ/C each, and are charged as C such steps.
"""

import math
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Charge, Ledger
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import ROUND_UP, block_sensitivity

MOST_VALUES = 256  # of a column, the first ones in alphabetical order
LONGEST = 200  # characters: longer texts are not categories


def frequent_values(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    *,
    privacy: Privacy,
    ledger: Ledger,
    noise: NoiseSource,
) -> dict[str, tuple[str, ...]]:
    """The values of each column that enough rows hold, in alphabetical order. The ledger is charged before noise.

    `privacy` must have δ > 0. Each row is protected, not a person with several.
    """
    if privacy.pure or not columns:
        raise ParameterError("frequent_values: needs a Privacy with delta above 0, and at least one column.")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for batch in batches:
        for name in columns:
            counts[name].update(_texts(batch.column(name)))
    epsilon, delta = privacy.epsilon / len(columns), privacy.delta / len(columns)
    loss = sum((Loss.approximate(epsilon, delta) for _ in columns), Loss())
    purpose = f"frequent values of {len(columns)} columns"
    ledger.charge(Charge(loss=loss, neighbours=privacy.neighbours, purpose=purpose))
    scale = ROUND_UP * block_sensitivity(privacy.neighbours).l1 / epsilon
    least = threshold(scale, epsilon, delta)
    return {name: _named(counts[name], scale, least, noise) for name in columns}


def threshold(scale: float, epsilon: float, delta: float) -> int:
    """T: a value that one row alone holds reaches it with probability at most δ/(1 + e^ε)."""
    return 1 + math.ceil(scale * (math.log1p(math.exp(min(epsilon, 700.0))) - math.log(delta)) * ROUND_UP)


def _named(counts: Counter[str], scale: float, least: int, noise: NoiseSource) -> tuple[str, ...]:
    values = sorted(counts)
    drawn = noise.laplace(scale, len(values))
    passing = [value for value, extra in zip(values, drawn.tolist(), strict=True) if counts[value] + extra >= least]
    return tuple(passing[:MOST_VALUES])


def _texts(array: pa.Array) -> Iterable[str]:
    """The cells that are texts of moderate length, each decoded by itself; no cell raises."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return ()
    short = pc.less_equal(pc.utf8_length(array), LONGEST)
    return (text for text in array.filter(pc.fill_null(short, False)).to_pylist() if text)
