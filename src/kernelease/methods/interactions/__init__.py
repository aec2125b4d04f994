"""Tables: noisy counts in rounds, and a mixture that matches them."""

from kernelease.methods.interactions.interactions import Interactions

__all__ = ["Interactions"]
