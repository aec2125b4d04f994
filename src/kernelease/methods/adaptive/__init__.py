"""Vectors: a private first look, then a subspace around what it showed."""
