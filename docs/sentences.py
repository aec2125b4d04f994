"""How long the sentences are that owners and analysts read: python docs/sentences.py.

Code, tables, headings, pictures and links' addresses are left out. A sentence ends at a full stop, a question mark, or
where its paragraph or line of a list ends; a word is whatever stands between two spaces and has a letter or a digit.
"""

import re
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parent.parent
OWNERS = (
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "tutorial", "schema", "faq", "explorer", "several-tables", "first-hour")),
)
ANALYSTS = tuple(f"docs/{name}.md" for name in ("answers", "questions", "your-tools", "machine-learning", "variables"))
_CODE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LEFT_OUT = re.compile(r"^(#|\||!\[|<!--|    |\s*$)")
_LIST = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_INLINE = re.compile(r"`[^`]*`")
_END = re.compile(r"(?<=[.?!])[*_)]*\s+(?=[A-Z(*_\"“Α-ω])")


def sentences_of(text: str) -> list[str]:
    """The sentences of a page of Markdown, each with single spaces.

    >>> sentences_of("# A\\n\\nOne is short. Two\\nis, too:\\n\\n- `x y` three")
    ['One is short.', 'Two is, too:', 'Code three']
    """
    paragraphs: list[list[str]] = [[]]
    for line in _CODE.sub("", text).splitlines():
        if _LEFT_OUT.match(line) or _LIST.match(line):
            paragraphs.append([])
        if not _LEFT_OUT.match(line):
            paragraphs[-1].append(_LIST.sub("", line).strip())
    joined = (" ".join(paragraph) for paragraph in paragraphs if paragraph)
    plain = (_INLINE.sub("Code", _LINK.sub(r"\1", paragraph)) for paragraph in joined)
    return [found.strip() for paragraph in plain for found in _END.split(paragraph) if found.strip()]


def length_of(sentence: str) -> int:
    """How many words it has.

    >>> length_of("Two words – that is four.")
    5
    """
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def print_lengths(longest: int = 0) -> None:
    """Means by page and by reader; with `longest`, that many of the longest sentences."""
    for reader, pages in (("owner", OWNERS), ("analyst", ANALYSTS)):
        found = {page: sentences_of((ROOT / page).read_text(encoding="utf-8")) for page in pages}
        every = [one for own in found.values() for one in own]
        print(f"{reader:<28} sentences  words  over 25")
        for page, own in [*found.items(), ("all", every)]:
            lengths = [length_of(one) for one in own]
            print(f"{page:<28} {len(own):>9}  {mean(lengths):5.1f}  {mean(one > 25 for one in lengths):6.0%}")
        for one in sorted(every, key=length_of, reverse=True)[:longest]:
            print(f"  {length_of(one)}: {one}")


if __name__ == "__main__":
    print_lengths(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
