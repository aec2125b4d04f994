"""Spark for the tests: one session on this machine, or a standalone cluster on loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pyspark
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

LOOPBACK = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # for programs that end before optimising them would pay
REQUIRED = "KERNELEASE_REQUIRE_JAVA"  # set in CI: there a missing Java is an error, and no skip

needs_java = pytest.mark.skipif(
    shutil.which("java") is None and not os.environ.get(REQUIRED), reason="Spark needs Java, and there is none here"
)
# Spark warns of every pandas from 3 on; and of its own sockets, which it closes when they are collected.
quiet = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def start(master: str, folder: Path, **settings: str) -> SparkSession:
    """A session whose log, event log and scratch files are in this folder. Another one is ended before."""
    end()
    events = folder / "events"
    events.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.file.ref = file\nappender.file.type = File\n"
        f"appender.file.name = file\nappender.file.fileName = {folder}/driver.log\n"
        "appender.file.layout.type = PatternLayout\nappender.file.layout.pattern = %p %c %m%n%ex\n"
    )
    fixed = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(
            [*BRIEF, f"-Dlog4j2.configurationFile=file:{folder}/log4j2.properties"]
        ),
        "spark.executor.extraJavaOptions": " ".join(BRIEF),
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    os.environ.update(LOOPBACK)
    builder = SparkSession.builder.master(master).appName("tests")
    for name, value in {**fixed, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def local(folder: Path) -> SparkSession:
    """The session on this machine: that which is there, or a new one."""
    active = SparkSession.getActiveSession()
    here = active is not None and active.sparkContext._jsc is not None and active.sparkContext.master == "local[2]"
    return active if here else start("local[2]", folder)


def end() -> None:
    """End the session and its Java process: the next session is then made with settings of its own."""
    context = SparkContext._active_spark_context
    if context is not None and context._jvm is not None:
        (SparkSession.getActiveSession() or context).stop()
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    _end_gateway()


def texts(*folders: Path) -> dict[Path, bytes]:
    """What Spark has written for people to read: logs, event logs, the output of executors."""
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in found if "scratch" not in path.parts and path.suffix not in (".jar",)}


def _end_gateway() -> None:
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(30)
        SparkContext._gateway = SparkContext._jvm = None


class Cluster:
    """A master and its workers, each a process of its own."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.port = _free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        ui = _free_port()
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(ui)]
        self.processes = [self._start("master.Master", *options, name="master")]
        _wait_for(ui)
        for number in range(workers):
            place = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(folder / f"work{number}"),
            ]
            self.processes.append(
                self._start("worker.Worker", *place, "--webui-port", str(_free_port()), self.master, name=f"w{number}")
            )

    def _start(self, kind: str, *options: str, name: str) -> "subprocess.Popen[bytes]":
        home = Path(pyspark.__file__).parent
        said = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}  # what Spark's own scripts would say
        environment = {**os.environ, **LOOPBACK, **said}
        with open(self.folder / f"{name}.log", "wb") as log:
            return subprocess.Popen(
                ["java", *BRIEF, "-cp", f"{home}/jars/*", "-Xmx512m", f"org.apache.spark.deploy.{kind}", *options],
                stdout=log,
                stderr=log,
                env=environment,
            )

    def kill_worker(self, number: int) -> None:
        """Kill -9 a worker's executors, then the worker."""
        worker = psutil.Process(self.processes[1 + number].pid)
        for process in [*worker.children(recursive=True), worker]:
            process.kill()

    def stop(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(1200):  # a busy machine takes its time
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    raise TimeoutError("Spark's master does not answer.")
