"""The tracer itself: what it counts, and that its faults are the ones that a process would meet."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audits.faults import problems
from audits.stage import DEFECT, HUNG, Found, Plot
from audits.tracer import Unsupported

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, os, sys
from pathlib import Path
from audits.tracer import Fault, Unsupported, trace

folder = Path(sys.argv[1])

def act():
    os.mkdir(folder / "a")
    Path("/dev/null").write_bytes(b"elsewhere")
    try:
        (folder / "a" / "b").write_bytes(b"hello")
    except OSError as error:
        return error.errno
    os.rename(folder / "a" / "b", folder / "c")
    return 0

try:
    run = trace(act, folder, Fault(**json.loads(sys.argv[2])) if sys.argv[2] else None)
except Unsupported as reason:
    sys.exit(str(reason))
print(json.dumps([run.events, run.code]))
"""


def traced(folder: Path, fault: dict[str, Any] | None = None) -> tuple[list[str], int]:
    """In a process without threads: the tracer forks."""
    words = [sys.executable, "-c", SCRIPT, str(folder), json.dumps(fault) if fault else ""]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unsupported(done.stderr)
    events, code = json.loads(done.stdout)
    return events, code


def test_only_changes_below_the_folder_are_events(tmp_path: Path) -> None:
    assert traced(tmp_path) == (["mkdir", "openat", "write", "rename"], 0)
    assert (tmp_path / "c").read_bytes() == b"hello"


@pytest.mark.slow
@pytest.mark.parametrize(("at", "left"), [(1, []), (2, ["a"]), (3, ["a", "a/b"]), (4, ["a", "a/b"]), (5, ["a", "c"])])
def test_a_kill_comes_before_its_event(tmp_path: Path, at: int, left: list[str]) -> None:
    events, code = traced(tmp_path, {"at": at})
    assert code == (0 if at == 5 else -signal.SIGKILL)
    assert len(events) == min(at, 4)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == left


def test_an_error_comes_in_place_of_the_event(tmp_path: Path) -> None:
    events, code = traced(tmp_path, {"at": 3, "errno": errno.ENOSPC, "room_only": True})
    assert code == errno.ENOSPC
    assert events == ["mkdir", "openat", "write"]
    assert (tmp_path / "a" / "b").read_bytes() == b""


def test_where_room_is_short_names_may_still_change(tmp_path: Path) -> None:
    assert traced(tmp_path, {"at": 4, "errno": errno.ENOSPC, "room_only": True})[1] == 0
    assert os.listdir(tmp_path / "a") == []


# ------------------------------------------------------------------------------------------------------- the judgement

WELL = Found(
    at=1, events=9, code=-9, message="", drawn=True, entries=1, names=("ledger", "out"), bundle="release", rerun=""
)


def judged(plot: Plot | None = None, **changed: Any) -> list[str]:
    found = Found(**{**{name: getattr(WELL, name) for name in Found.__slots__}, **changed})
    return list(problems(plot or Plot(), found))


def test_all_is_well() -> None:
    assert judged() == []
    assert judged(code=0) == []
    assert judged(names=("ledger", ".kernelease-0.partial")) == []
    assert judged(code=2, message="a note\nerror: no room. The budget is spent.\n") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"entries": 0, "bundle": ""}, "noise was drawn that is not on the books"),
        ({"entries": 0, "drawn": False}, "a bundle is out that is not on the books"),
        ({"entries": 2}, "charged twice"),
        ({"bundle": "data.parquet: missing"}, "half a bundle"),
        ({"plot": Plot(older=True), "bundle": ""}, "the older bundle is gone"),
        ({"rerun": "exit code 2"}, "a second run fails"),
        ({"names": ("ledger", "out", "tmp123")}, "tmp123 was left behind"),
        ({"names": (".kernelease-0.partial",), "code": 0}, "was left behind"),
        ({"code": DEFECT, "message": "KeyError"}, "a traceback"),
        ({"code": 2, "message": "oh no"}, "the last line is not an error"),
        ({"code": 2, "message": "error: no room."}, "does not say that the budget is spent"),
        ({"code": 2, "message": "error: Nothing was spent."}, "says that nothing was spent"),
    ],
)
def test_each_thing_that_may_be_wrong_is_noticed(changed: dict[str, Any], problem: str) -> None:
    assert any(problem in words for words in judged(**changed))


def test_what_was_charged_and_lost_is_noticed_unless_it_was_killed() -> None:
    gone = {"bundle": "", "names": ("ledger",), "code": -signal.SIGTERM, "message": ""}
    assert "what was charged is lost" in judged(plot=Plot(fault="SIGTERM"), **gone)
    assert judged(plot=Plot(fault="kill"), **{**gone, "code": -signal.SIGKILL}) == []
    assert (
        judged(
            plot=Plot(fault="SIGINT"),
            code=130,
            bundle="measurements",
            message="Interrupted. The measurements are safe in out.",
        )
        == []
    )


def test_a_shortage_of_memory_must_be_called_so_and_must_end() -> None:
    short = {"plot": Plot(fault="memory"), "code": 2, "entries": 0, "drawn": False, "bundle": ""}
    assert judged(**short, message="error: There is not enough memory to run.") == []
    assert "does not say that memory is short" in judged(**short, message="error: the file is damaged.")[0]
    assert judged(**{**short, "code": HUNG}) == ["it hangs"]
