"""A declared column from the table of a schema file: measured, computed or determined."""

from collections.abc import Mapping
from typing import Any

from kernelease.errors import SchemaError
from kernelease.table.columns.column import Column
from kernelease.table.columns.registry import FILL_IN, column_from_dict, column_to_dict
from kernelease.table.columns.spelling import nearest
from kernelease.table.derived.computed import Computed
from kernelease.table.derived.derived import Derived, derived_keys, required_keys
from kernelease.table.derived.determined import Determined

DERIVED: tuple[type[Computed] | type[Determined], ...] = (Computed, Determined)


def declared_from_dict(name: str, body: object) -> Column | Derived:
    """The column that a table of a schema file declares, or a `SchemaError`.

    >>> declared_from_dict("total", {"type": "integer", "computed": "a + b"}).told
    'computed as a + b'
    """
    kinds = [kind for kind in DERIVED if isinstance(body, Mapping) and kind.key in body]
    if not kinds or not isinstance(body, Mapping):
        return column_from_dict(name, body)
    if len(kinds) > 1:
        both = " and ".join(kind.key for kind in kinds)
        raise SchemaError(f"column {name!r}: has {both}. Remove one.", path=("columns", name, kinds[1].key))
    _check_keys(name, kinds[0], body)
    return kinds[0](name=name, **body)


def declared_to_dict(column: Column | Derived) -> dict[str, Any]:
    """The declaration of a column, without its name."""
    return column.to_dict() if isinstance(column, Derived) else column_to_dict(column)


def _check_keys(name: str, kind: type[Derived], body: Mapping[str, object]) -> None:
    known = derived_keys(kind)
    for key, value in body.items():
        where = ("columns", name, str(key))
        if key not in known:
            raise SchemaError(
                f"column {name!r}: unknown key {key!r} beside {kind.key}; known are {', '.join(known)}. "
                f"What is derived is not read.{nearest(str(key), known)}",
                path=where,
            )
        if value in (FILL_IN, [FILL_IN]):
            raise SchemaError(f"column {name!r}: {key} is not filled in yet. Write what is publicly known.", path=where)
    for key in required_keys(kind):
        if key not in body:
            raise SchemaError(f"column {name!r}: {kind.key} needs {key}. Add it.", path=("columns", name))
