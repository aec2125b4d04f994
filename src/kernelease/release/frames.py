"""A release in other hands: data frames, files, samples, learning, random variables."""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimate import Target
from kernelease.arrays import Floats, Integers
from kernelease.errors import BundleError, ParameterError, nearest
from kernelease.fit.points import thin
from kernelease.measured.blocks import NoisyBlocks
from kernelease.methods.method import Method
from kernelease.progress import Progress, shown
from kernelease.release.reading import CountsReading, NoReading, Released, choice, reading
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Category, Listed, Ordinal
from kernelease.table.columns.numeric import Integer
from kernelease.table.domain import Domain

if TYPE_CHECKING:
    from kernelease.analysis.variables import Origin, RandomVariable
    from kernelease.release.replicates import Samples
    from kernelease.release.supervised import Supervised


# --------------------
# A table as an ordinary file: CSV, Parquet or Feather, by the ending of its name.


_ENDINGS = (".csv", ".parquet", ".feather", ".arrow")


def check_export(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a table can't be written there: another ending, or a file that is not to be replaced."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise BundleError(f"{path}: the name must end in {', '.join(_ENDINGS)}.")
    if not overwrite and os.path.lexists(path):
        raise BundleError(
            f"{path} already exists. Choose another name, or give --overwrite (overwrite=True in Python)."
        )


def export_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a table, whole or not at all. In CSV, NULL is an empty cell."""
    check_export(path, overwrite=overwrite)
    target = Path(path)
    draft = target.parent / f".kernelease-{secrets.token_hex(8)}.partial"
    try:
        _write(table, str(draft), target.suffix.lower())
        os.replace(draft, target)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it can't be written in this format"
        raise BundleError(f"{path} could not be written: {reason}.") from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return target


def _write(table: pa.Table, path: str, ending: str) -> None:
    """Only the writer of this format is loaded: most who open a release write none."""
    if ending == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    elif ending == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)


# --------------------
# Synthetic rows as pandas has them: nullable integers, dates that are dates, declared categories.


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
        import pandas  # an optional engine
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


# --------------------
# A release in other hands: data frames, files, samples, learning, random variables.


class Exported(Released, Protocol):
    """What is needed of a release."""

    @property
    def domain(self) -> Domain:
        """What rows are."""

    @property
    def method(self) -> Method:
        """The one that measured."""


class Frames:
    """The rows of a release for other tools, with their weights or in equal numbers."""

    __slots__ = ()

    def to_arrow(self: Exported, *, weights: bool = True) -> pa.Table:
        """The rows as an Arrow table, with their weights last (in the column `weight_name`) or without them."""
        return self.table if weights else self.rows

    def to_pandas(self: Exported, *, weights: bool = True) -> Any:
        """The rows as a pandas data frame, with types as declared: Int64 where NULL may be, dates, categories.

        The weights, in the column `weight_name`, have mean 1, so that scikit-learn takes them as they are.
        """
        return pandas_frame(self.table if weights else self.rows, self.domain)

    def describe(self: Exported) -> Any:
        """What the columns of the synthetic rows hold, as a pandas data frame, one line per column.

        A first look, without the intervals that `mean`, `quantile` and `probability` give.
        """
        return described(self.table, self.domain)

    def __len__(self: Exported) -> int:
        return int(self.table.num_rows)

    def to_polars(self: Exported, *, weights: bool = True) -> Any:
        """The rows as a polars data frame."""
        try:
            import polars
        except ImportError:
            raise ParameterError("to_polars: needs polars, which is not installed.") from None
        return polars.from_arrow(self.table if weights else self.rows)

    def to_csv(self: Exported, path: str | Path, *, weights: bool = True, overwrite: bool = False) -> Path:
        """Write the rows as CSV, Parquet or Feather, by the ending of the name. In CSV, NULL is an empty cell."""
        return export_table(self.table if weights else self.rows, path, overwrite=overwrite)

    def sample(self: Exported, count: int, *, seed: int = 0) -> pa.Table:
        """`count` rows of equal weight, thinned so that their mean embedding stays near that of the weighted rows."""
        generator = PublicSeed(seed).generator("sample")
        view = reading(self)
        encoded, parts = view.points(), view.coordinates()

        def features(rows: Integers) -> Floats:
            if not parts:  # without a measured embedding: only the weights are kept
                return np.zeros((len(rows), 1))
            return np.hstack([part.features(encoded[rows]) for part in parts])

        return self.rows.take(pa.array(thin(features, self.weights, count, generator)))

    def for_supervised(self: Exported, target: str) -> "Supervised":
        """X, y, sample_weight for scikit-learn and the like; the target is a column."""
        from kernelease.release.supervised import Supervised

        if self.schema is None:
            raise ParameterError("for_supervised: needs a release of a table with a schema.")
        return Supervised.of(self.rows, self.weights, self.schema, target)

    def samples(
        self: Exported,
        count: int = 5,
        *,
        of: Target | str = Target.POPULATION,
        rows: int | None = None,
        method: Method | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "Samples":
        """Several data sets that differ as the release differs from the truth, with a rule to combine their results.

        Each is a fit of its own, which takes as long as the release's. `method` is the one that the release was made
        with, where that was not the default; `rows` is how many rows each gets. `progress` None: a bar where somebody
        may watch, on a terminal or in a notebook.
        """
        from kernelease.release.replicates import point_samples, table_samples

        if count < 2:
            raise ParameterError(f"samples: count must be at least 2, got {count!r}.")
        view, aim = reading(self), choice(Target, of, "of")
        if isinstance(view, CountsReading):
            chosen, size = self.method if method is None else method, self.table.num_rows if rows is None else rows

            def fitted(
                noisy: NoisyBlocks, public: PublicSeed, generator: np.random.Generator, watching: Progress
            ) -> pa.Table:
                result = chosen.fit(noisy, public, watching)
                watching.stage("drawing rows")
                return result.table(self.domain, size, generator)

            with shown(progress) as watching:
                return table_samples(
                    self, view.points(), view.blocks, fitted, count, target=aim, seed=seed, progress=watching
                )
        if isinstance(view, NoReading):
            raise ParameterError("samples: this release holds no noisy measurements to fit again.")
        with shown(progress) as watching:
            return point_samples(
                self, view.points(), view.embedding("samples"), count, target=aim, seed=seed, progress=watching
            )

    def __getitem__(self: Exported, names: str | tuple[str, ...]) -> "RandomVariable":
        """A column as a random variable; several, r["a", "b"], as one of several numbers."""
        from kernelease.analysis.variables import RandomVariable

        wanted = (names,) if isinstance(names, str) else names
        known = tuple(self.rows.column_names)
        for name in wanted:
            if name not in known:
                raise ParameterError(f"There is no column {name!r} in this release.{nearest(str(name), known)}")
        origin = _origin(self)
        if isinstance(names, str):
            return RandomVariable.of(_values(self.table.column(names)), origin)
        return RandomVariable.of(np.column_stack([_values(self.table.column(name)) for name in wanted]), origin)


def _origin(release: Exported) -> "Origin":
    """The rows as an origin of randomness. Two fits of the same measurements are related, and not the same rows."""
    from kernelease.analysis.variables import Origin

    table = hashlib.sha256()
    for column in release.table.columns:
        table.update(repr(column.to_pylist()).encode())
    name = release.schema.name if release.schema else "points"
    ancestor = release.measured.fingerprint or table.hexdigest()
    return Origin(release.weights, name=name, key=table.hexdigest(), ancestors=frozenset({ancestor}), released=True)


def _values(column: pa.ChunkedArray) -> Any:
    """Numbers as float64 with NaN for NULL, truth values as such, everything else as Python objects."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.array(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    if pa.types.is_boolean(kind) and column.null_count == 0:
        return np.array(column.to_numpy(), dtype=bool)
    return np.array(column.to_pylist(), dtype=object)
