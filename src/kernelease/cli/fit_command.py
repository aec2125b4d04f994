"""`kernelease fit`: the public half of a release."""

from typing import Annotated

import typer

from kernelease.cli.options import Bundle, Out, Overwrite, Rows, SigningKey
from kernelease.cli.screen import Screen


def fit(
    bundle: Bundle,
    *,
    out: Out,
    rows: Rows = None,
    components: Annotated[
        int | None, typer.Option(metavar="M", min=1, help="Components of the mixture; by default by what was measured.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Gradient steps; by default by what was measured.")
    ] = None,
    goal: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0.01,
            help="Where to stop: mean squared misfit over the noise's variance; by default by what was measured.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Seed of public randomness; by default the one of the measurements."),
    ] = None,
    key: SigningKey = None,
    overwrite: Overwrite = False,
    screen: Screen,
) -> None:
    """Make synthetic rows from measurements, or make them anew with other settings. No private row, no budget."""
    from kernelease.answers.release import save
    from kernelease.bundle.container import check_target
    from kernelease.bundle.saving import load_measurements
    from kernelease.bundle.signing import load_private_key
    from kernelease.cli.work.summary import show_bundle, solved_by

    check_target(out, overwrite=overwrite)
    signing_key = None if key is None else load_private_key(key)
    measurements = load_measurements(bundle)
    method = solved_by(measurements.method, components=components, steps=steps, goal=goal)
    with screen.progress() as progress:
        result = measurements.fit(method=method, rows=rows, seed=seed, progress=progress)
    save(result, out, key=signing_key, overwrite=overwrite)
    show_bundle(screen, result, out, key=signing_key)
