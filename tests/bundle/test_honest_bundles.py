"""Every honest bundle, of each method, relation, unit and kind of public rows, signed or not, does all it should."""

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import kernelease as ke
from kernelease.answers.frames import export_table
from kernelease.answers.release import Release, TablesRelease, contents_of
from kernelease.bundle.saving import documents, load_measurements, read_contents
from kernelease.bundle.verify import alike, same_rows
from kernelease.errors import BundleError, ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbeddings
from tests.anywhere import MACHINES
from tests.bundle.every_bundle import NAMES, honest

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(params=[None, KEY], ids=["unsigned", "signed"])
def key(request: pytest.FixtureRequest) -> Ed25519PrivateKey | None:
    chosen: Ed25519PrivateKey | None = request.param
    return chosen


def wrong(path: Path, key: Ed25519PrivateKey | None, *, refit: bool) -> list[str]:
    trusted = None if key is None else key.public_key()
    return [found.detail for found in ke.verify(path, trusted_key=trusted, refit=refit) if not found.holds]


def _rows(release: Release | TablesRelease) -> list[pa.Table]:
    return [release.table] if isinstance(release, Release) else [one.rows for one in release.tables.values()]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_opened_verified_fitted_again_exported_and_asked(
    name: str, key: Ed25519PrivateKey | None, tmp_path: Path
) -> None:
    release = honest(name)
    path = release.save(tmp_path / ("bundle" if key is None else "bundle.zip"), key=key)
    assert wrong(path, key, refit=False) == []
    assert wrong(path, key, refit=True) == []

    opened = ke.load(path)
    assert all(mine.equals(theirs) for mine, theirs in zip(_rows(opened), _rows(release), strict=True))
    assert opened.certificate == release.certificate
    assert alike(opened.measurements.measured, release.measurements.measured)
    assert str(opened.certificate) == str(release.certificate)

    settings = release.settings
    assert settings is not None
    again = load_measurements(path).fit(method=settings.method, seed=settings.seed.value, rows=settings.rows)
    assert all(same_rows(mine, theirs) for mine, theirs in zip(_rows(again), _rows(release), strict=True))
    if not isinstance(opened, Release):
        return  # several tables are exported and asked in tests/relational

    assert export_table(opened.table, tmp_path / "rows.csv").stat().st_size > 0
    assert opened.to_pandas().shape == (release.table.num_rows, release.table.num_columns)
    if isinstance(opened.measurements.measured, NoisyBlocks):
        assert str(opened.answers())
    elif isinstance(opened.measurements.measured, NoisyEmbeddings):
        estimate = opened.mean("x0" if opened.schema is None else "age")
        low, high = estimate.interval(0.95)
        assert low <= estimate.value <= high


@pytest.mark.parametrize("name", NAMES)
def test_measurements_alone_are_a_bundle_too(name: str, tmp_path: Path) -> None:
    measurements = honest(name).measurements
    path = ke.save(measurements, tmp_path / "bundle")
    assert wrong(path, None, refit=True) == []
    assert alike(load_measurements(path).measured, measurements.measured)


# Of other machines

TRIED = ("counts", "columns of every type", "subspace", "random features", "two stages", "weighted rows")
MAKE = """
import sys
from pathlib import Path
from tests.bundle.every_bundle import honest
for name in sys.argv[2:]:
    honest(name).save(Path(sys.argv[1]) / name)
"""
VERIFY = """
import sys
from pathlib import Path
import kernelease as ke
for name in sys.argv[2:]:
    for found in ke.verify(Path(sys.argv[1]) / name, refit=True):
        if not found.holds:
            print(name, found.check, found.detail, sep=": ")
"""


def run_under(setting: str, code: str, *arguments: str) -> str:
    """What a script prints in a process of its own, under some setting of the linear algebra."""
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]), **MACHINES[setting]}
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maker", "others"),
    [
        ("Nehalem", ["as it is, on one thread", "eight threads", "no wide instructions"]),
        ("as it is, on one thread", ["Haswell", "Nehalem"]),
    ],
)
def test_what_is_made_on_one_kind_of_machine_is_made_again_on_others(
    maker: str, others: list[str], tmp_path: Path
) -> None:
    run_under(maker, MAKE, str(tmp_path), *TRIED)
    for other in others:
        assert run_under(other, VERIFY, str(tmp_path), *TRIED) == "", other


MAKE_TABLE = """
import sys
import numpy as np
import kernelease as ke
from benchmarks.simulated import SCHEMA, people
from tests.bundle.every_bundle import SteadyNoise
release = ke.release(people(np.random.default_rng(0), 3000), schema=SCHEMA, privacy=(1.0, 1e-6), noise=SteadyNoise())
release.save(sys.argv[1])
"""
VERIFY_TABLE = """
import sys
from dataclasses import replace
import numpy as np
import pyarrow as pa
import kernelease as ke
print(*(found.check for found in ke.verify(sys.argv[1], refit=True) if not found.holds or found.on_trust))
opened = ke.load(sys.argv[1])
order = np.random.default_rng(0).permutation(opened.table.num_rows)
shuffled = opened.table.set_column(0, opened.table.column_names[0], opened.table.column(0).take(pa.array(order)))
replace(opened, table=shuffled).save(sys.argv[2])
print(*(found.check for found in ke.verify(sys.argv[2], refit=True) if not found.holds))
"""


@pytest.mark.slow
def test_rows_that_another_kind_of_machine_drew_have_the_same_counts(tmp_path: Path) -> None:
    """A fit in single precision ends in other rows there, which is said; with one column shuffled they are refused."""
    honest_one, forged = str(tmp_path / "honest"), str(tmp_path / "forged")
    run_under("Nehalem", MAKE_TABLE, honest_one)
    printed, refused = run_under("as it is, on one thread", VERIFY_TABLE, honest_one, forged).splitlines()
    assert printed.split() in (["machine"], ["machine", "refit"])
    assert refused == "refit"


@pytest.mark.slow
def test_the_settings_are_other_machines() -> None:
    """Else the test above would say nothing: without effect, all switches would give the same bits."""
    code = (
        "import numpy as np; g = np.random.default_rng(0); a = g.standard_normal((300, 300)); "
        "print((a @ a.T).tobytes().hex()[:20000], np.exp(a).tobytes().hex()[:20000])"
    )
    bits = {
        setting: run_under(setting, code).split()
        for setting in ("as it is, on one thread", "Nehalem", "no wide instructions")
    }
    if platform.machine() != "x86_64":
        pytest.skip("the switches are those of x86-64")
    own = bits.pop("as it is, on one thread")
    assert bits["Nehalem"][0] != own[0] or bits["no wide instructions"][1] != own[1]


# ------------------------------------------------------------------------------------------------ contents


def test_contents_are_of_one_table_or_of_several_as_their_measurements_are() -> None:
    contents = contents_of(honest("subspace"))
    assert contents.table.equals(honest("subspace").table)
    with pytest.raises(ParameterError, match="not the rows of several tables"):
        _ = contents.tables
    with pytest.raises(ParameterError, match="not the rows of one table"):
        _ = replace(contents, rows=None).table
    with pytest.raises(ParameterError, match="of one table and the measurements of several, or the reverse"):
        replace(contents, rows={"persons": contents.table})


def test_rows_of_one_table_are_in_data_parquet() -> None:
    files = documents(contents_of(honest("subspace")))
    files["data.persons.parquet"] = files.pop("data.parquet")
    with pytest.raises(BundleError, match=r"no data\.parquet"):
        read_contents(files)
