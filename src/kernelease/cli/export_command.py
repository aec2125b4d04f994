"""`kernelease export`: a release as an ordinary file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.options import Bundle, Overwrite, Seed, option
from kernelease.cli.screen import Screen, facts
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from kernelease.answers.release import Release, TablesRelease


def export(
    bundle: Bundle,
    *,
    out: Annotated[
        Path,
        option(
            "--out",
            "FILE",
            "A .csv, .parquet, .feather, .arrow or .xlsx file; of several tables, a folder for their .csv files, "
            "or a new .sqlite or .duckdb file.",
        ),
    ],
    rows: Annotated[
        int | None,
        option("--rows", "N", "Rows of equal weight to write; by default as many as the bundle has.", min=1),
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights", help="The bundle's own rows, with their weights as the last column.")
    ] = False,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    screen: Screen,
) -> None:
    """Write the synthetic rows as a file with the schema's columns, types and order. NULL is an empty cell in CSV."""
    from kernelease.answers.frames import check_export, export_table
    from kernelease.answers.release import TablesRelease, load

    if weights and rows is not None:
        raise ParameterError("--weights writes the bundle's own rows: leave out --rows, or take rows of equal weight.")
    release = load(bundle)
    if isinstance(release, TablesRelease):
        _export_tables(release, out, screen, odd=weights or rows is not None)
        return
    check_export(out, overwrite=overwrite)
    table = release.table if weights else _equal_rows(release, rows, seed)
    export_table(table, out, overwrite=overwrite)
    fields = {"file": str(out), "rows": table.num_rows, "columns": table.column_names}
    shown = facts([("rows", f"{table.num_rows:,}"), ("columns", ", ".join(table.column_names)), ("file", out)])
    screen.summary(fields, shown)
    screen.note(
        "Synthetic rows are for code, pictures and models that you check. A number computed from them has no interval: "
        f"ask `kernelease query {bundle} mean COLUMN` for one that has."
    )


def _export_tables(release: "TablesRelease", folder: Path, screen: Screen, *, odd: bool) -> None:
    """The rows of each table as a CSV file of a folder that is not there yet, or as a table of a new database."""
    if odd:
        raise ParameterError("--rows, --weights: rows of several tables refer to each other. Leave both out.")
    if folder.exists():
        raise ParameterError(f"{folder} is there already. Several tables go into a new folder: name another.")
    written = release.export(folder)
    sizes = {name: len(table) for name, table in release.tables.items()}
    told = [(name, f"{count:,} rows") for name, count in sizes.items()]
    screen.summary({"files": [str(path) for path in written], "rows": sizes}, facts([*told, ("written to", folder)]))


def _equal_rows(release: "Release", rows: int | None, seed: int) -> "pa.Table":
    if rows is None and release.weights.min() == release.weights.max():
        return release.rows
    return release.sample(release.table.num_rows if rows is None else rows, seed=seed)
