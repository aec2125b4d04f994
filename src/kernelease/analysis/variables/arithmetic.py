"""Operators of random variables: each is the NumPy function of the values."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np


class Arithmetic(ABC):
    """+ − × ÷ and so on, comparisons, and NumPy's universal functions, value by value.

    `X == 3` is a variable too, as in NumPy; `X is Y` compares the objects.
    """

    __slots__ = ()

    @abstractmethod
    def _apply(self, function: Callable[..., Any], *arguments: Any) -> Self:
        """function(values of the arguments), as a variable; arguments may be variables or constants."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self._apply(ufunc, *inputs)

    def __add__(self, other: Any) -> Self:
        return self._apply(np.add, self, other)

    def __radd__(self, other: Any) -> Self:
        return self._apply(np.add, other, self)

    def __sub__(self, other: Any) -> Self:
        return self._apply(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._apply(np.subtract, other, self)

    def __mul__(self, other: Any) -> Self:
        return self._apply(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._apply(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._apply(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._apply(np.true_divide, other, self)

    def __pow__(self, other: Any) -> Self:
        return self._apply(np.power, self, other)

    def __rpow__(self, other: Any) -> Self:
        return self._apply(np.power, other, self)

    def __neg__(self) -> Self:
        return self._apply(np.negative, self)

    def __abs__(self) -> Self:
        return self._apply(np.abs, self)

    def __lt__(self, other: Any) -> Self:
        return self._apply(operator.lt, self, other)

    def __le__(self, other: Any) -> Self:
        return self._apply(operator.le, self, other)

    def __gt__(self, other: Any) -> Self:
        return self._apply(operator.gt, self, other)

    def __ge__(self, other: Any) -> Self:
        return self._apply(operator.ge, self, other)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]  # as for arrays
        return self._apply(operator.eq, self, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]  # as for arrays
        return self._apply(operator.ne, self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> Self:
        return self._apply(np.logical_and, self, other)

    def __or__(self, other: Any) -> Self:
        return self._apply(np.logical_or, self, other)

    def __invert__(self) -> Self:
        return self._apply(np.logical_not, self)

    def __bool__(self) -> bool:
        raise TypeError("A random variable is neither true nor false: ask for its probability().")
