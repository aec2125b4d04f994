"""Ed25519 signatures: who published a bundle.

The private key is a PEM file (PKCS8, not encrypted) that only its owner can read: whoever has it can sign in the
owner's name. The public key goes out with each bundle, and its fingerprint by another way (a web page, a letter), so
that readers can tell it from a key that someone else put there.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kernelease.errors import SigningError

PRIVATE_NAME = "signing_key.pem"
PUBLIC_NAME = "public_key.pem"
_LARGEST_PEM = 1 << 16  # bytes: no key is longer


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFiles:
    """Where a key pair lies, and its fingerprint."""

    private: Path
    public: Path
    fingerprint: str


def make_key(folder: str | Path) -> KeyFiles:
    """A new key pair in an existing folder: signing_key.pem (mode 0600) and public_key.pem. Nothing is overwritten."""
    key = Ed25519PrivateKey.generate()
    files = KeyFiles(
        private=Path(folder, PRIVATE_NAME), public=Path(folder, PUBLIC_NAME), fingerprint=fingerprint(key.public_key())
    )
    for path in (files.private, files.public):
        if os.path.lexists(path):
            raise SigningError(f"{path} already exists, and keys are never overwritten. Choose another folder.")
    _write_new(files.private, _private_pem(key), 0o600)
    try:
        _write_new(files.public, public_pem(key.public_key()), 0o644)
    except SigningError:
        files.private.unlink()
        raise
    return files


def load_private_key(path: str | Path) -> Ed25519PrivateKey:
    """The private key in a PEM file that `make_key` wrote, or another unencrypted Ed25519 key."""
    pem = _read(path)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except TypeError as error:
        raise SigningError(
            f"{path} is encrypted: give an unencrypted key (openssl pkey -in FILE -out FILE2)."
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SigningError(
            f"{path} is not a private key in PEM form. Give signing_key.pem, which `kernelease keys make` wrote."
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SigningError(f"{path} must be an Ed25519 key, got {_kind(key)}.")
    return key


def load_public_key(path: str | Path) -> Ed25519PublicKey:
    """The public key in a PEM file."""
    return parse_public_key(_read(path), str(path))


def parse_public_key(pem: bytes, source: str = PUBLIC_NAME) -> Ed25519PublicKey:
    """The public key in PEM bytes. `source` names them in errors."""
    if len(pem) > _LARGEST_PEM:
        raise SigningError(f"{source} is too long to be a key.")
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        hint = " It holds a private key: keep it to yourself." if b"PRIVATE KEY" in pem else ""
        raise SigningError(f"{source} is not a public key in PEM form.{hint}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise SigningError(f"{source} must be an Ed25519 key, got {_kind(key)}.")
    return key


def public_pem(key: Ed25519PublicKey) -> bytes:
    """The public key in PEM form (SubjectPublicKeyInfo)."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def fingerprint(key: Ed25519PublicKey) -> str:
    """SHA-256 of the 32 raw bytes of the public key, in 64 hexadecimal digits.

    >>> short_fingerprint(fingerprint(Ed25519PublicKey.from_public_bytes(bytes(32))))
    '6668-7aad-f862-bd77'
    """
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def short_fingerprint(whole: str) -> str:
    """The first 16 digits in groups of four, for people to read out. Programs compare the whole."""
    return "-".join(whole[start : start + 4] for start in range(0, 16, 4))


def sign(data: bytes, key: Ed25519PrivateKey) -> bytes:
    """The 64 bytes of the signature. Deterministic: the same data and key give the same bytes."""
    return key.sign(data)


def verify(data: bytes, signature: bytes, public_key: Ed25519PublicKey) -> bool:
    """Whether the holder of the private key signed exactly this data.

    >>> key = Ed25519PrivateKey.generate()
    >>> [verify(data, sign(b"sums", key), key.public_key()) for data in (b"sums", b"sum")]
    [True, False]
    """
    try:
        public_key.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _private_pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _kind(key: object) -> str:
    return type(key).__name__.removesuffix("PrivateKey").removesuffix("PublicKey").strip("_") or "another kind"


def _read(path: str | Path) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST_PEM + 1)
    except FileNotFoundError as error:
        raise SigningError(f"There is no key {path}. Check its name; `kernelease keys make` makes a pair.") from error
    except OSError as error:
        raise SigningError(f"The key {path} can't be read: {error.strerror}.") from error
    if len(data) > _LARGEST_PEM:
        raise SigningError(f"{path} is too long to be a key.")
    return data


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Write and sync a file that must not exist yet. The mode holds from the first byte on."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise SigningError(f"The key {path} can't be written: {error.strerror}.") from error
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        raise SigningError(f"The key {path} can't be written: {error.strerror}.") from error
