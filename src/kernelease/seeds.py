"""Public randomness: frequencies, starting points, sampling. Never noise."""

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.errors import ParameterError
from kernelease.kinds import Kind


@final
@dataclass(frozen=True, slots=True)
class PublicSeed(Kind):
    """A seed for everything random that is *not* noise; it is printed on the certificate.

    Each purpose has a stream of its own, so that drawing more starting points never changes the frequencies.
    Noise is of another type (`privacy.noise.NoiseSource`) and can't be made from a `PublicSeed`.

    >>> first, again = (PublicSeed(7).generator("frequencies").integers(10**9) for _ in range(2))
    >>> bool(first == again)
    True
    """

    value: int = 0

    def __post_init__(self) -> None:
        given: object = self.value
        if not isinstance(given, int | np.integer) or not 0 <= self.value < 2**64:
            raise ParameterError(f"PublicSeed: value must be an integer from 0 to 2^64 - 1, got {self.value!r}.")

    def generator(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the seed and the purpose alone."""
        digest = hashlib.sha256(f"{self.value}:{purpose}".encode()).digest()
        return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest)))
