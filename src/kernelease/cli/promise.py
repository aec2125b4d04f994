"""How much privacy, as it is typed: epsilon and delta, or what an attacker may do."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.privacy.accounting import Privacy
    from kernelease.privacy.neighbours import Neighbours

RISK_DELTA = 1e-9  # that of `Privacy.from_risk`: it is not loaded for its help
Epsilon: TypeAlias = Annotated[
    float | None, typer.Option("--epsilon", metavar="EPS", help="Privacy parameter epsilon: smaller is safer.")
]
Delta: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--delta",
        metavar="DELTA",
        help="Privacy parameter delta, far below 1/rows; 0 asks for pure privacy. With a risk in place of --epsilon "
        f"it may be left out, and is {RISK_DELTA:g}.",
    ),
]
Advantage: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--advantage",
        metavar="A",
        help="In place of --epsilon: the most by which any attacker's true alarms may exceed the false ones, as 0.1.",
    ),
]
TruePositive: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--true-positive",
        metavar="RATE",
        help="In place of --epsilon: the highest rate of true alarms of any attacker, with --false-positive.",
    ),
]
FalsePositive: TypeAlias = Annotated[
    float | None,
    typer.Option("--false-positive", metavar="RATE", help="The rate of false alarms that --true-positive is for."),
]


def read_cap(text: str, promised: "Privacy") -> "Privacy":
    """The cap of a ledger as it is typed, EPS,DELTA; without a delta, at that of the release.

    >>> from kernelease.privacy.accounting import Privacy
    >>> cap = read_cap("3", Privacy(epsilon=1.0, delta=1e-6))
    >>> cap.epsilon, cap.delta
    (3.0, 1e-06)
    """
    from kernelease.privacy.accounting import Privacy

    epsilon, comma, delta = text.partition(",")
    try:
        return Privacy(epsilon=float(epsilon), delta=float(delta) if comma else promised.delta)
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"--cap must be EPS,DELTA, as 3,1e-6; got {text!r}.") from None


def promise(
    *,
    epsilon: float | None,
    delta: float | None,
    advantage: float | None = None,
    true_positive: float | None = None,
    false_positive: float | None = None,
    neighbours: "Neighbours | None" = None,
) -> "Privacy":
    """The guarantee that was asked for."""
    from kernelease.privacy.accounting import Privacy

    risk = (advantage, true_positive, false_positive) != (None, None, None)
    if epsilon is not None and risk:
        raise ParameterError("--epsilon and a risk both say how much privacy. Give one of them.")
    if epsilon is None and not risk:
        raise ParameterError(
            "How much privacy? Give --epsilon EPS and --delta DELTA, or what an attacker may do: --advantage A, or "
            "--true-positive RATE with --false-positive RATE."
        )
    if epsilon is None:
        return Privacy.from_risk(
            advantage=advantage,
            true_positive=true_positive,
            false_positive=false_positive,
            delta=RISK_DELTA if delta is None else delta,
            neighbours=neighbours,
        )
    if delta is None:
        raise ParameterError(
            "Give --delta, too: far below 1/rows, as --delta 1e-6; --delta 0 asks for pure privacy, with more noise."
        )
    return Privacy(epsilon=epsilon, delta=delta, neighbours=neighbours)
