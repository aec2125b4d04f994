"""`kernelease keys`: key pairs to sign releases with."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.screen import Screen, facts
from kernelease.errors import SigningError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

keys = typer.Typer(no_args_is_help=True, help="Keys to sign releases with: make a pair, show a fingerprint.")


@keys.command()
def make(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the two files go.")],
    *,
    screen: Screen,
) -> None:
    """Make a key pair: signing_key.pem, to be kept secret, and public_key.pem. Nothing is overwritten.

    Publish the fingerprint by another way than the bundles, so that readers can compare it.
    """
    from kernelease.bundle.signing import make_key

    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise SigningError(f"The folder {folder} can't be made: {error.strerror}.") from error
    made = make_key(folder)
    fields = {"private_key": str(made.private), "public_key": str(made.public), "fingerprint": made.fingerprint}
    shown = [("private key", made.private), ("public key", made.public), *_fingerprint(made.fingerprint)]
    screen.summary(fields, facts(shown))


@keys.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A public or a private key.", exists=True)],
    *,
    screen: Screen,
) -> None:
    """Show the fingerprint of a key."""
    from kernelease.bundle.signing import fingerprint

    whole = fingerprint(_public(file))
    screen.result({"key": str(file), "fingerprint": whole}, facts(_fingerprint(whole)))


def _fingerprint(whole: str) -> list[tuple[str, object]]:
    from kernelease.bundle.signing import short_fingerprint

    return [("fingerprint", whole), ("in short", short_fingerprint(whole))]


def _public(file: Path) -> "Ed25519PublicKey":
    from kernelease.bundle.signing import load_private_key, load_public_key

    try:
        return load_private_key(file).public_key()
    except SigningError:
        return load_public_key(file)
