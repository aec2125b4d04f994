"""CSV files: every cell a string, every record a row, and no record that can raise."""

from kernelease.sources.csv.file import CsvFile
from kernelease.sources.csv.format import CsvFormat

__all__ = ["CsvFile", "CsvFormat"]
