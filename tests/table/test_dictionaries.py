"""Code books of four kinds say the same about a table, and what is not one is refused in words."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from kernelease.errors import ParameterError
from kernelease.table import Schema
from kernelease.table.dictionaries import Described, read_dictionary
from kernelease.table.draft import draft

CODE_BOOK = """\
Variable;Data type;Minimum;Maximum;Codes;Nullable
age;integer;0;120;;no
dose;numeric;0;5.5;;yes
sex;categorical;;;1=female|2=male;no
seen;date;2020-01-01;2024-12-31;;no
"""
LONG_BOOK = "variable,value,label\nsex,1,female\nsex,2,male\n"
FRICTIONLESS = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
        {"name": "dose", "type": "number", "constraints": {"minimum": 0, "maximum": 5.5, "required": False}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["1", "2"], "required": True}},
        {
            "name": "seen",
            "type": "date",
            "constraints": {"minimum": "2020-01-01", "maximum": "2024-12-31", "required": True},
        },
    ]
}
JSON_SCHEMA = {
    "type": "object",
    "required": ["age", "sex", "seen"],
    "properties": {
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "dose": {"type": ["number", "null"], "minimum": 0, "maximum": 5.5},
        "sex": {"enum": ["1", "2"]},
        "seen": {"type": "string", "format": "date"},
    },
}
DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var name="age" intrvl="discrete"><valrng><range min="0" max="120"/></valrng></var>
<var name="dose" intrvl="contin"><valrng><range min="0" max="5.5"/></valrng></var>
<var name="sex"><catgry><catValu>1</catValu></catgry><catgry><catValu>2</catValu></catgry>
<catgry missing="Y"><catValu>9</catValu></catgry><varFormat type="character"/></var>
</dataDscr></codeBook>
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("book.csv", CODE_BOOK),
        ("schema.json", FRICTIONLESS),
        ("datapackage.json", {"resources": [{"schema": FRICTIONLESS}]}),
        ("people.schema.json", JSON_SCHEMA),
        ("items.json", {"type": "array", "items": JSON_SCHEMA}),
        ("study.xml", DDI),
    ],
)
def test_kinds_of_code_books(name: str, content: object, tmp_path: Path) -> None:
    found = read_dictionary_of(tmp_path, name, content)
    names = ["age", "dose", "sex"]
    lines = {column: found[column].lines() for column in names}
    text = draft(pa.schema([(column, pa.null()) for column in names]), "t", declared_types=False, known=lines)
    schema = Schema.parse(text)
    assert [(column.name, column.tag) for column in schema] == [
        ("age", "integer"),
        ("dose", "number"),
        ("sex", "category"),
    ]
    assert (schema.column("age").max, schema.column("dose").max) == (120, 5.5)  # type: ignore[attr-defined]
    assert schema.column("sex").values == ("1", "2")  # type: ignore[attr-defined]


def read_dictionary_of(folder: Path, name: str, content: object) -> dict[str, Described]:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_dictionary(path)


def test_a_line_for_each_value(tmp_path: Path) -> None:
    assert read_dictionary_of(tmp_path, "book.csv", LONG_BOOK)["sex"].values == ("1", "2")


def test_what_is_not_described_is_left_to_fill_in(tmp_path: Path) -> None:
    found = read_dictionary_of(tmp_path, "book.csv", "name,type\na,integer\nb,\nc,date\n")
    assert [line[1] for line in found["a"].lines()[:3]] == ["integer", "FILL IN", "FILL IN"]
    assert found["b"].lines()[0][1] == "FILL IN"


def test_free_text_and_formats(tmp_path: Path) -> None:
    fields = [
        {"name": "note", "type": "string", "constraints": {"maxLength": 50}},
        {"name": "day", "type": "date", "format": "%d/%m/%Y"},
    ]
    found = read_dictionary_of(tmp_path, "s.json", {"fields": fields})
    assert found["note"].lines()[:2] == (("type", "string", ""), ("max_length", 50, ""))
    assert found["day"].date_format == "%d/%m/%Y"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("b.csv", "label,kind\nAge,integer\n", "must have a column called name"),
        ("b.csv", "name,kind\n", "describes no column"),
        ("b.json", "{", "begins like JSON"),
        ("b.json", "[1]", "Frictionless Table Schema"),
        ("b.json", {"fields": [{"type": "integer"}]}, "each an object with a name"),
        ("b.xml", "<a>", "not valid XML"),
        ("b.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "declares entities"),
    ],
)
def test_what_is_no_code_book(name: str, content: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=message):
        read_dictionary_of(tmp_path, name, content)


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Check the name of the code book"):
        read_dictionary(tmp_path / "nothing.csv")
    (tmp_path / "b.csv").write_bytes(b"name\n\xff\xfe\n")
    with pytest.raises(ParameterError, match="not UTF-8"):
        read_dictionary(tmp_path / "b.csv")
