"""`kernelease measure`: the private half of a release."""

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from kernelease.table.written import Written


@takes_writing
def measure(
    data: Data,
    *,
    schema: SchemaFile,
    out: Out,
    epsilon: Epsilon = None,
    delta: Delta = None,
    advantage: Advantage = None,
    true_positive: TruePositive = None,
    false_positive: FalsePositive = None,
    ledger: LedgerPath = None,
    cap: Cap = None,
    seed: Seed = 0,
    query: Query = None,
    spark: SparkMaster = None,
    key: SigningKey = None,
    target: Target = None,
    push_down: PushDown = False,
    overwrite: Overwrite = False,
    accept_damage: AcceptDamage = False,
    as_json: Json = False,
    quiet: Quiet = False,
    written: "Written",
) -> None:
    """Measure a private table: read it once, charge the ledger, add noise, save the noisy counts.

    What is saved is public. `kernelease fit` makes synthetic rows from it, as often as you like, at no cost. As
    `release` does, it first looks whether the source can be read as it is declared.
    """
    screen = Screen(json=as_json, quiet=quiet)
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
    )
    looked = request.look_at_format(accept_damage=accept_damage)
    with screen.progress() as progress:
        measurements = request.measure(progress)
    show_bundle(screen, measurements, out, ledger=request.ledger, key=request.key, looked=looked)
    screen.note(f"Next: kernelease fit {out} --out RELEASE")
