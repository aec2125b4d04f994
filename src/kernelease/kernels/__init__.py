"""Kernels: how alike two rows are, with the bounds that privacy and rates rest on."""

from kernelease.kernels.categorical import OTHER, Categorical, Kronecker, Similarity
from kernelease.kernels.composite import OnColumns, Product, WeightedSum
from kernelease.kernels.conformance import check_kernel
from kernelease.kernels.dot_product import BoxKernel, DotProduct, Polynomial
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.numeric import Gaussian, Laplace, Matern32, Matern52, RationalQuadratic
from kernelease.kernels.shift_invariant import Radial, ShiftInvariant
from kernelease.kernels.string import Spectrum

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
