"""Habits of data frames: what happens where people write to a release what they would write to pandas.

What is the same question in other words is answered, with its interval. What only rows can do is done by rows, if
somebody asks for them: `to_pandas()`. All else is refused with the line to write. docs/your-tools.md lists every name.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, final

from kernelease.analysis.estimate import Estimate, align
from kernelease.analysis.groups import html_table
from kernelease.errors import LabelError, ParameterError, closest, misuse, nearest
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Listed
from kernelease.table.columns.numbers import Integer, Number

ROWS_ALONE = (
    "Synthetic rows are for code, pictures and models that you check; a number computed from them has no interval, and "
    "may be far off. Ask the release for numbers: release.mean, probability, quantile, correlation, regression."
)

# --------------------
# Names of pandas, and what a release makes of them.


@unique
class Kind(StrEnum):
    """What becomes of a name of pandas."""

    INTERVAL = "works, with intervals"
    PUBLIC = "works: it is public"
    ROWS = "rows only"
    WORDS = "refused, with words"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A name that people try, and what to write; `give` makes what works of the questions, `show` of the release."""

    kind: Kind
    write: str
    why: str = ""
    give: Callable[[Any], Any] | None = None
    show: Callable[[Any], Any] | None = None


def _asks(write: str, give: Callable[[Any], Any]) -> Habit:
    return Habit(kind=Kind.INTERVAL, write=write, give=give)


def _rows(write: str) -> Habit:
    return Habit(kind=Kind.ROWS, write=write, why=_OF_ROWS)


def _words(write: str, why: str) -> Habit:
    return Habit(kind=Kind.WORDS, write=write, why=why)


_EXTREMES = "the least and the largest value are one person's: no noise hides them"
_MOVED = "it has another name"
_OF_ROWS = "rows are synthetic, and numbers from them have no interval"
_ALIKE = 0.7  # convention: how like a known name a wrong one is that it is suggested for, from 0 to 1

HABITS: Mapping[str, Habit] = {
    "columns": Habit(
        kind=Kind.PUBLIC, write="release.schema.names", show=lambda release: list(release.rows.column_names)
    ),
    "shape": Habit(
        kind=Kind.ROWS,
        write="len(release); release.count() is the number of private rows, with its interval",
        show=lambda release: release.rows.shape,
    ),
    "dtypes": Habit(
        kind=Kind.PUBLIC,
        write="release.to_pandas().dtypes, which are as declared",
        show=lambda release: release._frame(weights=False).dtypes,
    ),
    "median": _asks('release.quantile("age", 0.5)', lambda ask: lambda column: ask.quantile(column, 0.5)),
    "std": _asks('release.ask.standard_deviation("age")', lambda ask: ask.standard_deviation),
    "var": _asks('release.ask.variance("age")', lambda ask: ask.variance),
    "value_counts": _asks('release.ask.histogram("ward")', lambda ask: ask.histogram),
    "corr": _asks('release.correlation("age", "days")', lambda ask: ask.correlation),
    "groupby": _asks('release.by("sex")', lambda ask: lambda by, *more: ask.by(*_flat(by, more))),
    "query": _asks('release.where("age > 30")', lambda ask: ask.where),
    "hist": _asks('release.plot("age")', lambda ask: ask.plot),
    "size": Habit(
        kind=Kind.INTERVAL,
        write='release.by("sex").count(); release.size itself is that of the synthetic rows',
        give=lambda ask: ask.count,
        show=lambda release: release.rows.num_rows * release.rows.num_columns,
    ),
    "head": Habit(kind=Kind.ROWS, write="release.head()", show=lambda release: _ends(release, "head")),
    "tail": Habit(kind=Kind.ROWS, write="release.tail()", show=lambda release: _ends(release, "tail")),
    "sum": _words('release.mean("days") * release.count()', "a sum is the mean of all times their number"),
    "min": _words('release.quantile("age", 0.01)', _EXTREMES),
    "max": _words('release.quantile("age", 0.99)', _EXTREMES),
    "mode": _words('release.ask.histogram("ward")', "it has the share of each value, with its interval"),
    "nunique": _words("release.schema", "which values there may be is declared, and public"),
    "unique": _words("release.schema", "which values there may be is declared, and public"),
    "isna": _words('release.probability("bmi is null")', "what is missing is a share of rows"),
    "isnull": _words('release.probability("bmi is null")', "what is missing is a share of rows"),
    "cov": _words('release.correlation("age", "days")', "times both standard deviations it is the covariance"),
    "pivot_table": _words('release.by("ward", "sex").mean("age")', "groups by two columns are asked for in this way"),
    "boxplot": _words('release.by("sex").quantile("age", 0.5).plot()', "the ends of a box plot are single rows"),
    "agg": _words('release.by("sex").mean("age")', "one question at a time has one kind of interval"),
    "aggregate": _words('release.by("sex").mean("age")', "one question at a time has one kind of interval"),
    "sort_values": _rows('release.to_pandas().sort_values("age")'),
    "iloc": _rows("release.to_pandas().iloc"),
    "loc": _rows("release.to_pandas().loc"),
    "index": _rows("release.to_pandas().index"),
    "values": _rows("release.to_pandas().values"),
    "to_numpy": _rows("release.to_pandas().to_numpy()"),
    "to_dict": _rows("release.to_pandas().to_dict()"),
    "iterrows": _rows("release.to_pandas().iterrows()"),
    "itertuples": _rows("release.to_pandas().itertuples()"),
    "apply": _rows("release.to_pandas().apply(…), or release.ask.expectation(function) with an interval"),
    "merge": _rows("release.to_pandas().merge(…)"),
    "join": _rows("release.to_pandas().join(…)"),
    "drop": _rows("release.to_pandas().drop(…)"),
    "assign": _rows("release.to_pandas().assign(…)"),
    "rename": _rows("release.to_pandas().rename(…)"),
    "info": _words("release.answers()", "what a release knows is how large a group must be to be seen"),
    "to_csv": _words('release.export("rows.csv")', "the ending of the name says the format"),
    "to_parquet": _words('release.export("rows.parquet")', "the ending of the name says the format"),
    "to_excel": _words('release.export("rows.xlsx")', "the ending of the name says the format"),
    "to_feather": _words('release.export("rows.feather")', "the ending of the name says the format"),
    "to_polars": _words("polars.from_arrow(release.rows)", "polars takes Arrow as it is"),
    "to_arrow": _words("release.table", "it is Arrow already; `release.rows` leaves the weights out"),
}
"""By the name in pandas, in the order of docs/your-tools.md."""

MOVED: Mapping[str, str] = {
    **{
        name: f"release.forms.{name}"
        for name in ("uniform", "bounded", "as_float32", "replicates", "samples", "solution")
    },
    **{name: f"release.tests.{name}" for name in ("mmd", "goodness_of_fit", "witness")},
    **{name: f"release.measurements.{name}" for name in ("measured", "domain", "method")},
    "for_supervised": "release.forms.supervised",
    "two_sample_test": "release.tests.two_sample",
    "independence_test": "release.tests.independence",
    "weight_name": "release.measurements.domain.weight_name",
    "check": "release.agreement",
    **{name: f"release.certificate.{name}" for name in ("epsilon", "delta", "mu", "headline", "words", "unit")},
    "privacy": "release.certificate",
    "name": "release.schema.name",
}
"""What else is tried on a release, and where it is."""


_OTHERS = """
    T abs add add_prefix add_suffix align all any asfreq asof astype at at_time attrs axes between_time bfill
    clip combine combine_first compare convert_dtypes copy corrwith cummax cummin cumprod cumsum diff div
    divide dot drop_duplicates droplevel dropna duplicated empty eq equals eval ewm expanding explode ffill
    fillna filter first_valid_index flags floordiv from_arrow from_dict from_records ge get gt iat idxmax
    idxmin infer_objects insert interpolate isetitem isin items keys kurt kurtosis last_valid_index le lt map
    mask melt memory_usage mod mul multiply ndim ne nlargest notna notnull nsmallest pct_change pipe pivot pop
    pow prod product radd rank rdiv reindex reindex_like rename_axis reorder_levels replace resample
    reset_index rfloordiv rmod rmul rolling round rpow rsub rtruediv select select_dtypes sem set_axis
    set_flags set_index shift skew sort_index sparse squeeze stack style sub subtract swaplevel take
    to_clipboard to_hdf to_html to_iceberg to_json to_latex to_markdown to_orc to_period to_pickle to_records
    to_sql to_stata to_string to_timestamp to_xarray to_xml transform transpose truediv truncate tz_convert
    tz_localize unstack update xs
"""
FRAMES = frozenset(_OTHERS.split())
"""All other names of a data frame: they are for rows."""


def _ends(release: Any, name: str) -> Callable[[int], Any]:
    """The first or the last synthetic rows, to see what they look like."""

    def rows(n: int = 5) -> Any:
        return getattr(release._frame(weights=False), name)(n)

    return in_words(rows, name)


def _flat(by: Any, more: tuple[Any, ...]) -> tuple[str, ...]:
    """Columns, or one list of them, as pandas takes it."""
    return (*by, *more) if isinstance(by, list | tuple) else (by, *more)


def look_up(owner: object, name: str, ask: Callable[[], Any], questions: Iterable[str]) -> Any:
    """What a name of pandas stands for, or an `AttributeError` that says what to write.

    `ask` gives the questions about the rows that are meant. Names with an underscore are probes of other libraries.
    """
    kind = type(owner).__name__
    if name.startswith("_"):
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
    habit, offered = HABITS.get(name), [one for one in dir(type(owner)) if not one.startswith("_")]
    if habit is not None and habit.show is not None and "rows" in offered:
        return habit.show(owner)
    if habit is not None and habit.give is not None:
        return in_words(habit.give(ask()), name)
    release = ask()._among.release
    if habit is not None:
        write = _with_columns(habit.write, release.schema or ())
        raise AttributeError(f"{name}: write {write}: {habit.why or 'a group of rows has none'}.")
    raise AttributeError(_refusal(kind, name, [*offered, *questions], release.rows.column_names))


def _with_columns(write: str, columns: Iterable[Column]) -> str:
    """A line to write with columns that the release has, in place of those of the examples."""
    numbers = [column.name for column in columns if isinstance(column, Integer | Number)]
    listed = [column.name for column in columns if isinstance(column, Listed | Boolean)]
    missing = [column.name for column in columns if column.nullable]
    own = {
        **dict(zip(("age", "days"), numbers, strict=False)),
        **dict(zip(("ward", "sex"), listed, strict=False)),
        **dict(zip(("bmi",), missing, strict=False)),
    }
    return re.sub(r"\b(age|days|ward|sex|bmi)\b", lambda word: own.get(word[0], word[0]), write)


_OF_VECTORS = ("density", "classify", "probabilities", "axes", "clusters", "nearest", "expected")


def _refusal(kind: str, name: str, known: list[str], columns: list[str]) -> str:
    """What to write in place of a name that is not there."""
    if name in columns:
        return f'{name}: is a column: write release.mean("{name}"), or release["{name}"] for its synthetic values.'
    if name in _OF_VECTORS:
        return f"{name}: write release.vectors().{name}(…): a release of vectors is asked there."
    if name in MOVED:
        return f"{name}: write {MOVED[name]}: {_MOVED}."
    if name in known:
        return f"{name}: write release.ask.{name}(…), or release.where(…).by(…).{name}(…)."
    if name in FRAMES:
        return f"{name}: write release.to_pandas().{name}: {_OF_ROWS}."
    column = closest(name, columns, _ALIKE)
    near = f'release["{column}"]' if column is not None else closest(name, [*known, *HABITS], _ALIKE)
    meant = "" if near is None else f" Did you mean {near}?"
    return f"A {kind} has no {name!r}.{meant} help({kind.lower()}) lists what it has."


# --------------------
# One column of some rows, as pandas takes it out: groupby("ward")["age"].mean().


@final
@dataclass(frozen=True, slots=True)
class OneColumn:
    """Questions about one column: what a question of a release asks first is already said.

    `release.groupby("ward")["age"].median()` is `release.by("ward").quantile("age", 0.5)`.
    """

    _ask: Any
    _column: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'OneColumn' object has no attribute {name!r}")
        found = getattr(self._ask, name)
        first = next(iter(inspect.signature(found).parameters), "") if callable(found) else ""
        if first not in ("column", "first"):
            raise AttributeError(f"{name}: is no question about one column. Write it without [{self._column!r}].")
        return in_words(functools.partial(found, self._column), name)

    def __repr__(self) -> str:
        return f"{self._ask!r}[{self._column!r}]"


# --------------------
# Calls that do not fit, refused in words.


Given = ParamSpec("Given")
Found = TypeVar("Found")
_ROWS = ("where", "by", "of", "estimate")  # whose answer is meant: keywords of short forms, said first elsewhere


def in_words(function: Callable[Given, Found], name: str = "") -> Callable[Given, Found]:
    """A question whose misuse is a `ParameterError` that says what it takes, in place of Python's TypeError."""
    signature, called = inspect.signature(function), name or function.__name__

    @functools.wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Found:
        try:
            bound = signature.bind(*given, **named)
        except TypeError:
            raise ParameterError(_misuse(called, signature, given, named)) from None
        for parameter, value in bound.arguments.items():
            _check_kind(called, parameter, value)
        return function(*given, **named)

    return call


_TEXTS = {  # parameters that are texts, and what they are
    **dict.fromkeys(("column", "first", "second", "over", "target"), "the name of one column"),
    **dict.fromkeys(("event", "exposure", "condition", "where"), 'a condition in a text, as "age > 30"'),
    "formula": 'a formula in a text, as "hours ~ age + sex"',
}
_NUMBERS = {
    "share": "one number from 0 to 1, as 0.5 for the median",
    **dict.fromkeys(("n", "count"), "a whole number"),
}
_EVERY = {  # what asks about all columns at once
    **dict.fromkeys(("mean", "median", "std", "var", "quantile"), "release.describe() has a line for each column"),
    "corr": 'release.report("page.html") lists all pairs, the strongest first',
    "correlation": 'release.report("page.html") lists all pairs, the strongest first',
}


def _check_kind(name: str, parameter: str, value: object) -> None:
    several = isinstance(value, list | tuple | set)
    if parameter == "function" and not callable(value):
        told = 'a function of a row, as lambda row: row["age"] ** 2'
        raise ParameterError(f"{name}: function must be {told}, got {type(value).__name__}.")
    if parameter in _NUMBERS and (several or isinstance(value, str | bytes)):
        each = f" One at a time: {{share: release.{name}(column, share) for share in …}}." if several else ""
        raise ParameterError(f"{name}: {parameter} must be {_NUMBERS[parameter]}, got {type(value).__name__}.{each}")
    if parameter not in _TEXTS or value is None or isinstance(value, str):
        return
    each = f" One at a time: {{column: release.{name}(column) for column in …}}." * (several and parameter == "column")
    raise ParameterError(f"{name}: {parameter} must be {_TEXTS[parameter]}, got {type(value).__name__}.{each}")


def _misuse(name: str, signature: inspect.Signature, given: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    strange = [one for one in named if one in _ROWS and one not in signature.parameters]
    if strange:
        rows = f"{strange[0]}({named[strange[0]]!r})"
        takes = ", ".join(one for one in signature.parameters if one not in ("self", *_ROWS))
        return f"{name}: must be told which rows are meant before it: release.ask.{rows}.{name}({takes})."
    owner = 1 if "self" in signature.parameters else 0
    every = f" {_EVERY[name]}." if name in _EVERY and not given[owner:] and not named else ""
    return misuse(name, signature, given, named, _ROWS) + every


# --------------------
# A first look at every column.


_SHOWN = ("mean", "standard deviation", "median", "missing", "most frequent")


@final
@dataclass(frozen=True, slots=True)
class Description:
    """What each column holds, one line per column, each number with its interval: `describe()["age"]["mean"]`."""

    columns: Mapping[str, Mapping[str, str | Estimate]]

    def __getitem__(self, name: str) -> Mapping[str, str | Estimate]:
        if name not in self.columns:
            raise LabelError(f"There is no column {name!r} in this description.{nearest(name, self.columns)}")
        return self.columns[name]

    def __iter__(self) -> Any:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def to_pandas(self) -> Any:
        """A data frame with value, low and high of each number. Needs pandas."""
        lines = {name: _numbers(about) for name, about in self.columns.items()}
        return pandas_for("describe").DataFrame.from_dict(lines, orient="index")

    def __str__(self) -> str:
        lines = [["column", "type", *_SHOWN], *([name, *_texts(about)] for name, about in self.columns.items())]
        return "\n".join(align(lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        keys = ("type", *_SHOWN[:-1])
        rows = [[name, *(about.get(key, "") for key in keys), _top(about)] for name, about in self.columns.items()]
        return html_table(("", "type", *_SHOWN), rows)


def _texts(about: Mapping[str, str | Estimate]) -> list[str]:
    return [str(about["type"]), *(str(about.get(key, "")) for key in _SHOWN[:-1]), _top(about)]


def _top(about: Mapping[str, str | Estimate]) -> str:
    return f"{about['most frequent']}: {about['share']}" if "share" in about else ""


def _numbers(about: Mapping[str, str | Estimate]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, one in about.items():
        if isinstance(one, Estimate):
            low, high = one.interval()
            found |= {key: one.value, f"{key} low": low, f"{key} high": high}
        else:
            found[key] = one
    return found


def pandas_for(what: str) -> Any:
    """The module, or a `ParameterError` that says who needs it."""
    try:
        return import_module("pandas")
    except ImportError:
        raise ParameterError(f"{what}: needs pandas, which is not installed.") from None


def describe(ask: Any, columns: Iterable[Column]) -> Description:
    """The description of the columns that questions are about."""
    return Description({column.name: _describe(ask, column) for column in columns})


def _describe(ask: Any, column: Column) -> dict[str, str | Estimate]:
    found: dict[str, str | Estimate] = {"type": column.tag}
    name = column.name
    if isinstance(column, Integer | Number):
        found |= {"mean": ask.mean(name), "standard deviation": ask.standard_deviation(name)}
    if isinstance(column, Boolean):
        found["mean"] = ask.mean(name)
    if column.ordered and not isinstance(column, Listed | Boolean):
        found["median"] = ask.quantile(name, 0.5)
    if column.nullable or isinstance(column, Listed):
        shares = ask.histogram(name)
        if column.nullable:
            found["missing"] = shares[column.labels()[-1]]
        if isinstance(column, Listed):
            top = max(shares, key=lambda label: shares[label].value)
            found |= {"most frequent": str(top), "share": shares[top]}
    return found
