"""Code books of four kinds say the same about a table, and what is not one is refused in words."""

import json
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest

from kernelease.drafting.drafts import code_book
from kernelease.errors import ParameterError, SourceError
from kernelease.table import Schema
from kernelease.table.dictionaries import read_dictionary
from kernelease.table.draft import Described, draft

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


GUESSED = {
    "a range and values": ("Merkmal;Inhalt\nage;0-120\ndose;0.5 bis 5.5\nsex;1=female|2=male\n"),
    "names come second": ("what it says,Feld\n0..120,age\n0.5 to 5.5,dose\n1 = f; 2 = m,sex\n"),
    "a line for each value": ("q,a\nage,0 - 120\ndose,0.5-5.5\nsex,1\nsex,2\n"),
    "a name that is known, and no more": ("variable;Ausprägungen\nage;0–120\ndose;0.5–5.5\nsex;1, 2\n"),
}


@pytest.mark.parametrize("case", GUESSED)
def test_headings_that_nobody_knows_are_guessed_by_the_names_of_the_table(case: str, tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text(GUESSED[case], encoding="utf-8")
    told: list[str] = []
    found = read_dictionary(tmp_path / "book.csv", ("age", "dose", "sex", "ward"), told.append)
    assert (found["age"].type, found["age"].min, found["age"].max) == ("integer", 0, 120)
    assert (found["dose"].type, found["dose"].min, found["dose"].max) == ("number", 0.5, 5.5)
    assert found["sex"].values == ("1", "2")
    assert "check" in found["sex"].remark
    assert len(told) == 1
    assert "is taken for names of columns" in told[0]


def test_sentences_are_no_values_and_known_headings_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("q,a\nage,the age in full years\nsex,Sex\n", encoding="utf-8")
    found = read_dictionary(tmp_path / "book.csv", ("age", "sex"))
    assert (found["age"], found["sex"]) == (Described(), Described())
    told: list[str] = []
    (tmp_path / "book.csv").write_text("name,min,max,type\nage,0,9,integer\n", encoding="utf-8")
    assert read_dictionary(tmp_path / "book.csv", ("age",), told.append)["age"].max == 9
    assert told == []


def test_a_book_of_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_text("q,a\nheight,0-9\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="none of its columns has one of them"):
        read_dictionary(tmp_path / "book.csv", ("age", "sex"))


def test_a_code_book_may_be_a_workbook(tmp_path: Path) -> None:
    lines = [("Merkmal", "Inhalt"), ("age", "0-120"), ("sex", "1=female|2=male")]
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    book.save(tmp_path / "book.xlsx")
    found = code_book(tmp_path / "book.xlsx", ("age", "sex"))
    assert (found["age"].max, found["sex"].values) == (120, ("1", "2"))
    (tmp_path / "bad.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(SourceError, match="not a workbook that can be read"):
        code_book(tmp_path / "bad.xlsx")
