"""Check a bundle without trusting it: sums, signature, the guarantee recomputed from the noise, every row."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from kernelease._version import __version__
from kernelease.errors import BundleError, KerneleaseError
from kernelease.features import Nystrom
from kernelease.features.feature_map import FeatureMap
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.privacy.sensitivity import Sensitivity, block_sensitivity, distance_sensitivity, sum_sensitivity
from kernelease.privacy.step import Law, Step
from kernelease.release import datasheet
from kernelease.release.bundle import parts_of, table_of
from kernelease.release.certificate import Certificate
from kernelease.release.container import Limits, read_bundle
from kernelease.release.release import WEIGHT
from kernelease.release.sums import SignatureState, check_signature, check_sums
from kernelease.table import Column, Schema

_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: what was looked at, whether it holds, and in words what was found."""

    check: str
    holds: bool
    detail: str


def verify(
    path: str | Path, *, trusted_key: Ed25519PublicKey | None = None, limits: Limits | None = None
) -> tuple[Finding, ...]:
    """All that can be said about a bundle. Everything holds only if every finding holds.

    It can't show that the noise was really drawn, nor that the ledger was honest: for that one has to trust the owner.
    It does show that what is stated is consistent, that rows fit the schema, and that nothing was changed since.
    """
    try:
        files = read_bundle(path, limits=limits)
    except BundleError as error:
        return (Finding(check="files", holds=False, detail=str(error)),)
    found = [_sums(files), _signature(files, trusted_key)]
    try:
        schema, certificate, measured = parts_of(files)
        found += [_private(certificate), _guarantee(certificate), _measured(certificate, measured)]
        if "data.parquet" in files:
            found.append(_rows(table_of(files["data.parquet"]), schema))
        if datasheet.NAME in files:
            found.append(_datasheet(files[datasheet.NAME], certificate, schema, measured))
    except KerneleaseError as error:
        found.append(Finding(check="content", holds=False, detail=str(error)))
    return tuple(found)


def _sums(files: dict[str, bytes]) -> Finding:
    problems = check_sums(files)
    return Finding(check="sums", holds=not problems, detail=" ".join(problems) or "every file is as SHA256SUMS says")


def _signature(files: dict[str, bytes], trusted_key: Ed25519PublicKey | None) -> Finding:
    result = check_signature(files, trusted_key)
    unsigned = result.state is SignatureState.UNSIGNED
    holds = result.trusted if trusted_key is not None else result.state is SignatureState.SIGNED or unsigned
    return Finding(check="signature", holds=holds, detail=result.message)


def _private(certificate: Certificate) -> Finding:
    return Finding(check="noise", holds=certificate.private, detail=certificate.headline)


def _guarantee(certificate: Certificate) -> Finding:
    """δ(ε) from the steps' sensitivities and scales alone."""
    delta = certificate.spent.delta(certificate.epsilon)
    holds = delta <= certificate.delta * _SLACK and certificate.spent.mu <= certificate.mu * _SLACK
    detail = (
        f"the noise of {len(certificate.steps)} steps gives delta {delta:.3g} at epsilon {certificate.epsilon:g}; "
        f"stated is {certificate.delta:g}"
    )
    return Finding(check="guarantee", holds=holds and bool(certificate.steps), detail=detail)


def _measured(certificate: Certificate, measured: Any) -> Finding:
    """The steps are those of the measurements, and their sensitivities no smaller than the relation demands."""
    try:
        for step, (measured_step, least) in zip(certificate.steps, _steps(measured), strict=True):
            _check_step(step, measured_step, least)
    except (BundleError, ValueError, TypeError, IndexError, ArithmeticError) as error:  # points may be anything
        return Finding(check="measurements", holds=False, detail=f"certificate and measurements disagree: {error}")
    return Finding(check="measurements", holds=True, detail="sensitivities and noise agree with the certificate")


def _steps(measured: Any) -> Iterator[tuple[Step, float]]:
    """Each crossing of the barrier, and the least sensitivity that the relation demands of it."""
    if isinstance(measured, NoisyEmbedding):
        _check_map(measured.feature_map)
        step = measured.measurement.step
        yield step, _needed(step, sum_sensitivity(measured.feature_map, measured.neighbours))
    elif isinstance(measured, NoisyBlocks):
        for block in measured.blocks:
            step = block.measurement.step
            yield step, _needed(step, block_sensitivity(measured.neighbours, unit=block.unit))
        unit = max((block.unit for block in measured.blocks), default=1)
        for selection in measured.selections:
            yield selection.step, distance_sensitivity(measured.neighbours, unit=unit)
    elif measured is not None:
        raise BundleError("measurements.json holds something else than measurements.")


def _check_map(feature_map: FeatureMap) -> None:
    """The one number in a feature map that shrinks its diameter, and that a file could understate."""
    if isinstance(feature_map, Nystrom) and feature_map.stretch * _SLACK < feature_map.least_stretch:
        raise BundleError("the stretch of the subspace is understated.")


def _needed(step: Step, least: Sensitivity) -> float:
    return least.l2 if step.law is Law.GAUSSIAN else least.l1


def _check_step(step: Step, measured: Step, needed: float) -> None:
    if measured != step:
        raise BundleError("a step differs from its measurement.")
    if step.sensitivity * _SLACK < needed:
        raise BundleError(f"a sensitivity of {step.sensitivity:.6g} is stated where {needed:.6g} is the least.")


def _datasheet(sheet: bytes, certificate: Certificate, schema: Schema | None, measured: Any) -> Finding:
    """What people read says what the numbers say: the sheet is written again from them, and compared."""
    if certificate.version != __version__:
        detail = f"not compared: another version of kernelease ({certificate.version[:40]!a}) wrote it"
        return Finding(check="data sheet", holds=True, detail=detail)
    holds = sheet == datasheet.datasheet(schema.name if schema else "table", certificate, schema, measured)
    detail = "says what the certificate says" if holds else "does not say what certificate and schema say"
    return Finding(check="data sheet", holds=holds, detail=detail)


def _rows(table: pa.Table, schema: Schema | None) -> Finding:
    weights = table.column(WEIGHT).to_numpy()
    problems = [] if np.isfinite(weights).all() else ["a weight is not a number"]
    if schema is not None:
        problems += list(_schema_problems(table, schema))
    detail = "; ".join(problems) or f"{table.num_rows:,} rows, each within its declared columns"
    return Finding(check="rows", holds=not problems, detail=detail)


def _schema_problems(table: pa.Table, schema: Schema) -> Iterator[str]:
    if table.column_names != [*schema.names, WEIGHT]:
        yield "the columns are not those of the schema, in its order, and weight"
        return
    for column in schema:
        values = table.column(column.name)
        if values.type != column.arrow_type:
            yield f"column {column.name!r} is of type {values.type}, declared is {column.arrow_type}"
        elif values.null_count and not column.nullable:
            yield f"column {column.name!r} holds NULLs, but is not nullable"
        elif not _within(column, values):
            yield f"column {column.name!r} holds values outside its declaration"
    for rule in schema.constraints:
        if not rule.holds(table).all():
            yield f"a row breaks the constraint {rule.text!r}"


def _within(column: Column, values: pa.ChunkedArray) -> bool:
    """Whether every value is one that the column could have decoded."""
    low, high = getattr(column, "min", None), getattr(column, "max", None)
    if low is None or high is None:
        again = column.decode(column.encode(values), np.random.default_rng(0))
        return bool(pc.all(pc.equal(values.combine_chunks(), again), min_count=0).as_py())
    keys = pc.min_max(column.keys(values)).as_py()
    lowest, highest = (column.key(str(bound) if isinstance(bound, datetime.date) else bound) for bound in (low, high))
    return keys["min"] is None or bool(lowest <= keys["min"] and keys["max"] <= highest)
