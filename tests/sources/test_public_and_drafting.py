"""Public tables, whose types may be guessed; and drafts for private ones, whose may not."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kernelease.drafting.drafts import draft_schema, measure_domain
from kernelease.errors import BudgetError, ParameterError, SourceError
from kernelease.ledgers import LedgerFile
from kernelease.noises import SeededNoise
from kernelease.privacy import Privacy
from kernelease.sources import open_source
from kernelease.sources.opening import read_public


@pytest.fixture
def ledger(tmp_path):
    return LedgerFile.create(tmp_path / "ledger", cap=Privacy(epsilon=1.0, delta=0.0))


def test_types_of_a_public_csv_are_guessed(tmp_path):
    (tmp_path / "p.csv").write_text('a,b,c\n1,x,2020-01-01\n,"two\nlines",\n')
    table = read_public(tmp_path / "p.csv")
    assert table.schema.types == [pa.int64(), pa.string(), pa.date32()]
    assert table.to_pylist()[1] == {"a": None, "b": "two\nlines", "c": None}
    (tmp_path / "p.tsv").write_text("a\tb\n1\tx,y\n")
    assert read_public(tmp_path / "p.tsv").to_pylist() == [{"a": 1, "b": "x,y"}]


def test_other_public_files_keep_their_types(tmp_path):
    table = pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", None]})
    pq.write_table(table, tmp_path / "p.parquet")
    assert read_public(tmp_path / "p.parquet").to_pylist() == table.to_pylist()


def test_a_public_file_that_can_not_be_read(tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n1\n")
    with pytest.raises(SourceError, match="can't be read"):
        read_public(tmp_path / "p.csv")
    with pytest.raises(SourceError, match="There is no file"):
        read_public(tmp_path / "nothing.csv")


def test_measured_bounds_go_into_the_draft(ledger):
    source = open_source(pa.table({"n": pa.array([5] * 2000), "huge": pa.array([1e17] * 2000), "t": ["x"] * 2000}))
    found = measure_domain(source, epsilon=1.0, ledger=ledger, noise=SeededNoise(0))
    assert set(found.bounds) == {"n", "huge"}
    text = draft_schema(source, "t", known=found.lines(source))
    assert re.search(r'type = "integer"\nmin = 2  # measured.*\nmax = 10  # measured', text)
    assert 'type = "number"\nmin = 2e+16' in text
    assert ledger.spent().pure_epsilon == 1.0


def test_bounds_are_not_measured_for_nothing(ledger, tmp_path):
    with pytest.raises(ParameterError, match="no column of numbers"):
        measure_domain(open_source(pa.table({"t": ["x"]})), epsilon=0.5, ledger=ledger)
    of_persons = LedgerFile.create(tmp_path / "persons", cap=Privacy(epsilon=1.0, delta=0.0), unit="person")
    with pytest.raises(BudgetError, match="each person"):
        measure_domain(open_source(pa.table({"n": [1]})), epsilon=0.5, ledger=of_persons)
    assert ledger.entries() == of_persons.entries() == []


def test_texts_that_many_rows_hold_are_found_where_the_cap_has_a_delta(tmp_path: Path) -> None:
    table = pa.table({"n": list(range(3000)), "town": ["Ulm"] * 1500 + ["Bonn"] * 1499 + ["Rare"]})
    ledger = LedgerFile.create(tmp_path / "books.sqlite", cap=Privacy(epsilon=9.0, delta=1e-4))
    for source in (open_source(table), open_source(_csv(tmp_path, table))):
        found = measure_domain(source, epsilon=2.0, ledger=ledger)
        assert found.values["town"] == ("Bonn", "Ulm")
        text = draft_schema(source, "t", known=found.lines(source))
        assert 'values = ["Bonn", "Ulm"]' in text
        assert "Rare" not in text


def _csv(folder: Path, table: pa.Table) -> Path:
    pa.csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"
