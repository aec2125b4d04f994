"""What the site does to pages: links that leave the folder of documents become plain text."""

import re
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A file of the repository that is no page (a test, a module) is named, not linked: the site has no copy of it."""
    folder = (_DOCS / page.file.src_uri).parent

    def kept(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        inside = target.is_relative_to(_DOCS) and target.suffix != ".py"
        return match[0] if inside else f"{match[1]}"

    return _LINK.sub(kept, markdown)
