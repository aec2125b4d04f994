"""AIM of the package dpmm, with fewer rounds and steps than its defaults, which take far more than ten minutes here."""

import pandas as pd
from dpmm.models.aim import AIMGM

from benchmarks.peers.dpmm_model import write_rows
from benchmarks.peers.job import Job

ROUNDS_PER_COLUMN = 4  # by default 16
STEPS = 200  # of each round's fit; by default 1,000
LAST_STEPS = 2_500  # of the last fit


def main(job: Job) -> None:
    sizes = job.sizes()
    model = AIMGM(
        epsilon=job.epsilon,
        delta=job.delta,
        rounds=ROUNDS_PER_COLUMN * len(sizes),
        n_iters=STEPS,
        domain=sizes,
        n_jobs=1,
    )
    _fit_longer_at_last(model.generator)
    write_rows(model, pd.read_csv(job.train), job)


def _fit_longer_at_last(mechanism) -> None:
    """The mechanism reads its number of steps once before the rounds, and again for the fit after them."""
    measure = mechanism._fit

    def measure_then_allow_more(*arguments, **options):
        measured = measure(*arguments, **options)
        mechanism.n_iters = LAST_STEPS
        return measured

    mechanism._fit = measure_then_allow_more


if __name__ == "__main__":
    main(Job.given())
