"""What the page says of pairs of columns, and where the synthetic rows part from the measurements."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelease.analysis.evidence import Answers
from kernelease.analysis.marginal import MeasuredMarginal, tabulation
from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.levels import levels_of
from kernelease.report.association import association
from kernelease.report.figures import number
from kernelease.report.marginals import shown_marginals, synthetic_shares
from kernelease.table.schema import Schema

MOST_SHOWN = 40  # cells in which rows and measurements disagree: enough to see where


def pair_records(noisy: NoisyBlocks, answers: Answers) -> list[dict[str, Any]]:
    """Every pair: whether it was measured, how finely, with what noise, and how strongly its columns go together."""
    counts = tabulation(noisy)
    pairs = itertools.combinations(range(noisy.width), 2)
    items = (item for item in answers.items if len(item.columns) == 2)
    return [
        {
            "columns": list(columns),
            "cells": item.cells,
            "noise": None if item.noise is None else number(item.noise),
            "smallest": None if item.smallest is None or item.smallest > answers.rows else round(item.smallest),
            "association": _association(counts.marginals(columns)),
        }
        for columns, item in zip(pairs, items, strict=True)
    ]


def _association(measured: tuple[MeasuredMarginal, ...]) -> dict[str, Any] | None:
    found = association(measured[0]) if measured else None
    if found is None:
        return None
    low, high = found.interval
    return {"value": number(found.value), "low": number(low), "high": number(high), "seen": found.seen}


def disagreements(noisy: NoisyBlocks, schema: Schema, codes: Integers, weights: Floats) -> dict[str, Any]:
    """Where the rows are furthest from the noisy counts, in standard errors; and how far on the whole.

    The noise alone puts one cell in twenty beyond two standard errors, so that the mean square, which it makes 1, says
    more than the worst cell. Variances are bounds from above: what is said to stand out does.
    """
    found = list(_compared(noisy, schema, codes, weights))
    scores = np.concatenate([item[2] for item in found])
    ranked = sorted(_worst(found), key=lambda cell: -abs(cell["z"]))[:MOST_SHOWN]
    return {"cells": len(scores), "mean_square": number(float(np.mean(scores**2))), "worst": ranked}


def _compared(
    noisy: NoisyBlocks, schema: Schema, codes: Integers, weights: Floats
) -> Iterator[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]]:
    """Each marginal with the counts of the rows and the estimated ones, and their distance in standard errors."""
    levels = levels_of(noisy)
    for size in (1, 2):
        for columns in itertools.combinations(range(len(schema)), size):
            for marginal in shown_marginals(noisy, columns, levels)[:1]:
                rows = synthetic_shares(marginal, codes, weights) * noisy.rows
                scores = (rows - marginal.counts) / np.sqrt(np.maximum(marginal.variances(), 1e-12))
                yield marginal, (rows, marginal.counts), scores


def _worst(found: list[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]]) -> Iterator[dict[str, Any]]:
    for marginal, (rows, counts), scores in found:
        for cell in np.argsort(-np.abs(scores))[:MOST_SHOWN].tolist():
            yield {
                "columns": list(marginal.columns),
                "cell": [int(place) for place in np.unravel_index(cell, marginal.shape)],
                "rows": number(float(rows[cell])),
                "estimate": number(float(counts[cell])),
                "z": number(float(scores[cell])),
            }
