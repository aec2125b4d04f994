"""What has been paid for: noisy numbers, each of which saves, checks and describes itself. All public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.measured.block import Block
    from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
    from kernelease.measured.choice import Choice
    from kernelease.measured.embedding import NoisyEmbedding
    from kernelease.measured.embeddings import NoisyEmbeddings
    from kernelease.measured.gaussians import Gaussians
    from kernelease.measured.measured import Measured
    from kernelease.measured.ramp import Ramp
    from kernelease.measured.selected import SelectedDatabase
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "block": "Block",
            "blocks": "NoisyBlock NoisyBlocks",
            "choice": "Choice",
            "embedding": "NoisyEmbedding",
            "embeddings": "NoisyEmbeddings",
            "gaussians": "Gaussians",
            "measured": "Measured",
            "ramp": "Ramp",
            "selected": "SelectedDatabase",
        },
    )

__all__ = [
    "Block",
    "Choice",
    "Gaussians",
    "Measured",
    "NoisyBlock",
    "NoisyBlocks",
    "NoisyEmbedding",
    "NoisyEmbeddings",
    "Ramp",
    "SelectedDatabase",
]
