"""A child process that is stopped at each of its writes: there it gets a signal, or is told that the disk is full.

Linux's ptrace sees what every library does, SQLite and Arrow included, without a hook in any of them. An event is a
system call that changes the file system below one folder. The tracer needs no privilege over a child of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import SkipTest

__all__ = ["Fault", "Run", "Unsupported", "memory_disk", "trace"]

_TRACEME, _POKEUSER, _SYSCALL, _SETOPTIONS, _SYSCALL_INFO = 0, 6, 24, 0x4200, 0x420E
_OPTIONS = 0x00100000 | 0x01 | 0x02 | 0x04 | 0x08  # kill with the tracer; mark syscalls; follow fork, vfork, clone
_WALL = 0x40000000  # wait for threads too
_ENTRY, _EXIT = 1, 2
_ORIG_RAX, _RAX = 15 * 8, 10 * 8  # offsets of registers in struct user

# System calls of x86-64. These change a file by its handle,
_BY_HANDLE = {1: "write", 18: "pwrite64", 20: "writev", 296: "pwritev", 285: "fallocate"}
_BY_HANDLE |= {74: "fsync", 75: "fdatasync", 77: "ftruncate"}
# these change a folder by a name, which is the argument of that number,
_BY_NAME = {76: ("truncate", 0), 82: ("rename", 0), 83: ("mkdir", 0), 84: ("rmdir", 0), 85: ("creat", 0)}
_BY_NAME |= {86: ("link", 1), 87: ("unlink", 0), 88: ("symlink", 1), 258: ("mkdirat", 1), 263: ("unlinkat", 1)}
_BY_NAME |= {264: ("renameat", 1), 265: ("linkat", 3), 316: ("renameat2", 1)}
# and these do so where their flags, the next argument, say O_CREAT.
_OPENING = {2: ("open", 0), 257: ("openat", 1)}
_LONGEST_PATH = 4096
_TAKES_ROOM = {"write", "pwrite64", "writev", "pwritev", "fallocate", "mkdir", "mkdirat", "creat", "open", "openat"}
_TAKES_ROOM |= {"link", "linkat", "symlink", "fsync", "fdatasync"}


def memory_disk() -> str | None:
    """A folder on a disk in memory, where there is one: syncs cost nothing there, and are system calls all the same."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Unsupported(SkipTest):
    """This machine can't trace: it is not Linux on x86-64, or does not allow it. A test is then skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens at event number `at` (from 1): a signal (`errno` 0), or from there on an error for every event.

    With `room_only` the error is for events that take room on the disk; files can then still be renamed and removed.
    """

    at: int
    errno: int = 0
    room_only: bool = False
    signal: int = signal.SIGKILL

    def meets(self, name: str) -> bool:
        """Whether an event of this name fails, once its number is reached."""
        return not self.room_only or name in _TAKES_ROOM


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What became of the child: its events, and its exit code, or minus the signal that ended it."""

    events: tuple[str, ...]
    code: int


def trace(action: Callable[[], int], folder: Path, fault: Fault | None = None) -> Run:
    """Run `action` in a forked child, whose exit code it returns, with at most one fault. Call it without threads."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Unsupported("Faults at system calls need Linux on x86-64.")
    child = os.fork()
    if child == 0:
        _be_traced(action)
    tracer = _Tracer(child, str(folder.resolve()), fault)
    with contextlib.closing(tracer):
        return tracer.run()


def _be_traced(action: Callable[[], int]) -> None:
    """In the child: wait for the tracer, act, and leave without returning to the parent's code."""
    code = 98
    try:
        if _libc().ptrace(_TRACEME, 0, None, None) == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            code = action()
    finally:
        os._exit(code)


class _Tracer:
    def __init__(self, child: int, folder: str, fault: Fault | None) -> None:
        self._child, self._folder, self._fault = child, folder, fault
        self._events: list[str] = []
        self._failing: set[int] = set()  # threads whose system call was replaced by an error
        self._ended = False

    def run(self) -> Run:
        _, status = os.waitpid(self._child, _WALL)
        if not os.WIFSTOPPED(status):
            self._ended = True
            raise Unsupported("This machine does not allow ptrace.")
        _ptrace(_SETOPTIONS, self._child, None, _OPTIONS)
        thread, passed_on = self._child, 0
        while True:
            with contextlib.suppress(ProcessLookupError):  # killed meanwhile; the next wait says so
                _ptrace(_SYSCALL, thread, None, passed_on)
            thread, status = os.waitpid(-1, _WALL)
            if thread == self._child and not os.WIFSTOPPED(status):
                self._ended = True
                return Run(events=tuple(self._events), code=os.waitstatus_to_exitcode(status))
            passed_on = self._handle(thread, status) if os.WIFSTOPPED(status) else 0

    def close(self) -> None:
        if not self._ended:
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, _WALL)

    def _handle(self, thread: int, status: int) -> int:
        """Look at a stop, and return the signal that the thread should get when it goes on."""
        stop = os.WSTOPSIG(status)
        if stop == signal.SIGTRAP | 0x80:
            with contextlib.suppress(ProcessLookupError):
                self._system_call(thread)
            return 0
        new_thread = stop in (signal.SIGSTOP, signal.SIGTRAP)
        return 0 if new_thread else stop

    def _system_call(self, thread: int) -> None:
        kind, number, arguments = _call(thread)
        if kind == _EXIT and thread in self._failing and self._fault is not None:
            self._failing.remove(thread)
            _ptrace(_POKEUSER, thread, _RAX, -self._fault.errno)
        elif kind == _ENTRY and (name := self._event(number, arguments)):
            self._events.append(name)
            if self._fault is not None and len(self._events) >= self._fault.at:
                self._strike(thread, name)

    def _strike(self, thread: int, name: str) -> None:
        fault = self._fault
        assert fault is not None
        if fault.errno == 0:
            if len(self._events) == fault.at:
                os.kill(self._child, fault.signal)
        elif fault.meets(name):
            _ptrace(_POKEUSER, thread, _ORIG_RAX, -1)  # no system call has this number: nothing is done
            self._failing.add(thread)

    def _event(self, number: int, arguments: tuple[int, ...]) -> str | None:
        """The name of a call that is about to change the folder."""
        if number in _BY_HANDLE:
            return _BY_HANDLE[number] if self._within(self._opened(arguments[0])) else None
        if number not in _BY_NAME and number not in _OPENING:
            return None
        name, place = _BY_NAME.get(number) or _OPENING[number]
        changes = number in _BY_NAME or arguments[place + 1] & os.O_CREAT
        return name if changes and self._within(self._text(arguments[place])) else None

    def _within(self, path: str) -> bool:
        whole = os.path.join(os.readlink(f"/proc/{self._child}/cwd"), path)
        return (os.path.normpath(whole) + os.sep).startswith(self._folder + os.sep)

    def _opened(self, handle: int) -> str:
        try:
            return os.readlink(f"/proc/{self._child}/fd/{handle & 0xFFFFFFFF}")
        except OSError:
            return ""

    def _text(self, address: int) -> str:
        """The text that ends with a zero byte, in the child's memory. A page that is not there ends it too."""
        with open(f"/proc/{self._child}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            to_page_end = -address % 4096 or 4096
            read = memory.read(to_page_end)
            if b"\0" not in read:
                read += memory.read(_LONGEST_PATH - to_page_end)
        return os.fsdecode(read.partition(b"\0")[0])


def _call(thread: int) -> tuple[int, int, tuple[int, ...]]:
    """Entry or exit, the number of the system call, its arguments (ptrace(2), PTRACE_GET_SYSCALL_INFO)."""
    info = ctypes.create_string_buffer(88)
    _ptrace(_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
    number, *arguments = struct.unpack_from("<7Q", info.raw, 24)
    return info.raw[0], number, tuple(arguments)


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    return libc


def _ptrace(request: int, thread: int, address: int | None, data: int | None) -> None:
    masked = None if data is None else data & 0xFFFFFFFFFFFFFFFF
    if _libc().ptrace(request, thread, address, masked) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))  # ESRCH becomes ProcessLookupError
