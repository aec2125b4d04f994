"""What the models of dpmm have in common: fit numbered values, draw rows, write them."""

import numpy as np
import pandas as pd

from benchmarks.peers.job import Job


def write_rows(model, table: pd.DataFrame, job: Job) -> None:
    model.set_random_state(np.random.RandomState(job.seed))
    model.set_domain(job.sizes())
    model.fit(table[list(job.sizes())])
    model.generate(n_records=job.rows).to_csv(job.out, index=False)
