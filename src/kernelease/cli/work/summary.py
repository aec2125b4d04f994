"""What was made, as facts for people and fields for machines. All of it is in the bundle, too."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.answers.release import Release
from kernelease.answers.tables import TablesRelease
from kernelease.bundle.signing import fingerprint, short_fingerprint
from kernelease.certificate import Certificate, Measurements
from kernelease.cli.screen import Screen, facts
from kernelease.drafting.findings import Level, Report
from kernelease.errors import LedgerError, ParameterError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import remaining_in_words
from kernelease.methods.bags import Bags
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.privacy.ledger import Ledger

# --------------------
# Which solver makes rows of measurements.


def solved_by(method: Method, *, components: int | None, steps: int | None, goal: float | None) -> Method:
    """The method that measured, with the solver that was asked for. Only counts are fitted by a mixture."""
    solver = MixtureSolver(components=components, steps=steps, goal=goal)
    if isinstance(method, Interactions):
        return dataclasses.replace(method, solver=solver)
    if isinstance(method, Bags):
        return dataclasses.replace(method, interactions=dataclasses.replace(method.interactions, solver=solver))
    if solver != MixtureSolver():
        raise ParameterError(f"--components, --steps, --goal: {type(method).__name__} fits no mixture. Leave them out.")
    return method


# --------------------
# A report of the owner's private look, on the screen.


_COLOURS = {Level.NOTE: "green", Level.LOOK: "yellow", Level.DAMAGE: "red"}


def show(screen: Screen, report: Report) -> None:
    """The report in colours, every line of it marked as private: so none is wrapped into two."""
    if screen.json:
        screen.result(report.to_dict())
        return
    for level, text in report.lines():
        typer.secho(text, fg=_COLOURS[level], bold=level is Level.DAMAGE)


# --------------------
# The summary of a release or a fit.


def show_bundle(
    screen: Screen,
    content: Release | TablesRelease | Measurements,
    path: Path,
    *,
    why: str | None = None,
    ledger: Ledger | None = None,
    key: Ed25519PrivateKey | None = None,
    looked: str | None = None,
) -> None:
    """The summary at the end of a command that wrote a bundle. `looked`, on the owner's screen alone: who checked."""
    with _in_place(path):
        _show(screen, content, path, why, ledger, key, looked)


def _show(
    screen: Screen,
    content: Release | TablesRelease | Measurements,
    path: Path,
    why: str | None,
    ledger: Ledger | None,
    key: Ed25519PrivateKey | None,
    looked: str | None,
) -> None:
    certificate = content.certificate
    fields = {"bundle": str(path), **certificate_fields(certificate)}
    shown: list[tuple[str, object]] = [("in words", certificate.words), ("guarantee", certificate.headline)]
    shown.append(("method", certificate.method))
    if why is not None:
        fields["why"] = why
        shown[-1] = ("method", f"{certificate.method}: {why}")
    if isinstance(content, TablesRelease):
        fields["rows"] = {name: len(table) for name, table in content.tables.items()}
        shown += [(name, f"{len(table):,} rows") for name, table in content.tables.items()]
    elif isinstance(content, Release):
        fields["rows"], fields["columns"] = content.table.num_rows, content.rows.column_names
        shown.append(("rows", f"{content.table.num_rows:,} of {len(content.rows.column_names)} columns"))
    shown += certificate_facts(certificate)
    notices = (content if isinstance(content, Measurements) else content.measurements).notices
    fields["notices"] = list(notices)
    shown += [("NOTE", notice) for notice in notices]
    if ledger is not None:
        left = _left(ledger)
        fields["ledger"] = {"entry": certificate.entry.number, "identity": certificate.entry.ledger, "left": left}
        shown.append(("ledger", f"entry {certificate.entry.number}; {left}"))
    if key is not None:
        fields["signed_by"] = fingerprint(key.public_key())
        shown.append(("signed by", f"key {short_fingerprint(fields['signed_by'])}"))
    shown += [] if looked is None else [("check", looked)]
    screen.summary(fields, facts([*shown, ("bundle", path)]))


@contextmanager
def _in_place(path: Path) -> Iterator[None]:
    """Whatever keeps a summary from being shown says that the bundle is written all the same."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The bundle {path} is in place.")
        raise


def _left(ledger: Ledger) -> str:
    """What is left, or that the ledger can't tell now: the bundle is written, so that nothing has failed."""
    try:
        return remaining_in_words(ledger.cap, ledger.spent())
    except LedgerError:
        return "what is left can't be read now"


def certificate_fields(certificate: Certificate) -> dict[str, Any]:
    """The certificate for machines."""
    return {
        "private": certificate.private,
        "statement": certificate.headline,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "mu": certificate.mu,
        "neighbours": certificate.neighbours.value,
        "unit": certificate.unit,
        "method": certificate.method,
        "noisy_numbers": certificate.coordinates,
        "published_rows": certificate.published_rows,
        "attacker": attacker_fields(certificate.attacker),
        "seed": certificate.seed,
    }


def certificate_facts(certificate: Certificate) -> list[tuple[str, object]]:
    """The certificate for people, beside its headline."""
    shown: list[tuple[str, object]] = [
        ("noisy numbers", f"{certificate.coordinates:,}"),
        ("attacker", attacker_words(certificate.attacker, certificate.one)),
    ]
    if certificate.published_rows:
        shown.append(("no guarantee", f"for the {certificate.published_rows:,} rows published before"))
    return shown


def attacker_words(rates: dict[float, float], one: str) -> str:
    """The best chance of an attacker to spot a given row, or person."""
    first, *others = ((f"{100.0 * power:.1f} %", f"{100.0 * rate:g} %") for rate, power in rates.items())
    more = "".join(f", in {power} if {rate} are" for power, rate in others)
    return f"finds a given {one} in at most {first[0]} of cases if {first[1]} of the innocent are accused{more}"


def attacker_fields(rates: dict[float, float]) -> dict[str, float]:
    """The same for machines: false-positive rate to the best true-positive rate."""
    return {f"{rate:g}": power for rate, power in rates.items()}
