"""Keys of caches."""

from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class Identity(Generic[T]):
    """A key that only the very same object equals. It holds the object, whose identity no other can take meanwhile."""

    __slots__ = ("held",)

    def __init__(self, held: T) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)
