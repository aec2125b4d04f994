"""Ours: a release with defaults, of a table as its schema declares it; with a target where the job names one."""

import dataclasses

import pyarrow.csv

import kernelease as ke
from benchmarks.peers.job import Job


def takes_target() -> bool:
    """Whether this version's method can be told which column will be predicted."""
    return "target" in {field.name for field in dataclasses.fields(ke.Interactions)}


def method(target: str | None) -> ke.Interactions:
    return ke.Interactions() if target is None else ke.Interactions(**{"target": target})


def main(job: Job) -> None:
    chosen = method(job.target)
    schema = ke.Schema.load(job.schema)
    privacy = ke.Privacy(epsilon=job.epsilon, delta=job.delta)
    measurements = ke.measure(job.train, schema=schema, privacy=privacy, method=chosen, seed=job.seed)
    release = measurements.fit(method=chosen, rows=job.rows)
    rows = release.rows if release.table.num_rows == job.rows else release.sample(job.rows, seed=job.seed)
    pyarrow.csv.write_csv(rows, job.out)


if __name__ == "__main__":
    main(Job.given())
