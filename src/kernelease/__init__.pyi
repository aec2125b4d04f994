from kernelease import (
    analysis as analysis,
    errors as errors,
    features as features,
    fit as fit,
    kernels as kernels,
    methods as methods,
    privacy as privacy,
    table as table,
)
from kernelease._version import __version__ as __version__
from kernelease.analysis.estimate import Estimate as Estimate
from kernelease.answers.release import Release as Release, load as load, save as save
from kernelease.answers.replicates import pool as pool
from kernelease.bundle.verify import verify as verify
from kernelease.certificate import Certificate as Certificate, Measurements as Measurements
from kernelease.drafting.drafts import draft as draft
from kernelease.drafting.inspection import check as check
from kernelease.errors import KerneleaseError as KerneleaseError
from kernelease.ledgers import LedgerFile as LedgerFile, MemoryLedger as MemoryLedger
from kernelease.methods import (
    Adaptive as Adaptive,
    Interactions as Interactions,
    RandomFeatures as RandomFeatures,
    SmallDatabase as SmallDatabase,
    Subspace as Subspace,
)
from kernelease.noises import SeededNoise as SeededNoise
from kernelease.pipeline import measure as measure, plan as plan, release as release
from kernelease.privacy import Neighbours as Neighbours, Privacy as Privacy, SystemNoise as SystemNoise
from kernelease.private_tests import (
    private_independence_test as private_independence_test,
    private_two_sample_test as private_two_sample_test,
)
from kernelease.seeds import PublicSeed as PublicSeed
from kernelease.synthesizer import Synthesizer as Synthesizer
from kernelease.table import Schema as Schema
