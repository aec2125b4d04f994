"""Every source gives the same rows; every broken twin is found out."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kernelease.conformance import check_source
from kernelease.sources import Source, open_source
from tests.sources.catalogue import CASES, TABLE, Case


@pytest.mark.slow
@pytest.mark.parametrize("batch_rows", [2, 2**16])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_source_gives_the_same_rows(
    case: Case, batch_rows: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data, query = case.put(tmp_path, request.getfixturevalue("postgres") if case.server else "")
    check_source(open_source(data, query=query, batch_rows=batch_rows), case.table)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Good(Source):
    """A source that a contributor might write."""

    table: pa.Table

    def names(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    def declared_schema(self) -> pa.Schema | None:
        return None

    def describe(self) -> str:
        return "a table"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        yield from self.table.to_batches()


class Shorter(Good):
    def names(self) -> tuple[str, ...]:
        return super().names()[1:]


class Measured(Good):
    def __len__(self) -> Any:
        return 5


class Nameless(Good):
    def describe(self) -> str:
        return ""


class Misdeclared(Good):
    def declared_schema(self) -> pa.Schema:
        return pa.schema([("whole", pa.int64())])


class Careless(Good):
    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        pass


class Lossy(Good):
    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        yield from self.table.slice(1).to_batches()


class Unordered(Good):
    def batches(self, columns: Any) -> Iterator[pa.RecordBatch]:
        return super().batches(sorted(columns))


class Unbounded(Good):
    def batches(self, columns: Any) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(list(columns)).to_batches()


class Hollow(Good):
    def batches(self, columns: Any) -> Iterator[pa.RecordBatch]:
        yield from self.table.select(list(columns)).slice(0, 0).to_batches()
        yield pa.RecordBatch.from_pylist([], self.table.select(list(columns)).schema)


class Ornate(Good):
    def batches(self, columns: Any) -> Iterator[pa.RecordBatch]:
        self._check_columns(tuple(columns))
        return iter(self.table.select(list(columns)).to_batches())


def test_a_sources_own_code_is_short() -> None:
    check_source(Good(table=TABLE, batch_rows=3), TABLE)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Shorter, "names must list all columns"),
        (Measured, "no length"),
        (Nameless, "describe must say"),
        (Misdeclared, "declared_schema must have"),
        (Careless, "before a row is read"),
        (Lossy, "the cells of"),
        (Unordered, "in that order"),
        (Hollow, "before a row is read"),
        (Unbounded, "before a row is read"),
        (Ornate, "plain types"),
    ],
)
def test_broken_twins_fail(broken: type[Good], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_source(broken(table=TABLE, batch_rows=8), TABLE)
