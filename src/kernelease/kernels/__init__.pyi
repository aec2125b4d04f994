from kernelease.kernels.composite import OnColumns as OnColumns, Product as Product, WeightedSum as WeightedSum
from kernelease.kernels.discrete import (
    OTHER as OTHER,
    Categorical as Categorical,
    Kronecker as Kronecker,
    Similarity as Similarity,
    Spectrum as Spectrum,
)
from kernelease.kernels.dot_product import (
    BoxKernel as BoxKernel,
    DotProduct as DotProduct,
    LabelledSphere as LabelledSphere,
    Polynomial as Polynomial,
)
from kernelease.kernels.kernel import Kernel as Kernel
from kernelease.kernels.numeric import (
    Gaussian as Gaussian,
    Laplace as Laplace,
    Matern32 as Matern32,
    Matern52 as Matern52,
    Radial as Radial,
    RationalQuadratic as RationalQuadratic,
    ShiftInvariant as ShiftInvariant,
)
