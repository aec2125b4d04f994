"""What the page says of the guarantee: in words, as a curve of risk, step by step."""

import math
from typing import Any

from kernelease.measured.blocks import NoisyBlocks
from kernelease.release.certificate import NOT_PROMISED, Certificate
from kernelease.release.release import Release
from kernelease.report.figures import number

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
