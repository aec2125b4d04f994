"""Whether a file is still the file that was opened."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, final

from kernelease.errors import SourceError

Mark: TypeAlias = tuple[int, int, int] | None  # modification time, size, inode; None: no file, or an empty one


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """What the file system says about files: enough to notice that one was replaced, cut off or written to."""

    paths: tuple[Path, ...]
    marks: tuple[Mark, ...]

    @classmethod
    def of(cls, *paths: Path) -> "FileStamp":
        """A stamp to compare with later. A file that is missing has a mark too: that of a missing file."""
        return cls(paths=paths, marks=tuple(_mark(path) for path in paths))

    def check(self, description: str) -> None:
        """Raise a `SourceError` if a file is not as it was."""
        if tuple(_mark(path) for path in self.paths) != self.marks:
            raise SourceError(
                f"{description} changed while it was read; nothing was spent. Read a copy that nobody writes to."
            )


def _mark(path: Path) -> Mark:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size else None
