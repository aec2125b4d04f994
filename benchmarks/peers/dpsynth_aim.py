"""AIM of a checkout of google/dpsynth, with fewer rounds than its defaults (28 rather than 16 per column)."""

import sys

import numpy as np
import pandas as pd

from benchmarks.peers.job import Job

ROUNDS = 28


def main(job: Job) -> None:
    sys.path.insert(0, job.checkout or ".")
    import mbi  # noqa: PLC0415  # in the peer's own environment
    from dpsynth.discrete_mechanisms import aim, discrete  # noqa: PLC0415  # in the peer's own environment

    sizes = job.sizes()
    table = pd.read_csv(job.train)
    data = mbi.Dataset({name: table[name].to_numpy() for name in sizes}, mbi.Domain.fromdict(sizes))
    mechanism = discrete.DiscreteConfig(mechanism=aim.AIMConfig(max_rounds=ROUNDS), compress_columns=True)
    calibrated = mechanism.calibrate(epsilon=job.epsilon, delta=job.delta)
    synthetic = calibrated(np.random.default_rng(job.seed), data).synthetic_data
    rows = pd.DataFrame(synthetic.to_dict())
    rows.sample(job.rows, replace=len(rows) < job.rows, random_state=job.seed).to_csv(job.out, index=False)


if __name__ == "__main__":
    main(Job.given())
