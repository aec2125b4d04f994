"""The page of a release: one file that carries everything and fetches nothing."""

import base64
import html
import json
import math
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease._version import __version__
from kernelease.errors import BundleError, SigningError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.neighbours import Neighbours
from kernelease.progress import SILENT, Progress
from kernelease.release.bundle import documents, release_of
from kernelease.release.certificate import NOT_PROMISED, Certificate
from kernelease.release.container import PUBLIC_KEY, SIGNATURE, SUMS, read_bundle, sums_file
from kernelease.release.release import Release
from kernelease.release.signing import fingerprint, parse_public_key, short_fingerprint
from kernelease.release.verify import findings, on_trust
from kernelease.report import sheet as assets
from kernelease.report.columns import (
    column_records,
    disagreements,
    marginal_records,
    mean_records,
    number,
    pair_records,
)
from kernelease.report.owner import check_private_name, owner_record
from kernelease.table.encode import Encoder

# --------------------
# The guarantee: in words, as a curve of risk, step by step.


_RATES = (*(10.0 ** (-4 + step / 50) for step in range(200)), 1.0)  # of false alarms, evenly on a log scale


def promise_record(release: Release) -> dict[str, Any]:
    """The certificate for people: what is promised, to whom, at which risk, and what is not."""
    certificate = release.certificate
    return {
        "private": certificate.private,
        "headline": certificate.headline,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "mu": number(certificate.mu),
        "neighbours": certificate.neighbours.value,
        "unit": certificate.unit,
        "rows": number(certificate.rows),
        "published": certificate.published_rows,
        "method": certificate.method,
        "settings": certificate.settings,
        "kernel": certificate.kernel,
        "choices": list(certificate.choices),
        "seed": certificate.seed,
        "version": certificate.version,
        "curve": [[number(rate), number(certificate.promised.attacker(rate))] for rate in _RATES],
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


def step_records(release: Release) -> list[dict[str, Any]]:
    """Noise by block: which columns, how many counts, their standard deviation, the share of the budget, the round."""
    measured = release.measured
    if isinstance(measured, NoisyBlocks) and release.schema is not None:
        names = release.schema.names
        return [
            {
                "what": " × ".join(names[column] for column in noisy.block.columns) or "number of rows",
                "numbers": noisy.block.numbers,
                "noise": number(noisy.deviation),
                "share": number(noisy.block.share),
                "round": noisy.round,
            }
            for noisy in measured.blocks
        ]
    return [
        {"what": f"{step.law.value} noise", "numbers": step.coordinates, "noise": number(step.scale)}
        for step in measured.steps
    ]


# --------------------
# The bundle's own documents, so that the page can check them by itself, and what `verify` says of them.


_BY_HAND = frozenset({"data.parquet", "measurements.json", "report.html"})  # too large to carry: the reader picks them


def seal_record(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Documents, sums and signature as bytes in base64: what is signed is bytes, and no reader may mend them."""
    carried = {name: base64.b64encode(data).decode() for name, data in files.items() if name not in _BY_HAND}
    found = findings(dict(files))
    return {
        "documents": carried,
        "names": {"sums": SUMS, "signature": SIGNATURE, "key": PUBLIC_KEY},
        "key": _key(files),
        "by_hand": sorted(set(files) & _BY_HAND),
        "findings": [{"check": item.check, "holds": item.holds, "detail": item.detail} for item in found],
        "on_trust": list(on_trust(found, refit=False)),
    }


def _key(files: Mapping[str, bytes]) -> str | None:
    try:
        return short_fingerprint(fingerprint(parse_public_key(files[PUBLIC_KEY])))
    except (KeyError, SigningError):
        return None


# --------------------
# All that the page of a release shows, as one JSON object. Nothing in it is private.


_EMPTY: dict[str, Any] = {
    "columns": [],
    "derived": [],
    "marginals": [],
    "pairs": [],
    "means": {},
    "disagreements": None,
}
SAMPLE = 200  # synthetic rows that the page shows


def contents(release: Release, *, bundle: str) -> dict[str, Any]:
    """What the page says of a release; `bundle` is where it lies, for commands to copy."""
    known = release.measured.neighbours is Neighbours.REPLACE_ONE
    about: dict[str, Any] = {
        "title": release.domain.name,
        "bundle": bundle,
        "version": __version__,
        "rows": number(release.measured.rows),
        "total": number(release.measured.rows) if known else None,
        "synthetic_rows": release.table.num_rows,
        "notices": list(release.measurements.notices),
        "promise": promise_record(release),
        "steps": step_records(release),
        "sample": _sample(release),
    }
    return about | _of_table(release)


def _of_table(release: Release) -> dict[str, Any]:
    """What only a declared table has; of vectors, and of features measured together, the lists are empty."""
    schema, measured = release.schema, release.measured
    if schema is None:
        return _EMPTY
    codes = Encoder(schema).encode(release.rows).astype(np.int64)
    if not isinstance(measured, NoisyBlocks):
        columns = column_records(release, schema, codes, None)
        return _EMPTY | {"columns": columns, "derived": [one.name for one in schema.derived]}
    answers = release.answers()
    return {
        "columns": column_records(release, schema, codes, answers),
        "derived": [one.name for one in schema.derived],
        "marginals": marginal_records(measured, codes, release.weights),
        "pairs": pair_records(measured, answers),
        "means": mean_records(release, schema),
        "disagreements": disagreements(measured, schema, codes, release.weights),
    }


def _sample(release: Release) -> dict[str, Any]:
    """Rows drawn by their weights from a fixed public seed, as text; NULL is None."""
    weights = np.maximum(release.weights, 0.0)
    count = min(SAMPLE, release.table.num_rows)
    generator = np.random.default_rng(0)
    chosen = np.sort(generator.choice(len(weights), count, p=weights / weights.sum()))
    rows = release.rows.take(pa.array(chosen))
    columns = [[_text(value) for value in column.to_pylist()] for column in rows.columns]
    return {"names": rows.column_names, "rows": [list(row) for row in zip(*columns, strict=True)]}


def _text(value: object) -> str | None:
    """A cell as it is written.

    >>> _text(True), _text(2.5), _text(None)
    ('true', '2.5', None)
    """
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


# --------------------
# Writing the page.


_ENDINGS = (".html", ".htm")


def report_bundle(
    bundle: str | Path,
    out: str | Path,
    *,
    private: Any = None,
    query: str | None = None,
    overwrite: bool = False,
    progress: Progress = SILENT,
) -> tuple[Path, bool]:
    """Write the page of a bundle; with it, whether all that can be checked of the bundle holds.

    A bundle that was changed gets a page, too, which says so in red: whoever was sent it should see that. With the
    `private` table itself, the page compares the two for its owner, and is as private as that table.
    """
    check_page(out, overwrite=overwrite)
    if private is not None:
        check_private_name(out, bundle)
    files = read_bundle(bundle)
    if "data.parquet" not in files:
        raise BundleError(f"{bundle}: holds measurements only. Make rows from them with `kernelease fit`.")
    release = release_of(files)
    content = sealed_contents(release, files, bundle=str(bundle), progress=progress)
    if private is not None:
        progress.stage("comparing with the private table")
        content["owner"] = owner_record(release, private, query=query)
    return write_page(content, out, overwrite=overwrite), all(item["holds"] for item in content["seals"]["findings"])


def report_release(release: Release, out: str | Path, *, overwrite: bool = False) -> Path:
    """Write the page of a release that is at hand: not signed, since it is not a bundle yet."""
    check_page(out, overwrite=overwrite)
    files = documents(release)
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
        "data": embedded(content),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = assets.template().split("%%")  # text, name of a part, text, name of a part, …, text
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def embedded(content: Any) -> str:
    r"""JSON that can't end the element it stands in, nor be taken for markup.

    >>> embedded({"a": "</script><!--"})
    '{"a":"\\u003c/script\\u003e\\u003c!--"}'
    """
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def check_page(out: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a page can't be written there: another ending, or a file that is not to be replaced."""
    if Path(out).suffix.lower() not in _ENDINGS:
        raise BundleError(f"{out}: the name of a page must end in .html.")
    if not overwrite and os.path.lexists(out):
        raise BundleError(f"{out} already exists. Choose another name, or ask to overwrite it.")


def write_page(content: Mapping[str, Any], out: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page, whole or not at all."""
    check_page(out, overwrite=overwrite)
    target = Path(out)
    draft = target.parent / f".kernelease-{secrets.token_hex(8)}.partial"
    try:
        draft.touch(mode=0o600 if "owner" in content else 0o666)  # what compares with private rows is its owner's alone
        draft.write_text(page(content), encoding="utf-8", newline="\n")
        os.replace(draft, target)
    except OSError as error:
        raise BundleError(f"{out} could not be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            draft.unlink()
    return target
