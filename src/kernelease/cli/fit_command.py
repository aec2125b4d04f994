"""`kernelease fit`: the public half of a release."""

from typing import Annotated

from kernelease.cli.options import Bundle, Out, Overwrite, Rows, SigningKey, option
from kernelease.cli.screen import Screen


def fit(
    bundle: Bundle,
    *,
    out: Out,
    rows: Rows = None,
    components: Annotated[
        int | None, option("--components", "M", "Components of the mixture; by default by what was measured.", min=1)
    ] = None,
    steps: Annotated[
        int | None, option("--steps", "N", "Gradient steps; by default by what was measured.", min=1)
    ] = None,
    goal: Annotated[
        float | None,
        option(
            "--goal",
            "X",
            "Where to stop: mean squared misfit over the noise's variance; by default by what was measured.",
            min=0.01,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        option("--seed", "N", "Seed of public randomness; by default the one of the measurements.", min=0),
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
