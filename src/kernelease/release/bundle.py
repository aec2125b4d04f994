"""A release as files, and back. A bundle without data.parquet holds measurements that wait to be fitted."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import BundleError, KerneleaseError, ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import own_kind
from kernelease.measured.measured import Measured
from kernelease.methods.method import Method, UnknownMethod
from kernelease.release import datasheet
from kernelease.release.certificate import Certificate
from kernelease.release.codec import check_holds, from_json, to_json
from kernelease.release.container import Limits, read_bundle, write_bundle
from kernelease.release.data_parquet import read_rows, write_rows
from kernelease.release.documents import FORMAT, croissant, data_package, json_bytes, registry_record, schema_document
from kernelease.release.measurements import Measurements
from kernelease.release.release import FitSettings, Release
from kernelease.release.sums import check_sums
from kernelease.seeds import PublicSeed
from kernelease.strangers import parse_json
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema
from kernelease.table.table_domain import TableDomain
from kernelease.table.vector_domain import VectorDomain


def save(
    content: Release | Measurements, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
) -> Path:
    """Write a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
    target = Path(path)
    write_bundle(target, documents(content), key=key, overwrite=overwrite)
    return target


def load(path: str | Path, *, limits: Limits | None = None) -> Release:
    """Open a release that `save` wrote. Refuses a bundle whose files do not match their sums."""
    files = checked_files(path, limits=limits)
    if "data.parquet" not in files:
        raise BundleError(f"{path}: holds measurements only. Make rows from them with `kernelease fit`.")
    return release_of(files)


def load_measurements(path: str | Path, *, limits: Limits | None = None) -> Measurements:
    """Open the measurements of a bundle, with or without rows."""
    return measurements_of(checked_files(path, limits=limits))


def checked_files(path: str | Path, *, limits: Limits | None = None) -> dict[str, bytes]:
    """The files of a bundle, all as SHA256SUMS says."""
    files = read_bundle(path, limits=limits)
    if problems := check_sums(files):
        raise BundleError(f"{path}: " + " ".join(problems))
    return files


def documents(content: Release | Measurements) -> dict[str, bytes]:
    """Every file of a bundle but its seals, from nothing but the objects: `verify` writes them again and compares."""
    measurements = content.measurements if isinstance(content, Release) else content
    certificate, domain = measurements.certificate, measurements.domain
    files = {
        "certificate.json": json_bytes({"format": FORMAT, "statement": str(certificate), **to_json(certificate)}),
        "registry.yaml": registry_record(domain.name, certificate),
        datasheet.NAME: datasheet.datasheet(measurements),
        "measurements.json": _compact(
            {
                "format": FORMAT,
                "kernel": None if domain.schema is not None else to_json(domain.kernel),
                "method": _method_json(measurements.method),
                "measured": to_json(measurements.measured),
            }
        ),
    }
    if domain.schema is not None:
        files["schema.json"] = schema_document(domain.schema)
    if isinstance(content, Release):
        data = write_rows(content.table)
        files["data.parquet"] = data
        files["datapackage.json"] = data_package(domain.name, content.table.schema, data, certificate)
        files["croissant.json"] = croissant(domain.name, content.table.schema, data, certificate)
        if content.settings is not None:
            files["fit.json"] = _compact(_fit_json(content.settings, measurements))
    return files


def _compact(value: Any) -> bytes:
    return (json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n").encode()


def _fit_json(settings: FitSettings, measurements: Measurements) -> dict[str, Any]:
    """How the rows were made. None stands for the method, the seed or the kind of machine of the measurements."""
    method, seed, machine = _method_json(settings.method), settings.seed.value, settings.machine
    return {
        "format": FORMAT,
        "method": None if method == _method_json(measurements.method) else method,
        "seed": None if seed == measurements.certificate.seed else seed,
        "rows": settings.rows,
        "machine": None if machine == measurements.certificate.machine else machine,
    }


def check_savable(domain: Domain, method: Method) -> None:
    """Raise `BundleError` unless a bundle can hold what a release is about: to be asked before any budget is spent."""
    if domain.schema is None:
        check_holds(domain.kernel, "kernel")
    elif Schema.from_dict(json.loads(json_bytes(domain.schema.to_dict()))) != domain.schema:
        raise BundleError("schema: saved and loaded again, it differs from what it was. Nothing was spent.")
    if _is_own(method):
        check_holds(method, "method")


def _method_json(method: Method) -> Any:
    """Of a method of one's own that no bundle can hold, the name alone: to fit its numbers it must be given again."""
    try:
        if not _is_own(method):
            check_holds(method, "method")
        return to_json(method)
    except BundleError:
        if _is_own(method):
            raise
        return to_json(UnknownMethod(name=type(method).__name__))


def _is_own(method: Method) -> bool:
    return own_kind(type(method).__name__) is type(method)


def table_of(data: bytes, weight: str) -> pa.Table:
    """The rows of data.parquet, with their weights in the column of that name."""
    table = read_rows(data)
    if table.column_names.count(weight) != 1 or not pa.types.is_floating(table.schema.field(weight).type):
        raise BundleError(f"data.parquet has no column {weight!r} of numbers.")
    return table


def release_of(files: dict[str, bytes]) -> Release:
    """The release in the files of a bundle, each part through its own constructor."""
    measurements = measurements_of(files)
    return Release(
        table=table_of(files["data.parquet"], measurements.domain.weight_name),
        measurements=measurements,
        settings=_settings(files, measurements) if "fit.json" in files else None,
    )


def measurements_of(files: dict[str, bytes]) -> Measurements:
    """The measurements in the files of a bundle, whose parts belong together."""
    certificate = _tagged(files, "certificate.json", drop=("format", "statement"))
    if not isinstance(certificate, Certificate):
        raise BundleError("certificate.json is not a certificate.")
    content = _json(files, "measurements.json")
    _check_format(content, "measurements.json")
    measured, kernel = (from_json(content.get(name)) for name in ("measured", "kernel"))
    domain = _domain(files, kernel)
    if not isinstance(measured, Measured):
        raise BundleError("measurements.json holds something else than measurements.")
    try:
        measured.check(domain)
    except ParameterError as error:
        raise BundleError(f"measurements.json can't be used: {error}") from error
    method = _method(content.get("method"))
    return Measurements(certificate=certificate, domain=domain, method=method, measured=measured)


def _domain(files: dict[str, bytes], kernel: Any) -> Domain:
    if "schema.json" not in files:
        if not isinstance(kernel, Kernel):
            raise BundleError("The bundle has no schema.json, and measurements.json has no kernel.")
        return VectorDomain(kernel)
    content = _json(files, "schema.json")
    _check_format(content, "schema.json")
    try:
        return TableDomain(Schema.from_dict({name: value for name, value in content.items() if name != "format"}))
    except KerneleaseError as error:
        raise BundleError(f"schema.json: {error}") from error


def _method(content: Any) -> Method:
    method = from_json(content)
    if not isinstance(method, Method):
        raise BundleError("A method in this bundle is something else than a method.")
    return method


def _settings(files: dict[str, bytes], measurements: Measurements) -> FitSettings:
    content = _json(files, "fit.json")
    _check_format(content, "fit.json")
    method, seed, rows, machine = (content.get(name) for name in ("method", "seed", "rows", "machine"))
    if not (seed is None or type(seed) is int) or not (rows is None or (type(rows) is int and rows >= 1)):
        raise BundleError("fit.json: seed and rows must be whole numbers.")
    if not (machine is None or type(machine) is str):
        raise BundleError("fit.json: machine must be text.")
    try:
        return FitSettings(
            method=measurements.method if method is None else _method(method),
            seed=PublicSeed(measurements.certificate.seed if seed is None else seed),
            rows=rows,
            machine=measurements.certificate.machine if machine is None else machine,
        )
    except ParameterError as error:
        raise BundleError(f"fit.json: {error}") from error


def _tagged(files: dict[str, bytes], name: str, drop: tuple[str, ...] = ()) -> Any:
    content = _json(files, name)
    if "format" in drop:
        _check_format(content, name)
    return from_json({key: value for key, value in content.items() if key not in drop})


def _json(files: dict[str, bytes], name: str) -> dict[str, Any]:
    if name not in files:
        raise BundleError(f"The bundle has no {name}.")
    try:
        content = parse_json(files[name])
    except ValueError as error:
        raise BundleError(f"{name} is not JSON as a bundle has it: {str(error)[:200]}.") from error
    if not isinstance(content, dict):
        raise BundleError(f"{name} is not a JSON object.")
    return content


def _check_format(content: dict[str, Any], name: str) -> None:
    given = content.get("format")
    if given == 1:
        raise BundleError(
            f"{name}: this bundle is of format 1, which kernelease 0.1 wrote. Open it with that version, or ask the "
            "publisher to make it anew from the measurements: it costs no budget."
        )
    if given != FORMAT:
        raise BundleError(f"{name}: format {str(given)[:20]!r} is not one that this kernelease reads ({FORMAT}).")
