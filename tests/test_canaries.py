"""No private cell in any message: canaries in all cells and in the header, every kind of source, every kind of damage.

Whatever comes of it, an error, a warning, a log record or a line on a screen, no canary may be in it. What is published
(noisy numbers, and names that the schema declares) is not looked at.
"""

import contextlib
import gzip
import io
import logging
import random
import sqlite3
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from typer.testing import CliRunner

from kernelease import Privacy, Subspace, measure, release
from kernelease.cli import app
from kernelease.drafting.drafts import draft_schema
from kernelease.errors import KerneleaseError, SchemaError
from kernelease.fit import NormalPoints
from kernelease.kernels import Gaussian, Kronecker
from kernelease.sources import open_source
from kernelease.table import Schema

# Put together here, so that a line of source in a traceback doesn't hold them.
WORD, NUMBER = "Ca" + "nary", int("8" + "27364519")
CELLS = [f"{WORD} {i}" for i in range(6)]
# The names are canaries, too, but for those that are declared; the last one is near a declared name.
FRAME = {
    "age": [NUMBER] * 6,
    "ward": CELLS,
    f"{WORD}name": CELLS[::-1],
    f"absent{WORD}": [f'{WORD}, "{WORD}"\n{WORD}', "", None, *CELLS[:3]],
}
TABLE = pa.table(FRAME)

AGE = '[columns.age]\ntype = "integer"\nmin = 0\nmax = 9\n'
WARD = '[columns.ward]\ntype = "category"\nvalues = ["north", "south"]\n'
SCHEMAS = {
    "fits": AGE + WARD,
    "add-remove": f'[table]\nneighbours = "add-remove"\n{AGE}{WARD}',
    "other types": AGE.replace("age", "ward") + WARD.replace("ward", "age"),
    "a column that is not there": AGE + WARD.replace("ward", "absent"),
    "a unit": f'[table]\nunit = "ward"\nmax_rows_per_unit = 2\n{AGE}',
    "a unit that is not there": f'[table]\nunit = "absent"\nmax_rows_per_unit = 2\n{AGE}',
    "lines": f'[source]\nrecords = "lines"\n{AGE}{WARD}',
}
PROMISE = Privacy(epsilon=1.0, delta=1e-9)


def csv_bytes(separator: str = ",") -> bytes:
    return TABLE.to_pandas().to_csv(index=False, sep=separator, lineterminator="\n").encode()


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "t.parquet")
    return folder / "t.parquet"


def feather(folder: Path) -> Path:
    pyarrow.feather.write_feather(TABLE, folder / "t.feather", compression="uncompressed")
    return folder / "t.feather"


def stream(folder: Path) -> Path:
    with pa.ipc.new_stream(folder / "t.arrows", TABLE.schema) as writer:
        writer.write_table(TABLE)
    return folder / "t.arrows"


def written(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def sqlite(folder: Path) -> Path:
    with contextlib.closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        TABLE.to_pandas().to_sql("people", connection, index=False)
    return folder / "t.sqlite"


def duck(folder: Path) -> Path:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return folder / "t.duckdb"


def excel(folder: Path) -> Path:
    pd.DataFrame(FRAME).to_excel(folder / "t.xlsx", index=False)
    return folder / "t.xlsx"


def stat(ending: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        writers = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}
        names = {f"{WORD}name": f"{WORD}1", f"absent{WORD}": f"a{WORD}"}  # SAS allows 8 letters
        writers[ending](pd.DataFrame(FRAME).rename(columns=names).fillna(""), folder / f"t.{ending}")
        return folder / f"t.{ending}"

    return write


FILES: dict[str, Callable[[Path], Path]] = {
    "csv": written("t.csv", csv_bytes()),
    "csv without a header": written("t.csv", csv_bytes().split(b"\n", 1)[1]),
    "csv with one name twice": written("t.csv", f"{WORD},{WORD}\n1,2\n".encode()),
    "csv whose header is open": written("t.csv", f'age,"{WORD}\n{WORD},2\n'.encode()),
    "csv of carriage returns": written("t.csv", csv_bytes().replace(b"\n", b"\r")),
    "csv in UTF-16": written("t.csv", csv_bytes().decode().encode("utf-16")),
    "csv with lone quotes": written("t.csv", csv_bytes().replace(b'""', b'"')),
    "csv of semicolons": written("t.csv", csv_bytes(";")),
    "tsv": written("t.tsv", csv_bytes("\t")),
    "csv.gz": written("t.csv.gz", gzip.compress(csv_bytes())),
    "parquet": parquet,
    "feather": feather,
    "arrow stream": stream,
    "sqlite": sqlite,
    "duckdb": duck,
    "excel": excel,
    "spss": stat("sav"),
    "stata": stat("dta"),
    "sas": stat("xpt"),
}
RAISING = type("Raising", (str,), {"encode": lambda *_: 1 / 0, "__eq__": lambda *_: 1 / 0, "__hash__": str.__hash__})
MEMORY: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(FRAME),
    "pandas, objects": lambda: pd.DataFrame(FRAME).astype(object),
    "pandas, categories": lambda: pd.DataFrame(FRAME).astype("category"),
    "pandas, one name twice": lambda: pd.DataFrame([CELLS[:2]], columns=[WORD, WORD]),
    "pandas, odd cells": lambda: pd.DataFrame({"age": [RAISING(WORD), {WORD}, [WORD]], "ward": CELLS[:3]}),
    "polars": lambda: pl.DataFrame(FRAME),
    "pyarrow": lambda: TABLE,
    "pyarrow, dictionaries": lambda: pa.table({"age": TABLE["ward"].dictionary_encode(), "ward": TABLE["ward"]}),
    "pyarrow, not UTF-8": lambda: pa.table({name: TABLE["ward"].combine_chunks() for name in ("age", "ward")}),
    "pyarrow, nested": lambda: pa.table({"age": [CELLS], "ward": [{WORD: CELLS}]}),
    "a reader that is used up": lambda: (reader := TABLE.to_reader(), list(reader))[0],
    "duckdb relation": lambda: duckdb.connect().from_arrow(TABLE),
    "duckdb relation that fails": lambda: duckdb.connect().from_arrow(TABLE).project("CAST(ward AS INT) AS age, ward"),
    "a list of dicts": TABLE.to_pylist,
    "a dict": lambda: dict(FRAME),
    "a list of texts": lambda: list(CELLS),
    "an object": object,
}
QUERIES = (
    *("people", "SELECT ward AS age, age AS ward FROM people", "missing", "SELECT missing FROM people", "SELEC", None),
    *("SELECT CAST(ward AS INTEGER) AS age, ward FROM people", "SELECT error(ward) AS age, ward FROM people"),
    *("SELECT json(ward) AS age, ward FROM people", "SELECT json_extract(ward, '$.x') AS age, ward FROM people"),
    *("SELECT strptime(ward, '%Y') AS age, ward FROM people", "SELECT age, ward FROM people WHERE ward::DATE > now()"),
    *("SELECT age, (SELECT ward::INT) AS ward FROM people", "SELECT abs(ward) AS age, ward || 1/0 AS ward FROM people"),
    *(
        "PIVOT people ON ward USING max(age)",
        "SELECT age, ward, age FROM people",
        "SELECT * EXCLUDE (absent) FROM people",
    ),
)


def all_said(call: Callable[[], object]) -> str:
    """Everything that a call says: its error as a traceback prints it, warnings, log records, both screens."""
    shown, logged, error = io.StringIO(), io.StringIO(), ""
    handler = logging.StreamHandler(logged)
    logging.getLogger().addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(shown),
            contextlib.redirect_stderr(shown),
        ):
            warnings.simplefilter("always")
            try:
                call()
            except KerneleaseError as failure:
                error = "".join(traceback.format_exception(failure)) + f"{failure!r} {failure} {vars(failure)}"
    finally:
        logging.getLogger().removeHandler(handler)
    return "\n".join([shown.getvalue(), logged.getvalue(), error, *(str(item.message) for item in caught)])


def check(call: Callable[[], object]) -> str:
    said = all_said(call)
    assert WORD not in said
    assert str(NUMBER) not in said
    return said


def read(data: Any, query: str | None, schema: Schema) -> None:
    """A whole measurement, and a draft, whose text is for the owner who gave the names."""
    source = open_source(data, query=query, batch_rows=4)
    draft_schema(source, "table")
    assert WORD not in f"{source!r} {source.describe()}"
    measure(source, schema=schema, privacy=PROMISE)


def damages(original: bytes) -> Iterator[bytes]:
    """A file cut off, and with bytes changed, here and there."""
    chance = random.Random(0)
    yield b""
    yield original + original
    for _ in range(12):
        yield original[: chance.randrange(len(original))]
        changed = bytearray(original)
        for _ in range(chance.choice([1, 3, 30])):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        yield bytes(changed)


def query_of(path: Path) -> str | None:
    return "people" if path.suffix in (".sqlite", ".duckdb", ".db") else None


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("kind", FILES)
def test_files(kind: str, schema: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    check(lambda: read(path, query_of(path), Schema.parse(SCHEMAS[schema])))


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("kind", MEMORY)
def test_what_is_in_memory(kind: str, schema: str) -> None:
    check(lambda: read(MEMORY[kind](), None, Schema.parse(SCHEMAS[schema])))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "spss"])  # a damaged header ends ReadStat's process
def test_damaged_files(kind: str, tmp_path: Path) -> None:
    path, schema = FILES[kind](tmp_path), Schema.parse(SCHEMAS["fits"])
    for content in damages(path.read_bytes()):
        path.write_bytes(content)
        check(lambda: read(path, query_of(path), schema))


@pytest.mark.parametrize("kind", FILES)
def test_files_under_another_name(kind: str, tmp_path: Path) -> None:
    path, schema = FILES[kind](tmp_path), Schema.parse(SCHEMAS["fits"])
    for suffix in (
        ".csv",
        ".tsv",
        ".csv.gz",
        ".parquet",
        ".feather",
        ".sqlite",
        ".duckdb",
        ".db",
        ".xlsx",
        ".sav",
        ".dta",
        ".xpt",
    ):
        other = tmp_path / f"other{suffix}"
        other.write_bytes(path.read_bytes())
        check(lambda other=other: read(other, query_of(other), schema))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_queries(kind: str, tmp_path: Path) -> None:
    path, schema = FILES[kind](tmp_path), Schema.parse(SCHEMAS["fits"])
    (tmp_path / "no-header.csv").write_bytes(csv_bytes().split(b"\n", 1)[1])
    (tmp_path / "ragged.csv").write_bytes(b'age,ward\n1,"' + csv_bytes() + b"\xff\n,,,,,")
    csv_queries = (
        f"SELECT age, ward FROM read_csv('{tmp_path}/{name}.csv'{how})"
        for name in ("no-header", "ragged")
        for how in ("", ", header = true", ", columns = {'age': 'INT', 'ward': 'VARCHAR'}", ", strict_mode = true")
    )
    for query in (*QUERIES, *csv_queries):
        check(lambda query=query: read(path, query, schema))


@pytest.mark.parametrize("cell", [WORD, [WORD], {WORD}, RAISING(WORD), np.str_(WORD)], ids=lambda c: type(c).__name__)
def test_vectors(cell: object) -> None:
    rows = np.empty((6, 2), dtype=object)
    rows[:] = [[NUMBER, cell]] * 6
    for shape in (rows, rows[:, :1], rows[:, 0], rows.tolist(), [*rows.tolist(), [NUMBER]], list(CELLS), WORD):
        for kernel in (Gaussian(lengthscale=1.0), Kronecker(values=(WORD[:2],))):
            method = Subspace(points=NormalPoints(dimension=2, scale=1.0), count=4)
            check(lambda s=shape, k=kernel, m=method: release(s, kernel=k, method=m, privacy=PROMISE))


COMMANDS = {
    "measure": ("measure", "DATA", "--schema", "SCHEMA", "--epsilon", "1", "--delta", "1e-9", "--out", "OUT"),
    "json": ("release", "DATA", "--schema", "SCHEMA", "--epsilon", "1", "--delta", "1e-9", "--out", "OUT", "--json"),
    "bounds": ("schema", "draft", "DATA", "--private-bounds", "0.5", "--ledger", "LEDGER", "--out", "DRAFT"),
}


def run(words: tuple[str, ...], path: Path, schema: str, folder: Path) -> str:
    """All that a command says. What is not an error of kernelease's own would keep its traceback."""
    (folder / "schema.toml").write_text(SCHEMAS[schema])
    runner, places = CliRunner(), {"DATA": str(path), "SCHEMA": str(folder / "schema.toml")}
    runner.invoke(app, ["budget", "create", str(folder / "LEDGER"), "--epsilon", "2", "--delta", "1e-6"])
    query = ["--query", "people"] if query_of(path) else []
    result = runner.invoke(
        app, [*(places.get(word, str(folder / word) if word.isupper() else word) for word in words), *query]
    )
    trace = "".join(traceback.format_exception(result.exception)) if result.exception else ""
    return f"{result.stdout}\n{result.stderr}\n{trace}"


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", FILES)
def test_commands(kind: str, command: str, tmp_path: Path) -> None:
    for number, schema in enumerate(("fits", "a column that is not there", "a unit that is not there")):
        folder = tmp_path / str(number)
        folder.mkdir()
        said = run(COMMANDS[command], FILES[kind](folder), schema, folder)
        assert WORD not in said
        assert str(NUMBER) not in said


def suggesting(self: Schema, names: Sequence[str]) -> None:
    """The broken twin: a message that suggests a name of the source."""
    for name in self.names:
        if name not in names:
            raise SchemaError(f"There is no column {name}. Did you mean {names[-1]}?")


def chained(self: Schema, names: Sequence[str]) -> None:
    """Another: a message without a cell, that came of one with it."""
    try:
        int(names[-1])
    except ValueError as error:
        raise SchemaError("There is no such column.") from error


def warned(self: Schema, names: Sequence[str]) -> None:
    """Another: only a warning."""
    warnings.warn(f"{names[-1]} is ignored", stacklevel=2)


@pytest.mark.parametrize("twin", [suggesting, chained, warned], ids=lambda twin: twin.__name__)
def test_the_search_finds_what_it_looks_for(twin: Any, tmp_path: Path) -> None:
    path, schema = FILES["csv without a header"](tmp_path), Schema.parse(SCHEMAS["a column that is not there"])
    with mock.patch.object(Schema, "check_source", twin):
        assert WORD in all_said(lambda: read(path, None, schema))
    with mock.patch.object(Schema, "check_source", suggesting):
        assert WORD in run(COMMANDS["measure"], path, "a column that is not there", tmp_path)
