"""Measure a fresh core install: its seconds, and its megabytes by package.

The packages are downloaded anew (no cache) at the versions of constraints.txt, into a temporary
virtual environment that is removed afterwards. Compiled bytecode counts; pip itself does not.
"""

import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALLERS = {"pip", "setuptools"}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        seconds = install(Path(folder) / "bin" / "python")
        sizes = dict(package_sizes(Path(folder)))
    report(sizes, seconds)


def install(python: Path) -> float:
    """Install the core into that interpreter's environment; the seconds it took."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-qq", "install", "--no-cache-dir"]
    start = time.perf_counter()
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", ROOT], check=True)
    return time.perf_counter() - start


def package_sizes(environment: Path) -> Iterator[tuple[str, int]]:
    """Each installed package, named with its version, and its bytes on disk."""
    site_packages = next(environment.glob("lib/python*/site-packages"))
    for package in distributions(path=[str(site_packages)]):
        if package.name not in INSTALLERS:
            yield f"{package.name} {package.version}", bytes_on_disk(package)


def bytes_on_disk(package: Distribution) -> int:
    paths = {Path(str(package.locate_file(file))) for file in package.files or ()}
    return sum(path.stat().st_size for path in paths if path.is_file())


def report(sizes: dict[str, int], seconds: float) -> None:
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size / 1e6:8.1f} MB  {name}")
    print(f"{sum(sizes.values()) / 1e6:8.1f} MB  in {len(sizes)} packages, installed in {seconds:.0f} s")
    print(f"Python {sys.version_info.major}.{sys.version_info.minor}, {sys.platform}")


if __name__ == "__main__":
    main()
