"""`kernelease report`: a release as a page to look at."""

from pathlib import Path
from typing import Annotated

import typer

from kernelease.cli.command import FAILED
from kernelease.cli.options import Bundle, Overwrite, Query, option
from kernelease.cli.screen import Screen, facts


def report(
    bundle: Bundle,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write, an .html file.")],
    private: Annotated[
        str | None,
        option("--private", "DATA", "For the owner alone: compare with the private table. The page is then private."),
    ] = None,
    query: Query = None,
    compare: Annotated[
        Path | None,
        option("--compare", "BUNDLE", "Another release of the same columns, to show side by side with this one."),
    ] = None,
    overwrite: Overwrite = False,
    screen: Screen,
) -> None:
    """Write the release explorer: one page with the guarantee, every column and pair, answers and checks.

    It opens in any browser without a network. A bundle that was changed gets a page that says so, and exit code 1. With
    --private the owner sees the private table beside the release, in a file whose name must say private. With --compare
    the page begins with two releases side by side, two years or two budgets, and every difference has its interval.
    """
    from kernelease.report.page import report_bundle

    with screen.progress() as progress:
        written, holds = report_bundle(
            bundle, out, private=private, query=query, compare=compare, overwrite=overwrite, progress=progress
        )
    size = written.stat().st_size
    about = [("page", written), ("size", f"{size / 1e6:.2f} MB"), ("bundle", "holds" if holds else "DOES NOT HOLD")]
    if private is not None:
        about.append(("PRIVATE", "it shows the private table: do not send or publish it"))
    screen.summary({"page": str(written), "bytes": size, "holds": holds}, facts(about))
    if not holds:
        raise typer.Exit(FAILED)
