"""Where private rows come from: files, databases, data frames, all as Arrow record batches of bounded size."""

from kernelease.sources.conformance import check_source
from kernelease.sources.csv import CsvFormat
from kernelease.sources.opening import open_declared, open_source
from kernelease.sources.source import Source

__all__ = ["CsvFormat", "Source", "check_source", "open_declared", "open_source"]
