"""The whole product as a few short functions: measure (private, charged), fit (public, free), release (both)."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.analysis.comparisons.tables import MarginalErrors, marginal_errors
from kernelease.arguments import LedgerLike, PrivacyLike, SchemaLike, ledger_of, method_of, privacy_of, schema_of
from kernelease.arrays import as_rows, check_integer
from kernelease.cuda.device import on_device
from kernelease.errors import ParameterError
from kernelease.fit.solver import NormalPoints, PublicPoints
from kernelease.fit.weights import Simplex
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.numeric import ShiftInvariant
from kernelease.machine import cores
from kernelease.methods.adaptive import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.plan import Plan
from kernelease.methods.interactions.plan import plan as plan_table
from kernelease.methods.method import Context, Method
from kernelease.methods.subspace import Subspace
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import MemoryLedger
from kernelease.privacy.neighbours import Neighbours, Subject
from kernelease.privacy.noise import NoiseSource, SeededNoise, SystemNoise
from kernelease.private.rows import PrivateArray, PrivateRows
from kernelease.progress import Progress, shown
from kernelease.release.bundle import Bought, Watched
from kernelease.release.certificate import Certificate, Measurements
from kernelease.release.release import FitSettings, Release
from kernelease.seeds import PublicSeed
from kernelease.sources.device_rows import DeviceRows
from kernelease.sources.opening import open_source
from kernelease.sources.partitioned import Partitioned, distant_vectors
from kernelease.sources.private_table import private_table
from kernelease.sources.spark import is_spark_frame
from kernelease.table.domain import Domain
from kernelease.table.domains import TableDomain, VectorDomain
from kernelease.table.encode import Encoder
from kernelease.table.rows import decode_lawfully
from kernelease.table.schema import Schema
from kernelease.table.written import Written

# --------------------
# The default method: one line of code per case, and its reason.


REACH = 10.0  # lengthscales around 0 to look for rows in. convention: where nothing else is known


def method_for(domain: Domain, dimension: int) -> Method:
    """`Interactions` for tables; `Adaptive` for vectors, looking for them within some ten lengthscales around 0.

    Nothing is read from the rows. Whoever knows where they lie gives `Adaptive(points=…)` and gets a better release.
    """
    if domain.schema is not None:
        return Interactions()
    kernel = domain.kernel
    if not isinstance(kernel, ShiftInvariant):
        raise ParameterError(
            f"release: {type(kernel).__name__} needs a method with public points to use, "
            "for example Adaptive(points=PublicPoints(…))."
        )
    widest = float(np.max(np.asarray(kernel.lengthscale, dtype=np.float64)))
    return Adaptive(points=NormalPoints(dimension=dimension, scale=REACH * widest))


# --------------------
# measure, fit, release.


PUBLIC_POINTS = 1024  # public rows that a release may use, at most: its measurements then stay near 10 MB


def release(
    data: Any,
    *,
    privacy: PrivacyLike,
    schema: SchemaLike | None = None,
    kernel: Kernel | None = None,
    method: Method | None = None,
    target: str | None = None,
    ledger: LedgerLike | None = None,
    dataset: str | None = None,
    seed: int = 0,
    noise: NoiseSource | None = None,
    push_down: bool = False,
    device: str | None = None,
    rows: int | None = None,
    fast: bool = False,
    out: str | Path | None = None,
    key: Ed25519PrivateKey | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Publishable synthetic rows in place of private `data`, with the guarantee that `privacy` asks for.

    With a `schema`, `data` is a table: a file, a folder, a database, a data frame, anything that `open_source` takes.
    Without one it is a two-dimensional array of numbers or objects, and `kernel` says how alike two rows are; its
    lengthscale must come from public knowledge. `method` is how to describe the rows (None: the one that suits them);
    in its place, `target` names a column of a table that people will want to predict.

    `privacy` may be a pair (epsilon, delta), `schema` and `ledger` paths of files (`LedgerFile.create` makes a ledger,
    with the cap that you choose). `dataset` names an array's data set, as a ledger of it does; a table has its schema's
    name. `progress` None: bars where somebody may watch, on a terminal or in a notebook.

    With `device="cuda"` sums over vectors run on a GPU, as they do without being told where the array lives on one: the
    same integers, sooner.

    The budget is charged to `ledger` before any noise is drawn (None: a ledger in memory that allows this release
    alone). `seed` drives public randomness only; noise comes from the operating system unless `noise` says otherwise,
    and then the release is marked NOT PRIVATE. `rows` is how many to make, where rows are drawn. With `fast`, rows of a
    table are fitted coarsely, for a first look: the measurements are the same, and `fit` makes better ones of them.

    With `out`, the measurements are written there before the fit begins, and the release in their place when it has
    ended; `key` signs both, and with `overwrite` they may replace an older bundle. What fails after the charge says
    what was spent, and where the measurements are: without `out`, they are saved in a temporary folder then.
    """
    bought = Bought(out, key=key, overwrite=overwrite)
    asked = _asked(
        data,
        privacy=privacy,
        schema=schema,
        kernel=kernel,
        method=method_of(method, target),
        ledger=ledger,
        dataset=dataset,
        seed=seed,
        noise=noise,
        push_down=push_down,
        device=device,
    )
    _check_rows(rows, asked.method)
    fitting = _quick(asked.method) if fast else asked.method
    with asked.books.told_if_spent(bought), shown(progress) as watching:
        return bought.complete(fit(asked.kept(watching), method=fitting, rows=rows, progress=watching))


def measure(
    data: Any,
    *,
    privacy: PrivacyLike,
    schema: SchemaLike | None = None,
    kernel: Kernel | None = None,
    method: Method | None = None,
    target: str | None = None,
    ledger: LedgerLike | None = None,
    dataset: str | None = None,
    seed: int = 0,
    noise: NoiseSource | None = None,
    push_down: bool = False,
    device: str | None = None,
    out: str | Path | None = None,
    key: Ed25519PrivateKey | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Measurements:
    """The private half of a release: read the rows, charge the ledger, add noise.

    What comes back is public: save it (with `out`, that is done at once), and fit it as often as you like. The
    neighbour relation of a table is its schema's. With `push_down` a database counts by itself and its rows never
    leave it.
    """
    bought = Bought(out, key=key, overwrite=overwrite)
    asked = _asked(
        data,
        privacy=privacy,
        schema=schema,
        kernel=kernel,
        method=method_of(method, target),
        ledger=ledger,
        dataset=dataset,
        seed=seed,
        noise=noise,
        push_down=push_down,
        device=device,
    )
    with asked.books.told_if_spent(bought), shown(progress) as watching:
        return asked.kept(watching)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is about to be measured: all that can be refused was refused, and nothing is charged yet."""

    rows: PrivateRows
    method: Method
    context: Context
    books: Watched

    def measurements(self, progress: Progress) -> Measurements:
        """Charge, then add noise."""
        progress.stage("reading rows")
        context = dataclasses.replace(self.context, progress=progress)
        measured = self.method.measure(self.rows, context)
        certificate = Certificate.of(
            measured, context.privacy, self.books.receipt, context.domain, self.method, context.seed
        )
        return Measurements(certificate=certificate, domain=context.domain, method=self.method, measured=measured)

    def kept(self, progress: Progress) -> Measurements:
        """The same, saved; then the warning that needs the number of rows, by the noisy count where N is private."""
        measurements = self.books.keep(self.measurements(progress))
        if self.context.privacy.relation is Neighbours.ADD_REMOVE:
            self.context.privacy.warn_if_weak(measurements.measured.rows)
        return measurements


def _asked(
    data: Any,
    *,
    privacy: PrivacyLike,
    schema: SchemaLike | None,
    kernel: Kernel | None,
    method: Method | None,
    ledger: LedgerLike | None,
    dataset: str | None,
    seed: int,
    noise: NoiseSource | None,
    push_down: bool,
    device: str | None,
) -> _Asked:
    declared, asked = None if schema is None else schema_of(schema), privacy_of(privacy)
    domain, public = _domain(declared, kernel), PublicSeed(seed)
    promised = asked.under(asked.relation if declared is None else Neighbours(declared.neighbours))
    subject = _subject(declared, dataset)
    if method is not None:
        if not isinstance(method, Method):
            raise ParameterError(f"method must be a Method, got {type(method).__name__}.")
        method.check(domain)
    rows = _rows(data, domain, public, push_down, device, None if method is None else method.dimension)
    source = SystemNoise() if noise is None else noise
    books = Watched(
        MemoryLedger.for_one(promised, subject)
        if ledger is None
        else ledger_of(ledger, subject=subject, promised=promised),
        source,
        given=ledger is not None,
    )
    context = Context(
        domain=domain,
        privacy=promised,
        ledger=books,
        noise=source,
        seed=public,
        subject=subject,
        threads=cores(),
    )
    chosen = method_for(domain, rows.width) if method is None else method
    Bought.check(domain, chosen)
    return _Asked(rows=rows, method=chosen, context=context, books=books)


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
        raise ParameterError("rows: points are weighted, not drawn. `Release.uniform` and export make any number.")


def _quick(method: Method) -> Method:
    if not isinstance(method, Interactions):
        raise ParameterError(f"fast: {type(method).__name__} fits no mixture, and has no coarser fit. Leave it out.")
    return dataclasses.replace(method, solver=method.solver.quick())


def fit(
    measurements: Measurements,
    *,
    method: Method | None = None,
    rows: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """The public half: synthetic rows from noisy numbers. Free, and repeatable with another solver, seed or size.

    `rows` is how many to make, where rows are drawn (None: as many as the table has, by its public or noisy count).
    """
    settings = FitSettings(
        method=measurements.method if method is None else method,
        seed=PublicSeed(measurements.certificate.seed if seed is None else seed),
        rows=rows,
    )
    with shown(progress) as watching:
        return Release.fitted(measurements, settings, watching)


def plan(schema: SchemaLike, *, privacy: PrivacyLike, rows: int, target: str | None = None) -> Plan:
    """What a release of so many rows would be like: noise, attackers, time, memory, size. No data are touched."""
    promised = privacy_of(privacy)
    promised.warn_if_weak(rows)
    return plan_table(schema_of(schema), privacy=promised, rows=rows, method=Interactions(target=target))


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
    columns = tuple(dataclasses.replace(column, source=None) for column in schema)
    alone: dict[str, Any] = {"unit": None, "max_rows_per_unit": None, "rows_without_unit": "drop", "source": Written()}
    return dataclasses.replace(schema, columns=columns, **alone)


def rehearse(
    public: pa.Table, *, schema: Schema, privacy: Privacy, rows: int, seed: int = 0, progress: Progress | None = None
) -> MarginalErrors:
    """The errors to expect of a release: make one of `rows` rows drawn from a *public* table, and compare the two.

    The noise comes from a seed, and the release is thrown away.
    """
    encoder = Encoder(schema)
    encoder.check(public.schema)
    if public.num_rows == 0:
        raise ParameterError("The public table is empty: there is nothing to rehearse on.")
    drawn = PublicSeed(seed).generator("rehearsal").integers(0, public.num_rows, rows)
    sample = public.select(list(schema.names)).take(pa.array(drawn))
    noise = SeededNoise(seed)
    result = release(sample, schema=_row_by_row(schema), privacy=privacy, seed=seed, noise=noise, progress=progress)
    return marginal_errors(encoder.encode(sample), encoder.encode(result.rows), schema.sizes)


def _domain(schema: Schema | None, kernel: Kernel | None) -> Domain:
    if schema is not None and kernel is None:
        return TableDomain(schema)
    if kernel is not None and schema is None:
        return VectorDomain(kernel)
    raise ParameterError("Give a schema for a table, or a kernel for an array of rows: one of the two.")


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
    if device == "cuda" or on_device(data):
        return DeviceRows(data if on_device(data) else as_rows(data, columns=columns))
    if isinstance(data, Partitioned) or is_spark_frame(data):
        source = open_source(data)
        return distant_vectors(source) if isinstance(source, Partitioned) else PrivateArray(as_rows(data))
    return PrivateArray(as_rows(data, columns=columns))
