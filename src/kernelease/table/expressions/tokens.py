"""The words of a condition."""

import re
from collections.abc import Iterator
from enum import StrEnum, unique
from typing import NamedTuple, final

from kernelease.errors import ParameterError
from kernelease.table.columns.spelling import is_encodable

LONGEST = 10_000  # characters of a condition
KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false", "if", "then"})

_TOKEN = re.compile(  # possessive, so that no text takes longer than its length
    r"""\s*+(?:
        (?P<sign><=|>=|==|!=|[<>(),+\-*/])
      | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)(?![\w.])
      | '(?P<text>[^']*+(?:''[^']*+)*+)'
      | "(?P<quoted>[^"]*+(?:""[^"]*+)*+)"
      | `(?P<ticked>[^`]*+)`
      | (?P<word>[^\W\d]\w*+(?:[.\-]++\w++)*+)
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d]\w*+(?:[.\-]++\w++)*+")
_EXAMPLE = "Write age > 30 and sex == 'Female', with and, or, not, in ('a', 'b'), is null; = is ==, <> is !=."
SHOWN = 40  # characters of a text that a message repeats


@final
@unique
class Kind(StrEnum):
    """What a token is, by the groups of the pattern."""

    SIGN = "sign"
    NUMBER = "number"
    TEXT = "text"
    QUOTED = "quoted"
    TICKED = "ticked"
    WORD = "word"
    KEYWORD = "keyword"
    END = "end"


class Token(NamedTuple):
    """A word of the language: its kind, and its text without quotes."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return "the end" if self.kind is Kind.END else shown(self.text)


END = Token(Kind.END, "")


def tokens(text: object) -> Iterator[Token]:
    """The tokens of a text, or a `ParameterError`.

    >>> [token.text for token in tokens("age>=18 and 'it''s' != `odd name`")]
    ['age', '>=', '18', 'and', "it's", '!=', 'odd name']
    """
    if not isinstance(text, str):
        raise unreadable("must be a string")
    if len(text) > LONGEST:
        raise unreadable(f"it is longer than {LONGEST:,} characters")
    if not is_encodable(text):
        raise unreadable("it holds characters that are none, as from a terminal of another encoding")
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise unreadable(f"it can't be read from {shown(text[position:].strip())} on")
        yield _token(Kind(match.lastgroup), match[match.lastgroup])
        position = match.end()


def _token(kind: Kind, text: str) -> Token:
    if kind is Kind.TEXT:
        return Token(kind, text.replace("''", "'"))
    if kind is Kind.QUOTED:
        return Token(kind, text.replace('""', '"'))
    return Token(Kind.KEYWORD if kind is Kind.WORD and text in KEYWORDS else kind, text)


def spell_name(name: str) -> str:
    """A column's name as it is written.

    >>> spell_name("hours-per-week"), spell_name("in"), spell_name('5" nails')
    ('hours-per-week', '"in"', '"5"" nails"')
    """
    plain = _WORD.fullmatch(name) is not None and name not in KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


def spell_text(text: str) -> str:
    """A text as it is written."""
    return "'" + text.replace("'", "''") + "'"


def shown(text: object, most: int = SHOWN) -> str:
    """What was given, for a message: text in quotes, and not too long."""
    return repr(f"{text[:most]}…" if isinstance(text, str) and len(text) > most else text)


def unreadable(message: str) -> ParameterError:
    """An error that ends with how conditions are written."""
    return ParameterError(f"{message}. {_EXAMPLE}")
