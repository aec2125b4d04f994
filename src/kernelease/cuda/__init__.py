"""Sums and counts on one NVIDIA GPU, through CuPy: the same integers as on the processor, sooner."""
