"""Words as they are written: whether they can be at all, and which known one was meant."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100  # characters; what is longer is no slip of the hand, and slow to compare


def closest(word: str, known: Iterable[str], least: float = 0.5) -> str | None:
    """The known word that a word is most like, whatever their case; None where all are less alike than `least`, 0 to 1.

    >>> closest("male", ("Female", "Male")), closest("Male", ("age", "sex"), least=0.7)
    ('Male', None)
    """
    if len(word) > _LONGEST:
        return None
    folded: dict[str, str] = {}
    for other in known:
        if len(other) <= _LONGEST:
            folded.setdefault(other.casefold(), other)
    near = get_close_matches(word.casefold(), folded, 1, least)
    return folded[near[0]] if near else None


def nearest(word: str, known: Iterable[str]) -> str:
    """A suggestion for a misspelt word, or nothing.

    >>> nearest("mni", ("min", "max"))
    ' Did you mean min?'
    """
    near = closest(word, known)
    return f" Did you mean {near}?" if near is not None else ""


def is_encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return False
    return True
