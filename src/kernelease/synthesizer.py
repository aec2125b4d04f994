"""A release in the manner of scikit-learn: settings, `fit`, `sample`."""

import dataclasses
import datetime
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, final

from kernelease.answers.frames import pandas_frame
from kernelease.answers.release import Release, TablesRelease, fit_release
from kernelease.arguments import LedgerLike, PrivacyLike, SchemaLike, declared_of
from kernelease.errors import ParameterError, in_words, named_only
from kernelease.pipeline import release
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed
from kernelease.sources.arrow import is_frame
from kernelease.sources.opening import open_source
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Category
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.schema import Schema

Bound: TypeAlias = Sequence[Any] | type[bool]
_MOST_TOLD = 10  # columns that a warning names. convention: a line


@final
@named_only
@dataclass(kw_only=True, eq=False)
class Synthesizer:
    """Synthetic rows by `fit` and `sample`, with a guarantee: `Synthesizer(schema=…, privacy=(1, 1e-6))`.

    What is public must be said, and is never read off the rows: a `schema` (or the path of one), or `bounds` of every
    column to release: (low, high) of two integers, numbers, dates or datetimes; a list of the values of a category; or
    `bool`. Columns with bounds may hold NULL; columns without are not released, and a
    warning names them. Of several tables `fit` takes a mapping from their names, a `schema` says how they hang together
    (`ke.draft(metadata=…)` begins one from SDV's metadata), and `sample` gives a mapping with keys that exist.

    Each `fit` is a release of its own, and costs (ε, δ): without a `ledger`, nobody adds them up. `release_` is the
    release itself, for intervals, certificate and bundle.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [30, 41, 52] * 40, "sex": ["f", "m", "f"] * 40})
    >>> made = Synthesizer(bounds={"age": (0, 110), "sex": ["f", "m"]}, privacy=(1, 1e-6)).fit(table)
    >>> made.sample(5).num_rows, made.schema_.names
    (5, ('age', 'sex'))
    """

    schema: SchemaLike | None = None
    bounds: Mapping[str, Bound] | None = None
    privacy: PrivacyLike | None = None  # scikit-learn makes one before it sets it; `fit` needs it
    target: str | None = None
    ledger: LedgerLike | None = None
    seed: int = 0
    release_: Release | TablesRelease | None = field(default=None, init=False, repr=False)
    _pandas: bool = field(default=False, init=False, repr=False)

    @in_words
    def fit(self, X: Any, y: None = None) -> "Synthesizer":  # scikit-learn's name
        """Release `X`: a data frame, or whatever else is a table. Spends the budget once."""
        if y is not None:
            raise ParameterError("fit: y must be a column of X; name it with Synthesizer(target=…).")
        declared = self._schema_of(X)
        self.release_ = release(
            X, schema=declared, privacy=self._promise(), target=self.target, ledger=self.ledger, seed=self.seed
        )
        self._pandas = all(map(is_frame, X.values())) if isinstance(X, Mapping) else is_frame(X)
        return self

    def sample(self, n: int | None = None, *, seed: int = 0) -> Any:
        """`n` synthetic rows (None: as many as were fitted): a pandas data frame if `fit` had one, else Arrow. Free.

        Of several tables, so many rows of the one that all others hang on, and what hangs on them.
        """
        made = self._release
        if isinstance(made, TablesRelease):
            return self._sample_tables(made, n, seed)
        if n is None or n == len(made):
            rows = made.rows
        elif n < len(made):
            rows = made.sample(n, seed=seed)
        else:
            rows = made.measurements.fit(rows=n, seed=seed).rows
        return pandas_frame(rows, made.measurements.domain) if self._pandas else rows

    def _sample_tables(self, made: TablesRelease, n: int | None, seed: int) -> dict[str, Any]:
        settings = made.settings
        if n is not None and settings is not None and n != len(made.tables[made.schema.root.name]):
            made = fit_release(made.measurements, dataclasses.replace(settings, rows=n, seed=PublicSeed(seed)))
        return {name: table.to_pandas() if self._pandas else table.rows for name, table in made.tables.items()}

    def fit_sample(self, X: Any, n: int | None = None) -> Any:
        return self.fit(X).sample(n)

    @property
    def schema_(self) -> Schema | Tables:
        declared = self._release.schema
        assert declared is not None  # `fit` always has one
        return declared

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, for scikit-learn's `clone` and its searches."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.init}

    def set_params(self, **settings: Any) -> "Synthesizer":
        """Change settings, as scikit-learn does."""
        for name, value in settings.items():
            if name not in self.get_params():
                raise ParameterError(
                    f"set_params: there is no setting {name!r}. Use one of {', '.join(self.get_params())}."
                )
            setattr(self, name, value)
        return self

    @property
    def _release(self) -> Release | TablesRelease:
        if self.release_ is None:
            raise ParameterError("Synthesizer: call fit first.")
        return self.release_

    def _promise(self) -> PrivacyLike:
        if self.privacy is None:
            raise ParameterError("Synthesizer: needs privacy, epsilon and delta in a pair: privacy=(1.0, 1e-6).")
        return self.privacy

    def _schema_of(self, data: Any) -> Schema | Tables:
        if (self.schema is None) == (self.bounds is None):
            raise ParameterError(
                "Synthesizer: say what is public about the columns, with schema= or with bounds=, one of the two: "
                'bounds={"age": (0, 110), "sex": ["female", "male"]}. Bounds read off private rows would leak them; '
                "ke.draft makes a schema to begin with."
            )
        if self.schema is not None:
            return declared_of(self.schema)
        bounds = dict(self.bounds or {})
        if isinstance(data, str | Path) or not bounds:
            return bounds_schema(bounds)
        source = open_source(data)
        if source.declared_schema() is None:  # CSV files: without a header, their first line is somebody's row
            return bounds_schema(bounds)
        names = source.names()
        left_out = [name for name in names if name not in bounds]
        if left_out:
            told = ", ".join(left_out[:_MOST_TOLD]) + (
                f" and {len(left_out) - _MOST_TOLD} more" * (len(left_out) > _MOST_TOLD)
            )
            warnings.warn(
                f"Synthesizer: not released, since bounds don't name them: {told}.", UserWarning, stacklevel=4
            )
        return bounds_schema({name: bounds.pop(name) for name in names if name in bounds} | bounds)


def bounds_schema(bounds: Mapping[str, Bound]) -> Schema:
    """The schema that bounds declare, every column nullable.

    >>> [column.tag for column in bounds_schema({"age": (0, 9), "weight": (0.5, 9.5), "sex": ["f", "m"], "ill": bool})]
    ['integer', 'number', 'category', 'boolean']
    """
    if not bounds:
        raise ParameterError("bounds: name at least one column.")
    return Schema(tuple(_column(name, bound) for name, bound in bounds.items()))


def _column(name: str, bound: Bound) -> Column:
    if bound is bool:
        return Boolean(name=name, nullable=True)
    if isinstance(bound, list):
        return Category(name=name, values=tuple(bound), nullable=True)
    if isinstance(bound, tuple) and len(bound) == 2:
        low, high = bound
        for kinds, column in _RANGES:
            if all(isinstance(end, kinds) and not isinstance(end, bool) for end in (low, high)):
                return column(name=name, min=low, max=high, nullable=True)
    raise ParameterError(
        f"bounds of {name!r} must be (low, high) of two numbers or dates, a list of values, or bool, got {bound!r}."
    )


_RANGES: tuple[tuple[Any, Callable[..., Column]], ...] = (
    (int, Integer),
    (int | float, Number),
    (datetime.datetime, Datetime),
    (datetime.date, Date),
)
