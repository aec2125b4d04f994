"""Kernels: how alike two rows are, with the bounds that privacy and rates rest on."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.kernels.categorical import OTHER, Categorical, Kronecker, Similarity
    from kernelease.kernels.composite import OnColumns, Product, WeightedSum
    from kernelease.kernels.conformance import check_kernel
    from kernelease.kernels.dot_product import BoxKernel, DotProduct, Polynomial
    from kernelease.kernels.kernel import Kernel
    from kernelease.kernels.numeric import Gaussian, Laplace, Matern32, Matern52, RationalQuadratic
    from kernelease.kernels.shift_invariant import Radial, ShiftInvariant
    from kernelease.kernels.string import Spectrum
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "categorical": "Categorical Kronecker OTHER Similarity",
            "composite": "OnColumns Product WeightedSum",
            "conformance": "check_kernel",
            "dot_product": "BoxKernel DotProduct Polynomial",
            "kernel": "Kernel",
            "numeric": "Gaussian Laplace Matern32 Matern52 RationalQuadratic",
            "shift_invariant": "Radial ShiftInvariant",
            "string": "Spectrum",
        },
    )

__all__ = [
    "OTHER",
    "BoxKernel",
    "Categorical",
    "DotProduct",
    "Gaussian",
    "Kernel",
    "Kronecker",
    "Laplace",
    "Matern32",
    "Matern52",
    "OnColumns",
    "Polynomial",
    "Product",
    "Radial",
    "RationalQuadratic",
    "ShiftInvariant",
    "Similarity",
    "Spectrum",
    "WeightedSum",
    "check_kernel",
]
