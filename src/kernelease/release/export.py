"""A table as an ordinary file: CSV, Parquet or Feather, by the ending of its name."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from kernelease.errors import BundleError

_WRITERS: dict[str, Callable[[pa.Table, str], Any]] = {
    ".csv": pyarrow.csv.write_csv,
    ".parquet": pq.write_table,
    ".feather": pyarrow.feather.write_feather,
    ".arrow": pyarrow.feather.write_feather,
}


def check_export(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a table can't be written there: another ending, or a file that is not to be replaced."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise BundleError(f"{path}: the name must end in {', '.join(_WRITERS)}.")
    if not overwrite and os.path.lexists(path):
        raise BundleError(
            f"{path} already exists. Choose another name, or give --overwrite (overwrite=True in Python)."
        )


def export_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a table, whole or not at all. In CSV, NULL is an empty cell."""
    check_export(path, overwrite=overwrite)
    target = Path(path)
    draft = target.parent / f".kernelease-{secrets.token_hex(8)}.partial"
    try:
        _WRITERS[target.suffix.lower()](table, str(draft))
        os.replace(draft, target)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it can't be written in this format"
        raise BundleError(f"{path} could not be written: {reason}.") from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return target
