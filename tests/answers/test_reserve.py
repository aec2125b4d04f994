"""A subspace measured in rounds, in a bundle: it comes back whole, and `verify` prices it with its reserve."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelease as ke
from kernelease.bundle.codec import from_json, to_json
from kernelease.bundle.container import SEALS, read_bundle, write_bundle
from kernelease.bundle.verify import Finding
from kernelease.exact.rows import ExactEmbedding
from kernelease.features import Nystrom
from kernelease.features.nystrom import extend
from kernelease.ledgers import MemoryLedger
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy import Neighbours, PrivacyFilter, SystemNoise
from kernelease.privacy.sensitivity import Subject

KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
ROWS = np.random.default_rng(0).normal(size=(50, 2))
POINTS = np.random.default_rng(1).normal(size=(40, 2)) * 2.0
BASIS = Nystrom.spanning(KERNEL, POINTS[:8], tolerance=1e-2, reserve=0.01)
WHOLE = extend(BASIS, POINTS[8:], most=10)
RELATIONS = pytest.mark.parametrize("neighbours", list(Neighbours))


def two_rounds(privacy: ke.Privacy) -> NoisyEmbedding:
    budget = PrivacyFilter.open(
        privacy, ledger=MemoryLedger(privacy), subject=Subject(), coordinates=100, purpose="a test"
    )
    first = ExactEmbedding.of(ROWS, BASIS).privatise(budget, noise=SystemNoise())
    return ExactEmbedding.of(ROWS, WHOLE).resume(first, budget=budget, noise=SystemNoise())


def bundle(folder: Path, neighbours: Neighbours) -> Path:
    """A release of points, with the two rounds in the place of what its method measured."""
    privacy = ke.Privacy(epsilon=1.0, delta=1e-6, neighbours=neighbours)
    method = ke.Subspace(points=ke.fit.NormalPoints(dimension=2), count=5)
    release = ke.release(ROWS, kernel=KERNEL, method=method, privacy=privacy)
    noisy = two_rounds(privacy)
    measured = replace(release.measurements.measured, stages=(noisy,))
    certificate = replace(release.certificate, steps=measured.steps, rows=measured.rows)
    measurements = replace(release.measurements, measured=measured, certificate=certificate)
    return replace(release, measurements=measurements).save(folder / "bundle")


def changed(path: Path, folder: Path, change: Callable[[Any, Any], None]) -> dict[str, Finding]:
    """What `verify` finds after a change to the measurements and the certificate, with sums that fit."""
    files = {file: data for file, data in read_bundle(path).items() if file not in SEALS}
    names = ("measurements.json", "certificate.json")
    documents = [json.loads(files[name]) for name in names]
    change(documents[0]["measured"]["stages"][0], documents[1])
    again = {name: json.dumps(document).encode() for name, document in zip(names, documents, strict=True)}
    return {finding.check: finding for finding in ke.verify(write_bundle(folder / "changed", {**files, **again}))}


@RELATIONS
def test_a_release_in_rounds_is_saved_verified_and_loaded(tmp_path: Path, neighbours: Neighbours) -> None:
    path = bundle(tmp_path, neighbours)
    findings = ke.verify(path)
    assert all(finding.holds for finding in findings), findings
    loaded = ke.load(path).measurements.measured.embedding
    assert loaded is not None
    assert isinstance(loaded.feature_map, Nystrom)
    assert loaded.feature_map.reserve == 0.01
    assert loaded.feature_map.extends(WHOLE)
    assert loaded.feature_map.diameter == WHOLE.diameter
    assert loaded.measurement.step.coordinates == WHOLE.dimension + (neighbours is Neighbours.ADD_REMOVE)


def test_a_map_of_an_older_bundle_has_no_reserve() -> None:
    older = to_json(replace(BASIS, reserve=0.0))
    del older["reserve"]
    again = from_json(json.loads(json.dumps(older)))
    assert again.reserve == 0.0
    assert again.diameter == replace(BASIS, reserve=0.0).diameter


def _caught(found: dict[str, Finding], neighbours: Neighbours) -> bool:
    """By the sensitivity; under add-remove another reserve also gives another noisy count, which is seen first."""
    if neighbours is Neighbours.ADD_REMOVE:
        return not found["content"].holds and "not the noisy count" in found["content"].detail
    return found["guarantee"].holds and "is the least" in found["measurements"].detail


@RELATIONS
def test_a_raised_reserve_is_caught(tmp_path: Path, neighbours: Neighbours) -> None:
    """It states a diameter that the noise does not cover."""

    def raised(measured: Any, certificate: Any) -> None:
        measured["feature_map"]["reserve"] = 0.02

    found = changed(bundle(tmp_path, neighbours), tmp_path, raised)
    assert _caught(found, neighbours)


@pytest.mark.parametrize("value", [-0.01, 0.11, {"tag": "float", "value": "nan"}, "much", None])
def test_a_reserve_that_is_none_is_refused(tmp_path: Path, value: Any) -> None:
    def odd(measured: Any, certificate: Any) -> None:
        measured["feature_map"]["reserve"] = value

    found = changed(bundle(tmp_path, Neighbours.REPLACE_ONE), tmp_path, odd)
    assert not found["content"].holds


@pytest.mark.parametrize("reserve", [0.0, 0.01])
@RELATIONS
def test_a_sensitivity_below_that_of_the_whole_map_is_caught(
    tmp_path: Path, neighbours: Neighbours, reserve: float
) -> None:
    """Without its reserve too: what finite precision adds to an extension is part of the least sensitivity."""

    def understated(measured: Any, certificate: Any) -> None:
        measured["feature_map"]["reserve"] = reserve
        unit = 2.0**26 * (KERNEL.diameter if neighbours is Neighbours.REPLACE_ONE else np.sqrt(2.0))
        for step in (measured["measurement"]["step"], certificate["steps"][0]):
            step["scale"] *= unit / step["sensitivity"]
            step["sensitivity"] = unit

    found = changed(bundle(tmp_path, neighbours), tmp_path, understated)
    assert _caught(found, neighbours if reserve == 0.0 else Neighbours.REPLACE_ONE)


def test_an_understated_stretch_of_an_extension_is_caught(tmp_path: Path) -> None:
    """The reserve hides it from the sensitivity, but not from `verify`."""

    def flattened(measured: Any, certificate: Any) -> None:
        measured["feature_map"]["stretch"] = 1.0

    found = changed(bundle(tmp_path, Neighbours.REPLACE_ONE), tmp_path, flattened)
    assert not found["measurements"].holds
    assert "understated" in found["measurements"].detail
