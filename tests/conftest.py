"""Settings of all tests, and the options that run them as on other machines (CONTRIBUTING.md)."""

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.anywhere import Shift, other_linear_algebra, other_seeds

# How long an example takes depends on what else the machine is doing. No test passes or fails by it.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

_SHIFT = pytest.StashKey[Shift]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--adversarial",
        action="store_true",
        help="eigh, svd and qr choose other signs and other bases of equal eigenvalues",
    )
    parser.addoption("--seed-shift", type=int, default=0, metavar="N", help="mix N into every seed (0: as written)")


def pytest_configure(config: pytest.Config) -> None:
    """Before anything is imported that takes a function by its name, or draws."""
    put_back = contextlib.ExitStack()
    config.add_cleanup(put_back.close)
    shift = config.stash[_SHIFT] = Shift(config.getoption("--seed-shift"))
    if shift.amount:
        put_back.enter_context(other_seeds(shift))
    if config.getoption("--adversarial"):
        put_back.enter_context(other_linear_algebra())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole grids are tried where they are asked for: `-m whole`, as in `make audit`."""
    if "whole" in config.getoption("markexpr"):
        return
    whole = [item for item in items if item.get_closest_marker("whole") is not None]
    items[:] = [item for item in items if item.get_closest_marker("whole") is None]
    if whole:
        config.hook.pytest_deselected(items=whole)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What a golden test and a doctest print is what their seeds, as written, give."""
    exact = isinstance(item, pytest.DoctestItem) or item.get_closest_marker("golden") is not None
    with item.config.stash[_SHIFT].suspended() if exact else contextlib.nullcontext():
        return (yield)
