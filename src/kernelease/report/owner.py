"""For the owner alone: the private table beside its release. Nothing here is protected: no such page may leave."""

import itertools
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kernelease.answers.release import Release
from kernelease.arrays import Floats, Integers
from kernelease.errors import BundleError, ParameterError
from kernelease.exact.encode import Encoder
from kernelease.measured.offsets import declared_levels
from kernelease.report.columns import shown_codes
from kernelease.report.marginals import number, numbers
from kernelease.sources.opening import open_declared
from kernelease.table.schema import Schema

MARK = "private"  # what the name of such a page must say
_LEARNED = 4  # columns to predict: enough to see, in seconds
_MOST_CLASSES = 20  # of such a column
_MOST_ROWS = 50_000  # that a model is trained on
_NO_LEARNER = "Scores need scikit-learn: install kernelease[bench]."


def check_private_name(out: str | Path, bundle: str | Path) -> None:
    """Raise `BundleError` unless the name says that the page is private, and lies outside of what is published."""
    target = Path(out)
    if MARK not in target.name.lower():
        name = f"{target.stem}-{MARK}{target.suffix or '.html'}"
        raise BundleError(f"{out}: a page made from private rows must say so in its name. Call it {name}.")
    if Path(bundle).resolve() in target.resolve().parents:
        raise BundleError(f"{out}: a page made from private rows must not lie in the bundle, which is published.")


def owner_record(release: Release, data: Any, *, query: str | None = None) -> dict[str, Any]:
    """Distributions of the private table beside the synthetic ones, and how well models learn from either."""
    schema = release.measurements.laid.schema
    if schema is None:
        raise ParameterError("A private table is compared with a release of a table; this one is of vectors.")
    real = shown_codes(schema, _codes(schema, data, query))
    synthetic = shown_codes(schema, Encoder(schema).encode(release.rows).astype(np.int64))
    levels = declared_levels(schema.columns)
    sizes = [c.size if own is None else int(own.max()) + 1 for c, own in zip(schema, levels, strict=True)]
    singles = [_distance(real, synthetic, release.weights, sizes, (place,)) for place in range(len(sizes))]
    pairs = [
        _distance(real, synthetic, release.weights, sizes, pair)
        for pair in itertools.combinations(range(len(sizes)), 2)
    ]
    shares = [np.bincount(real[:, place], minlength=size) / len(real) for place, size in enumerate(sizes)]
    return {
        "rows": len(real),
        "columns": {
            "mean": number(float(np.mean(singles))),
            "distances": numbers(singles),
            "real": [numbers(share) for share in shares],
        },
        "pairs": {"mean": number(float(np.mean(pairs))) if pairs else None},
        "learning": _learning(schema, real, synthetic, release.weights),
    }


def _codes(schema: Schema, data: Any, query: str | None) -> Integers:
    encoder, source = Encoder(schema), open_declared(data, schema, query=query)
    parts = [encoder.encode(batch) for batch in source.batches(schema.names)]
    if not sum(len(part) for part in parts):
        raise ParameterError("The private table has no rows to compare with.")
    return np.concatenate(parts).astype(np.int64)


def _distance(
    real: Integers, synthetic: Integers, weights: Floats, sizes: list[int], columns: tuple[int, ...]
) -> float:
    """Total variation distance of the two distributions of some columns."""
    shape = tuple(sizes[column] for column in columns)
    cells = [np.ravel_multi_index(tuple(rows[:, column] for column in columns), shape) for rows in (real, synthetic)]
    total = int(np.prod(shape))
    one = np.bincount(cells[0], minlength=total) / len(real)
    other = np.bincount(cells[1], weights=weights, minlength=total) / weights.sum()
    return 0.5 * float(np.abs(one - other).sum())


def _learning(schema: Schema, real: Integers, synthetic: Integers, weights: Floats) -> list[dict[str, Any]] | str:
    """How well some categories are predicted, on private rows that neither model has seen."""
    try:
        models, metrics = import_module("sklearn.ensemble"), import_module("sklearn.metrics")
        threads = import_module("threadpoolctl")  # comes with scikit-learn
    except ImportError:
        return _NO_LEARNER
    order = np.random.default_rng(0).permutation(len(real))
    half = len(real) // 2
    train, test = real[order[:half]][:_MOST_ROWS], real[order[half:]][:_MOST_ROWS]
    fitted = synthetic[:_MOST_ROWS], weights[:_MOST_ROWS]
    named = [place for place, column in enumerate(schema) if column.tag in ("category", "ordinal", "boolean")]
    chosen = [place for place in named if 2 <= schema.columns[place].size <= _MOST_CLASSES][-_LEARNED:]
    found = []
    for target in chosen:
        with threads.threadpool_limits(limits=1):  # of trees this small, threads wait for each other most of the time
            scores = [
                _score(models, metrics, rows, held, test, target)
                for rows, held in (fitted, (train, np.ones(len(train))))
            ]
        if None not in scores:
            found.append(
                {
                    "target": schema.names[target],
                    "score": "AUC" if schema.columns[target].size == 2 else "accuracy",
                    "synthetic": number(scores[0] or 0.0),
                    "real": number(scores[1] or 0.0),
                }
            )
    return found


def _score(models: Any, metrics: Any, rows: Integers, weights: Floats, test: Integers, target: int) -> float | None:
    """AUC of two classes, else accuracy; None where a table holds one class only."""
    if min(len(np.unique(part[:, target])) for part in (rows, test)) < 2:
        return None
    others = [place for place in range(rows.shape[1]) if place != target]
    model = models.HistGradientBoostingClassifier(max_iter=60, random_state=0)
    model.fit(rows[:, others], rows[:, target], sample_weight=weights)
    if len(model.classes_) == 2:
        return float(
            metrics.roc_auc_score(test[:, target] == model.classes_[1], model.predict_proba(test[:, others])[:, 1])
        )
    return float(metrics.accuracy_score(test[:, target], model.predict(test[:, others])))
