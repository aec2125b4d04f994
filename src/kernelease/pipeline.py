"""The whole product as a few short functions: measure (private, charged) and release, which fits rows as well."""

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.analysis.comparisons.tables import MarginalErrors, marginal_errors
from kernelease.answers.promises import promised_widths
from kernelease.answers.release import Release, contents_of
from kernelease.arguments import Order, PrivacyLike, SchemaLike, declared_of, ledger_of, privacy_of
from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.bundle.saving import Bought, Watched, check_savable
from kernelease.certificate import Certificate, Measurements
from kernelease.errors import ParameterError, check_integer, in_words, nearest
from kernelease.exact.rows import PrivateRows
from kernelease.fit.solver import NormalPoints, PublicPoints
from kernelease.fit.weights import Simplex
from kernelease.kernels.discrete import Kronecker
from kernelease.kernels.dot_product import UNDECLARED, LabelledSphere
from kernelease.kernels.kernel import Kernel, as_rows
from kernelease.kernels.numeric import ShiftInvariant
from kernelease.machine import cores
from kernelease.methods.adaptive import Adaptive
from kernelease.methods.class_gaussians import ClassGaussians
from kernelease.methods.interactions.interactions import Interactions, with_analyses
from kernelease.methods.interactions.rounds import Reserve
from kernelease.methods.interactions.singles import count_noise
from kernelease.methods.method import Context, Method, warn_if_weak
from kernelease.methods.paper import Subspace
from kernelease.methods.plan import Plan, Promise, plan as plan_table, plan_tables
from kernelease.methods.several_tables import Bags
from kernelease.noises import SeededNoise
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.privacy.sensitivity import Neighbours, Subject
from kernelease.progress import Progress, show_progress
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import is_spark_frame
from kernelease.sources.partitioned import Partitioned
from kernelease.sources.private_rows import by_cells, labelled_vectors, private_table, private_tables, private_vectors
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.domains import TableDomain, decode_lawfully, vector_domain
from kernelease.table.encode import Encoder
from kernelease.table.expressions.formulas import Analysis
from kernelease.table.schema import Schema
from kernelease.table.written import Written

# ---- The default method: one line of code per case, and its reason.


REACH = 10.0  # lengthscales around 0 to look for rows in. convention: where nothing else is known


def method_for(domain: Domain, dimension: int) -> Method:
    """`Interactions` for tables, `ClassGaussians` for vectors with classes, `Adaptive` for others.

    The last looks for them within some ten lengthscales around 0. Nothing is read from the rows. Whoever knows where
    they lie gives `Adaptive(points=…)` and gets a better release.
    """
    if domain.schema is not None:
        return Interactions()
    kernel = domain.kernel
    if isinstance(kernel, LabelledSphere):
        return ClassGaussians()
    if not isinstance(kernel, ShiftInvariant):
        raise ParameterError(
            f"release: {type(kernel).__name__} needs a method with public points to use, "
            "for example Adaptive(points=PublicPoints(…))."
        )
    widest = float(np.max(np.asarray(kernel.lengthscale, dtype=np.float64)))
    return Adaptive(points=NormalPoints(dimension=dimension, scale=REACH * widest))


# ---- measure, fit, release.


PUBLIC_POINTS = 1024  # public rows that a release may use, at most: its measurements then stay near 10 MB


REHEARSED = 100_000  # limit: rows of a rehearsal of analyses
REHEARSALS = 9  # convention: a mean of so many but the extremes; of each of several shapes, a third of them

Result = TypeVar("Result")
Options = ParamSpec("Options")


def takes_options(
    order: Callable[Options, Order],
) -> Callable[[Callable[[Any, Order], Result]], Callable[Concatenate[Any, Options], Result]]:
    """A function of data and an `Order` as one of data and keywords: those of the order, and refused in its words."""

    def decorate(work: Callable[[Any, Order], Result]) -> Callable[Concatenate[Any, Options], Result]:
        fields = [
            one.replace(annotation=inspect.Parameter.empty) for one in inspect.signature(order).parameters.values()
        ]
        data = inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.signature(work).replace(parameters=[data, *fields])

        @functools.wraps(work)
        def call(*given: Any, **options: Any) -> Result:
            try:
                bound = signature.bind(*given, **options)
            except TypeError:
                raise ParameterError(_misuse(work.__name__, given, options)) from None
            return work(bound.arguments.pop("data"), Order(**bound.arguments))

        call.__signature__ = signature  # type: ignore[attr-defined]  # what `help` shows
        return call

    return decorate


def _misuse(name: str, given: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """What is wrong with a call that does not fit, and what to write."""
    known = [field.name for field in dataclasses.fields(Order)]
    strange = [option for option in options if option not in (*known, "data")]
    whole = f"{name}(data, schema=…, privacy=(1.0, 1e-6))"
    if {"epsilon", "delta"} & {*strange}:
        return f"{name}: needs epsilon and delta together, as privacy: {whole}."
    if strange:
        return f"{name}: there is no option {strange[0]!r}.{nearest(strange[0], known)} There are {', '.join(known)}."
    if len(given) > 1:
        return f"{name}: takes the data alone without a name, and needs names for all else: {whole}."
    if not given and "data" not in options:
        return f"{name}: needs the data first, a table or the path of a file: {whole}."
    if given and "data" in options:
        return f"{name}: got data twice. Leave one of the two out."
    return f"{name}: needs privacy, epsilon and delta in a pair: {whole}."


@takes_options(Order)
def release(data: Any, order: Order) -> Any:
    """Synthetic rows to publish in place of private `data`, with the guarantee that `privacy` asks for.

        ke.release("people.csv", schema="people.toml", privacy=(1.0, 1e-6), out="bundle")

    What is asked for:

    - data: a file, a folder, a database, a data frame; without a schema, an array of vectors
    - privacy: a pair (epsilon, delta), or a `Privacy`
    - schema: what is public about the columns, a `Schema` or the path of its TOML file
    - target: a column that people will want to predict
    - analyses: what they will ask, such as "ill ~ age + sex"
    - rows: how many to make
    - method: how rows are described, where the default is not wanted
    - kernel: how alike two vectors are, where there is no schema
    - labels, classes, public: of vectors with classes

    What it costs, and where it goes:

    - ledger: charged before noise is drawn, a path or a `Ledger`; without one, nobody adds up what was spent
    - dataset: the name that a ledger has for an array; a table has its schema's
    - out: where the bundle is written, measurements first; overwrite: whether it may replace an older one
    - key: signs the bundle

    How it runs:

    - seed: of all that is random and public; noise is never seeded
    - noise: only for experiments; such a release is marked NOT PRIVATE
    - fast: fit coarsely, for a first look
    - push_down: let a database count, so that no row leaves it
    - device: "cuda" sums vectors on a GPU
    - progress: who is told how far it is

    What cells say never decides whether there is a release. Those that can't be read become NULL, `other` or a
    declared value; where all of a column may have, the measurements' `notices` say so by noisy counts. Call
    `ke.check(data, schema)` first, for your eyes alone, to see them. The command line looks by itself; docs/security.md
    says what that may tell.

    `kernelease.arguments.Order` says more about each. Several tables are a mapping from names to tables, or a folder,
    and give a `TablesRelease`.
    """
    bought = Bought(order.out, key=order.key, overwrite=order.overwrite)
    request = _check(data, order)
    _check_rows(order.rows, request.method)
    fitting = _quick(request.method) if order.fast else request.method
    with request.books.told_if_spent(bought), show_progress(order.progress) as watching:
        made = request.keep(watching).fit(method=fitting, rows=order.rows, progress=watching)
        bought.complete(contents_of(made))
        return made


@takes_options(Order)
def measure(data: Any, order: Order) -> Measurements:
    """The private half of a release: read the rows, charge the ledger, add noise. It takes the options of `release`.

    What comes back is public. Save it, which `out` does at once, and call its `fit` as often as you like: only
    measuring costs budget.
    """
    if order.rows is not None or order.fast:
        raise ParameterError("measure: makes no rows. Leave out rows and fast, or give rows to the fit afterwards.")
    bought = Bought(order.out, key=order.key, overwrite=order.overwrite)
    request = _check(data, order)
    with request.books.told_if_spent(bought), show_progress(order.progress) as watching:
        return request.keep(watching)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is about to be measured: all that can be refused was refused, and nothing is charged yet."""

    rows: PrivateRows
    method: Method
    context: Context
    books: Watched

    def measure(self, progress: Progress) -> Measurements:
        """Charge, then add noise."""
        progress.stage("reading rows")
        context = dataclasses.replace(self.context, progress=progress)
        measured = self.method.measure(self.rows, context)
        certificate = Certificate.of(
            measured, context.privacy, self.books.receipt, context.domain, self.method, context.seed
        )
        return Measurements(certificate=certificate, domain=context.domain, method=self.method, measured=measured)

    def keep(self, progress: Progress) -> Measurements:
        """The same, saved; then the warning that needs the number of rows, by the noisy count where N is private."""
        measurements = self.books.keep(self.measure(progress))
        if self.context.privacy.relation is Neighbours.ADD_REMOVE:
            warn_if_weak(self.context.privacy, measurements.measured.rows)
        return measurements


def _check(data: Any, order: Order) -> _Request:
    """Refuse what can be refused before rows are read and budget is spent."""
    declared = None if order.schema is None else declared_of(order.schema)
    promise, method, seed = privacy_of(order.privacy), order.chosen_method, order.seed
    if isinstance(declared, Tables):
        return _check_tables(data, order, declared)
    labels, kernel = _labels_of(order.labels, order.classes, order.public), order.kernel
    if labels is not None:
        data, kernel, method = labels.join(data, declared, kernel, method)
    domain, public = _domain(declared, kernel), PublicSeed(seed)
    promised = promise.under(promise.relation if declared is None else Neighbours(declared.neighbours))
    subject = _subject(declared, order.dataset)
    if method is not None:
        if not isinstance(method, Method):
            raise ParameterError(f"method must be a Method, got {type(method).__name__}.")
        method = with_analyses(method, declared)
        method.check(domain)
    rows = _rows(data, domain, public, order.push_down, order.device, None if method is None else method.dimension)
    chosen = with_analyses(method_for(domain, rows.width), declared) if method is None else method
    return _request(rows, chosen, order, domain, promised, subject)


def _check_tables(data: Any, order: Order, tables: Tables) -> _Request:
    """The same for several tables."""
    for option in ("kernel", "labels", "classes", "public", "device", "target", "analyses"):
        if getattr(order, option) not in (None, ()):
            raise ParameterError(f"{option}: is for one table or an array. Several tables have none: leave it out.")
    if order.push_down:
        raise ParameterError("push_down: a database counts one table. Leave it out: several are read here.")
    method: Any = Bags() if order.method is None else order.method
    if isinstance(method, Interactions):
        method = Bags(interactions=method)
    if not isinstance(method, Bags):
        raise ParameterError(f"method: several tables are measured by Bags, got {type(method).__name__}.")
    domain, promise = TablesDomain(tables), privacy_of(order.privacy)
    method.check(domain)
    promised = promise.under(Neighbours(tables.neighbours))
    if order.dataset not in (None, tables.name):
        raise ParameterError(f"dataset: the tables have their schema's name, {tables.name!r}. Leave dataset out.")
    rows = private_tables(data, tables, seed=PublicSeed(order.seed))
    return _request(rows, method, order, domain, promised, Subject(dataset=tables.name, unit=domain.unit))


def _request(
    rows: PrivateRows, method: Method, order: Order, domain: Domain, promised: Privacy, subject: Subject
) -> _Request:
    source = SystemNoise() if order.noise is None else order.noise
    if not isinstance(source, NoiseSource):
        raise ParameterError(
            f"noise must be SeededNoise(0) or another NoiseSource, for experiments, got {type(source).__name__}. "
            "Leave it out for a release that protects anyone."
        )
    ledger = ledger_of(order.ledger, subject=subject, promised=promised)
    books = Watched(ledger, source, given=order.ledger is not None)
    context = Context(
        domain=domain,
        privacy=promised,
        ledger=books,
        noise=source,
        seed=PublicSeed(order.seed),
        subject=subject,
        threads=cores(),
    )
    method.check(domain)
    check_savable(domain, method)
    return _Request(rows=rows, method=method, context=context, books=books)


def _subject(schema: Schema | None, dataset: str | None) -> Subject:
    """Whom a release is about: a table by its schema, an array by the name that its owner gives."""
    if schema is None:
        return Subject(dataset=dataset)
    if dataset not in (None, schema.name):
        raise ParameterError(f"dataset: a table has its schema's name, {schema.name!r}. Leave dataset out.")
    return Subject(dataset=schema.name, unit=schema.unit)


def _check_rows(rows: int | None, method: Method) -> None:
    """Refuse before the charge what the fit would refuse after it."""
    if rows is None:
        return
    check_integer("rows", rows, 1, 2**62)
    if not method.draws_rows:
        raise ParameterError(
            "rows: points are weighted, not drawn. `release.forms.uniform` and `release.sample` make any number."
        )


def _quick(method: Method) -> Method:
    if isinstance(method, Bags):
        return dataclasses.replace(method, interactions=cast("Interactions", _quick(method.interactions)))
    if not isinstance(method, Interactions):
        raise ParameterError(f"fast: {type(method).__name__} fits no mixture, and has no coarser fit. Leave it out.")
    return dataclasses.replace(method, solver=method.solver.quick())


@in_words
def plan(
    schema: SchemaLike,
    *,
    privacy: PrivacyLike,
    rows: int,
    target: str | None = None,
    analyses: Sequence[str] = (),
    like: pa.Table | None = None,
) -> Plan:
    """What a release of so many rows would be like: noise, attackers, time, memory, size. No data are touched.

    Of several tables `rows` are persons, the rows of the root, and the plan has what is counted of their records.

    Of each promised analysis it says how far off its answers would be, by rehearsing them. `like` are PUBLIC rows that
    look as private ones may, best simulated ones and as many: rows of a small pilot that are drawn again and again are
    rougher than others, and widths come out larger. Without them there is a range of widths, over rows of several
    shapes (`Shape`) that nobody's are.
    """
    check_integer("plan: rows", rows, 1, 2**62)
    promised = privacy_of(privacy)
    warn_if_weak(promised, rows)
    declared = declared_of(schema)
    if isinstance(declared, Tables):
        for option, given in (("target", target), ("analyses", analyses), ("like", like)):
            if given not in (None, ()):
                raise ParameterError(
                    f"{option}: is for one table. Several tables are planned without it: leave it out."
                )
        return plan_tables(declared, Bags(), privacy=promised, rows=rows)
    method = Interactions(target=target, analyses=(*analyses, *declared.analyses))
    expected = plan_table(declared, privacy=promised, rows=rows, method=method)
    return dataclasses.replace(expected, promises=_promises(declared, method, expected, like))


def _promises(schema: Schema, method: Interactions, expected: Plan, like: pa.Table | None) -> tuple[Promise, ...]:
    """What noise makes of each analysis, in rehearsals. More than so many rows are as many fewer with more noise."""
    if not method.analyses:
        return ()
    alone, size = _row_by_row(schema), min(expected.rows, REHEARSED)
    privacy = _as_noisy(expected, method.reserve(schema.columns), size)

    def rehearse_on(draw: Callable[[int], pa.Table]) -> list[Release]:
        rehearsals = []
        for seed in range(REHEARSALS if like is not None else math.ceil(REHEARSALS / 3)):
            rows = draw(seed)
            measured = measure(rows, schema=alone, privacy=privacy, method=method, seed=seed, noise=SeededNoise(seed))
            weights = pa.array(np.full(size, 1.0 / size))
            table = rows.append_column(measured.domain.weight_name, weights)
            rehearsals.append(Release(table=table, measurements=measured))
        return rehearsals

    if like is not None:
        shapes = [rehearse_on(lambda seed: _draw(like, alone, size, seed))]
    else:
        rare = _rare(alone, method.analyses)
        shapes = [rehearse_on(functools.partial(_of_nobody, alone, size, shape=shape, rare=rare)) for shape in Shape]
    return tuple(_promise(text, shapes, expected) for text in method.analyses)


def _promise(text: str, shapes: Sequence[Sequence[Release]], expected: Plan) -> Promise:
    """The widths of an analysis on rows of the first shape, and from which to which they go over all shapes."""
    first, *others = (promised_widths(rehearsals, Analysis.parse(text)) for rehearsals in shapes)
    every = {term: [one.get(term, math.inf) for one in (first, *others)] for term in first}
    return Promise(
        analysis=text,
        half_widths=first,
        between={term: (min(widths), max(widths)) for term, widths in every.items()} if others else {},
        rows=expected.rows,
        epsilon=expected.privacy.epsilon,
    )


def _rare(schema: Schema, analyses: Sequence[str]) -> frozenset[str]:
    """The responses that are yes or no, or counts: those of models of odds and of rates, which may be rare."""
    models = [one for one in map(Analysis.parse, analyses) if one.formula is not None]
    return frozenset(
        one.columns[0] for one in models if one.kind == "poisson" or schema.column(one.columns[0]).tag == "boolean"
    )


def _as_noisy(expected: Plan, reserve: Reserve, size: int) -> Privacy:
    """The promise under which counts of `size` rows are as noisy, as shares, as those of the plan's rows."""

    def share(epsilon: float, rows: int) -> float:
        privacy = dataclasses.replace(expected.privacy, epsilon=epsilon)
        return count_noise(privacy, reserve.total(privacy))(1.0) / rows

    low = high = expected.privacy.epsilon
    if size == expected.rows:
        return expected.privacy
    wanted = share(low, expected.rows)
    while share(high, size) > wanted:
        low, high = high, 2.0 * high
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if share(middle, size) > wanted else (low, middle)
    return dataclasses.replace(expected.privacy, epsilon=high)


@final
@unique
class Shape(Enum):
    """How made-up rows may be distributed; the private ones are likely to be like one of these, or between two."""

    EVEN = "every value as frequent as any other"
    FALLING = "the k-th value 1/k times as frequent as the first"
    MIDDLING = "values in an order near the middle of it: normal, with a sixth of the range as standard deviation"
    RARE = "even, but for outcomes and counts, whose k-th value is 1/k² times as frequent as the first"

    def shares(self, column: Column, rare: frozenset[str]) -> Floats:
        """The shares of a column's atoms: (atoms,)."""
        place = np.arange(1.0, column.size + 1.0)
        shares = np.ones(column.size)
        if self is Shape.FALLING:
            shares = 1.0 / place
        elif self is Shape.RARE and column.name in rare:
            shares = place**-2.0
        elif self is Shape.MIDDLING and column.ordered:
            shares = np.exp(-0.5 * ((place - place.mean()) / (column.size / 6.0)) ** 2)
        return np.asarray(shares / shares.sum())


def _of_nobody(schema: Schema, size: int, seed: int, *, shape: Shape, rare: frozenset[str] = frozenset()) -> pa.Table:
    """Made-up rows of a shape, as far as the rules allow."""
    generator = PublicSeed(seed).generator("rehearsal")

    def column_codes(column: Column) -> Integers:
        return generator.choice(column.size, size, p=shape.shares(column, rare))

    codes = np.column_stack([column_codes(column) for column in schema.columns])
    rows, lawful = decode_lawfully(schema, codes, generator)
    if not lawful.any():
        raise ParameterError("plan: no drawn row keeps the declared constraints. Give public rows that do: like=…")
    return rows.take(pa.array(np.resize(np.flatnonzero(lawful), size)))


def _draw(public: pa.Table, schema: Schema, size: int, seed: int) -> pa.Table:
    """Rows of a public table; with replacement, where it has too few."""
    schema.check_source(public.schema.names)
    if public.num_rows == 0:
        raise ParameterError("The public table is empty: there is nothing to rehearse on.")
    generator, few = PublicSeed(seed).generator("rehearsal"), public.num_rows < size
    drawn = generator.integers(0, public.num_rows, size) if few else generator.permutation(public.num_rows)[:size]
    return public.select(list(schema.names)).take(pa.array(drawn))


def weighting(public: Any, *, schema: Schema, published: bool = False, seed: int = 0) -> Subspace:
    """The method that weights public rows so that they stand for private ones (the paper's Algorithm 1).

    `public` is a table with the same columns. By default it is auxiliary knowledge, and every private row is protected.
    With `published`, its rows are rows of the private table that are out already: they have no guarantee, and the
    certificate says so; which rows those are must not depend on private values.
    """
    random = PublicSeed(seed)
    known = private_table(public, schema=_row_by_row(schema), seed=random).array()
    codes = random.generator("candidates").permutation(np.unique(known, axis=0))
    lawful = decode_lawfully(schema, codes, random.generator("rows"))[1]
    if not lawful.any():
        raise ParameterError("Public rows: there is none that keeps the declared constraints.")
    points = PublicPoints(codes[lawful], published=len(known) if published else 0)
    return Subspace(points=points, count=PUBLIC_POINTS, constraint=Simplex())


def _row_by_row(schema: Schema) -> Schema:
    """The schema of a public table: each row for itself, columns by the names of the release."""
    columns = tuple(column.as_released for column in schema)
    alone: dict[str, Any] = {"unit": None, "max_rows_per_unit": None, "rows_without_unit": "drop", "source": Written()}
    return dataclasses.replace(schema, columns=columns, **alone)


def rehearse(
    public: pa.Table, *, schema: Schema, privacy: Privacy, rows: int, seed: int = 0, progress: Progress | None = None
) -> MarginalErrors:
    """The errors to expect of a release: make one of `rows` rows drawn from a *public* table, and compare the two.

    The noise comes from a seed, and the release is thrown away.
    """
    encoder = Encoder(schema)
    sample, noise = _draw(public, schema, rows, seed), SeededNoise(seed)
    result = release(sample, schema=_row_by_row(schema), privacy=privacy, seed=seed, noise=noise, progress=progress)
    return marginal_errors(encoder.encode(sample), encoder.encode(result.rows), schema.sizes)


def _domain(schema: Schema | None, kernel: Kernel | None) -> Domain:
    if kernel is not None and not isinstance(kernel, Kernel):
        raise ParameterError(f"kernel must be a Kernel, as Gaussian(lengthscale=1.0), got {type(kernel).__name__}.")
    if schema is not None and kernel is None:
        return TableDomain(schema)
    if kernel is not None and schema is None:
        return vector_domain(kernel)
    raise ParameterError("Give a schema for a table, or a kernel for an array of rows: one of the two.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """The classes of private vectors, one for each row, and the declared list of them."""

    labels: Any
    classes: tuple[Hashable, ...]
    public: tuple[Any, Any] | None

    def join(
        self, data: Any, schema: Schema | None, kernel: Kernel | None, method: Method | None
    ) -> tuple[Rows, Kernel, Method | None]:
        """Vectors beside the places of their classes, the kernel of such rows, and the method if public rows ask."""
        if schema is not None or kernel is not None:
            raise ParameterError("labels: vectors with labels have a kernel of their own. Leave schema and kernel out.")
        if isinstance(data, Partitioned) or is_spark_frame(data) or hasattr(data, "__cuda_array_interface__"):
            raise ParameterError("labels: give vectors as an array in memory.")
        vectors, own = labelled_vectors(data, self.labels) if isinstance(self.labels, str) else (data, self.labels)
        if isinstance(vectors, str | Path):
            raise ParameterError("labels: name the column of the file that holds them, for example labels='topic'.")
        rows = self._rows(vectors, own, "labels")
        sphere = LabelledSphere(dimension=rows.shape[1] - 1, classes=self.classes)
        if self.public is not None:
            if method is not None:
                raise ParameterError("public: a method has public points of its own. Leave one of the two out.")
            method = ClassGaussians(points=PublicPoints(self._rows(*self.public, "public")))
        return rows, sphere, method

    def _rows(self, vectors: Any, labels: Any, name: str) -> Floats:
        cells = as_rows(by_cells(vectors))
        column = _label_cells(by_cells(labels))
        if column.ndim != 1 or len(column) != len(cells):  # both are the owner's, and say nothing of one another's rows
            raise ParameterError(f"{name}: needs one label for each row of vectors.")
        codes = Kronecker(values=self.classes).codes(column[:, None])
        known = np.where(codes < len(self.classes), codes.astype(np.float64), UNDECLARED)
        return np.column_stack([finite_numbers(cells), known])


def _label_cells(labels: Any) -> NDArray[Any]:
    """Labels as they are, cell by cell: NumPy would turn all of a list into text for the sake of one that is text."""
    if hasattr(labels, "__array__") or isinstance(labels, str) or not isinstance(labels, Iterable):
        return np.asarray(labels)
    listed = list(labels)
    cells = np.empty(len(listed), dtype=object)
    for place, label in enumerate(listed):
        cells[place] = label
    return cells


def _labels_of(labels: Any, classes: Iterable[Hashable] | None, public: Any) -> _Labels | None:
    if labels is None:
        if classes is not None or public is not None:
            raise ParameterError("classes, public: are about vectors with labels. Give labels, or leave them out.")
        return None
    if classes is None:
        if getattr(labels, "dtype", None) == np.bool_:  # of an array: what it may hold, whatever it does
            classes = (False, True)
        else:
            raise ParameterError(
                "classes: name the classes that labels may have, for example classes=range(10). A list that is "
                "collected from private labels would give away whoever is alone in a class."
            )
    if public is not None and not (isinstance(public, tuple) and len(public) == 2):
        raise ParameterError("public: give vectors that are known and the label of each, as public=(vectors, labels).")
    return _Labels(labels=labels, classes=tuple(classes), public=public)


def _rows(
    data: Any, domain: Domain, seed: PublicSeed, push_down: bool, device: str | None, columns: int | None
) -> PrivateRows:
    if device not in (None, "cuda"):
        raise ParameterError(f"device must be None or 'cuda', got {device!r}.")
    if domain.schema is not None:
        if device is not None:
            raise ParameterError("device: only sums over vectors run on a GPU; a table is counted on the processor.")
        return private_table(data, domain.schema, seed=seed, push_down=push_down)
    if push_down:
        raise ParameterError("push_down: only tables are counted in a database.")
    return private_vectors(data, columns=columns, device=device)
