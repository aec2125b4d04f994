"""A release as files, and back. A bundle without data.parquet holds measurements that wait to be fitted."""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import BundleError, KerneleaseError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.release.certificate import Certificate
from kernelease.release.codec import from_json, to_json
from kernelease.release.container import Limits, read_bundle, write_bundle
from kernelease.release.datasheet import datasheet
from kernelease.release.documents import croissant, data_package, json_bytes, registry_record
from kernelease.release.measured import check_measured
from kernelease.release.release import WEIGHT, Release
from kernelease.release.sums import check_sums
from kernelease.table import Schema

FORMAT = 1
LARGEST_TABLE = 2**28  # cells


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """What was measured, before or without a fit: fitting it costs nothing, as often as one likes."""

    certificate: Certificate
    blocks: NoisyBlocks
    schema: Schema


def save(
    content: Release | Measurements, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
) -> Path:
    """Write a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
    target = Path(path)
    write_bundle(target, _files(content), key=key, overwrite=overwrite)
    return target


def load(path: str | Path, *, limits: Limits | None = None) -> Release:
    """Open a release that `save` wrote. Refuses a bundle whose files do not match their sums."""
    files = checked_files(path, limits=limits)
    if "data.parquet" not in files:
        raise BundleError(f"{path}: holds measurements only. Make rows from them with `kernelease fit`.")
    schema, certificate, measured = parts_of(files)
    return Release(
        table=table_of(files["data.parquet"]),
        certificate=certificate,
        schema=schema,
        embedding=measured if isinstance(measured, NoisyEmbedding) else None,
        blocks=measured if isinstance(measured, NoisyBlocks) else None,
    )


def load_measurements(path: str | Path, *, limits: Limits | None = None) -> Measurements:
    """Open the measurements of a bundle, with or without rows."""
    schema, certificate, measured = parts_of(checked_files(path, limits=limits))
    if schema is None or not isinstance(measured, NoisyBlocks):
        raise BundleError(f"{path}: holds no measurements of a table that can be fitted again.")
    return Measurements(certificate=certificate, blocks=measured, schema=schema)


def checked_files(path: str | Path, *, limits: Limits | None = None) -> dict[str, bytes]:
    """The files of a bundle, all as SHA256SUMS says."""
    files = read_bundle(path, limits=limits)
    if problems := check_sums(files):
        raise BundleError(f"{path}: " + " ".join(problems))
    return files


def _files(content: Release | Measurements) -> dict[str, bytes]:
    schema, certificate = content.schema, content.certificate
    name = schema.name if schema else "table"
    files = {
        "certificate.json": json_bytes({"format": FORMAT, "statement": str(certificate), **to_json(certificate)}),
        "registry.yaml": registry_record(name, certificate),
    }
    measured = content.blocks if isinstance(content, Measurements) else content.blocks or content.embedding
    files["datasheet.md"] = datasheet(name, certificate, schema, measured)
    if measured is not None:
        files["measurements.json"] = (json.dumps(to_json(measured), separators=(",", ":")) + "\n").encode()
    if schema is not None:
        files["schema.json"] = json_bytes({"format": FORMAT, **schema.to_dict()})
    if isinstance(content, Release):
        data = _parquet(content.table)
        files["data.parquet"] = data
        files["datapackage.json"] = data_package(name, content.table.schema, data, certificate)
        files["croissant.json"] = croissant(name, content.table.schema, data, certificate)
    return files


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", store_schema=True, write_statistics=False)
    return sink.getvalue()


def table_of(data: bytes) -> pa.Table:
    """The rows of data.parquet, with their weights."""
    try:
        file = pq.ParquetFile(pa.BufferReader(_owned(data)))
        if file.metadata.num_rows * max(1, file.metadata.num_columns) > LARGEST_TABLE:
            raise BundleError(f"data.parquet claims more than {LARGEST_TABLE:,} cells.")  # run lengths hide billions
        table = file.read()
        names = table.column_names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BundleError("data.parquet can't be read as Parquet.") from error
    if WEIGHT not in names or not pa.types.is_floating(table.schema.field(WEIGHT).type):
        raise BundleError(f"data.parquet has no column {WEIGHT!r} of numbers.")
    return table


def _owned(data: bytes) -> pa.Buffer:
    """The bytes in Arrow's own memory.

    Arrow's threads may let go of a file after Python has ended; if the bytes were Python's, that aborts the process.
    """
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()


def parts_of(files: dict[str, bytes]) -> tuple[Schema | None, Certificate, Any]:
    """Schema, certificate and measurements, each through its own constructor."""
    certificate = _tagged(files, "certificate.json", drop=("format", "statement"))
    if not isinstance(certificate, Certificate):
        raise BundleError("certificate.json is not a certificate.")
    schema = None
    if "schema.json" in files:
        content = _json(files, "schema.json")
        _check_format(content, "schema.json")
        try:
            schema = Schema.from_dict({name: value for name, value in content.items() if name != "format"})
        except KerneleaseError as error:
            raise BundleError(f"schema.json: {error}") from error
    measured = None
    if "measurements.json" in files:
        measured = _tagged(files, "measurements.json")
        check_measured(measured, schema)
    return schema, certificate, measured


def _tagged(files: dict[str, bytes], name: str, drop: tuple[str, ...] = ()) -> Any:
    content = _json(files, name)
    if "format" in drop:
        _check_format(content, name)
    return from_json({key: value for key, value in content.items() if key not in drop})


def _json(files: dict[str, bytes], name: str) -> dict[str, Any]:
    if name not in files:
        raise BundleError(f"The bundle has no {name}.")
    try:
        content = json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{name} is not JSON.") from error
    if not isinstance(content, dict):
        raise BundleError(f"{name} is not a JSON object.")
    return content


def _check_format(content: dict[str, Any], name: str) -> None:
    if content.get("format") != FORMAT:
        raise BundleError(f"{name}: format {content.get('format')!r} is not one that this kernelease reads ({FORMAT}).")
