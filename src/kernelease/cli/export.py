"""`kernelease export`: a release as an ordinary file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.options import Bundle, Json, Overwrite, Quiet, Seed
from kernelease.cli.screen import Screen, facts
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from kernelease.release.release import Release


def export(
    bundle: Bundle,
    *,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .csv, .parquet, .feather or .arrow file.")],
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Rows of equal weight to write; by default as many as the bundle has."),
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="The bundle's own rows, with their weights as the last column.")
    ] = False,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the synthetic rows as a file with the schema's columns, types and order. NULL is an empty cell in CSV."""
    from kernelease.release.bundle import load
    from kernelease.release.frames import check_export, export_table

    if weights and rows is not None:
        raise ParameterError("--weights writes the bundle's own rows: leave out --rows, or take rows of equal weight.")
    check_export(out, overwrite=overwrite)
    release = load(bundle)
    table = release.table if weights else _equal_rows(release, rows, seed)
    export_table(table, out, overwrite=overwrite)
    fields = {"file": str(out), "rows": table.num_rows, "columns": table.column_names}
    shown = facts([("rows", f"{table.num_rows:,}"), ("columns", ", ".join(table.column_names)), ("file", out)])
    Screen(json=as_json, quiet=quiet).summary(fields, shown)


def _equal_rows(release: "Release", rows: int | None, seed: int) -> "pa.Table":
    if rows is None and release.weights.min() == release.weights.max():
        return release.rows
    return release.sample(release.table.num_rows if rows is None else rows, seed=seed)
