"""What every column is: a finite list of atoms, and the way to them and back."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.errors import ParameterError, SchemaError, is_encodable

Codes: TypeAlias = NDArray[np.int32]

MOST_ATOMS = 4096  # of one column: a pair of such columns still fits a contingency table of 128 MiB
NULL_LABEL = "NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(ABC):
    """A declared column: codes 0 … size − 1 for its atoms, the legal values first, NULL last if it is nullable.

    Everything here is public knowledge. `encode` gives every cell a code by a rule that looks at that cell alone and
    raises for no value: what is missing becomes `missing`, what is not declared becomes `unknown`, numbers and dates
    beyond the bounds are clamped.
    """

    name: str
    nullable: bool = False
    source: str | None = field(default=None, repr=False)
    """Its name in the source, `from` in a schema file, where that is another one."""
    null_when: str | None = None
    """A condition on the row under which a released value is NULL, whatever was drawn."""

    tag: ClassVar[str]
    """The word for this type in a schema file."""
    ordered: ClassVar[bool]
    """Whether the legal atoms have an order that means something."""
    family: ClassVar[str]
    """Columns of one family can be compared in a constraint."""
    most_atoms: ClassVar[int] = MOST_ATOMS
    """The limit of its size."""
    _size_key: ClassVar[str] = "type"
    """The key to blame when there are too many atoms."""

    def __post_init__(self) -> None:
        if not is_name(self._raw_field("name")):
            raise SchemaError(f"A column's name must be a non-empty string, got {self.name!r}.", path=("columns",))
        if self.source is not None and not is_name(self._raw_field("source")):
            raise self.error("from", f"from must be the name of a column of the source, got {self.source!r}.")
        if not isinstance(self._raw_field("nullable"), bool):
            raise self.error("nullable", f"nullable must be true or false, got {self.nullable!r}.")
        if self.nullable and self._raw_field("default") is not None:
            raise self.error(
                "default", "a nullable column has no default: what is missing is NULL. Remove one of them."
            )
        if self.null_when is not None and not isinstance(self._raw_field("null_when"), str):
            raise self.error("null_when", f"null_when must be a condition in text, got {self.null_when!r}.")
        self._check()
        if self.size > self.most_atoms:
            listed = self._size_key == "values" and self.most_atoms == MOST_ATOMS
            remedy = " Values in groups are of type hierarchy." if listed else ""
            limit = f"{self.size} atoms are more than the limit of {self.most_atoms}."
            raise self.error(self._size_key, f"{limit} Declare fewer, coarser ones.{remedy}")

    @property
    def source_name(self) -> str:
        return self.name if self.source is None else self.source

    @property
    def as_released(self) -> "Column":
        """The same column as released and public rows have it: under its own name, and as it is."""
        return replace(self, source=None)

    def _raw_field(self, key: str) -> Any:
        """A field before it was checked: a file may say anything."""
        return getattr(self, key)

    @abstractmethod
    def _check(self) -> None:
        """Validate the fields, or raise `self.error`."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of decoded values."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of atoms."""

    @property
    def null(self) -> int | None:
        """The code of NULL, the last atom; None if the column is not nullable."""
        return self.size - 1 if self.nullable else None

    @property
    @abstractmethod
    def missing(self) -> int:
        """The code of a cell that is absent: null, NaN, an empty text that is not declared."""

    @property
    def unknown(self) -> int:
        """The code of a cell that holds something undeclared or unparsable: by default, that of an absent one."""
        return self.missing

    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """One human-readable label per atom."""

    def centres(self) -> Floats:
        """A number for each atom, for statistics; NaN for atoms that have none: (size,)."""
        return np.full(self.size, np.nan)

    @property
    def in_order(self) -> int:
        """How many of the first atoms are in an order that means something (NULL and the like come last)."""
        return int(np.count_nonzero(~np.isnan(self.centres()))) if self.ordered else 0

    def encode(self, array: pa.Array | pa.ChunkedArray) -> Codes:
        """The code of every cell of an Arrow array of any type: (n,) int32. No value makes it raise."""
        if isinstance(array, pa.ChunkedArray):
            return np.concatenate([np.empty(0, dtype=np.int32), *(self.encode(chunk) for chunk in array.chunks)])
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            return self.encode(array.storage)
        if pa.types.is_dictionary(kind):
            return self._through_dictionary(array)
        if pa.types.is_run_end_encoded(kind):
            return self.encode(pc.run_end_decode(array))
        if pa.types.is_null(kind) or len(array) == 0:
            return np.full(len(array), self.missing, dtype=np.int32)
        return self._with_missing(array, self._encode(array))

    @abstractmethod
    def _encode(self, array: pa.Array) -> Codes:
        """The codes of a plain array, a new one each time. What it gives where a null is will be replaced."""

    def _with_missing(self, array: pa.Array, codes: Codes) -> Codes:
        if array.null_count:
            np.copyto(codes, self.missing, where=array.is_null().to_numpy(zero_copy_only=False))
        return codes

    def _through_dictionary(self, array: pa.DictionaryArray) -> Codes:
        codes = self.encode(array.dictionary)
        if len(codes) == 0:
            return np.full(len(array), self.missing, dtype=np.int32)
        indices = np.from_dlpack(pc.fill_null(array.indices, 0)).astype(np.intp, copy=False)
        return self._with_missing(array.indices, codes.take(indices, mode="clip"))

    def decode(self, codes: NDArray[Any], generator: np.random.Generator) -> pa.Array:
        """A legal value for every code, drawn at random within a cell: (n,) → n values of `arrow_type`."""
        array = np.asarray(codes)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ParameterError(
                f"Column {self.name!r}: codes must be integers, (n,), got {array.dtype} {array.shape}."
            )
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < self.size:
            raise ParameterError(f"Column {self.name!r}: codes must be from 0 to {self.size - 1}.")
        return self._decode(array.astype(np.int32, copy=False), generator)

    @abstractmethod
    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        """`decode` of codes that are in range."""

    @abstractmethod
    def decodes_to(self, values: pa.Array) -> bool:
        """Whether `decode` could have given each of these values of `arrow_type`, NULLs aside, to its last bit.

        A digit beyond the declared resolution could carry a secret from the private rows.
        """

    @abstractmethod
    def keys(self, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Values of `arrow_type` as something that Arrow compares in the column's own order, for constraints."""

    @abstractmethod
    def key(self, literal: object) -> Any:
        """A literal of a constraint among `keys`, or a `SchemaError` that says what is expected."""

    def error(self, key: str, message: str) -> SchemaError:
        """A `SchemaError` about one key of this column."""
        return column_error(self.name, message, key)


def column_error(name: str, message: str, *keys: str) -> SchemaError:
    """A `SchemaError` about a column, or about one of its keys."""
    return SchemaError(f"column {name!r}: {message}", path=("columns", name, *keys))


def is_name(value: object) -> bool:
    """Whether a column may be called so."""
    return isinstance(value, str) and value != "" and is_encodable(value)
