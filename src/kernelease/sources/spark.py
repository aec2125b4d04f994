"""Spark: data frames, tables and queries, counted where their rows are."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa

from kernelease._version import __version__
from kernelease.arrays import Integers, block_slices
from kernelease.errors import SourceError
from kernelease.sources.partial import CODED, PERSONAL, Batches, Stage, Task
from kernelease.sources.partitioned import Partitioned, Sums
from kernelease.sources.source import SPARK_TABLE, plain_schema
from kernelease.sources.sql import as_query, optional, refusal, title_of

_SLICE = 2**17  # integers that travel together: 1 MiB
_SLICES = pa.schema([("slice", pa.int32()), ("integers", pa.binary())])
_PACKED = pa.schema([("rows", pa.binary())])
_WITHHELD = "kernelease: a task failed, and its reason is withheld since it may quote a cell."
# What arrives as an Arrow type, without a loss and for every value. All else is sent as the text that Spark prints.
_DIRECT = frozenset(
    ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp")
) | {"timestamp_ntz"}
Frame: TypeAlias = Any  # pyspark.sql.DataFrame
_Function: TypeAlias = Callable[[Batches], Iterator[pa.RecordBatch]]


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SparkFrame(Partitioned):
    """A Spark data frame. Its rows stay on the workers; one array of integers comes to the driver in each pass.

    Codes are kept by Spark (in its memory, then its disks) from the first pass to the last, so that the frame is read
    once. A frame that is not the same at every reading, as of `rand()`, is refused.
    """

    data: Frame
    title: str = "Spark data frame"

    def __post_init__(self) -> None:
        Partitioned.__post_init__(self)
        plan = getattr(self.data, "_jdf", None)  # a frame of Spark Connect has none here
        if plan is not None and not plan.queryExecution().analyzed().deterministic():
            raise SourceError(f"{self.title} differs from one reading to the next. Save it as a table, and give that.")

    @classmethod
    def open(cls, data: str, query: str | None, *, master: str | None, batch_rows: int) -> "SparkFrame":
        """A table (`spark:clinic.patients`) or a query (`spark:` and `query`); it is analysed, and not run."""
        named = data.removeprefix(SPARK_TABLE)
        if named and query is not None:
            raise SourceError(f"Spark: give a table ({data}) or a query, and not both.")
        statement = as_query(named or query, "Spark")
        session, title = _session(master), title_of("Spark", statement)
        try:
            frame = session.sql(statement)
            _ = frame.columns
        except Exception as error:  # noqa: BLE001  # of the parser and the catalogue, by several classes
            raise refusal(title, error) from None
        return cls(data=frame, title=title, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.data.columns)

    def declared_schema(self) -> pa.Schema:
        from pyspark.sql.pandas.types import to_arrow_schema

        return plain_schema(to_arrow_schema(_choose(self.data, self.names()).schema))

    def describe(self) -> str:
        return self.title

    def sums(self, columns: tuple[str, ...], task: Task) -> Iterable[Integers]:
        return self._add_up(_choose(self.data, columns), task)

    def encode_parts(self, columns: tuple[str, ...], stage: Stage) -> Sums:
        return self._keep(_map_parts(_choose(self.data, columns), stage, CODED))

    def regroup(self, columns: tuple[str, ...], stage: Stage, after: Stage) -> Sums:
        rows = _map_parts(_choose(self.data, columns), stage, PERSONAL)
        return self._keep(_map_parts(rows.repartition("person"), after, CODED))

    def fetch(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Rows as Arrow batches, those of one part in memory at a time."""
        try:
            for row in _map_parts(_choose(self.data, columns), _pack, _PACKED).toLocalIterator():
                yield from pa.ipc.open_stream(pa.py_buffer(row["rows"]))
        except Exception:  # noqa: BLE001  # Spark's words may quote a cell, and come in several classes
            raise self._broke_off() from None

    def _broke_off(self) -> SourceError:
        return SourceError(
            f"{self.title} broke off: workers were lost, they lack kernelease {__version__}, or the query failed "
            "on a row. Nothing was spent. Look at Spark's own log."
        )

    def _keep(self, frame: Frame) -> Sums:
        return _Kept(frame.persist(), self._add_up)

    def _add_up(self, frame: Frame, task: Task) -> Iterable[Integers]:
        """One array in all: the parts' arrays are cut into slices, and Spark adds up each slice."""

        def slices(batches: Batches) -> Iterator[pa.RecordBatch]:
            integers = task(batches)
            return (_slice(i, integers[s]) for i, s in enumerate(block_slices(len(integers), _SLICE)))

        try:
            parts = _map_parts(frame, slices, _SLICES).repartition("slice")
            rows = _map_parts(parts, _added_slices, _SLICES).collect()
        except Exception:  # noqa: BLE001  # Spark's words may quote a cell, and come in several classes
            raise self._broke_off() from None
        ordered = sorted(rows, key=lambda row: row["slice"])
        return [np.concatenate([np.frombuffer(row["integers"], dtype="<i8") for row in ordered])] if ordered else []


class _Kept:
    """Sums over a frame that Spark keeps as long as this lives."""

    def __init__(self, frame: Frame, added: Callable[[Frame, Task], Iterable[Integers]]) -> None:
        self._frame = frame
        self._added = added

    def __call__(self, task: Task) -> Iterable[Integers]:
        return self._added(self._frame, task)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the session may have ended, and what it kept with it
            self._frame.unpersist()


def _session(master: str | None) -> Any:
    """The session that is there, or a new one on this master."""
    spark = optional("pyspark.sql", extra="spark")
    builder = spark.SparkSession.builder.appName("kernelease").config("spark.ui.showConsoleProgress", "false")
    if master is not None:
        builder = builder.master(master)
    if (master or "").startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        builder = builder.config("spark.pyspark.python", sys.executable)  # the workers are this machine's
    try:
        return builder.getOrCreate()
    except Exception:  # noqa: BLE001  # whatever Java and Spark raise where they can't start
        raise SourceError(
            f"Spark could not be started on {master or 'its default master'}: it needs Java 17 or later, and a master "
            "that answers."
        ) from None


def _choose(frame: Frame, columns: tuple[str, ...]) -> Frame:
    """These columns by their places, under their names; text in place of types that have no plain one."""
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    chosen = [frame[f"`{name.replace('`', '``')}`"] for name in columns]
    return frame.select(
        [
            (cells if kinds[name] in _DIRECT or kinds[name].startswith("decimal") else cells.cast("string")).alias(name)
            for name, cells in zip(columns, chosen, strict=True)
        ]
    )


def _map_parts(frame: Frame, function: _Function, schema: pa.Schema) -> Frame:
    """A frame of what a function makes of each part. What it raises on a worker is replaced by one fixed text."""
    asked = __version__

    def guard(batches: Batches) -> Iterator[pa.RecordBatch]:
        from kernelease._version import __version__ as found  # on the worker

        if found != asked:
            raise RuntimeError(f"kernelease {asked} is needed on the workers, and one has {found}.")
        try:
            yield from function(batches)
        except Exception:  # noqa: BLE001
            failed = True
        else:
            failed = False
        if failed:
            raise RuntimeError(_WITHHELD)  # out of the handler: no other exception is its context

    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.mapInArrow(guard, from_arrow_schema(schema))


def _pack(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Each batch as one cell, in the form of an Arrow stream."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], schema=_PACKED)


def _slice(index: int, integers: Integers) -> pa.RecordBatch:
    columns = [pa.array([index], pa.int32()), pa.array([integers.astype("<i8").tobytes()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=_SLICES)


def _added_slices(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Σ of all arrays of each slice."""
    totals: dict[int, Integers] = {}
    for batch in batches:
        for row in batch.to_pylist():
            integers = np.frombuffer(row["integers"], dtype="<i8")
            totals[row["slice"]] = totals.get(row["slice"], np.zeros(len(integers), dtype=np.int64)) + integers
    return (_slice(index, total) for index, total in totals.items())
