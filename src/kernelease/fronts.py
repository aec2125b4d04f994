"""The front doors of packages: each name that a package offers is loaded when it is first asked for (PEP 562).

What imports a module of a package passes its `__init__`. One that drew in all that the package offers would make the
refusal of a mistyped option wait for every method there is. So a package lists its names once, in the stub
`__init__.pyi` that type checkers read, and its front door is made of that list.
"""

import ast
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from kernelease.errors import closest


def front_door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The functions `__getattr__` and `__dir__` of a package, and its `__all__`.

    >>> look_up, _, offered = front_door("kernelease.privacy")
    >>> look_up("Loss").__module__, "Loss" in offered
    ('kernelease.privacy.accounting', True)
    """
    home_of = _names_in(package)

    def hint(name: str) -> str:
        """Where a name is that a package inside offers, or which one was meant.

        What begins with _ is a probe, and so is a module's name: `from package import module` asks for it here first.
        """
        if name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is not None:
            return ""
        inside = (one for one, home in home_of.items() if home == package)
        offered = (one for one in inside if name in dir(importlib.import_module(f"{package}.{one}")))
        where = next(offered, None)
        near = closest(name, home_of, 0.7)
        meant = f" Did you mean {near}?" if near is not None else ""
        return meant if where is None else f" Write {package}.{where}.{name}."

    def look_up(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}.{hint(name)}")
        inside = home_of[name] == package
        home = importlib.import_module(f"{package}.{name}" if inside else home_of[name])
        found = home if inside else getattr(home, name)
        setattr(sys.modules[package], name, found)  # next time it is there
        return found

    return look_up, lambda: sorted(home_of), sorted(home_of)


def _names_in(package: str) -> dict[str, str]:
    """The names in a package's stub, each with the module that it is imported from: the package, where it is one."""
    stub = ast.parse(pkgutil.get_data(package, "__init__.pyi") or b"")
    imports = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
    return {alias.name: str(line.module) for line in imports for alias in line.names}
