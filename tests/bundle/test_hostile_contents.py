"""What a stranger wrote into a bundle, with sums that fit: each field must be of its type, and all of one whole."""

import contextlib
import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers.release import contents_of, load
from kernelease.bundle.codec import conforms, from_json, to_json
from kernelease.bundle.container import SEALS, read_bundle, write_bundle
from kernelease.bundle.saving import documents, load_measurements, read_contents
from kernelease.errors import BundleError, KerneleaseError
from kernelease.features import KarKarnick
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.kernels import DotProduct
from kernelease.seeds import PublicSeed
from kernelease.table import Schema
from tests.bundle.every_bundle import honest

SCHEMA = ke.Schema.parse("""
[columns.age]
type = "integer"
min = 0
max = 7

[columns.sex]
type = "category"
values = ["f", "m"]
""")
PRIVACY = ke.Privacy(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def table_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.table({"age": [1, 2, 3, 4] * 10, "sex": ["f", "m"] * 20})
    method = ke.Interactions(solver=MixtureSolver(components=4, steps=5))
    release = ke.release(table, schema=SCHEMA, privacy=PRIVACY, method=method)
    return release.save(tmp_path_factory.mktemp("table") / "bundle")


@pytest.fixture(scope="module")
def points_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = np.random.default_rng(0).normal(size=(50, 2))
    method = ke.Subspace(points=ke.fit.NormalPoints(dimension=2), count=5)
    release = ke.release(rows, kernel=ke.kernels.Gaussian(lengthscale=1.0), method=method, privacy=PRIVACY)
    return release.save(tmp_path_factory.mktemp("points") / "bundle")


def changed(bundle: Path, folder: Path, name: str, change: Callable[[Any], object]) -> Path:
    files = {file: data for file, data in read_bundle(bundle).items() if file not in SEALS}
    document = json.loads(files[name])
    change(document)
    return write_bundle(folder / "changed", {**files, name: json.dumps(document).encode()})


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


ARRAY = {"tag": "array", "dtype": "int64", "shape": [0], "data": ""}
NAN = {"tag": "float", "value": "nan"}
STAGE = ("measured", "stages", 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("measured", "rows", value=0), "number of rows"),
        (put("measured", "rows", value=NAN), "number of rows"),
        (put("measured", "rows", value=1e308), "number of rows"),
        (put("measured", "rows", value="many"), "'rows' is unknown, or of another type"),
        (put("measured", "sizes", value=[8]), "other columns than the schema's"),
        (put("measured", "sizes", value=[8, 10**300]), "'sizes' is unknown, or of another type"),
        (put("measured", "blocks", value=[]), "there are none"),
        (put("measured", "blocks", 0, "unit", value=0), "another size than its noise"),
        (put("measured", "blocks", 0, "block", "columns", value=[7]), "columns that there are not"),
        (put("measured", "blocks", 0, "block", "columns", value=[-1]), "columns that there are not"),
        (put("measured", "blocks", 0, "block", "groups", 0, value=ARRAY), "groups the values of a column wrongly"),
        (put("measured", "blocks", 0, "block", "share", value=None), "'share' is unknown, or of another type"),
        (put("measured", "blocks", 0, "measurement", "integers", "values", value=[1]), "can't be read"),
        (put("measured", "blocks", 0, "measurement", "integers", "values", 0, value=1.5), "can't be read"),
        (put("measured", "blocks", 0, "measurement", "integers", "values", 0, value=2**600), "beyond all bounds"),
        (put("measured", "blocks", 0, "measurement", "integers", "values", 0, value=2**200), "beyond all bounds"),
        (put("measured", "blocks", 0, "measurement", "step", "scale", value=1e-9), "beyond all bounds"),
        (put("measured", "blocks", 0, "measurement", "step", "scale", value=1e300), "positive and finite"),
        (put("measured", "blocks", 0, "measurement", "step", "bits", value=10**6), "bits must be"),
        (put("measured", "blocks", 0, "measurement", "step", "law", value="gaussian"), "'law' is unknown"),
        (put("measured", "blocks", 0, "measurement", "private", value=1), "'private' is unknown, or of another type"),
        (put("measured", "blocks", 0, "extra", value=1), "'extra' is unknown"),
        (put("measured", "tag", value="os.system"), "Unknown tag"),
        (put("measured", "tag", value="PublicSeed"), "can't be read"),
    ],
)
def test_measurements_that_do_not_fit_together(
    table_bundle: Path, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    path = changed(table_bundle, tmp_path, "measurements.json", change)
    for opens in (load, load_measurements):
        with pytest.raises(BundleError, match=message):
            opens(path)
    assert not all(finding.holds for finding in ke.verify(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("epsilon", value=-1.0), "epsilon must be positive"),
        (put("epsilon", value=NAN), "epsilon must be positive"),
        (put("delta", value=1.0), "epsilon must be positive, delta"),
        (put("mu", value={"tag": "float", "value": "inf"}), "mu at least 0"),
        (put("rows", value=NAN), "numbers of rows"),
        (put("published_rows", value=-1), "numbers of rows"),
        (put("method", value=None), "'method' is unknown, or of another type"),
        (put("method", value="\ud800"), "'method' is unknown, or of another type"),
        (put("steps", value="none"), "'steps' is unknown, or of another type"),
        (put("version", value=["1"]), "'version' is unknown, or of another type"),
    ],
)
def test_certificates_that_are_none(
    table_bundle: Path, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    path = changed(table_bundle, tmp_path, "certificate.json", change)
    with pytest.raises(BundleError, match=message):
        load(path)
    assert not all(finding.holds for finding in ke.verify(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(*STAGE, "measurement", "integers", "shape", value=[1]), "its type, shape or data are wrong"),
        (put(*STAGE, "feature_map", "stretch", value=NAN), "positive, finite stretch"),
        (put(*STAGE, "feature_map", "matrix", value=ARRAY), r"a matrix \(F, F\)"),
        (put(*STAGE, "feature_map", "matrix", "shape", value=[10**9, 10**9]), "its type, shape or data are wrong"),
        (put(*STAGE, "feature_map", "kernel", value={"tag": "PublicSeed", "value": 1}), "'kernel' is unknown"),
        (put(*STAGE, "feature_map", value={"tag": "Gaussian", "lengthscale": 1.0}), "'feature_map' is unknown"),
        (put(*STAGE, "rows", value=0.5), "number of rows"),
        (put(*STAGE, "measurement", "step", "coordinates", value=1), "not those of the features"),
    ],
)
def test_embeddings_that_do_not_fit_together(
    points_bundle: Path, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    with pytest.raises(BundleError, match=message):
        load(changed(points_bundle, tmp_path, "measurements.json", change))


def test_an_understated_stretch_is_caught(points_bundle: Path, tmp_path: Path) -> None:
    """It would shrink the diameter, and with it the sensitivity that `verify` demands."""
    path = changed(points_bundle, tmp_path, "measurements.json", put(*STAGE, "feature_map", "stretch", value=0.5))
    found = {finding.check: finding for finding in ke.verify(path)}
    assert not found["measurements"].holds
    assert "understated" in found["measurements"].detail


def test_a_certificate_alone_is_not_measurements(table_bundle: Path, tmp_path: Path) -> None:
    files = {name: data for name, data in read_bundle(table_bundle).items() if name not in SEALS}
    certificate = {
        key: value for key, value in json.loads(files["certificate.json"]).items() if key not in ("format", "statement")
    }
    odd = {**json.loads(files["measurements.json"]), "measured": certificate}
    path = write_bundle(tmp_path / "b", {**files, "measurements.json": json.dumps(odd).encode()})
    with pytest.raises(BundleError, match="holds something else"):
        load(path)


# ------------------------------------------------------------------------------------------------------ declared types


def test_every_feature_map_comes_back(tmp_path: Path) -> None:
    """Also one whose arrays are of a small type."""
    kernel = DotProduct(coefficients=(0.5, 0.5), half_width=1.0, dimension=2)
    features = KarKarnick.random(kernel, features=6, max_degree=2, seed=PublicSeed(0))
    again = from_json(json.loads(json.dumps(to_json(features))))
    assert type(again) is KarKarnick
    assert again.signs.dtype == features.signs.dtype
    assert (again.evaluate(np.eye(2)) == features.evaluate(np.eye(2))).all()


@pytest.mark.parametrize(
    ("value", "hint", "holds"),
    [
        (1, int, True),
        (True, int, False),
        (2**300, int, False),
        (1, float, True),
        ("1", float, False),
        (1, bool, False),
        ("a", str, True),
        ("\ud800", str, False),
        (None, str | None, True),
        (3, str | None, False),
        ((1, 2), tuple[int, ...], True),
        ([1, 2], tuple[int, ...], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        (np.zeros(2), np.ndarray[Any, np.dtype[np.float64]], True),
        (np.zeros(2, dtype=np.int64), np.ndarray[Any, np.dtype[np.float64]], False),
        (np.array([1, 2**80], dtype=object), np.ndarray[Any, np.dtype[np.object_]], True),
        (np.array([1, 0.5], dtype=object), np.ndarray[Any, np.dtype[np.object_]], False),
        (0.5, np.ndarray[Any, np.dtype[np.float64]], False),
        ({}, dict[str, int], False),
        ({}, "a forward reference", False),
    ],
)
def test_values_and_types(value: Any, hint: Any, holds: bool) -> None:
    assert conforms(value, hint) is holds


def test_integers_beyond_every_float_are_out_of_range_not_an_error() -> None:
    column = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\n').column("age")
    keys = column.keys(pa.chunked_array([pa.array([2**60 + 1, 7, None], pa.int64())]))
    assert keys.to_pylist() == [float(2**60), 7.0, None]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a document, of long lists the first three."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from _paths(item, (*path, key))


OTHERS = (None, -1, 1.5, "", "x" * 5000, True, [], {}, ["x"], [[1]], {"x": 1}, {"": None}, 10**30)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["several tables", "laid numbers", "vectors with classes"])
@pytest.mark.parametrize("document", ["schema.json", "measurements.json"])
def test_what_stands_anywhere_in_the_place_of_something_else_is_no_traceback(name: str, document: str) -> None:
    files, pick = documents(contents_of(honest(name))), random.Random(0)
    if document not in files:
        pytest.skip("vectors have no schema")
    whole = json.loads(files[document])
    for path in pick.sample(every := list(_paths(whole)), min(40, len(every))):
        for value in OTHERS:
            other = copy.deepcopy(whole)
            put(*path, value=value)(other)
            with contextlib.suppress(KerneleaseError):
                read_contents({**files, document: json.dumps(other).encode()})
