"""A fit between the charge and the saved measurements: where it fails, what was measured is not lost."""

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.bundle.verify import verify
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver
from kernelease.ledgers import LedgerFile
from kernelease.methods.interactions.rounds import ROUGHLY
from tests.bundle.every_bundle import SteadyNoise


def _failing(
    self: MixtureSolver, *given: object, stage: str = "", solve=MixtureSolver.solve, **more: object
) -> Mixture:
    if stage == ROUGHLY:
        raise ZeroDivisionError("float division by zero")
    return solve(self, *given, stage=stage, **more)  # type: ignore[arg-type]  # as it was called


def _schema(columns: int) -> ke.Schema:
    own = "".join(f'[columns.c{i}]\ntype = "integer"\nmin = 0\nmax = 4\n' for i in range(columns))
    return ke.Schema.parse(f'[table]\nname = "t"\n{own}')


@pytest.mark.parametrize(("columns", "epsilon", "delta"), [(4, 10.0, 1e-6), (4, 10.0, 0.0), (40, 2.0, 1e-6)])
def test_the_rest_is_spent_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int, epsilon: float, delta: float
) -> None:
    first = np.random.default_rng(0).integers(0, 5, 2000)
    table = pa.table({f"c{i}": (first + i * (first > 2)) % 5 for i in range(columns)})
    privacy, ledger = ke.Privacy(epsilon=epsilon, delta=delta), tmp_path / "ledger"
    LedgerFile.create(ledger, cap=privacy)
    monkeypatch.setattr(MixtureSolver, "solve", _failing)
    with pytest.warns(UserWarning, match="first fit failed .ZeroDivisionError"):
        made = ke.release(
            table,
            schema=_schema(columns),
            privacy=privacy,
            ledger=ledger,
            out=tmp_path / "out",
            noise=SteadyNoise(),
            fast=True,
        )
    spent, promised = made.certificate.spent, made.certificate.promised
    assert spent.mu_squared == pytest.approx(promised.mu_squared, rel=1e-6) or spent.pure_epsilon > 0.999 * epsilon
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [one for one in verify(tmp_path / "out", refit=True) if not one.holds] == []
