"""Options and arguments that several commands share: words, privacy as it is typed, orders, how rows are written."""

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, final

import typer

from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.privacy.accounting import Privacy
    from kernelease.privacy.sensitivity import Neighbours
    from kernelease.table.schema import Schema
    from kernelease.table.written import Written


# ---- Words that options accept. Their meanings are loaded later, so that --help is fast; tests compare the two.


SIGNIFICANCE = 0.05  # of tests: that of `kernelease.analysis.inference`


@unique
class Relation(StrEnum):
    """`kernelease.privacy.sensitivity.Neighbours`, by its values."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


@unique
class Whose(StrEnum):
    """`kernelease.analysis.estimate.Target`, by its values."""

    TABLE = "table"
    POPULATION = "population"


@unique
class Whence(StrEnum):
    """`kernelease.answers.questions.Whence`, by its values."""

    UNBIASED = "unbiased"
    MODEL = "model"


@unique
class RecordEnd(StrEnum):
    """`kernelease.table.written.Records`, by its values."""

    QUOTED = "quoted"
    LINES = "lines"


# ---- Options and arguments that several commands share.


def option(name: str, metavar: str, text: str, **more: Any) -> Any:
    """An option of a command: what it is called, what stands after it, and what help says of it."""
    return typer.Option(name, metavar=metavar, help=text, **more)


Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The private table: a CSV, Parquet, Feather, Excel, SPSS, Stata or SAS file, a folder or pattern of "
        "them, a database, a table of Spark.",
    ),
]
Query: TypeAlias = Annotated[
    str | None, option("--query", "SQL", "The table of a database, a SELECT statement, or the sheet of a workbook.")
]
SparkMaster: TypeAlias = Annotated[
    str | None,
    option("--spark", "MASTER", "Where DATA is a table of Spark (spark:TABLE): its master, as spark://host:7077."),
]
SchemaFile: TypeAlias = Annotated[
    Path, option("--schema", "FILE", "The schema of the table, a TOML file (docs/schema.md).")
]
Bundle: TypeAlias = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="The folder or zip of a release.", exists=True)
]
Out: TypeAlias = Annotated[
    Path, option("--out", "PATH", "The bundle to write: a folder, or one file if it ends in .zip.")
]
LedgerPath: TypeAlias = Annotated[
    Path | None,
    option(
        "--ledger",
        "FILE",
        "The budget ledger of the data, charged before noise is drawn: `kernelease budget create` makes it.",
    ),
]
Cap: TypeAlias = Annotated[
    str | None,
    option(
        "--cap",
        "EPS,DELTA",
        "Make the ledger, if it is not there, with this cap: the most that all releases together may ever spend.",
    ),
]
AcceptDamage: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--accept-damage",
        help="Don't look first whether the source can be read as the schema declares it: take it as it is.",
    ),
]
Seed: TypeAlias = Annotated[int, option("--seed", "N", "Seed of public randomness. It never touches the noise.", min=0)]
Rows: TypeAlias = Annotated[
    int | None,
    option("--rows", "N", "Synthetic rows to make; by default as many as the table has, by its count.", min=1),
]
SigningKey: TypeAlias = Annotated[Path | None, option("--key", "FILE", "Sign the bundle with this private key.")]
PushDown: TypeAlias = Annotated[
    bool, typer.Option("--push-down", help="Let DuckDB or PostgreSQL count by itself: rows never leave it. Slower.")
]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace what lies under that name already.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or summary.")]

Target: TypeAlias = Annotated[
    str | None,
    option("--target", "COLUMN", "A column that the release should predict well: more of the budget goes to it."),
]
Analyses: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--analysis",
        "TEXT",
        'What will be asked, as "ill ~ age + arm" or "mean income by region": it is measured in any case.',
    ),
]


# ---- Many options as one parameter of a command.


def spread(
    command: Callable[..., None], name: str, options: Sequence[inspect.Parameter], build: Callable[..., Any]
) -> Callable[..., None]:
    """The command with options in place of one parameter, which is built of them."""
    signature = inspect.signature(command)
    own = [parameter for other, parameter in signature.parameters.items() if other != name]

    @functools.wraps(command)
    def wrapped(*given: Any, **named: Any) -> None:
        said = {option.name: named.pop(option.name) for option in options}
        command(*given, **named, **{name: build(**said)})

    wrapped.__annotations__ = {one.name: one.annotation for one in (*own, *options)}
    wrapped.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]  # what typer reads
    return wrapped


# ---- How much privacy, as it is typed: epsilon and delta, or what an attacker may do.


RISK_DELTA = 1e-9  # that of `Privacy.from_risk`: it is not loaded for its help
Epsilon: TypeAlias = Annotated[float | None, option("--epsilon", "EPS", "Privacy parameter epsilon: smaller is safer.")]
Delta: TypeAlias = Annotated[
    float | None,
    option(
        "--delta",
        "DELTA",
        "Privacy parameter delta, far below 1/rows; 0 asks for pure privacy. With a risk in place of --epsilon "
        f"it may be left out, and is {RISK_DELTA:g}.",
    ),
]
Advantage: TypeAlias = Annotated[
    float | None,
    option(
        "--advantage",
        "A",
        "In place of --epsilon: the most by which any attacker's true alarms may exceed the false ones, as 0.1.",
    ),
]
TruePositive: TypeAlias = Annotated[
    float | None,
    option(
        "--true-positive",
        "RATE",
        "In place of --epsilon: the highest rate of true alarms of any attacker, with --false-positive.",
    ),
]
FalsePositive: TypeAlias = Annotated[
    float | None, option("--false-positive", "RATE", "The rate of false alarms that --true-positive is for.")
]


def read_cap(text: str, promised: "Privacy") -> "Privacy":
    """The cap of a ledger as it is typed, EPS,DELTA; without a delta, at that of the release.

    >>> from kernelease.privacy.accounting import Privacy
    >>> cap = read_cap("3", Privacy(epsilon=1.0, delta=1e-6))
    >>> cap.epsilon, cap.delta
    (3.0, 1e-06)
    """
    from kernelease.privacy.accounting import Privacy

    epsilon, comma, delta = text.partition(",")
    try:
        return Privacy(epsilon=float(epsilon), delta=float(delta) if comma else promised.delta)
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"--cap must be EPS,DELTA, as 3,1e-6; got {text!r}.") from None


def promise(
    *,
    epsilon: float | None,
    delta: float | None,
    advantage: float | None = None,
    true_positive: float | None = None,
    false_positive: float | None = None,
    neighbours: "Neighbours | None" = None,
) -> "Privacy":
    """The guarantee that was asked for."""
    from kernelease.privacy.accounting import Privacy

    risk = (advantage, true_positive, false_positive) != (None, None, None)
    if epsilon is not None and risk:
        raise ParameterError("--epsilon and a risk both say how much privacy. Give one of them.")
    if epsilon is None and not risk:
        raise ParameterError(
            "How much privacy? Give --epsilon EPS and --delta DELTA, or what an attacker may do: --advantage A, or "
            "--true-positive RATE with --false-positive RATE."
        )
    if epsilon is None:
        return Privacy.from_risk(
            advantage=advantage,
            true_positive=true_positive,
            false_positive=false_positive,
            delta=RISK_DELTA if delta is None else delta,
            neighbours=neighbours,
        )
    if delta is None:
        raise ParameterError(
            "Give --delta, too: far below 1/rows, as --delta 1e-6; --delta 0 asks for pure privacy, with more noise."
        )
    return Privacy(epsilon=epsilon, delta=delta, neighbours=neighbours)


# ---- What `measure` and `release` are both asked for.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOrder:
    """An order as it is typed: `kernelease.cli.work.request` makes a `kernelease.arguments.Order` of it."""

    schema: SchemaFile
    out: Out
    epsilon: Epsilon = None
    delta: Delta = None
    advantage: Advantage = None
    true_positive: TruePositive = None
    false_positive: FalsePositive = None
    ledger: LedgerPath = None
    cap: Cap = None
    seed: Seed = 0
    query: Query = None
    spark: SparkMaster = None
    key: SigningKey = None
    target: Target = None
    analysis: Analyses = None
    push_down: PushDown = False
    overwrite: Overwrite = False
    accept_damage: AcceptDamage = False

    def promise(self) -> "Privacy":
        """The guarantee that was asked for."""
        return promise(
            epsilon=self.epsilon,
            delta=self.delta,
            advantage=self.advantage,
            true_positive=self.true_positive,
            false_positive=self.false_positive,
        )


def takes_order(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of an order in place of its parameter `order`, a `TypedOrder`."""
    return spread(command, "order", [*inspect.signature(TypedOrder).parameters.values()], TypedOrder)


# ---- How the rows of a source are written: the keys of [source] in a schema file.


_TAB = ("tab", "\\t")  # how a tab is typed


_OPTIONS: dict[str, tuple[Any, str, str]] = {  # by name: type, what stands after it, help
    "records": (
        RecordEnd | None,
        "quoted|lines",
        "Where a record of a CSV file ends: at a newline outside quotes, as RFC 4180 says, or at every newline. "
        "By default, as all of these, as the schema says, else quoted.",
    ),
    "separator": (str | None, "SIGN", "Between the cells of a CSV file: , or ; or | or tab."),
    "quote": (str | None, "SIGN", "Around cells of a CSV file: a double quote, ' or empty, for none."),
    "encoding": (str | None, "NAME", "Of a CSV file: utf-8, latin-1, cp1252 and others."),
    "names": (str | None, "A,B,C", "The columns of a CSV file that has no header line, in order."),
    "null": (
        list[str] | None,
        "TEXT",
        "A text that means NULL in a CSV file or a workbook; may be given several times.",
    ),
    "decimal": (str | None, "SIGN", "Before the decimals of numbers in texts: . or ,"),
    "thousands": (str | None, "SIGN", "Between thousands of numbers in texts: , . ' or a blank."),
    "dates": (list[str] | None, "FORMAT", "How dates are written in texts, as %d/%m/%Y; may be given several times."),
}


def takes_writing(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in place of its parameter `written`, a `Written`."""
    options = []
    for name, (kind, metavar, text) in _OPTIONS.items():
        said = option(f"--{name}", metavar, text, rich_help_panel="How the rows are written")
        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        options.append(parameter.replace(annotation=Annotated[kind, said]))
    return spread(command, "written", options, _read_writing)


def read_declared(data: str, schema: Path, written: "Written") -> "Schema":
    """The schema in a file, with what the options say, for a source that is there.

    Whatever is wrong with them is told before anything is loaded that reads rows or works with them.
    """
    from kernelease.sources.source import refuse_missing
    from kernelease.table.schema import Schema

    declared = Schema.load(schema).written_as(written)
    refuse_missing(data)
    return declared


def _read_writing(*, separator: str | None, names: str | None, null: list[str] | None, **given: Any) -> "Written":
    from kernelease.table.written import Written

    return Written(
        separator="\t" if separator in _TAB else separator,
        names=None if names is None else tuple(name.strip() for name in names.split(",")),
        nulls=None if not null else tuple(null),
        **given,
    )


# ---- What the owner lets a draft know.


@unique
class _Way(StrEnum):
    """Where a draft may take its bounds and categories from."""

    NAMES = "names"
    DICTIONARY = "dictionary"
    PUBLIC = "public"
    BOUNDS = "bounds"
    LOOK = "look"


_QUESTION = """\
What may the draft be made from?
  names       the names of the columns only; you fill in the rest
  dictionary  a code book: CSV, Frictionless Table Schema, JSON Schema, DDI, a file's value labels
  public      a public table with the same columns
  bounds      bounds measured with noise, for a part of the budget
  look        the private rows: you decide which lines are public knowledge
Which"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What the owner lets the draft know, beside names and declared types: one thing at most."""

    dictionary: Path | None
    public: Path | None
    epsilon: float | None
    look: bool
    ledger: Path | None
    dataset: str | None = None  # the name of the table, where it is not that of its file

    def __post_init__(self) -> None:
        given = {
            "--from-dictionary": self.dictionary is not None,
            "--from-public": self.public is not None,
            "--private-bounds": self.epsilon is not None,
            "--look": self.look,
        }
        if sum(given.values()) > 1:
            both = " and ".join([name for name, there in given.items() if there][:2])
            raise ParameterError(f"{both} both give bounds. Give one of them.")
        if self.epsilon is not None and self.ledger is None:
            raise ParameterError(
                "--private-bounds spends budget: give its --ledger (`kernelease budget create` makes one)."
            )

    def ask(self) -> "Knowledge":
        """What was given; on a terminal, where nothing was, what the owner answers."""
        silent = self.dictionary is None and self.public is None and self.epsilon is None and not self.look
        if not silent or not on_a_terminal():
            return self
        way = _way(typer.prompt(_QUESTION, default=_Way.NAMES.value))
        if way is _Way.DICTIONARY:
            return replace(self, dictionary=Path(typer.prompt("The code book")))
        if way is _Way.PUBLIC:
            return replace(self, public=Path(typer.prompt("The public table")))
        if way is _Way.BOUNDS:
            ledger = self.ledger or Path(typer.prompt("The ledger"))
            return replace(self, epsilon=typer.prompt("Epsilon to spend", type=float), ledger=ledger)
        return replace(self, look=way is _Way.LOOK)


def on_a_terminal() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _way(answer: str) -> _Way:
    try:
        return _Way(answer.strip().lower())
    except ValueError:
        raise ParameterError(f"The answer must be one of {', '.join(_Way)}, got {answer!r}. Ask again.") from None
