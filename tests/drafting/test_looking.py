"""A draft from the private rows: what it proposes, what it marks, what it leaves out."""

import itertools
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, strategies as st

from kernelease.drafting.inspection import check
from kernelease.drafting.looking import draft_by_looking, group_length, in_order, outward
from kernelease.drafting.tally import find_identifiers, unit_of
from kernelease.errors import SchemaError
from kernelease.sources.opening import open_source
from kernelease.table import Schema
from kernelease.table.domains import TableDomain
from kernelease.table.draft import MARK
from kernelease.table.written import Written


def looked(path: Path, **written: object) -> str:
    return draft_by_looking(str(path), "t", query=None, written=Written(**written)).text  # type: ignore[arg-type]  # as tests give them


def test_types_bounds_and_ways_of_writing(tmp_path: Path) -> None:
    days = [f"{10 + i % 18}.0{1 + i % 9}.2021" for i in range(300)]
    rows = [
        f"{i};{20 + i % 37};{i % 7},5;{'ja' if i % 3 else 'nein'};{i % 2};{day};0{i % 5};text {i};"
        for i, day in enumerate(days)
    ]
    text = "\n".join(["row_id;age;dose;told;sick;day;code;note;none", *rows, "300;NA;1,5;ja;1;01.01.2021;01;x;", ""])
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    drafted = looked(tmp_path / "t.csv", separator=";")
    schema = Schema.parse(drafted)
    assert {column.name: column.tag for column in schema} == {
        **{"age": "integer", "dose": "number", "told": "category", "sick": "integer", "day": "date"},
        "code": "category",
    }
    assert "# column none is left out: no cell of it has a value" in drafted
    assert schema.source.to_dict() == {"separator": ";", "nulls": ["NA"], "decimal": ",", "dates": ["%d.%m.%Y"]}
    assert "# column row_id is left out" in drafted
    assert "# column note is left out" in drafted
    kinds = ("type", "min", "max", "values", "nulls", "decimal", "dates")
    assert all(MARK in line for line in drafted.splitlines() if line.startswith(kinds))
    with pytest.raises(SchemaError, match="confirmed is false"):
        TableDomain(schema)
    confirmed = Schema.parse(drafted.replace("confirmed = false", "confirmed = true"))
    assert "drafted by looking" in TableDomain(confirmed).provenance


def test_typed_sources(tmp_path: Path) -> None:
    table = pa.table({"n": [1.5, 2.25, None], "when": pa.array([0, 10**15, 10**15 + 1], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = Schema.parse(looked(tmp_path / "t.parquet"))
    assert [column.tag for column in schema] == ["number", "datetime"]
    assert schema.source == Written()


@given(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(sorted))
@example([0.0, 5e-324])
def test_bounds_go_outward(pair: list[float]) -> None:
    low, high = outward(*pair)
    slack = 1e-9 * max(1e-300, abs(pair[0]), abs(pair[1]))
    assert low <= pair[0] + slack
    assert pair[1] - slack <= high
    assert low < high


def test_null_and_other_are_written_where_a_cell_needs_them(tmp_path: Path) -> None:
    ages = np.random.default_rng(0).integers(20, 60, 400)
    lines = [f"{age},{'fm'[i % 2]},{i % 9 or ''},{'x' if i == 7 else 2020 + i % 3}" for i, age in enumerate(ages)]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,visits,year", *lines, ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv"))
    assert {column.name: column.nullable for column in schema} == {
        **{"age": False, "sex": False},
        "visits": True,  # some are missing
        "year": True,  # one is a misprint
    }
    assert not any(getattr(column, "other", False) for column in schema)


def test_codes_of_many_values_are_a_hierarchy_and_names_a_list(tmp_path: Path) -> None:
    codes = [f"{letter}{number:02d}.{digit}" for letter in "EIJ" for number in range(50) for digit in range(6)]
    lines = [f"{codes[i % 900]},Village of {i % 299},{'a note ' * 3}{i % 4000}" for i in range(6000)]
    (tmp_path / "t.csv").write_text("\n".join(["code,place,text", *lines, ""]))
    drafted = looked(tmp_path / "t.csv")
    schema = Schema.parse(drafted)
    code, place, text = schema.columns
    assert (code.tag, code.size, getattr(code, "prefix", None)) == ("hierarchy", 900, 2)
    assert (place.tag, place.size) == ("category", 299)
    assert text.tag == "string"
    assert "Of free text nothing is released: each becomes __other__" in drafted


def test_codes_that_nothing_parts_have_no_groups() -> None:
    assert group_length(["a", "b"]) is None
    assert group_length([f"x{i:03d}" for i in range(300)]) == 3


def identified(**columns: list[object]) -> dict[str, int]:
    """The columns that look like identifiers, and how many rows most persons have."""
    return {found.name: found.most for found in find_identifiers(open_source(pa.table(columns)))}


def test_identifiers_by_their_rows() -> None:
    """545 persons in shuffled rows: by years that none has twice; side by side; or with as many rows each."""
    generator = np.random.default_rng(0)
    who = np.repeat(np.arange(300), generator.integers(1, 8, 300)) * 7 + 3
    sex, year = (who * 31 % 2).tolist(), np.concatenate([np.arange(n) for n in np.unique(who, return_counts=True)[1]])
    born = (1900 + who * 13 % 97).tolist()
    order = generator.permutation(len(who))
    columns = {"nr": who, "sex": np.array(sex), "year": 2000 + year, "born": np.array(born)}
    shuffled = {name: cells[order].tolist() for name, cells in columns.items()}
    assert list(identified(**shuffled)) == ["nr"]
    sideways = {name: cells.tolist() for name, cells in columns.items() if name != "year"}
    assert list(identified(**sideways)) == ["nr"]
    even = np.arange(1200) % 200
    mixed = generator.permutation(1200)
    level = {"nr": even[mixed].tolist(), "sex": (even[mixed] % 2).tolist()}
    assert identified(**level) == {"nr": 6}


def test_what_looks_like_an_identifier_and_is_none() -> None:
    """Ages, amounts, towns with their region, dates, decimals; and names that only end in id."""
    generator = np.random.default_rng(1)
    town = generator.integers(0, 200, 3000)
    assert not identified(
        age=generator.integers(18, 90, 3000).tolist(),
        paid=generator.integers(0, 500, 3000).tolist(),
        town=town.tolist(),
        region=(town % 9).tolist(),
        cost=generator.integers(0, 10**6, 3000).tolist(),
        share=generator.random(3000).tolist(),
        height=[f"1,{i % 90 + 10:02d}{i}" for i in range(3000)],
        seen=[f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.{1900 + i % 120}" for i in range(3000)],
    )


def test_values_that_repeat_as_those_of_things_do_name_no_persons() -> None:
    """Models with their seats, days of a therapy that most never had, and days with their weather: no persons."""
    generator = np.random.default_rng(2)
    model = generator.integers(0, 120, 3000) * generator.integers(0, 2, 3000)
    days = np.where(generator.random(3000) < 0.4, 0, generator.integers(1, 1000, 3000))
    assert not identified(
        model=[f"A{i}" for i in model],
        seats=(model * 7 % 300).tolist(),
        before=days.tolist(),
        had=(days > 0).astype(int).tolist(),
        sex=generator.integers(0, 2, 3000).tolist(),
    )
    hours = np.arange(2400)
    assert not identified(day=(hours // 24).tolist(), hour=(hours % 24).tolist(), rain=(hours // 24 % 3).tolist())


@pytest.mark.parametrize(("digits", "kind", "decimals"), [(5, "f8", 5), (2, "f4", 2), (4, "f4", 4), (9, "f8", None)])
def test_decimals_as_they_were_before_floats_left_their_dust(
    digits: int, kind: str, decimals: int | None, tmp_path: Path
) -> None:
    """Speeds in other units, as 9.0 knots are 10.357019999999999, and incomes that were floats of four bytes."""
    values = (np.random.default_rng(3).integers(0, 10**digits * 40, 500) * 10.0**-digits).astype(kind).astype("f8")
    path = tmp_path / "t.csv"
    path.write_text("speed\n" + "\n".join(f"{value:.15g}" for value in values * (1.0 + 2.0**-52)), encoding="utf-8")
    drafted = Schema.parse(draft_by_looking(str(path), "t", query=None, written=Written()).text)
    assert drafted.column("speed").decimals == decimals


def test_numbers_of_a_scale_are_listed_and_those_of_single_rows_are_not(tmp_path: Path) -> None:
    """Wind in whole knots, told in other units: 1.15078 times as much. One row has a speed of its own."""
    speeds = np.random.default_rng(4).integers(0, 20, 800) * 1.15078
    speeds[3] = 1048.36058
    path = tmp_path / "t.csv"
    path.write_text("speed\n" + "\n".join(map(repr, speeds.tolist())), encoding="utf-8")
    text = draft_by_looking(str(path), "t", query=None, written=Written()).text
    column = Schema.parse(text).column("speed")
    assert column.values == tuple(round(knots * 1.15078, 5) for knots in range(20))
    assert "1 row has another, which counts as the nearest" in text


def drafted(name: str, cells: Iterable[float], folder: Path) -> Any:
    """The column that a look at some numbers proposes."""
    path = folder / "t.csv"
    path.write_text(f"{name}\n" + "\n".join(map(repr, cells)), encoding="utf-8")
    return Schema.parse(draft_by_looking(str(path), "t", query=None, written=Written()).text).column(name)


def test_a_few_imputed_means_hide_no_digits(tmp_path: Path) -> None:
    scores = [*np.random.default_rng(5).integers(1, 7, 900).astype(float).tolist(), 3.4781, 3.4781]
    column = drafted("score", scores, tmp_path)
    assert (column.tag, column.min, column.max, column.spacing) == ("number", 1.0, 6.0, 1.0)
    rough = drafted("score", [*scores, *np.random.default_rng(6).uniform(1.0, 6.0, 40).tolist()], tmp_path)
    assert rough.spacing is None


def test_numbers_that_no_digits_tell_are_listed(tmp_path: Path) -> None:
    """Logarithms of the sizes of households."""
    sizes = np.random.default_rng(7).integers(1, 9, 900)
    assert drafted("size", np.log(sizes).tolist(), tmp_path).values == pytest.approx(np.log(np.arange(1, 9)))


def test_nearly_all_rows_on_a_step(tmp_path: Path) -> None:
    """Answers in steps of five, from 2.5 on; a few people were more exact."""
    answers = 2.5 + 5.0 * np.random.default_rng(8).integers(0, 20, 900)
    column = drafted("answer", [*answers.tolist(), 33.3, 41.0], tmp_path)
    assert column.spacing == 5.0
    assert (column.min, column.max) == (-2.5, 102.5)
    years = np.random.default_rng(9).integers(1990, 2020, 900).astype(float)
    assert drafted("year", years.tolist(), tmp_path).values is None


def test_a_step_of_many_numbers_is_left_to_the_release(tmp_path: Path) -> None:
    incomes = 100 * np.random.default_rng(10).integers(0, 2_000, 5_000)
    assert drafted("income", incomes.tolist(), tmp_path).resolution == 1


def test_a_value_of_its_own_in_every_row() -> None:
    everyone = identified(
        row=list(range(500)),
        number=[10**7 + i * 7919 % 10**6 for i in range(500)],
        text=[f"note {i}" for i in range(500)],
        patient_id=[i * 7919 % 1000 for i in range(500)],
    )
    assert everyone == {"row": 1, "number": 1, "text": 1, "patient_id": 1}


def test_persons_by_a_name_that_says_so() -> None:
    """Readings of a household are many, and nothing else stays the same; a household of four is no identifier."""
    readings = np.arange(6000)
    assert identified(household=[f"H{i % 60}" for i in readings], load=(readings % 7).tolist()) == {"household": 16}
    (found,) = find_identifiers(open_source(pa.table({"household": [f"H{i % 60}" for i in readings]})))
    assert "many on 16 or more rows" in found.finding(declared=False).words
    assert identified(account=(readings * 7919 % 700).tolist(), load=(readings % 7).tolist()) == {"account": 9}
    assert identified(household=(readings[:90] % 9).tolist(), load=(readings[:90] % 7).tolist()) == {}
    assert identified(product=[f"H{i % 60}" for i in readings], load=(readings % 7).tolist()) == {}


def test_a_name_goes_before_what_rows_do() -> None:
    visits = np.arange(900) // 3
    table = pa.table({"bed": visits, "patient_id": np.arange(900) // 2, "sex": visits % 2})
    found = unit_of(find_identifiers(open_source(table)))
    assert found is not None
    assert (found.name, found.most, found.named) == ("patient_id", 2, True)
    assert unit_of(()) is None


def test_words_that_may_be_answers_are_values_among_words_and_nothing_among_numbers(tmp_path: Path) -> None:
    """No pain is none. A weight that is none is not known, and neither is n/a, wherever it stands."""
    lines = [
        f"{('none', 'mild', 'severe')[i % 3]},{60 + i % 17 if i % 5 else 'none'},{'n/a' if i % 7 else 'x'}"
        for i in range(200)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["pain,weight,note", *lines, ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv"))
    assert schema.source.nulls == ("n/a",)
    assert schema.column("pain").values == ("none", "mild", "severe")
    assert (schema.column("weight").tag, schema.column("weight").nullable) == ("integer", True)


def test_decimals_are_those_that_are_written(tmp_path: Path) -> None:
    lines = [f"{36 + i % 40 / 10:.1f},{i * 1.07:.2f},{1 / (i + 1)}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["temperature,price,share", *lines, ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv"))
    assert [column.decimals for column in schema] == [1, 2, None]


def test_the_code_of_a_country_is_no_missing_value(tmp_path: Path) -> None:
    lines = [f"{('DE', 'NA', 'FR')[i % 3]},{'NA' if i % 4 else 'Aalen'},{i % 9 or 'NA'}" for i in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["country,place,visits", *lines, ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv"))
    assert schema.source.nulls is None
    assert [column.name for column in schema if column.nullable] == ["place", "visits"]


def test_answers_days_and_ranges_have_an_order(tmp_path: Path) -> None:
    answers, ages, codes = ("Agree", "Strongly agree", "Disagree"), ("<18", "18-64", "65+"), ("01", "02", "10")
    lines = [f"{answers[i % 3]},{ages[i // 3 % 3]},{codes[i // 9 % 3]}" for i in range(270)]
    (tmp_path / "t.csv").write_text("\n".join(["answer,age,code", *lines, ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv"))
    assert [column.tag for column in schema] == ["ordinal", "ordinal", "category"]
    assert in_order(answers) == ("Disagree", "Agree", "Strongly agree")
    assert in_order(ages) == ages
    assert in_order(("65 and over", "18 to 64", "17")) == ("17", "18 to 64", "65 and over")
    assert in_order(("Agree", "Disagree")) is None
    assert in_order(("18-24", "18-30", "40")) is None


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        (["25,770", "1,204", "310"], {"thousands": ","}),
        (["0,125", "1,204", "3,310"], {"decimal": ","}),
        (["7,5", "12,25", "3"], {"decimal": ","}),
        (["1.234,50", "7,25"], {"decimal": ",", "thousands": "."}),
        (["25.770", "1.2"], {}),
        (["$1,250.50", "$7.25", "-$3"], {"thousands": ",", "marks": ["$"]}),
        (["12.5%", "7 %"], {"marks": ["%"]}),
        (["(1,250)", "310", "25"], {"thousands": ",", "marks": ["()"]}),
        (["72 kg", "68.5 kg"], {"marks": ["kg"]}),
        (["A1", "B2", "%7x"], {}),
    ],
)
def test_signs_of_thousands_and_of_decimals(cells: list[str], written: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["x;y", *(f"{cells[i % len(cells)]};{i % 7}" for i in range(90)), ""]))
    schema = Schema.parse(looked(tmp_path / "t.csv", separator=";"))
    assert {key: value for key, value in schema.source.to_dict().items() if key != "separator"} == written


def test_money_and_hours_of_twelve_are_read_as_they_are_drafted(tmp_path: Path) -> None:
    """Amounts with their sign are numbers in bounds, and not hundreds of codes; afternoons are no texts."""
    rows = [
        f'"${1000 + 37 * i:,}.50","({i})",{i * i % 101 / 2}%,03/{1 + i % 28:02d}/2024 {1 + i % 12}:{i % 60:02d} PM'
        for i in range(400)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["paid,balance,rate,at", *rows, ""]))
    drafted = looked(path)
    schema = Schema.parse(drafted.replace("confirmed = false", "confirmed = true"))
    assert [column.tag for column in schema] == ["number", "integer", "number", "datetime"]
    assert schema.source.to_dict() == {
        "thousands": ",",
        "marks": ["$", "%", "()"],
        "dates": ["%m/%d/%Y %I:%M %p"],
    }
    assert "min = -400" in drafted
    assert not [finding for finding in check(str(path), schema).findings if finding.where in schema.names]


def test_two_numbers_far_apart_are_listed_and_nothing_is_below_zero(tmp_path: Path) -> None:
    lines = [f"{(36, 60)[i % 2]},{i % 3 % 2},0" for i in range(90)]
    (tmp_path / "t.csv").write_text("\n".join(["term,flag,late", *lines, ""]))
    columns = {one["name"]: one for one in Schema.parse(looked(tmp_path / "t.csv")).to_dict()["columns"]}
    assert columns["term"]["values"] == [36, 60]
    assert (columns["flag"]["min"], columns["flag"]["max"], columns["late"]["min"]) == (0, 1, 0)


def test_instants_keep_their_zone_and_how_far_apart_a_clock_puts_them(tmp_path: Path) -> None:
    lines = [
        f"2024-03-{1 + i % 28:02d}T{i % 24:02d}:{i % 6}0:00+01:00,2024-03-01 00:00:{i % 60:02d}.{i % 997:03d},"
        f"2024-{1 + i % 11:02d}-{1 + i % 27:02d} {i % 23:02d}:{5 * (i % 12):02d}"
        for i in range(400)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["logged,heard,local", *lines, ""]))
    columns = {one["name"]: one for one in Schema.parse(looked(tmp_path / "t.csv")).to_dict()["columns"]}
    assert {name: column.get("resolution") for name, column in columns.items()} == {
        "logged": 600,
        "heard": 0.001,
        "local": 300,
    }
    zoned = {column.name: column.arrow_type.tz for column in Schema.parse(looked(tmp_path / "t.csv"))}
    assert zoned == {"logged": "UTC", "heard": None, "local": None}


def test_dates_in_two_notations_infinities_and_no_name(tmp_path: Path) -> None:
    days = [f"2020-01-{i % 28 + 1:02d}" if i % 2 else f"{i % 28 + 1:02d}/02/2021" for i in range(300)]
    lines = [f"{day},{'inf' if i % 7 == 0 else i % 50},{i % 3}" for i, day in enumerate(days)]
    (tmp_path / "t.csv").write_text("\n".join(["day,cost,", *lines, ""]))
    drafted = looked(tmp_path / "t.csv")
    assert {column.name: (column.tag, column.nullable) for column in Schema.parse(drafted)} == {
        "day": ("date", False),
        "cost": ("integer", False),
    }
    assert '# column "" is left out: it has no name' in drafted
    assert 'dates = ["%d/%m/%Y"]' in drafted


def test_numbers_too_large_for_any_bound_are_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["key,n", *(f"{10**20 + i % 9},{i % 2}" for i in range(90)), ""]))
    assert [column.tag for column in Schema.parse(looked(tmp_path / "t.csv"))] == ["category", "integer"]


def test_a_rule_about_null_does_not_list_hundreds_of_names(tmp_path: Path) -> None:
    """Storms before 2004 have no size, and each has its name on many rows."""
    lines = [f"Storm {i // 30},{i % 7}{i % 9}," + (str(i % 13) if i > 1500 else "") for i in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["name,wind,size", *lines, ""]))
    assert "null_when" not in looked(tmp_path / "t.csv")


CELLS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=True).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.dates().map(str),
    st.datetimes().map(str),
    st.booleans().map(str),
    st.sampled_from(
        ["", "NA", "none", "-", "0", "007", "1,234", "0,5", "12.03.2021", "yes", "65+", "😀", 'a"b', "x;y"]
    ),
    st.text(max_size=12),
)


@given(
    st.lists(st.sampled_from(["a", "b c", "in", "weight", "id", "null"]), min_size=1, max_size=4, unique=True),
    st.integers(1, 60),
    st.data(),
)
def test_whatever_a_table_holds_its_draft_is_a_schema_that_reads_it(names: list[str], rows: int, data: Any) -> None:
    """Columns of a few cells each, so that they look like something: nothing but the confirmation is missing."""
    pools = [data.draw(st.lists(CELLS, min_size=1, max_size=6)) for _ in names]
    picks = np.random.default_rng(rows)
    cells = {
        name: [pool[i] for i in picks.integers(0, len(pool), rows)] for name, pool in zip(names, pools, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pq.write_table(pa.table(cells), path)
        drafted = looked(path).replace("confirmed = false", "confirmed = true")
        if "[columns." not in drafted:  # nothing but identifiers
            return
        schema = Schema.parse(drafted)
        assert check(str(path), schema).rows == rows


def test_answers_are_released_as_they_are_written(tmp_path: Path) -> None:
    """0 and 1 stay numbers, yes and no words: code that was written for the one table runs on the other."""
    path = tmp_path / "t.csv"
    every = itertools.product("01", ("yes", "no"), ("true", "false"))
    path.write_text("sick,told,insured\n" + "\n".join(map(",".join, every)))
    schema = Schema.parse(looked(path))
    assert [(column.tag, column.labels()) for column in schema] == [
        ("integer", ("0", "1")),
        ("category", ("no", "yes")),
        ("boolean", ("false", "true")),
    ]


def test_lists_and_records_are_left_out(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2] * 50, "tags": [[1], [1, 2]] * 50, "one": [{"x": 1}] * 100})
    pq.write_table(table, tmp_path / "t.parquet")
    text = looked(tmp_path / "t.parquet")
    assert Schema.parse(text).names == ("a",)
    assert text.count("is left out: its cells are lists or records: make a column of each part in the source") == 2


def test_limits_among_numbers_are_told_and_what_is_given_leaves_the_rest_to_find(tmp_path: Path) -> None:
    """A sign of limits or of decimals on the command line kept the other signs from being found."""
    cells = [f"1.{i:03d},{i % 10}" if i % 9 else "<0,5" for i in range(900)] * 2
    (tmp_path / "t.csv").write_text("\n".join(["crp", *cells, ""]))
    assert "All but limits are numbers: drafted with --mark '<', each is read as its limit" in looked(
        tmp_path / "t.csv", separator=";"
    )
    for told in ({"marks": ("<",)}, {"marks": ("<",), "decimal": ","}):
        schema = Schema.parse(looked(tmp_path / "t.csv", separator=";", **told))
        assert (schema.column("crp").tag, schema.source.thousands, schema.source.decimal) == ("number", ".", ",")
