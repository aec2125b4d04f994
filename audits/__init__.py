"""Attacks on the guarantee, run by `make audit`: each case passes on the product and catches a broken twin of it."""
