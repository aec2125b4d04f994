"""`kernelease schema`: what is public knowledge about a table."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelease.cli.drafting import draft_command
from kernelease.cli.options import Json, Quiet
from kernelease.cli.screen import Screen, facts, grid, line

schema = typer.Typer(no_args_is_help=True, help="Schema files: draft one, check one, or teach them to an editor.")
schema.command("draft")(draft_command)


@schema.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A schema file.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a schema file, and list its columns with the number of atoms that each has."""
    from kernelease.methods.interactions.interactions import Interactions
    from kernelease.table.domains import TableDomain
    from kernelease.table.schema import Schema

    loaded = Schema.load(file)
    Interactions().check(TableDomain(loaded))
    atoms = sum(loaded.sizes)
    derived = [(one, loaded.structure.derivations[one.name].column) for one in loaded.derived]
    fields: dict[str, Any] = {
        "name": loaded.name,
        "neighbours": loaded.neighbours,
        "unit": loaded.unit,
        "records": None if loaded.records is None else loaded.records.value,
        "source": loaded.source.to_dict(),
        "constraints": [rule.text for rule in loaded.constraints],
        "atoms": atoms,
        "columns": [
            {"name": item.name, "type": item.tag, "atoms": item.size, "nullable": item.nullable} for item in loaded
        ],
        "derived": [
            {"name": item.name, "type": item.tag, "told": one.told, "nullable": item.nullable} for one, item in derived
        ],
    }
    about = facts(
        [
            ("table", loaded.name),
            ("neighbours", loaded.neighbours),
            ("unit", loaded.unit_in_words),
            ("atoms", f"{atoms:,} of all columns: values, or cells of numbers and dates, that are told apart"),
        ]
    )
    rows = [(item.name, item.tag, "yes" if item.nullable else "no", f"{item.size:,}") for item in loaded]
    rows += [(item.name, item.tag, "yes" if item.nullable else "no", one.told) for one, item in derived]
    Screen(json=as_json, quiet=quiet).result(
        fields, about, line(""), grid(("column", "type", "nullable", "atoms"), rows, text=range(3))
    )


@schema.command("json")
def print_json_schema() -> None:
    """Print the JSON Schema of schema files, with which an editor can complete and check them."""
    from kernelease.table.jsonschema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))
