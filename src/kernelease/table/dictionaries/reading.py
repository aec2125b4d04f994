"""Which kind of code book a file is."""

from collections.abc import Mapping
from pathlib import Path

from kernelease.errors import ParameterError
from kernelease.strangers import parse_json, read_text
from kernelease.table.dictionaries.codebook import read_codebook
from kernelease.table.dictionaries.ddi import read_ddi
from kernelease.table.dictionaries.described import Described
from kernelease.table.dictionaries.frictionless import read_table_schema
from kernelease.table.dictionaries.json_schema import read_json_schema


def read_dictionary(path: Path) -> dict[str, Described]:
    """What a code book says, by column: a CSV file, a Frictionless Table Schema, a JSON Schema, or a DDI-Codebook."""
    try:
        text = read_text(path, encoding="utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise ParameterError(f"{path} can't be read: {error.strerror}. Check the name of the code book.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not UTF-8. Save the code book as UTF-8.") from None
    except ValueError as error:
        raise ParameterError(
            f"{path} can't be read as a code book: {error}. Give the columns that are needed."
        ) from None
    found = _by_content(text, path)
    if not found:
        raise ParameterError(f"{path} describes no column. Is it the code book?")
    return found


def _by_content(text: str, path: Path) -> dict[str, Described]:
    if text.lstrip().startswith("<"):
        return read_ddi(text)
    if not text.lstrip().startswith(("{", "[")):
        return read_codebook(text)
    try:
        data = parse_json(text)
    except ValueError as error:
        told = f"{path} begins like JSON, and is not: {error}. Correct it, or give a CSV file."
        raise ParameterError(told) from None
    if isinstance(data, Mapping) and ("fields" in data or "resources" in data):
        return read_table_schema(data)
    if isinstance(data, Mapping) and ("properties" in data or isinstance(data.get("items"), Mapping)):
        return read_json_schema(data)
    raise ParameterError(f"{path}: JSON must be a Frictionless Table Schema (fields) or a JSON Schema (properties).")
