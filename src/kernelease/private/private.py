"""What every object on the private side refuses."""

from abc import ABC
from typing import Any, NoReturn

from kernelease.errors import PrivacyError


class Private(ABC):  # noqa: B024  # abstract in what it is for: there is nothing to implement
    """Holds private values. It prints none, has no length, no truth value, can't be iterated, copied or pickled.

    Any of these would tell something of the rows to whoever happens to look: a log, a debugger, a test of truth.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __len__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} can't be iterated: it holds private values.")

    def __bool__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no truth value: it would depend on private rows.")

    def __reduce__(self) -> Any:
        raise PrivacyError(f"{type(self).__name__} can't be pickled or copied: it holds private values.")

    def __getstate__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} can't be pickled or copied: it holds private values.")
