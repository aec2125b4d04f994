"""kernelease: publish a synthetic table in place of a private one, with a differential-privacy guarantee.

Names are loaded when they are first used, so that `import kernelease` and `kernelease --version` are quick.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernelease._version import __version__
from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.analysis.estimate import Estimate
    from kernelease.analysis.variables import RandomVariable
    from kernelease.check.inspection import check
    from kernelease.drafts import draft
    from kernelease.errors import BudgetError, CapacityError, KerneleaseError, ParameterError, PrivacyError
    from kernelease.features import FeatureMap, Fourier, HashedNgrams, KarKarnick, Nystrom, OneHot, RandomBinning
    from kernelease.fit import (
        EmpiricalMean,
        FixedPoints,
        Free,
        GreedyPreimages,
        L1Ball,
        MixtureSolver,
        NormalPoints,
        PublicPoints,
        Shrinkage,
        Simplex,
        Solution,
        SyntheticSet,
        UniformPoints,
    )
    from kernelease.fit.solver import PublishedRows
    from kernelease.kernels import (
        DotProduct,
        Gaussian,
        Kernel,
        Kronecker,
        Laplace,
        Matern32,
        Matern52,
        OnColumns,
        Polynomial,
        Product,
        RationalQuadratic,
        Similarity,
        Spectrum,
        WeightedSum,
    )
    from kernelease.measured import NoisyEmbedding
    from kernelease.methods import Adaptive, Interactions, Method, RandomFeatures, SmallDatabase, Subspace
    from kernelease.pipeline import fit, measure, plan, release
    from kernelease.privacy import (
        Calibration,
        Ledger,
        LedgerFile,
        MemoryLedger,
        Neighbours,
        Privacy,
        SeededNoise,
        SystemNoise,
    )
    from kernelease.private_tests import PrivateTest, private_independence_test, private_two_sample_test
    from kernelease.release import Certificate, Measurements, Release, load, save
    from kernelease.release.verify import verify
    from kernelease.seeds import PublicSeed
    from kernelease.synthesizer import Synthesizer
    from kernelease.table import Schema

__all__ = [
    "Adaptive",
    "BudgetError",
    "Calibration",
    "CapacityError",
    "Certificate",
    "DotProduct",
    "EmpiricalMean",
    "Estimate",
    "FeatureMap",
    "FixedPoints",
    "Fourier",
    "Free",
    "Gaussian",
    "GreedyPreimages",
    "HashedNgrams",
    "Interactions",
    "KarKarnick",
    "Kernel",
    "KerneleaseError",
    "Kronecker",
    "L1Ball",
    "Laplace",
    "Ledger",
    "LedgerFile",
    "Matern32",
    "Matern52",
    "Measurements",
    "MemoryLedger",
    "Method",
    "MixtureSolver",
    "Neighbours",
    "NoisyEmbedding",
    "NormalPoints",
    "Nystrom",
    "OnColumns",
    "OneHot",
    "ParameterError",
    "Polynomial",
    "Privacy",
    "PrivacyError",
    "PrivateTest",
    "Product",
    "PublicPoints",
    "PublicSeed",
    "PublishedRows",
    "RandomBinning",
    "RandomFeatures",
    "RandomVariable",
    "RationalQuadratic",
    "Release",
    "Schema",
    "SeededNoise",
    "Shrinkage",
    "Similarity",
    "Simplex",
    "SmallDatabase",
    "Solution",
    "Spectrum",
    "Subspace",
    "Synthesizer",
    "SyntheticSet",
    "SystemNoise",
    "UniformPoints",
    "WeightedSum",
    "__version__",
    "check",
    "draft",
    "fit",
    "load",
    "measure",
    "plan",
    "private_independence_test",
    "private_two_sample_test",
    "release",
    "save",
    "verify",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = front_door(
        __name__,
        {  # where each name is defined or, of packages that have a front door, offered
            "analysis.estimate": "Estimate",
            "analysis.variables": "RandomVariable",
            "check.inspection": "check",
            "drafts": "draft",
            "errors": "BudgetError CapacityError KerneleaseError ParameterError PrivacyError",
            "features": "FeatureMap Fourier HashedNgrams KarKarnick Nystrom OneHot RandomBinning",
            "fit": (
                "EmpiricalMean FixedPoints Free GreedyPreimages L1Ball MixtureSolver NormalPoints PublicPoints "
                "Shrinkage Simplex Solution SyntheticSet UniformPoints"
            ),
            "fit.solver": "PublishedRows",
            "kernels": (
                "DotProduct Gaussian Kernel Kronecker Laplace Matern32 Matern52 OnColumns Polynomial Product "
                "RationalQuadratic Similarity Spectrum WeightedSum"
            ),
            "measured": "NoisyEmbedding",
            "methods": "Adaptive Interactions Method RandomFeatures SmallDatabase Subspace",
            "pipeline": "fit measure plan release",
            "privacy": "Calibration Ledger LedgerFile MemoryLedger Neighbours Privacy SeededNoise SystemNoise",
            "private_tests": "PrivateTest private_independence_test private_two_sample_test",
            "release": "Certificate Measurements Release load save",
            "release.verify": "verify",
            "seeds": "PublicSeed",
            "synthesizer": "Synthesizer",
            "table": "Schema",
        },
    )


class _Package(ModuleType):
    """`fit` and `release` are functions here, and packages below: importing those must not take the names away."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
