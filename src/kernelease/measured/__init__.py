"""Mean embeddings: exact (private, unprintable) and noisy (public).

This module exports the public half only. Code that handles private rows imports `kernelease.private.embedding` by name,
which the import contract forbids to the public packages.
"""

from kernelease.measured.embedding import NoisyEmbedding

__all__ = ["NoisyEmbedding"]
