"""Two names exchanged in one step, where the system can."""

import ctypes
import errno
import os
import sys
from pathlib import Path

_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD: paths are as the process sees them
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Let two existing paths swap what they name, so that neither is missing at any time; False where that can't be.

    Two renames in a row would leave a moment without a bundle, and a crash in it would hide one that was paid for.
    """
    names = os.fsencode(one), os.fsencode(other)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, _SWAP)
        else:
            failed = libc.renameat2(_HERE, names[0], _HERE, names[1], _SWAP)
    except (AttributeError, OSError, TypeError):  # no such function in this C library; Windows has no library None
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))
