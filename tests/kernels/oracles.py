"""Kernels of two rows in 60-digit decimal arithmetic: plain loops, nothing shared with the package."""

import decimal
from collections.abc import Iterable
from decimal import Decimal

from kernelease.kernels import DotProduct, Gaussian, Laplace, Matern32, Matern52, Polynomial, RationalQuadratic
from kernelease.kernels.kernel import Kernel

CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def exact(kernel: Kernel, x: Iterable[float], y: Iterable[float]) -> Decimal:
    a, b = [Decimal(float(v)) for v in x], [Decimal(float(v)) for v in y]
    with decimal.localcontext(CONTEXT):
        match kernel:
            case Polynomial() | DotProduct():
                return _of_dot_product(kernel, a, b)
            case Laplace():
                return (-sum(abs(p - q) / s for p, q, s in zip(a, b, _scales(kernel, len(a)), strict=True))).exp()
            case Gaussian() | Matern32() | Matern52() | RationalQuadratic():
                square = sum(
                    (((p - q) / s) ** 2 for p, q, s in zip(a, b, _scales(kernel, len(a)), strict=True)), Decimal(0)
                )
                return _of_square(kernel, square)
    raise NotImplementedError(type(kernel).__name__)


def _scales(kernel: Gaussian | Laplace | Matern32 | Matern52 | RationalQuadratic, columns: int) -> list[Decimal]:
    scale = kernel.lengthscale
    return [Decimal(s) for s in (scale if isinstance(scale, tuple) else (scale,) * columns)]


def _of_square(kernel: Gaussian | Matern32 | Matern52 | RationalQuadratic, square: Decimal) -> Decimal:
    match kernel:
        case Gaussian():
            return (-square / 2).exp()
        case RationalQuadratic():
            alpha = Decimal(kernel.alpha)
            return (-alpha * (1 + square / (2 * alpha)).ln()).exp()
        case Matern32():
            s = (3 * square).sqrt()
            return (1 + s) * (-s).exp()
        case Matern52():
            s = (5 * square).sqrt()
            return (1 + s + s * s / 3) * (-s).exp()


def _of_dot_product(kernel: Polynomial | DotProduct, a: list[Decimal], b: list[Decimal]) -> Decimal:
    u = sum((p * q for p, q in zip(a, b, strict=True)), Decimal(0)) / (len(a) * Decimal(kernel.half_width) ** 2)
    if isinstance(kernel, Polynomial):
        return ((u + Decimal(kernel.offset)) / (1 + Decimal(kernel.offset))) ** kernel.degree
    return sum((Decimal(c) * (u**p if p else 1) for p, c in enumerate(kernel.coefficients)), Decimal(0))
