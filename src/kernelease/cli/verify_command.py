"""`kernelease verify`: check a bundle without trusting it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.command import FAILED
from kernelease.cli.options import Bundle, option
from kernelease.cli.screen import Screen, facts

if TYPE_CHECKING:
    from kernelease.bundle.verify import Finding


def verify(
    bundle: Bundle,
    *,
    key: Annotated[
        Path | None, option("--key", "FILE", "The publisher's public key: the bundle must be signed by it.")
    ] = None,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Take the method's steps and make the rows again, and compare. Takes as long."),
    ] = False,
    ledger: Annotated[
        Path | None,
        option("--ledger", "FILE", "The owner's ledger: it must have the entry, and say the same of it."),
    ] = None,
    screen: Screen,
) -> None:
    """Check sums and signature, recompute the guarantee from the noise, compare all documents, look at every row.

    The exit code is 0 if all of it holds, else 1.
    """
    from kernelease.bundle.signing import load_public_key
    from kernelease.bundle.verify import on_trust, verify as verify_bundle
    from kernelease.ledgers import LedgerFile

    found = verify_bundle(
        bundle,
        trusted_key=None if key is None else load_public_key(key),
        refit=refit,
        ledger=None if ledger is None else LedgerFile.open(ledger),
    )
    holds = all(finding.holds for finding in found)
    open_to_trust = on_trust(found, refit=refit)
    fields = {
        "bundle": str(bundle),
        "holds": holds,
        "on_trust": list(open_to_trust),
        "findings": [{"check": item.check, "holds": item.holds, "detail": item.detail} for item in found],
    }
    shown = [(f"{_sign(item)} {item.check}", item.detail) for item in found]
    lines = facts(
        [*shown, *((f"{'on trust' if not number else ''}", what) for number, what in enumerate(open_to_trust))]
    )
    screen.summary(fields, lines)
    if not holds:
        raise typer.Exit(FAILED)


def _sign(finding: "Finding") -> str:
    """A tick for what was checked and holds, a cross for what does not, a dash where there was nothing to check."""
    if finding.check == "signature" and finding.holds and finding.detail.startswith("not signed"):
        return "–"
    return "✓" if finding.holds else "✗"
