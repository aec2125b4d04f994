"""Check a bundle without trusting it: everything that it states against everything else that it states."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from kernelease._version import __version__
from kernelease.arrays import Integers
from kernelease.bundle.container import (
    SEALS,
    Limits,
    SignatureState,
    check_form,
    check_signature,
    check_sums,
    read_bundle,
)
from kernelease.bundle.saving import documents, read_contents
from kernelease.certificate import Certificate, Contents, LedgerEntry, Measurements, describe, fit_rows
from kernelease.errors import BundleError, KerneleaseError, in_words
from kernelease.ledgers import LedgerFile
from kernelease.machine import EXACT, ROUNDING, rounding_since, this_machine
from kernelease.measured.blocks import Block, NoisyBlocks
from kernelease.methods.retracing import retrace
from kernelease.privacy.calibration import Calibration
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import TableOfRecords, Tables, keys_of, sequence_keys
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Codes
from kernelease.table.domain import Domain
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

# ---- Rows: could the declared columns have them?


def row_problems(table: pa.Table, domain: Domain) -> list[str]:
    """What is wrong with the rows, in words; vectors have nothing declared but finite weights."""
    weights = table.column(domain.weight_name).to_numpy()
    problems = [] if np.isfinite(weights).all() else ["a weight is not a number"]
    return problems if domain.schema is None else [*problems, *_against(table, domain.schema, domain.weight_name)]


def _against(table: pa.Table, schema: Schema, weight: str) -> Iterator[str]:
    if table.column_names != [*schema.order, weight]:
        yield f"the columns are not those of the schema, in its order, and {weight}"
        return
    odd = [c for c in (*schema.columns, *schema.structure.columns) if table.column(c.name).type != c.arrow_type]
    for column in odd:
        found = table.column(column.name).type
        yield f"column {column.name!r} is of type {found}, declared is {column.arrow_type}"
    for column in (one for one in schema if one not in odd):
        values = table.column(column.name)
        if values.null_count and not column.nullable:
            yield f"column {column.name!r} holds NULLs, but is not nullable"
        elif not column.decodes_to(values.combine_chunks()):
            finer = ", or with more digits than it declares" if column.family in ("number", "time") else ""
            yield f"column {column.name!r} holds values outside its declaration{finer}"
    if odd:
        return
    for name in schema.structure.broken(table.select(schema.order)):
        yield f"column {name!r} does not hold what its row says"
    for rule in schema.constraints:
        if not rule.holds(table).all():
            yield f"a row breaks the constraint {rule.text!r}"


# ---- Keys of several tables: could their rows belong together?


def key_problems(rows: Mapping[str, pa.Table], tables: Tables) -> list[str]:
    """What is wrong with the keys of released tables, in words: keys count from 1, references exist, caps hold."""
    problems = []
    for table in tables.tables:
        own = rows[table.name]
        if table.key is not None and not np.array_equal(keys_of(own, table.key), np.arange(1, len(own) + 1)):
            problems.append(f"the keys of {table.name} do not count from 1")
        if table.parent is not None and table.foreign_key is not None:
            refers, most = keys_of(own, table.foreign_key), len(rows[table.parent])
            if len(refers) and not 1 <= refers.min() <= refers.max() <= most:
                problems.append(f"a row of {table.name} refers to a row of {table.parent} that is not there")
            elif len(refers) and np.bincount(refers).max() > (table.max_rows or 0):
                problems.append(f"a row of {table.parent} has more than {table.max_rows} rows of {table.name}")
            if len(refers) and (np.diff(refers) < 0).any():
                problems.append(f"the rows of {table.name} are not in the order of their parents")
            problems += _reference_problems(rows, table)
            problems += _broken_rules(rows, tables, table, refers - 1) if not problems else []
            if len(refers) and table.order is not None and not _rises(own, table, refers):
                problems.append(f"the rows of {table.name} are not in the order of {table.order}")
    return problems


def _reference_problems(rows: Mapping[str, pa.Table], table: TableOfRecords) -> list[str]:
    """References to other tables than the parent are to rows that are there; NULL where there is none."""
    problems = []
    for column, other in table.references:
        refers, most = rows[table.name].column(column), len(rows[other])
        known = pc.is_in(refers, value_set=pa.array(np.arange(1, most + 1)))
        if not (pc.all(known).as_py() in (True, None) if most else refers.null_count == len(refers)):
            problems.append(f"a row of {table.name} refers to a row of {other} that is not there")
    return problems


def _broken_rules(rows: Mapping[str, pa.Table], tables: Tables, table: TableOfRecords, owner: Integers) -> list[str]:
    if not (rules := tables.rules_of(table.name)):
        return []
    joined = tables.with_rows_above(table.name, rows[table.name], owner, rows)
    return [f"a row of {table.name} breaks the rule {rule.text}" for rule in rules if not rule.holds(joined).all()]


def _rises(rows: pa.Table, table: TableOfRecords, owner: Integers) -> bool:
    """Whether the ordering column does not fall from one row of a parent to the next."""
    keys = sequence_keys(table.schema.column(str(table.order)), rows.column(str(table.order)))
    falls = (keys[1:] < keys[:-1]) | (np.isnan(keys[:-1].astype(np.float64)) & ~np.isnan(keys[1:].astype(np.float64)))
    return not (falls & (owner[1:] == owner[:-1])).any()


# ---- All checks.


_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again
_REFUSALS = (KerneleaseError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError)  # points may be anything
_ELSEWHERE = "they were changed, or came from elsewhere"
_OTHER_MACHINE = "; they were made on another kind of machine, where floats round differently"
_OTHER_ROWS = (
    "which of the rows that follow from the measurements these are: on another kind of machine the fit ends in others, "
    "with the same counts to half of the noise"
)
_ROWS_APART = 2.0  # beside the noise: rows are whole, and so are the differences of their counts
_LAST_DIGITS = 1e-9  # relative: how far mu may be off on another kind of machine
ON_TRUST = (
    "that the noise was drawn as stated, by the operating system. Numbers that somebody made up would look the same, "
    "and so would a changed number that no row depends on",
    "that the numbers come from the table that is named, read as its schema says: its unit, its undeclared values, its "
    "rows without a unit",
    "that the ledger was kept honestly, and that this is the entry it says",
    "that the publisher chose everything without the private rows: names, bounds, categories, rules, kernel, public "
    "rows, seeds, settings, the last digits of epsilon and delta, the kind of machine",
    "what the file system says about the files: times, owners, rights",
)
WITHOUT_REFIT = "that the rows, and the cells they are in, follow from the noisy numbers: --refit checks it"


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, whether it holds, and in words what was found."""

    check: str
    holds: bool
    detail: str
    on_trust: str | None = None  # what this check has to leave open for this bundle


def on_trust(found: Sequence[Finding], *, refit: bool) -> tuple[str, ...]:
    """What is left open by these findings: what no bundle can show, and what could not be looked at in this one.

    Of what can't be read as a bundle nothing is: none of it is to be trusted.
    """
    if len(found) == 1 and not found[0].holds:
        return ()
    here = [one.on_trust for one in found if one.on_trust is not None]
    return (*ON_TRUST, *here, *(() if refit else (WITHOUT_REFIT,)))


@in_words
def verify(
    path: str | Path,
    *,
    trusted_key: Ed25519PublicKey | None = None,
    refit: bool = False,
    ledger: LedgerFile | None = None,
    limits: Limits | None = None,
) -> tuple[Finding, ...]:
    """All that can be said about a bundle. Everything holds only if every finding holds.

    It shows that what is stated is consistent, that rows fit the schema, and that nothing was changed since. With
    `refit` the method's steps are taken again on the noisy numbers, and the rows are made again: both must be the same,
    so nothing else can have gone into them. Who has the `ledger` can ask whether the entry is there and says the same.
    What a bundle can't show, `on_trust` lists.
    """
    try:
        files = read_bundle(path, limits=limits)
        odd = check_form(path, files)
    except (BundleError, OSError) as error:
        return (Finding("files", False, str(error)),)
    form = Finding("files", odd is None, odd or f"{len(files)} files, and nothing beside them")
    return (form, *findings(files, trusted_key=trusted_key, refit=refit, ledger=ledger))


def findings(
    files: dict[str, bytes],
    *,
    trusted_key: Ed25519PublicKey | None = None,
    refit: bool = False,
    ledger: LedgerFile | None = None,
) -> tuple[Finding, ...]:
    """What `verify` says of the files of a bundle, once they are read."""
    found = [_sums(files), _signature(files, trusted_key)]
    try:
        contents = read_contents(files)
    except KerneleaseError as error:
        return (*found, Finding("content", False, str(error)))
    measurements = contents.measurements
    stated = [_guarantee(measurements.certificate), _check_steps(measurements), _agreement(measurements)]
    found += [_version(measurements.certificate), _machine(contents)]
    found += [_private(measurements), *stated, _documents(files, contents)]
    found += [] if contents.rows is None else [_rows(contents)]
    found += [] if ledger is None else [_on_the_books(measurements, ledger)]
    if refit and all(finding.holds for finding in stated):
        found += [_retrace(measurements), *([] if contents.rows is None else [_refit(contents)])]
    elif refit:
        found.append(Finding("steps", False, "not taken again, since what is stated does not hold"))
    return tuple(found)


def _sums(files: dict[str, bytes]) -> Finding:
    problems = check_sums(files)
    return Finding("sums", not problems, " ".join(problems) or "every file is as SHA256SUMS says")


def _signature(files: dict[str, bytes], trusted_key: Ed25519PublicKey | None) -> Finding:
    result = check_signature(files, trusted_key)
    unsigned = result.state is SignatureState.UNSIGNED
    holds = result.trusted if trusted_key is not None else result.state is SignatureState.SIGNED or unsigned
    return Finding("signature", holds, result.message)


def _version(certificate: Certificate) -> Finding:
    if certificate.version == __version__:
        return Finding("version", True, f"written by kernelease {__version__}")
    written = f"{certificate.version[:40]!a}"
    detail = f"written by kernelease {written}, whose documents this version ({__version__}) can't write again: take it"
    return Finding("version", False, detail)


def _machine(contents: Contents) -> Finding:
    """The kind of machine that made it: only on the same kind do floats come out again to the bit."""
    certificate, settings = contents.measurements.certificate, contents.settings
    named = dict.fromkeys([certificate.machine, *([] if settings is None else [settings.machine])])
    others = [f"{name!a}" for name in named if name != this_machine()]
    if not others:
        detail = "made on a machine like this one: what is computed again must agree to the last bit"
        return Finding("machine", True, detail)
    return Finding(
        "machine",
        True,
        f"made on another kind ({'; '.join(others)}): weights and points are compared to {ROUNDING:g}",
        on_trust=f"digits of weights, points and stages beyond {ROUNDING:g} of the largest, and of mu beyond "
        f"{_LAST_DIGITS:g}: on another kind of machine, as this bundle says of itself, floats round differently",
    )


def _private(measurements: Measurements) -> Finding:
    certificate, measured = measurements.certificate, measurements.measured
    if certificate.private != measured.private:
        detail = "the certificate and the measurements do not agree on whether the noise came from a seed"
        return Finding("noise", False, detail)
    return Finding("noise", certificate.private, certificate.headline)


def _guarantee(certificate: Certificate) -> Finding:
    """δ(ε) from the steps' sensitivities and scales alone, and μ from ε and δ alone."""
    delta = certificate.spent.delta(certificate.epsilon)
    holds = delta <= certificate.delta * _SLACK and certificate.spent.mu <= certificate.mu * _SLACK
    detail = (
        f"the noise of {len(certificate.steps)} steps gives delta {delta:.3g} at epsilon {certificate.epsilon!r}; "
        f"stated is {certificate.delta!r}"
    )
    return Finding("guarantee", holds and bool(certificate.steps), detail)


def _check_steps(measurements: Measurements) -> Finding:
    """The steps are those of the measurements, and their sensitivities no smaller than the relation demands."""
    certificate, measured = measurements.certificate, measurements.measured
    try:
        total = certificate.asked.total(certificate.coordinates)
        measured.check_shares(total)
        needed = measured.least_sensitivities(certificate.neighbours, measurements.domain.unit_weight)
        if measured.steps != certificate.steps:
            raise BundleError("a step differs from its measurement.")
        for step, least in zip(certificate.steps, needed, strict=True):
            if step.sensitivity * _SLACK < least:
                raise BundleError(f"a sensitivity of {step.sensitivity:.6g} is stated where {least:.6g} is the least.")
    except _REFUSALS as error:
        return Finding("measurements", False, f"certificate and measurements disagree: {error}")
    return Finding("measurements", True, "sensitivities and noise agree with the certificate")


def _agreement(measurements: Measurements) -> Finding:
    """What is stated twice is stated alike."""
    try:
        stated = itertools.chain(_stated_twice(measurements), _ledger_stated(measurements))
        odd = [what for what, one, other in stated if one != other]
    except _REFUSALS as error:
        return Finding("agreement", False, str(error))
    detail = (
        f"the documents disagree about {', '.join(odd)}" if odd else "what is stated in two places is the same in both"
    )
    return Finding("agreement", not odd, detail)


def _stated_twice(measurements: Measurements) -> Iterator[tuple[str, object, object]]:
    certificate, measured, domain = measurements.certificate, measurements.measured, measurements.domain
    yield "the neighbour relation", certificate.neighbours, measured.neighbours
    if domain.schema is not None:
        yield "the declared neighbour relation", certificate.neighbours.value, domain.schema.neighbours
    yield "the unit of protection", certificate.unit, domain.protected
    yield "where bounds and values are known from", certificate.domain, domain.provenance
    yield "the number of rows", certificate.rows, measured.rows
    yield "the published rows", certificate.published_rows, measured.published_rows
    yield "the method", certificate.method, type(measurements.method).__name__
    yield "the method's settings", certificate.settings, describe(measurements.method)
    yield "the kernel", certificate.kernel, domain.kernel_name if measurements.method.uses_kernel else None
    for kernel in measured.kernels:
        yield "the kernel of the measurements", describe(kernel), describe(domain.kernel)
    yield "the choices", certificate.choices, tuple(str(choice) for choice in measured.choices)
    if certificate.delta == 0.0:
        yield "the calibration", certificate.calibration, Calibration.ANALYTIC
    promised = certificate.asked.total(certificate.coordinates).mu
    yield "mu", True, _same_loss(certificate, certificate.mu, promised)


def _same_loss(certificate: Certificate, stated: float, computed: float) -> bool:
    return alike(stated, computed, min(rounding_since(certificate.machine), _LAST_DIGITS))


def _ledger_stated(measurements: Measurements) -> Iterator[tuple[str, object, object]]:
    """What the entry says against what this release alone must have cost."""
    certificate, entry = measurements.certificate, measurements.certificate.entry
    if measurements.domain.schema is not None:
        yield "the data set", entry.dataset, measurements.domain.name
    alone, spent = certificate.promised, entry.spent
    if entry.ledger is None:
        yield "the data set", entry.dataset, None if measurements.schema is None else measurements.domain.name
        yield "the ledger", (entry.number, True), (1, _same_loss(certificate, spent.mu_squared, alone.mu_squared))
        yield "what was charged", (spent.delta_zero, spent.pure_epsilon), (alone.delta_zero, alone.pure_epsilon)
    parts = ((spent.mu_squared, alone.mu_squared), (spent.pure_epsilon, alone.pure_epsilon))
    yield "the cumulative loss", True, all(whole * _SLACK >= part for whole, part in parts)


def _on_the_books(measurements: Measurements, ledger: LedgerFile) -> Finding:
    """Whether the owner's ledger has the entry, and says of it what the bundle says."""
    certificate = measurements.certificate
    try:
        receipt = ledger.entry(certificate.entry.number)
    except KerneleaseError as error:
        return Finding("ledger", False, str(error))
    asked, schema = receipt.charge.asked, measurements.schema
    same = {
        "the ledger or its sums": LedgerEntry.of(receipt) == certificate.entry,
        "epsilon or delta": (asked.epsilon, asked.delta) == (certificate.epsilon, certificate.delta),
        "the neighbour relation": asked.relation is certificate.neighbours,
        "the unit": receipt.charge.subject.unit == _unit_of(measurements.domain, schema),
    }
    odd = [what for what, holds in same.items() if not holds]
    detail = f"the entry differs in {', '.join(odd)}" if odd else f"{certificate.entry}, charged at {receipt.time}"
    return Finding("ledger", not odd, detail)


def _unit_of(domain: Domain, schema: Schema | None) -> str | None:
    if isinstance(domain, TablesDomain):
        return domain.unit
    return None if schema is None else schema.unit


def _documents(files: dict[str, bytes], contents: Contents) -> Finding:
    """What people and other tools read says what the numbers say: each file is written again, and compared."""
    try:
        again = documents(contents)
    except _REFUSALS as error:
        return Finding("documents", False, f"they can't be written again: {error}")
    present = {name for name in files if name not in SEALS}
    odd = sorted(name for name in present | set(again) if again.get(name) != files.get(name))
    detail = f"not what the other documents give: {', '.join(odd)}" if odd else "each follows from the others"
    return Finding("documents", not odd, detail)


def _rows(contents: Contents) -> Finding:
    domain = contents.measurements.laid_domain
    if isinstance(domain, TablesDomain):
        return _rows_of_tables(contents.tables, domain)
    problems = row_problems(contents.table, domain)
    detail = "; ".join(problems) or f"{len(contents.table):,} rows, each within its declared columns"
    return Finding("rows", not problems, detail)


def _rows_of_tables(released: Mapping[str, pa.Table], domain: TablesDomain) -> Finding:
    """The rows of each table within its columns and rules, and keys that exist."""
    problems = []
    for table in domain.tables.tables:
        rows = released[table.name]
        keys = [*table.keys]
        schema = domain.schema_of(table.name)
        if rows.column_names != [*keys, *schema.order] or any(
            rows.schema.field(key).type != pa.int64() for key in keys
        ):
            problems.append(f"the columns of {table.name} are not its keys and those of the schema, in its order")
            continue
        if any(rows.column(key).null_count for key in (table.key, table.foreign_key) if key is not None):
            problems.append(f"a key of {table.name} is NULL")
            continue
        weighted = rows.drop_columns(keys).append_column("(weight)", pa.array(np.ones(rows.num_rows)))
        problems += [f"{table.name}: {problem}" for problem in _against(weighted, schema, "(weight)")]
    problems += key_problems(released, domain.tables) if not problems else []
    sizes = ", ".join(f"{len(table):,} {name}" for name, table in released.items())
    detail = "; ".join(problems) or f"{sizes}, each within its declared columns, and every key exists"
    return Finding("rows", not problems, detail)


def _retrace(measurements: Measurements) -> Finding:
    """What was measured follows from public things and from noisy numbers that were there before, and nothing else."""
    certificate, measured = measurements.certificate, measurements.measured
    rounding = rounding_since(certificate.machine)
    try:
        again, charged = retrace(
            measurements.method,
            measured,
            domain=measurements.domain,
            privacy=certificate.asked,
            seed=PublicSeed(certificate.seed),
        )
    except _REFUSALS as error:
        return Finding("steps", False, f"the method's steps can't be taken again: {error}")
    if certificate.entry.ledger is None and not alike(charged, certificate.entry.spent, rounding):
        return Finding("steps", False, "the method charges another loss than is said to be spent")
    if alike(again, measured, rounding):
        return Finding("steps", True, "taken again on the noisy numbers, the method's steps are the same")
    detail = f"taken again on the noisy numbers, the method's steps differ: {_elsewhere(rounding)}"
    return Finding("steps", False, detail)


def _refit(contents: Contents) -> Finding:
    """The rows follow from the measurements, and from nothing else."""
    measurements, settings = contents.measurements, contents.settings
    if settings is None:
        detail = "the bundle does not say how its rows were fitted, so they can't be made again"
        return Finding("refit", False, detail)
    domain = measurements.domain
    made = len(contents.tables[domain.tables.root.name] if isinstance(domain, TablesDomain) else contents.table)
    if settings.rows not in (None, made):
        detail = f"{settings.rows:,} rows are said to have been made, and there are {made:,}"
        return Finding("refit", False, detail)
    try:
        again = fit_rows(measurements, settings)
    except _REFUSALS as error:
        return Finding("refit", False, f"the rows can't be made again: {error}")
    rounding = rounding_since(settings.machine)
    if isinstance(domain, TablesDomain):
        return _same_tables(again.tables, contents.tables, rounding)
    rows = contents.table
    fitted = frozenset(rows.column_names if domain.schema is None else [domain.weight_name])
    if same_rows(again.table, rows, fitted=fitted, rounding=rounding):
        return Finding("refit", True, "made again from the measurements, the rows are the same")
    if rounding != EXACT and _same_counts(measurements, again.table, rows):
        detail = "made again from the measurements, the rows have the same counts, to half of the noise of each"
        return Finding("refit", True, detail, on_trust=_OTHER_ROWS)
    detail = f"made again from the measurements, the rows differ: {_elsewhere(rounding)}"
    return Finding("refit", False, detail)


def _same_tables(again: Mapping[str, pa.Table], released: Mapping[str, pa.Table], rounding: float) -> Finding:
    same = all(same_rows(again[name], rows) for name, rows in released.items())
    detail = "made again from the measurements, the rows of all tables are the same"
    if not same:
        detail = f"made again from the measurements, the rows differ: {_elsewhere(rounding)}"
    return Finding("refit", same, detail)


def _same_counts(measurements: Measurements, one: pa.Table, other: pa.Table) -> bool:
    """Whether the rows of two fits of the same measurements are alike in all that was counted.

    A descent in single precision ends elsewhere where floats round differently, as it does with another seed: rows are
    others then, and their counts differ by less than the noise of the measurements that both follow from.
    """
    measured, domain = measurements.measured, measurements.laid_domain
    if not isinstance(measured, NoisyBlocks) or domain.schema is None or len(one) != len(other):
        return False
    encoder = Encoder(domain.schema)
    first, second = (encoder.encode(rows.drop_columns([domain.weight_name])) for rows in (one, other))
    return all(
        math.sqrt(float(np.mean(np.square(_table(first, noisy.block) - _table(second, noisy.block), dtype=np.float64))))
        <= _ROWS_APART + noisy.sigma / 2.0
        for noisy in measured.blocks
        if noisy.block.columns
    )


def _table(codes: Codes, block: Block) -> Integers:
    cells = tuple(group[codes[:, column]] for column, group in zip(block.columns, block.groups, strict=True))
    return np.bincount(np.ravel_multi_index(cells, block.grid), minlength=math.prod(block.grid))


def _elsewhere(rounding: float) -> str:
    return _ELSEWHERE if rounding == EXACT else _ELSEWHERE + _OTHER_MACHINE


# ---- Whether what was computed twice is the same: to the bit on one kind of machine, up to rounding on two kinds.


def alike(one: Any, other: Any, rounding: float = EXACT) -> bool:
    """Whether two objects are of one kind and hold the same, floats in them to the bit, or up to a relative rounding.

    An array is compared on the scale of its largest number, so that small whole numbers have to be the same.

    >>> alike(np.array([1.0, 1e-9]), np.array([1.0, 0.0])), alike(np.array([1.0, 1e-9]), np.array([1.0, 0.0]), ROUNDING)
    (False, True)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_arrays(one, other, rounding)
    if isinstance(one, float):
        return one.hex() == other.hex() or (rounding > 0.0 and math.isclose(one, other, rel_tol=rounding))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other, [rounding] * len(one)))
    if dataclasses.is_dataclass(one) and not isinstance(one, Enum):
        names = [field.name for field in dataclasses.fields(one) if field.init]
        return all(alike(getattr(one, name), getattr(other, name), rounding) for name in names)
    return bool(one == other)


def same_rows(one: pa.Table, other: pa.Table, *, fitted: frozenset[str] = frozenset(), rounding: float = EXACT) -> bool:
    """Whether two tables hold the same rows, to the bit.

    `fitted` columns (weights, coordinates of points) come from a fit, and may differ by a rounding. Declared columns
    hold values of a list or grid, from which rounding does not move them.
    """
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    return all(
        _same_columns(one.column(at), other.column(at), rounding if name in fitted else EXACT)
        for at, name in enumerate(one.column_names)
    )


def _same_columns(one: pa.ChunkedArray, other: pa.ChunkedArray, rounding: float) -> bool:
    if not pa.types.is_floating(one.type):
        return bool(one.equals(other))
    if not one.is_null().equals(other.is_null()):
        return False
    return _same_arrays(one.drop_null().to_numpy(), other.drop_null().to_numpy(), rounding)


def _same_arrays(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rounding: float) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return bool(one.tolist() == other.tolist())
    if one.tobytes() == other.tobytes():
        return True
    return rounding > 0.0 and one.dtype.kind in "fiu" and _close(one, other, rounding)


def _close(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], rounding: float) -> bool:
    first, second = (array.astype(np.float64) for array in (one, other))
    return bool(np.allclose(first, second, rtol=rounding, atol=rounding * float(np.abs(second).max(initial=0.0))))
