"""Columns that were not measured together, so that nothing says how they go together: what to say about it."""

from collections.abc import Iterable, Sequence

from kernelease.errors import ParameterError

MOST_NAMED = 6  # sets of columns that a message lists


def not_together(
    names: Sequence[str], missing: set[int], sets: Iterable[tuple[int, ...]], *, what: str, instead: str, among: bool
) -> ParameterError:
    """The error that names the missing columns, the sets that were measured, and a way out.

    `among` says that some of the columns are those of a condition.
    """
    rows = " among such rows" if among else ""
    return ParameterError(
        f"{what}: {_joined(names, missing)} were not measured together, so nothing says how they go together{rows}."
        f"{_known(names, missing, set(sets))} {instead}"
    )


def _known(names: Sequence[str], missing: set[int], sets: set[tuple[int, ...]]) -> str:
    """The sets of as many columns that were measured, those that share most with the missing one first."""
    large = [one for one in sets if len(one) >= min(3, len(missing))]
    if not large:
        return " Only single columns and pairs were." if len(missing) > 2 else ""
    nearest = sorted(large, key=lambda one: (-len(missing & set(one)), len(one), one))
    more = f", and {len(large) - MOST_NAMED} more" if len(large) > MOST_NAMED else ""
    return f" Measured together were {'; '.join(_joined(names, one) for one in nearest[:MOST_NAMED])}{more}."


def _joined(names: Sequence[str], columns: Iterable[int]) -> str:
    return ", ".join(names[index] for index in sorted(columns))
