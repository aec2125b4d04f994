"""Who releases a table, and one run of it: in a process of its own, so that its time and memory are its own."""

import dataclasses
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.adult import ROOT, read_rows
from benchmarks.peers.job import Job
from benchmarks.peers.kernelease_interactions import takes_target
from benchmarks.stopwatch import Measured, watch

MOST_WORDS = 100  # of an error, in the table
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
KEPT = ROOT / "benchmarks" / "peers"  # has outcomes of peers, who take minutes to hours, in the form of `save`


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A runner in benchmarks/peers, and the Python that runs it."""

    name: str
    label: str
    runner: str
    python: Path = Path(sys.executable)
    ours: bool = False
    target: bool = False  # told which column will be predicted
    checkout: Path | None = None  # the folder of its sources, where it is no package
    needs_checkout: str | None = None  # the option that gives it

    def absence(self) -> str | None:
        """Why it can't run here; None where it can."""
        if self.target and not takes_target():
            return "this version takes no target"
        if self.needs_checkout is not None and self.checkout is None:
            return f"no checkout given ({self.needs_checkout} PATH)"
        if not self.python.exists():
            return "its environment is not there (`make bench-tables` makes it)"
        return None


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table to release, (ε aside), and the scores of what comes out."""

    train: Path
    schema: Path
    rows: int
    delta: float
    scores: Callable[[pa.Table], dict[str, float]]
    domain: Path | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run: its scores, or why there are none."""

    contender: str
    epsilon: float
    run: int
    seconds: float = 0.0
    megabytes: float = 0.0
    problem: str | None = None
    scores: dict[str, float] = dataclasses.field(default_factory=dict)
    kept: bool = False  # from an earlier run of the benchmark


def contenders(
    *, peers_python: Path = PEERS_PYTHON, dpsynth: Path | None = None, private_pgm: Path | None = None
) -> tuple[Contender, ...]:
    """Ours, the baseline, and the peers. A checkout with a .venv of its own is run by that."""
    return (
        Contender(name="ours", label="kernelease", runner="kernelease_interactions", ours=True),
        Contender(
            name="ours-target",
            label="kernelease, target named",
            runner="kernelease_interactions",
            ours=True,
            target=True,
        ),
        Contender(name="one-way", label="product of noisy one-way marginals", runner="kernelease_one_way"),
        Contender(
            name="dpmm-aim",
            label="AIM (dpmm; 4 rounds per column, 200 steps each, 2,500 in the last fit)",
            runner="dpmm_aim",
            python=peers_python,
        ),
        Contender(name="dpmm-mst", label="MST (dpmm)", runner="dpmm_mst", python=peers_python),
        Contender(
            name="private-pgm-mst",
            label="MST (private-pgm)",
            runner="private_pgm_mst",
            python=_python_of(private_pgm, peers_python),
            checkout=private_pgm,
            needs_checkout="--private-pgm",
        ),
        Contender(
            name="dpsynth-aim",
            label="AIM (google/dpsynth; 28 rounds)",
            runner="dpsynth_aim",
            python=_python_of(dpsynth, peers_python),
            checkout=dpsynth,
            needs_checkout="--dpsynth",
        ),
    )


def _python_of(checkout: Path | None, otherwise: Path) -> Path:
    own = None if checkout is None else checkout.resolve() / ".venv" / "bin" / "python"
    return own if own is not None and own.exists() else otherwise


def outcomes(
    chosen: Sequence[Contender],
    task: Task,
    epsilons: Sequence[float],
    *,
    runs: int,
    peer_runs: int,
    limit: float,
) -> Iterator[Outcome]:
    """All runs, one after another. A contender that fails or runs out of time is not tried again at that ε."""
    for epsilon in epsilons:
        for contender in chosen:
            peer = not contender.ours and contender.name != "one-way"
            for run in range(peer_runs if peer else runs):
                outcome = one_run(contender, task, epsilon, run, limit=limit)
                yield outcome
                if outcome.problem is not None:
                    break


def one_run(contender: Contender, task: Task, epsilon: float, run: int, *, limit: float) -> Outcome:
    """Release once, and score what comes out."""
    absence = contender.absence()
    if absence is not None:
        return Outcome(contender=contender.name, epsilon=epsilon, run=run, problem=absence)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "synthetic.csv"
        job = _job(contender, task, epsilon, run, out).save(Path(folder) / "job.json")
        command = [str(contender.python), "-m", f"benchmarks.peers.{contender.runner}", str(job)]
        measured = watch(command, limit=limit, cwd=ROOT)
        problem = _problem(measured, limit)
        return Outcome(
            contender=contender.name,
            epsilon=epsilon,
            run=run,
            seconds=measured.seconds,
            megabytes=measured.megabytes,
            problem=problem,
            scores={} if problem else task.scores(read_rows(out)),
        )


def numbered(table: pa.Table, names: Sequence[str], sizes: Sequence[int]) -> np.ndarray:
    """Rows of numbered values as codes, (n, columns); what is outside a column's values goes to the nearest."""
    codes = np.column_stack([np.rint(table.column(name).to_numpy().astype(np.float64)) for name in names])
    return np.clip(codes, 0, np.asarray(sizes) - 1).astype(np.int64)


def save(outcomes: Sequence[Outcome], path: Path, **facts: object) -> None:
    """All outcomes with the facts of the run, as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {**facts, "outcomes": [dataclasses.asdict(outcome) for outcome in outcomes]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def kept(paths: Sequence[Path], others: Sequence[str], settings: dict[str, object]) -> list[Outcome]:
    """The outcomes of earlier runs with the same settings, of all contenders but the `others`.

    Where several files have a contender at an ε, the last one counts.
    """
    found: dict[tuple[str, float], list[Outcome]] = {}
    for path in paths:
        records = _records(path, settings)
        found |= {key: [record for record in records if _key(record) == key] for key in map(_key, records)}
    return [record for (name, epsilon), some in found.items() if epsilon and name not in others for record in some]


def _records(path: Path, settings: dict[str, object]) -> list[Outcome]:
    document = json.loads(path.read_text()) if path.is_file() else {"outcomes": []}
    if any(document.get(name) != value for name, value in settings.items()):
        return []
    return [Outcome(**{**record, "kept": True}) for record in document["outcomes"]]


def _key(outcome: Outcome) -> tuple[str, float]:
    return outcome.contender, outcome.epsilon


def _job(contender: Contender, task: Task, epsilon: float, run: int, out: Path) -> Job:
    return Job(
        train=str(task.train),
        schema=str(task.schema),
        epsilon=epsilon,
        delta=task.delta,
        rows=task.rows,
        seed=run,
        out=str(out),
        domain=None if task.domain is None else str(task.domain),
        target=task.target if contender.target else None,
        checkout=None if contender.checkout is None else str(contender.checkout.resolve()),
    )


def _problem(measured: Measured, limit: float) -> str | None:
    if measured.code is None:
        return f"not done in {limit:.0f} s"
    if measured.code == 0:
        return None
    if measured.words.startswith("ModuleNotFoundError"):
        return f"not installed ({measured.words.partition(': ')[2]})"
    return f"failed ({measured.words[:MOST_WORDS] or f'exit code {measured.code}'})"
