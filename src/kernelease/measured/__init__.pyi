from kernelease.measured.blocks import (
    Block as Block,
    NoisyBlock as NoisyBlock,
    NoisyBlocks as NoisyBlocks,
    RowSums as RowSums,
)
from kernelease.measured.counts import Contrasts as Contrasts, Counts as Counts
from kernelease.measured.embeddings import (
    Gaussians as Gaussians,
    NoisyEmbedding as NoisyEmbedding,
    NoisyEmbeddings as NoisyEmbeddings,
)
from kernelease.measured.measured import Choice as Choice, Measured as Measured
from kernelease.measured.offsets import Moments as Moments, Sides as Sides
from kernelease.measured.selected import SelectedDatabase as SelectedDatabase
from kernelease.measured.spreads import Spread as Spread
from kernelease.measured.sums import Ramp as Ramp
