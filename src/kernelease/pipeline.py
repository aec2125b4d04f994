"""The whole product as a few short functions: measure (private, charged), fit (public, free), release (both)."""

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.marginals import MarginalErrors, marginal_errors
from kernelease.arrays import Integers, as_rows
from kernelease.errors import ParameterError, SchemaError, SourceError
from kernelease.fit.mixtures.draw import draw_rows
from kernelease.fit.points.source import PublicPoints
from kernelease.fit.weights.constraints import Simplex
from kernelease.kernels.kernel import Kernel
from kernelease.methods.atom_kernel import atom_kernel
from kernelease.methods.auto import method_for
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Context, Measured, Method
from kernelease.methods.subspace import Subspace
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger, MemoryLedger
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource, SeededNoise, SystemNoise
from kernelease.privacy.step import Step
from kernelease.private.counts import ExactCounts
from kernelease.private.encoded import EncodedRows
from kernelease.progress import SILENT, Progress
from kernelease.release.bundle import Measurements
from kernelease.release.certificate import Certificate
from kernelease.release.release import WEIGHT, Release
from kernelease.seeds import PublicSeed
from kernelease.sources import open_source
from kernelease.sources.ahead import one_ahead
from kernelease.sources.pushdown import count_by_sql
from kernelease.table import Codes, Encoder, Schema, UnitCap
from kernelease.table.rows import decode_lawfully, lawful_rows

PUBLIC_POINTS = 1024  # public rows that a release may use, at most: its measurements then stay near 10 MB


def release(
    data: Any,
    *,
    privacy: Privacy,
    schema: Schema | None = None,
    kernel: Kernel | None = None,
    method: Method | Interactions | None = None,
    ledger: Ledger | None = None,
    seed: int = 0,
    noise: NoiseSource | None = None,
) -> Release:
    """Publishable synthetic rows in place of private `data`, with the guarantee that `privacy` asks for.

    With a `schema`, `data` is a table: a file, a folder, a database, a data frame, anything that `open_source` takes.
    Without one it is a two-dimensional array of numbers or objects, and `kernel` and `method` say how to describe it;
    a kernel's lengthscale must come from public knowledge.

    The budget is charged to `ledger` before any noise is drawn (None: a ledger in memory that allows this release
    alone). `seed` drives public randomness only; noise comes from the operating system unless `noise` says otherwise,
    and then the release is marked NOT PRIVATE.
    """
    if schema is not None:
        if kernel is not None or not isinstance(method, Interactions | None):
            raise ParameterError("release: a table with a schema takes the Interactions method, and no kernel.")
        chosen = Interactions() if method is None else method
        measurements = measure(
            data, schema=schema, privacy=privacy, method=chosen, ledger=ledger, seed=seed, noise=noise
        )
        return fit(measurements, method=chosen)
    if kernel is None or not isinstance(method, Method | None):
        raise ParameterError("release: give a schema for a table, or a kernel and a method for an array of rows.")
    rows = as_rows(data)
    method = method_for(kernel, rows.shape[1]) if method is None else method
    context = Context(
        kernel=kernel,
        privacy=privacy,
        ledger=MemoryLedger(privacy) if ledger is None else ledger,
        noise=SystemNoise() if noise is None else noise,
        seed=PublicSeed(seed),
        threads=os.cpu_count() or 1,
    )
    measured = method.measure(rows, context)
    solution = method.fit(measured, context)
    certificate = _certificate_of_points(method, measured, context, context.public_rows(rows))
    return Release.of_points(solution, measured.embedding, certificate)


def measure(
    data: Any,
    *,
    schema: Schema,
    privacy: Privacy,
    method: Interactions | None = None,
    ledger: Ledger | None = None,
    seed: int = 0,
    noise: NoiseSource | None = None,
    push_down: bool = False,
    progress: Progress = SILENT,
) -> Measurements:
    """The private half of a release of a table: read it once, charge the ledger, add noise.

    The neighbour relation is the schema's. What comes back is public: save it, and fit it as often as you like. With
    `push_down` the database counts by itself and its rows never leave it; the counts are the same to the bit.
    """
    chosen = Interactions() if method is None else method
    promised = dataclasses.replace(privacy, neighbours=Neighbours(schema.neighbours))
    _refuse_weight(schema)
    chosen.check(schema.columns)
    progress.stage("reading rows")
    counts = count_by_sql(open_source(data), schema) if push_down else exact_counts(data, schema, PublicSeed(seed))
    if (known := counts.public_rows(promised.neighbours)) is not None:  # an empty table is refused here
        promised.warn_if_weak(round(known))
    reserve = chosen.reserve(schema.columns)
    reserve.total(promised, counts.unit)  # refuses, before the charge, what could not be drawn
    budget = PrivacyFilter.open(
        promised,
        ledger=MemoryLedger(promised) if ledger is None else ledger,
        coordinates=reserve.numbers,
        purpose=f"Interactions on {schema.name}",
    )
    progress.stage("adding noise")
    with _told_as_spent(budget):
        noisy = chosen.measure(
            counts,
            schema.columns,
            budget,
            noise=SystemNoise() if noise is None else noise,
            seed=PublicSeed(seed),
            progress=progress,
        )
    steps = (*(block.measurement.step for block in noisy.blocks), *(choice.step for choice in noisy.selections))
    certificate = dataclasses.replace(
        _certificate(budget, chosen, steps=steps, rows=noisy.rows, seed=PublicSeed(seed)),
        private=noisy.private,
        unit=_unit(schema),
    )
    return Measurements(certificate=certificate, blocks=noisy, schema=schema)


def fit(
    measurements: Measurements,
    *,
    method: Interactions | None = None,
    rows: int | None = None,
    seed: int | None = None,
    progress: Progress = SILENT,
) -> Release:
    """The public half: synthetic rows from noisy counts. Free, and repeatable with another solver, seed or size.

    `rows` is how many to make (None: as many as the table has, by its public or noisy count).
    """
    chosen = Interactions() if method is None else method
    public = PublicSeed(measurements.certificate.seed if seed is None else seed)
    mixture = chosen.fit(measurements.blocks, public, progress)
    progress.stage("drawing rows")
    count = max(1, round(measurements.blocks.rows)) if rows is None else rows
    generator = public.generator("rows")
    table = lawful_rows(measurements.schema, lambda n: draw_rows(mixture, n, generator).T, count, generator)
    return Release(
        table=table.append_column(WEIGHT, pa.array(np.full(count, 1.0 / count))),
        certificate=measurements.certificate,
        schema=measurements.schema,
        blocks=measurements.blocks,
    )


def release_with_public_rows(
    data: Any,
    public: Any,
    *,
    schema: Schema,
    privacy: Privacy,
    published: bool = False,
    ledger: Ledger | None = None,
    seed: int = 0,
    noise: NoiseSource | None = None,
) -> Release:
    """A release whose rows are public ones, weighted so that they stand for private `data` (the paper's Algorithm 1).

    `public` is a table with the same columns. By default it is auxiliary knowledge, and every row of `data` is
    protected. With `published`, its rows are rows of `data` that are out already: they have no guarantee, and the
    certificate says so; which rows those are must not depend on private values.
    """
    if schema.unit is not None:
        raise ParameterError("Public rows: this method protects rows, not persons. Take the Interactions method.")
    _refuse_weight(schema)
    promised = dataclasses.replace(privacy, neighbours=Neighbours(schema.neighbours))
    if published and promised.neighbours is not Neighbours.REPLACE_ONE:
        raise ParameterError("Published rows: a published part of the table needs replace-one neighbours.")
    context = Context(
        kernel=atom_kernel(schema.columns),
        privacy=promised,
        ledger=MemoryLedger(promised) if ledger is None else ledger,
        noise=SystemNoise() if noise is None else noise,
        seed=PublicSeed(seed),
        threads=os.cpu_count() or 1,
    )
    known, codes = _candidates(public, schema, context.seed)
    table, lawful = decode_lawfully(schema, codes, context.seed.generator("rows"))
    if not lawful.any():
        raise ParameterError("Public rows: no row of the public table keeps the declared constraints.")
    method = Subspace(points=PublicPoints(codes[lawful]), count=PUBLIC_POINTS, constraint=Simplex())
    rows = as_rows(encoded_rows(data, schema))
    measured = method.measure(rows, context)
    weights = method.fit(measured, context).synthetic.weights
    certificate = _certificate_of_points(method, measured, context, context.public_rows(rows))
    return Release(
        table=table.filter(pa.array(lawful)).slice(0, len(weights)).append_column(WEIGHT, pa.array(weights)),
        certificate=dataclasses.replace(
            certificate, kernel="of the schema's atoms", published_rows=known if published else 0
        ),
        schema=schema,
        embedding=measured.embedding,
    )


def rehearse(public: pa.Table, *, schema: Schema, privacy: Privacy, rows: int, seed: int = 0) -> MarginalErrors:
    """The errors to expect of a release: make one of `rows` rows drawn from a *public* table, and compare the two.

    The noise comes from a seed, and the release is thrown away.
    """
    encoder = Encoder(schema)
    encoder.check(public.schema)
    if public.num_rows == 0:
        raise ParameterError("The public table is empty: there is nothing to rehearse on.")
    drawn = PublicSeed(seed).generator("rehearsal").integers(0, public.num_rows, rows)
    sample = public.select(list(schema.names)).take(pa.array(drawn))
    unitless = dataclasses.replace(schema, unit=None, max_rows_per_unit=None, rows_without_unit="drop")
    result = release(sample, schema=unitless, privacy=privacy, seed=seed, noise=SeededNoise(seed))
    return marginal_errors(encoder.encode(sample), encoder.encode(result.rows), schema.sizes)


def _candidates(public: Any, schema: Schema, seed: PublicSeed) -> tuple[int, Integers]:
    """How many rows a public table has, and its distinct ones as codes, in random order."""
    rows = encoded_rows(public, schema)
    return len(rows), seed.generator("candidates").permutation(np.unique(rows, axis=0))


def encoded_rows(data: Any, schema: Schema) -> Integers:
    """All rows as atom codes, (n, columns). Private where the data are."""
    batches, _ = encoded_batches(data, schema, PublicSeed())
    parts = [codes.T.astype(np.int64) for codes, _ in batches]
    return np.concatenate([np.empty((0, len(schema)), dtype=np.int64), *parts])


def encoded_batches(data: Any, schema: Schema, seed: PublicSeed) -> tuple[Iterator[tuple[Codes, Integers | None]], int]:
    """Batches of (codes (columns, n), weights (n,) or None), and what each row or person weighs in all. Private."""
    source, encoder = open_source(data), Encoder(schema)
    wanted = [*schema.names, *([schema.unit] if schema.unit else [])]
    encoder.check(pa.schema([(name, pa.null()) for name in source.names()]))
    batches = source.batches(wanted)
    if schema.unit is None:
        return one_ahead((encoder.encode(batch).T, None) for batch in batches), 1
    cap = UnitCap.of(schema, seed)
    return ((codes.T, weights) for codes, weights in cap.apply(batches, encoder)), cap.total


def exact_counts(data: Any, schema: Schema, seed: PublicSeed) -> ExactCounts:
    """The counts of a table's encoded rows. Private."""
    source = open_source(data)  # opened once: every pass must find the file as it was at the first
    _, unit = encoded_batches(source, schema, seed)
    rows = EncodedRows(lambda: encoded_batches(source, schema, seed)[0], schema.sizes)
    return ExactCounts.of(rows, schema.sizes, unit=unit)


@contextmanager
def _told_as_spent(budget: PrivacyFilter) -> Iterator[None]:
    """A source that breaks off in a later pass can not know that the ledger was charged: its message would be wrong."""
    try:
        yield
    except SourceError:
        raise SourceError(
            "The source broke off or changed in a later pass over its rows. The budget is spent (entry "
            f"{budget.receipt.number} of the ledger) and what it paid for is lost: release from a copy that stays."
        ) from None


def _refuse_weight(schema: Schema) -> None:
    if WEIGHT in schema.names:
        raise SchemaError(f"column {WEIGHT!r}: a release has a column of this name itself. Rename it in the source.")


def _unit(schema: Schema) -> str:
    if schema.unit is None:
        return "each row"
    return f"each {schema.unit} (up to {schema.max_rows_per_unit} rows)"


def _certificate_of_points(method: Method, measured: Measured, context: Context, rows: int | None) -> Certificate:
    embedding = measured.embedding
    released = float(rows) if rows is not None else (1.0 if embedding is None else embedding.rows)
    return dataclasses.replace(
        _certificate(measured.budget, method, steps=measured.steps, rows=released, seed=context.seed),
        private=measured.private,
        kernel=repr(context.kernel),
        published_rows=measured.published_rows,
        choices=tuple(str(choice) for choice in measured.choices),
    )


def _certificate(
    budget: PrivacyFilter, method: object, *, steps: tuple[Step, ...], rows: float, seed: PublicSeed
) -> Certificate:
    return Certificate(
        private=True,
        epsilon=budget.privacy.epsilon,
        delta=budget.privacy.delta,
        neighbours=budget.privacy.neighbours,
        calibration=budget.privacy.calibration,
        mu=budget.total.mu,
        method=type(method).__name__,
        kernel=None,
        unit="each row",
        steps=steps,
        rows=rows,
        published_rows=0,
        receipt=budget.receipt.number,
        seed=seed.value,
        choices=(),
    )
