"""Workbooks and files of SPSS, Stata and SAS: the same rows as the same table in a CSV file, to the last byte."""

import gzip
import json
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.bundle.codec import to_json
from kernelease.cli import app
from kernelease.drafting.drafts import code_book
from kernelease.drafting.inspection import check
from kernelease.errors import SourceError
from kernelease.sources import open_declared, open_source
from kernelease.sources.opening import read_public
from kernelease.table.encode import Encoder
from tests.sources.offices import SCHEMA, STAT_KINDS, frame, write_as, write_csv, write_stat

KINDS = ("xlsx", *STAT_KINDS)
PRIVACY = ke.Privacy(epsilon=2.0, delta=1e-6)


def codes(path: Path) -> list[list[int]]:
    """The atoms of all rows."""
    encoder = Encoder(SCHEMA)
    batches = open_declared(path, SCHEMA, batch_rows=37).batches(SCHEMA.names)
    return [row for batch in batches for row in encoder.encode(pa.Table.from_batches([batch])).tolist()]


def measured(path: Path, schema: ke.Schema = SCHEMA) -> str:
    method = ke.Interactions(solver=ke.fit.MixtureSolver(components=10, steps=10))
    made = ke.measure(path, schema=schema, privacy=PRIVACY, method=method, noise=ke.SeededNoise(0))
    return json.dumps(to_json(made.measured))


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_are_those_of_a_csv_file(kind: str, tmp_path: Path) -> None:
    table = frame()
    assert codes(write_as(kind, tmp_path, table)) == codes(write_as("csv", tmp_path, table))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_measurements_are_those_of_a_csv_file(kind: str, tmp_path: Path) -> None:
    table = frame()
    assert measured(write_as(kind, tmp_path, table)) == measured(write_as("csv", tmp_path, table))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", ["person", "initials"])
def test_persons_are_those_of_a_csv_file(unit: str, kind: str, tmp_path: Path) -> None:
    table = frame().drop(columns=["moment"])
    persons = [None if row == 5 else float(row // 3) for row in range(len(table))]
    table["person"] = pd.Series(persons, dtype=object)
    table["initials"] = [f"P{row // 3}" for row in range(len(table))]
    schema = ke.Schema(SCHEMA.columns[:2], name="visits", unit=unit, max_rows_per_unit=2)
    assert measured(write_as(kind, tmp_path, table), schema) == measured(write_as("csv", tmp_path, table), schema)


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_look(kind: str, tmp_path: Path) -> None:
    table = frame()
    found, plain = (check(write_as(each, tmp_path, table), SCHEMA) for each in (kind, "csv"))
    assert found.rows == plain.rows == len(table)
    assert [item.words for item in found.findings] == [item.words for item in plain.findings]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_from_draft_to_verified_bundle(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_as(kind, tmp_path, frame()).name

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.stdout

    drafted = run("schema", "draft", path)
    assert "[columns.moment]\n" in drafted
    assert ('type = "datetime"' in drafted) is (kind != "xlsx")
    Path("visits.toml").write_text(SCHEMA.to_toml(), "utf-8")
    run("check", path, "--schema", "visits.toml")
    run("release", path, "--schema", "visits.toml", "--epsilon", "2", "--delta", "1e-6", "--out", "bundle", "--fast")
    assert "✓ rows" in run("verify", "bundle")


@pytest.mark.parametrize(("kind", "extra"), [("xlsx", "excel"), ("sav", "stat"), ("dta", "stat"), ("xpt", "stat")])
def test_a_missing_extra_is_named_before_any_budget_is_spent(
    kind: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_as(kind, tmp_path, frame())
    monkeypatch.setitem(sys.modules, {"excel": "python_calamine", "stat": "pyreadstat"}[extra], None)
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=9.0, delta=1e-5))
    with pytest.raises(SourceError, match=rf"pip install 'kernelease\[{extra}\]'"):
        ke.release(path, schema=SCHEMA, privacy=PRIVACY, ledger=ledger)
    assert ledger.entries == []


@pytest.mark.parametrize("kind", ["xlsx", "xls", "ods", "sav", "dta", "xpt", "sas7bdat"])
def test_what_is_no_such_file_is_told(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"visits.{kind}"
    path.write_bytes(b"secret," * 100)
    with pytest.raises(SourceError, match=r"is not a (workbook|file of \w+) that can be read") as caught:
        open_source(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changed_between_passes_is_noticed(kind: str, tmp_path: Path) -> None:
    path = write_as(kind, tmp_path, frame())
    source = open_source(path)
    write_as(kind, tmp_path, frame(299))
    with pytest.raises(SourceError, match="changed while it was read"):
        list(source.batches(["age"]))


@pytest.mark.parametrize("kind", ["sav", "zsav"])
def test_a_file_that_was_cut_off_is_noticed(kind: str, tmp_path: Path) -> None:
    path = write_as(kind, tmp_path, frame(3000))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(SourceError, match="damaged or was cut off"):
        list(open_source(path).batches(["age"]))


def test_a_transport_file_that_was_cut_off_is_noticed(tmp_path: Path) -> None:
    path = write_as("xpt", tmp_path, frame())
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match="was cut off: a SAS transport file"):
        open_source(path)


@pytest.mark.parametrize("kind", KINDS)
def test_several_files_of_one_kind(kind: str, tmp_path: Path) -> None:
    write_as(kind, tmp_path, frame()).rename(tmp_path / f"part-1.{kind}")
    write_as(kind, tmp_path, frame(20)).rename(tmp_path / f"part-2.{kind}")
    source = open_source(str(tmp_path / f"part-*.{kind}"))
    assert sum(batch.num_rows for batch in source.batches(["age"])) == 320


@pytest.mark.parametrize("kind", KINDS)
def test_a_public_table(kind: str, tmp_path: Path) -> None:
    text = ke.draft(public=write_as(kind, tmp_path, frame()))
    drafted = ke.Schema.parse(text)
    assert drafted.column("seen").tag == "date"
    assert drafted.column("dose").tag == "number"
    assert read_public(tmp_path / f"visits.{kind}").num_rows == 300


# What only files of statistics software have.


@pytest.mark.parametrize("kind", ["sav", "zsav"])
def test_values_that_the_file_declares_to_be_missing_are_null(kind: str, tmp_path: Path) -> None:
    table = frame()
    path = write_stat(tmp_path / f"refused.{kind}", table, refused=True)
    assert codes(path) == codes(write_csv(tmp_path / "visits.csv", table))


def test_labels_are_a_code_book_and_never_cells(tmp_path: Path) -> None:
    path = write_stat(tmp_path / "visits.sav", frame(), refused=True)
    book = code_book(path)
    assert book["sex"].values == (1, 2)  # 9 is declared to be missing
    assert book["sex"].nullable is True
    assert ("values", [1, 2], "1 = female; 2 = male") in book["sex"].lines()
    assert book["age"].type == "integer"
    assert [book[name].type for name in ("city", "dose", "seen", "moment")] == [
        "category",
        "number",
        "date",
        "datetime",
    ]
    found = {cell for batch in open_source(path).batches(["sex"]) for cell in batch.column(0).to_pylist()}
    assert found == {1.0, 2.0, None}


def test_a_draft_takes_labels_where_it_is_told_to(tmp_path: Path) -> None:
    path = write_stat(tmp_path / "visits.dta", frame())
    plain = CliRunner().invoke(app, ["schema", "draft", str(path)]).stdout
    told = CliRunner().invoke(app, ["schema", "draft", str(path), "--from-dictionary", str(path)]).stdout
    assert "female" not in plain
    assert "values = [1, 2, 9]  # 1 = female; 2 = male; 9 = refused\n" in told


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_a_byte_that_is_no_text_stays_within_its_cell(kind: str, tmp_path: Path) -> None:
    table = frame(30)
    table["city"] = ["Ulmenhof"] * 30
    path = write_as(kind, tmp_path, table)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"Ulmenhof", b"Ulm\xff\xfehof", 1))
    cells = [cell for batch in open_source(path).batches(["city"]) for cell in batch.column(0).to_pylist()]
    assert sorted(cells) == ["Ulmenhof"] * 29 + ["Ulm\ufffd\ufffdhof"]


# Nobody but SAS and ReadStat's C writer makes .sas7bdat files: two of the latter's, plain and compressed, lie in sas/.
SAS = Path(__file__).parent / "sas"


def unpacked(name: str, folder: Path) -> Path:
    path = folder / f"{name}.sas7bdat"
    path.write_bytes(gzip.decompress((SAS / f"{name}.sas7bdat.gz").read_bytes()))
    return path


@pytest.mark.parametrize("name", ["visits", "packed"])
def test_a_data_set_of_sas(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    assert codes(path) == codes(SAS / "visits.csv")
    assert measured(path) == measured(SAS / "visits.csv")


@pytest.mark.parametrize("name", ["visits", "packed"])
def test_a_data_set_of_sas_that_was_cut_off_is_noticed(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(SourceError, match=r"cut off|is not a file of SAS"):
        list(open_source(path).batches(["age"]))
