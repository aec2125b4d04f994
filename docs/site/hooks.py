"""What the site does to pages: links that leave become text, the demo has a report, search needs no server."""

import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from kernelease.answers.release import load, save
from kernelease.bundle.signing import load_private_key, make_key
from kernelease.cli.demo_command import demo
from kernelease.cli.screen import Screen
from kernelease.report.page import report_bundle

_DOCS = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?://|#)([^)#\s]+)(#[^)]*)?\)")
_HERE = "<!-- on the site, a live report -->"
_LIVE = "[Open a report](demo.html): that of `kernelease demo`, a release of 20,000 generated rows, signed."


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The demo's report is made with the site. Its noise is the operating system's: another release each time."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        bundle, page = Path("demo-release"), Path("demo.html")
        demo(out=bundle, screen=Screen(quiet=True))
        save(load(bundle), bundle, key=load_private_key(make_key(Path()).private), overwrite=True)
        report_bundle(bundle, page)
        files.append(File.generated(config, page.name, content=page.read_text(encoding="utf-8")))
    return files


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """The search from a folder stands before all other scripts, which look for it when they begin."""
    base = "../" * page.url.count("/")
    return output.replace("</head>", f'<script src="{base}site/offline.js"></script></head>', 1)


def on_post_build(*, config: MkDocsConfig) -> None:
    """The index of the search as a script, too: a page that was opened from a folder may read no other file."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index};\n", encoding="utf-8")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A file of the repository that is no page (a test, a module) is named, not linked: the site has no copy of it."""
    folder = (_DOCS / page.file.src_uri).parent

    def kept(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        inside = target.is_relative_to(_DOCS) and target.suffix != ".py"
        return match[0] if inside else f"{match[1]}"

    return _LINK.sub(kept, markdown).replace(_HERE, _LIVE)
