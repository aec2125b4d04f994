"""A bundle as it lies on disk: named files from a closed list, their sums, in a folder or a zip.

Written whole or not at all: under a temporary name beside the target, synced, then renamed. The same files give the
same bytes. Read with suspicion: an analyst opens bundles that strangers made.
"""

import ctypes
import errno
import hashlib
import os
import re
import shutil
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, unique
from pathlib import Path
from typing import IO, final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kernelease.bundle.signing import fingerprint, parse_public_key, public_pem, short_fingerprint, sign, verify
from kernelease.errors import BundleError, ParameterError, ResourceError, SigningError
from kernelease.machine import draft_beside, name_beside, sync_folder
from kernelease.strangers import web_refusal

# ---- Exchanging two names in one step, where the system can.


_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: paths are as the process sees them
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Let two existing paths swap what they name, so that neither is missing at any time; False where that can't be.

    Two renames in a row would leave a moment without a bundle, and a crash in it would hide one that was paid for.
    """
    names = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, _SWAP)
        else:
            failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
    except (AttributeError, OSError, TypeError):  # no such function in this C library; Windows has no library None
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


# ---- SHA-256 sums of the files, and a signature over the sums.
#
# SHA256SUMS has one line per file, sorted by name, as the program sha256sum writes them; it covers every file but
# itself and its signature. SHA256SUMS.sig is the Ed25519 signature of its bytes. Both can be checked without
# kernelease:
#
#     sha256sum -c SHA256SUMS
#     openssl pkeyutl -verify -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig -pubin -inkey public_key.pem


SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
PUBLIC_KEY = "public_key.pem"
SEALS = frozenset({SUMS, SIGNATURE, PUBLIC_KEY})  # the files that seal the others
_NOT_COVERED = (SUMS, SIGNATURE)
_LINE = re.compile(rb"([0-9a-f]{64})  ([A-Za-z0-9_.-]{1,100})")
_LARGEST_SUMS = 1 << 20  # bytes: a line for each of a dozen files is a thousandth of it


@final
@unique
class SignatureState(Enum):
    """What became of a signature."""

    SIGNED = "signed"
    UNSIGNED = "unsigned"
    BAD = "bad"


@final
@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """A signature, as checked. Only `trusted` says who made it.

    A signature by the key inside the bundle alone proves that nothing was altered since the holder of that key signed.
    Anyone can alter a bundle, sign it anew and put their own key in: compare the fingerprint with one that the
    publisher gave another way, or hand in their key.
    """

    state: SignatureState
    fingerprint: str | None  # of the key inside the bundle
    trusted: bool  # whether it is the key that the caller gave, and the signature holds
    message: str


def sums_file(files: Mapping[str, bytes]) -> bytes:
    """SHA256SUMS of the files.

    >>> sums_file({"README.md": b""}).splitlines()
    [b'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  README.md']
    """
    covered = sorted(name for name in files if name not in _NOT_COVERED)
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in covered).encode()


def check_sums(files: Mapping[str, bytes]) -> list[str]:
    """One line for each file that is changed, missing or extra; none if the files are those that were summed.

    It does not cover SHA256SUMS.sig, which `check_signature` checks.

    >>> files = {"README.md": b"a", "data.parquet": b"b"}
    >>> check_sums({**files, "SHA256SUMS": sums_file(files), "README.md": b"c"})
    ['README.md: changed (not the content that SHA256SUMS was made from)']
    """
    if SUMS not in files:
        return [f"{SUMS}: missing"]
    listed, problems = _parse(files[SUMS])
    covered = {name for name in files if name not in _NOT_COVERED}
    for name in sorted(covered | set(listed)):
        if name not in covered:
            problems.append(f"{name}: missing ({SUMS} lists it)")
        elif name not in listed:
            problems.append(f"{name}: extra ({SUMS} does not list it)")
        elif hashlib.sha256(files[name]).hexdigest() != listed[name]:
            problems.append(f"{name}: changed (not the content that {SUMS} was made from)")
    return problems


def check_signature(files: Mapping[str, bytes], trusted_public_key: Ed25519PublicKey | None = None) -> SignatureCheck:
    """Check SHA256SUMS.sig with the key inside the bundle, and that key against one that the caller trusts.

    It covers SHA256SUMS alone: `check_sums` ties the other files to it, so a bundle needs both.
    """
    present = [name for name in (SIGNATURE, PUBLIC_KEY) if name in files]
    if not present:
        told = "not signed, so not checked: anyone may have made or altered this bundle"
        return SignatureCheck(SignatureState.UNSIGNED, None, False, told)
    missing = [name for name in (SUMS, SIGNATURE, PUBLIC_KEY) if name not in files]
    if missing:
        return SignatureCheck(SignatureState.BAD, None, False, f"{', '.join(missing)}: missing from a signed bundle")
    try:
        key = parse_public_key(files[PUBLIC_KEY])
    except SigningError as error:
        return SignatureCheck(SignatureState.BAD, None, False, str(error))
    found = fingerprint(key)
    if files[PUBLIC_KEY] != public_pem(key):  # PEM may hold anything before and after a key
        reason = f"{PUBLIC_KEY}: holds more than a key, or is not written as a bundle's is"
        return SignatureCheck(SignatureState.BAD, found, False, reason)
    if not verify(files[SUMS], files[SIGNATURE], key):
        reason = f"{SIGNATURE}: not a signature of this {SUMS} by the key in {PUBLIC_KEY}"
        return SignatureCheck(SignatureState.BAD, found, False, reason)
    trusted = None if trusted_public_key is None else fingerprint(trusted_public_key)
    whose = "; compare it with the publisher's, for the bundle itself can't say whose key it is"
    if trusted is not None:
        other = f", which is not the key you trust ({short_fingerprint(trusted)})"
        whose = ", which you trust" if found == trusted else other
    told = f"signed by key {short_fingerprint(found)}{whose}"
    return SignatureCheck(SignatureState.SIGNED, found, found == trusted, told)


def _parse(data: bytes) -> tuple[dict[str, str], list[str]]:
    """Name to sum, and what is wrong with the file. One form only, so that no byte of it can change unseen."""
    if len(data) > _LARGEST_SUMS:
        return {}, [f"{SUMS}: too long"]
    *lines, rest = data.split(b"\n")
    matches = [_LINE.fullmatch(line) for line in lines]
    problems = [
        f"{SUMS}: line {number} is not a sum and a name" for number, match in enumerate(matches, 1) if not match
    ]
    pairs = [(match[2].decode(), match[1].decode()) for match in matches if match]
    names = [name for name, _ in pairs]
    if rest or names != sorted(set(names) - set(_NOT_COVERED)):
        problems.append(f"{SUMS}: the lines must end, be sorted, and name each file once")
    return dict(pairs), problems


# ---- The folder or zip.


NAMES = SEALS | {
    *("README.md", "datasheet.md", "report.html"),
    *("certificate.json", "fit.json", "measurements.json", "registry.yaml", "schema.json"),
    *("data.parquet", "croissant.json", "datapackage.json"),
}

# Of several tables, one file each: data.NAME.parquet. A table's name has no dot, no slash and no capital letter: its
# file lies beside the others, and no two names are one on any file system.
_OF_A_TABLE = re.compile(r"data\.[a-z][a-z0-9_]{0,39}\.parquet")


def is_name(name: str) -> bool:
    """Whether a bundle may hold a file of this name.

    >>> is_name("data.parquet"), is_name("data.persons.parquet"), is_name("data.../x.parquet"), is_name("notes.txt")
    (True, True, False, False)
    """
    return name in NAMES or _OF_A_TABLE.fullmatch(name) is not None


def rows_file(table: str) -> str:
    """The file with the rows of one of several tables."""
    return f"data.{table}.parquet"


_EPOCH = (0, 0x21)  # 1980-01-01, as a zip has it: when a bundle was made is no part of its bytes
_LOCAL = struct.Struct("<4s5H3L2H")  # what stands before the data of a file in a zip
_ENTRY = struct.Struct("<4s6H3L5H2L")  # a line of its directory
_VERSION, _UNIX = 20, 3  # of the zip format; the system that made it, whichever it was
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16
_LARGEST_ZIP = 2**31 - 1  # bytes: what every program unpacks
_MOST_DEFLATED = 64  # bytes of a file to one of the zip: bombs have a thousand. No limit up to the next
_SMALL_FILE = 1 << 24  # bytes: 16 MiB harm nobody
_PROBE = 1 << 12  # bytes that are written to see whether a disk takes any
_CHUNK = 1 << 20  # bytes that are read at a time
_END = struct.Struct("<4s4H2LH")  # the end-of-central-directory record of a zip
_LOCATOR_BYTES = 20  # of zip64, just before it
_DIRECTORY_BYTES = 1024  # of the central directory, per entry, at most
_PLAIN_FLAGS = 0x080E  # deflate's options, sizes after the data, names in UTF-8; all others encrypt or are obscure
_DOS_FOLDER = 0x10  # the attribute that marks a folder in a zip file
_NOT_A_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OverflowError, RuntimeError)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most that is read from a bundle, whatever its headers claim. Memory stays within twice `total_bytes`."""

    file_bytes: int = 1 << 29
    total_bytes: int = 1 << 30
    files: int = 64

    def __post_init__(self) -> None:
        for name in ("file_bytes", "total_bytes", "files"):
            if getattr(self, name) < 1:
                raise ParameterError(f"Limits: {name} must be at least 1, got {getattr(self, name)!r}.")


def write_bundle(
    path: str | Path, files: Mapping[str, bytes], *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
) -> Path:
    """Write a bundle: a zip if the path ends in .zip, else a folder. Its sums and, with a key, its signature are added.

    The target must not exist. With `overwrite` it may be an older bundle of the same form, which is replaced in one
    step: at any time the target is the old bundle or the new one, whole. (Where the system can't exchange two folders,
    the old one is moved aside first; a crash just then leaves it whole, under a temporary name.)

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(read_bundle(write_bundle(Path(folder) / "release.zip", {"README.md": b"Hello"})))
    ['README.md', 'SHA256SUMS']
    """
    target = Path(os.path.abspath(path))
    sealed = _seal(files, key)
    write, place = (_write_zip, _place_zip) if target.suffix.lower() == ".zip" else (_write_folder, _place_folder)
    try:
        with draft_beside(target, _remove) as draft:
            if os.path.lexists(target):
                _refuse_replacing(target, overwrite)
            write(draft, sealed)
            place(draft, target, overwrite)
    except (OSError, zipfile.LargeZipFile) as error:
        raise BundleError(f"The bundle {path} could not be written: {_reason(error)}.") from error
    _confirm(target, path)
    return Path(path)


def _confirm(target: Path, path: str | Path) -> None:
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise BundleError(
            f"The bundle {path} is in place and whole, but the disk did not confirm it: {_reason(error)}. "
            "A power cut now may lose it. Copy it to another disk."
        ) from error


def check_target(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` where `write_bundle` would refuse: to be asked before any budget is spent."""
    target = Path(os.path.abspath(path))
    if os.path.lexists(target):
        _refuse_replacing(target, overwrite)
    as_this_user = os.access in os.supports_effective_ids
    if not os.access(target.parent, os.W_OK | os.X_OK, effective_ids=as_this_user):
        raise BundleError(f"The bundle {path} could not be written: its folder is missing or read-only. Make it first.")


def try_target(path: str | Path, size: int) -> None:
    """Raise unless a draft can be written and synced beside the target, and the disk has room for `size` bytes."""
    target = Path(os.path.abspath(path))
    try:
        free = shutil.disk_usage(target.parent).free
        with draft_beside(target, _remove) as draft, open(draft, "xb") as file:
            file.write(bytes(_PROBE))
            _sync(file)
    except OSError as error:
        raise BundleError(f"The bundle {path} could not be written: {_reason(error)}. Nothing was spent.") from error
    if free < size:
        raise ResourceError(
            f"The bundle {path} may need {size / 2**20:.1f} MiB, and its disk has {free / 2**20:.1f} MiB left. Make "
            "room, or choose another disk. Nothing was spent."
        )


def read_bundle(path: str | Path, *, limits: Limits | None = None) -> dict[str, bytes]:
    """The files of a bundle, or a `BundleError`. Nothing is written, no link is followed, memory is bounded.

    Whether the files are the published ones is for `check_sums` and `check_signature` to say.
    """
    source, bounds = Path(path), limits or Limits()
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            return _read_folder(source, bounds)
        if stat.S_ISREG(mode):
            with open(source, "rb") as file:
                return _read_zip(file, bounds)
    except FileNotFoundError as error:
        missing = f"There is no bundle {source}. Check its name, and the folder you are in."
        raise BundleError(web_refusal(path) or missing) from error
    except (OSError, *_NOT_A_ZIP) as error:
        raise BundleError(web_refusal(path) or f"The bundle {source} can't be read: {_reason(error)}.") from error
    raise BundleError(f"{source} is neither a folder nor a file: not a bundle.")


def _seal(files: Mapping[str, bytes], key: Ed25519PrivateKey | None) -> dict[str, bytes]:
    """The files with their sums and signature. The public key is summed, so the signature covers it too."""
    if key is not None and not isinstance(key, Ed25519PrivateKey):
        raise ParameterError(
            f"key must be a private key, got {type(key).__name__}. Read it from its file with "
            "kernelease.bundle.signing.load_private_key."
        )
    for name in files:
        if not is_name(name) or name in SEALS:
            raise ParameterError(f"write_bundle: a bundle has no file named {name!r}.")
    sealed = dict(files) if key is None else {**files, PUBLIC_KEY: public_pem(key.public_key())}
    sealed[SUMS] = sums_file(sealed)
    if key is not None:
        sealed[SIGNATURE] = sign(sealed[SUMS], key)
    return dict(sorted(sealed.items()))


def _write_folder(draft: Path, files: Mapping[str, bytes]) -> None:
    os.mkdir(draft)
    for name, data in files.items():
        with open(draft / name, "xb") as file:
            file.write(data)
            _sync(file)
    sync_folder(draft)


def _write_zip(draft: Path, files: Mapping[str, bytes]) -> None:
    with open(draft, "xb") as file:
        file.writelines(_zip_parts(files))
        _sync(file)


def _zip_parts(files: Mapping[str, bytes]) -> Iterator[bytes]:
    """The zip of some files, piece by piece: the one form that `check_form` takes, in which nothing is left to choose.

    Stored, not deflated: compressors give other bytes from build to build. Files are sorted by name; times, rights and
    the system are fixed, and there is no comment, no extra field and no gap.
    """
    offset, directory = 0, []
    for name, data in sorted(files.items()):
        if offset + len(data) > _LARGEST_ZIP:
            raise zipfile.LargeZipFile(f"more than {_LARGEST_ZIP:,} bytes fit no zip: write a folder")
        sizes = zlib.crc32(data), len(data), len(data), len(name), 0
        local = _LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, *_EPOCH, *sizes) + name.encode()
        system = _UNIX << 8 | _VERSION
        entry = _ENTRY.pack(b"PK\1\2", system, _VERSION, 0, 0, *_EPOCH, *sizes, 0, 0, 0, _PLAIN_FILE, offset)
        directory.append(entry + name.encode())
        offset += len(local) + len(data)
        yield from (local, data)
    size = sum(map(len, directory))
    yield from directory
    yield _END.pack(b"PK\5\6", 0, 0, len(directory), len(directory), size, offset, 0)


def check_form(path: str | Path, files: Mapping[str, bytes]) -> str | None:
    """What is odd about a bundle as it lies on disk, beside the files in it; None if nothing is.

    A folder has nothing beside its files. A zip has dates, rights, comments and gaps: it must be the one that
    `write_bundle` writes of these files, to the byte.
    """
    if os.path.isdir(path):
        return None
    with open(path, "rb") as file:
        same = all(file.read(len(part)) == part for part in _zip_parts(files)) and not file.read(1)
    return None if same else "the zip is not the one that its files give: it was packed anew, or holds something beside"


def _place_zip(draft: Path, target: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)  # unlike a rename, it fails if someone else took the name meanwhile
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system
        os.rename(draft, target)


def _place_folder(draft: Path, target: Path, overwrite: bool) -> None:
    if not (overwrite and os.path.lexists(target)):
        os.rename(draft, target)  # fails if someone else put a bundle there meanwhile
        return
    if exchange(draft, target):  # the old bundle is now the draft, which is removed
        return
    aside = name_beside(target)
    try:
        os.rename(target, aside)
        os.rename(draft, target)
    except BaseException:
        if not os.path.lexists(target):
            os.rename(aside, target)
        raise
    _remove(aside)


def _refuse_replacing(target: Path, overwrite: bool) -> None:
    """Only a bundle may be overwritten, by one of the same form: never a folder that holds anything else."""
    if not overwrite:
        raise BundleError(
            f"{target} already exists. Choose another name, or give --overwrite (overwrite=True in Python)."
        )
    mode = os.lstat(target).st_mode
    if target.suffix.lower() == ".zip":
        if not stat.S_ISREG(mode):
            raise BundleError(f"{target} is not a file: it is not overwritten by a zip.")
    elif not stat.S_ISDIR(mode) or not all(map(is_name, os.listdir(target))):
        raise BundleError(f"{target} is not a bundle, or holds other files too: it is not overwritten.")


def _remove(draft: Path) -> None:
    """Remove a temporary file or folder of bundle files, if it is there. What can't be removed is invisible litter."""
    try:
        _clear(draft)
    except KeyboardInterrupt:  # which came within the removal, and is obeyed after it
        _clear(draft)
        raise


def _clear(draft: Path) -> None:
    with suppress(OSError):
        if draft.is_dir():
            for name in filter(is_name, os.listdir(draft)):
                (draft / name).unlink(missing_ok=True)
            draft.rmdir()
        else:
            draft.unlink()


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _read_folder(source: Path, limits: Limits) -> dict[str, bytes]:
    names: list[str] = []
    with os.scandir(source) as entries:
        for entry in entries:
            _check_name(entry.name)
            names.append(entry.name)
            _check_count(len(names), limits)
    files: dict[str, bytes] = {}
    for name in sorted(names):
        with open(source / name, "rb", opener=_plain) as stream:
            files[name] = _take(stream, name, limits, files)
    return files


def _plain(path: str, flags: int) -> int:
    """An opener for regular files: no link, folder, pipe or device, whatever takes the file's place meanwhile."""
    if stat.S_ISREG(os.lstat(path).st_mode):
        handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
    raise BundleError(
        f"{os.path.basename(path)} in the bundle must be a plain file, not a link, folder, pipe or device."
    )


def _read_zip(file: IO[bytes], limits: Limits) -> dict[str, bytes]:
    _check_end(file, limits)
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        _check_count(len(entries), limits)
        for entry in entries:
            _check_entry(entry)
            if entry.filename in files:
                raise BundleError(f"The zip holds {entry.filename} twice.")
            most = max(_SMALL_FILE, _MOST_DEFLATED * entry.compress_size)
            if entry.file_size > min(most, limits.file_bytes):  # an honest header saves the work; _take needs none
                raise BundleError(_too_large(entry.filename, limits, most))
            with archive.open(entry) as stream:
                files[entry.filename] = _take(stream, entry.filename, limits, files, most=most)
    return files


def _check_end(file: IO[bytes], limits: Limits) -> None:
    """Refuse a zip by its last bytes, before its directory is read: too many entries, zip64, bytes around it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _LOCATOR_BYTES))
    tail = file.read()
    if len(tail) < _END.size:
        raise BundleError("The file is neither a folder nor a zip: not a bundle. Give what `kernelease release` wrote.")
    signature, *disks, entries, directory, offset, comment = _END.unpack(tail[-_END.size :])
    if signature != b"PK\5\6" or comment != 0:
        raise BundleError(
            "The file is not a zip, is cut off, or has something after its end: not a bundle. Give what `kernelease "
            "release` wrote."
        )
    _check_count(entries, limits)
    whole = disks == [0, 0, entries] and offset + directory == size - _END.size
    if not whole or directory > entries * _DIRECTORY_BYTES or tail.startswith(b"PK\6\7"):
        raise BundleError("The zip is of a form that no bundle has (zip64, in parts, or with something before it).")


def _check_entry(entry: zipfile.ZipInfo) -> None:
    _check_name(entry.orig_filename)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.filename != entry.orig_filename or kind not in (0, stat.S_IFREG) or entry.external_attr & _DOS_FOLDER:
        raise BundleError(f"{entry.orig_filename} in the bundle must be a plain file, not a link, folder or device.")
    if entry.flag_bits & ~_PLAIN_FLAGS or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleError(f"{entry.orig_filename} in the zip is encrypted, or packed other than by deflate.")


def _check_name(name: str) -> None:
    """A closed list and form leave no room for paths, '..', drive letters or names that differ by case only."""
    if not is_name(name):
        raise BundleError(
            f"A bundle has no file named {name[:100]!a}: this is none, or something was put into it. Give what "
            "`kernelease release` wrote."
        )


def _check_count(count: int, limits: Limits) -> None:
    if count > limits.files:
        raise BundleError(f"The bundle holds more than {limits.files} files.")


def _take(
    stream: IO[bytes], name: str, limits: Limits, before: Mapping[str, bytes], *, most: int | None = None
) -> bytes:
    """All of a stream, counted as it comes: a header that understates its size gains nothing.

    `most` bytes are expected of what is packed in so few: a bomb is refused before it has gone off.
    """
    allowed = min(limits.file_bytes, limits.total_bytes - sum(map(len, before.values())))
    allowed = allowed if most is None else min(allowed, most)
    chunks: list[bytes] = []
    size = 0
    while chunk := stream.read(min(_CHUNK, allowed + 1 - size)):
        size += len(chunk)
        if size > allowed:
            raise BundleError(_too_large(name, limits, most))
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(name: str, limits: Limits, most: int | None) -> str:
    if most is not None and most < limits.file_bytes:
        return f"{name} in the bundle is too large: of so few packed bytes, at most {most} are unpacked."
    return (
        f"{name} in the bundle is too large: at most {limits.file_bytes} bytes are read per file and "
        f"{limits.total_bytes} in all. If you trust it, raise the limits."
    )


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__
