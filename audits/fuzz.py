"""`python -m audits.fuzz`: fuzz every reader for a while, by coverage where atheris is installed, else by mutation.

An input that breaks a reader is printed and saved, and the exit code is 1. Each reader is fuzzed in a process of its
own: atheris ends its process, and a crash in a C library would end this one.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from audits.targets import Target

MEGABYTES = 4096  # of memory: a reader that takes more is broken
COVERAGE = importlib.util.find_spec("atheris") is not None


def main() -> int:
    """Fuzz one reader, or all of them in turn."""
    parser = argparse.ArgumentParser(prog="python -m audits.fuzz", description=__doc__)
    parser.add_argument("--target", help="the name of one reader")
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--corpus", type=Path, default=Path(".fuzz"), help="where inputs are kept from run to run")
    asked = parser.parse_args()
    targets = _targets()
    if asked.target is not None:
        corpus = asked.corpus / asked.target.replace(" ", "-")
        return _one(targets[asked.target], asked.seconds, corpus)
    if not COVERAGE:
        sys.stdout.write("atheris is not installed (pip install atheris): fuzzing by mutation, without coverage.\n")
    failed = [name for name in targets if _in_own_process(name, asked.seconds, asked.corpus) != 0]
    sys.stdout.write(f"{len(targets) - len(failed)} of {len(targets)} readers held. {', '.join(failed)}\n")
    return 1 if failed else 0


def _targets() -> dict[str, Target]:
    """The readers, imported late: atheris watches what is imported under its eyes."""
    with contextlib.ExitStack() as stack:
        if COVERAGE:
            import atheris  # noqa: PLC0415  # not on every platform

            stack.enter_context(atheris.instrument_imports(include=["kernelease"], enable_loader_override=False))
        return dict(importlib.import_module("audits.targets").TARGETS)


def _in_own_process(name: str, seconds: int, corpus: Path) -> int:
    sys.stdout.write(f"fuzzing {name} for {seconds} s\n")
    sys.stdout.flush()
    words = ["--target", name, "--seconds", str(seconds), "--corpus", str(corpus)]
    return subprocess.run([sys.executable, "-m", "audits.fuzz", *words], check=False).returncode


def _one(target: Target, seconds: int, corpus: Path) -> int:
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    return _by_coverage(target, seconds, corpus) if COVERAGE else _by_mutation(target, seconds, corpus)


def _by_mutation(target: Target, seconds: int, corpus: Path) -> int:
    from audits.fuzzing import broken_by, mutations  # noqa: PLC0415  # late: atheris watches what is imported under its eyes

    end, trials = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        for trials, data in enumerate(mutations(target, seed=int(time.time())), start=1):
            if what := broken_by(target, data, Path(folder)):
                broken = corpus / f"broken-{trials}"
                broken.write_bytes(data)
                sys.stdout.write(f"{what} (saved as {broken})\n")
                return 1
            if time.monotonic() > end:
                break
    sys.stdout.write(f"{trials:,} inputs, none broke it\n")
    return 0


def _by_coverage(target: Target, seconds: int, corpus: Path) -> int:
    """Ends the process: with 0 when the time is over, with another code at a finding."""
    import atheris  # noqa: PLC0415  # not on every platform

    from audits.fuzzing import broken_by  # noqa: PLC0415  # late: atheris watches what is imported under its eyes

    folder = Path(tempfile.mkdtemp())
    dictionary = folder / "words"
    dictionary.write_text("".join(_quoted(word) for word in target.words or (b"PAR1",)))  # an empty one is an error

    def try_one(data: bytes) -> None:
        if what := broken_by(target, data, folder):
            raise AssertionError(what)

    limits = [f"-max_total_time={seconds}", f"-rss_limit_mb={MEGABYTES}", "-timeout=20", f"-dict={dictionary}"]
    options = [sys.argv[0], str(corpus), *limits, f"-artifact_prefix={corpus}/broken-", "-print_final_stats=1"]
    atheris.Setup(options, try_one)
    atheris.Fuzz()
    return 0


def _quoted(word: bytes) -> str:
    """A line of a libFuzzer dictionary."""
    return '"' + "".join(rf"\x{byte:02x}" for byte in word[:60]) + '"\n'


if __name__ == "__main__":
    sys.exit(main())
