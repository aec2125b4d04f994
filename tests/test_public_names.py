"""The public names. A change here is a change for everyone who uses the package: it belongs into the changelog."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import kernelease
import kernelease.errors
import kernelease.kernels

ROOT = Path(kernelease.__file__).parent

NAMES = [
    "Adaptive",
    "Certificate",
    "Estimate",
    "Interactions",
    "KerneleaseError",
    "LedgerFile",
    "Measurements",
    "MemoryLedger",
    "Neighbours",
    "Privacy",
    "PublicSeed",
    "RandomFeatures",
    "Release",
    "Schema",
    "SeededNoise",
    "SmallDatabase",
    "Subspace",
    "Synthesizer",
    "SystemNoise",
    "__version__",
    "analysis",
    "check",
    "draft",
    "errors",
    "features",
    "fit",
    "kernels",
    "load",
    "measure",
    "methods",
    "plan",
    "pool",
    "privacy",
    "private_independence_test",
    "private_two_sample_test",
    "release",
    "save",
    "table",
    "verify",
]

OF_A_RELEASE = [
    "agreement",
    "answers",
    "ask",
    "by",
    "certificate",
    "correlation",
    "count",
    "crosstab",
    "describe",
    "export",
    "forms",
    "logistic",
    "mean",
    "measurements",
    "of",
    "plot",
    "points",
    "probability",
    "quantile",
    "regression",
    "report",
    "rows",
    "sample",
    "save",
    "schema",
    "settings",
    "table",
    "tests",
    "to_pandas",
    "vectors",
    "weights",
    "where",
]

HEAVY = ("pandas", "duckdb", "torch", "jax", "sklearn", "matplotlib", "altair")


def test_the_names_are_these_and_few() -> None:
    assert sorted(kernelease.__all__) == sorted(NAMES)
    assert len(NAMES) <= 40
    assert sorted(set(NAMES)) == sorted(NAMES)


def test_the_names_of_a_release_are_these_and_few() -> None:
    assert [name for name in dir(kernelease.Release) if not name.startswith("_")] == OF_A_RELEASE
    assert len(OF_A_RELEASE) <= 32


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__version__"])
def test_every_name_says_what_it_is(name: str) -> None:
    """In a docstring of its own, whose first line is a sentence of at most one line."""
    thing = getattr(kernelease, name)
    inherited = (
        next((base.__doc__ for base in inspect.getmro(thing)[1:] if base.__doc__), None)
        if inspect.isclass(thing)
        else None
    )
    assert thing.__doc__
    assert thing.__doc__ != inherited
    assert not thing.__doc__.startswith(f"{name}(")  # what dataclasses write by themselves
    assert thing.__doc__.splitlines()[0].strip()


FRONTS = sorted(
    path.parent.relative_to(ROOT).as_posix().replace("/", ".")
    for path in ROOT.rglob("__init__.py")
    if path.parent != ROOT and "front_door" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("package", FRONTS)
def test_every_package_offers_what_it_lists_and_what_type_checkers_see(package: str) -> None:
    module = importlib.import_module(f"kernelease.{package}")
    assert module.__doc__
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert dir(module) == sorted(module.__all__)
    seen = _seen_by_type_checkers(Path(module.__file__).with_suffix(".pyi"))
    assert sorted(seen) == sorted(module.__all__)
    for name, home in seen.items():
        assert getattr(module, name) is getattr(importlib.import_module(home), name), name


def test_the_library_offers_what_type_checkers_see() -> None:
    seen = _seen_by_type_checkers(ROOT / "__init__.pyi")
    assert set(seen) == set(NAMES)
    for name, home in seen.items():
        assert getattr(kernelease, name) is getattr(importlib.import_module(home), name), name


def _seen_by_type_checkers(path: Path) -> dict[str, str]:
    """The names that a stub offers, and where they are from."""
    imports = ast.parse(path.read_text(encoding="utf-8")).body
    assert all(isinstance(node, ast.ImportFrom) for node in imports)
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    return {alias.name: str(node.module) for node in imports for alias in node.names}


ASKED = [
    name
    for name, found in inspect.getmembers(kernelease.Release)
    if not name.startswith("_") and (isinstance(found, property) or inspect.isfunction(found))
]


@pytest.mark.parametrize("name", ASKED)
def test_what_a_release_answers_with_is_offered_by_a_package(name: str) -> None:
    """Whoever annotates a function of their own finds the type in kernelease.analysis, or beside the release."""
    found = getattr(kernelease.Release, name)
    methods = [found.fget] if isinstance(found, property) else [found, *typing.get_overloads(found)]
    told = [str(method.__annotations__.get("return", "")) for method in methods]
    ours = {word for text in told for word in re.findall(r"kernelease\.[\w.]+\.(\w+)", text)}
    ours |= {text for text in told if re.fullmatch("[A-Z][A-Za-z]+", text)}  # written as a text
    packages = ("analysis", "answers", "measured", "methods", "table", "kernels", "fit")
    offered = {one for package in packages for one in importlib.import_module(f"kernelease.{package}").__all__}
    assert ours <= offered | {"Certificate", "Measurements"}


def test_every_exception_is_offered_in_one_place() -> None:
    def below(kind: type[BaseException]) -> set[str]:
        return {kind.__name__}.union(*(below(one) for one in kind.__subclasses__()))

    assert below(kernelease.errors.KerneleaseError) <= set(kernelease.errors.__all__)
    assert "UncertaintyWarning" in kernelease.errors.__all__


def test_a_front_door_leads_to_no_other_name() -> None:
    with pytest.raises(AttributeError, match=r"'kernelease\.kernels' has no attribute 'Kernal'"):
        _ = kernelease.kernels.Kernal


def test_the_version_is_a_version() -> None:
    assert kernelease.__version__[0].isdigit()


@pytest.mark.slow
def test_importing_is_light_and_silent() -> None:
    """No optional engine is imported, and nothing is printed. (OpenDP itself imports polars where it finds it.)"""
    script = (
        "import sys, opendp.prelude; before = set(sys.modules); import kernelease; "  # opendp takes scikit-learn along
        f"print([name for name in {HEAVY!r} if name in sys.modules and name not in before])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (found.stdout.strip(), found.stderr.strip()) == ("[]", "")


@pytest.mark.slow
def test_names_are_loaded_on_demand_and_stay_functions() -> None:
    """No package bears the name of a function: importing it would take the function away."""
    packages = {path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("__init__.py")}
    modules = {path.stem for path in ROOT.glob("*.py")}
    assert {name for name in NAMES if callable(getattr(kernelease, name))}.isdisjoint(packages | modules)
    script = (
        "import sys, kernelease as ke; loaded = 'numpy' in sys.modules; "
        "print(loaded, callable(ke.release), ke.fit.Simplex.__name__, sorted(dir(ke)) == sorted(ke.__all__))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True", "Simplex", "True"]


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Kernal'"):
        _ = kernelease.Kernal


def test_the_version_is_printed_without_loading_anything() -> None:
    script = "import sys; sys.argv = ['kernelease', '--version']\nfrom kernelease.cli import app\ntry:\n    app()\n"
    script += "except SystemExit:\n    print([name for name in ('numpy', 'scipy', 'pyarrow') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:2] == [kernelease.__version__, "[]"]
