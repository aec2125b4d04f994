"""Text."""

from dataclasses import dataclass
from typing import ClassVar, final

import pyarrow as pa

from kernelease.table.columns.listed import Listed, Value


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class String(Listed):
    """Text: a public vocabulary `values` and `other`, or free text of at most `max_length` characters.

    Free text has the atoms "" and `other` only: that is all that may be counted about text of which nothing is
    public. Kernels on strings read it whole, up to `max_length`.

    >>> String(name="note", max_length=200).encode(pa.array(["", "it hurts", "it hurts more"])).tolist()
    [0, 1, 1]
    >>> String(name="drug", values=("aspirin", "heparin")).labels()
    ('aspirin', 'heparin', '__other__')
    """

    other: bool | str | int = True
    values: tuple[str, ...] = ()
    max_length: int | None = None

    tag: ClassVar[str] = "string"
    ordered: ClassVar[bool] = False

    @property
    def vocabulary(self) -> tuple[Value, ...]:
        """`values`, or the empty text alone where none are declared."""
        return self.values or ("",)

    def _check(self) -> None:
        given = self._given("values")
        if not isinstance(given, tuple | list) or not all(isinstance(value, str) for value in given):
            raise self.error("values", f"values must be a list of strings, got {self.values!r}.")
        object.__setattr__(self, "values", tuple(given))
        if not self.values and self.max_length is None:
            raise self.error("type", "a string needs values, its public vocabulary, or max_length. Declare one.")
        if not self.values and self.other is False:
            raise self.error("other", "free text needs the other bucket: remove other = false, or declare values.")
        self._check_length()
        self._check_listed()

    def _check_length(self) -> None:
        if self.max_length is None:
            return
        if type(self.max_length) is not int or not 1 <= self.max_length <= 2**20:
            raise self.error("max_length", f"max_length must be an integer from 1 to 2^20, got {self.max_length!r}.")
        if too_long := [value for value in self.values if len(value) > self.max_length]:
            raise self.error("values", f"{too_long[0]!r} is longer than max_length = {self.max_length}. Raise it.")

    @property
    def arrow_type(self) -> pa.DataType:
        """string."""
        return pa.string()
