"""Yes and no."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats
from kernelease.table.columns.column import NULL_LABEL, Codes, Column
from kernelease.table.reading.arrow import as_bytes, is_text, through_distinct
from kernelease.table.reading.numbers import read_numbers

WORDS = {
    **dict.fromkeys((b"false", b"f", b"no", b"n"), 0.0),
    **dict.fromkeys((b"true", b"t", b"yes", b"y"), 1.0),
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(Column):
    """false and true, then NULL. Read from booleans, from the numbers 0 and 1, and from text.

    Text is true, t, yes, y, 1 or false, f, no, n, 0 in any case, blanks around it ignored. Anything else is NULL; in
    a column that is not nullable, `default`, or false where none is declared.

    >>> Boolean(name="insured", nullable=True).encode(pa.array(["Yes", "no", "1", "perhaps"])).tolist()
    [1, 0, 1, 2]
    """

    default: bool | None = None

    tag: ClassVar[str] = "boolean"
    ordered: ClassVar[bool] = False
    family: ClassVar[str] = "boolean"

    def _check(self) -> None:
        if self._given("default") not in (None, False, True) or type(self.default) is int:
            raise self.error("default", f"default must be true or false, got {self.default!r}.")

    @property
    def _size_key(self) -> str:
        return "type"

    @property
    def arrow_type(self) -> pa.DataType:
        """bool."""
        return pa.bool_()

    @property
    def size(self) -> int:
        """2, or 3 with NULL."""
        return 2 + self.nullable

    @property
    def missing(self) -> int:
        """NULL, else `default`, else false."""
        return 2 if self.nullable else int(bool(self.default))

    @property
    def unknown(self) -> int:
        """As for a missing cell."""
        return self.missing

    def labels(self) -> tuple[str, ...]:
        """false, true, NULL."""
        return ("false", "true") + (NULL_LABEL,) * self.nullable

    def centres(self) -> Floats:
        """0 and 1; NaN for NULL."""
        return np.array([0.0, 1.0, np.nan])[: self.size]

    def _encode(self, array: pa.Array) -> Codes:
        numbers = through_distinct(as_bytes(array), _parse) if is_text(array.type) else read_numbers(array)
        codes = np.full(len(array), self.unknown, dtype=np.int32)
        np.copyto(codes, 0, where=numbers == 0.0)
        np.copyto(codes, 1, where=numbers == 1.0)
        return codes

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        return pa.array(codes == 1, mask=codes == 2)

    def decodes_to(self, values: pa.Array) -> bool:
        """Always: a bit is false or true."""
        return True

    def keys(self, array: Any) -> Any:
        return pc.cast(array, pa.bool_())

    def key(self, literal: object) -> bool:
        if not isinstance(literal, bool):
            raise self.error("type", f"is compared with true or false, not with {literal!r}.")
        return literal


def _parse(texts: pa.Array) -> Floats:
    numbers = read_numbers(texts)
    words = [WORDS.get(text.strip(b" \t\r\n\f\x0b").lower(), np.nan) for text in texts.to_pylist()]
    return np.where(np.isnan(numbers), np.array(words, dtype=np.float64), numbers)
