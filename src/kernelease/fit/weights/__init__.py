"""Weights for points that stay where they are."""
