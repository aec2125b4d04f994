"""Where private rows come from: files, databases, data frames, all as Arrow record batches of bounded size."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.sources.csv_file import CsvFormat
    from kernelease.sources.opening import open_declared, open_source
    from kernelease.sources.source import Source
else:
    __getattr__, __dir__ = front_door(
        __name__, {"csv_file": "CsvFormat", "opening": "open_declared open_source", "source": "Source"}
    )

__all__ = ["CsvFormat", "Source", "open_declared", "open_source"]
