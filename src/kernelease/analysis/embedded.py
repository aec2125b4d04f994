"""Questions to a release that measured a mean embedding: of a table's rows, or of vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.featured import Featured
from kernelease.analysis.integrand import Columns, called
from kernelease.analysis.question import Question
from kernelease.arrays import Floats, Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.table import Decoder, Encoder, Schema

ELSEWHERE = 2000  # legal rows, at random, on which functions are looked at beside the synthetic ones


def embedded(evidence: Evidence, question: Question) -> Estimate:
    """The answer to a question about a table, from a noisy embedding of its atoms."""
    if evidence.embedding is None or evidence.rows is None or evidence.weights is None:
        raise ParameterError("This release has no noisy numbers to answer from.")
    rows, others = evidence.rows.select(list(evidence.schema.names)), _legal_rows(evidence.schema)
    encoder = Encoder(evidence.schema)
    points = [as_rows(encoder.encode(table)) for table in (rows, others)]
    featured = Featured.of(evidence.embedding, points[0], evidence.weights, points[1])
    every = pa.concat_tables([rows, others])
    return featured.estimate(
        question.numerator.of(every),
        None if question.denominator is None else question.denominator.of(every),
        target=evidence.target,
        about=question.about,
        total=question.total,
    )


def vector_expectation(
    embedding: NoisyEmbedding,
    table: pa.Table,
    points: Rows,
    weights: Floats,
    function: Callable[[Columns], Any],
    target: Target,
) -> Estimate:
    """The mean of a function of the columns x0, x1, … of a release of vectors."""
    others = _around(points)
    names = table.column_names
    more = pa.table({name: others[:, place] for place, name in enumerate(names)}, schema=table.schema)
    values = called(function, Columns(pa.concat_tables([table, more])))
    if np.isnan(values).any():
        raise ParameterError("expectation: the function must be defined everywhere: it gave NaN.")
    return Featured.of(embedding, points, weights, others).estimate(
        values, None, target=target, about="expectation of a function"
    )


def _legal_rows(schema: Schema) -> pa.Table:
    generator = np.random.default_rng(0)
    codes = np.stack([generator.integers(0, column.size, ELSEWHERE) for column in schema], axis=1)
    return Decoder(schema).decode(codes, generator)


def _around(points: Rows) -> Rows:
    """Points of the box around the synthetic ones, at random; none where these are not numbers."""
    if points.dtype != np.float64 or len(points) == 0:
        return points[:0]
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(np.random.default_rng(0).uniform(low, high, (ELSEWHERE, points.shape[1])))
