"""Blocks of one kind as such of another."""

from kernelease.measured.blocks import Block
from kernelease.measured.counts import Contrasts


def as_contrasts(block: Block) -> Contrasts:
    """The contrasts of the same cells, for the same share."""
    return Contrasts(columns=block.columns, groups=block.groups, share=block.share)
