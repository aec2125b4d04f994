from kernelease.sources.csv_file import CsvFormat as CsvFormat
from kernelease.sources.opening import open_declared as open_declared, open_source as open_source
from kernelease.sources.source import Source as Source
