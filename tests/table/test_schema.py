"""Schema files: what they say, what is wrong with them and on which line, and round trips."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import kernelease as ke
from kernelease.errors import ParameterError, SchemaError
from kernelease.sources.private_rows import private_table
from kernelease.table import Boolean, Category, Column, Decoder, Integer, Number, Records, Schema, String
from kernelease.table.encode import Encoder
from kernelease.table.toml import locate
from kernelease.table.written import Written
from tests.table.table import COLUMNS

FULL = """\
# line 1
[table]
name = "visits"
neighbours = "add-remove"
unit = "patient_id"
max_rows_per_unit = 5
constraints = [
    "start <= end",
    "if ward == 'icu' then beds == 1",
]

[columns.ward]
type = "category"
values = [
    "icu",  # [columns.start]
    "day = 1",
]
nullable = true

[columns.start]
type = "date"
min = 2020-01-01
max = 2024-12-31

[columns.end]
type = "date"
min = 2020-01-01
max = 2024-12-31

[columns.beds]
type = "integer"
min = 0
max = 9

[ columns . "a b" ]
type = "number"
min = 0
max = 1.5
"""


def test_a_full_file() -> None:
    schema = Schema.parse(FULL)
    assert (schema.name, schema.neighbours, schema.unit) == ("visits", "add-remove", "patient_id")
    assert (schema.max_rows_per_unit, schema.rows_without_unit) == (5, "drop")
    assert schema.names == ("ward", "start", "end", "beds", "a b")
    assert [column.name for column in schema] == list(schema.names)
    assert len(schema) == 5
    assert schema.sizes == (3, 231, 231, 10, 256)
    assert [rule.columns for rule in schema.constraints] == [("start", "end"), ("ward", "beds")]
    assert schema.arrow_schema().field("ward") == pa.field("ward", pa.string(), nullable=True)
    assert schema.arrow_schema().field("beds") == pa.field("beds", pa.int64(), nullable=False)


def test_table_may_be_left_out() -> None:
    schema = Schema.parse('columns.sick.type = "boolean"')
    assert (schema.name, schema.neighbours, schema.unit, schema.constraints) == ("table", "replace-one", None, ())


def _edit(old: str, new: str) -> str:
    assert old in FULL
    return FULL.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (_edit("min = 0\nmax = 9", "mni = 0\nmax = 9"), 32, "column 'beds': unknown key 'mni' .* Did you mean min?"),
        (_edit("min = 0\nmax = 9", "min = 0\nmax = 0"), 33, "column 'beds': min must be below max, got 0 and 0"),
        (_edit("min = 0\nmax = 9", "min = 0"), 30, "column 'beds': type integer needs max"),
        (_edit("min = 0\nmax = 9", 'min = "FILL IN"'), 32, "column 'beds': min is not filled in yet"),
        (
            _edit('type = "integer"', 'type = "FILL IN"'),
            31,
            "column 'beds': type is not filled in yet: integer, number",
        ),
        (
            _edit('type = "integer"', 'type = "intger"'),
            31,
            "column 'beds': type must be one of .* Did you mean integer?",
        ),
        (_edit('type = "integer"', 'type = "text"'), 31, r"type must be one of .* Did you mean string\?"),
        (_edit('type = "integer"\n', ""), 30, "column 'beds': type must be one of .* got None"),
        (
            _edit('    "day = 1",', '    "icu",'),
            14,
            "column 'ward': values must be distinct, but 'icu' is there 2 times",
        ),
        (_edit("max = 1.5", "max = nan"), 38, "column 'a b': max must be a finite number"),
        (_edit("max = 1.5", "max = 1.5\nunit = 'x'"), 39, "column 'a b': unit belongs in \\[table\\]"),
        (_edit("max = 2024-12-31", "max = 2019-12-31"), 23, "column 'start': min must be before max"),
        (
            _edit("start <= end", "start <= ende"),
            7,
            "constraint 'start <= ende': there is no column 'ende'. Did you mean end",
        ),
        (_edit("start <= end", "start & end"), 7, "constraint 'start & end': it can't be read from '& end' on"),
        (_edit("start <= end", "start + end"), 7, "constraint 'start \\+ end': .*a date \\+ a date is nothing"),
        (_edit('"add-remove"', '"add-one"'), 4, "neighbours must be replace-one or add-remove, got 'add-one'"),
        (_edit('"visits"', '""'), 3, "name must be a non-empty string, got ''"),
        (_edit("max_rows_per_unit = 5\n", ""), 5, "unit needs max_rows_per_unit, an integer from 1 to 16, got None"),
        (_edit("max_rows_per_unit = 5", "max_rows_per_unit = 17"), 6, "an integer from 1 to 16, got 17"),
        (_edit('unit = "patient_id"\n', ""), 5, "max_rows_per_unit needs unit"),
        (_edit('unit = "patient_id"', "unit = 3"), 5, "unit must be the name of a column of the source, got 3"),
        (_edit('"patient_id"', '"beds"'), 5, "unit 'beds' identifies persons and can't be released. Remove"),
        (_edit("name =", "nmae ="), 3, "unknown key 'nmae'; known are .* Did you mean name?"),
        (
            _edit("max_rows_per_unit = 5", 'max_rows_per_unit = 5\nrows_without_unit = "keep"'),
            7,
            "must be drop or one-unit",
        ),
        ('constraints = ["a < b"]\n' + FULL, 1, "unknown key 'constraints'; .* It belongs in \\[table\\]"),
        ("[colums.a]\ntype = 'boolean'", 1, "unknown key 'colums'; .* Did you mean columns?"),
        ("\n[columns]\nage = 5", 3, "column 'age': must be a table with a type, got 5"),
        ("\n[columns]\nage = { type = 'integer', min = 5, max = 1 }", 3, "column 'age': min must be below max"),
        ("columns = 3", 1, "columns must be tables"),
        ("table = 3", 1, "table must be a table"),
        ("[table]\nconstraints = 'a < b'\n[columns.a]\ntype = 'boolean'", 2, "constraints must be a list of strings"),
        ("[table]\nconstraints = [5]\n[columns.a]\ntype = 'boolean'", 2, "constraint 5: must be a string"),
    ],
)
def test_messages_name_the_line_the_column_and_the_remedy(text: str, line: int, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^my.toml, line {line}: .*{message}"):
        Schema.parse(text, source="my.toml")


def test_lines_of_a_file_with_windows_line_ends() -> None:
    with pytest.raises(SchemaError, match="line 33: column 'beds'"):
        Schema.parse(_edit("max = 9", "max = 0").replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n[columns.a", "^schema, line 2: is not valid TOML: Expected"),
        ("[columns.a]\nmax = 1" + "0" * 5000, "^schema: has a number with more digits than can be read"),
        ("a = " + "[" * 100_000, "^schema: is not read, for it is nested more than 64 deep"),
        ("[columns.a]\ntype = 'boolean'\n[columns.a]", "^schema, line 3: is not valid TOML: Cannot declare"),
        ("", "needs at least one column"),
    ],
)
def test_files_that_are_no_schema(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.parse(text)


def test_load(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(FULL, encoding="utf-8")
    bad.write_bytes(b"# \xff")
    assert Schema.load(good) == Schema.load(str(good)) == Schema.parse(FULL)
    with pytest.raises(SchemaError, match=r"bad.toml: is not UTF-8 at byte 2"):
        Schema.load(bad)
    with pytest.raises(SchemaError, match=r"none.toml: can't be read"):
        Schema.load(tmp_path / "none.toml")
    good.write_text(_edit("max = 9", "max = 0"), encoding="utf-8")
    with pytest.raises(SchemaError, match=r"^good.toml, line 33: "):
        Schema.load(good)


def test_a_schema_in_code() -> None:
    age = Integer(name="age", min=0, max=120)
    with pytest.raises(SchemaError, match="column 'age': declared twice"):
        Schema((age, age))
    with pytest.raises(SchemaError, match="must be Column objects, got str"):
        Schema(("age",))
    schema = Schema([age], constraints=["age >= 18"])
    assert schema.columns == (age,)
    assert Schema((age,), constraints=schema.constraints) == schema
    assert schema.column("age") is age
    with pytest.raises(SchemaError, match=r"There is no column 'agee' in table 'table'. Did you mean age?"):
        schema.column("agee")
    assert issubclass(SchemaError, ParameterError)


def _renamed() -> tuple[Column, ...]:
    return tuple(replace(column, name=name) for name, column in COLUMNS.items())


def test_round_trips_of_all_columns() -> None:
    schema = Schema(
        (*_renamed(), Boolean(name='odd "name" \\ \x7f\n.')),
        name="a\tb",
        neighbours="add-remove",
        unit="é",
        max_rows_per_unit=3,
        rows_without_unit="one-unit",
        constraints=("integer <= number", "if category == 'Private' then boolean == true"),
    )
    assert Schema.parse(schema.to_toml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=60, unique=True),
    st.floats(-1e100, 1e100),
    st.floats(1e-3, 1e100),
)
def test_round_trips_of_any_text_and_number(values: list[str], low: float, span: float) -> None:
    category = Category(name=values[0], values=tuple(values), other="".join(values) + "!", nullable=True)
    columns: list[Column] = [category]
    if low + span > low + span / 1e3 > low:
        columns.append(Number(name=values[0] + "number", min=low, max=low + span, cells=2))
    schema = Schema(tuple(columns), name=values[0])
    assert Schema.parse(schema.to_toml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "must be an object with a list of columns"),
        ({"columns": {}}, "must be an object with a list of columns"),
        ({"columns": ["a"]}, "must be an object with a name"),
        ({"columns": [{"type": "boolean"}]}, "must be an object with a name"),
        ({"columns": [{"name": "a", "type": "os.system"}]}, "type must be one of"),
        ({"columns": [{"name": "a", "type": ["boolean"]}]}, "type must be one of"),
        ({"columns": [{"name": "a", "type": "boolean", "__class__": "x"}]}, "unknown key '__class__'"),
        ({"columns": [{"name": "a", "type": "boolean"}], "version": 9}, "unknown key 'version'"),
    ],
)
def test_from_dict_refuses_what_it_does_not_know(data: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(data)


def test_locate_gives_the_nearest_thing_declared() -> None:
    assert locate(FULL, ("columns", "beds", "cells")) == 30
    assert locate(FULL, ("columns", "nothing")) == 12
    assert locate(FULL, ("table", "constraints")) == 7
    assert locate(FULL, ("nothing",)) is None
    assert locate("[[a]]\nb = 1", ("a", "b")) == 2


def test_encoder_wants_each_column_once() -> None:
    schema = Schema.parse(FULL)
    names = [*schema.names, "patient_id"]
    encoder = Encoder(schema)
    schema.check_source([*names, "extra"])
    with pytest.raises(SchemaError, match=r"column 'beds': the source has no column 'beds'") as error:
        schema.check_source([name.replace("beds", "beds_") for name in names])
    assert error.value.path == ("columns", "beds")
    assert "beds_" not in str(error.value)  # it may be the cell of a file without a header
    with pytest.raises(SchemaError, match="column 'ward': the source has 2 columns of this name"):
        schema.check_source([*names, "ward"])
    released = pa.table({name: ["1"] for name in schema.names})
    for refuses in (
        lambda: schema.check_source(schema.names),
        lambda: private_table(released, schema, seed=ke.PublicSeed(0)),  # before a row is read
    ):
        with pytest.raises(SchemaError, match="column 'patient_id': the source has no column 'patient_id'"):
            refuses()
    assert encoder.encode(released).shape == (1, len(schema.names))  # released rows name nobody


def test_encode_and_decode_a_table() -> None:
    schema = Schema((*_renamed(), String(name="free", max_length=9)))
    generator = np.random.default_rng(2)
    codes = np.stack([generator.integers(0, size, 500) for size in schema.sizes], axis=1)
    table = Decoder(schema).decode(codes, generator)
    assert table.schema == schema.arrow_schema()
    shuffled = table.select(table.column_names[::-1]).append_column("extra", [["x"] * 500])
    encoded = Encoder(schema).encode(shuffled)
    assert encoded.flags.f_contiguous
    assert encoded.dtype == np.int32
    np.testing.assert_array_equal(encoded, codes)
    batches = shuffled.to_batches(max_chunksize=77)
    np.testing.assert_array_equal(np.concatenate([Encoder(schema).encode(batch) for batch in batches]), codes)
    with pytest.raises(ParameterError, match="codes must be \\(n, "):
        Decoder(schema).decode(codes[:, 1:], generator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_other_libraries(library: str) -> None:
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    schema = Schema.parse(
        '[columns.age]\ntype="integer"\nmin=0\nmax=9\nnullable=true\n[columns.sex]\ntype="category"\nvalues=["f","m"]'
    )
    frame = frames.DataFrame({"age": [1.0, None, 12.0], "sex": ["m", "f", "m"]})
    if library == "pandas":
        frame["sex"] = frame["sex"].astype("category")
    else:
        frame = frame.with_columns(frames.col("sex").cast(frames.Categorical))
    assert Encoder(schema).encode(pa.table(frame)).tolist() == [[1, 1], [10, 0], [9, 1]]


SICK = '[columns.sick]\ntype = "boolean"\n'


@pytest.mark.parametrize(
    ("table", "source", "words"),
    [
        ("", "", "each row"),
        ("", 'records = "quoted"', "each row"),
        ("", 'records = "lines"', "each line of the file"),
        ('unit = "who"\nmax_rows_per_unit = 3', "", "each person (up to 3 rows of one who)"),
        (
            'unit = "who"\nmax_rows_per_unit = 3',
            'records = "lines"',
            "each person (up to 3 lines of the file of one who)",
        ),
    ],
)
def test_whom_the_guarantee_protects(table: str, source: str, words: str) -> None:
    schema = Schema.parse(f"[table]\n{table}\n[source]\n{source}\n{SICK}")
    assert schema.unit_in_words == words
    assert Schema.parse(schema.to_toml()) == Schema.from_dict(schema.to_dict()) == schema


def test_records_are_declared_once() -> None:
    silent, lines = Schema.parse(SICK), Schema.parse(f'[source]\nrecords = "lines"\n{SICK}')
    assert (silent.records, lines.records) == (None, Records.LINES)
    by_line = Written(records=Records.LINES)
    assert silent.written_as(by_line) == lines
    assert lines.written_as(Written()) == lines.written_as(by_line) == lines
    with pytest.raises(SchemaError, match=r'\[source\]: records = "lines" is declared, but "quoted" was asked for'):
        lines.written_as(Written(records=Records.QUOTED))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[source]\nrecords = "line"\n', r"line 2: \[source\]: records must be quoted or lines, .* mean lines?"),
        ("[source]\nrecords = [1]\n", "records must be quoted or lines"),
        ('[source]\nseperator = ";"\n', r"line 2: \[source\]: unknown key 'seperator'.* mean separator\?"),
        ("source = 3\n", "source must be a table"),
        ('[table]\nrecords = "lines"\n', r"unknown key 'records'; .* It belongs in \[source\]"),
    ],
)
def test_what_is_said_of_the_source_is_checked(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.parse(text + SICK)
