"""Every kernel of the catalogue passes `check_kernel`, and for each property there is a broken twin that does not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from kernelease.arrays import Floats, Rows
from kernelease.conformance import check_kernel
from kernelease.kernels import Gaussian, Kernel, Polynomial
from tests.kernels.catalogue import CATALOGUE, Entry

ROWS = np.random.default_rng(3).normal(size=(12, 2))


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_kernel_conforms(entry: Entry) -> None:
    check_kernel(entry.kernel, entry.rows)


@dataclass
class Twin(Kernel):
    """A kernel with the claims and methods of another, until a test breaks one."""

    original: Kernel

    @property
    def bound(self) -> float:
        return self.original.bound

    @property
    def nonnegative(self) -> bool:
        return self.original.nonnegative

    @property
    def lipschitz(self) -> float | None:
        return self.original.lipschitz

    def evaluation_error(self, columns: int) -> float:
        return self.original.evaluation_error(columns)

    def admit(self, rows: Rows) -> Rows:
        return self.original.admit(rows)

    def gram(self, x: Rows, y: Rows) -> Floats:
        return self.original.gram(x, y)

    def diagonal(self, x: Rows) -> Floats:
        return self.gram(x, x).diagonal()


def broken(original: Kernel = Gaussian(lengthscale=1.0), **members: Any) -> Kernel:  # noqa: B008  # frozen
    twin = type("Twin", (Twin,), {k: v if callable(v) else property(lambda _, v=v: v) for k, v in members.items()})
    return twin(original)


def gaussian(x: Rows, y: Rows) -> Floats:
    return Gaussian(lengthscale=1.0).gram(x, y)


def raises_for_infinity(_: Kernel, rows: Rows) -> Rows:
    if np.isinf(np.asarray(rows, dtype=np.float64)).any():
        raise ValueError("infinite")
    return Gaussian(lengthscale=1.0).admit(rows)


BROKEN = {
    "symmetric": broken(gram=lambda _, x, y: gaussian(x, y) * (1 - 0.1 * (x[:, :1] > 0))),
    "positive semidefinite": broken(gram=lambda _, x, y: 1 - gaussian(x, y)),
    "at most bound": broken(bound=0.9),
    "not be negative": broken(Polynomial(degree=1, offset=0.0, half_width=3.0, dimension=2), nonnegative=True),
    "lipschitz": broken(lipschitz=0.3),
    "in another order": broken(gram=lambda _, x, y: gaussian(x, y) * (1 - 2.0**-52 * (x[0, 0] == ROWS[0, 0]))),
    "without its neighbours": broken(gram=lambda _, x, y: gaussian(x, y) * (1 - 2.0**-52 * (1 < len(x) < 12))),
    "in another memory layout": broken(
        gram=lambda _, x, y: gaussian(x, y) * (1 - 2.0**-52 * (x.strides[0] < x.strides[1]))
    ),
    "among more rows": broken(gram=lambda _, x, y: gaussian(x, y) * (1 - 2.0**-52 * (len(y) > 400))),
    "for a row alone": broken(gram=lambda _, x, y: gaussian(x, y) * (1 - 2.0**-52 * (len(x) == 1))),
    "idempotent": broken(admit=lambda _, rows: Gaussian(lengthscale=1.0).admit(rows) * 0.5 + 1.0),
    "each row alone": broken(admit=lambda _, rows: np.clip(Gaussian(lengthscale=1.0).admit(rows), -1, len(rows))),
    "one row for each row": broken(admit=lambda _, rows: Gaussian(lengthscale=1.0).admit(rows)[1:]),
    "admit must not raise or warn for a value, but there was ValueError": broken(admit=raises_for_infinity),
    "gram must not raise or warn for a value, but there was RuntimeWarning": broken(
        gram=lambda _, x, y: gaussian(x, y) + 0.0 * np.square(1e5 * x[:, :1] * y[:, 0])
    ),
    "gram must be finite": broken(gram=lambda _, x, y: gaussian(x, y) + np.where(x[:, :1] > 1e100, np.nan, 0.0)),
    "a column for each y": broken(gram=lambda _, x, y: gaussian(x, y)[:, 1:]),
    "exact sum of gram": broken(
        total=lambda _, x, y, per_unit: Gaussian(lengthscale=1.0).total(x[1:], y, per_unit=per_unit)
    ),
    "diagonal of gram": broken(diagonal=lambda _, x: np.full(len(x), 0.99)),
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_broken_twin_is_caught(sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_kernel(BROKEN[sentence], ROWS)


def test_the_twin_that_is_not_broken_conforms() -> None:
    check_kernel(broken(), ROWS)


def test_one_row_is_too_few() -> None:
    with pytest.raises(AssertionError, match="at least two rows"):
        check_kernel(Gaussian(lengthscale=1.0), ROWS[:1])
