"""What a release says, as its questions need it: put together once, and kept while the release is asked."""

from enum import StrEnum
from functools import lru_cache
from typing import TypeVar, final

from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import Evidence
from kernelease.errors import ParameterError
from kernelease.release.released import Released

Choice = TypeVar("Choice", bound=StrEnum)
KEPT = 16  # releases, for each target, whose evidence stays at hand


def evidence_of(release: Released, target: Target | str) -> Evidence:
    """The evidence of a release of a table."""
    if release.schema is None:
        raise ParameterError("This release has no schema, so its columns have no declared meaning to ask about.")
    return _kept(_Same(release), choice(Target, target, "target"))


def choice(kind: type[Choice], given: Choice | str, name: str) -> Choice:
    """A member of an enumeration by its value, or an error that lists all of them."""
    try:
        return kind(given)
    except ValueError:
        names = " or ".join(repr(str(item)) for item in kind)
        raise ParameterError(f"{name} must be {names}, got {given!r}.") from None


@final
class _Same:
    """A key that only the very same release equals. It holds the release, so that no other takes its identity."""

    __slots__ = ("release",)

    def __init__(self, release: Released) -> None:
        self.release = release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.release is other.release

    def __hash__(self) -> int:
        return id(self.release)


@lru_cache(maxsize=KEPT)
def _kept(same: _Same, target: Target) -> Evidence:
    release = same.release
    assert release.schema is not None  # whoever asks has looked
    return Evidence(
        schema=release.schema,
        measured=release.measured,
        rows=release.rows,
        weights=release.weights,
        target=target,
    )
