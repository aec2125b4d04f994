"""Where a publisher could hide a secret in a bundle: every byte of it that could be another one.

The hider owns the private rows, knows this code, and makes all sums, documents and signatures fit. What becomes of each
place is for `audits.hider` to see.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audits.targets import SECRET
from kernelease.answers.release import Release, contents_of
from kernelease.bundle import container, data_parquet, saving as bundle
from kernelease.bundle.container import PUBLIC_KEY, SEALS, SIGNATURE, SUMS, read_bundle, write_bundle
from kernelease.bundle.verify import ON_TRUST, WITHOUT_REFIT
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import NormalPoints
from kernelease.kernels import Gaussian
from kernelease.methods import Interactions, Subspace
from kernelease.pipeline import release
from kernelease.privacy import Privacy
from kernelease.table import Schema

Files = dict[str, bytes]
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
BYTES = SECRET.encode()
NUMBER = int.from_bytes(BYTES[:6], "big")  # the secret as 48 bits
SCHEMA = """
[table]
name = "people"

[columns.age]
type = "integer"
min = 0
max = 90
resolution = 5

[columns.hours]
type = "number"
min = 0.0
max = 80.0
cells = 8
nullable = true

[columns.income]
type = "number"
min = 0.0
max = 1000.0
decimals = 2

[columns.born]
type = "datetime"
min = 2000-01-01T00:00:00
max = 2024-12-31T00:00:00
resolution = 3600

[columns.sex]
type = "category"
values = ["f", "m"]
"""
NOISE, _, LEDGER, CHOSEN, FOLDER = ON_TRUST
ROWS_ON_TRUST, MACHINE = WITHOUT_REFIT, "digits of weights"


# ---------------------------------------------------------------------------------------------------------- the bundles


@cache
def honest(kind: str) -> Release:
    """A small release of a table, or of vectors."""
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    if kind == "vectors":
        method = Subspace(points=NormalPoints(dimension=2), count=5)
        rows = np.random.default_rng(0).normal(size=(60, 2))
        return release(rows, kernel=Gaussian(lengthscale=1.0), method=method, privacy=privacy)
    table = pa.table({name: [None] * 60 for name in ("age", "hours", "income", "born", "sex")})
    fitted = Interactions(solver=MixtureSolver(components=2, steps=2))
    return release(table, schema=Schema.parse(SCHEMA), privacy=privacy, method=fitted)


def documents_with(made: Release, data: bytes | None = None) -> Files:
    """All documents of a release; with other bytes of data.parquet, those that state its size and sum say so."""
    with ExitStack() as patches:
        if data is not None:
            patches.enter_context(patch.object(bundle, "write_rows", lambda _: data))
        return bundle.documents(contents_of(made))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a secret is hidden: in which kind of bundle, how, and what of `verify`'s words may leave it on trust.

    `hide` writes a bundle into a folder. `admitted` is the beginning of the line that admits such a place; "" where
    there is none, and the bundle must be refused. What rests on `WITHOUT_REFIT` must be refused with `--refit`.
    """

    name: str
    kind: str
    hide: Callable[[Path], Path]
    admitted: str = ""


# ------------------------------------------------------------------------------------------------------ in data.parquet


def _rewritten(made: Release, **changed: Any) -> bytes:
    """data.parquet by the product's own writer, with parts of that replaced."""
    with ExitStack() as patches:
        for name, value in changed.items():
            patches.enter_context(patch.object(data_parquet, name, value))
        return data_parquet.write_rows(made.table)


def _by_arrow(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **{"compression": "none", "write_statistics": False, **options})
    return sink.getvalue()


def _in_footer(number: int, value: Any) -> Callable[[Release], bytes]:
    """A field of the footer that the writer never writes, or another value of one that it does."""
    plain = data_parquet._thrift

    def with_field(fields: dict[int, Any]) -> bytes:
        is_footer = isinstance(fields.get(2), list) and 4 in fields
        return plain(dict(sorted({**fields, number: value}.items())) if is_footer else fields)

    return lambda made: _rewritten(made, _thrift=with_field)


def _in_chunk(change: Callable[[dict[int, Any]], None]) -> Callable[[Release], bytes]:
    plain = data_parquet._add_chunk

    def changed(file: bytearray, field: pa.Field, values: pa.ChunkedArray) -> dict[int, Any]:
        chunk = plain(file, field, values)
        change(chunk)
        return dict(sorted(chunk.items()))

    return lambda made: _rewritten(made, _add_chunk=changed)


def _after_pages(made: Release) -> bytes:
    plain = data_parquet._add_page

    def padded(file: bytearray, *page: Any) -> None:
        plain(file, *page)
        file.extend(BYTES)

    return _rewritten(made, _add_page=padded)


def _within_pages(made: Release) -> bytes:
    plain = data_parquet._add_page

    def longer(file: bytearray, kind: int, header: Any, content: bytes) -> None:
        plain(file, kind, header, content + BYTES)

    return _rewritten(made, _add_page=longer)


def _in_page_header(made: Release) -> bytes:
    """Statistics of a page, which nobody reads."""
    plain = data_parquet._add_page

    def stated(file: bytearray, kind: int, header: dict[int, Any], content: bytes) -> None:
        more = {5: {**header[5], 5: {5: SECRET}}} if 5 in header else header
        plain(file, kind, more, content)

    return _rewritten(made, _add_page=stated)


def _in_a_dictionary(made: Release) -> bytes:
    """A value that no row has."""
    plain = data_parquet._dictionary

    def longer(values: pa.Array) -> Any:
        listed = plain(values)
        if listed is None or not pa.types.is_string(values.type):
            return listed
        return pa.concat_arrays([listed[0], pa.array([SECRET])]), listed[1]

    return _rewritten(made, _dictionary=longer)


def _in_padding(made: Release) -> bytes:
    """The last eight of the numbers that are packed together are filled up: with ones in place of zeros."""
    plain = data_parquet._pack

    def filled(numbers: Any, width: int) -> bytes:
        whole = np.concatenate([numbers, np.ones(-len(numbers) % 8, np.int64)])
        return plain(whole, width)

    odd = dataclasses.replace(made, table=made.table.slice(0, 59))
    return _rewritten(odd, _pack=filled)


def _in_an_order(made: Release) -> bytes:
    """Which value of a dictionary comes first."""
    plain = data_parquet._bits

    def _dictionary(values: pa.Array) -> Any:
        if pa.types.is_boolean(values.type):
            return None
        coded = plain(values).dictionary_encode()
        count = len(coded.dictionary)
        turned = count - 1 - coded.indices.to_numpy().astype(np.int64)
        width = max(1, (count - 1).bit_length())
        return coded.dictionary.take(pa.array(range(count)[::-1])), bytes([width]) + data_parquet._pack(turned, width)

    return _rewritten(made, _dictionary=_dictionary)


def _before_the_footer(made: Release) -> bytes:
    data = data_parquet.write_rows(made.table)
    footer = 8 + struct.unpack("<L", data[-8:-4])[0]
    return data[:-footer] + BYTES + data[-footer:]


def _noted(made: Release) -> bytes:
    return _by_arrow(made.table.replace_schema_metadata({"note": SECRET}), store_schema=False)


def _noted_fields(made: Release) -> bytes:
    fields = [field.with_metadata({"note": SECRET}) for field in made.table.schema]
    return _by_arrow(made.table.cast(pa.schema(fields)))


def _set_statistics(chunk: dict[int, Any]) -> None:
    chunk[3] = dict(sorted({**chunk[3], 12: {5: SECRET, 6: SECRET}}.items()))


def _set_path(chunk: dict[int, Any]) -> None:
    chunk[1] = SECRET


PARQUET: dict[str, Callable[[Release], bytes]] = {
    "key-value metadata": _noted,
    "metadata of its fields": _noted_fields,
    "bytes before the footer": _before_the_footer,
    "bytes between pages": _after_pages,
    "bytes at the end of pages": _within_pages,
    "statistics in a page header": _in_page_header,
    "statistics of a column": _in_chunk(_set_statistics),
    "the name of another file": _in_chunk(_set_path),
    "the name of the writer": _in_footer(6, SECRET),
    "key-value metadata, by hand": _in_footer(5, [{1: "note", 2: SECRET}]),
    "the version in the footer": _in_footer(1, data_parquet._I32(NUMBER % 2**31)),
    "a field that Parquet does not know": _in_footer(15, SECRET),
    "a value of a dictionary that no row has": _in_a_dictionary,
    "bits that fill up a page": _in_padding,
    "the order of a dictionary": _in_an_order,
    "which columns have a dictionary": lambda made: _rewritten(made, _dictionary=lambda _: None),
    "the sizes of row groups": lambda made: _rewritten(made, _GROUP_ROWS=NUMBER % 2 + 2),
    "the choices of another writer": lambda made: _by_arrow(made.table, store_schema=False),
    "the choices of a compressor": lambda made: _by_arrow(made.table, compression="zstd", store_schema=False),
    "pages' checksums": lambda made: _by_arrow(made.table, write_page_checksum=True, store_schema=False),
}


def in_parquet(kind: str) -> Iterator[Place]:
    """Where the file of the rows has room beside them."""
    honest_bytes = data_parquet.write_rows(honest(kind).table)
    for name, write in PARQUET.items():
        if write(honest(kind)) == honest_bytes:
            continue  # vectors have no text, and repeat nothing

        def hide(folder: Path, write: Callable[[Release], bytes] = write) -> Path:
            return write_bundle(folder / "bundle", documents_with(honest(kind), write(honest(kind))))

        yield Place(name=f"data.parquet: {name}", kind=kind, hide=hide)


# ---------------------------------------------------------------------------------------------------------- in the rows


def _with_cells(made: Release, name: str, change: Callable[[Any], Any]) -> Release:
    at = made.table.column_names.index(name)
    old = made.table.column(at)
    cells = pa.array([None if cell is None else change(cell) for cell in old.to_pylist()], old.type)
    return dataclasses.replace(made, table=made.table.set_column(at, made.table.schema.field(at), cells))


def _nan(_: float) -> float:
    """A NaN whose last bits say something."""
    return float(np.array([0x7FF8000000000000 + NUMBER], np.int64).view(np.float64)[0])


def _shuffled(made: Release) -> Release:
    order = np.random.default_rng(NUMBER).permutation(made.table.num_rows)
    return dataclasses.replace(made, table=made.table.take(pa.array(order)))


def _with_column(made: Release) -> Release:
    table = made.table.add_column(0, "note", pa.array([SECRET] * made.table.num_rows))
    return dataclasses.replace(made, table=table)


def _last_digits(number: float) -> float:
    return float(np.nextafter(np.nextafter(number, np.inf), np.inf))


ROWS: dict[str, tuple[str, Callable[[Release], Release], str]] = {
    "digits beyond the decimals of a number": (
        "table",
        lambda made: _with_cells(made, "income", lambda cell: min(cell + 1e-5, 999.99999)),
        "",
    ),
    "the last bit of a number": ("table", lambda made: _with_cells(made, "income", _last_digits), ""),
    "digits of a number without decimals": (
        "table",
        lambda made: _with_cells(made, "hours", lambda cell: abs(cell - 1e-9)),
        "",
    ),
    "the bits of a NaN": ("table", lambda made: _with_cells(made, "hours", _nan), ""),
    "the sign of zero": ("table", lambda made: _with_cells(made, "income", lambda _: -0.0), ""),
    "ticks between those of an integer": (
        "table",
        lambda made: _with_cells(made, "age", lambda cell: cell // 5 * 5 + 1),
        "",
    ),
    "seconds of an hour": ("table", lambda made: _with_cells(made, "born", lambda cell: cell.replace(second=42)), ""),
    "a value that is not declared": ("table", lambda made: _with_cells(made, "sex", lambda _: SECRET), ""),
    "a column more": ("table", _with_column, ""),
    "the order of rows": ("table", _shuffled, ROWS_ON_TRUST),
    "other legal rows": ("table", lambda made: _with_cells(made, "sex", lambda _: "m"), ROWS_ON_TRUST),
    "fewer rows": (
        "table",
        lambda made: dataclasses.replace(made, table=made.table.slice(0, 42)),
        ROWS_ON_TRUST,
    ),
    "the digits of weights of drawn rows": (
        "table",
        lambda made: _with_cells(made, "weight", _last_digits),
        ROWS_ON_TRUST,
    ),
    "the digits of weights": ("vectors", lambda made: _with_cells(made, "weight", _last_digits), ROWS_ON_TRUST),
    "the digits of points": ("vectors", lambda made: _with_cells(made, "x0", _last_digits), ROWS_ON_TRUST),
    "a weight that is no number": ("vectors", lambda made: _with_cells(made, "weight", _nan), ""),
    "a column more of vectors": ("vectors", _with_column, ROWS_ON_TRUST),
}


def in_rows() -> Iterator[Place]:
    """In the rows themselves: beyond what is declared, or among what is."""
    for name, (kind, change, admitted) in ROWS.items():

        def hide(folder: Path, kind: str = kind, change: Callable[[Release], Release] = change) -> Path:
            return write_bundle(folder / "bundle", bundle.documents(contents_of(change(honest(kind)))))

        yield Place(name=f"rows: {name}", kind=kind, hide=hide, admitted=admitted)


# --------------------------------------------------------------------------------------------------------- in documents


def _first_number(text: bytes) -> bytes:
    """The first float of a document with more digits than it needs."""
    at = text.index(b".", text.index(b'"epsilon"') if b'"epsilon"' in text else 0)
    end = at + 1
    while text[end : end + 1].isdigit():
        end += 1
    return text[:end] + b"0" * 20 + str(NUMBER).encode() + text[end:] if end > at + 1 else text


JSON: dict[str, Callable[[bytes], bytes]] = {
    "blanks": lambda text: text.replace(b":", b": " + b" " * (NUMBER % 7 + 2), 1),
    "blanks at the end": lambda text: text + b" \t" * 8,
    "line ends": lambda text: text.replace(b"\n", b"\r\n"),
    "a key twice": lambda text: b'{"format": "' + BYTES + b'",' + text.lstrip()[1:],
    "an unknown key": lambda text: b'{"note": "' + BYTES + b'",' + text.lstrip()[1:],
    "a letter as its number": lambda text: text.replace(b'"format"', b'"\\u0066ormat"', 1),
    "the spelling of the format": lambda text: text.replace(b'"format": 2', b'"format": 2.0').replace(
        b'"format":2', b'"format":2.0'
    ),
    "the order of keys": lambda text: json.dumps(dict(reversed(json.loads(text).items()))).encode(),
    "a comment": lambda text: text + b"// " + BYTES,
    "a second value": lambda text: text + b'"' + BYTES + b'"',
    "a mark of byte order": lambda text: b"\xef\xbb\xbf" + text,
}
TEXTS = ("datasheet.md", "registry.yaml", "datapackage.json", "croissant.json")
NOT_OURS = ("README.md", "report.html")


def in_documents(kind: str) -> Iterator[Place]:
    """In every document, and in ones that a bundle may have and `verify` can't write again."""
    files = documents_with(honest(kind))
    for name in sorted(set(files) - {"data.parquet", *TEXTS}):
        for what, change in JSON.items():
            yield _changed(kind, name, what, change)
    yield _changed(kind, "certificate.json", "digits of a number", _first_number)
    yield _changed(kind, "measurements.json", "bits that fill up an array", _loose_bits)
    yield _changed(kind, "certificate.json", "the statement", lambda text: text.replace(b"private", BYTES, 1))
    for name in TEXTS:
        yield _changed(kind, name, "a line more", lambda text: text + BYTES + b"\n")
        yield _changed(kind, name, "blanks", lambda text: text + b" ")
    for name in NOT_OURS:
        yield Place(name=f"{name}: a file more", kind=kind, hide=_writing({**files, name: b"<p>" + BYTES}))
    yield Place(
        name="data.parquet: missing", kind=kind, hide=_writing({k: v for k, v in files.items() if k[:5] != "data."})
    )


def _loose_bits(text: bytes) -> bytes:
    """Base64 leaves two or four bits of its last letter open."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    at = text.index(b'="')
    last = at - 1 if text[at - 1 : at] != b"=" else at - 2
    other = alphabet[alphabet.index(text[last]) + 1]
    return text[:last] + bytes([other]) + text[last + 1 :]


def _changed(kind: str, name: str, what: str, change: Callable[[bytes], bytes]) -> Place:
    files = documents_with(honest(kind))
    return Place(name=f"{name}: {what}", kind=kind, hide=_writing({**files, name: change(files[name])}))


def _writing(files: Files, form: str = "bundle", key: Ed25519PrivateKey | None = None) -> Callable[[Path], Path]:
    return lambda folder: write_bundle(folder / form, files, key=key)


# ------------------------------------------------------------------------------------------ in what a publisher chooses


def _forged(made: Release, *, schema: dict[str, Any] | None = None, **certificate: Any) -> Release:
    """The release with parts replaced; the product's own writer makes every document say the same."""
    old = made.measurements
    domain = old.domain
    if schema is not None and old.schema is not None:
        domain = type(domain)(dataclasses.replace(old.schema, **schema))  # type: ignore[call-arg]  # of a table
    new = dataclasses.replace(old, domain=domain, certificate=dataclasses.replace(old.certificate, **certificate))
    return dataclasses.replace(made, measurements=new)


def _with_epsilon(made: Release) -> Release:
    """More is promised to have been paid than was, in digits that nobody reads."""
    return _forged(made, epsilon=made.certificate.epsilon * (1 + 1e-12))


def _with_noise(made: Release) -> Release:
    noisy = made.measurements.measured
    block = noisy.blocks[0]  # type: ignore[attr-defined]  # counts of a table have them
    measurement = dataclasses.replace(block.measurement, integers=block.measurement.integers + NUMBER % 1000)
    blocks = (dataclasses.replace(block, measurement=measurement), *noisy.blocks[1:])  # type: ignore[attr-defined]  # as above
    new = dataclasses.replace(made.measurements, measured=dataclasses.replace(noisy, blocks=blocks))
    return dataclasses.replace(made, measurements=new)


def _with_entry(made: Release, **changed: Any) -> Release:
    entry = dataclasses.replace(made.certificate.entry, **changed)
    return _forged(made, entry=entry)


CHOICES: dict[str, tuple[str, Callable[[Release], Release], str]] = {
    "the digits of epsilon": ("table", _with_epsilon, CHOSEN),
    "the digits of mu": ("table", lambda made: _forged(made, mu=_last_digits(made.certificate.mu)), ""),
    "the name of the method": ("table", lambda made: _forged(made, method=SECRET), ""),
    "the settings": ("table", lambda made: _forged(made, settings=SECRET), ""),
    "the unit": ("table", lambda made: _forged(made, unit=SECRET), ""),
    "where bounds come from": ("table", lambda made: _forged(made, domain=SECRET), ""),
    "the version": ("table", lambda made: _forged(made, version=SECRET), ""),
    "the kind of machine": ("table", lambda made: _forged(made, machine=SECRET), CHOSEN),
    "another kind of machine, and digits of weights": (
        "vectors",
        lambda made: _forged(_with_cells(made, "weight", _last_digits), machine=SECRET),
        MACHINE,
    ),
    "the seed": ("table", lambda made: _forged(made, seed=NUMBER), CHOSEN),
    "the number of rows": ("table", lambda made: _forged(made, rows=float(NUMBER)), ""),
    "the noise": ("table", _with_noise, NOISE),
    "the name of the ledger": ("table", lambda made: _with_entry(made, ledger=SECRET), LEDGER),
    "the number of its entry": ("table", lambda made: _with_entry(made, number=NUMBER), ""),
    "the data set on the ledger": ("vectors", lambda made: _with_entry(made, dataset=SECRET), ""),
    "the name of the table": (
        "table",
        lambda made: _with_entry(_forged(made, schema={"name": SECRET}), dataset=SECRET),
        CHOSEN,
    ),
}


def in_choices() -> Iterator[Place]:
    """In what a publisher states: refused where something else says it again, else admitted."""
    for name, (kind, change, admitted) in CHOICES.items():

        def hide(folder: Path, kind: str = kind, change: Callable[[Release], Release] = change) -> Path:
            return write_bundle(folder / "bundle", bundle.documents(contents_of(change(honest(kind)))))

        yield Place(name=f"stated: {name}", kind=kind, hide=hide, admitted=admitted)


# ------------------------------------------------------------------------------------------------ in sums and signature


def _sealed(kind: str, name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    """A signed bundle with one seal changed, and those sealed anew that depend on it."""

    def hide(folder: Path) -> Path:
        path = write_bundle(folder / "bundle", documents_with(honest(kind)), key=KEY)
        files = {file.name: file.read_bytes() for file in path.iterdir()}
        files[name] = change(files[name])
        if name == PUBLIC_KEY:
            line = f"{hashlib.sha256(files[name]).hexdigest()}  {name}".encode()
            lines = [line if old.endswith(name.encode()) else old for old in files[SUMS].split(b"\n")]
            files[SUMS] = b"\n".join(lines)
        if name != SIGNATURE:
            files[SIGNATURE] = KEY.sign(files[SUMS])
        for changed in SEALS:
            (path / changed).write_bytes(files[changed])
        return path

    return hide


def _wrapped(pem: bytes) -> bytes:
    first, middle, last = pem.strip().split(b"\n")
    return b"\n".join([first, middle[:7], middle[7:], last, b""])


SEALED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "text before the key": (PUBLIC_KEY, lambda pem: BYTES + b"\n" + pem),
    "text after the key": (PUBLIC_KEY, lambda pem: pem + BYTES),
    "the line ends of the key": (PUBLIC_KEY, lambda pem: pem.replace(b"\n", b"\r\n")),
    "the lines of the key": (PUBLIC_KEY, _wrapped),
    "bytes after the signature": (SIGNATURE, lambda signature: signature + BYTES),
    "another signature": (SIGNATURE, lambda signature: (BYTES * 9)[:64]),
    "a comment in the sums": (SUMS, lambda sums: b"# " + BYTES + b"\n" + sums),
    "a sum of a file that is not there": (
        SUMS,
        lambda sums: sums + hashlib.sha256(BYTES).hexdigest().encode() + b"  z\n",
    ),
    "the case of the sums": (SUMS, lambda sums: sums.replace(b"a", b"A", 1)),
    "the order of the sums": (SUMS, lambda sums: b"\n".join([*sums.split(b"\n")[-2::-1], b""])),
    "bytes after the sums": (SUMS, lambda sums: sums + b" "),
}


def in_seals(kind: str) -> Iterator[Place]:
    """In the files that seal the others."""
    for what, (name, change) in SEALED.items():
        yield Place(name=f"{name}: {what}", kind=kind, hide=_sealed(kind, name, change))


# ----------------------------------------------------------------------------------------------------- in the container


def _in_zip(kind: str, odd: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> Callable[[Path], Path]:
    """A zip that is packed by hand."""

    def hide(folder: Path) -> Path:
        files = read_bundle(write_bundle(folder / "honest.zip", documents_with(honest(kind)), key=KEY))
        with zipfile.ZipFile(folder / "bundle.zip", "w") as archive:
            odd(archive, files)
        return folder / "bundle.zip"

    return hide


def _members(archive: zipfile.ZipFile, files: Files, **attributes: Any) -> None:
    for name, data in files.items():
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.create_system, info.external_attr = 3, container._PLAIN_FILE
        for attribute, value in attributes.items():
            setattr(info, attribute, value)
        archive.writestr(info, data)


def _commented(archive: zipfile.ZipFile, files: Files) -> None:
    _members(archive, files)
    archive.comment = BYTES


def _with_gaps(archive: zipfile.ZipFile, files: Files) -> None:
    for name, data in files.items():
        _members(archive, {name: data})
        assert archive.fp is not None
        archive.fp.write(BYTES)
        archive.start_dir = archive.fp.tell()


def _unlisted(archive: zipfile.ZipFile, files: Files) -> None:
    _members(archive, {"README.md": BYTES, **files})
    archive.filelist.pop(0)


EXTRA = struct.pack("<2H", 0x4444, len(BYTES)) + BYTES
ZIPS: dict[str, Callable[[zipfile.ZipFile, Files], None]] = {
    "its comment": _commented,
    "comments of its files": lambda archive, files: _members(archive, files, comment=BYTES),
    "extra fields": lambda archive, files: _members(archive, files, extra=EXTRA),
    "dates": lambda archive, files: _members(archive, files, date_time=(2024, 2, 29, 12, 30, 42)),
    "rights": lambda archive, files: _members(archive, files, external_attr=(0o100600 << 16)),
    "bits of rights that no system has": lambda archive, files: _members(
        archive, files, external_attr=container._PLAIN_FILE | 0x8000
    ),
    "attributes inside": lambda archive, files: _members(archive, files, internal_attr=NUMBER % 2**16),
    "the system": lambda archive, files: _members(archive, files, create_system=0),
    "the version": lambda archive, files: _members(archive, files, create_version=63),
    "gaps": _with_gaps,
    "a file that its directory does not list": _unlisted,
    "the order of files": lambda archive, files: _members(archive, dict(reversed(files.items()))),
    "the choices of a packer": lambda archive, files: _members(archive, files, compress_type=zipfile.ZIP_DEFLATED),
    "a file more": lambda archive, files: _members(archive, {**files, "notes.txt": BYTES}),
    "a file twice": lambda archive, files: _members(archive, {**files, "sha256sums": files[SUMS]}),
}


def _bytes_of_zip(kind: str, change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
    def hide(folder: Path) -> Path:
        path = write_bundle(folder / "bundle.zip", documents_with(honest(kind)))
        path.write_bytes(change(path.read_bytes()))
        return path

    return hide


def _in_folder(kind: str, add: Callable[[Path], None]) -> Callable[[Path], Path]:
    def hide(folder: Path) -> Path:
        path = write_bundle(folder / "bundle", documents_with(honest(kind)))
        add(path)
        return path

    return hide


def _touch(path: Path) -> None:
    os.utime(path / "certificate.json", (NUMBER, NUMBER))


def in_containers(kind: str) -> Iterator[Place]:
    """In the zip around the files, or beside them in the folder."""
    for name, odd in ZIPS.items():
        yield Place(name=f"zip: {name}", kind=kind, hide=_in_zip(kind, odd))
    for name, change in {
        "bytes before it": lambda data: BYTES + data,
        "bytes after it": lambda data: data + BYTES,
        "bytes between files and directory": lambda data: data.replace(b"PK\1\2", BYTES + b"PK\1\2", 1),
        "the time in one header only": lambda data: data[:10] + b"\x2a" + data[11:],
    }.items():
        yield Place(name=f"zip: {name}", kind=kind, hide=_bytes_of_zip(kind, change))
    for name, add in {
        "a hidden file": lambda path: (path / ".note").write_bytes(BYTES),
        "a folder in it": lambda path: (path / "notes").mkdir(),
        "a link": lambda path: (path / "README.md").symlink_to(SECRET),
    }.items():
        yield Place(name=f"folder: {name}", kind=kind, hide=_in_folder(kind, add))
    yield Place(name="folder: the time of a file", kind=kind, hide=_in_folder(kind, _touch), admitted=FOLDER)
