"""Code books: what the documentation of a table says about its columns."""

from kernelease.table.dictionaries.described import Described
from kernelease.table.dictionaries.reading import read_dictionary

__all__ = ["Described", "read_dictionary"]
