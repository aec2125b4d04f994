"""All that the page of a release shows, as one JSON object. Nothing in it is private."""

from typing import Any

import numpy as np
import pyarrow as pa

from kernelease._version import __version__
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.neighbours import Neighbours
from kernelease.release.release import Release
from kernelease.report.columns import column_records, mean_records
from kernelease.report.figures import number
from kernelease.report.marginals import marginal_records
from kernelease.report.pairs import disagreements, pair_records
from kernelease.report.promise import promise_record, step_records
from kernelease.table.encode import Encoder

_EMPTY: dict[str, Any] = {
    "columns": [],
    "derived": [],
    "marginals": [],
    "pairs": [],
    "means": {},
    "disagreements": None,
}
SAMPLE = 200  # synthetic rows that the page shows


def contents(release: Release, *, bundle: str) -> dict[str, Any]:
    """What the page says of a release; `bundle` is where it lies, for commands to copy."""
    known = release.measured.neighbours is Neighbours.REPLACE_ONE
    about: dict[str, Any] = {
        "title": release.domain.name,
        "bundle": bundle,
        "version": __version__,
        "rows": number(release.measured.rows),
        "total": number(release.measured.rows) if known else None,
        "synthetic_rows": release.table.num_rows,
        "notices": list(release.measurements.notices),
        "promise": promise_record(release),
        "steps": step_records(release),
        "sample": _sample(release),
    }
    return about | _of_table(release)


def _of_table(release: Release) -> dict[str, Any]:
    """What only a declared table has; of vectors, and of features measured together, the lists are empty."""
    schema, measured = release.schema, release.measured
    if schema is None:
        return _EMPTY
    codes = Encoder(schema).encode(release.rows).astype(np.int64)
    if not isinstance(measured, NoisyBlocks):
        columns = column_records(release, schema, codes, None)
        return _EMPTY | {"columns": columns, "derived": [one.name for one in schema.derived]}
    answers = release.answers()
    return {
        "columns": column_records(release, schema, codes, answers),
        "derived": [one.name for one in schema.derived],
        "marginals": marginal_records(measured, codes, release.weights),
        "pairs": pair_records(measured, answers),
        "means": mean_records(release, schema),
        "disagreements": disagreements(measured, schema, codes, release.weights),
    }


def _sample(release: Release) -> dict[str, Any]:
    """Rows drawn by their weights from a fixed public seed, as text; NULL is None."""
    weights = np.maximum(release.weights, 0.0)
    count = min(SAMPLE, release.table.num_rows)
    generator = np.random.default_rng(0)
    chosen = np.sort(generator.choice(len(weights), count, p=weights / weights.sum()))
    rows = release.rows.take(pa.array(chosen))
    columns = [[_text(value) for value in column.to_pylist()] for column in rows.columns]
    return {"names": rows.column_names, "rows": [list(row) for row in zip(*columns, strict=True)]}


def _text(value: object) -> str | None:
    """A cell as it is written.

    >>> _text(True), _text(2.5), _text(None)
    ('true', '2.5', None)
    """
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
