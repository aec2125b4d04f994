"""What people write where objects are taken: a path for a schema or a ledger, a pair of numbers for a promise."""

from pathlib import Path
from typing import Any, TypeAlias

from kernelease.errors import ParameterError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.ledger_file import open_ledger
from kernelease.privacy.neighbours import Subject
from kernelease.table.schema import Schema

SchemaLike: TypeAlias = Schema | str | Path
PrivacyLike: TypeAlias = Privacy | tuple[float, float]
LedgerLike: TypeAlias = Ledger | str | Path


def schema_of(given: SchemaLike) -> Schema:
    """The schema itself, or the one in a file."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return Schema.load(given)
    raise ParameterError(f"schema must be a Schema or the path of its TOML file, got {type(given).__name__}.")


def privacy_of(given: PrivacyLike) -> Privacy:
    """The promise itself, or (epsilon, delta). One number says too little: it would leave delta to chance.

    >>> privacy_of((1.0, 1e-6))
    Privacy(epsilon=1.0, delta=1e-06, neighbours=None, calibration=<Calibration.ANALYTIC: 'analytic'>)
    """
    unchecked: Any = given
    if isinstance(unchecked, Privacy):
        return unchecked
    if isinstance(unchecked, tuple) and len(unchecked) == 2 and all(_is_number(part) for part in unchecked):
        return Privacy(epsilon=float(unchecked[0]), delta=float(unchecked[1]))
    raise ParameterError(
        "privacy must be a Privacy, or a pair (epsilon, delta) as (1.0, 1e-6), "
        f"got {repr(unchecked) if _is_number(unchecked) else type(unchecked).__name__}."
    )


def ledger_of(given: LedgerLike, *, subject: Subject, promised: Privacy) -> Ledger:
    """The ledger itself, or the one in a file, which must be there: a cap is for more than what is `promised` now."""
    if isinstance(given, str | Path):
        return open_ledger(given, subject=subject, promised=promised)
    return given


def method_of(method: Method | None, target: str | None) -> Method | None:
    """The method, or the one that a named `target` asks for."""
    if target is None:
        return method
    if method is not None:
        raise ParameterError(
            "target: give it to the method, Interactions(target=…), where a method is given. One of the two."
        )
    return Interactions(target=target)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
