"""Altair, where it is installed."""

from importlib import import_module
from typing import Any

from kernelease.errors import ParameterError


def altair() -> Any:
    """The module, or a `ParameterError` that says how to install it."""
    try:
        return import_module("altair")
    except ImportError:
        raise ParameterError("plot: needs Altair. Install kernelease[plot].") from None
