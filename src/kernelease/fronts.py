"""The front doors of packages: each name that a package offers is loaded when it is first asked for (PEP 562).

What imports a module of a package passes its `__init__`. One that drew in all that the package offers would make the
refusal of a mistyped option wait for every method there is.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import Any

from kernelease.errors import closest


def front_door(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    `homes` has, for each module that defines something on offer, the names, with blanks between them. The module is
    named from the package: `"accounting": "Loss Privacy"`. A module that is on offer itself is its own home.

    >>> look_up, _ = front_door("kernelease", {"seeds": "PublicSeed", "errors": "ParameterError PrivacyError"})
    >>> look_up("PublicSeed")(7)
    PublicSeed(value=7)
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def hint(name: str) -> str:
        """Where a name is that a package inside offers, or which one was meant.

        What begins with _ is a probe, and so is a module's name: `from package import module` asks for it here first.
        """
        if name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is not None:
            return ""
        inside = (one for one, home in home_of.items() if one == home)
        offered = (one for one in inside if name in dir(importlib.import_module(f"{package}.{one}")))
        where = next(offered, None)
        near = closest(name, home_of, 0.7)
        meant = f" Did you mean {near}?" if near is not None else ""
        return meant if where is None else f" Write {package}.{where}.{name}."

    def look_up(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}.{hint(name)}")
        home = importlib.import_module(f"{package}.{home_of[name]}")
        found = home if name == home_of[name] else getattr(home, name)
        setattr(sys.modules[package], name, found)  # next time it is there
        return found

    return look_up, lambda: list(sys.modules[package].__all__)
