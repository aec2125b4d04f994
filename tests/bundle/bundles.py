"""Bundles to test with: a small one of every name, and zips that no honest program writes."""

import struct
import zlib
from dataclasses import dataclass

from kernelease.bundle.container import NAMES, SEALS

FILES = {name: f"the content of {name}\n".encode() * 3 for name in sorted(NAMES - SEALS)}


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of a zip, each field of its headers free to lie."""

    name: bytes
    data: bytes = b"hello"
    method: int = 0
    flags: int = 0
    attributes: int = 0
    packed: bytes | None = None  # the bytes in the file; None: as the method asks
    claimed: int | None = None  # the size in the headers; None: the truth
    crc: int | None = None
    version: int = 20
    extra: bytes = b""

    def body(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return zlib.compress(self.data, wbits=-15) if self.method == 8 else self.data

    def fields(self) -> bytes:
        crc = zlib.crc32(self.data) if self.crc is None else self.crc
        size = len(self.data) if self.claimed is None else self.claimed
        lengths = struct.pack("<3L", crc, len(self.body()) & 0xFFFFFFFF, size & 0xFFFFFFFF)
        head = struct.pack("<5H", self.version, self.flags, self.method, 0, 0x21)
        return head + lengths + struct.pack("<2H", len(self.name), len(self.extra))


def raw_zip(*members: Member) -> bytes:
    """A zip made by hand."""
    body, directory = bytearray(), bytearray()
    for member in members:
        offset = len(body)
        body += b"PK\3\4" + member.fields() + member.name + member.extra + member.body()
        directory += b"PK\1\2" + struct.pack("<H", 3 << 8 | 20) + member.fields()
        directory += struct.pack("<3H2L", 0, 0, 0, member.attributes, offset) + member.name + member.extra
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return bytes(body + directory + end)


def zeros(mebibytes: int) -> bytes:
    """So many mebibytes of zeros, deflated to a thousandth, made from one block repeated."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * mebibytes + zlib.compressobj(9, wbits=-15).flush()
