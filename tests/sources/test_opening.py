"""A source of a declared table is cut into records as its schema says, or refused."""

from pathlib import Path

import pyarrow as pa
import pytest

from kernelease.errors import SchemaError
from kernelease.sources import CsvFormat, open_declared, open_source
from kernelease.table import Records, Schema

SICK = '[columns.sick]\ntype = "boolean"\n'
LINES = f'[source]\nrecords = "lines"\n{SICK}'


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text('sick,note\nyes,"a\nb"\nno,c\n')
    return path


@pytest.mark.parametrize(("text", "rows"), [(SICK, 2), (LINES, 3)])
def test_records_as_the_schema_says(text: str, rows: int, people: Path) -> None:
    for data in (people, [people], str(people.parent)):
        batches = open_declared(data, Schema.parse(text)).batches(["sick"])
        assert sum(batch.num_rows for batch in batches) == rows


def test_an_open_source_must_agree(people: Path) -> None:
    by_lines = open_source(people, csv=CsvFormat(records=Records.LINES))
    assert open_declared(by_lines, Schema.parse(LINES)) is by_lines
    with pytest.raises(SchemaError, match='opened with records = "lines", and the schema means "quoted"') as caught:
        open_declared(by_lines, Schema.parse(SICK))
    assert caught.value.path == ("source", "records")
    with pytest.raises(SchemaError, match='opened with records = "quoted", and the schema means "lines"'):
        open_declared(open_source(people), Schema.parse(LINES))


def test_lines_are_for_files_that_have_them() -> None:
    table = pa.table({"sick": [True]})
    assert open_declared(table, Schema.parse(SICK)).records() is None
    with pytest.raises(SchemaError, match='records = "lines" is for CSV files, and Arrow stream'):
        open_declared(table, Schema.parse(LINES))
