"""What one run of one contender is asked for. Plain Python: it is read in the environments of other libraries too."""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Job:
    """Release the table `train` at (ε, δ), and write `rows` synthetic rows to `out`.

    `domain` is a JSON object of columns and their numbers of values, and `schema` says the same for us. `checkout` is
    a folder of the contender's sources, for those that are no packages.
    """

    train: str
    schema: str
    epsilon: float
    delta: float
    rows: int
    seed: int
    out: str
    domain: str | None = None
    target: str | None = None
    checkout: str | None = None

    @classmethod
    def given(cls) -> "Job":
        """The job in the file that the command line names."""
        return cls(**json.loads(Path(sys.argv[1]).read_text()))

    def save(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path

    def sizes(self) -> dict[str, int]:
        """The number of values of each column; every cell of `train` is below it."""
        if self.domain is None:
            raise ValueError("this contender needs a table of numbered values, and a domain.")
        return {name: int(size) for name, size in json.loads(Path(self.domain).read_text()).items()}
