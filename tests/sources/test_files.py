"""Files: found, of one kind, whole, and unchanged while they are read."""

import datetime
import os
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from kernelease.errors import SchemaError, SourceError
from kernelease.sources import Source, open_source

MANY = pa.table({"number": range(300_000), "word": ["secret"] * 300_000})


def write(path: Path, table: pa.Table = MANY) -> Path:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50_000)
    else:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    return path


def count(source: Source) -> int:
    return sum(batch.num_rows for batch in source.batches(["number"]))


KINDS = pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])


@KINDS
def test_passes_are_alike(name: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path / name))
    assert count(source) == count(source) == 300_000


@KINDS
@pytest.mark.parametrize("cores", [1, 99])  # row groups of a Parquet file by threads of their own, or in turn
def test_pieces_in_any_order_and_thread_are_the_pass(
    name: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelease.sources.arrow.cores", lambda: cores)
    source = open_source(write(tmp_path / name))
    expected = pa.Table.from_batches(source.batches(["number", "word"]))
    pieces = list(source.pieces(["number", "word"]))
    assert len(pieces) >= 2
    with ThreadPoolExecutor(3) as pool:
        parts = list(pool.map(lambda piece: list(piece()), reversed(pieces)))
    assert pa.Table.from_batches([batch for part in reversed(parts) for batch in part]).equals(expected)


@KINDS
def test_a_piece_of_a_file_that_has_changed_is_noticed(name: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path / name))
    pieces = source.pieces(["number", "word"])
    first = next(pieces)
    write(tmp_path / name, MANY.slice(1))
    with pytest.raises(SourceError, match="changed while it was read"):
        list(first())


@KINDS
def test_a_file_that_changed_between_passes_is_noticed(name: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path / name))
    count(source)
    write(tmp_path / name, MANY.slice(1))
    with pytest.raises(SourceError, match="changed while it was read; nothing was spent"):
        count(source)


@KINDS
def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_noticed(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    source, stamp = open_source(path), path.stat()
    write(tmp_path / f"other-{name}").rename(path)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.raises(SourceError, match="changed while it was read"):
        count(source)


@KINDS
@pytest.mark.parametrize("size", [0, 10_000])
def test_a_file_that_is_cut_off_within_a_pass_is_noticed(name: str, size: int, tmp_path: Path) -> None:
    source = open_source(write(tmp_path / name), batch_rows=1_000)
    batches = source.batches(["number", "word"])
    next(batches)
    os.truncate(tmp_path / name, size)
    with pytest.raises(SourceError, match="changed while it was read"):
        list(batches)


@KINDS
def test_a_file_that_vanished_is_noticed(name: str, tmp_path: Path) -> None:
    source = open_source(write(tmp_path / name))
    (tmp_path / name).unlink()
    with pytest.raises(SourceError, match="changed while it was read"):
        count(source)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_damage_within_a_file_is_reported_without_its_words(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    data = bytearray(path.read_bytes())
    data[8:-4000] = b"secret" * ((len(data) - 4008) // 6) + b"x" * ((len(data) - 4008) % 6)
    path.write_bytes(data)
    with pytest.raises(SourceError, match="damaged or was cut off") as caught:
        for _ in open_source(path).batches(["number", "word"]):
            pass
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.ipc"])
def test_files_that_are_not_what_their_name_says(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"secret")
    with pytest.raises(SourceError, match="is not a") as caught:
        open_source(tmp_path / name)
    assert "secret" not in str(caught.value)


def test_one_large_batch_is_handed_on_in_small_ones(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, MANY.schema) as writer:
        writer.write_table(MANY.combine_chunks())
    sizes = [batch.num_rows for batch in open_source(path, batch_rows=2**16).batches(["word"])]
    assert max(sizes) == 2**16
    assert sum(sizes) == 300_000


def test_parquet_instants_of_old_writers_do_not_wrap_around(tmp_path: Path) -> None:
    far = datetime.datetime(9999, 12, 31, 23, 59, 59)
    table = pa.table({"x": pa.array([far, None], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    (batch,) = open_source(tmp_path / "t.parquet").batches(["x"])
    assert batch["x"].to_pylist() == [far, None]


def test_parquet_columns_of_text_within_others(tmp_path: Path) -> None:
    table = pa.table({"list": [["a"], None], "struct": [{"x": "a"}, None], "struct.x": ["b", None]})
    pq.write_table(table, tmp_path / "t.parquet")
    (batch,) = open_source(tmp_path / "t.parquet").batches(["struct.x", "list", "struct"])
    assert batch["struct.x"].to_pylist() == ["b", None]
    assert batch["list"].to_pylist() == [["a"], None]
    assert batch["struct"].to_pylist() == [{"x": "a"}, None]


def test_parquet_texts_that_are_few_are_read_as_a_dictionary(tmp_path: Path) -> None:
    words = [f"word {i}" for i in range(30_000)]
    pq.write_table(pa.table({"few": ["a", "b", None] * 10_000, "many": words}), tmp_path / "t.parquet")
    for batch in open_source(tmp_path / "t.parquet", batch_rows=1000).batches(["few", "many"]):
        assert pa.types.is_dictionary(batch["few"].type)
        assert batch["many"].type == pa.string()


def test_types_may_differ_between_files(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", pa.table({"number": [1, 2]}))
    write(tmp_path / "b.parquet", pa.table({"number": [1.5, None]}))  # a NULL made it a double: no reason to fail
    source = open_source(tmp_path)
    assert [batch["number"].to_pylist() for batch in source.batches(["number"])] == [[1, 2], [1.5, None]]
    assert source.declared_schema() == pa.schema([("number", pa.int64())])


def test_every_file_must_have_the_columns(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", pa.table({"number": [1], "word": ["x"]}))
    write(tmp_path / "b.csv", pa.table({"word": ["x"]}))
    with pytest.raises(SchemaError, match=r"b\.csv has no column 'number'"):
        open_source(tmp_path).batches(["word", "number"])


def test_folders_within_folders_and_marks_beside_the_files(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for place in ("a.csv", "deep/er/b.csv", ".hidden/c.csv", "_d.csv"):
        write(tmp_path / place, pa.table({"number": [1]}))
    (tmp_path / "notes.txt").write_text("not a table")
    assert count(open_source(tmp_path)) == 2
    assert count(open_source(str(tmp_path / "**" / "*.csv"))) == 3  # the shell's rule for hidden ones, not ours
    assert count(open_source([tmp_path / "a.csv", tmp_path / "a.csv"])) == 1


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("nowhere.csv", r"There is no file nowhere\.csv"),
        ("no*where.csv", r"There are no files of no\*where\.csv"),
        ([], "at least one"),
        (".", r"There are no files of \."),
        ("t.pdf", "has no known kind: its name must end in"),
        (["t.csv", "t.parquet"], "must be of one kind, but are CSV and Parquet"),
        (["t.duckdb", "u.duckdb"], "are databases: give one"),
        ("sqlite:///nowhere.db", r"There is no file nowhere\.db"),
        (7, "can't be read from a int"),
        ([7], "can't be read from a list"),
    ],
    ids=str,
)
def test_what_can_not_be_opened(data: object, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if data != ".":
        for name in ("t.csv", "t.parquet", "t.pdf", "t.duckdb", "u.duckdb"):
            (tmp_path / name).touch()
    with pytest.raises(SourceError, match=sentence):
        open_source(data)


def test_names_with_odd_characters(tmp_path: Path) -> None:
    table = pa.table({"a.b": [1], 'say "x"': [2], "a": [3], " ": [4]})
    for name in ("t.parquet", "t[1].csv", "t.feather"):
        batches = list(open_source(write(tmp_path / name, table)).batches([" ", "a.b", 'say "x"']))
        assert [str(cell) for cell in batches[0].to_pylist()[0].values()] == ["4", "1", "2"]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (pa.string(), struct.pack("<3i", 6, 12, 13)),  # offsets
        (pa.binary(), struct.pack("<3i", 6, 12, 13)),
        (pa.large_string(), struct.pack("<3q", 6, 12, 13)),
        (pa.dictionary(pa.int32(), pa.string()), struct.pack("<6i", 0, 0, 1, 0, 0, 1)),  # indices
    ],
    ids=str,
)
def test_numbers_that_point_beyond_the_file_are_damage(kind: pa.DataType, numbers: bytes, tmp_path: Path) -> None:
    """Arrow would read cells from wherever they point to."""
    path, cells = tmp_path / "t.arrow", pa.array(["secret", "secret", "b"] * 8).cast(kind)
    with pa.ipc.new_file(path, pa.schema([("x", kind)])) as writer:
        writer.write_batch(pa.record_batch({"x": cells}))
    assert sum(batch.num_rows for batch in open_source(path).batches(["x"])) == 24
    content = path.read_bytes()
    assert numbers in content
    path.write_bytes(content.replace(numbers, b"\xf0" * len(numbers), 1))
    with pytest.raises(SourceError, match="damaged") as caught:
        list(open_source(path).batches(["x"]))
    assert "secret" not in str(caught.value)


def test_text_that_is_not_utf8_is_no_damage(tmp_path: Path) -> None:
    path, cells = tmp_path / "t.arrow", pa.array([b"ok", b"caf\xe9"]).view(pa.string())
    with pa.ipc.new_file(path, pa.schema([("x", pa.string())])) as writer:
        writer.write_batch(pa.record_batch({"x": cells}))
    (batch,) = open_source(path).batches(["x"])
    assert batch["x"].to_pylist() == ["ok", "caf\ufffd"]


def test_a_list_names_what_is_no_file_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n")
    with pytest.raises(SourceError, match="number 2 of it is none") as caught:
        open_source([tmp_path / "t.csv", "secret"])
    assert "secret" not in str(caught.value)
