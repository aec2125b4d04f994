"""How good a synthetic table is: the errors of its marginals, and what a classifier learns from it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from kernelease.arrays import Floats, Integers

WAYS = (1, 2, 3)


@dataclass(frozen=True)
class Accuracy:
    """Areas under the ROC curve on real test rows, of classifiers trained on synthetic rows."""

    lightgbm: float
    logistic: float


def marginal_errors(
    real: Integers, synthetic: Integers, sizes: Sequence[int], ways: Sequence[int] = WAYS
) -> dict[int, float]:
    """For each k the mean, over all sets of k columns, of Σ |p − q| between the two tables' shares of cells.

    >>> marginal_errors(np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]]), (2, 2), ways=(1, 2))
    {1: 0.0, 2: 2.0}
    """
    _check_codes(real, sizes)
    _check_codes(synthetic, sizes)
    return {k: float(np.mean([_distance(real, synthetic, sizes, some) for some in _sets(len(sizes), k)])) for k in ways}


def outside(codes: Integers, sizes: Sequence[int]) -> int:
    """How many cells hold no value of their column."""
    return int(((codes < 0) | (codes >= np.asarray(sizes))).sum())


def can_predict() -> bool:
    """Whether the packages of the bench extra are there."""
    return all(find_spec(name) is not None for name in ("lightgbm", "sklearn"))


def accuracy(
    synthetic: Integers, test: Integers, sizes: Sequence[int], *, target: int, numeric: Sequence[int]
) -> Accuracy:
    """Train on synthetic rows, rank real test rows by the probability of class 1 of the column `target`.

    One class alone teaches nothing: its rank is that of a coin, ½.
    """
    inputs = [i for i in range(len(sizes)) if i != target]
    logistic = _logistic([sizes[i] for i in inputs], [inputs.index(i) for i in numeric])
    return Accuracy(*(_auc(model, synthetic, test, target=target, value=1) for model in (_trees(), logistic)))


def trees_auc(synthetic: Integers, test: Integers, *, target: int, value: int) -> float:
    """The area of LightGBM for rows whose column `target` has that value, against all others."""
    return _auc(_trees(), synthetic, test, target=target, value=value)


def _auc(model, synthetic: Integers, test: Integers, *, target: int, value: int) -> float:
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415  # the bench extra

    (x, y), (x_test, y_test) = (
        (np.delete(rows, target, axis=1), rows[:, target] == value) for rows in (synthetic, test)
    )
    if len(np.unique(y)) < 2:
        return 0.5
    return float(roc_auc_score(y_test, model.fit(x, y).predict_proba(x_test)[:, 1]))


def _trees():
    import lightgbm  # noqa: PLC0415  # of the bench extra

    return lightgbm.LGBMClassifier(n_estimators=100, random_state=0, n_jobs=1, verbose=-1)


def _logistic(sizes: Sequence[int], numeric: Sequence[int]):
    """Logistic regression on categories one-hot and numbers standardised."""
    from sklearn.compose import ColumnTransformer  # noqa: PLC0415  # of the bench extra
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # of the bench extra
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415  # of the bench extra
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: PLC0415  # of the bench extra

    categories = [i for i in range(len(sizes)) if i not in set(numeric)]
    one_hot = OneHotEncoder(categories=[np.arange(sizes[i]) for i in categories], handle_unknown="ignore")
    parts = [("categories", one_hot, categories), ("numbers", StandardScaler(), list(numeric))]
    return make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=2000))


def _sets(columns: int, size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(columns), size))


def _distance(real: Integers, synthetic: Integers, sizes: Sequence[int], columns: tuple[int, ...]) -> float:
    shape = tuple(sizes[i] for i in columns)
    return float(np.abs(_shares(real, columns, shape) - _shares(synthetic, columns, shape)).sum())


def _shares(codes: Integers, columns: tuple[int, ...], shape: tuple[int, ...]) -> Floats:
    cells = np.ravel_multi_index(tuple(codes[:, i] for i in columns), shape)
    return np.bincount(cells, minlength=int(np.prod(shape))) / len(codes)


def _check_codes(codes: Integers, sizes: Sequence[int]) -> None:
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or len(codes) == 0:
        raise ValueError(f"codes must be rows of {len(sizes)} columns, got shape {codes.shape}.")
    if outside(codes, sizes):
        raise ValueError(f"{outside(codes, sizes)} cells hold no value of their column.")
