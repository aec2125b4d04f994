"""Columns that are computed, determined or NULL by declaration: what holds in every row, and what is refused."""

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import SchemaError
from kernelease.table import Computed, Decoder, Determined, Integer, Schema
from kernelease.table.domains import lawful_rows
from kernelease.table.encode import Encoder

LOANS = """\
[columns.total]
type = "number"
computed = "principal + interest"

[columns.principal]
type = "number"
min = 0
max = 1000
decimals = 2

[columns.interest]
type = "number"
min = 0
max = 90
decimals = 1
nullable = true
null_when = "works == false"

[columns.share]
type = "number"
computed = "interest / total"
decimals = 3

[columns.works]
type = "boolean"

[columns.sub_grade]
type = "category"
values = ["A1", "A2", "B1"]
other = true
nullable = true

[columns.grade]
type = "category"
determined_by = "sub_grade"
nullable = true

[columns.grade.mapping]
A1 = "A"
A2 = "A"
B1 = "B"

[columns.good]
type = "boolean"
determined_by = "grade"
mapping = { A = true, B = false }

[columns.begins]
type = "date"
min = 2020-01-01
max = 2029-12-31

[columns.days]
type = "integer"
min = 0
max = 40

[columns.ends]
type = "date"
computed = "begins + days"

[columns.year]
type = "integer"
computed = "year(ends)"

[columns.seen]
type = "datetime"
min = 2024-01-01T00:00:00Z
max = 2024-12-31T23:59:59Z
resolution = 0.5

[columns.later]
type = "datetime"
computed = "seen + 3600 * days"
null_when = "days == 0"

[columns.hour]
type = "integer"
computed = "hour(seen)"

[columns.long]
type = "boolean"
computed = "interest > 50"
"""
SCHEMA = Schema.parse(LOANS)


def drawn(schema: Schema, count: int, seed: int = 0) -> pa.Table:
    generator = np.random.default_rng(seed)
    codes = np.column_stack([generator.integers(0, size, count) for size in schema.sizes])
    return Decoder(schema).decode(codes, generator)


def test_derived_columns_are_released_in_their_place_and_not_measured() -> None:
    assert SCHEMA.names == ("principal", "interest", "works", "sub_grade", "begins", "days", "seen")
    rows = drawn(SCHEMA, 3)
    assert rows.column_names == list(SCHEMA.order) == list(Schema.parse(LOANS).order)
    assert rows.schema == SCHEMA.arrow_schema()
    assert SCHEMA.order[:3] == ("total", "principal", "interest")


def test_round_trips() -> None:
    assert Schema.parse(SCHEMA.to_toml()) == Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    assert Schema.parse(SCHEMA.to_toml()).order == SCHEMA.order


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 10**6))
def test_the_structure_holds_in_every_row(seed: int) -> None:
    for row in drawn(SCHEMA, 50, seed).to_pylist():
        if not row["works"]:
            assert row["interest"] is None
        if row["interest"] is None:
            assert row["total"] is row["share"] is row["long"] is None
        else:
            assert row["total"] == round(row["principal"] + row["interest"], 2)
            assert row["long"] == (row["interest"] > 50)
        if row["total"]:
            assert abs(row["share"] - row["interest"] / row["total"]) <= 0.0005 + 1e-12
        grade = {"A1": "A", "A2": "A", "B1": "B"}.get(row["sub_grade"])
        assert row["grade"] == grade
        assert row["good"] == {"A": True, "B": False, None: None}[grade]
        assert row["ends"] == row["begins"] + datetime.timedelta(days=row["days"])
        assert row["year"] == row["ends"].year
        assert row["hour"] == row["seen"].hour
        if row["days"] == 0:
            assert row["later"] is None
        else:
            late = (row["later"] - row["seen"]).total_seconds() - 3600 * row["days"]
            assert abs(late) <= 0.5
            assert row["later"].microsecond == 0


def test_a_source_needs_none_of_them_and_what_it_has_is_not_read() -> None:
    source = drawn(SCHEMA, 20)
    bare = source.select(list(SCHEMA.names))
    wrong = bare.append_column("total", pa.array([-1.0] * 20)).append_column("grade", pa.array(["?"] * 20))
    np.testing.assert_array_equal(Encoder(SCHEMA).encode(bare), Encoder(SCHEMA).encode(wrong))


def test_what_may_be_null_says_so() -> None:
    nullable = {field.name: field.nullable for field in SCHEMA.arrow_schema()}
    assert not nullable["ends"]
    assert not nullable["year"]
    assert nullable["total"]  # as interest is
    assert nullable["share"]  # may divide by 0
    assert nullable["later"]  # by its condition
    assert nullable["good"]


def test_origins() -> None:
    assert SCHEMA.structure.origins("share") == ("interest", "principal")
    assert SCHEMA.structure.origins("good") == ("sub_grade",)
    assert SCHEMA.structure.origins("days") == ("days",)


def test_derive_needs_the_origins_alone() -> None:
    rows = drawn(SCHEMA, 30)
    for name in SCHEMA.structure.derivations:
        known = rows.select(SCHEMA.structure.origins(name))
        assert SCHEMA.structure.derive(known, name).to_pylist() == rows.column(name).to_pylist()
    assert SCHEMA.structure.derive(rows, "total") is not None


def test_a_changed_row_is_found() -> None:
    rows = drawn(SCHEMA, 30)
    assert list(SCHEMA.structure.broken(rows)) == []
    place = rows.column_names.index("ends")
    moved = pa.array([day + datetime.timedelta(days=1) for day in rows.column("ends").to_pylist()])
    assert list(SCHEMA.structure.broken(rows.set_column(place, rows.schema.field("ends"), moved))) == [
        "ends"
    ]  # year follows from what ends should be


def test_bounds_of_a_computed_column_are_kept_as_a_rule_is() -> None:
    schema = Schema.parse(
        "[columns.a]\ntype = 'integer'\nmin = 0\nmax = 9\n[columns.b]\ntype = 'integer'\nmin = 0\nmax = 9\n"
        "[columns.c]\ntype = 'integer'\ncomputed = 'a + b'\nmin = 3\nmax = 9\n"
    )
    generator = np.random.default_rng(0)
    rows = lawful_rows(schema, lambda n: generator.integers(0, 10, (n, 2)), 500, generator)
    found = np.array(rows.column("c"))
    np.testing.assert_array_equal(found, np.array(rows.column("a")) + np.array(rows.column("b")))
    assert (found.min(), found.max()) == (3, 9)


def test_a_rule_may_be_about_a_derived_column() -> None:
    schema = Schema.parse(LOANS + "\n[table]\nconstraints = ['total <= 500', 'ends - begins >= 3']\n")
    generator = np.random.default_rng(0)
    sizes = np.array(schema.sizes)
    rows = lawful_rows(schema, lambda n: generator.integers(0, sizes, (n, len(sizes))), 200, generator)
    assert max(total for total in rows.column("total").to_pylist() if total is not None) <= 500
    assert min(rows.column("days").to_pylist()) >= 3


def test_numbers_beyond_what_a_type_holds_are_null() -> None:
    columns = (Integer(name="a", min=0, max=2**53),)
    computed = (
        Computed(name="square", type="integer", computed="a * a"),
        Computed(name="day", type="date", computed="'x'"),
    )
    with pytest.raises(SchemaError, match="holds no column"):
        Schema(columns, derived=computed)
    schema = Schema(columns, derived=computed[:1])
    rows = schema.structure.complete(pa.table({"a": [3, 2**40]}))
    assert rows.column("square").to_pylist() == [9, None]
    dates = Schema.parse(
        "[columns.d]\ntype = 'date'\nmin = 9999-01-01\nmax = 9999-12-31\n"
        "[columns.e]\ntype = 'date'\ncomputed = 'd + 364'\n"
    )
    assert dates.arrow_schema().field("e").nullable
    ends = dates.structure.complete(pa.table({"d": [datetime.date(9999, 1, 1), datetime.date(9999, 1, 3)]}))
    assert ends.column("e").to_pylist() == [datetime.date(9999, 12, 31), None]


def test_an_integer_and_an_ordinal_determine() -> None:
    schema = Schema(
        (Integer(name="year", min=2000, max=2002),),
        derived=(
            Determined(name="age", type="ordinal", determined_by="year", values=("new", "old"), mapping=MAPPING),
            Determined(name="rate", type="number", determined_by="year", mapping={"2000": 1, "2001": 1.5, "2002": 2}),
        ),
        order=("rate", "year", "age"),
    )
    rows = schema.structure.complete(pa.table({"year": [2001, 2002]})).select(schema.order)
    assert rows.to_pylist() == [{"rate": 1.5, "year": 2001, "age": "old"}, {"rate": 2.0, "year": 2002, "age": "new"}]
    assert schema.structure.derivations["age"].column.labels() == ("new", "old")


MAPPING = {"2000": "old", "2001": "old", "2002": "new"}


def _edited(old: str, new: str) -> str:
    assert old in LOANS
    return LOANS.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (
            _edited("principal + interest", "principal + intrest"),
            3,
            "computed = 'principal . intrest': there is no column",
        ),
        (_edited("principal + interest", "principal + works"), 3, "type boolean, and arithmetic is between numbers"),
        (_edited("principal + interest", "principal + begins"), 2, "is a date, and type is number"),
        (_edited("principal + interest", "begins * 2"), 3, "a date . a number is nothing"),
        (_edited("principal + interest", "-begins"), 3, "a sign is of a number, not of a date"),
        (_edited("principal + interest", "principal > 3"), 3, "is true or false: that is computed for .* boolean"),
        (_edited("principal + interest", "share * 2"), 1, "'total': is derived from itself: "),
        (_edited('"principal + interest"', "5"), 3, "computed must be a text like 'a . b', got 5"),
        (_edited("decimals = 3\n", ""), 21, "has no last digit: declare decimals"),
        (_edited("decimals = 3\n", "decimals = 99\n"), 22, "decimals must be an integer from 0 to 15, got 99"),
        (_edited("decimals = 3\n", "cells = 3\n"), 22, "unknown key 'cells' beside computed"),
        (_edited("decimals = 3\n", "determined_by = 'works'\n"), 22, "has computed and determined_by. Remove one"),
        (_edited("decimals = 3\n", "min = 'FILL IN'\n"), 22, "min is not filled in yet"),
        (_edited('"year(ends)"', '"year(days)"'), 64, "year.…. is of a date or a datetime, and column 'days'"),
        (_edited('"year(ends)"', '"hour(ends)"'), 64, "hour.…. is of a datetime; a date like 'ends' has none"),
        (_edited('computed = "year(ends)"', 'computed = "year(ends)"\ndecimals = 1'), 65, "decimals are of a number"),
        (_edited('computed = "interest > 50"', 'computed = "interest > 50"\nmax = 3'), 84, "a boolean has no bounds"),
        (_edited('type = "boolean"\ncomputed', 'type = "category"\ncomputed'), 82, "type with computed must be one of"),
        (_edited('"works == false"', '"works == 5"'), 17, "null_when = 'works == 5': .* true or false"),
        (_edited("nullable = true\nnull_when", "null_when"), 16, "null_when needs nullable = true"),
        (_edited('null_when = "works == false"', "null_when = 5"), 17, "null_when must be a condition in text"),
        (
            _edited('determined_by = "grade"', 'determined_by = "grde"'),
            45,
            "there is no column 'grde'. Did you mean grade",
        ),
        (_edited('determined_by = "grade"', "determined_by = 5"), 45, "determined_by must name a column, got 5"),
        (
            _edited('determined_by = "grade"', 'determined_by = "begins"'),
            45,
            "'begins' of type date has no list of values",
        ),
        (_edited("{ A = true, B = false }", "{ A = true }"), 46, "no value for 'B' of 'grade', and 0 more"),
        (_edited("{ A = true, B = false }", "{ A = true, B = 'no' }"), 46, "mapping of type boolean can't give 'no'"),
        (_edited("{ A = true, B = false }", "{ C = true }\nnullable = true"), 46, "has none of the values of 'grade'"),
        (_edited("{ A = true, B = false }", "{}"), 46, "mapping must be a table like"),
        (_edited("{ A = true, B = false }", "{A=true,B=false}\nvalues=[1]"), 47, "values are the order of an ordinal"),
        (
            _edited("{ A = true, B = false }", "{A=true,B=false}\nnullable=3"),
            47,
            "nullable must be true or false, got 3",
        ),
        (_edited("mapping = { A = true, B = false }", ""), 43, "determined_by needs mapping. Add it"),
    ],
)
def test_messages_name_the_line_the_column_and_the_remedy(text: str, line: int, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^my.toml, line {line}: column .*{message}"):
        Schema.parse(text, source="my.toml")


def test_what_code_gets_wrong() -> None:
    column = Integer(name="a", min=0, max=9)
    twice = Computed(name="b", type="integer", computed="2 * a")
    with pytest.raises(SchemaError, match="derived must be Derived objects, got int"):
        Schema((column,), derived=(3,))  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="declared twice"):
        Schema((column,), derived=(twice, twice))
    with pytest.raises(SchemaError, match="order must name every column once, got a"):
        Schema((column,), derived=(twice,), order=("a",))
    with pytest.raises(SchemaError, match="name must be a non-empty string"):
        Computed(name="", type="integer", computed="2 * a")
    with pytest.raises(SchemaError, match="values must hold all that the mapping gives; 'b' is not there"):
        Determined(name="x", type="ordinal", determined_by="a", mapping={"0": "b"}, values=("c",))
    with pytest.raises(SchemaError, match=r"'b' is computed as 2 . a, and was not measured. Ask about a instead"):
        Schema((column,), derived=(twice,)).column("b")
    with pytest.raises(SchemaError, match="can't be released"):
        Schema((column,), derived=(twice,), unit="b", max_rows_per_unit=1)


BOOK = "code,chapter,weight,billed\nE10,E,1.5,true\nE11,E,2,false\nI10,I,0.5,true\n"
BOOKED = """\
[columns.code]
type = "hierarchy"
codebook = "codes.csv"
level = "chapter"

[columns.chapter]
type = "category"
determined_by = "code"
codebook = "codes.csv"

[columns.weight]
type = "number"
determined_by = "code"
codebook = "codes.csv"

[columns.billed]
type = "boolean"
determined_by = "code"
codebook = "codes.csv"
"""


def _load(folder: Path, text: str, book: str = BOOK) -> Schema:
    (folder / "codes.csv").write_text(book, encoding="utf-8")
    (folder / "my.toml").write_text(text, encoding="utf-8")
    return Schema.load(folder / "my.toml")


def test_a_code_book(tmp_path: Path) -> None:
    schema = _load(tmp_path, BOOKED)
    assert schema.sizes == (3,)
    for row in drawn(schema, 40).to_pylist():
        line = f"{row['code']},{row['chapter']},{row['weight']:g},{str(row['billed']).lower()}"
        assert line in BOOK
    assert Schema.parse(schema.to_toml()) == schema  # the book is not needed again
    listed = _load(tmp_path, BOOKED.replace("hierarchy", "category").replace('level = "chapter"\n', ""))
    assert listed.column("code").labels() == ("E10", "E11", "I10")


@pytest.mark.parametrize(
    ("text", "book", "message"),
    [
        (BOOKED.replace("codes.csv", "no.csv"), BOOK, "line 3: .*'no.csv' can't be read as CSV"),
        (BOOKED.replace('"codes.csv"', '"../codes.csv"'), BOOK, "line 3: .*name of a CSV file in the schema's folder"),
        (BOOKED, "code\n", "line 3: .*needs a header, and lines"),
        (BOOKED, "code,chapter\nE10\n", "line 3: .*as many cells"),
        (BOOKED, BOOK.replace("chapter", "part"), "line 3: .*must have 'chapter' once; it has code, part"),
        (BOOKED, BOOK + "E10,I,1.5,true\n", "line 3: .*gives 'E10' two values, 'E' and 'I'"),
        (
            BOOKED,
            BOOK.replace("0.5", "half"),
            "line 14: column 'weight': the code book gives 'half', which is no number",
        ),
        (BOOKED.replace("level", "values = ['a']\nlevel"), BOOK, "line 3: .*codebook has the values"),
    ],
)
def test_what_is_wrong_with_a_code_book(tmp_path: Path, text: str, book: str, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^my.toml, {message}"):
        _load(tmp_path, text, book)


def test_a_code_book_lies_beside_a_file() -> None:
    with pytest.raises(SchemaError, match="a code book lies beside a schema file"):
        Schema.parse(BOOKED)


def test_values_that_a_rule_would_take_away_go_to_rows_that_may_have_them():
    """Noise hides who has a wage. As many have one as was drawn, all of them employed, and a bonus goes with a wage."""
    schema = Schema.parse("""
        [columns.bonus]
        type = "integer"
        min = 1
        max = 5
        nullable = true
        null_when = "wage is null"

        [columns.wage]
        type = "integer"
        min = 1
        max = 9
        nullable = true
        null_when = "employed == false"

        [columns.employed]
        type = "boolean"
    """)
    generator = np.random.default_rng(0)
    employed = generator.random(1000) < 0.6
    absent = np.array([generator.random(1000) < 0.4, generator.random(1000) < 0.4])
    codes = np.where(absent, [[5], [9]], generator.integers(0, 5, (2, 1000)))
    drawn = np.vstack([codes, employed]).T.astype(np.int64)
    rows = lawful_rows(schema, lambda count: drawn[:count], 1000, generator)
    bonus, wage = (rows.column(name).combine_chunks() for name in ("bonus", "wage"))
    has_wage, has_bonus = (np.asarray(one.is_valid(), dtype=bool) for one in (wage, bonus))
    assert has_wage.sum() == min((~absent[1]).sum(), employed.sum())
    assert not has_wage[~employed].any()
    assert has_bonus.sum() == min((~absent[0]).sum(), has_wage.sum())
    assert not has_bonus[~has_wage].any()
    assert set(wage.drop_null().to_pylist()) <= {1, 2, 3, 4, 5}
    assert drawn[:, 1].tolist() == codes[1].tolist()  # what was drawn is left as it was
