"""The product of noisy one-way marginals of the same schema, at the same (ε, δ)."""

import numpy as np
import pyarrow as pa
import pyarrow.csv

import kernelease as ke
from benchmarks.one_way import product_of_marginals
from benchmarks.peers.job import Job
from kernelease.sources import open_source


def main(job: Job) -> None:
    schema = ke.Schema.load(job.schema)
    table = pa.Table.from_batches(list(open_source(job.train).batches(list(schema.names))))
    privacy = ke.Privacy(epsilon=job.epsilon, delta=job.delta)
    rows = product_of_marginals(
        table, schema=schema, privacy=privacy, rows=job.rows, generator=np.random.default_rng(job.seed)
    )
    pyarrow.csv.write_csv(rows, job.out)


if __name__ == "__main__":
    main(Job.given())
