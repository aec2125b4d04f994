"""Bundles made by an adversary: read within bounds, or refused, and never by an exception of another kind."""

import os
import resource
import socket
import stat
import struct
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings, strategies as st

from kernelease.bundle import container
from kernelease.bundle.container import (
    NAMES,
    Limits,
    SignatureState,
    check_signature,
    check_sums,
    read_bundle,
    write_bundle,
)
from kernelease.errors import BundleError
from tests.bundle.bundles import FILES, Member, raw_zip, zeros

pytestmark = pytest.mark.slow

SMALL = Limits(file_bytes=1 << 20, total_bytes=3 << 20, files=20)
EVIL = [
    b"../evil",
    b"../../etc/passwd",
    b"/etc/passwd",
    b"C:\\evil",
    b"..\\evil",
    b"./data.parquet",
    b"a/data.parquet",
    b"data.parquet/",
    b"data.parquet\0.exe",
    b"DATA.PARQUET",
    b"data.parquet ",
    b"data.pickle",
    b"",
    b"\xff\xfe",
    b"\x1b[2J",
    b"x" * 900,
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bundle.zip"


def refused(path: Path, content: bytes, match: str, limits: Limits = SMALL) -> None:
    path.write_bytes(content)
    with pytest.raises(BundleError, match=match):
        read_bundle(path, limits=limits)
    assert os.listdir(path.parent) == [path.name]


def test_the_hand_made_zip_is_sound(path: Path) -> None:
    path.write_bytes(raw_zip(Member(name=b"README.md"), Member(name=b"data.parquet", method=8, flags=0x800)))
    assert read_bundle(path) == {"README.md": b"hello", "data.parquet": b"hello"}


# ---------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("name", EVIL)
def test_names_outside_the_list_are_refused(path: Path, name: bytes) -> None:
    refused(path, raw_zip(Member(name=b"README.md"), Member(name=name)), "has no file named")


def test_a_hostile_name_does_not_reach_the_terminal(path: Path) -> None:
    path.write_bytes(raw_zip(Member(name=b"\x1b[2J" + b"A" * 900)))
    with pytest.raises(BundleError) as caught:
        read_bundle(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


def test_a_name_that_comes_twice_is_refused(path: Path) -> None:
    refused(path, raw_zip(Member(name=b"README.md"), Member(name=b"README.md", data=b"other")), "holds README.md twice")


def test_a_local_header_of_another_name_is_refused(path: Path) -> None:
    whole = raw_zip(Member(name=b"README.md"))
    refused(path, whole.replace(b"README.md", b"../../x.y", 1), "can't be read: .*differ")


# ---------------------------------------------------------------------------------------------------------------- kinds


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_folders_and_devices_in_a_zip_are_refused(path: Path, kind: int) -> None:
    refused(
        path, raw_zip(Member(name=b"README.md", data=b"/etc/passwd", attributes=(kind | 0o777) << 16)), "a plain file"
    )


def test_a_folder_by_its_dos_attribute_is_refused(path: Path) -> None:
    refused(path, raw_zip(Member(name=b"README.md", attributes=0x10)), "a plain file")


@pytest.mark.parametrize(
    ("method", "flags"), [(0, 0x1), (8, 0x1), (0, 0x41), (0, 0x20), (0, 0x2000), (12, 0), (14, 0), (99, 0)]
)
def test_encryption_and_odd_packings_are_refused(path: Path, method: int, flags: int) -> None:
    refused(path, raw_zip(Member(name=b"README.md", method=method, flags=flags)), "encrypted, or packed other than")


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = write_bundle(tmp_path / "bundle", FILES)
    for target in ("../secret", str(tmp_path / "secret"), "nowhere", "README.md", "."):
        (folder / "report.html").unlink()
        (folder / "report.html").symlink_to(target)
        with pytest.raises(BundleError, match=r"report\.html in the bundle must be a plain file"):
            read_bundle(folder)


def test_only_plain_files_in_a_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    folder.mkdir()
    victim = folder / "README.md"
    victim.mkdir()
    with pytest.raises(BundleError, match="must be a plain file"):
        read_bundle(folder)
    victim.rmdir()
    os.mkfifo(victim)  # opened without care, a pipe would block for ever
    with pytest.raises(BundleError, match="must be a plain file"):
        read_bundle(folder)
    victim.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(victim))
        with pytest.raises(BundleError, match="must be a plain file"):
            read_bundle(folder)


def test_a_file_swapped_for_a_link_or_a_pipe_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_bundle(tmp_path / "bundle", {})
    plain = os.lstat(folder / "SHA256SUMS")
    monkeypatch.setattr(os, "lstat", lambda _: plain)
    (folder / "README.md").symlink_to("SHA256SUMS")
    with pytest.raises(BundleError, match="can't be read"):
        read_bundle(folder)
    (folder / "README.md").unlink()
    os.mkfifo(folder / "README.md")
    with pytest.raises(BundleError, match="must be a plain file"):
        read_bundle(folder)


@pytest.mark.parametrize("name", [".DS_Store", "data.csv", "Data.parquet", "\udcff", "evil\n"])
def test_an_unknown_file_in_a_folder_is_refused_by_name(tmp_path: Path, name: str) -> None:
    folder = write_bundle(tmp_path / "bundle", FILES)
    (folder / name).write_text("x")
    with pytest.raises(BundleError) as caught:
        read_bundle(folder)
    assert ascii(name) in str(caught.value)


def test_what_is_no_bundle_at_all(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "nowhere", "There is no bundle"), (Path("a\0b"), "can't be read")):
        with pytest.raises(BundleError, match=words):
            read_bundle(path)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BundleError, match="neither a folder nor a file"):
            read_bundle(path)


# ---------------------------------------------------------------------------------------------------------------- sizes


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all pieces that are unpacked of a zip."""
    sizes: list[int] = []
    read = zipfile.ZipExtFile.read

    def counted(stream: zipfile.ZipExtFile, size: int | None = -1) -> bytes:
        piece = read(stream, size)
        sizes.append(len(piece))
        return piece

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    return sizes


def test_a_bomb_that_says_what_it_is_is_refused_before_it_is_unpacked(path: Path, unpacked: list[int]) -> None:
    packed = zeros(4000)
    bomb = raw_zip(Member(name=b"data.parquet", method=8, packed=packed, claimed=4000 << 20, crc=0))
    assert 1_000_000 < len(bomb) < 10_000_000
    refused(path, bomb, r"data\.parquet in the bundle is too large", Limits())
    assert unpacked == []


@pytest.mark.parametrize("claimed", [0, 5, 1 << 19, 1 << 20])
def test_a_bomb_that_lies_gains_nothing(path: Path, claimed: int, unpacked: list[int]) -> None:
    path.write_bytes(raw_zip(Member(name=b"data.parquet", method=8, packed=zeros(4000), claimed=claimed, crc=1)))
    assert _peak_of_refusing(path) < 8 * SMALL.file_bytes
    assert sum(unpacked) <= SMALL.file_bytes + 1


def test_many_bombs_share_one_limit(path: Path) -> None:
    packed = zeros(1)
    members = [Member(name=name.encode(), method=8, packed=packed, data=bytes(1 << 20)) for name in sorted(NAMES)]
    path.write_bytes(raw_zip(*members))
    assert _peak_of_refusing(path) < 4 * SMALL.total_bytes
    assert len(read_bundle(path, limits=Limits(file_bytes=1 << 20, total_bytes=len(NAMES) << 20))) == len(NAMES)


def _peak_of_refusing(path: Path) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(BundleError):
            read_bundle(path, limits=SMALL)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_members_that_overlap_are_bounded_too(path: Path) -> None:
    """The better zip bomb: many names for the same packed bytes."""
    packed = zeros(1)
    one = Member(name=b"data.parquet", method=8, packed=packed, data=bytes(1 << 20))
    directory = b"".join(
        b"PK\1\2" + struct.pack("<H", 20) + one.fields() + struct.pack("<3H2L", 0, 0, 0, 0, 0) + one.name
        for _ in range(19)
    )
    body = b"PK\3\4" + one.fields() + one.name + packed
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 19, 19, len(directory), len(body), 0)
    refused(path, body + directory + end, "twice|can't be read")


@pytest.mark.parametrize("form", ["bundle", "bundle.zip"])
def test_limits_hold_to_the_byte(tmp_path: Path, form: str) -> None:
    path = write_bundle(tmp_path / form, {"data.parquet": bytes(1000), "report.html": bytes(1000)})
    total = 2000 + len(read_bundle(path)["SHA256SUMS"])
    read_bundle(path, limits=Limits(file_bytes=1000, total_bytes=total, files=3))
    for limits, match in (
        (Limits(file_bytes=999), r"data\.parquet in the bundle is too large"),
        (Limits(total_bytes=total - 1), "too large"),
        (Limits(files=2), "more than 2 files"),
    ):
        with pytest.raises(BundleError, match=match):
            read_bundle(path, limits=limits)


def test_a_sparse_file_is_not_read_whole(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "bundle", {})
    with open(folder / "data.parquet", "wb") as file:
        file.truncate(1 << 40)
    assert _peak_of_refusing(folder) < 8 * SMALL.file_bytes


def test_a_huge_number_of_entries_is_refused_before_they_are_read(path: Path) -> None:
    many = raw_zip(*[Member(name=b"README.md", data=b"")] * 20_000)
    refused(path, many, "more than 20 files")
    few = bytearray(many)
    few[-14:-10] = struct.pack("<2H", 5, 5)  # the header says five; the directory says otherwise
    refused(path, bytes(few), "of a form that no bundle has")


def test_a_crowded_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "NAMES", frozenset(str(number) for number in range(50)))
    for number in range(50):
        (tmp_path / str(number)).touch()
    with pytest.raises(BundleError, match="more than 20 files"):
        read_bundle(tmp_path, limits=SMALL)


# ----------------------------------------------------------------------------------------------------------- odd forms


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\5\6", b"hello", bytes(1000), b"PAR1" * 100])
def test_what_is_not_a_zip(path: Path, content: bytes) -> None:
    refused(path, content, "not a bundle")


def test_a_zip_cut_off_anywhere(path: Path) -> None:
    whole = write_bundle(path, FILES).read_bytes()
    for length in {*range(0, len(whole), 7), *range(len(whole) - 70, len(whole))}:
        refused(path, whole[:length], "not a bundle")


def test_nothing_may_stand_before_or_after_the_zip(path: Path) -> None:
    whole = write_bundle(path, FILES).read_bytes()
    refused(path, b"#!/bin/sh\n" + whole, "of a form that no bundle has")
    refused(path, whole + b"\0", "something after its end")
    refused(path, whole[:-2] + b"\5\0hello", "something after its end")


def test_zip64_and_several_disks_are_refused(path: Path) -> None:
    whole = write_bundle(path, FILES).read_bytes()
    locator = b"PK\6\7" + struct.pack("<LQL", 0, 0, 1)
    refused(path, whole[:-22] + locator + whole[-22:], "of a form that no bundle has")
    refused(path, whole[:-18] + b"\1" + whole[-17:], "of a form that no bundle has")


def test_no_byte_of_a_zip_changes_the_files_unseen(path: Path) -> None:
    """A byte of the packaging (a date, a permission) may change; the files then read the same, or not at all."""
    whole = write_bundle(path, {"README.md": b"abc"}, key=Ed25519PrivateKey.generate()).read_bytes()
    files = read_bundle(path)
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        try:
            found = read_bundle(path, limits=SMALL)
        except BundleError:
            continue
        assert found == files or check_sums(found) or check_signature(found).state is SignatureState.BAD


# ---------------------------------------------------------------------------------------------------------------- fuzz


def read_or_refuse(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle.zip"
        path.write_bytes(content)
        try:
            files = read_bundle(path, limits=SMALL)
        except BundleError:
            return
        assert set(files) <= NAMES
        assert all(len(data) <= SMALL.file_bytes for data in files.values())
        check_sums(files)
        check_signature(files)


@given(st.binary(max_size=2000))
@settings(max_examples=100, deadline=None)
def test_garbage(content: bytes) -> None:
    read_or_refuse(content)


MEMBERS = st.builds(
    Member,
    name=st.sampled_from([*(name.encode() for name in sorted(NAMES)), *EVIL]),
    data=st.binary(max_size=50),
    method=st.sampled_from([0, 8, 8, 12, 14]),
    flags=st.sampled_from([0, 0, 0, 8, 0x800, 1]),
    attributes=st.sampled_from([0, 0, (stat.S_IFREG | 0o644) << 16, (stat.S_IFLNK | 0o777) << 16]),
    packed=st.none() | st.binary(max_size=50),
    claimed=st.none() | st.integers(0, 2**32 - 1),
    crc=st.none() | st.integers(0, 2**32 - 1),
    version=st.sampled_from([20, 20, 20, 45, 63, 65535]),
    extra=st.just(b"") | st.binary(max_size=30) | st.just(struct.pack("<2H3Q", 1, 24, 2**63, 2**63, 2**63)),
)


@given(st.lists(MEMBERS, max_size=5))
@settings(max_examples=200, deadline=None)
def test_zips_made_by_hand(members: list[Member]) -> None:
    read_or_refuse(raw_zip(*members))


@given(
    st.lists(MEMBERS, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8),
    st.integers(0, 3),
)
@settings(max_examples=200, deadline=None)
def test_zips_with_changed_bytes(members: list[Member], changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(raw_zip(Member(name=b"README.md"), *members))
    for position, value in changes:
        content[position % len(content)] = value
    read_or_refuse(bytes(content[cut:]))


@pytest.mark.slow
def test_the_whole_process_stays_small(tmp_path: Path) -> None:
    """Resident memory, which also counts what the C libraries allocate."""
    path = tmp_path / "bundle.zip"
    path.write_bytes(raw_zip(Member(name=b"data.parquet", method=8, packed=zeros(4000), claimed=1 << 20, crc=1)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BundleError):
        read_bundle(path, limits=SMALL)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown * (1 if sys.platform == "darwin" else 1024) < 64 << 20
