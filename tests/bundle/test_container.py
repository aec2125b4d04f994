"""A bundle is written whole or not at all, and the same files give the same bytes."""

import functools
import itertools
import multiprocessing
import os
import random
import resource
import signal
import stat
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.bundle import container
from kernelease.bundle.container import (
    NAMES,
    SEALS,
    Limits,
    SignatureState,
    check_signature,
    check_sums,
    read_bundle,
    write_bundle,
)
from kernelease.errors import BundleError, KerneleaseError, ParameterError
from tests.bundle.bundles import FILES

# Children fork from a process of their own that has no threads and has imported kernelease already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "hypothesis", "kernelease.ledgers", "kernelease.bundle.container"])

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OLDER = {"README.md": b"an older bundle"}
NEWER = {"README.md": b"a newer bundle", "data.parquet": bytes(10_000)}
FORMS = pytest.mark.parametrize("name", ["release", "release.zip"])
CALLS = ("mkdir", "open", "fsync", "close", "link", "rename", "replace")


def contents(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        return {item.name: item.read_bytes() for item in path.iterdir()}
    return {path.name: path.read_bytes()}


@FORMS
@pytest.mark.parametrize("key", [None, KEY])
def test_what_is_written_is_read(tmp_path: Path, name: str, key: Ed25519PrivateKey | None) -> None:
    path = write_bundle(str(tmp_path / name), FILES, key=key)
    files = read_bundle(path)
    assert {name: files[name] for name in FILES} == FILES
    assert set(files) - set(FILES) == (SEALS if key else {"SHA256SUMS"})
    assert check_sums(files) == []
    assert check_signature(files).state is (SignatureState.SIGNED if key else SignatureState.UNSIGNED)
    assert os.listdir(tmp_path) == [name]


@FORMS
def test_the_same_files_give_the_same_bytes(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(tmp_path / name, FILES, key=KEY)
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setattr(time, "time", lambda: 2e9)
    monkeypatch.chdir(other)
    before = os.umask(0o077)
    try:
        write_bundle(name, dict(reversed(FILES.items())), key=KEY)
    finally:
        os.umask(before)
    assert contents(tmp_path / name) == contents(other / name)


def test_a_zip_is_plain(tmp_path: Path) -> None:
    with zipfile.ZipFile(write_bundle(tmp_path / "release.ZIP", FILES)) as archive:
        entries = archive.infolist()
    assert [entry.filename for entry in entries] == sorted({*FILES, "SHA256SUMS"})
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {entry.external_attr >> 16 for entry in entries} == {stat.S_IFREG | 0o644}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}


@pytest.mark.parametrize("deflate", [False, True])
def test_a_bundle_zipped_anew_by_another_program_is_read(tmp_path: Path, deflate: bool) -> None:
    files = read_bundle(write_bundle(tmp_path / "release", FILES, key=KEY))
    with zipfile.ZipFile(tmp_path / "again.zip", "w", zipfile.ZIP_DEFLATED if deflate else 0) as archive:
        for path in (tmp_path / "release").iterdir():
            archive.write(path, path.name)
    assert read_bundle(tmp_path / "again.zip") == files


@pytest.mark.parametrize("name", ["../evil", "data.csv", "SHA256SUMS", "public_key.pem", "Data.parquet", "", "a/b"])
def test_other_names_are_not_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="a bundle has no file named"):
        write_bundle(tmp_path / "release", {name: b""})
    assert os.listdir(tmp_path) == []


def test_limits_are_positive() -> None:
    for name in ("file_bytes", "total_bytes", "files"):
        with pytest.raises(ParameterError, match=f"{name} must be at least 1, got 0"):
            Limits(**{name: 0})


# --------------------------------------------------------------------------------------------------- an existing target


@FORMS
def test_an_existing_target_is_refused(tmp_path: Path, name: str) -> None:
    path = write_bundle(tmp_path / name, OLDER)
    before = contents(path)
    with pytest.raises(BundleError, match="already exists"):
        write_bundle(path, FILES)
    assert contents(path) == before
    assert os.listdir(tmp_path) == [name]


@FORMS
def test_also_one_that_appears_at_the_last_moment(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_bundle(tmp_path / name, OLDER)
    before = contents(path)
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    with pytest.raises(BundleError, match=r"could not be written: (File exists|Directory not empty)"):
        write_bundle(path, FILES)
    assert contents(path) == before
    assert os.listdir(tmp_path) == [name]


@FORMS
def test_an_older_bundle_is_overwritten_on_request(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        path = write_bundle(tmp_path / name, OLDER, key=KEY, overwrite=True)
        assert set(read_bundle(path)) == {*OLDER, *SEALS}
        write_bundle(path, FILES, overwrite=True)
        assert set(read_bundle(path)) == {*FILES, "SHA256SUMS"}
    assert os.listdir(tmp_path) == [name]


def _crowded(path: Path) -> None:
    write_bundle(path, OLDER)
    (path / "thesis.tex").write_text("years of work")


@pytest.mark.parametrize("make", [lambda p: p.write_text("x"), lambda p: p.symlink_to("."), _crowded])
def test_what_is_not_a_bundle_folder_is_never_overwritten(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    make(tmp_path / "home")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BundleError, match="it is not overwritten"):
        write_bundle(tmp_path / "home", FILES, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_is_not_overwritten_by_a_zip(tmp_path: Path) -> None:
    (tmp_path / "release.zip").mkdir()
    with pytest.raises(BundleError, match="it is not overwritten by a zip"):
        write_bundle(tmp_path / "release.zip", FILES, overwrite=True)


# --------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_anywhere_leaves_an_old_bundle_or_a_new_one(
    tmp_path: Path, name: str, older: bool, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = 0
    for step in range(1000):
        path = tmp_path / str(step) / name
        path.parent.mkdir()
        before = contents(write_bundle(path, OLDER)) if older else None
        with monkeypatch.context() as patch:
            fired = _interrupt(functools.partial(patch.setattr, raising=False), step, lambda: _raise(error))
            with suppress(BundleError, KeyboardInterrupt):
                write_bundle(path, NEWER, key=KEY, overwrite=older)
        assert os.listdir(path.parent) in ([], [name])  # no temporary file stays
        assert path.exists() or not older
        if path.exists() and contents(path) != before:
            assert check_sums(read_bundle(path)) == []
        if not fired:
            break
        failures += 1
    assert 5 < failures < 999


def _interrupt(patch: Callable[[Any, str, Any], None], step: int, fail: Callable[[], Any]) -> list[str]:
    """Fail at the call of that number to the operating system. The list then holds the call's name."""
    calls, fired = itertools.count(), []

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if next(calls) != step:
                return call(*args, **kwargs)
            fired.append(name)
            return fail()

        return wrapped

    for name in CALLS:
        patch(os, name, counted(name, getattr(os, name)))
    patch(container, "open", counted("open", open))
    return fired


def _raise(error: BaseException) -> None:
    raise error


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *_: _raise(PermissionError(1, "Operation not permitted")))
    assert set(read_bundle(write_bundle(tmp_path / "release.zip", FILES))) == {*FILES, "SHA256SUMS"}
    assert os.listdir(tmp_path) == ["release.zip"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    for name in ("release", "release.zip"):
        with pytest.raises(BundleError, match="could not be written: No such file or directory"):
            write_bundle(tmp_path / "nowhere" / name, FILES)


def test_too_much_for_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_LARGEST_ZIP", 100)
    with pytest.raises(BundleError, match=r"could not be written: more than 100 bytes fit no zip: write a folder"):
        write_bundle(tmp_path / "release.zip", {"data.parquet": bytes(1000)})
    assert os.listdir(tmp_path) == []


@FORMS
def test_a_full_disk_leaves_nothing(tmp_path: Path, name: str) -> None:
    """A limit on file sizes fails the same writes as a full disk does."""
    child = PROCESSES.Process(target=_write_with_little_room, args=(tmp_path / name,))
    child.start()
    child.join()
    assert child.exitcode == 3
    assert os.listdir(tmp_path) == []


def _write_with_little_room(path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    try:
        write_bundle(path, {**FILES, "data.parquet": bytes(10**6)})
    except BundleError as error:
        os._exit(3 if "File too large" in str(error) else 4)


def _write_and_die(path: Path, step: int, overwrite: bool) -> None:
    _interrupt(setattr, step, lambda: os.kill(os.getpid(), signal.SIGKILL))
    write_bundle(path, NEWER, key=KEY, overwrite=overwrite)


@pytest.mark.slow
@FORMS
@pytest.mark.parametrize("older", [False, True])
def test_killed_at_each_step_no_half_bundle_is_visible(tmp_path: Path, name: str, older: bool) -> None:
    step = kills = 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / name
        if older:
            write_bundle(path, OLDER)
        child = PROCESSES.Process(target=_write_and_die, args=(path, step, older))
        child.start()
        child.join()
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        kills += 1
        visible = [item for item in os.listdir(folder) if not item.startswith(".")]
        assert visible in ([], [name])
        whole = [path] if visible else [item for item in folder.iterdir() if (item / "README.md").is_file() and older]
        for candidate in whole[:1]:
            assert check_sums(read_bundle(candidate)) == []
        assert whole or not older, "the older bundle is lost"
        write_bundle(path, NEWER, key=KEY, overwrite=True)  # a rerun works
        assert check_sums(read_bundle(path)) == []
        step += 1
    assert kills > (5 if path.suffix else 15)


def _write_many(folder: Path, suffix: str, pipe: Connection) -> None:
    files = {**FILES, "data.parquet": os.urandom(1 << 20)}
    pipe.send(0)
    for number in range(10**6):
        write_bundle(folder / f"release-{number}{suffix}", files, key=KEY)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_killed_at_any_time_no_half_bundle_is_visible(tmp_path: Path, suffix: str) -> None:
    chance, drafts = random.Random(3), 0
    for trial in range(200):
        if trial >= 10 and drafts:
            break
        folder = tmp_path / str(trial)
        folder.mkdir()
        receiver, sender = PROCESSES.Pipe(duplex=False)
        child = PROCESSES.Process(target=_write_many, args=(folder, suffix, sender))
        child.start()
        sender.close()
        receiver.recv()
        time.sleep(chance.uniform(0.0, 0.1))
        child.kill()
        child.join()
        for path in folder.iterdir():
            if path.name.startswith("."):
                drafts += 1
            else:
                assert check_sums(read_bundle(path)) == []
    assert drafts > 0, "no kill fell within a write: the test shows nothing"


def test_the_list_of_names_is_closed_and_the_error_is_of_the_tree() -> None:
    assert SEALS < NAMES
    assert isinstance(NAMES, frozenset)
    assert issubclass(BundleError, KerneleaseError)


def test_a_ctrl_c_within_the_removal_of_a_draft_is_obeyed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink, interrupts = Path.unlink, [KeyboardInterrupt]

    def interrupted(path: Path, missing_ok: bool = False) -> None:
        if interrupts:
            raise interrupts.pop()
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", interrupted)
    with pytest.raises(KeyboardInterrupt):
        container.try_target(tmp_path / "bundle", 1)
    assert not interrupts
    assert list(tmp_path.iterdir()) == []
