"""A small database that the exponential mechanism chose: what SmallDatabase measures."""

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Integers, Rows
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.measured.measured import Choice, Measured, RecordedNoise, check_rows
from kernelease.privacy.accounting import Selection, Step
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table.domain import Domain

_KERNEL_BITS = 20  # of the kernel's bound: its values become integers up to 2²⁰
_SCORE_BITS = 10  # scores have 2¹⁰ steps per sensitivity, so that rounding them costs 0.1 %


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedDatabase(Measured):
    """One of all multisets of a public domain's rows: `counts` of each kind of row, `size` rows in all."""

    kernel: Kernel
    domain: Rows  # every possible row
    counts: Integers  # of each kind of row in the database that was drawn: (kinds,)
    selection: Selection
    rows: float = field()
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.domain),) or self.counts.min() < 0 or self.counts.sum() < 1:
            raise ParameterError("SelectedDatabase: needs a count for each row of the domain, and at least one row.")

    @property
    def size(self) -> int:
        """How many rows the database has."""
        return int(self.counts.sum())

    @property
    def points(self) -> Rows:
        """Its rows."""
        return np.repeat(self.domain, self.counts, axis=0)

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one: the score uses the number of rows."""
        return Neighbours.REPLACE_ONE

    @property
    def steps(self) -> tuple[Step, ...]:
        return (self.selection.step,)

    @property
    def private(self) -> bool:
        return self.selection.private

    @property
    def fingerprint(self) -> None:
        """None: another draw may be the same."""
        return None

    @property
    def width(self) -> int:
        return int(self.domain.shape[1])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    @property
    def replay(self) -> RecordedNoise:
        return RecordedNoise(vectors=(), picks=(self.selection.index,), private=self.private)

    def least_sensitivities(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """How far a row moves a score, from the kernel alone."""
        if unit != 1 or neighbours is not Neighbours.REPLACE_ONE:
            raise ParameterError("a selected database protects single rows, under replace-one.")
        return (float(Scale.of(self.kernel, self.domain, self.size).sensitivity),)

    def check(self, domain: Domain) -> None:
        """Whether it is the database of its own number."""
        check_rows(self.rows)
        if domain.sizes is not None and self.domain.shape[1] != len(domain.sizes):
            raise ParameterError("the domain has other columns than the schema.")
        number = math.comb(len(self.domain) + self.size - 1, self.size)
        if self.selection.step.coordinates != number or not 0 <= self.selection.index < number:
            raise ParameterError("the selection is not among all databases of this size.")
        if rank_of(self.counts) != self.selection.index:
            raise ParameterError("the selection names another database.")

    @property
    def accuracy(self) -> str:
        """There is no noise to speak of."""
        return "A selection among candidates was published. There are no noisy numbers to compare it with."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The kernel in integers, and how far one row moves a score made with it."""

    gram: Integers
    bits: int  # of a score beyond the integers of the kernel
    sensitivity: int

    @classmethod
    def of(cls, kernel: Kernel, domain: Rows, size: int) -> "Scale":
        """The scale of scores of databases of `size` rows. One row moves μ_D by at most the integer kernel's diameter.

        Scores are −‖μ_D − μ_R‖ in units of (rows·size)⁻¹, so a row moves them by size·diameter; the floor of a square
        root adds less than one step.
        """
        gram = integer_gram(kernel, domain)
        diagonal = np.diagonal(gram)
        farthest = size**2 * int((diagonal[:, None] + diagonal[None, :] - 2 * gram).max())
        bits = max(0, _SCORE_BITS - farthest.bit_length() // 2)
        return cls(gram=gram, bits=bits, sensitivity=math.isqrt(farthest << (2 * bits)) + 2)


def integer_gram(kernel: Kernel, domain: Rows) -> Integers:
    """K as integers up to 2²⁰, positive definite: rounding moves K by at most kinds/2 in norm; the diagonal gets that.

    Scores are compared with their own sensitivity, so the unit of K is free: the power of two next to its bound.
    """
    unit = math.ldexp(1.0, _KERNEL_BITS - math.frexp(kernel.bound)[1])
    gram = np.rint(kernel.gram(domain, domain) * unit).astype(np.int64)
    gram = np.maximum(gram, gram.T)
    margin = math.ceil(len(domain) * (0.5 + kernel.evaluation_error(domain.shape[1]) * unit)) + 1
    return gram + margin * np.eye(len(domain), dtype=np.int64)


def rank_of(counts: Integers) -> int:
    """The number of a multiset in the order of `itertools.combinations_with_replacement`.

    >>> [rank_of(np.array(counts)) for counts in ([2, 0], [1, 1], [0, 2])]
    [0, 1, 2]
    """
    kinds, left, rank = len(counts), int(counts.sum()), 0
    members = np.repeat(np.arange(kinds), counts)
    low = 0
    for member in members:
        left -= 1
        rank += sum(math.comb(kinds - kind + left - 1, left) for kind in range(low, int(member)))
        low = int(member)
    return rank
