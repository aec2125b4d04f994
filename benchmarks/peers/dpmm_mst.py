"""MST of the package dpmm, at its default settings."""

import pandas as pd
from dpmm.models.mst import MSTGM

from benchmarks.peers.dpmm_model import write_rows
from benchmarks.peers.job import Job


def main(job: Job) -> None:
    model = MSTGM(epsilon=job.epsilon, delta=job.delta, domain=job.sizes(), n_jobs=1)
    write_rows(model, pd.read_csv(job.train), job)


if __name__ == "__main__":
    main(Job.given())
