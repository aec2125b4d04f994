"""MST of a checkout of private-pgm, whose mechanisms are scripts rather than a package."""

import sys
from pathlib import Path

import pandas as pd

from benchmarks.peers.job import Job


def main(job: Job) -> None:
    for folder in ("src", "mechanisms"):
        sys.path.insert(0, str(Path(job.checkout or ".") / folder))
    from mbi import Dataset  # noqa: PLC0415  # in the peer's own environment
    from mst import MST  # noqa: PLC0415  # in the peer's own environment

    synthetic = MST(Dataset.load(job.train, job.domain), job.epsilon, job.delta)
    rows = synthetic.df if hasattr(synthetic, "df") else pd.DataFrame(synthetic.to_dict())
    rows.sample(job.rows, replace=len(rows) < job.rows, random_state=job.seed).to_csv(job.out, index=False)


if __name__ == "__main__":
    main(Job.given())
