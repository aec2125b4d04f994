"""Kinds of one's own: a class that is defined can lie in a bundle; what is not defined, or not clear, is refused."""

import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.answers.release import save
from kernelease.bundle import codec
from kernelease.bundle.codec import check_holds, from_json, to_json
from kernelease.bundle.saving import load_measurements
from kernelease.cli import app
from kernelease.errors import BundleError
from kernelease.fit import Constraint, Estimator, Outcome, PointSolver, PointSource, WeightSolver
from kernelease.kinds import Kind, kinds_called, own_kind
from kernelease.ledgers import LedgerFile

PROMISE = ke.Privacy(epsilon=2.0, delta=1e-6)
ROWS = np.random.default_rng(5).normal(size=(200, 1))


# ------------------------------------------------------------------------------------------------- through a bundle


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge(ke.kernels.Kernel):
    """k(x, y) = exp(−|x − y| / width)."""

    width: float

    bound = property(lambda self: 1.0)
    nonnegative = property(lambda self: True)
    lipschitz = property(lambda self: 1.0 / self.width)

    def evaluation_error(self, columns: int) -> float:
        return 1e-12

    def admit(self, rows: Any) -> Any:
        return np.nan_to_num(np.asarray(rows, dtype=float))

    def gram(self, x: Any, y: Any) -> Any:
        return np.exp(-np.abs(x[:, 0, None] - y[None, :, 0]) / self.width)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ruler(PointSource):
    """Points at equal distances."""

    reach: float

    dimension = property(lambda self: 1)

    def draw(self, count: int, generator: Any) -> Any:
        return np.linspace(-self.reach, self.reach, count)[:, None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AsTheyCome(PointSolver):
    """Equal weights for the first points."""

    points: int = 5

    def solve(self, noisy: Any, target: Any, source: Any, seed: Any) -> ke.fit.Solution:
        points = source.draw(self.points, seed.generator("as they come"))
        fitted = WeightSolver(constraint=ke.fit.Simplex()).solve(noisy.feature_map.evaluate(points).T, target)
        return ke.fit.Solution(
            synthetic=ke.fit.SyntheticSet(points=points, weights=fitted.weights),
            distance=fitted.objective**0.5,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.OPTIMAL,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Halved(Estimator):
    """Half of what was measured."""

    share: float = 0.5

    def estimate(self, noisy: Any) -> Any:
        return self.share * noisy.mean


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Even(Constraint):
    """One weight for all."""

    signed = property(lambda self: False)

    def project(self, weights: Any) -> Any:
        return np.full(len(weights), 1.0 / len(weights))

    def lowest(self, gradient: Any) -> float:
        return float(gradient.mean())

    def start(self, count: int) -> Any:
        return np.full(count, 1.0 / count)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OnTheRuler(ke.methods.Method):
    """A method of its own, that leaves the work to another."""

    count: int = 12

    def _inner(self) -> ke.Subspace:
        return ke.Subspace(points=Ruler(reach=3.0), count=self.count)

    def measure(self, rows: Any, context: Any) -> Any:
        return self._inner().measure(rows, context)

    def fit(self, measured: Any, seed: Any, progress: Any = None) -> Any:
        return self._inner().fit(measured, seed)


METHODS: dict[str, ke.methods.Method] = {
    "point source": ke.Subspace(points=Ruler(reach=3.0), count=12),
    "constraint": ke.Subspace(points=Ruler(reach=3.0), count=12, constraint=Even()),
    "estimator": ke.Subspace(points=Ruler(reach=3.0), count=12, estimator=Halved()),
    "solver": ke.RandomFeatures(start=ke.fit.NormalPoints(dimension=1), features=16, solver=AsTheyCome()),
    "method": OnTheRuler(),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_kind_of_ones_own_goes_through_save_load_verify_and_refit(name: str, tmp_path: Path) -> None:
    kernel = ke.kernels.Gaussian(lengthscale=1.0) if name == "solver" else Ridge(width=1.5)
    ledger = LedgerFile.create(tmp_path / "ledger", cap=PROMISE)
    made = ke.release(ROWS, kernel=kernel, method=METHODS[name], privacy=PROMISE, ledger=ledger, out=tmp_path / "out")
    loaded = ke.load(tmp_path / "out")
    assert loaded.measurements.method == METHODS[name]
    assert loaded.measurements.domain.kernel == kernel
    np.testing.assert_allclose(loaded.measurements.fit().weights, made.weights, atol=1e-9)
    assert [f.detail for f in ke.verify(tmp_path / "out", refit=True, ledger=ledger) if not f.holds] == []


# ------------------------------------------------------------------------------------ refused before it costs budget


class Plain(ke.kernels.Kernel):
    """Not a dataclass."""

    bound, nonnegative, lipschitz = 1.0, True, None

    def evaluation_error(self, columns: int) -> float:
        return 0.0

    def admit(self, rows: Any) -> Any:
        return rows

    def gram(self, x: Any, y: Any) -> Any:
        return np.ones((len(x), len(y)))


@dataclass(frozen=True)
class Listed(Plain):
    """A field of a type that no bundle checks."""

    widths: list[float]


@dataclass(frozen=True)
class Doubling(Plain):
    """A constructor that changes what it is given."""

    width: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", 2 * self.width)


@dataclass(frozen=True)
class Holder(Plain):
    """A field that is no kind."""

    inner: Any


@dataclass(frozen=True)
class Refusing(Plain):
    """A constructor that takes what the codec does not give back."""

    width: float

    def __post_init__(self) -> None:
        if not isinstance(self.width, np.floating):
            raise ValueError("a NumPy number, please")


def gaussian_of_another() -> ke.kernels.Kernel:
    @dataclass(frozen=True)
    class Gaussian(Plain):
        lengthscale: float

    return Gaussian(1.0)


def two_of_one_name() -> ke.kernels.Kernel:
    @dataclass(frozen=True)
    class Twofold(Plain):
        width: float

    twin = dataclasses.make_dataclass("Twofold", [("width", float)], bases=(Plain,), frozen=True)
    two_of_one_name.kept = twin  # type: ignore[attr-defined]  # else it is collected
    return Twofold(1.0)


def one_defined_anew() -> ke.kernels.Kernel:
    def defined() -> ke.kernels.Kernel:
        @dataclass(frozen=True)
        class Anew(Plain):
            width: float

        return Anew(1.0)

    older, one_defined_anew.kept = defined(), defined()  # type: ignore[attr-defined]
    return older


REFUSED: dict[str, tuple[Any, str]] = {
    "no dataclass": (Plain(), "its class is no dataclass"),
    "a list": (Listed([1.0]), "'widths' is unknown, or of another type"),
    "another after loading": (Doubling(1.0), "differs from what it was"),
    "no kind inside": (Holder(object()), "A bundle can't hold a object: derive it from one of kernelease's kinds"),
    "a constructor that refuses": (Refusing(np.float64(1.0)), "can't be read: a NumPy number, please"),
    "kernelease's name": (gaussian_of_another(), "the name means the class of kernelease.kernels.numeric.Gaussian"),
    "a name twice": (two_of_one_name(), "Two kinds are called 'Twofold'"),
    "an older definition": (one_defined_anew(), "make the object anew"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("out", [None, "out"])
def test_what_no_bundle_can_hold_is_refused_before_the_charge(case: str, out: str | None, tmp_path: Path) -> None:
    kernel, message = REFUSED[case]
    ledger = ke.MemoryLedger(PROMISE)
    place = {} if out is None else {"out": tmp_path / out}
    with pytest.raises(BundleError, match=message) as caught:
        ke.release(ROWS, kernel=kernel, method=METHODS["point source"], privacy=PROMISE, ledger=ledger, **place)
    assert str(caught.value).endswith("Nothing was spent.")
    assert ledger.entries == []
    assert list(tmp_path.iterdir()) == []


def test_what_was_paid_for_is_written_though_another_kind_has_its_name() -> None:
    """Before the charge a name that means two kinds is refused; after it nothing is lost, and readers are told."""
    written = codec.to_json(two_of_one_name())
    assert written == {"tag": "Twofold", "width": 1.0}
    with pytest.raises(BundleError, match="Two kinds are called 'Twofold'"):
        from_json(written)


def test_a_method_of_kerneleases_with_a_part_that_no_bundle_can_hold_is_refused() -> None:
    class Loose(PointSource):
        dimension = property(lambda self: 1)

        def draw(self, count: int, generator: Any) -> Any:
            return np.zeros((count, 1))

    ledger = ke.MemoryLedger(PROMISE)
    with pytest.raises(BundleError, match="method: A bundle can't hold a Loose"):
        ke.release(ROWS, kernel=Ridge(width=1.0), method=ke.Subspace(points=Loose()), privacy=PROMISE, ledger=ledger)
    assert ledger.entries == []


def test_a_method_of_ones_own_that_no_bundle_can_hold_is_kept_by_its_name(tmp_path: Path) -> None:
    class ByName(ke.methods.Method):
        def measure(self, rows: Any, context: Any) -> Any:
            return OnTheRuler().measure(rows, context)

        def fit(self, measured: Any, seed: Any, progress: Any = None) -> Any:
            return OnTheRuler().fit(measured, seed)

    measured = ke.measure(ROWS, kernel=Ridge(width=1.0), method=ByName(), privacy=PROMISE, out=tmp_path / "out")
    loaded = load_measurements(tmp_path / "out")
    with pytest.raises(ke.errors.ParameterError, match="'ByName' is not part of kernelease: give it anew"):
        loaded.fit()
    np.testing.assert_allclose(loaded.fit(method=ByName()).weights, measured.fit().weights, atol=1e-9)


# ------------------------------------------------------------------------------------------------- a closed world

TAGS = (
    "Adaptive AtomProduct Bags Ball Calibration Certificate Choice ClassGaussians ClassMoments Contrasts Counts "
    "DotProduct EmpiricalMean FixedPoints Fourier Free Gaussian Gaussians GreedyPreimages HashedNgrams "
    "Interactions KarKarnick Kronecker L1Ball LabelledSphere Laid Laplace Law LedgerEntry Look Loss Matern32 "
    "Matern52 Measurement MixtureSolver Moments Neighbours NoisyBags NoisyBlock NoisyBlocks NoisyEmbedding "
    "NoisyEmbeddings NoisyLook NormalPoints Nystrom OnColumns OneHot Order Other Polynomial Product "
    "PublicPoints PublicSeed PublishedRows Ramp RandomBinning RandomFeatures RationalQuadratic "
    "SelectedDatabase Selection Shrinkage Sides Similarity Simplex SlidingFrankWolfe SmallDatabase Spectrum Spread "
    "Step Subspace SyntheticSet Tilting UniformPoints UnknownMethod WeightedSum"
)


def test_the_tags_of_kernelease_are_these_and_no_others() -> None:
    """Bundles are read for years: a class that is renamed leaves its tag behind, and none joins them by accident."""
    codec._define_own()
    defined: set[str] = set()
    waiting: list[type] = [Kind]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            defined |= {cls.__name__} if cls.__module__.startswith("kernelease.") else set()
    assert sorted(name for name in defined if own_kind(name) is not None) == TAGS.split()


def test_nothing_is_imported_because_a_bundle_names_it() -> None:
    for tag in ("os.system", "json.JSONDecoder", "kernelease.kernels.numeric.Gaussian", "Kernel", "Kind", "dict"):
        with pytest.raises(BundleError, match=r"Unknown tag .*--import MODULE"):
            from_json({"tag": tag})
    for tag in (None, 3, ["a"], {"tag": "x"}):
        with pytest.raises(BundleError, match=f"Unknown tag \\({type(tag).__name__}\\)"):
            from_json({"tag": tag})


def test_a_class_that_is_no_kind_has_no_tag() -> None:
    with pytest.raises(BundleError, match="derive it from one of kernelease's kinds"):
        codec._tag(int)
    with pytest.raises(BundleError, match="the name means no class that can be built"):
        codec._tag(ke.kernels.Kernel)
    assert kinds_called("Ridge") == [Ridge]


def test_a_definition_that_can_not_be_resolved_is_told() -> None:
    unresolved = dataclasses.make_dataclass("Unresolved", [("width", "NoSuchType")], bases=(Plain,), frozen=True)
    with pytest.raises(BundleError, match="kernel: A Unresolved in this bundle can't be read: name 'NoSuchType'"):
        check_holds(unresolved(1.0), "kernel")


# ---------------------------------------------------------------------------------------------------- deep objects


def nested(levels: int) -> Any:
    kernel: Any = Ridge(width=1.0)
    for _ in range(levels):
        kernel = ke.kernels.Product(kernels=(kernel,))
    return kernel


def test_objects_within_each_other_are_read_and_written_to_a_stated_depth() -> None:
    check_holds(nested(49), "kernel")
    with pytest.raises(BundleError, match="more than 100 deep"):
        to_json(nested(60))


@pytest.mark.parametrize("deep", ["lists", "objects", "arrays"])
def test_a_strangers_file_that_is_deep_is_refused_in_a_line(deep: str, tmp_path: Path) -> None:
    save(ke.measure(ROWS, kernel=Ridge(width=1.0), method=METHODS["point source"], privacy=PROMISE), tmp_path / "out")
    content = json.loads((tmp_path / "out" / "measurements.json").read_text())
    inner: Any = 1
    for _ in range(900):
        inner = {
            "lists": [inner],
            "objects": {"tag": "Product", "kernels": inner},
            "arrays": {"tag": "objects", "shape": [1], "values": [inner]},
        }[deep]
    with pytest.raises(BundleError, match=r"more than 100 deep|can't be read"):
        from_json({**content["measured"], "seed": inner})


# ------------------------------------------------------------------------------------------------ in another process

MODULE = """
from dataclasses import dataclass
import numpy as np
import kernelease as ke

@dataclass(frozen=True, kw_only=True)
class Flat(ke.kernels.Kernel):
    height: float

    bound = property(lambda self: self.height)
    nonnegative = property(lambda self: True)
    lipschitz = property(lambda self: 0.0)

    def evaluation_error(self, columns):
        return 0.0

    def admit(self, rows):
        return np.nan_to_num(np.asarray(rows, dtype=float))

    def gram(self, x, y):
        return np.full((len(x), len(y)), self.height)
"""
MAKE = """
import numpy as np, kernelease as ke, my_kernels
points = ke.fit.NormalPoints(dimension=1)
ke.release(np.zeros((50, 1)), kernel=my_kernels.Flat(height=1.0), method=ke.Subspace(points=points, count=2),
           privacy=(1.0, 1e-6), out="out")
"""


@pytest.mark.slow
def test_verify_says_which_kind_is_missing_and_reads_it_once_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_kernels.py").write_text(MODULE)
    subprocess.run([sys.executable, "-c", MAKE], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    missing = CliRunner().invoke(app, ["verify", "out"])
    assert missing.exit_code == 1
    said = " ".join(missing.output.split())
    assert "Unknown tag 'Flat'" in said, said
    assert "`kernelease --import MODULE …`" in said
    monkeypatch.syspath_prepend(tmp_path)
    assert CliRunner().invoke(app, ["--import", "my_kernels", "verify", "out"]).exit_code == 0


def test_a_module_that_python_does_not_find_is_named() -> None:
    result = CliRunner().invoke(app, ["--import", "no_such_module", "budget", "show", "ledger"])
    assert result.exit_code == 2
    assert "--import no_such_module: No module named 'no_such_module'. Name a module that Python finds" in result.stderr
