"""Whether the files of a bundle are the ones that were written: SHA-256 sums, and a signature over them.

SHA256SUMS has one line per file, sorted by name, as the program sha256sum writes them; it covers every file but itself
and its signature. SHA256SUMS.sig is the Ed25519 signature of its bytes. Both can be checked without kernelease:

    sha256sum -c SHA256SUMS
    openssl pkeyutl -verify -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig -pubin -inkey public_key.pem
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from typing import final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from kernelease.errors import SigningError
from kernelease.release.signing import fingerprint, parse_public_key, public_pem, short_fingerprint, verify

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
@dataclass(frozen=True, slots=True, kw_only=True)
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
        return _result(
            SignatureState.UNSIGNED,
            None,
            False,
            "not signed, so not checked: anyone may have made or altered this bundle",
        )
    missing = [name for name in (SUMS, SIGNATURE, PUBLIC_KEY) if name not in files]
    if missing:
        return _result(SignatureState.BAD, None, False, f"{', '.join(missing)}: missing from a signed bundle")
    try:
        key = parse_public_key(files[PUBLIC_KEY])
    except SigningError as error:
        return _result(SignatureState.BAD, None, False, str(error))
    if files[PUBLIC_KEY] != public_pem(key):  # PEM may hold anything before and after a key
        reason = f"{PUBLIC_KEY}: holds more than a key, or is not written as a bundle's is"
        return _result(SignatureState.BAD, fingerprint(key), False, reason)
    if not verify(files[SUMS], files[SIGNATURE], key):
        reason = f"{SIGNATURE}: not a signature of this {SUMS} by the key in {PUBLIC_KEY}"
        return _result(SignatureState.BAD, fingerprint(key), False, reason)
    return _judge(fingerprint(key), None if trusted_public_key is None else fingerprint(trusted_public_key))


def _judge(found: str, trusted: str | None) -> SignatureCheck:
    """A valid signature by the key `found`: by whom?"""
    name = short_fingerprint(found)
    if trusted is None:
        message = (
            f"signed by key {name}; compare it with the publisher's, for the bundle itself can't say whose key it is"
        )
    elif found == trusted:
        message = f"signed by key {name}, which you trust"
    else:
        message = f"signed by key {name}, which is not the key you trust ({short_fingerprint(trusted)})"
    return _result(SignatureState.SIGNED, found, found == trusted, message)


def _result(state: SignatureState, key: str | None, trusted: bool, message: str) -> SignatureCheck:
    return SignatureCheck(state=state, fingerprint=key, trusted=trusted, message=message)


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
