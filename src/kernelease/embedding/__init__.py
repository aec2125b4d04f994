"""Mean embeddings: exact (private, unprintable) and noisy (public).

This module exports the public half only. Code that handles private rows imports `kernelease.embedding.exact` by name,
which the import contract forbids to the public packages.
"""

from kernelease.embedding.noisy import NoisyEmbedding

__all__ = ["NoisyEmbedding"]
