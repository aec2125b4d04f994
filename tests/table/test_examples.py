"""The example files, the JSON Schema for editors, and the documentation."""

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernelease.table import Schema, json_schema
from kernelease.table.columns import COLUMN_TYPES, column_keys

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
DOCUMENT = (ROOT / "docs" / "schema.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.S)


def _plain(value: Any) -> Any:
    """TOML as JSON: dates are strings."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_load_and_round_trip(path: Path) -> None:
    schema = Schema.load(path)
    assert Schema.parse(schema.to_toml()) == schema


def test_adult() -> None:
    raw, discrete = (Schema.load(ROOT / "examples" / f"{name}.toml") for name in ("adult", "adult_discrete"))
    assert raw.neighbours == "replace-one"
    assert discrete.neighbours == "add-remove"
    assert [column.name for column in raw if column.nullable] == ["workclass", "occupation", "native_country"]
    assert raw.sizes == (74, 9, 256, 16, 16, 7, 15, 6, 5, 2, 256, 252, 99, 42, 2)
    assert discrete.sizes == (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


@pytest.mark.parametrize("text", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_of_the_documentation_loads(text: str) -> None:
    Schema.parse(text)


def test_every_key_is_documented() -> None:
    for tag, kind in COLUMN_TYPES.items():
        assert f"`{tag}`" in DOCUMENT
        assert f'type = "{tag}"' in "".join(BLOCKS)
        for key in column_keys(kind):
            assert f"`{key}`" in DOCUMENT


def test_json_schema_agrees_with_the_loader() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the jsonschema package is not installed")
    document = json_schema()
    jsonschema.Draft202012Validator.check_schema(document)
    validator = jsonschema.Draft202012Validator(document)
    for text in (*BLOCKS, *(path.read_text(encoding="utf-8") for path in EXAMPLES)):
        validator.validate(_plain(tomllib.loads(text)))
    for wrong in (
        "",
        "[columns.a]\ntype = 'integer'\nmin = 1",
        "[columns.a]\ntype = 'boolean'\nmni = 1",
        "[columns.a]\ntype = 'category'\nvalues = []",
        "[columns.a]\ntype = 'string'",
        "[table]\nunit = 'p'\n[columns.a]\ntype = 'boolean'",
        "[table]\nneighbours = 'none'\n[columns.a]\ntype = 'boolean'",
        "constraints = []\n[columns.a]\ntype = 'boolean'",
    ):
        assert not validator.is_valid(_plain(tomllib.loads(wrong)))
