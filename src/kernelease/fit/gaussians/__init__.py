"""Mixtures of round Gaussians, fitted to noisy embeddings."""
