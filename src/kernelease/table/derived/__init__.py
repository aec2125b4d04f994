"""Columns that are neither read nor measured: what everybody knows about a row, from its other columns."""
