"""The private look finds each damage of a first hour, says the line to write, and touches nothing else."""

import datetime
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelease.cli.work.summary import look_page
from kernelease.drafting.findings import PRIVATE, Finding, Level, Report
from kernelease.drafting.inspection import check, format_damage
from kernelease.errors import ParameterError, SchemaError
from kernelease.table import Schema

SCHEMA = """
[table]
name = "t"
{table}

{source}

[columns.age]
type = "integer"
min = 0
max = 120
{age}

[columns.sex]
type = "category"
values = ["Female", "Male"]
{sex}

[columns.seen]
type = "date"
min = 2020-01-01
max = 2024-12-31
{seen}
"""


def schema(**parts: str) -> Schema:
    return Schema.parse(SCHEMA.format(**{**dict.fromkeys(("table", "source", "age", "sex", "seen"), ""), **parts}))


def rows(age: object = "30", sex: object = "Male", seen: object = "2021-06-05", count: int = 200) -> pa.Table:
    """A table in order, but for a tenth of its rows."""
    ages, sexes, days = ["30"] * count, ["Male", "Female"] * (count // 2), ["2021-06-05"] * count
    for place in range(0, count, 10):
        ages[place], sexes[place], days[place] = age, sex, seen  # type: ignore[call-overload]  # anything may be a cell
    return pa.table({"age": ages, "sex": sexes, "seen": days})


def of(report: Report, where: str) -> Finding:
    return next(finding for finding in report.findings if finding.where == where)


@pytest.mark.parametrize("beyond", [179, 180, 200])
def test_values_beyond_a_bound_stop_no_release(beyond: int) -> None:
    """Whether a release is made must not hang on what cells say once they are read: `check` tells it to the owner."""
    born = rows().set_column(0, "age", pa.array(["1984"] * beyond + ["34"] * (200 - beyond)))
    assert not format_damage(born, schema())
    assert of(check(born, schema()), "age").level is Level.DAMAGE


def test_a_table_in_order() -> None:
    report = check(rows(), schema())
    assert (report.findings, report.level, report.rows) == ((), Level.NOTE, 200)
    assert not report.damaged(strict=True)


@pytest.mark.parametrize(
    ("cells", "where", "words", "remedy"),
    [
        ({"age": "n/a"}, "age", "can't be read as numbers, they become 0: 'n/a' 20 times", '[source] nulls = ["n/a"]'),
        ({"age": "1,5"}, "age", "can't be read as numbers", '[source] decimal = ","'),
        ({"age": "1 234"}, "age", "can't be read as numbers", '[source] thousands = " "'),
        ({"age": "$ 34"}, "age", "can't be read as numbers", '[source] marks = ["$"]'),
        ({"age": "old"}, "age", "can't be read as numbers", "correct them in the source"),
        ({"age": "300"}, "age", "above max = 120: they are 120", "a higher max"),
        ({"age": "-3"}, "age", "below min = 0: they are 0", "a lower min"),
        ({"age": "30.5"}, "age", "have decimals, which are cut off", 'type = "number"'),
        ({"age": None}, "age", "declared without NULL: they become 0", "nullable = true in [columns.age]"),
        ({"sex": "MALE"}, "sex", "'MALE' 20 times (nearest: 'Male')", 'values = ["Female", "MALE"]'),
        ({"sex": "diverse"}, "sex", "not among the declared values, they become Female", "other = true"),
        ({"sex": "NA"}, "sex", "not among the declared values", '[source] nulls = ["NA"]'),
        ({"sex": "M\ufffdle"}, "sex", "not among the declared values", "list them in values"),
        ({"seen": "31/12/2021"}, "seen", "can't be read as dates, they become 2020-01-01", 'dates = "%d/%m/%Y"'),
        ({"seen": "12/31/2021"}, "seen", "can't be read as dates", 'dates = "%m/%d/%Y"'),
        ({"seen": "31.12.2021 10:30"}, "seen", "can't be read as dates", 'dates = "%d.%m.%Y %H:%M"'),
        ({"seen": "1999-12-31"}, "seen", "below min = 2020-01-01", "a lower min"),
    ],
)
def test_damage_is_found_with_the_line_to_write(
    cells: dict[str, object], where: str, words: str, remedy: str, tmp_path: Path
) -> None:
    table = rows(**cells)
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.parquet", table.to_pandas()):
        found = of(check(data, schema()), where)
        assert found.level is Level.DAMAGE
        assert words in found.words
        assert remedy in found.remedy


def test_few_cells_are_damage_only_where_one_is_strict() -> None:
    table = rows("n/a", count=4000).slice(0, 3).to_pylist() + rows(count=1000).to_pylist()
    report = check(pa.Table.from_pylist(table), schema())
    assert report.level is Level.LOOK
    assert not report.damaged()
    assert report.damaged(strict=True)


def test_a_bucket_for_others_is_meant_until_it_takes_half() -> None:
    assert of(check(rows(sex="diverse"), schema(sex="other = true")), "sex").level is Level.NOTE
    shouted = rows().set_column(1, "sex", pa.array(["MALE"] * 200))
    assert of(check(shouted, schema(sex="other = true")), "sex").level is Level.DAMAGE


def test_types_that_need_no_reading() -> None:
    table = pa.table(
        {
            "age": pa.array([300, 7], pa.int64()),
            "sex": pa.array(["Male", None]).dictionary_encode(),
            "seen": [datetime.date(1990, 1, 1)] * 2,
        }
    )
    found = {finding.where for finding in check(table, schema()).findings}
    assert found == {"age", "sex", "seen"}


def test_rules_and_persons_and_delta() -> None:
    declared = schema(table='constraints = ["age >= 18"]\nunit = "who"\nmax_rows_per_unit = 2')
    table = rows("7").append_column("who", pa.array(["a", "b", "c", None] * 50))
    report = check(table.append_column("extra", pa.array(["x"] * 200)), declared, delta=0.5)
    assert "20 of 200 (10 %) rows break 'age >= 18'" in of(report, "constraints").words
    assert "3 of 3 (100 %) persons have more than 2 rows" in of(report, "who").words
    assert any("rows have no who" in finding.words for finding in report.findings)
    assert "not in the schema, so not released: extra" in of(report, "columns").words
    assert "delta = 0.5 is not below 1/3" in of(report, "delta").words
    assert not [finding for finding in check(table, declared, delta=1e-6).findings if finding.where == "delta"]


BODY = b"age,sex,seen\n" + b"30,Male,2021-06-05\n" * 50


@pytest.mark.parametrize(
    ("data", "source", "words", "remedy"),
    [
        (BODY + b"31,M\xe4le,2021-06-05\n", "", "not in UTF-8", 'encoding = "latin-1"'),
        (BODY + b"31,M\x93le,2021-06-05\n", "", "not in UTF-8", 'encoding = "cp1252"'),
        (BODY + "31,Mäle,2021-06-05\n".encode(), '[source]\nencoding = "latin-1"', "is in UTF-8", 'encoding = "utf-8"'),
        (BODY + b"31,Male\n", "", "1 of 51 (1.96 %) records have more or fewer cells", "separator"),
        (BODY + b'31,"Male,2021-06-05\n' * 1, "", "a quote that is never closed", 'quote = ""'),
        (BODY + b'31,"Ma\nle",2021-06-05\n', "", "go over several lines", 'records = "lines"'),
        (b"age,sex,seen\n", "", "no records but its first line", "names"),
    ],
)
def test_files(data: bytes, source: str, words: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    found = [finding for finding in check(path, schema(source=source)).findings if words in finding.words]
    assert len(found) == 1
    assert remedy in found[0].remedy
    assert found[0].where == f"CSV file {path}"


def test_several_files_are_looked_at(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_bytes(BODY + b"31,M\xe4le,2021-06-05\n")
    assert sum("UTF-8" in finding.words for finding in check(tmp_path, schema()).findings) == 2


def test_a_missing_column_is_told_before_a_row_is_read() -> None:
    with pytest.raises(SchemaError, match="the source has no column 'seen'"):
        check(rows().drop_columns(["seen"]), schema())


def test_every_line_says_that_it_is_private() -> None:
    report = check(rows("<b>old</b>"), schema())
    assert all(line.startswith(f"[{PRIVATE}]") for line in str(report).split("\n"))
    assert all(item["private"] == PRIVATE for item in (report.to_dict(), *report.to_dict()["findings"]))
    page = look_page(report)
    assert unescape(page).count(PRIVATE) == 2 + len(report.findings)
    assert "<b>old</b>" not in page
    assert "&lt;b&gt;old&lt;/b&gt;" in page


def test_a_finding_says_something() -> None:
    with pytest.raises(ParameterError, match="must say something"):
        Finding(level=Level.NOTE, where="x", words="", remedy="y")


@pytest.mark.parametrize("kind", ['"category"\nvalues = ["[1]"]', '"integer"\nmin = 0\nmax = 9', '"boolean"'])
def test_lists_and_records_are_named_and_stop_a_release(kind: str) -> None:
    """Arrow counts neither. Nothing of them is quoted, and undeclared ones are in nobody's way."""
    table = pa.table({"a": [1, 2] * 50, "tags": [[1], [1, 2]] * 50, "": [{"x": 1}] * 100})
    declared = Schema.parse(f"[columns.tags]\ntype = {kind}\n")
    found = of(check(table, declared), "tags")
    assert found.level is Level.DAMAGE
    assert "'list<item: int64>' 100 times" in found.words
    assert [one.where for one in format_damage(table, declared)] == ["tags"]
    undeclared = check(table, Schema.parse('[columns.a]\ntype = "integer"\nmin = 0\nmax = 9\n'))
    assert undeclared.level is Level.NOTE
    assert of(undeclared, "columns").words == "not in the schema, so not released: tags, one without a name"


def test_what_a_laboratory_can_not_measure_is_shown_as_it_is_written() -> None:
    """With a decimal comma each such cell was shown as '?', and nulls = ["?"] was advised."""
    declared = '[source]\ndecimal = ","\n[columns.crp]\ntype = "number"\nmin = 0\nmax = 9\n'
    table = pa.table({"crp": ["<0,5", "1,5", "2", "3"] * 25})
    found = of(check(table, Schema.parse(declared)), "crp")
    assert found.words == "25 of 100 (25 %) cells can't be read as numbers, they become 0.0: '<0,5' 25 times"
    assert found.remedy == '[source] marks = ["<"] reads each as its limit'
    marked = declared.replace('decimal = ","', 'decimal = ","\nmarks = ["<"]')
    assert check(table, Schema.parse(marked)).level is Level.NOTE
    absent = of(check(pa.table({"crp": ["n/a", "1,5"] * 50}), Schema.parse(declared)), "crp")
    assert absent.remedy == '[source] nulls = ["n/a"], and nullable = true in [columns.crp]'


@pytest.mark.parametrize(("cap", "remedy"), [(4, "a higher max_rows_per_unit"), (16, "16 is the most: if that loses")])
def test_no_cap_is_advised_that_there_is_not(cap: int, remedy: str) -> None:
    unit = f'[table]\nunit = "home"\nmax_rows_per_unit = {cap}\n[columns.a]\ntype = "integer"\nmin = 0\nmax = 9\n'
    table = pa.table({"home": [f"H{i % 30}" for i in range(900)], "a": [i % 9 for i in range(900)]})
    assert of(check(table, Schema.parse(unit)), "home").remedy.startswith(remedy)
