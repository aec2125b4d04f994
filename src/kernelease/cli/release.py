"""`kernelease release`: measure and fit."""

from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.options import (
    AcceptDamage,
    Advantage,
    Cap,
    Data,
    Delta,
    Epsilon,
    FalsePositive,
    Json,
    LedgerPath,
    Out,
    Overwrite,
    PushDown,
    Query,
    Quiet,
    Rows,
    SchemaFile,
    Seed,
    SigningKey,
    SparkMaster,
    Target,
    TruePositive,
    promise,
)
from kernelease.cli.screen import Screen
from kernelease.cli.writing import read_declared, takes_writing
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.cli.work.request import Request
    from kernelease.table.written import Written


@unique
class MethodName(StrEnum):
    """How to describe the table."""

    AUTO = "auto"
    INTERACTIONS = "interactions"
    SUBSPACE = "subspace"


@takes_writing
def release(
    data: Data,
    *,
    schema: SchemaFile,
    out: Out,
    epsilon: Epsilon = None,
    delta: Delta = None,
    advantage: Advantage = None,
    true_positive: TruePositive = None,
    false_positive: FalsePositive = None,
    method: Annotated[
        MethodName,
        typer.Option(
            metavar="auto|interactions|subspace",
            help="auto is subspace where public rows are given, else interactions.",
        ),
    ] = MethodName.AUTO,
    public: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", exists=True, help="Public rows like the private ones. All of DATA stays protected."
        ),
    ] = None,
    published_rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, help="Rows of DATA that are out already. They have no guarantee."),
    ] = None,
    ledger: LedgerPath = None,
    cap: Cap = None,
    seed: Seed = 0,
    rows: Rows = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="A first look in seconds: same budget, coarser fit. `fit` refines it for free."),
    ] = False,
    query: Query = None,
    spark: SparkMaster = None,
    key: SigningKey = None,
    target: Target = None,
    push_down: PushDown = False,
    overwrite: Overwrite = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="First look at the rows, as `kernelease check --strict` does, and stop if cells change."
        ),
    ] = False,
    accept_damage: AcceptDamage = False,
    as_json: Json = False,
    quiet: Quiet = False,
    written: "Written",
) -> None:
    """Publish synthetic rows in place of a private table: measure, then fit.

    First it looks whether the source can be read as the schema declares it, and stops with nothing spent where cells
    can't be read, a column is lost or a quote is never closed: `kernelease check` shows which.
    """
    screen = Screen(json=as_json, quiet=quiet)
    chosen, why = choose(method, public, published_rows)
    if chosen is MethodName.SUBSPACE and push_down:
        raise ParameterError("--push-down: only interactions counts; subspace has to see the rows.")
    if chosen is MethodName.SUBSPACE and rows is not None:
        raise ParameterError(
            "--rows: public rows are weighted, not drawn. `kernelease export --rows` makes any number."
        )
    privacy = promise(
        epsilon=epsilon,
        delta=delta,
        advantage=advantage,
        true_positive=true_positive,
        false_positive=false_positive,
    )
    declared = read_declared(data, schema, written)

    from kernelease.release.container import check_target

    check_target(out, overwrite=overwrite)

    from kernelease.cli.work.request import Request
    from kernelease.cli.work.summary import show_bundle

    request = Request.read(
        data,
        query=query,
        spark=spark,
        schema=declared,
        privacy=privacy,
        ledger=ledger,
        cap=cap,
        seed=seed,
        out=out,
        key=key,
        overwrite=overwrite,
        push_down=push_down,
        target=target,
        public=public,
        published=published_rows,
    )
    if check:
        _look(request, screen)
    looked = "ran first, on your screen only" if check else request.look_at_format(accept_damage=accept_damage)
    with screen.progress() as progress:
        result = request.release(rows, progress, fast=fast)
    show_bundle(screen, result, out, why=why, ledger=request.ledger, key=request.key, looked=looked)
    if fast:
        screen.note(
            f"A first look. Better rows from the same measurements, at no cost: kernelease fit {out} --out BETTER"
        )


def _look(request: "Request", screen: Screen) -> None:
    """The owner's private look; nothing of it goes further than the screen, unless it stops the release."""
    from kernelease.check.inspection import check as inspect

    report = inspect(request.data, request.schema, query=request.query, delta=request.privacy.delta)
    for _, text in report.lines():
        screen.note(text)
    if report.damaged(strict=True):
        raise ParameterError(
            "--check: cells would change their meaning, as said above. Nothing was spent. Correct the schema or the "
            "rows, or leave out --check."
        )


def choose(method: MethodName, public: Path | None, published: Path | None) -> tuple[MethodName, str]:
    """The method, and why. The rule of `auto`: subspace where public rows are given, else interactions."""
    if public is not None and published is not None:
        raise ParameterError("--public and --published-rows are two different promises. Give one of them.")
    given = public is not None or published is not None
    if method is MethodName.SUBSPACE and not given:
        raise ParameterError("--method subspace needs public rows: --public FILE or --published-rows FILE.")
    if method is MethodName.INTERACTIONS and given:
        raise ParameterError("--method interactions has no use for public rows. Leave out one of the two.")
    if given:
        return MethodName.SUBSPACE, "public rows were given, and are weighted to stand for the private ones"
    return MethodName.INTERACTIONS, "no public rows were given, so noisy counts are fitted"
