"""What has been paid for: noisy numbers, each of which saves, checks and describes itself. All public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, RowSums
    from kernelease.measured.counts import Contrasts, Counts
    from kernelease.measured.embeddings import Gaussians, NoisyEmbedding, NoisyEmbeddings
    from kernelease.measured.measured import Choice, Measured
    from kernelease.measured.offsets import Moments
    from kernelease.measured.selected import SelectedDatabase
    from kernelease.measured.spreads import Spread
    from kernelease.measured.sums import Ramp
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "blocks": "Block NoisyBlock NoisyBlocks RowSums",
            "counts": "Contrasts Counts",
            "embeddings": "Gaussians NoisyEmbedding NoisyEmbeddings",
            "measured": "Choice Measured",
            "offsets": "Moments",
            "selected": "SelectedDatabase",
            "spreads": "Spread",
            "sums": "Ramp",
        },
    )

__all__ = [
    "Block",
    "Choice",
    "Contrasts",
    "Counts",
    "Gaussians",
    "Measured",
    "Moments",
    "NoisyBlock",
    "NoisyBlocks",
    "NoisyEmbedding",
    "NoisyEmbeddings",
    "Ramp",
    "RowSums",
    "SelectedDatabase",
    "Spread",
]
