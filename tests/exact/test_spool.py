"""Arrays on disk: as they were added, without a name, and gone with the process."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from kernelease.passes import EncodedRows, Spool


def test_entries_come_back_as_they_were_added() -> None:
    spool = Spool()
    entries = [
        (np.arange(6, dtype=np.uint8).reshape(2, 3).T, None),
        (np.empty((2, 0), dtype=np.uint16), np.empty(0, dtype=np.int64)),
        (np.arange(4, dtype=np.uint16).reshape(2, 2), np.array([5, -6], dtype=np.int64)),
    ]
    assert all(spool.add(entry) for entry in entries)
    for place in (2, 0, 1):
        for expected, found in zip(entries[place], spool.read(place), strict=True):
            if expected is None:
                assert found is None
            else:
                np.testing.assert_array_equal(found, expected, strict=True)


def test_a_full_disk_is_no_error() -> None:
    spool = Spool()
    with mock.patch.object(spool._file, "write", side_effect=OSError(28, "No space left on device"), create=True):
        assert not spool.add((np.zeros((1, 2**20), dtype=np.uint8), None))


def test_a_spool_shows_nothing() -> None:
    spool = Spool()
    assert spool.add((np.full((1, 3), 77),))
    assert "77" not in repr(spool).partition(" at ")[0]
    for show in (len, iter, pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            show(spool)


def test_without_a_temporary_folder_rows_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelease.passes.MOST_KEPT", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", mock.Mock(side_effect=FileNotFoundError))
    passes = []

    def read():  # type: ignore[no-untyped-def]
        passes.append(1)
        yield np.zeros((1, 3), dtype=np.int32), None

    rows = EncodedRows(read, (2,))
    assert [sum(len(codes[0]) for codes, _ in rows.batches()) for _ in range(2)] == [3, 3]
    assert len(passes) == 2


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_nothing_is_left_after_kill_9(tmp_path: Path) -> None:
    code = (
        "import numpy as np, sys, time; from kernelease.passes import Spool; s = Spool(); "
        "s.add((np.full((1, 10**6), 7, np.uint8), None)); print('ready', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    assert list(tmp_path.iterdir()) == []  # it has no name while it is in use either
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert list(tmp_path.iterdir()) == []
