"""The page of a release: one file that carries everything and fetches nothing."""

import base64
import html
import itertools
import json
import math
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease._version import __version__
from kernelease.analysis.estimate import Target
from kernelease.answers.reading import evidence_of
from kernelease.answers.release import Release, TablesRelease, contents_of, release_of
from kernelease.arrays import Floats, Integers
from kernelease.bundle.container import PUBLIC_KEY, SIGNATURE, SUMS, read_bundle, sums_file
from kernelease.bundle.saving import documents, holds_rows, read_contents
from kernelease.bundle.signing import fingerprint, parse_public_key, short_fingerprint
from kernelease.bundle.verify import findings, on_trust
from kernelease.certificate import NOT_PROMISED, Certificate
from kernelease.errors import BundleError, ParameterError, SigningError
from kernelease.machine import draft_beside
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import declared_levels
from kernelease.privacy.sensitivity import Neighbours
from kernelease.progress import SILENT, Progress
from kernelease.report import sheet as assets
from kernelease.report.columns import (
    column_records,
    disagreements,
    mean_records,
    pair_records,
    points_record,
    points_worth,
    shown_codes,
    worth,
)
from kernelease.report.comparison import comparison_record
from kernelease.report.marginals import marginal_records, number, numbers
from kernelease.sources.opening import open_declared
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

# ---- For the owner alone: the private table beside its release. Nothing here is protected: no such page may leave.


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
    schema = release.measurements.laid_domain.schema
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


# ---- The guarantee: in words, as a curve of risk, step by step.


_RATES = (*(10.0 ** (-4 + step / 50) for step in range(200)), 1.0)  # of false alarms, evenly on a log scale


def promise_record(release: Release) -> dict[str, Any]:
    """The certificate for people: what is promised, to whom, at which risk, and what is not."""
    certificate = release.certificate
    return {
        "private": certificate.private,
        "words": certificate.words,
        "headline": certificate.headline,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "mu": number(certificate.mu),
        "neighbours": certificate.neighbours.value,
        "unit": certificate.unit,
        "one": certificate.one,
        "rows": number(certificate.rows),
        "published": certificate.published_rows,
        "method": certificate.method,
        "settings": certificate.settings,
        "kernel": certificate.kernel,
        "choices": list(certificate.choices),
        "seed": certificate.seed,
        "version": certificate.version,
        "curve": [[number(rate, 4), number(certificate.promised.attacker(rate), 4)] for rate in _RATES],
        "not_promised": list(NOT_PROMISED),
        "ledger": _ledger(certificate),
    }


def _ledger(certificate: Certificate) -> dict[str, Any]:
    """What all entries up to this one have cost, and what of it is this one's; in μ², which adds up, or in pure ε."""
    entry, alone = certificate.entry, certificate.promised
    pure = alone.pure_epsilon < math.inf and entry.spent.pure_epsilon < math.inf
    spent, part = (entry.spent.pure_epsilon, alone.pure_epsilon) if pure else (entry.spent.mu_squared, alone.mu_squared)
    return {
        "text": str(entry),
        "kept": entry.ledger is not None,
        "number": entry.number,
        "measure": "epsilon" if pure else "mu squared",
        "before": number(max(0.0, spent - part)),
        "this": number(part),
    }


def step_records(release: Release) -> list[list[Any]]:
    """Noise by measurement: the places of its columns, or what it is; how many numbers, their standard deviation.

    Of blocks also the share of the budget, and the round.
    """
    measured = release.measurements.measured
    if isinstance(measured, NoisyBlocks) and release.schema is not None:
        return [
            [
                list(noisy.block.columns),
                noisy.block.numbers,
                number(noisy.deviation, 4),
                number(noisy.block.share, 4),
                noisy.round,
            ]
            for noisy in measured.blocks
        ]
    return [[f"{step.law.value} noise", step.coordinates, number(step.scale, 4)] for step in measured.steps]


# ---- The bundle's own documents, so that the page can check them by itself, and what `verify` says of them.


_BY_HAND = frozenset({"data.parquet", "measurements.json", "report.html"})  # never carried: the reader picks them
_CARRIED = 40_000  # limit: bytes of any other document that a page carries


def seal_record(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Documents, sums and signature as bytes in base64: what is signed is bytes, and no reader may mend them."""
    by_hand = {name for name, data in files.items() if name in _BY_HAND or len(data) > _CARRIED}
    carried = {name: base64.b64encode(data).decode() for name, data in files.items() if name not in by_hand}
    found = findings(dict(files))
    return {
        "documents": carried,
        "names": {"sums": SUMS, "signature": SIGNATURE, "key": PUBLIC_KEY},
        "key": _key(files),
        "by_hand": sorted(by_hand),
        "findings": [
            {
                "check": item.check,
                "holds": item.holds,
                "detail": item.detail,
                "open": (item.holds and item.check == "signature" and SIGNATURE not in files),
            }
            for item in found
        ],
        "on_trust": list(on_trust(found, refit=False)),
    }


def _key(files: Mapping[str, bytes]) -> str | None:
    try:
        return short_fingerprint(fingerprint(parse_public_key(files[PUBLIC_KEY])))
    except (KeyError, SigningError):
        return None


# ---- All that the page of a release shows, as one JSON object. Nothing in it is private.


_EMPTY: dict[str, Any] = {
    "columns": [],
    "derived": [],
    "marginals": [],
    "pairs": [],
    "means": {},
    "worth": None,
    "disagreements": None,
}
SAMPLE = 200  # convention: synthetic rows that the page shows
_LARGEST = 1_200_000  # limit: bytes of all that a page says, so that it stays below 1.5 MB with scripts and documents
_SAMPLED = 10_000  # limit: cells of such rows, so that a wide table leaves room for its counts


def contents(release: Release, *, bundle: str) -> dict[str, Any]:
    """What the page says of a release; `bundle` is where it lies, for commands to copy."""
    known = release.measurements.measured.neighbours is Neighbours.REPLACE_ONE
    weights = np.maximum(release.weights, 0.0)
    count = min(SAMPLE, max(1, _SAMPLED // release.table.num_columns), release.table.num_rows)
    generator = np.random.default_rng(0)
    chosen = np.sort(generator.choice(len(weights), count, p=weights / weights.sum()))
    told = _texts_of(release.rows.take(pa.array(chosen)))
    about: dict[str, Any] = {
        "title": "Vectors" if release.schema is None else release.measurements.domain.name,
        "bundle": bundle,
        "version": __version__,
        "rows": number(release.measurements.measured.rows),
        "total": number(release.measurements.measured.rows) if known else None,
        "synthetic_rows": release.table.num_rows,
        "notices": list(release.measurements.notices),
        "promise": promise_record(release),
        "steps": step_records(release),
        "sample": {"names": told["names"], "rows": told["sample"]},
    }
    content = about | _of_table(release)
    if isinstance(release.measurements.measured, NoisyBlocks) and release.schema is not None:
        room, evidence = _LARGEST - len(embed_json(content)), evidence_of(release, Target.TABLE)
        content["marginals"] = marginal_records(release.measurements.measured, room, evidence)
    return content


def _of_table(release: Release) -> dict[str, Any]:
    """What only a declared table has; of vectors, and of features measured together, the lists are empty."""
    schema, measured = release.measurements.laid_domain.schema, release.measurements.measured
    if schema is None:
        points = points_record(release)
        return _EMPTY | {"points": points, "worth": None if points is None else points_worth(points)}
    codes = Encoder(schema).encode(release.rows).astype(np.int64)
    if not isinstance(measured, NoisyBlocks):
        columns = column_records(release, schema, codes, None)
        return _EMPTY | {"columns": columns, "derived": [one.name for one in schema.derived]}
    answers = release.answers()
    pairs = pair_records(measured, answers)
    return {
        "columns": column_records(release, schema, codes, answers),
        "derived": [one.name for one in schema.derived],
        "pairs": pairs,
        "worth": worth(answers, pairs),
        "means": mean_records(release, schema),
        "disagreements": disagreements(measured, codes, release.weights),
        "marginals": [],  # they come last, and take what room is left
    }


def tables_record(release: TablesRelease) -> dict[str, Any]:
    """What the page says of several tables beside what it says of persons' paths: first rows of each, and how many."""
    root = release.schema.root
    about = [
        {"name": name, "rows": len(table), **_texts_of(table.rows.slice(0, SAMPLE // 4))}
        for name, table in release.tables.items()
    ]
    return {"title": " and ".join(release.tables), "tables": about, "person": str(root.key)}


def _texts_of(rows: pa.Table) -> dict[str, Any]:
    """The names of columns, and the cells of rows as text."""
    columns = [[_text(value) for value in column.to_pylist()] for column in rows.columns]
    return {"names": rows.column_names, "sample": [list(row) for row in zip(*columns, strict=True)]}


def _text(value: object) -> str | None:
    """A cell as it is written.

    >>> _text(True), _text(2.5), _text(None)
    ('true', '2.5', None)
    """
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- Writing the page.


_ENDINGS = (".html", ".htm")


def report_bundle(
    bundle: str | Path,
    out: str | Path,
    *,
    private: Any = None,
    query: str | None = None,
    compare: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> tuple[Path, bool]:
    """Write the page of a bundle; with it, whether all that can be checked of the bundle holds.

    A bundle that was changed gets a page, too, which says so in red: whoever was sent it should see that. With the
    `private` table itself, the page compares the two for its owner, and is as private as that table. With another
    bundle to `compare` it with, it shows the two side by side, and both must hold.
    """
    check_page(out, overwrite=overwrite)
    if private is not None:
        check_private_name(out, bundle)
    files, loaded, release = _read_release(bundle)
    content = sealed_contents(release, files, bundle=str(bundle), progress=progress)
    if isinstance(loaded, TablesRelease):
        content |= tables_record(loaded)
    holds = all(item["holds"] for item in content["seals"]["findings"])
    if compare is not None:
        progress.stage("comparing with the other release")
        others, _, other = _read_release(compare)
        held = all(item.holds for item in findings(others))
        content["comparison"] = {**comparison_record(release, other), "holds": held}
        holds = holds and held
    if private is not None:
        if isinstance(loaded, TablesRelease):
            raise BundleError(
                f"{bundle}: holds several tables, and only one can be compared with. Leave out --private."
            )
        progress.stage("comparing with the private table")
        content["owner"] = owner_record(release, private, query=query)
    return write_page(content, out, overwrite=overwrite), holds


def _read_release(bundle: str | Path) -> tuple[dict[str, bytes], Release | TablesRelease, Release]:
    """The files of a bundle, the release in it, and the same as one table."""
    files = read_bundle(bundle)
    if not holds_rows(files):
        raise BundleError(f"{bundle}: holds measurements only. Make rows from them with `kernelease fit`.")
    loaded = release_of(read_contents(files))
    return dict(files), loaded, loaded.flat if isinstance(loaded, TablesRelease) else loaded


def report_release(release: Release, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write the page of a release that is at hand: not signed, since it is not a bundle yet."""
    check_page(out, overwrite=overwrite)
    files = documents(contents_of(release))
    files[SUMS] = sums_file(files)
    return write_page(sealed_contents(release, files, bundle="BUNDLE"), out, overwrite=overwrite)


def sealed_contents(
    release: Release, files: Mapping[str, bytes], *, bundle: str, progress: Progress = SILENT
) -> dict[str, Any]:
    """What the page says of a release, and the files of its bundle, by which it can be checked."""
    progress.stage("asking the release")
    content = contents(release, bundle=bundle)
    progress.stage("checking the bundle")
    return {**content, "seals": seal_record(files)}


def page(content: Mapping[str, Any]) -> str:
    """The page as text. Whatever names and values the content has, they stay text in it."""
    scripts, style = assets.page_scripts(), assets.page_style()
    parts = {
        "policy": html.escape(assets.policy(scripts, style)),
        "title": html.escape(f"{content['title']} · release explorer"),
        "style": style,
        "data": embed_json(content),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = assets.template().split("%%")  # text, name of a part, text, name of a part, …, text
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def embed_json(content: Any) -> str:
    r"""JSON that can't end the element it stands in, nor be taken for markup.

    >>> embed_json({"a": "</script><!--"})
    '{"a":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def check_page(out: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a page can't be written there: by its name, its folder, or a file in its place."""
    if Path(out).suffix.lower() not in _ENDINGS:
        raise BundleError(f"{out}: the name of a page must end in .html.")
    if not overwrite and os.path.lexists(out):
        raise BundleError(f"{out} already exists. Choose another name, or give --overwrite (overwrite=True in Python).")
    if not os.path.isdir(Path(out).absolute().parent):
        raise BundleError(f"{out} could not be written: its folder is missing. Make it first.")


def write_page(content: Mapping[str, Any], out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all."""
    check_page(out, overwrite=overwrite)
    target = Path(out)
    mode = 0o600 if "owner" in content else 0o666  # what compares with private rows is its owner's alone
    try:
        with draft_beside(target) as draft:
            draft.touch(mode=mode)
            draft.write_text(page(content), encoding="utf-8", newline="\n")
            os.replace(draft, target)
    except OSError as error:
        raise BundleError(f"{out} could not be written: {error.strerror}.") from error
    return target
