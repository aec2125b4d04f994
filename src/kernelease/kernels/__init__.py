"""Kernels: how alike two rows are, with the bounds that privacy and rates rest on."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.kernels.composite import OnColumns, Product, WeightedSum
    from kernelease.kernels.discrete import OTHER, Categorical, Kronecker, Similarity, Spectrum
    from kernelease.kernels.dot_product import BoxKernel, DotProduct, LabelledSphere, Polynomial
    from kernelease.kernels.kernel import Kernel
    from kernelease.kernels.numeric import (
        Gaussian,
        Laplace,
        Matern32,
        Matern52,
        Radial,
        RationalQuadratic,
        ShiftInvariant,
    )
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "composite": "OnColumns Product WeightedSum",
            "discrete": "Categorical Kronecker OTHER Similarity Spectrum",
            "dot_product": "BoxKernel DotProduct LabelledSphere Polynomial",
            "kernel": "Kernel",
            "numeric": "Gaussian Laplace Matern32 Matern52 Radial RationalQuadratic ShiftInvariant",
        },
    )

__all__ = ["BoxKernel", "DotProduct", "Gaussian", "Laplace", "Matern32", "Matern52", "Polynomial", "RationalQuadratic"]
__all__ += ["OTHER", "Categorical", "Kronecker", "LabelledSphere", "Similarity", "Spectrum"]
__all__ += ["Kernel", "OnColumns", "Product", "Radial", "ShiftInvariant", "WeightedSum"]
