"""kernelease: publish a synthetic table in place of a private one, with a differential-privacy guarantee.

Here is what a release takes; the parts to build with are in `kernels`, `features`, `fit` and `methods`, the types of
answers in `analysis`, those of noise and budgets in `privacy`, all exceptions in `errors`. Names are loaded when they
are first used, so that `import kernelease` and `kernelease --version` are quick.
"""

from typing import TYPE_CHECKING

from kernelease._version import __version__
from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease import analysis, errors, features, fit, kernels, methods, privacy, table
    from kernelease.analysis.estimate import Estimate
    from kernelease.answers.release import Release, load, save
    from kernelease.answers.replicates import pool
    from kernelease.bundle.verify import verify
    from kernelease.certificate import Certificate, Measurements
    from kernelease.drafting.drafts import draft
    from kernelease.drafting.inspection import check
    from kernelease.errors import KerneleaseError
    from kernelease.ledgers import LedgerFile, MemoryLedger
    from kernelease.methods import Adaptive, Interactions, RandomFeatures, SmallDatabase, Subspace
    from kernelease.noises import SeededNoise
    from kernelease.pipeline import measure, plan, release
    from kernelease.privacy import Neighbours, Privacy, SystemNoise
    from kernelease.private_tests import private_independence_test, private_two_sample_test
    from kernelease.seeds import PublicSeed
    from kernelease.synthesizer import Synthesizer
    from kernelease.table import Schema

__all__ = ["Certificate", "Estimate", "Measurements", "Release", "Schema", "Synthesizer", "__version__"]
__all__ += ["check", "draft", "load", "measure", "plan", "pool", "release", "save", "verify"]
__all__ += ["LedgerFile", "MemoryLedger", "Neighbours", "Privacy", "PublicSeed", "SeededNoise", "SystemNoise"]
__all__ += ["Adaptive", "Interactions", "RandomFeatures", "SmallDatabase", "Subspace"]
__all__ += ["private_independence_test", "private_two_sample_test"]
__all__ += ["KerneleaseError", "analysis", "errors", "features", "fit", "kernels", "methods", "privacy", "table"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = front_door(
        __name__,
        {  # where each name is defined or, of packages that have a front door, offered; a package is its own home
            "analysis": "analysis",
            "analysis.estimate": "Estimate",
            "answers.replicates": "pool",
            "answers.release": "Release load save",
            "bundle.verify": "verify",
            "certificate": "Certificate Measurements",
            "drafting.inspection": "check",
            "drafting.drafts": "draft",
            "errors": "errors KerneleaseError",
            "features": "features",
            "fit": "fit",
            "kernels": "kernels",
            "ledgers": "LedgerFile MemoryLedger",
            "methods": "methods Adaptive Interactions RandomFeatures SmallDatabase Subspace",
            "noises": "SeededNoise",
            "pipeline": "measure plan release",
            "privacy": "privacy Neighbours Privacy SystemNoise",
            "private_tests": "private_independence_test private_two_sample_test",
            "seeds": "PublicSeed",
            "synthesizer": "Synthesizer",
            "table": "table Schema",
        },
    )
