"""What a plan prints, as tables, JSON and a page."""

import math
from typing import Any, Final

from rich.console import RenderableType

from kernelease.analysis.comparisons.tables import MarginalErrors
from kernelease.cli.screen import facts, grid, line, number
from kernelease.cli.work.summary import attacker_fields, attacker_words
from kernelease.methods.interactions.plan import Floor, Plan, Setting
from kernelease.report import sheet
from kernelease.table.schema import Schema

_NOISE: Final = ("cells", "noise of a count", "noise of a share")
_BY_EPSILON: Final = ("epsilon", "noise of a share", "of two columns", "found with 1 %", "with 5 % accused", "noise")
PLANNED = "What a release would be like. No data were touched."
_UNIT = (
    "Noise is a standard deviation, in rows and as a share of all rows. What is smaller can't be seen in the release."
)
_SCALE = (
    "Found: in how many cases an attacker finds a given row who accuses 1 % or 5 % of the innocent. Bars: the noise of "
    "a pair (or column), on a scale of powers of ten."
)
_PAIRS = 10  # shown of all pairs
_BAR = 30  # characters of a bar, so that a line fits 80
MOST_REHEARSED = 1_000_000  # rows: a rehearsal then ends within minutes


def plan_tables(expected: Plan, all_pairs: bool) -> list[RenderableType]:
    """The plan for people."""
    columns, pairs = _columns_and_pairs(expected)
    listed = pairs if all_pairs else pairs[:_PAIRS]
    said = [*map(line, (*expected.notices, *expected.advice)), line("")]
    shown: list[RenderableType] = [*said, facts(_facts(expected)), line("")]
    shown.append(grid(("column", *_NOISE), map(_row, columns)))
    if pairs:
        shown += [line(""), grid(("pair", *_NOISE), map(_row, listed))]
    if len(listed) < len(pairs):
        shown.append(line(f"and {len(pairs) - len(listed)} pairs with less noise (--all-pairs lists them)"))
    return [*shown, line(_UNIT), line(""), _curve(expected.settings), line(_SCALE)]


def plan_parts(expected: Plan) -> list[str]:
    """The same as parts of a page, which has room for all pairs."""
    columns, pairs = _columns_and_pairs(expected)
    parts = [sheet.words((*expected.notices, *expected.advice)), sheet.facts(_facts(expected))]
    parts.append(sheet.grid("Columns", ("column", *_NOISE), map(_row, columns), note=_UNIT))
    if pairs:
        parts.append(sheet.grid("Pairs", ("pair", *_NOISE), map(_row, pairs), note=_UNIT))
    rows = [(*cells, sheet.Bar(share=share)) for cells, share in _bars(expected.settings)]
    return [*parts, sheet.grid("Other promises", _BY_EPSILON, rows, text=(0, 5), note=_SCALE)]


def _columns_and_pairs(expected: Plan) -> tuple[list[Floor], list[Floor]]:
    """The floors of single columns, and those of pairs, the noisiest first: of each the one in the finest cells."""
    finest: dict[tuple[str, ...], Floor] = {}
    for floor in expected.floors:
        if floor.columns not in finest or floor.cells > finest[floor.columns].cells:
            finest[floor.columns] = floor
    columns = [floor for floor in finest.values() if len(floor.columns) == 1]
    pairs = sorted((floor for floor in finest.values() if len(floor.columns) > 1), key=lambda floor: -floor.count)
    return columns, pairs


def _facts(expected: Plan) -> list[tuple[str, object]]:
    privacy = expected.privacy
    return [
        ("promise", f"epsilon {privacy.epsilon:g}, delta {privacy.delta:g}, {privacy.relation.value} neighbours"),
        (f"{expected.one}s", f"{expected.rows:,}"),
        ("attacker", attacker_words(expected.attacker, expected.one)),
        ("pairs", _pairs(expected)),
        ("noisy numbers", f"{expected.numbers:,}"),
        ("time", f"about {_round(expected.seconds)} s of one core"),
        ("memory", f"about {_round(expected.memory / 1e6)} MB"),
        ("bundle", f"about {_round(expected.size / 1e6)} MB"),
    ]


def _pairs(expected: Plan) -> str:
    if expected.chosen and expected.pairs:
        return f"{expected.pairs:,} will be measured, chosen privately: all of them would drown in noise"
    return f"all {expected.pairs:,} will be measured" if expected.pairs else "none will be measured"


def _round(value: float) -> str:
    """One or two digits: these are rough.

    >>> _round(0.0123), _round(47.3), _round(1234.0)
    ('0.012', '47', '1200')
    """
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{round(value, 1 - math.floor(math.log10(value))):.{digits}f}"


def _row(floor: Floor) -> tuple[str, ...]:
    return " × ".join(floor.columns), f"{floor.cells:,}", number(floor.count), _percent(floor.share)


def _percent(share: float | None) -> str:
    """A share in per cent, in three digits.

    >>> _percent(0.002061), _percent(0.5), _percent(None)
    ('0.206 %', '50 %', '-')
    """
    return "-" if share is None else f"{100.0 * share:.3g} %"


def _curve(settings: tuple[Setting, ...]) -> RenderableType:
    """How noise and risk change with ε."""
    rows = [(*cells, "█" * (1 + round((_BAR - 1) * share))) for cells, share in _bars(settings)]
    return grid(_BY_EPSILON, rows, text=(0, 5))


def _bars(settings: tuple[Setting, ...]) -> list[tuple[tuple[str, ...], float]]:
    """Each setting's cells, and the length of its bar: the noise of a pair (or column), on a scale of powers of ten."""
    noise = [setting.column if setting.pair is None else setting.pair for setting in settings]
    low, high = math.log10(min(noise)), math.log10(max(noise))
    compared = []
    for setting, value in zip(settings, noise, strict=True):
        found = (f"{100.0 * rate:.1f} %" for rate in setting.attacker.values())
        cells = (f"{setting.epsilon:g}", _percent(setting.column), _percent(setting.pair), *found)
        compared.append((cells, (math.log10(value) - low) / (high - low or 1.0)))
    return compared


def plan_fields(expected: Plan) -> dict[str, Any]:
    """The plan for machines."""
    return {
        "epsilon": expected.privacy.epsilon,
        "delta": expected.privacy.delta,
        "neighbours": expected.privacy.relation.value,
        "rows": expected.rows,
        "attacker": attacker_fields(expected.attacker),
        "advice": list(expected.advice),
        "analyses": [{"analysis": one.analysis, "half_width": one.half_width} for one in expected.promises],
        "notices": list(expected.notices),
        "pairs": expected.pairs,
        "pairs_chosen": expected.chosen,
        "noisy_numbers": expected.numbers,
        "seconds": expected.seconds,
        "memory_bytes": expected.memory,
        "bundle_bytes": expected.size,
        "noise": [
            {"columns": floor.columns, "cells": floor.cells, "count": floor.count, "share": floor.share}
            for floor in expected.floors
        ],
        "by_epsilon": [
            {
                "epsilon": setting.epsilon,
                "column_share": setting.column,
                "pair_share": setting.pair,
                "attacker": attacker_fields(setting.attacker),
            }
            for setting in expected.settings
        ],
    }


def rehearsal_fields(schema: Schema, errors: MarginalErrors, rows: int) -> dict[str, Any]:
    """A rehearsal for machines."""
    return {
        "rows": rows,
        "mean_one_way": errors.mean_one_way,
        "mean_two_way": errors.mean_two_way,
        "one_way": {schema.names[column]: error for column, error in errors.one_way.items()},
    }


def rehearsal_tables(schema: Schema, errors: MarginalErrors, rows: int) -> list[RenderableType]:
    """A rehearsal for people."""
    about, distances = facts(_rehearsal_facts(errors, rows)), grid(("column", "distance"), _distances(schema, errors))
    return [line(""), about, line(""), distances]


def rehearsal_parts(schema: Schema, errors: MarginalErrors, rows: int) -> list[str]:
    """A rehearsal as parts of a page."""
    distances = sheet.grid("Rehearsal", ("column", "distance"), _distances(schema, errors))
    return [distances, sheet.facts(_rehearsal_facts(errors, rows))]


def _rehearsal_facts(errors: MarginalErrors, rows: int) -> list[tuple[str, object]]:
    return [
        ("REHEARSAL", f"{rows:,} rows drawn from the public table, noise from a seed; nothing was kept"),
        ("one column", f"total variation distance {number(errors.mean_one_way)}, mean over columns"),
        ("two columns", f"total variation distance {number(errors.mean_two_way)}, mean over pairs"),
    ]


def _distances(schema: Schema, errors: MarginalErrors) -> list[tuple[str, str]]:
    return [(schema.names[column], number(error)) for column, error in errors.one_way.items()]
