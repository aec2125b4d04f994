"""`kernelease release`: measure and fit."""

from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelease.cli.options import Data, Rows, TypedOrder, Writing, option, read_declared
from kernelease.cli.screen import Screen
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.cli.work.request import Request


@unique
class MethodName(StrEnum):
    """How to describe the table."""

    AUTO = "auto"
    INTERACTIONS = "interactions"
    SUBSPACE = "subspace"


def release(
    data: Data,
    *,
    order: TypedOrder,
    method: Annotated[
        MethodName,
        option(
            "--method", "auto|interactions|subspace", "auto is subspace where public rows are given, else interactions."
        ),
    ] = MethodName.AUTO,
    public: Annotated[
        Path | None,
        option("--public", "FILE", "Public rows like the private ones. All of DATA stays protected.", exists=True),
    ] = None,
    published_rows: Annotated[
        Path | None,
        option("--published-rows", "FILE", "Rows of DATA that are out already. They have no guarantee.", exists=True),
    ] = None,
    rows: Rows = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="A first look in seconds: same budget, coarser fit. `fit` refines it for free."),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="First look at the rows, as `kernelease check --strict` does, and stop if cells change."
        ),
    ] = False,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables",
            help="Several tables: DATA is a folder with a file for each, or a database; SCHEMA has [tables.NAME].",
        ),
    ] = False,
    screen: Screen,
    writing: Writing,
) -> None:
    """Publish synthetic rows in place of a private table: measure, then fit.

    First it looks whether the source can be read as the schema declares it, and stops with nothing spent where cells
    can't be read, a column is lost or a quote is never closed: `kernelease check` shows which.
    """
    if tables:
        if public is not None or published_rows is not None or check or method is not MethodName.AUTO:
            raise ParameterError("--tables: goes without --method, --public, --published-rows and --check.")
        if writing.is_given:
            raise ParameterError("--tables: how a file is written is said in its table's [tables.NAME.source].")
        _release_tables(data, order, screen, rows=rows, fast=fast)
        return
    chosen, why = choose(method, public, published_rows)
    if chosen is MethodName.SUBSPACE and order.push_down:
        raise ParameterError("--push-down: only interactions counts; subspace has to see the rows.")
    if chosen is MethodName.SUBSPACE and rows is not None:
        raise ParameterError(
            "--rows: public rows are weighted, not drawn. `kernelease export --rows` makes any number."
        )
    order.privacy.read()  # what is wrong with it is told before anything is read
    declared = read_declared(data, order.schema, writing)

    from kernelease.bundle.container import check_target

    check_target(order.out, overwrite=order.overwrite)

    from kernelease.cli.work.request import Request
    from kernelease.cli.work.summary import show_bundle

    request = Request.read(data, order, declared, public=public, published=published_rows, rows=rows, fast=fast)
    if check:
        _look(request, screen)
    looked = "ran first, on your screen only" if check else request.look_at_format(accept_damage=order.accept_damage)
    with screen.progress() as progress:
        result = request.release(progress)
    show_bundle(screen, result, order.out, why=why, ledger=request.ledger, key=request.order.key, looked=looked)
    if fast:
        screen.note(
            f"A first look. Better rows from the same measurements, at no cost: kernelease fit {order.out} --out BETTER"
        )


def _release_tables(data: str, order: TypedOrder, screen: Screen, *, rows: int | None, fast: bool) -> None:
    """Several tables, from a folder with a file for each."""
    order.privacy.read()

    from dataclasses import replace

    from kernelease.bundle.container import check_target
    from kernelease.cli.work.request import tables_order
    from kernelease.cli.work.summary import show_bundle
    from kernelease.pipeline import release as release_data

    check_target(order.out, overwrite=order.overwrite)
    wanted = tables_order(order, rows=rows, fast=fast)
    with screen.progress() as progress:
        result = release_data(data, **replace(wanted, progress=progress).keywords())
    ledger = None if order.ledger is None else wanted.ledger
    show_bundle(screen, result, order.out, ledger=ledger, key=wanted.key)  # type: ignore[arg-type]  # it is open


def _look(request: "Request", screen: Screen) -> None:
    """The owner's private look; nothing of it goes further than the screen, unless it stops the release."""
    from kernelease.drafting.inspection import check as inspect

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
