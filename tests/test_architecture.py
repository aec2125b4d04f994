"""How deep the house is: a reader who follows imports from the top comes to the ground in so many modules."""

import ast
from functools import cache
from pathlib import Path

import kernelease

ROOT = Path(kernelease.__file__).parent
LONGEST_CHAIN = 37  # modules, from the command line down to the errors


def module_of(path: Path) -> str:
    parts = [ROOT.name, *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


def imports_of(module: str) -> set[str]:
    """The modules of this package that are imported at the top of one, by name or for a name in them."""
    found = set()
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & set(MODULES)
            found |= inner or {node.module}
    return (found & set(MODULES)) - {module}


@cache
def longest_chain(module: str) -> tuple[str, ...]:
    """The longest way down from a module; a circle of imports would have no end."""
    return (module, *max((longest_chain(below) for below in sorted(imports_of(module))), key=len, default=()))


def test_the_longest_chain_of_imports():
    chain = max((longest_chain(module) for module in MODULES), key=len)
    assert len(chain) <= LONGEST_CHAIN, " → ".join(chain)


def test_chains_are_found():
    assert longest_chain("kernelease.errors") == ("kernelease.errors",)
    assert longest_chain("kernelease.arrays")[-1] == "kernelease.errors"
