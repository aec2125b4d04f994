"""A method's steps, taken again without the private rows."""

import warnings

import numpy as np

from kernelease.errors import ParameterError
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.measured import Measured
from kernelease.methods.method import Context, Method
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import MemoryLedger
from kernelease.privacy.neighbours import Neighbours
from kernelease.private.rows import BlankRows
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain


def retraced(
    method: Method, measured: Measured, *, domain: Domain, privacy: Privacy, seed: PublicSeed
) -> tuple[Measured, Loss]:
    """What the method measures, and charges, if every door of the barrier gives the noisy numbers that it gave before.

    All else follows from these numbers and public things alone, or the guarantee does not cover it: which cells,
    points, stages and sets were measured, with how much noise, and what was chosen. Whatever went in unseen makes this
    differ from `measured`. Raises `ParameterError` where the method takes other steps.
    """
    known = measured.neighbours is Neighbours.REPLACE_ONE
    rows = BlankRows(
        width=measured.width,
        count=round(measured.rows) if known else 0,
        published=measured.candidates if isinstance(measured, NoisyEmbeddings) else np.empty((0, measured.width)),
        sizes=domain.sizes,
        unit=domain.unit_weight,
    )
    noise = measured.recorded
    context = Context(domain=domain, privacy=privacy, ledger=MemoryLedger(privacy), noise=noise, seed=seed)
    method.check(domain)
    with warnings.catch_warnings(action="ignore"):  # what there was to warn of was said when the rows were measured
        again = method.measure(rows, context)
    if not noise.exhausted:
        raise ParameterError("there are more noisy numbers than the method draws.")
    return again, context.ledger.spent()
