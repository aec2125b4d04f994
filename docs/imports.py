"""Which module imports which, read from the source: for the pages about the architecture, and for their tests."""

import ast
from functools import cache
from pathlib import Path

import kernelease

ROOT = Path(kernelease.__file__).parent
FOUNDATIONS = (
    "_version",
    "arrays",
    "errors",
    "fronts",
    "kinds",
    "machine",
    "progress",
    "risk",
    "seeds",
    "strangers",
)
# modules that stand beside a package, without being what an auditor has to read of it
BESIDE = {"certificate": "bundle", "passes": "exact", "ledgers": "privacy", "noises": "privacy"}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted(ROOT.rglob("*.py"))}  # without the leading `kernelease.`


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of this package that are imported when one is: those named at its top level.

    What is imported for type checkers only, or within a function when it is called, is not.
    """
    found = set()
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = _inside(f"{node.module}.{alias.name}")
                found.add(inner if inner in MODULES else _inside(node.module))
    return frozenset((found & set(MODULES)) - {module, ""})


def _inside(name: str) -> str:
    return name.removeprefix("kernelease").removeprefix(".") if name.startswith("kernelease") else "elsewhere"


@cache
def longest_chain(module: str) -> tuple[str, ...]:
    """The longest way down from a module, from import to import."""
    return (module, *max((longest_chain(below) for below in sorted(imports_of(module))), key=len, default=()))


def closure(modules: frozenset[str]) -> frozenset[str]:
    """Some modules and all that comes with them when they are imported."""
    found, new = modules, modules
    while new:
        new = frozenset().union(*(imports_of(module) for module in new)) - found
        found |= new
    return found


def package(module: str) -> str:
    """The first part of a name, or the package beside it; what stands alone, and all import, is `foundations`."""
    first = module.split(".", maxsplit=1)[0]
    return "foundations" if first in FOUNDATIONS else BESIDE.get(first, first)


def package_imports() -> dict[str, set[str]]:
    """Of each package, those that it imports; without those that it imports through another anyway."""
    direct: dict[str, set[str]] = {}
    for module in set(MODULES) - {"", "__main__"}:
        names = {package(other) for other in imports_of(module)} - {package(module)}
        direct.setdefault(package(module), set()).update(names)
    return {name: others - _below(direct, others) for name, others in direct.items()}


def _below(direct: dict[str, set[str]], names: set[str]) -> set[str]:
    """All that these packages import, at any remove."""
    found: set[str] = set()
    for name in names:
        found |= direct[name] | _below(direct, direct[name])
    return found
