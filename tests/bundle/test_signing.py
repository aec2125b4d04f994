"""Keys and signatures."""

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from kernelease.bundle.signing import (
    fingerprint,
    load_private_key,
    load_public_key,
    make_key,
    parse_public_key,
    public_pem,
    short_fingerprint,
    sign,
    verify,
)
from kernelease.errors import SigningError

PEM = serialization.Encoding.PEM
PKCS8 = serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()
# RFC 8032, section 7.1, test 2
SECRET = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNED = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_the_standards_example() -> None:
    key = Ed25519PrivateKey.from_private_bytes(SECRET)
    assert sign(b"\x72", key) == SIGNED
    assert verify(b"\x72", SIGNED, Ed25519PublicKey.from_public_bytes(PUBLIC))


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_pair_is_made_and_loaded(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        files = make_key(str(tmp_path))
    finally:
        os.umask(before)
    assert sorted(os.listdir(tmp_path)) == ["public_key.pem", "signing_key.pem"]
    assert stat.S_IMODE(files.private.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.public.stat().st_mode) == 0o644 & ~umask
    private, public = load_private_key(files.private), load_public_key(files.public)
    assert fingerprint(public) == fingerprint(private.public_key()) == files.fingerprint
    assert len(files.fingerprint) == 64
    assert verify(b"data", sign(b"data", private), public)
    assert b"PRIVATE" not in files.public.read_bytes()


@pytest.mark.parametrize("name", ["signing_key.pem", "public_key.pem"])
def test_keys_are_never_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("nowhere")
    with pytest.raises(SigningError, match="already exists"):
        make_key(tmp_path)
    assert os.listdir(tmp_path) == [name]


def test_a_failure_leaves_no_half_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def full(_: int) -> None:
        calls.append(1)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for failing in (1, 2):  # noqa: B007  # the closure above reads it
        calls.clear()
        with pytest.raises(SigningError, match="can't be written: No space left"):
            make_key(tmp_path)
        assert os.listdir(tmp_path) == []
    with pytest.raises(SigningError, match="can't be written: No such file"):
        make_key(tmp_path / "nowhere")


def test_other_data_keys_and_signatures_do_not_verify() -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    good = sign(b"data", key)
    assert good == sign(b"data", key)
    assert not verify(b"datA", good, key.public_key())
    assert not verify(b"data", good, other.public_key())
    for bad in (b"", good[:-1], good + b"\0", bytes(64), bytes([good[0] ^ 1]) + good[1:]):
        assert not verify(b"data", bad, key.public_key())


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (rsa.generate_private_key(65537, 2048), "RSA"),
        (ec.generate_private_key(ec.SECP256R1()), "EC"),
        (x25519.X25519PrivateKey.generate(), "X25519"),
    ],
)
def test_keys_of_another_kind_are_refused(tmp_path: Path, key: rsa.RSAPrivateKey, kind: str) -> None:
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    private.write_bytes(key.private_bytes(PEM, PKCS8, PLAIN))
    public.write_bytes(key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(SigningError, match=rf"private\.pem must be an Ed25519 key, got .*{kind}"):
        load_private_key(private)
    with pytest.raises(SigningError, match=rf"public\.pem must be an Ed25519 key, got .*{kind}"):
        load_public_key(public)


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    secret = serialization.BestAvailableEncryption(b"secret")
    path.write_bytes(Ed25519PrivateKey.generate().private_bytes(PEM, PKCS8, secret))
    with pytest.raises(SigningError, match="is encrypted"):
        load_private_key(path)


def test_one_half_in_place_of_the_other(tmp_path: Path) -> None:
    files = make_key(tmp_path)
    with pytest.raises(SigningError, match="is not a private key"):
        load_private_key(files.public)
    with pytest.raises(SigningError, match=r"is not a public key in PEM form\. It holds a private key"):
        load_public_key(files.private)


@pytest.mark.parametrize(
    "content", [b"", b"-----BEGIN PUBLIC KEY-----\n", b"hello", bytes(range(256)), b"x" * (1 << 17), PUBLIC]
)
def test_what_is_not_a_key(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    for load in (load_private_key, load_public_key):
        with pytest.raises(SigningError, match=r"is not a (private|public) key|too long to be a key"):
            load(path)


def test_a_key_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SigningError, match=r"There is no key .*nowhere\. Check its name"):
        load_private_key(tmp_path / "nowhere")
    with pytest.raises(SigningError, match=r"can't be read: .*directory"):
        load_private_key(tmp_path)


def test_the_public_key_in_pem_form() -> None:
    key = Ed25519PublicKey.from_public_bytes(PUBLIC)
    assert fingerprint(parse_public_key(public_pem(key))) == fingerprint(key)
    with pytest.raises(SigningError, match=r"^public_key\.pem is not a public key"):
        parse_public_key(b"")


def test_a_short_fingerprint_is_for_people() -> None:
    assert short_fingerprint("0123456789abcdef" * 4) == "0123-4567-89ab-cdef"
