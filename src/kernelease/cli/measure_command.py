"""`kernelease measure`: the private half of a release."""

from kernelease.cli.options import Data, TypedOrder, Writing, read_declared
from kernelease.cli.screen import Screen


def measure(data: Data, *, order: TypedOrder, screen: Screen, writing: Writing) -> None:
    """Measure a private table: read it once, charge the ledger, add noise, save the noisy counts.

    What is saved is public. `kernelease fit` makes synthetic rows from it, as often as you like, at no cost. As
    `release` does, it first looks whether the source can be read as it is declared.
    """
    order.privacy.read()  # what is wrong with it is told before anything is read
    declared = read_declared(data, order.schema, writing)

    from kernelease.bundle.container import check_target

    check_target(order.out, overwrite=order.overwrite)

    from kernelease.cli.work.request import Request
    from kernelease.cli.work.summary import show_bundle

    request = Request.read(data, order, declared)
    looked = request.look_at_format(accept_damage=order.accept_damage)
    with screen.progress() as progress:
        measurements = request.measure(progress)
    show_bundle(screen, measurements, order.out, ledger=request.ledger, key=request.order.key, looked=looked)
    screen.note(f"Next: kernelease fit {order.out} --out RELEASE")
