"""Mixtures of products, fitted to noisy counts, and rows drawn from them."""
