"""What holds between the columns of private rows: rules that are declared, and relations that could be.

A column that follows from others need not be measured: declared as `computed` or `determined_by` it costs nothing and
holds in every synthetic row. What was found is a proposal, as private as the rows: only the owner knows whether it is
public. A relation is proposed where it holds in every row that was looked at, and where rows that have nothing to do
with each other would agree so often with a chance of one in a million at most.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.drafting.findings import LOOKED_AT, Finding, Level, share
from kernelease.errors import SchemaError
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.derived import Computed, Derived, Determined, text_of
from kernelease.table.draft import MARK, Lines
from kernelease.table.expressions.terms import PARTS, spell_name, unit_of, write_term
from kernelease.table.parsing import DAY, MICROSECOND, MOST_DECIMALS, decimals_of, read_instants, read_numbers
from kernelease.table.schema import Schema
from kernelease.table.toml import toml_key

# ---- Cells as values, and the declared constraints.


def read_values(column: Column, array: pa.Array) -> pa.Array:
    """Cells as values of the column's own type, not clamped and not drawn; null for what is none.

    >>> from kernelease.table import Integer
    >>> read_values(Integer(name="age", min=0, max=9), pa.array(["3", "old", None, "12"])).to_pylist()
    [3, None, None, 12]
    """
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    null = plain.is_null().to_numpy(zero_copy_only=False)
    if isinstance(column, Listed | Boolean):
        probe = dataclasses.replace(column, nullable=True, default=None)
        return probe.decode(probe.encode(plain), np.random.default_rng(0))  # each atom is one value: nothing is drawn
    if isinstance(column, Date | Datetime):
        ticks, absent = read_instants(plain, DAY if isinstance(column, Date) else MICROSECOND, -(2**40), 2**55)
        absent = null if absent is None else absent | null
        whole = pa.array(ticks, mask=absent)
        return (whole.cast(pa.int32(), safe=False) if isinstance(column, Date) else whole).cast(column.arrow_type)
    numbers = read_numbers(plain)
    absent = null | ~np.isfinite(numbers) | (np.abs(numbers) >= 2.0**62)
    kept = np.where(absent, 0.0, numbers)
    return pa.array(np.floor(kept).astype(np.int64) if isinstance(column, Integer) else kept, mask=absent)


@final
@dataclass(slots=True, kw_only=True)
class Rules:
    """How many rows break each constraint. Private."""

    schema: Schema
    rows: int = 0
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        structure = self.schema.structure
        for rule in self.schema.constraints:
            read = dict.fromkeys(origin for name in rule.columns for origin in structure.origins(name))
            rows = pa.table({name: read_values(self.schema.column(name), batch.column(name)) for name in read})
            whole = pa.table(
                {name: rows.column(name) if name in read else structure.derive(rows, name) for name in rule.columns}
            )
            self.broken[rule.text] += int((~rule.holds(whole)).sum())

    def findings(self) -> Iterator[Finding]:
        for rule, count in self.broken.items():
            if count:
                yield Finding(
                    level=Level.of_share(count / self.rows),
                    where="constraints",
                    words=f"{share(count, self.rows)} rows break {rule!r}; no synthetic row will",
                    remedy="correct the rows, or leave out the constraint if rows may break it",
                )


# ---- Relations, and the rows that they are looked for in.


SPURIOUS = 1e-6  # convention: the chance to propose what rows without any relation show
_GLANCE, _SAMPLE = 4, 64  # convention: rows that most candidates fail at; rows that nearly all others do
_DUST = 2.0**-21  # convention: of the largest number, what arithmetic in float32 leaves: eight units of its last place
_MOST_COLUMNS = 256  # limit: of numbers, that are looked at in pairs: the first


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What all rows that were looked at show about a column, and the lines that would declare it. Private.

    Lines of a derived column stand in place of all its others. An order between columns is a `rule` of the table. A
    time that is near another is computed from that one and their `gap`.
    """

    column: str
    words: str
    lines: Lines = ()
    derived: bool = False
    rule: str = ""
    gap: "Gap | None" = None

    def finding(self) -> Finding:
        """What `check` says of it: nothing is wrong, and something could be better."""
        if self.rule:
            return self._finding(f'constraints = ["{self.rule}"] in [table]')
        if self.gap is not None:
            return self._finding(self.gap.advice)
        key, value, _ = next(line for line in self.lines if line[0] in ("computed", "determined_by", "null_when"))
        beside = ", with its mapping" if key == "determined_by" else ""
        return self._finding(f'{key} = "{value}"{beside} in [columns.{toml_key(self.column)}]')

    def _finding(self, line: str) -> Finding:
        why = "it then costs nothing, and holds in every row" if self.derived else "it then holds in every row"
        if self.gap is not None:
            why = "rows then keep how far apart the two are"
        return Finding(
            level=Level.NOTE, where=self.column, words=self.words, remedy=f"{line}, if that is public: {why}"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far a time is from an earlier column, in days or seconds: a column of its own, from which it follows."""

    of: str
    minus: str
    least: int
    most: int
    step: int  # all are multiples of it
    nullable: bool

    @property
    def name(self) -> str:
        return f"{self.of}_minus_{self.minus}"

    @property
    def formula(self) -> str:
        return f"{spell_name(self.minus)} + {spell_name(self.name)}"

    @property
    def advice(self) -> str:
        """What to write, in a line."""
        gap = f'[columns.{toml_key(self.name)}] with from = "{self.of}" and minus = "{self.minus}"'
        return f"computed = {self.formula!r} in [columns.{toml_key(self.of)}], and a new column {gap}"


def find_relations(batches: Iterable[pa.RecordBatch], schema: Schema) -> tuple[Relation, ...]:
    """Columns that follow from others, NULLs that do, and orders of dates, in the order of the schema.

    The batches have the columns of the schema as a source has them, and the first of their rows are looked at. What the
    schema declares as derived is left alone.
    """
    rows = _Rows.of(batches, schema)
    if rows.table.num_rows == 0:
        return ()
    search = _Search(rows=rows)
    for looking in (search.one_term, search.two_terms, search.parts, search.sums, search.flags, search.lookups):
        looking()
    relations = [*(search.relation(found) for found in search.found.values()), *_nulls(search)]
    gaps = {one.column: one for one in _gaps(search, {one.column for one in relations})}
    relations += [*gaps.values(), *(one for one in _orders(search) if one.column not in gaps)]
    relations = [one for one in relations if one.rule not in {rule.text for rule in schema.constraints}]
    places = {name: place for place, name in enumerate(schema.names)}
    return tuple(sorted(relations, key=lambda one: places[one.column]))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """Rows as values of their columns' types, and their columns. Private."""

    table: pa.Table
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], schema: Schema) -> "_Rows":
        """The first rows of some batches."""
        tables, seen = [], 0
        for batch in batches:
            tables.append(pa.table({column.name: read_values(column, batch.column(column.name)) for column in schema}))
            seen += batch.num_rows
            if seen >= LOOKED_AT:
                break
        table = pa.concat_tables(tables) if tables else pa.table({})
        return cls(table=table.combine_chunks(), columns={column.name: _with_null(column) for column in schema})

    @cached_property
    def codes(self) -> Mapping[str, Integers]:
        """Each column's distinct values as numbers from 0, −1 for NULL."""
        found = {}
        for name in self.columns:
            coded = self.table.column(name).combine_chunks().dictionary_encode()
            found[name] = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return found

    def distinct(self, name: str) -> int:
        """How many values a column has, NULL aside."""
        return int(self.codes[name].max()) + 1

    def is_listed(self, name: str) -> bool:
        """Whether it has several values of a list, or all whole numbers of its range, such as 0 and 1."""
        column = self.columns[name]
        whole = isinstance(column, Integer) and self.distinct(name) == len(
            column.values or range(column.low, column.high + 1, column.tick)
        )
        return self.distinct(name) > 1 and (isinstance(column, Listed | Boolean) or whole)

    @cached_property
    def chances(self) -> Mapping[str, float]:
        """For each column, the chance of two rows to have the same value, where NULL is one."""
        counts = {name: np.bincount(codes + 1) for name, codes in self.codes.items()}
        return {name: float(((found / found.sum()) ** 2).sum()) for name, found in counts.items()}

    @cached_property
    def numbers(self) -> Mapping[str, Floats]:
        """Numbers as they are, dates in days, datetimes in seconds; NaN for NULL."""
        kept = [name for name, column in self.columns.items() if _unit(column) is not None and self.distinct(name) > 1]
        return {name: self._floats(name) for name in kept[:_MOST_COLUMNS]}

    def _floats(self, name: str) -> Floats:
        array, column = self.table.column(name).combine_chunks(), self.columns[name]
        if isinstance(column, Date):
            array = array.cast(pa.int32())
        elif isinstance(column, Datetime):
            array = array.cast(pa.int64())
        floats: Floats = array.cast(pa.float64(), safe=False).fill_null(math.nan).to_numpy(zero_copy_only=False)
        return floats / 1e6 if isinstance(column, Datetime) else floats


def _with_null(column: Column) -> Column:
    """The column with a place for the NULLs that are in rows, declared or not."""
    without_default: dict[str, Any] = {"nullable": True, "default": None}
    return column if column.nullable else dataclasses.replace(column, **without_default)


def _unit(column: Column) -> str | None:
    """What a column's values are where they are added up; None where they can't be."""
    return unit_of(column) if column.family in ("number", "time") else None


def _is_no_accident(rows: int, chance: float, tried: int) -> bool:
    """Whether so many rows that agree by chance as often would hardly all do, for any of the candidates tried."""
    return rows * -math.log(max(chance, SPURIOUS)) >= math.log(tried / SPURIOUS)


# ---- Columns that follow from others.


_FORMULAS: Mapping[str, Callable[[Floats, Floats], Floats]] = {  # in this order: a total before its parts
    "{} + {}": np.add,
    "{} * {}": np.multiply,
    "{} / {}": np.divide,
    "{} - {}": np.subtract,
    "{} * {} / 100": lambda amount, percent: amount * percent / 100,
    "{} * (100 - {}) / 100": lambda amount, percent: amount * (100 - percent) / 100,
    "{} * (100 + {}) / 100": lambda amount, percent: amount * (100 + percent) / 100,
    "{} * (1 - {})": lambda amount, rate: amount * (1 - rate),
    "{} * (1 + {})": lambda amount, rate: amount * (1 + rate),
}
_EITHER_WAY = ("{} + {}", "{} * {}", "{} * {} / 100")


@final
@dataclass(kw_only=True)
class _Search:
    """Derived columns that hold in all rows, one for each column at most, and none in a circle."""

    rows: _Rows
    found: dict[str, Derived] = field(default_factory=dict)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    _samples: dict[tuple[str, int], dict[str, Floats]] = field(default_factory=dict)

    def relation(self, derived: Derived) -> Relation:
        """A derived column as the lines that declare it."""
        written = derived.to_dict()
        first = "computed" if isinstance(derived, Computed) else "determined_by"
        told = f"holds in all {self.rows.table.num_rows:,} rows; {MARK}"
        lines = tuple((key, value, told if key == first else MARK) for key, value in written.items())
        words = f"in all {self.rows.table.num_rows:,} rows it is {derived.in_words}"
        return Relation(column=derived.name, words=words, lines=lines, derived=True)

    def one_term(self) -> None:
        """Copies, multiples, and numbers at the same distance from another in all rows: an age, and a year of birth.

        A column follows from one before it; if that can't be, from one after it. One that tells a few values apart
        less finely is looked up (`lookups`): some factor rounds them to it, too, but nobody would write it so.
        """
        forth = list(itertools.combinations(self.rows.numbers, 2))
        for source, target in [*forth, *((after, before) for before, after in forth)]:
            unit = _unit(self.rows.columns[target])
            if unit == _unit(self.rows.columns[source]):
                x, y = (self._sample(target, _SAMPLE)[name] for name in (source, target))
                listed = self.rows.is_listed(source) and self.rows.distinct(target) < self.rows.distinct(source)
                for text, found in _affine(x, y, spell_name(source), plain=unit == "number" and not listed):
                    if _near(found, y, self._last_digit(target)).all():
                        self._try(target, text, (source,))

    def two_terms(self) -> None:
        """Sums, products, quotients, differences and rates of two; the last one first, where it could be any."""
        names = tuple(self.rows.numbers)
        for (formula, combine), target in itertools.product(_FORMULAS.items(), reversed(names)):
            digit, sample = self._last_digit(target), np.array([*self._sample(target, _SAMPLE).values()])
            goal = sample[names.index(target)]
            with np.errstate(all="ignore"):
                both = combine(sample[:, None, :_GLANCE], sample[None, :, :_GLANCE])
            near = np.all(_near(both, goal[:_GLANCE], digit), axis=2) & self._allowed_pairs(formula, target)
            for left, right in np.argwhere(near):
                with np.errstate(all="ignore"):
                    found = combine(sample[left], sample[right])
                if _near(found, goal, digit).all():
                    pair = names[left], names[right]
                    self._try(target, formula.format(*map(spell_name, pair)), pair)

    def _allowed_pairs(self, formula: str, target: str) -> NDArray[np.bool_]:
        """Which pairs of columns a formula makes of the target's unit, each once where their order is nothing."""
        units = [_unit(self.rows.columns[name]) for name in self.rows.numbers]
        goal = _unit(self.rows.columns[target])
        numbers = np.array([unit == "number" for unit in units])
        allowed = numbers[:, None] & numbers[None, :] if goal == "number" else np.zeros((len(units),) * 2, dtype=bool)
        if formula in _EITHER_WAY:
            allowed = np.triu(allowed)
        same = np.array([[one == other for other in units] for one in units])
        if formula == "{} - {}" and goal == "number":
            allowed |= same & ~numbers[:, None]
        if formula in ("{} + {}", "{} - {}") and goal != "number":
            allowed |= np.array([unit == goal for unit in units])[:, None] & numbers[None, :]
        others = np.array([name != target for name in self.rows.numbers])
        found: NDArray[np.bool_] = allowed & others[:, None] & others[None, :]
        return found if formula == "{} * {}" else found & ~np.eye(len(units), dtype=bool)

    def parts(self) -> None:
        """Years, months and other parts of dates; the day of a datetime."""
        for source, column in self.rows.columns.items():
            if not isinstance(column, Date | Datetime):
                continue
            for target, part in itertools.product(self.rows.numbers, PARTS):
                wanted = Date if part == "date" else Integer
                if target != source and isinstance(self.rows.columns[target], wanted):
                    self._try(target, f"{part}({spell_name(source)})", (source,))

    def sums(self) -> None:
        """Totals of three columns or more, where these have no NULL: by least squares, whose factors are 1 and −1."""
        full = {name: values for name, values in self.rows.numbers.items() if np.isfinite(values).all()}
        names = [name for name in full if _unit(self.rows.columns[name]) == "number" and name not in self.found]
        size = 4 * len(names) + _SAMPLE
        if len(names) < 4 or self.rows.table.num_rows < size:
            return
        for target in names:
            sample = self._sample(target, size)
            others = [name for name in names if name != target]
            factors = np.linalg.lstsq(np.array([sample[name] for name in others]).T, sample[target], rcond=None)[0]
            signs = np.rint(factors)
            if np.abs(factors - signs).max() < 1e-3 and signs.min() >= 0 and signs.max() == 1 and signs.sum() > 2:
                parts = tuple(name for name, sign in zip(others, signs, strict=True) if sign)
                self._try(target, " + ".join(map(spell_name, parts)), parts)

    def flags(self) -> None:
        """Booleans that are true from some number on, or up to one."""
        for target, column in self.rows.columns.items():
            if not isinstance(column, Boolean) or self.rows.distinct(target) < 2:
                continue
            true = self.rows.table.column(target).combine_chunks().fill_null(False).to_numpy(zero_copy_only=False)
            known = self.rows.codes[target] >= 0
            for source in [name for name in self.rows.numbers if _unit(self.rows.columns[name]) == "number"]:
                values = self.rows.numbers[source]
                for sign, inner, outer in ((">=", true, ~true & known), ("<", ~true & known, true)):
                    edge = float(np.nanmin(values[inner], initial=math.inf))
                    if np.nanmax(values[outer], initial=-math.inf) < edge < math.inf:
                        self._try(target, f"{spell_name(source)} {sign} {edge:.15g}", (source,))

    def lookups(self) -> None:
        """Columns of lists that another one determines: by the one with the fewest values."""
        listed = [name for name in self.rows.columns if self.rows.is_listed(name)]
        places = {name: (self.rows.distinct(name), place) for place, name in enumerate(self.rows.columns)}
        follows = [n for n, column in self.rows.columns.items() if isinstance(column, Listed | Boolean | Integer)]
        for target in sorted(follows, key=lambda name: places[name]):
            for source in sorted(listed, key=lambda name: places[name]):
                few, many = places[target], places[source]
                if few[0] < many[0] or (few[0] == many[0] and many[1] < few[1]):  # of two, the first determines
                    self._try_lookup(target, source)

    def _try_lookup(self, target: str, source: str) -> None:
        codes, own = self.rows.codes[source], self.rows.codes[target]
        repeats = len(codes) - len(np.unique(codes))
        if (
            target in self.found
            or self.rows.distinct(target) < 2
            or not self._is_evidence(repeats, target)
            or not self._is_function(codes, own)
        ):
            return
        values, images = self.rows.table.column(source).to_pylist(), self.rows.table.column(target).to_pylist()
        firsts = np.unique(codes, return_index=True)[1]
        pairs = {text_of(values[i]): images[i] for i in sorted(firsts) if None not in (values[i], images[i])}
        tag = {"boolean": "boolean", "integer": "integer"}.get(self.rows.columns[target].tag, "category")
        nullable = any(images[i] is None for i in firsts if values[i] is not None)
        mapping = dict(sorted(pairs.items()))
        self._accept(
            Determined(name=target, type=tag, determined_by=source, mapping=mapping, nullable=nullable), (source,)
        )

    def _is_function(self, codes: Integers, images: Integers) -> bool:
        """Whether each value has one image in all rows, and NULL has NULL."""
        first = np.full(int(codes.max()) + 2, -1)
        first[codes[::-1] + 1] = images[::-1]
        return bool((first[codes + 1] == images).all() and (images[codes < 0] < 0).all())

    def _sample(self, target: str, size: int) -> dict[str, Floats]:
        """Some rows, evenly from those that don't have the target's most frequent value, then from all of them."""
        if (target, size) not in self._samples:
            codes = self.rows.codes[target]
            unusual = np.flatnonzero(codes != np.bincount(codes + 1).argmax() - 1)
            places = np.concatenate([_evenly(unusual, size // 2), _evenly(np.arange(len(codes)), size // 2)])
            self._samples[target, size] = {name: values[places] for name, values in self.rows.numbers.items()}
        return self._samples[target, size]

    def _last_digit(self, target: str) -> float:
        """The unit that a column is rounded to; of numbers that were not rounded, some of the last bits of float32."""
        column = self.rows.columns[target]
        if not isinstance(column, Number):
            return 1.0
        digits = _digits(column)
        return 10.0**-digits if digits is not None else float(np.nanmax(np.abs(self.rows.numbers[target]))) * _DUST

    def _try(self, target: str, text: str, sources: tuple[str, ...]) -> None:
        column = self.rows.columns[target]
        if not self._is_evidence(len(self.rows.codes[target]), target):
            return
        decimals = None
        if isinstance(column, Number):
            digits = math.ceil(-math.log10(self._last_digit(target)) - 1e-9)
            decimals = min(max(digits, 0), MOST_DECIMALS)
        self._accept(Computed(name=target, type=column.tag, computed=text, decimals=decimals), sources)

    def _is_evidence(self, rows: int, target: str) -> bool:
        """Whether so many rows would hardly agree by chance, of all pairs of columns that are tried."""
        return _is_no_accident(rows, self.rows.chances[target], len(_FORMULAS) * len(self.rows.columns) ** 2)

    def _accept(self, derived: Derived, sources: tuple[str, ...]) -> None:
        """Keep it if no other was found for the column, it is in no circle, and the schema's own arithmetic agrees."""
        behind = frozenset(sources).union(*(self.sources.get(name, frozenset()) for name in sources))
        if derived.name in self.found or derived.name in behind:
            return
        some, rest = self.rows.table.slice(0, _SAMPLE), self.rows.table
        if self._agrees(derived, some) and self._agrees(derived, rest):
            self.found[derived.name] = derived
            self.sources[derived.name] = behind
            for name, older in self.sources.items():
                if derived.name in older:
                    self.sources[name] = older | behind

    def _agrees(self, derived: Derived, rows: pa.Table) -> bool:
        try:
            values = derived.bind(self.rows.columns).values(rows)
        except SchemaError:
            return False
        real = rows.column(derived.name)
        if not pc.all(pc.equal(pc.is_null(values), pc.is_null(real))).as_py():
            return False
        if isinstance(derived, Computed) and derived.type == "number":
            column = self.rows.columns[derived.name]
            exact = "*" not in derived.computed and "/" not in derived.computed and _digits(column) is not None
            away = pc.max(pc.abs(pc.subtract(values, real))).as_py()
            return away is None or away <= 1.000001 * (0.1 if exact else 1.0) * self._last_digit(derived.name)
        return bool(pc.all(pc.equal(values, real)).as_py() in (True, None))


def _digits(column: Column) -> int | None:
    """How many decimals a number is declared with, or its values have; None where it is declared without."""
    if not isinstance(column, Number):
        return 0
    if column.values:
        return max(map(decimals_of, column.values))
    return column.decimals if column.resolution is None else decimals_of(column.resolution)


def _evenly(places: Integers, size: int) -> Integers:
    return places[np.unique(np.linspace(0, len(places) - 1, min(size, len(places))).astype(np.int64))]


def _near(found: Floats, wanted: Floats, unit: float) -> NDArray[np.bool_]:
    """Whether numbers are the same to half of the last digit and what float64 loses; NaN is as NaN."""
    with np.errstate(all="ignore"):
        close = np.abs(found - wanted) <= 0.500001 * unit + 1e-12 * np.abs(wanted)
    return close | (~np.isfinite(found) & np.isnan(wanted))


def _affine(x: Floats, y: Floats, name: str, *, plain: bool) -> Iterator[tuple[str, Floats]]:
    """Texts and values of x itself, and for plain numbers of x with one constant, by the largest of the numbers."""
    both = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(both) == 0:
        return
    yield name, x
    if not plain:
        return
    largest = both[np.abs(x[both]).argmax()]
    near, far = x[largest], y[largest]
    yield (
        (f"{name} + {_write_number(far - near)}" if far > near else f"{name} - {_write_number(near - far)}"),
        x + (far - near),
    )
    yield f"{_write_number(far + near)} - {name}", far + near - x
    if near and far:
        for factor in sorted({float(f"{far / near:.{digits}g}") for digits in range(1, 7)}, key=decimals_of):
            yield f"{_write_number(factor)} * {name}", factor * x


def _write_number(number: float) -> str:
    return f"{float(f'{number:.12g}'):.15g}"


# ---- Times that are near others.


_NEARER = 4  # convention: times that a gap spreads less than its column, so that cells of two dates can't show it
_CENTRAL = (0.05, 0.95)  # convention: the quantiles between which a column spreads


def _gaps(search: _Search, told: set[str]) -> Iterator[Relation]:
    """Dates and instants that are near an earlier column: of all these, the one that they are nearest to.

    A stay of days in a table of years is lost in any cells that two dates are counted in; counted for itself it is not.
    """
    rows = search.rows
    times = [name for name, column in rows.columns.items() if column.family == "time" and name in rows.numbers]
    for place, last in enumerate(times):
        near = [(_spread(gap), first) for first in times[:place] if (gap := _apart(rows, first, last)) is not None]
        least, first = min(near, default=(math.inf, ""))
        if not told & {first, last} and 0.0 < _NEARER * least <= _spread(rows.numbers[last]):
            yield _gap_relation(rows, first, last)


def _apart(rows: _Rows, first: str, last: str) -> Floats | None:
    """How far apart two columns of one kind are; None where they are not, or where the later one may stand alone."""
    early, late = rows.numbers[first], rows.numbers[last]
    alone = np.isnan(early) & ~np.isnan(late)
    return None if alone.any() or type(rows.columns[first]) is not type(rows.columns[last]) else late - early


def _spread(numbers: Floats) -> float:
    """How far most of them are apart."""
    return float(np.subtract(*np.nanquantile(numbers, _CENTRAL[::-1]))) if np.isfinite(numbers).any() else math.inf


def _gap_relation(rows: _Rows, first: str, last: str) -> Relation:
    apart = rows.numbers[last] - rows.numbers[first]
    present = np.rint(apart[np.isfinite(apart)]).astype(np.int64)
    gap = Gap(
        of=last,
        minus=first,
        least=int(present.min()),
        most=int(present.max()),
        step=int(np.gcd.reduce(present)),
        nullable=len(present) < len(apart),
    )
    words = f"in all {rows.table.num_rows:,} rows it is near {first}: their difference spreads far less than it does"
    remark = f"near in all {rows.table.num_rows:,} rows; {MARK}"
    lines: Lines = (("type", rows.columns[last].tag, MARK), ("computed", gap.formula, remark))
    return Relation(column=last, words=words, lines=lines, derived=True, gap=gap)


# ---- NULLs that follow from others, and orders.


def _nulls(search: _Search) -> Iterator[Relation]:
    """Columns that are NULL in all rows with some values of another; by the one that says most NULLs, in no circle."""
    rows, behind = search.rows, dict(search.sources)
    for target in rows.columns:
        null = rows.codes[target] < 0
        if target in search.found or rows.columns[target].null_when or not 0 < null.sum() < len(null):
            continue
        said = [
            (covered, text, name)
            for name in rows.columns
            if name != target and target not in _all_behind(name, behind)
            for covered, text in _null_where(rows, name, null)
        ]
        covered, text, name = max(said, default=(0, "", ""), key=lambda one: one[0])
        if _is_no_accident(covered, float(null.mean()), len(rows.columns) ** 2):
            behind[target] = frozenset((name,))
            told = f"in all {len(null):,} rows it is NULL where {text}"
            line = ("null_when", text, f"holds in all {len(null):,} rows; {MARK}")
            yield Relation(column=target, words=told, lines=(line,))


def _all_behind(name: str, behind: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The columns that one follows from, and those that these follow from, where there is no circle."""
    own = behind.get(name, frozenset())
    return own.union(*(_all_behind(one, behind) for one in own))


# convention: values in a rule that somebody can read and confirm; names of rows that go together are more
_MOST_NAMED = 16


def _null_where(rows: _Rows, name: str, null: NDArray[np.bool_]) -> Iterator[tuple[int, str]]:
    """Conditions on a column that are true in rows of NULL alone; in how many, without the first row of each value."""
    codes, spelt = rows.codes[name], spell_name(name)
    absent = codes < 0
    if absent.any() and null[absent].all():
        yield int(absent.sum()) - 1, f"{spelt} is null"
    if rows.is_listed(name):
        size, values = rows.distinct(name), rows.table.column(name).combine_chunks().dictionary_encode().dictionary
        with_null, without = (np.bincount(codes[~absent & own], minlength=size) for own in (null, ~null))
        tried, chance = size * len(rows.columns) ** 2, float(null.mean())
        found = [c for c in np.flatnonzero(without == 0) if _is_no_accident(int(with_null[c]) - 1, chance, tried)]
        if 0 < len(found) < size and len(found) <= _MOST_NAMED:
            text = _write_choice(spelt, [values[code].as_py() for code in found], "==", "in")
            yield int(with_null[found].sum()) - len(found), text
        held, rest = np.flatnonzero(without), np.flatnonzero(without == 0)  # newborns alone have a weight at birth
        if 0 < len(held) < len(rest) and len(held) <= _MOST_NAMED:
            among = float((with_null + without)[held].sum() / np.sum(~absent))
            if _is_no_accident(int(without.sum()) - len(held), among, tried):
                text = _write_choice(spelt, [values[code].as_py() for code in held], "!=", "not in")
                yield int(with_null[rest].sum()) - len(rest), text


def _write_choice(spelt: str, values: Sequence[Any], one: str, several: str) -> str:
    """A condition on a column by its values: `one` of them, or `several`."""
    chosen = [write_term(value) for value in values]
    return f"{spelt} {one} {chosen[0]}" if len(chosen) == 1 else f"{spelt} {several} ({', '.join(chosen)})"


def _orders(search: _Search) -> Iterator[Relation]:
    """Dates that are in no row before others, unless that follows from declared bounds or from two other orders."""
    rows = search.rows
    dates = [name for name, column in rows.columns.items() if _unit(column) in ("date", "datetime")]
    before = {pair for pair in itertools.permutations(dates, 2) if _is_before(search, *pair)}
    for first, last in sorted(before, key=lambda pair: (dates.index(pair[1]), dates.index(pair[0]))):
        if any((first, middle) in before and (middle, last) in before for middle in dates):
            continue
        rule = f"{spell_name(first)} <= {spell_name(last)}"
        yield Relation(column=last, words=f"in all {rows.table.num_rows:,} rows, {rule}", rule=rule)


def _is_before(search: _Search, first: str, last: str) -> bool:
    rows = search.rows
    one, other = rows.columns[first], rows.columns[last]
    if type(one) is not type(other) or first in search.found or last in search.found:
        return False
    early, late = rows.numbers.get(first), rows.numbers.get(last)
    if early is None or late is None:
        return False
    both = np.isfinite(early) & np.isfinite(late)
    if not both.any() or not (early[both] <= late[both]).all() or early[both].max() <= late[both].min():
        return False
    by_chance = float((early[both] <= np.roll(late[both], len(late[both]) // 2)).mean())  # of rows that are not paired
    return _is_no_accident(int(both.sum()), by_chance, len(rows.columns) ** 2)
