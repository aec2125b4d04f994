"""A changed byte anywhere in a bundle is named."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, strategies as st

from kernelease.bundle.container import (
    NAMES,
    SignatureState,
    check_signature,
    check_sums,
    read_bundle,
    sums_file,
    write_bundle,
)
from kernelease.bundle.signing import fingerprint, public_pem, sign
from tests.bundle.bundles import FILES

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "release", FILES, key=KEY))


@pytest.fixture(scope="module")
def unsigned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("bundle") / "release", FILES))


def flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def problems(files: dict[str, bytes]) -> list[str]:
    signature = check_signature(files)
    return check_sums(files) + ([signature.message] if signature.state is SignatureState.BAD else [])


def test_a_whole_bundle_has_no_problems(signed: dict[str, bytes], unsigned: dict[str, bytes]) -> None:
    assert set(signed) == NAMES
    assert problems(signed) == problems(unsigned) == []


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_changed_byte_is_named(signed: dict[str, bytes], name: str) -> None:
    last = len(signed[name]) - 1
    for position in {0, 1, last // 3, last // 2, last - 1, last}:
        for bit in range(8):
            found = problems({**signed, name: flipped(signed[name], position, bit)})
            assert any(name in problem for problem in found), (position, bit, found)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_shorter_or_longer_or_missing_file_is_named(signed: dict[str, bytes], name: str) -> None:
    for content in (b"", signed[name][:-1], signed[name] + b"\n"):
        assert any(name in problem for problem in problems({**signed, name: content}))
    without = {key: value for key, value in signed.items() if key != name}
    assert any(name in problem for problem in problems(without))


def test_no_byte_of_the_sums_changes_unseen(unsigned: dict[str, bytes]) -> None:
    sums = unsigned["SHA256SUMS"]
    for position in range(len(sums)):
        for bit in range(8):
            assert check_sums({**unsigned, "SHA256SUMS": flipped(sums, position, bit)})


def test_each_kind_of_problem_has_its_words(unsigned: dict[str, bytes]) -> None:
    changed = {**unsigned, "data.parquet": b"", "public_key.pem": b""}
    del changed["schema.json"]
    assert check_sums(changed) == [
        "data.parquet: changed (not the content that SHA256SUMS was made from)",
        "public_key.pem: extra (SHA256SUMS does not list it)",
        "schema.json: missing (SHA256SUMS lists it)",
    ]
    assert check_sums({}) == ["SHA256SUMS: missing"]


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[::-1],  # not sorted
        lambda lines: [lines[0], *lines],  # twice
        lambda lines: [line.upper() for line in lines],
        lambda lines: [line.replace("  ", " *") for line in lines],
        lambda lines: [*lines, "0" * 64 + "  SHA256SUMS"],
        lambda lines: [*lines, "0" * 64 + "  SHA256SUMS.sig"],
        lambda lines: [*lines, "0" * 64 + "  ../etc"],
        lambda lines: [*lines, ""],
        lambda lines: [f"{line}\r" for line in lines],
    ],
)
def test_sums_of_another_form_are_a_problem(unsigned: dict[str, bytes], change) -> None:
    lines = unsigned["SHA256SUMS"].decode().splitlines()
    text = "".join(f"{line}\n" for line in change(lines))
    assert any(problem.startswith("SHA256SUMS: ") for problem in check_sums({**unsigned, "SHA256SUMS": text.encode()}))


def test_enormous_sums_are_not_parsed() -> None:
    assert check_sums({"SHA256SUMS": b"\n" * (1 << 22)}) == ["SHA256SUMS: too long"]


@given(st.binary(max_size=300), st.binary(max_size=100), st.binary(max_size=200))
def test_garbage_is_a_problem_and_no_exception(sums: bytes, signature: bytes, key: bytes) -> None:
    files = {"README.md": b"a", "SHA256SUMS": sums, "SHA256SUMS.sig": signature, "public_key.pem": key}
    assert check_sums(files)
    assert check_signature(files).state is SignatureState.BAD


# ----------------------------------------------------------------------------------------------------------- signatures


def test_signed_by_a_key_that_nobody_vouched_for(signed: dict[str, bytes]) -> None:
    check = check_signature(signed)
    assert (check.state, check.trusted) == (SignatureState.SIGNED, False)
    assert check.fingerprint == fingerprint(KEY.public_key())
    assert "compare it with the publisher's" in check.message


def test_signed_by_the_key_that_the_caller_trusts(signed: dict[str, bytes]) -> None:
    check = check_signature(signed, KEY.public_key())
    assert (check.state, check.trusted) == (SignatureState.SIGNED, True)
    assert "which you trust" in check.message


def test_signed_anew_by_someone_else(signed: dict[str, bytes]) -> None:
    thief = Ed25519PrivateKey.generate()
    forged = {**signed, "data.parquet": b"forged", "public_key.pem": public_pem(thief.public_key())}
    forged["SHA256SUMS"] = sums_file(forged)
    forged["SHA256SUMS.sig"] = sign(forged["SHA256SUMS"], thief)
    assert check_sums(forged) == []
    check = check_signature(forged, KEY.public_key())
    assert (check.state, check.trusted) == (SignatureState.SIGNED, False)
    assert "not the key you trust" in check.message
    kept = check_signature({**forged, "public_key.pem": signed["public_key.pem"]}, KEY.public_key())
    assert (kept.state, kept.trusted) == (SignatureState.BAD, False)


def test_unsigned(unsigned: dict[str, bytes]) -> None:
    check = check_signature(unsigned, KEY.public_key())
    assert (check.state, check.trusted, check.fingerprint) == (SignatureState.UNSIGNED, False, None)


def test_a_key_that_is_not_one(signed: dict[str, bytes]) -> None:
    check = check_signature({**signed, "public_key.pem": b"hello"})
    assert check.state is SignatureState.BAD
    assert check.message.startswith("public_key.pem is not a public key")


# -------------------------------------------------------------------------------------- without kernelease, as promised


def test_sha256sum_agrees(tmp_path: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum here")
    folder = write_bundle(tmp_path / "release", FILES, key=KEY)
    subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True, check=True)


def test_openssl_agrees(tmp_path: Path) -> None:
    command = "openssl pkeyutl -verify -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig -pubin -inkey public_key.pem"
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here")
    folder = write_bundle(tmp_path / "release", FILES, key=KEY)
    run = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True, check=False)
    if "-rawin" in run.stderr and run.returncode:
        pytest.skip("this openssl is too old for Ed25519")
    assert run.returncode == 0
    assert "Verified Successfully" in run.stdout
