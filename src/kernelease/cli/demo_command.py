"""`kernelease demo`: a whole release of a generated table."""

from pathlib import Path
from typing import Annotated

from kernelease.cli.options import Seed, option
from kernelease.cli.screen import Screen

_DEFAULT = Path("demo-release")


def demo(
    *,
    out: Annotated[Path, option("--out", "PATH", "The bundle to write. An older demo-release is replaced.")] = _DEFAULT,
    rows: Annotated[int, option("--rows", "N", "Rows of the generated private table.", min=100)] = 20_000,
    epsilon: Annotated[float, option("--epsilon", "EPS", "Privacy parameter epsilon.")] = 1.0,
    delta: Annotated[float, option("--delta", "DELTA", "Privacy parameter delta.")] = 1e-6,
    seed: Seed = 0,
    example: Annotated[
        Path | None,
        option("--example", "FOLDER", "Also write the generated table and its schema: people.csv, people.toml."),
    ] = None,
    screen: Screen,
) -> None:
    """Generate a private table, release a synthetic one in its place, and say what was done."""
    from kernelease.answers.release import save
    from kernelease.bundle.container import check_target
    from kernelease.cli.work.summary import SCHEMA, generated_table, show_demo, write_example
    from kernelease.errors import BundleError
    from kernelease.pipeline import measure
    from kernelease.privacy.accounting import Privacy
    from kernelease.report.page import check_page, report_bundle
    from kernelease.table.schema import Schema

    schema = Schema.parse(SCHEMA, source="demo")
    privacy = Privacy(epsilon=epsilon, delta=delta)
    again = out == _DEFAULT  # whatever has another name may be somebody's release
    if out.exists() and not again:
        raise BundleError(f"{out} already exists. Choose another name.")
    check_target(out, overwrite=again)
    page = out.with_suffix(".html")
    check_page(page, overwrite=again)
    private = generated_table(rows)
    if example is not None:
        write_example(private, example)
    with screen.progress() as progress:
        measurements = measure(private, schema=schema, privacy=privacy, seed=seed, progress=progress)
        result = measurements.fit(progress=progress)
    save(result, out, overwrite=again)
    report_bundle(out, page, overwrite=again)
    show_demo(screen, private, result, out, page)
