"""Synthetic rows as pandas has them: nullable integers, dates that are dates, declared categories."""

from typing import Any

import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.table.columns.boolean import Boolean
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Category, Listed, Ordinal
from kernelease.table.columns.numeric import Integer
from kernelease.table.domain import Domain


def pandas_frame(table: pa.Table, domain: Domain) -> Any:
    """A data frame whose types follow from the schema, never from which rows were drawn.

    Weights are scaled to mean 1, as `sample_weight` of scikit-learn and survey software take it.
    """
    frame = _plain(table)
    for column in domain.schema or ():
        frame[column.name] = _as_declared(frame[column.name], column)
    if domain.weight_name in table.column_names:
        frame[domain.weight_name] *= len(frame)
    return frame


def described(table: pa.Table, domain: Domain) -> Any:
    """What each column of the synthetic rows holds, one line per column, with weights counted."""
    pandas = _pandas("describe")
    frame = pandas_frame(table, domain)
    weights = frame.pop(domain.weight_name)
    return pandas.DataFrame({name: _summary(frame[name], weights) for name in frame.columns}).T


def _summary(values: Any, weights: Any) -> dict[str, Any]:
    known = values.notna()
    about: dict[str, Any] = {"type": str(values.dtype), "missing": float(1.0 - weights[known].sum() / weights.sum())}
    if not known.any():
        return about
    values, weights = values[known], weights[known]
    if values.dtype.kind in "iuf":
        numbers, share = values.astype(float), weights / weights.sum()
        mean = float((numbers * share).sum())
        about |= {"mean": mean, "std": float(((numbers - mean) ** 2 * share).sum() ** 0.5)}
        about |= {"min": float(numbers.min()), "median": _median(numbers, share), "max": float(numbers.max())}
    elif values.dtype.kind == "M":
        about |= {"min": values.min(), "max": values.max()}
    else:
        shares = weights.groupby(values.astype(str)).sum() / weights.sum()
        about |= {"top": shares.idxmax(), "share": float(shares.max())}
    return about


def _median(numbers: Any, share: Any) -> float:
    order = numbers.argsort()
    reached = share.iloc[order].cumsum() >= 0.5
    return float(numbers.iloc[order][reached].iloc[0])


def _plain(table: pa.Table) -> Any:
    _pandas("to_pandas")
    return table.to_pandas(date_as_object=False, integer_object_nulls=True)


def _pandas(what: str) -> Any:
    try:
        import pandas  # noqa: PLC0415  # an optional engine
    except ImportError:
        raise ParameterError(f"{what}: needs pandas, which is not installed.") from None
    return pandas


def _as_declared(values: Any, column: Column) -> Any:
    if isinstance(column, Integer):
        return values.astype("Int64" if column.nullable else "int64")
    if isinstance(column, Boolean):
        return values.astype("boolean" if column.nullable else "bool")
    if isinstance(column, Category | Ordinal):
        return values.astype(_category(column))
    return values


def _category(column: Listed) -> Any:
    values = [*column.vocabulary] + ([] if column.other_label is None else [column.other_label])
    return _pandas("to_pandas").CategoricalDtype(values, ordered=isinstance(column, Ordinal))
