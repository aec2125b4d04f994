"""The page of a release: one file that carries everything and fetches nothing."""

import html
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kernelease.errors import BundleError
from kernelease.progress import SILENT, Progress
from kernelease.release.bundle import documents, release_of
from kernelease.release.container import read_bundle
from kernelease.release.release import Release
from kernelease.release.sums import SUMS, sums_file
from kernelease.report import assets
from kernelease.report.contents import contents
from kernelease.report.owner import check_private_name, owner_record
from kernelease.report.seals import seal_record

_ENDINGS = (".html", ".htm")


def report_bundle(
    bundle: str | Path,
    out: str | Path,
    *,
    private: Any = None,
    query: str | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> tuple[Path, bool]:
    """Write the page of a bundle; with it, whether all that can be checked of the bundle holds.

    A bundle that was changed gets a page, too, which says so in red: whoever was sent it should see that. With the
    `private` table itself, the page compares the two for its owner, and is as private as that table.
    """
    check_page(out, overwrite=overwrite)
    if private is not None:
        check_private_name(out, bundle)
    files = read_bundle(bundle)
    if "data.parquet" not in files:
        raise BundleError(f"{bundle}: holds measurements only. Make rows from them with `kernelease fit`.")
    release = release_of(files)
    content = sealed_contents(release, files, bundle=str(bundle), progress=progress)
    if private is not None:
        progress.stage("comparing with the private table")
        content["owner"] = owner_record(release, private, query=query)
    return write_page(content, out, overwrite=overwrite), all(item["holds"] for item in content["seals"]["findings"])


def report_release(release: Release, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write the page of a release that is at hand: not signed, since it is not a bundle yet."""
    check_page(out, overwrite=overwrite)
    files = documents(release)
    files[SUMS] = sums_file(files)
    return write_page(sealed_contents(release, files, bundle="BUNDLE"), out, overwrite=overwrite)


def sealed_contents(
    release: Release, files: Mapping[str, bytes], *, bundle: str, progress: Progress = SILENT
) -> dict[str, Any]:
    """What the page says of a release, and the files of its bundle, by which it can be checked."""
    progress.stage("asking the release")
    content = contents(release, bundle=bundle)
    progress.stage("checking the bundle")
    return {**content, "seals": seal_record(files)}


def page(content: Mapping[str, Any]) -> str:
    """The page as text. Whatever names and values the content has, they stay text in it."""
    scripts, style = assets.scripts(), assets.style()
    parts = {
        "policy": html.escape(assets.policy(scripts, style)),
        "title": html.escape(f"{content['title']} · release explorer"),
        "style": style,
        "data": embedded(content),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = assets.template().split("%%")  # text, name of a part, text, name of a part, …, text
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def embedded(content: Any) -> str:
    r"""JSON that can't end the element it stands in, nor be taken for markup.

    >>> embedded({"a": "</script><!--"})
    '{"a":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def check_page(out: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a page can't be written there: another ending, or a file that is not to be replaced."""
    if Path(out).suffix.lower() not in _ENDINGS:
        raise BundleError(f"{out}: the name of a page must end in .html.")
    if not overwrite and os.path.lexists(out):
        raise BundleError(f"{out} already exists. Choose another name, or ask to overwrite it.")


def write_page(content: Mapping[str, Any], out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all."""
    check_page(out, overwrite=overwrite)
    target = Path(out)
    draft = target.parent / f".kernelease-{secrets.token_hex(8)}.partial"
    try:
        draft.touch(mode=0o600 if "owner" in content else 0o666)  # what compares with private rows is its owner's alone
        draft.write_text(page(content), encoding="utf-8", newline="\n")
        os.replace(draft, target)
    except OSError as error:
        raise BundleError(f"{out} could not be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return target
