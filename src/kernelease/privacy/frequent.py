"""Frequent values of text columns, named by a charged mechanism: a histogram of what occurs, with a threshold.

Only values that occur are counted, so their list need not be known. Each count gets discrete Gaussian noise of standard
deviation σ, and a value is named if its noisy count reaches T. With Δ₂ the L2 sensitivity of a column's counts and

    σ = Δ₂/μ,        T = 1 + σ·√(2·ln(1/η)),

one column costs what a Gaussian step of μ on two numbers and a (0, η) step cost. Proof. Let t, t′ be neighbours and A
the values that occur in both. At most two counts of A differ between t and t′, by Δ₂ together; the others have one law
in both, so that no more than two draws are compared with the continuous ones: a Gaussian step. At most one value occurs
in t only, once, and at most one in t′ only. Either is named with probability at most P(noise ≥ T − 1) ≤
e^{−(T−1)²/2σ²} ≤ η (docs/proofs/discrete-noise.md, §5), independently of all else: let X be that name, or ∅ where it is
not named. The two laws of X agree but for probability η: total variation η, which is (0, η)-DP. What is named is a
function of X and of what is named of A. ∎

C columns have μ²/C and η/C each. η in all is a small share of δ.
"""

import math
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Loss, Privacy, rounding_tau
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import grid_bits
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import ROUND_UP, block_sensitivity
from kernelease.privacy.subject import ROWS, Subject

NAMING_SHARE = 0.002  # of δ: the chance that some value of a single row is named; a ledger has room for four of it
MOST_VALUES = 256  # of a column, the first ones in alphabetical order
LONGEST = 200  # characters: longer texts are not categories


def frequent_values(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    *,
    privacy: Privacy,
    ledger: Ledger,
    noise: NoiseSource,
    subject: Subject = ROWS,
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
    chance = NAMING_SHARE * privacy.delta / len(columns)
    naming = Loss.approximate(0.0, chance)
    budget = PrivacyFilter.open(
        privacy,
        ledger=ledger,
        subject=subject,
        coordinates=2 * len(columns),
        purpose=f"frequent values of {len(columns)} columns",
        outright=sum((naming for _ in columns), Loss()),
    )
    delta_2 = block_sensitivity(budget.neighbours).l2
    sigma = ROUND_UP * delta_2 * math.sqrt(len(columns)) / privacy.total(2 * len(columns)).mu
    tau = rounding_tau(2, math.ldexp(sigma, grid_bits(sigma)))
    for name in columns:
        budget.spend(Loss.gaussian(delta_2 / sigma, tau=tau) + naming, label=f"values of {name}")
    least = threshold(sigma, chance)
    return {name: _named(counts[name], sigma, least, noise) for name in columns}


def threshold(sigma: float, chance: float) -> int:
    """T: a value that one row alone holds reaches it with probability at most `chance`."""
    return 1 + math.ceil(sigma * math.sqrt(-2.0 * math.log(chance)) * ROUND_UP)


def _named(counts: Counter[str], sigma: float, least: int, noise: NoiseSource) -> tuple[str, ...]:
    values, bits = sorted(counts), grid_bits(sigma)
    drawn = noise.gaussian(math.ldexp(sigma, bits), len(values)).tolist()
    passing = [
        value for value, extra in zip(values, drawn, strict=True) if (counts[value] - least << bits) + extra >= 0
    ]
    return tuple(passing[:MOST_VALUES])


def _texts(array: pa.Array) -> Iterable[str]:
    """The cells that are texts of moderate length, each decoded by itself; no cell raises."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return ()
    short = pc.less_equal(pc.utf8_length(array), LONGEST)
    return (text for text in array.filter(pc.fill_null(short, False)).to_pylist() if text)
