"""How often the intervals of releases hold the truth, and how long they are beside the errors that answers really have.

    python benchmarks/inference.py --repeats 100 --jobs 2 [--laws predictors adult] [--again WORDS] [--page]

Each repeat draws a table from a law (of Adult, it is the table itself), releases it and asks all questions, about the
table and about the law. Releases are kept as bundles in benchmarks/out/releases, and answers as lines of JSON beside
them: a run that was stopped goes on where it ended, and after a change of the answers `--again` asks the same releases
anew, all questions or those whose words hold WORDS. Answers come from noisy counts: the synthetic rows, which say only
how a population varies, are those of a rough fit. Noise comes from seeds, so that the tables can be made again.
"""

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import households, predictors
from benchmarks.adult import FOLDER
from benchmarks.questions import HOUSEHOLDS, Question, arrays
from kernelease.table import Schema

OUT = Path(__file__).resolve().parent / "out"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-inference.md"
HELD = """# Intervals over three kinds of predictor

Written by `make bench-inference` (`benchmarks/inference.py --page`). Each cell: how many of 100 intervals of 95 %
hold the truth, of the answers that say something, with the standard error over releases; half their length over 1.96
root mean squared errors, so that 1 is as short as it can be; in brackets the share that says little or was refused.
Numbers are even, log-normal (skewed), or 0 for nine in ten and far out else (spiked). The lines "all" are over all
answers of a kind of number. With few releases a single line says little: 16 tell it to ± 6, 60 to ± 3.

Longest are the share of three over the spiked number, which is counted in two cells beside two other columns, so that
nothing says where in the upper one its rows lie; and slopes over it, which are over a variance that is noisy itself, so
that intervals reach far to one side.

"""
PROMISED = """## Promised analyses

`benchmarks/inference_promises.py`: a trial with five promised analyses. How many releases answer, and half an interval
over what `plan` said before: from the schema alone, which is a range (over rows that are even, ever rarer, near the
middle, or of rare outcomes), with the releases that are in it to a quarter; and like rows that the planner simulates,
with the releases whose width is within a quarter of that.

"""
REPLICATES = """## Replicates

`benchmarks/replicates.py`: statistics of weighted rows, pooled over 20 replicates. How many of 100 intervals
of 95 % hold what is true of the law; half their length over 1.96 root mean squared errors; in brackets the share that
was refused, and beside it naive intervals that take synthetic rows for a sample. The fits are rough ones.

"""
TESTS = """## Levels and power of tests

`benchmarks/inference_tests.py`: how often each test rejects a true hypothesis, with its standard error, how often one
that is not true, and how often the same test without privacy does; rows and noise are fresh in each repeat.

"""
SPEED = """## Speed

`benchmarks/inference_speed.py`, on one core, each run in a fresh process.

"""
PARTS = {
    "promises.md": PROMISED,
    "replicates.md": REPLICATES,
    "tests.md": TESTS,
    "speed.md": SPEED,
}  # beside intervals, with their heads
DELTA = 1e-6
LEVEL, Z = 0.95, 1.96
LEAST_HELD = 0.91  # what no kind of answer should be below
LAW = 2_000_000  # rows that stand for the law: their own sampling error is 1/8 of that of 30,000
FEW = 5  # answers that say something, of which a length is told
WORDS = {
    "table": "about the table itself",
    "population": "about the law it was drawn from",
    "model": 'about that law, with `estimate="model"` (last: its error over that of the unbiased answer)',
}
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver().rough())
SETTINGS = ((5_000, 1.0), (30_000, 1.0), (30_000, 5.0))


@dataclass(frozen=True)
class Setup:
    """A law of tables, what is asked of them, and the numbers of rows and ε of its releases."""

    schema: Callable[[], Schema]
    draw: Callable[[int, np.random.Generator], pa.Table]
    questions: Sequence[Question]
    settings: Sequence[tuple[int, float]] = SETTINGS
    targets: Sequence[str] = ("table", "population", "model")
    method: ke.Interactions = field(default=METHOD)
    exact: Mapping[str, list[float]] = field(
        default_factory=dict
    )  # what is true of the law where many rows do not tell


SETUPS = {
    "predictors": Setup(
        lambda: predictors.SCHEMA, predictors.predictors, predictors.PREDICTORS, exact=predictors.EXACT
    ),
    "adult": Setup(
        predictors.adult_schema,
        lambda rows, generator: predictors.adult(),
        predictors.ADULT,
        settings=((0, 0.5), (0, 1.0)),
        targets=("table",),
    ),
    "households": Setup(lambda: households.SCHEMA, households.households, HOUSEHOLDS, targets=("table", "population")),
}
Unit = tuple[str, int, float, int]  # a setup, rows, ε and a repeat: one release


@lru_cache
def law(name: str, folder: Path = OUT) -> dict[str, list[float]]:
    """What is true of the law, for each question; it is kept, since sorting millions takes minutes."""
    path = folder / f"law-{name}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if left := [one for one in SETUPS[name].questions if one.words not in known]:
        rows = arrays(SETUPS[name].draw(LAW, np.random.default_rng(10**6)))
        known |= {one.words: list(map(float, one.truth(rows))) for one in left} | SETUPS[name].exact
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known), encoding="utf-8")
    return known


def draw(unit: Unit) -> pa.Table:
    """The private table of a unit."""
    name, rows, _, repeat = unit
    return SETUPS[name].draw(rows, np.random.default_rng([rows, repeat]))


def release_of(unit: Unit, folder: Path) -> ke.Release:
    """A release: as it was kept, or made now and kept."""
    name, rows, epsilon, repeat = unit
    path = folder / f"{name}-{rows}-{epsilon:g}-{repeat}.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a rough fit is rough, a small ε weak, and noise seeded
        if path.exists():
            return ke.load(path)
        seed = int(np.random.SeedSequence([rows, round(1000 * epsilon), repeat]).generate_state(1)[0])
        release = ke.release(
            draw(unit),
            schema=SETUPS[name].schema(),
            privacy=ke.Privacy(epsilon=epsilon, delta=DELTA),
            method=SETUPS[name].method,
            seed=repeat,
            noise=ke.SeededNoise(seed),
        )
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{os.getpid()}-{path.name}")  # a run may be stopped while it writes
        release.save(part)
        part.rename(path)
    return release


def answer(unit: Unit, words: Sequence[str], folder: Path, targets: Sequence[str] = tuple(WORDS)) -> dict[str, Any]:
    """The answers to some questions, each as [value, low, high, truth, says little, CPU seconds] for all targets."""
    setup, release, own = SETUPS[unit[0]], release_of(unit, folder), arrays(draw(unit))
    answers: dict[str, dict[str, Any]] = {target: {} for target in setup.targets if target in targets}
    for question in (one for one in setup.questions if one.words in words):
        truths = {"table": question.truth(own)}
        if "population" in setup.targets:
            truths["population"] = truths["model"] = law(unit[0])[question.words]
        for target, found in answers.items():
            found[question.words] = _asked(question, release, target, truths[target])
    return {"unit": list(unit), **answers}


@dataclass(frozen=True)
class ByModel:
    """A release that is asked by its model: `mean(x, of=...)` and `of(...).mean(x)` alike."""

    release: ke.Release

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any, where: str | None = None, of: str = "population") -> Any:
            rows: Any = self.release.of(of).estimate("model")
            return getattr(rows if where is None else rows.where(where), name)(*given)

        return ask

    def of(self, whose: str) -> Any:
        return self.release.of(whose).estimate("model")

    def where(self, condition: str) -> Any:
        return self.of("population").where(condition)


def _asked(question: Question, release: ke.Release, target: str, truths: Sequence[float]) -> list[Any]:
    """Each answer; a question that is refused has no interval, and says little."""
    started = time.process_time()
    try:
        by_model = target == "model"
        estimates = question.ask(ByModel(release), "population") if by_model else question.ask(release, target)
        found = [[float(one), *map(float, one.interval(LEVEL)), bool(one.says_little)] for one in estimates]
    except (ke.KerneleaseError, AttributeError):  # what the model is not asked for is no attribute
        found = [[math.nan, -math.inf, math.inf, True] for _ in truths]
    seconds = (time.process_time() - started) / len(found)
    return [[*one[:3], float(truth), one[3], seconds] for one, truth in zip(found, truths, strict=True)]


# --------------------
# Running, and going on.


def run(
    units: Sequence[Unit],
    results: Path,
    jobs: int,
    again: str | None = None,
    targets: Sequence[str] = tuple(WORDS),
    seconds: float = math.inf,
) -> None:
    """Ask what is not in the file yet, and add a line for each release; `again` are words of questions to ask anew."""
    done = answered(read(results))
    work = [(unit, _left(unit, done, again, targets)) for unit in units]
    work = [(unit, words) for unit, words in work if words]
    for name in {unit[0] for unit, _ in work}:
        if "population" in SETUPS[name].targets:
            law(name)  # once, for all processes
    write(results, work, partial(_one, folder=results.parent / "releases", targets=targets), jobs, seconds)


def write(
    results: Path, work: Sequence[Any], ask: Callable[[Any], dict[str, Any]], jobs: int, seconds: float = math.inf
) -> list[dict[str, Any]]:
    """A line for each piece of work, added to a file as soon as it is known; after some seconds none is begun."""
    results.parent.mkdir(parents=True, exist_ok=True)
    if results.exists() and not results.read_bytes().endswith(b"\n"):  # a part of a line: what follows is not of it
        results.write_bytes(results.read_bytes() + b"\n")
    started, lines = time.monotonic(), []
    begin = partial(_in_time, ask=ask, until=started + seconds)  # the clock is the machine's, one for all processes
    with results.open("a", encoding="utf-8") as file, multiprocessing.get_context("fork").Pool(jobs) as pool:
        for line in filter(None, pool.imap_unordered(begin, work)):
            lines.append(line)
            file.write(json.dumps(line) + "\n")
            file.flush()
            if len(lines) % 50 == 0 or len(lines) == len(work):
                print(f"{len(lines)} of {len(work)}, {time.monotonic() - started:.0f} s", flush=True)
    if len(lines) < len(work):
        print(f"{len(lines)} of {len(work)}: the time is over, and the same command goes on from here.", flush=True)
    return lines


def _in_time(work: Any, ask: Callable[[Any], dict[str, Any]], until: float) -> dict[str, Any] | None:
    return ask(work) if time.monotonic() < until else None


def _one(work: tuple[Unit, Sequence[str]], folder: Path, targets: Sequence[str]) -> dict[str, Any]:
    return answer(*work, folder, targets)


def _left(
    unit: Unit, done: dict[Unit, dict[str, Any]], again: str | None, targets: Sequence[str] = tuple(WORDS)
) -> list[str]:
    """The words of questions that are asked of a release: those that are not known of all targets."""
    every = [question.words for question in SETUPS[unit[0]].questions]
    wanted = [done.get(unit, {}).get(target, {}) for target in SETUPS[unit[0]].targets if target in targets]
    return [
        words
        for words in every
        if any(words not in known for known in wanted) or (again is not None and again in words)
    ]


def read(results: Path) -> Iterator[dict[str, Any]]:
    """All whole lines of a file; a run that was killed may have left a part of one."""
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def resumed(
    results: Path, units: Sequence[Any], ask: Callable[[Any], dict[str, Any]], jobs: int = 1, seconds: float = math.inf
) -> list[dict[str, Any]]:
    """The lines of a file, and one for each unit that it lacks, of those that are begun in time."""
    lines = list(read(results))
    done = {tuple(line["unit"]) for line in lines}
    return lines + write(results, [unit for unit in units if unit not in done], ask, jobs, seconds)


def answered(lines: Iterable[dict[str, Any]]) -> dict[Unit, dict[str, Any]]:
    """The last answer to each question, by release and target."""
    found: dict[Unit, dict[str, Any]] = {}
    for line in lines:
        known = found.setdefault(tuple(line["unit"]), {})
        for target in (name for name in line if name != "unit"):
            known.setdefault(target, {}).update(line[target])
    return found


# --------------------
# What came of it.


@dataclass
class Tally:
    """The answers to one question over all releases: (releases, 6), as `answer` gives them."""

    answers: list[list[float]]

    @property
    def held(self) -> np.ndarray:
        """Whether each interval holds the truth; that of an answer "unknown" has no ends."""
        low, high, truth = np.array(self.answers, dtype=float).T[1:4]
        rounding = 1e-9 * np.maximum(np.abs(truth), 1e-300)
        return np.isnan(low) | (low <= truth + rounding) & (truth <= high + rounding)

    @property
    def silent(self) -> np.ndarray:
        """Whether each answer says that it says little, or is unknown."""
        answers = np.array(self.answers, dtype=float)
        return (answers[:, 4] > 0.0) | np.isnan(answers[:, 1])

    @property
    def error(self) -> float:
        """The root mean square of how far all answers are off, of those that there are."""
        value, truth = np.array(self.answers, dtype=float).T[[0, 3]]
        known = np.isfinite(value)
        return math.sqrt(float(np.mean((value - truth)[known] ** 2))) if known.any() else math.nan

    @property
    def width(self) -> float:
        """Half the interval over 1.96 errors, root mean squares of both, of the answers that say something.

        Releases differ in how finely a column was counted, and so in the noise of an answer: medians of lengths would
        be beside errors of other releases.
        """
        value, low, high, truth = np.array(self.answers, dtype=float).T[:4]
        told = ~self.silent & np.isfinite(value)
        if told.sum() < FEW:
            return math.nan
        error = math.sqrt(float(np.mean((value[told] - truth[told]) ** 2)))
        half = 0.5 * math.sqrt(float(np.mean((high - low)[told] ** 2)))
        return half / (Z * error) if error > 0.0 else math.nan


def tallies(
    done: dict[Unit, dict[str, Any]], name: str, target: str
) -> dict[tuple[int, float], dict[str, list[Tally]]]:
    """The answers of all releases of a law, by setting and family."""
    releases: dict[tuple[int, float], list[dict[str, Any]]] = defaultdict(list)
    for unit, known in done.items():
        if unit[0] == name and target in known:
            releases[unit[1], unit[2]].append(known[target])
    return {setting: _together(releases[setting], SETUPS[name].questions) for setting in sorted(releases)}


def _together(releases: Sequence[dict[str, Any]], questions: Sequence[Question]) -> dict[str, list[Tally]]:
    together: dict[str, list[Tally]] = defaultdict(list)
    for question in questions:
        own = [release[question.words] for release in releases if question.words in release]
        for place in range(len(own[0]) if own else 0):
            together[question.family].append(Tally([one[place] for one in own]))
    return dict(together)


def cell(parts: Sequence[Tally]) -> str:
    """Of answers that say something: how many of 100 hold, their length; in brackets the share that says little."""
    held, silent = (np.array([getattr(part, name) for part in parts]) for name in ("held", "silent"))
    told, rows = ~silent, (~silent).sum(axis=0)
    widths = [part.width for part in parts if math.isfinite(part.width)]
    length = f"{np.median(widths):.2f}" if widths else "-"
    little = f" ({silent.mean():.0%})" if silent.mean() > 0.005 else ""
    if told.sum() < FEW:
        return f"- / -{little}"
    share = float(held[told].mean())
    kept = np.where(rows > 0, (held & told).sum(axis=0) - share * rows, 0.0)  # releases are independent
    error = math.sqrt(float((kept**2).sum())) / float(rows.sum())
    return f"{100 * share:.1f} ± {100 * error:.1f} / {length}{little}"


def nearer(ours: Sequence[Tally], plain: Sequence[Tally]) -> str:
    """The error of some answers over that of others."""
    ratios = [one.error / other.error for one, other in zip(ours, plain, strict=True) if other.error > 0.0]
    return f", {np.median(ratios):.2f}" if ratios and np.isfinite(ratios).all() else ""


def table_of(done: dict[Unit, dict[str, Any]], name: str, target: str) -> str:
    """Families down, settings across."""
    found = tallies(done, name, target)
    if not found:
        return ""
    head = ["", *(f"{f'{rows:,}, ' if rows else ''}ε = {epsilon:g}" for rows, epsilon in found)]
    numbers = [max(len(part.answers) for parts in one.values() for part in parts) for one in found.values()]
    body = [["releases", *map(str, numbers)]]
    families = list(dict.fromkeys(question.family for question in SETUPS[name].questions))
    sorted_by_kind = all(", " in family for family in families)
    for kind in dict.fromkeys(family.rpartition(", ")[2] for family in families if sorted_by_kind):
        every = [
            [part for family, own in one.items() if family.endswith(kind) for part in own] for one in found.values()
        ]
        body.append([f"**all, {kind}**", *(cell(parts) if parts else "" for parts in every)])
    plain = tallies(done, name, "population") if target == "model" else {}
    for family in families:
        cells = [cell(one[family]) if family in one else "" for one in found.values()]
        for place, setting in enumerate(found):
            if family in plain.get(setting, {}):
                cells[place] += nearer(found[setting][family], plain[setting][family])
        body.append([family, *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def report(done: dict[Unit, dict[str, Any]]) -> str:
    """A table for each law and target."""
    text = []
    for name, setup in SETUPS.items():
        for target in setup.targets:
            if told := table_of(done, name, target):
                text += [f"**{name.capitalize()}**, {WORDS[target]}. {below(done, name, target)}", "", told, ""]
    return "\n".join(text)


def below(done: dict[Unit, dict[str, Any]], name: str, target: str) -> str:
    """How many cells are below 91, and how many chance would put there if every interval held 95 of 100."""
    found, expected, cells = 0, 0.0, 0
    for families in tallies(done, name, target).values():
        for parts in families.values():
            told = sum(int((~part.silent).sum()) for part in parts)
            held = sum(int((part.held & ~part.silent).sum()) for part in parts)
            if told >= FEW:
                cells, found = cells + 1, found + (held < LEAST_HELD * told)
                expected += float(binom.cdf(math.ceil(LEAST_HELD * told) - 1, told, LEVEL))
    return (
        f"{found} of {cells} cells hold less than {LEAST_HELD:.0%}; if every interval held {LEVEL:.0%}, chance would "
        f"put {expected:.0f} there:"
    )


def options_of(about: str | None, *, repeats: int, results: str) -> argparse.ArgumentParser:
    """The options that all parts of the page have in common."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=repeats, help="of each line, or releases of each setting")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which nothing more is begun")
    parser.add_argument("--results", type=Path, default=OUT / results, help="file of lines, which is added to")
    parser.add_argument("--report", action="store_true", help="run nothing: tell what the file has")
    return parser


def tell(told: str, results: Path) -> None:
    """Print what came of a part, and keep it for the page, beside its lines."""
    results.with_suffix(".md").write_text(told.rstrip() + "\n", encoding="utf-8")
    print(told)


def page(told: str, folder: Path, before: str = "") -> str:
    """The page: intervals, and what other parts have left in a folder; of what was not run, what it said before."""
    parts = [HELD + told.rstrip() + "\n" if told else _section(before, HELD)]
    for name, head in PARTS.items():
        ran = (folder / name).exists()
        parts.append(head + (folder / name).read_text(encoding="utf-8") if ran else _section(before, head))
    return "\n".join(part for part in parts if part)


def _section(page: str, head: str) -> str:
    """A part of a page, from its title to the next one."""
    start = page.find(head.partition("\n")[0] + "\n")
    end = page.find("\n## ", start + 1)
    return page[start : end if end > 0 else None].rstrip() + "\n" if start >= 0 else ""


def main() -> None:
    parser = options_of(__doc__, repeats=100, results="answers.jsonl")
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat")
    parser.add_argument("--laws", nargs="*", choices=list(SETUPS), default=["predictors", "adult"], help="of tables")
    parser.add_argument("--targets", nargs="*", choices=list(WORDS), default=list(WORDS), help="what is asked about")
    parser.add_argument("--again", nargs="?", const="", help="ask once more: all questions, or those with these words")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks-inference.md, too")
    options = parser.parse_args()
    laws = [name for name in options.laws if name != "adult" or FOLDER.exists()]
    if laws != options.laws:
        print(f"Adult is left out: {FOLDER} is not there.")
    repeats = range(options.first, options.first + options.repeats)
    units = [(name, *setting, repeat) for repeat in repeats for name in laws for setting in SETUPS[name].settings]
    if not options.report:
        run(units, options.results, options.jobs, options.again, options.targets, options.seconds)
    told = report(answered(read(options.results)))
    print(told)
    if options.page:
        before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        PAGE.write_text(page(told, options.results.parent, before), encoding="utf-8")


if __name__ == "__main__":
    main()
