"""A column as a code book describes it."""

from dataclasses import dataclass
from typing import Any, Final, final

from kernelease.table.columns.registry import COLUMN_TYPES, FILL_IN
from kernelease.table.draft import Lines

# What other standards and statisticians call our types.
WORDS: Final = {
    **dict.fromkeys(("integer", "int", "int64", "year", "count", "discrete"), "integer"),
    **dict.fromkeys(("number", "numeric", "float", "double", "decimal", "real", "contin", "continuous"), "number"),
    **dict.fromkeys(("category", "categorical", "nominal", "factor", "enum", "code", "character", "text"), "category"),
    **dict.fromkeys(("string", "varchar", "char", "str"), "category"),
    **dict.fromkeys(("ordinal", "ordered"), "ordinal"),
    **dict.fromkeys(("boolean", "bool", "logical", "binary"), "boolean"),
    **dict.fromkeys(("date",), "date"),
    **dict.fromkeys(("datetime", "timestamp", "date-time"), "datetime"),
}
_FREE_TEXT = 200  # characters, where a code book says no length


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a code book says about one column; None where it says nothing."""

    type: str | None = None
    min: Any = None
    max: Any = None
    values: tuple[Any, ...] = ()
    nullable: bool | None = None
    max_length: int | None = None
    date_format: str | None = None
    """In the signs of `strftime`, where dates are not ISO 8601."""
    remark: str = ""
    """What its values mean."""

    def lines(self) -> Lines:
        """What to write into a schema file; what is not described is left to fill in.

        >>> for line in Described(type="integer", min=0, max=120).lines():
        ...     print(line)
        ('type', 'integer', '')
        ('min', 0, '')
        ('max', 120, '')
        ('nullable', True, 'FILL IN: false if no value can be missing')
        """
        tag = self._tag()
        nullable = self.nullable if self.nullable is not None else True
        remark = "" if self.nullable is not None else f"{FILL_IN}: false if no value can be missing"
        kind = ("type", tag or FILL_IN, "" if tag else f"{FILL_IN}: {', '.join(COLUMN_TYPES)}")
        return kind, *self._domain(tag), ("nullable", nullable, remark)

    def _tag(self) -> str | None:
        tag = WORDS.get((self.type or "").strip().lower())
        if tag in ("integer", "number", None) and self.values:
            return "category"
        return "string" if tag == "category" and not self.values and self.max_length is not None else tag

    def _domain(self, tag: str | None) -> Lines:
        if tag in ("integer", "number", "date", "datetime"):
            return tuple(self._bound(key, word) for key, word in (("min", "lowest"), ("max", "highest")))
        if tag in ("category", "ordinal"):
            if self.values:
                return (("values", list(self.values), " ".join(self.remark.split())),)
            return (("values", [FILL_IN], f"{FILL_IN}: all values that are possible"),)
        return (("max_length", self.max_length or _FREE_TEXT, ""),) if tag == "string" else ()

    def _bound(self, key: str, word: str) -> tuple[str, Any, str]:
        value = getattr(self, key)
        return (
            (key, value, "") if value is not None else (key, FILL_IN, f"{FILL_IN}: the {word} value that is possible")
        )


def bound(text: Any, tag: str | None) -> Any:
    """A bound as TOML has it: a number where the type is one, else the text.

    >>> bound("17", "integer"), bound("0.5", "number"), bound("2024-01-01", "date"), bound("", "integer")
    (17, 0.5, '2024-01-01', None)
    """
    if text is None or str(text).strip() == "":
        return None
    kind = WORDS.get((tag or "").strip().lower())
    if kind not in ("integer", "number"):
        return str(text).strip()
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if kind == "integer" and number.is_integer() else number
