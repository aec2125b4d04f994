"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The private table: a CSV, Parquet, Feather, Excel, SPSS, Stata or SAS file, a folder or pattern of "
        "them, a database, a table of Spark.",
    ),
]
Query: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="SQL", help="The table of a database, a SELECT statement, or the sheet of a workbook."
    ),
]
SparkMaster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--spark",
        metavar="MASTER",
        help="Where DATA is a table of Spark (spark:TABLE): its master, as spark://host:7077.",
    ),
]
SchemaFile: TypeAlias = Annotated[
    Path, typer.Option("--schema", metavar="FILE", help="The schema of the table, a TOML file (docs/schema.md).")
]
Bundle: TypeAlias = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="The folder or zip of a release.", exists=True)
]
Out: TypeAlias = Annotated[
    Path, typer.Option("--out", metavar="PATH", help="The bundle to write: a folder, or one file if it ends in .zip.")
]
LedgerPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The budget ledger of the data, charged before noise is drawn: `kernelease budget create` makes it.",
    ),
]
Cap: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--cap",
        metavar="EPS,DELTA",
        help="Make the ledger, if it is not there, with this cap: the most that all releases together may ever spend.",
    ),
]
AcceptDamage: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--accept-damage",
        help="Don't look first whether the source can be read as the schema declares it: take it as it is.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of public randomness. It never touches the noise.")
]
Rows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--rows", metavar="N", min=1, help="Synthetic rows to make; by default as many as the table has, by its count."
    ),
]
SigningKey: TypeAlias = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="Sign the bundle with this private key.")
]
PushDown: TypeAlias = Annotated[
    bool,
    typer.Option("--push-down", help="Let DuckDB or PostgreSQL count by itself: rows never leave it. Slower."),
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace what lies under that name already.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or summary.")]

Target: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="A column that the release should predict well: more of the budget goes to it.",
    ),
]
