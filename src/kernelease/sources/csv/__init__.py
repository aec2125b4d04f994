"""CSV files: every cell a string, every line a row, and no line that can raise."""

from kernelease.sources.csv.file import CsvFile
from kernelease.sources.csv.format import CsvFormat

__all__ = ["CsvFile", "CsvFormat"]
