"""Two folders that swap their names, and what is done where they can't."""

import errno
import os
from pathlib import Path

import pytest

from kernelease.bundle import container
from kernelease.bundle.container import exchange, read_bundle, write_bundle


def test_two_folders_swap(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system can't exchange names")
    assert os.listdir(tmp_path / "one") == ["other"]
    assert os.listdir(tmp_path / "other") == ["one"]


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system can't exchange names")
    (tmp_path / "other").rmdir()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "other")
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.parametrize("able", [True, False])
def test_a_folder_is_overwritten_with_or_without(tmp_path: Path, able: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not able:
        monkeypatch.setattr(container, "exchange", lambda *_: False)
    write_bundle(tmp_path / "bundle", {"README.md": b"old"})
    write_bundle(tmp_path / "bundle", {"README.md": b"new"}, overwrite=True)
    assert read_bundle(tmp_path / "bundle")["README.md"] == b"new"
    assert os.listdir(tmp_path) == ["bundle"]


def test_a_failed_exchange_leaves_the_old_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Path) -> bool:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    write_bundle(tmp_path / "bundle", {"README.md": b"old"})
    monkeypatch.setattr(container, "exchange", refuse)
    with pytest.raises(container.BundleError, match="could not be written: Operation not permitted"):
        write_bundle(tmp_path / "bundle", {"README.md": b"new"}, overwrite=True)
    assert read_bundle(tmp_path / "bundle")["README.md"] == b"old"
    assert os.listdir(tmp_path) == ["bundle"]
