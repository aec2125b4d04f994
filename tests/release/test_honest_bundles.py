"""Every honest bundle, of each method, relation, unit and kind of public rows, signed or not, does all it should."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import kernelease as ke
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.release.alike import alike, same_rows
from kernelease.release.bundle import load_measurements
from kernelease.release.export import export_table
from tests.release.every_bundle import NAMES, honest

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(params=[None, KEY], ids=["unsigned", "signed"])
def key(request: pytest.FixtureRequest) -> Ed25519PrivateKey | None:
    chosen: Ed25519PrivateKey | None = request.param
    return chosen


def wrong(path: Path, key: Ed25519PrivateKey | None, *, refit: bool) -> list[str]:
    trusted = None if key is None else key.public_key()
    return [found.detail for found in ke.verify(path, trusted_key=trusted, refit=refit) if not found.holds]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_opened_verified_fitted_again_exported_and_asked(
    name: str, key: Ed25519PrivateKey | None, tmp_path: Path
) -> None:
    release = honest(name)
    path = release.save(tmp_path / ("bundle" if key is None else "bundle.zip"), key=key)
    assert wrong(path, key, refit=False) == []
    assert wrong(path, key, refit=True) == []

    opened = ke.load(path)
    assert opened.table.equals(release.table)
    assert opened.certificate == release.certificate
    assert alike(opened.measured, release.measured)
    assert str(opened.certificate) == str(release.certificate)

    settings = release.settings
    assert settings is not None
    again = ke.fit(load_measurements(path), method=settings.method, seed=settings.seed.value, rows=settings.rows)
    assert same_rows(again.table, release.table)

    assert export_table(opened.table, tmp_path / "rows.csv").stat().st_size > 0
    assert opened.to_pandas().shape == (release.table.num_rows, release.table.num_columns)
    if isinstance(opened.measured, NoisyBlocks):
        assert str(opened.answers())
    elif isinstance(opened.measured, NoisyEmbeddings):
        estimate = opened.mean("x0" if opened.schema is None else "age")
        low, high = estimate.interval(0.95)
        assert low <= estimate.value <= high


@pytest.mark.parametrize("name", NAMES)
def test_measurements_alone_are_a_bundle_too(name: str, tmp_path: Path) -> None:
    measurements = honest(name).measurements
    path = ke.save(measurements, tmp_path / "bundle")
    assert wrong(path, None, refit=True) == []
    assert alike(load_measurements(path).measured, measurements.measured)
