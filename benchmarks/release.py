"""The algorithms as a tool: `python benchmarks/paper.py release` reads an array and writes weighted points."""

import math
import zipfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import kernelease as ke
from benchmarks.mixtures import PRIOR_MEAN, PRIOR_SCALE, gaussian
from kernelease.arrays import Floats

ARRAY = "X_private"
POINTS = 316
FEATURES = 10_000


class MethodName(StrEnum):
    """What to release with."""

    SUBSPACE = "subspace"
    RANDOM_FEATURES = "random-features"
    ADAPTIVE = "adaptive"


class InputError(Exception):
    """Something about the command's input is wrong; the message says what, and what to do."""


def release(
    *,
    data: Annotated[Path, typer.Option(help=f"NumPy .npz file with an array {ARRAY} (N × D).")],
    epsilon: Annotated[float, typer.Option(help="Privacy parameter ε.")],
    delta: Annotated[float, typer.Option(help="Privacy parameter δ, well below 1/N.")],
    kernel_gamma: Annotated[float, typer.Option(help="γ of the kernel exp(−γ‖x − y‖²), in the data's units.")],
    out: Annotated[Path, typer.Option(help="File to write: Z (M × D) and w (M).")],
    method: Annotated[MethodName, typer.Option(help="Which algorithm.")] = MethodName.SUBSPACE,
    published_rows: Annotated[int | None, typer.Option(help="The first M rows are public already.")] = None,
    points: Annotated[int | None, typer.Option(help="Number of synthetic points at most (not with adaptive).")] = None,
    prior_mean: Annotated[
        float, typer.Option(help="Points start from N(mean, scale²), public knowledge.")
    ] = PRIOR_MEAN,
    prior_scale: Annotated[float, typer.Option(help="See --prior-mean.")] = PRIOR_SCALE,
    seed: Annotated[int, typer.Option(help="Seed of public randomness (never of the noise).")] = 0,
) -> None:
    """Release weighted synthetic points in place of the rows of an array."""
    try:
        rows = read_rows(data)
        result = ke.release(
            rows,
            kernel=_kernel(kernel_gamma, rows.shape[1]),
            method=_method(
                method,
                prior=ke.fit.NormalPoints(dimension=rows.shape[1], mean=prior_mean, scale=prior_scale),
                published_rows=published_rows,
                points=points,
            ),
            privacy=ke.Privacy(epsilon=epsilon, delta=delta),
            seed=seed,
        )
        count = write_points(out, result)
    except (InputError, ke.KerneleaseError) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(result.certificate.headline)
    typer.echo(f"{count} weighted points in {result.points.shape[1]} columns are in {out}.")


def read_rows(path: Path) -> Floats:
    """The private array of a file."""
    if not path.is_file():
        raise InputError(f"--data: there is no file {path}.")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            rows = arrays[ARRAY]
    except KeyError:
        raise InputError(f"--data: {path} holds no array named {ARRAY}.") from None
    except (ValueError, TypeError, OSError, zipfile.BadZipFile, IndexError):
        raise InputError(f"--data: {path} is not a NumPy .npz file of numbers with an array {ARRAY}.") from None
    if rows.ndim != 2 or 0 in rows.shape or rows.dtype.kind not in "fiub":
        raise InputError(f"--data: {ARRAY} must be numbers in N × D, got {rows.dtype} in shape {rows.shape}.")
    return rows.astype(np.float64)


def write_points(path: Path, result: ke.Release) -> int:
    """Z and w, without the points whose weight is zero; how many there are."""
    used = result.weights != 0.0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, Z=result.points[used].astype(np.float64), w=result.weights[used])
    except OSError as error:
        raise InputError(f"--out: {path} can't be written ({error.strerror}).") from None
    return int(used.sum())


def _kernel(gamma: float, dimension: int) -> ke.kernels.Gaussian:
    if not 0.0 < gamma < math.inf:
        raise InputError(f"--kernel-gamma: must be positive and finite, got {gamma!r}.")
    return gaussian(gamma, dimension)


def _method(
    name: MethodName, *, prior: ke.fit.NormalPoints, published_rows: int | None, points: int | None
) -> ke.methods.Method:
    """The algorithm with weights of a probability distribution: they leave much of the noise behind."""
    source = prior if published_rows is None else ke.fit.PublishedRows(published_rows)
    if name is MethodName.ADAPTIVE:
        if points is not None:
            raise InputError("--points: the method adaptive finds their number itself; leave it out.")
        return ke.Adaptive(points=source)
    if name is MethodName.SUBSPACE:
        return ke.Subspace(points=source, count=points, constraint=ke.fit.Simplex())
    if published_rows is not None:
        raise InputError("--published-rows: only the methods subspace and adaptive make use of published rows.")
    wanted = POINTS if points is None else points
    solver = ke.fit.GreedyPreimages(points=wanted, constraint=ke.fit.Simplex(), stop_at_noise=False)
    return ke.RandomFeatures(start=prior, features=FEATURES, solver=solver)
