"""What Arrow's threads hold must not be Python's: they may let go of it when Python has ended."""

import sys

from kernelease.bundle.data_parquet import _to_buffer


def test_bytes_are_copied_into_arrow_s_own_memory() -> None:
    data = bytes(range(256))
    before = sys.getrefcount(data)
    buffer = _to_buffer(data)
    assert buffer.to_pybytes() == data
    assert buffer.parent is None
    assert sys.getrefcount(data) == before
