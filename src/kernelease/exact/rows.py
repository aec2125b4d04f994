"""Private rows, as a method gets them, and their exact mean embedding: the private side of the barrier."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, final

import numpy as np

from kernelease.arrays import BigIntegers, Integers, Rows, block_slices
from kernelease.errors import ParameterError, PrivacyError
from kernelease.exact.counting import ExactCounts
from kernelease.features.feature_map import FeatureMap
from kernelease.features.nystrom import Nystrom
from kernelease.measured.embeddings import NoisyEmbedding, noisy_rows
from kernelease.passes import EncodedRows, spread
from kernelease.privacy.accounting import Measurement
from kernelease.privacy.mechanisms import PrivacyFilter, measure, resume
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import Neighbours, Private, count_increment, public_number, sum_sensitivity

# ---- The exact sum of the features of all rows.


_LARGEST_BLOCK = 2**16  # times integers below 2⁴⁶: a block's sum fits 62 bits, whatever the rows
_LIMB = 31  # bits: of up to 2³² blocks, the sums of the lower and of the upper limbs fit 63


@final
class PartialSums(Private):
    """Σ φ(x) over some of the rows, and how many they are: Σ over all parts is the sum of the table.

    Sums of blocks are kept as two limbs, t = 2³¹·high + low, which are added up as 64-bit integers: exact, without the
    interpreter's lock, and in whatever order rows come.
    """

    __slots__ = ("_feature_map", "_sums", "block")

    def __init__(self, feature_map: FeatureMap) -> None:
        self._feature_map = feature_map
        self.block = min(_LARGEST_BLOCK, feature_map.block_rows)
        self._sums: Integers = np.zeros(2 * feature_map.width + 1, dtype=np.int64)

    def add(self, rows: Rows) -> None:
        """Add the features of any number of rows: (n, d)."""
        for block in block_slices(len(rows), self.block):
            self.put(self._feature_map.total(rows[block]), block.stop - block.start)

    def put(self, total: Integers, count: int) -> None:
        """Add the sum of the features of so many rows, a block at most."""
        width = self._feature_map.width
        self._sums[:width] += total >> _LIMB
        self._sums[width:-1] += total & (2**_LIMB - 1)
        self._sums[-1] += count

    def total(self) -> Integers:
        """The upper limbs, the lower limbs and the number of rows: (2 · width + 1,), a new array each time."""
        return self._sums.copy()


@final
class ExactEmbedding(Private):
    """Σ φ(x) over private rows, as exact integers. It prints no value, has no length and can't be pickled or iterated.

    The only ways out are `privatise`, which charges a budget before it draws noise, and `resume`, which reveals more of
    what a `privatise` has paid for.
    """

    __slots__ = ("_count", "_total", "feature_map")

    def __init__(self, feature_map: FeatureMap, total: BigIntegers, count: int) -> None:
        self.feature_map, self._total, self._count = feature_map, total, count

    @classmethod
    def of(cls, rows: Rows | Iterable[Rows], feature_map: FeatureMap, *, threads: int = 1) -> "ExactEmbedding":
        """Sum the features of an array of rows, or of a stream of such arrays.

        Integers are added, so order, block size and thread count change no bit of the result.
        """
        part = PartialSums(feature_map)
        batches = [rows] if isinstance(rows, np.ndarray) else rows
        blocks = (batch[place] for batch in batches for place in block_slices(len(batch), part.block))
        for total, count in spread(lambda block: (feature_map.total(block), len(block)), blocks, threads):
            part.put(total, count)
        return cls.of_parts(feature_map, [part.total()])

    @classmethod
    def of_parts(cls, feature_map: FeatureMap, parts: Iterable[Integers]) -> "ExactEmbedding":
        """The sum over all rows from `PartialSums` of parts of them."""
        *limbs, count = sum(parts, np.zeros(2 * feature_map.width + 1, dtype=np.int64)).astype(object)
        high, low = np.split(np.array(limbs, dtype=object), 2)
        return cls(feature_map, (high << _LIMB) + low, count)

    def join(self, more: "ExactEmbedding", whole: Nystrom) -> "ExactEmbedding":
        """The sum in a larger subspace, from this one and that of the points that it adds, over the same rows."""
        if not (whole.joins(self.feature_map, more.feature_map) and self._count == more._count):
            raise PrivacyError("Only the sum of the points that a subspace adds, over the same rows, can join another.")
        return ExactEmbedding(whole, np.append(self._total, more._total), self._count)

    def privatise(
        self, budget: PrivacyFilter, *, noise: NoiseSource, share: float = 1.0, label: str = "mean embedding"
    ) -> NoisyEmbedding:
        """Charge a share of the budget, then add noise: the door from here to the public side."""
        neighbours = budget.neighbours
        vector = self.feature_map.project(self._total)
        if public_number(self._count, neighbours) is None:
            vector = np.append(vector, self._count * count_increment(self.feature_map))
        sensitivity = sum_sensitivity(self.feature_map, neighbours)
        measurement = measure(vector, sensitivity, budget=budget, share=share, noise=noise, label=label)
        return self._noisy(measurement, neighbours)

    def resume(
        self, earlier: NoisyEmbedding, *, budget: PrivacyFilter, noise: NoiseSource, label: str = "mean embedding, more"
    ) -> NoisyEmbedding:
        """Reveal the coordinates that this map has beyond the earlier one's, at the price that was paid for those.

        The rows must be the ones that were measured; the map extends the earlier one (`extend`), and may
        be chosen in sight of what it showed. Where nothing was added, `earlier` comes back.
        """
        neighbours = budget.neighbours
        feature_map, known = self._extension_of(earlier, neighbours), earlier.feature_map.dimension
        if feature_map.dimension == known:
            return earlier
        more = feature_map.project_after(known, self._total)
        whole = sum_sensitivity(feature_map, neighbours)
        measurement = resume(earlier.measurement, more, whole, budget=budget, noise=noise, label=label)
        if neighbours is Neighbours.ADD_REMOVE:  # the noisy count comes last
            integers = measurement.integers
            measurement = replace(measurement, integers=np.append(np.delete(integers, known), integers[known]))
        return self._noisy(measurement, neighbours)

    def _extension_of(self, earlier: NoisyEmbedding, neighbours: Neighbours) -> Nystrom:
        """This map, if what it adds to the earlier one may be revealed; else a `PrivacyError`."""
        new, old = self.feature_map, earlier.feature_map
        if not (isinstance(new, Nystrom) and isinstance(old, Nystrom) and new.extends(old)):
            raise PrivacyError("Only an extension of the very subspace that was measured can be revealed later.")
        if earlier.neighbours is not neighbours:
            raise PrivacyError(f"A measurement under {earlier.neighbours.value} can't go on under {neighbours.value}.")
        counted = neighbours is Neighbours.ADD_REMOVE
        if counted and count_increment(new) != count_increment(old):
            raise PrivacyError("The extension's norm is not the one that was paid for: take fewer points.")
        if not counted and self._count != earlier.rows:  # N is public under this relation
            raise PrivacyError("What was measured on one table can't go on with another.")
        if earlier.measurement.step.coordinates != old.dimension + counted:
            raise PrivacyError("The earlier embedding's numbers are not those of its subspace.")
        return new

    def _noisy(self, measurement: Measurement, neighbours: Neighbours) -> NoisyEmbedding:
        counted = neighbours is Neighbours.ADD_REMOVE  # from here on only the noisy count is known then
        return NoisyEmbedding(
            feature_map=self.feature_map,
            measurement=measurement,
            neighbours=neighbours,
            rows=noisy_rows(self.feature_map, measurement) if counted else float(self._count),
        )


# ---- Private rows.


class PrivateRows(Private):
    """The rows of a private table or array, behind the barrier: a method asks for sums, counts, or all of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns: public."""

    @abstractmethod
    def public_count(self, neighbours: Neighbours) -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it. Refused if public and 0."""

    @abstractmethod
    def array(self) -> Rows:
        """All rows in memory: (n, d). Private."""

    @abstractmethod
    def counts(self) -> ExactCounts:
        """The rows, ready to be counted. Private."""

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features. Private."""
        return ExactEmbedding.of(self.array(), feature_map, threads=threads)

    def first(self, count: int) -> Rows:
        """The first rows, at most `count`: for those that are published."""
        return self.array()[:count]


class PrivateArray(PrivateRows):
    """Vectors, or rows of any objects that a kernel compares: (n, d). No column is declared, so nothing is counted."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Any) -> None:
        self._rows: Rows = rows

    @property
    def width(self) -> int:
        """Asked of the shape, so of an empty array too."""
        return int(self._rows.shape[1])

    def public_count(self, neighbours: Neighbours) -> int | None:
        return public_number(len(self._rows), neighbours)

    def counts(self) -> ExactCounts:
        """Refused: there are no atoms to count."""
        raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")

    def array(self) -> Rows:
        return self._rows


@final
class PrivateTable(PrivateRows):
    """The encoded rows of a declared table; a row of `array` holds an atom code for each column.

    `encoded` is None where a database counts by itself, and its rows stay there.
    """

    __slots__ = ("_array", "_counts", "_encoded")

    def __init__(self, counts: ExactCounts, encoded: EncodedRows | None = None) -> None:
        self._counts = counts
        self._encoded = encoded
        self._array: Rows | None = None  # read once: a source may be gone at the next pass

    @property
    def width(self) -> int:
        return len(self._counts.sizes)

    def public_count(self, neighbours: Neighbours) -> int | None:
        known = self._counts.public_rows(neighbours)
        return None if known is None else round(known)

    def array(self) -> Rows:
        """Every row's codes; refused for persons with several rows, and for rows that stay in a database."""
        if self._encoded is None:
            raise ParameterError("This method has to see the rows, so the database can't count: leave push-down out.")
        if self._counts.unit != 1 or self._encoded.weighted:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        if self._array is None:
            parts = [np.stack(codes[: self.width], axis=1) for codes, _ in self._encoded.batches()]
            self._array = np.concatenate([np.empty((0, self.width), dtype=np.int64), *parts])
        return self._array

    def counts(self) -> ExactCounts:
        return self._counts
