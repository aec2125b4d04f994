"""Options and arguments that several commands share: words, privacy as it is typed, orders, how rows are written."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
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
Seed: TypeAlias = Annotated[int, option("--seed", "N", "Seed of public randomness. It never touches the noise.", min=0)]
Rows: TypeAlias = Annotated[
    int | None,
    option("--rows", "N", "Synthetic rows to make; by default as many as the table has, by its count.", min=1),
]
SigningKey: TypeAlias = Annotated[Path | None, option("--key", "FILE", "Sign the bundle with this private key.")]
Overwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace what lies under that name already.")]
Analyses: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--analysis",
        "TEXT",
        'What will be asked, as "ill ~ age + arm" or "mean income by region": it is measured in any case.',
    ),
]


# ---- Groups of options: a dataclass whose fields are options stands for all of them in the signature of a command.


def spread_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of each group in place of the parameter that is annotated with it."""
    signature = inspect.signature(command)
    options = [*_flat(signature)]

    @functools.wraps(command)
    def spread(*given: Any, **named: Any) -> None:
        groups = _build(signature, named)
        command(*given, **groups, **named)

    spread.__annotations__ = {one.name: one.annotation for one in options}
    spread.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # what typer reads
    return spread


def _flat(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    for one in signature.parameters.values():
        yield from _flat(inspect.signature(one.annotation)) if _is_group(one) else (one,)


def _build(signature: inspect.Signature, named: dict[str, Any]) -> dict[str, Any]:
    """The groups among the parameters, made of options that are taken out of `named`."""
    made = {}
    for one in filter(_is_group, signature.parameters.values()):
        inner = inspect.signature(one.annotation)
        groups = _build(inner, named)
        own = {name: named.pop(name) for name in inner.parameters if name not in groups}
        made[one.name] = one.annotation(**groups, **own)
    return made


def _is_group(parameter: inspect.Parameter) -> bool:
    return is_dataclass(parameter.annotation)


# ---- How much privacy, as it is typed: epsilon and delta, or what an attacker may do.


RISK_DELTA = 1e-9  # that of `Privacy.from_risk`: it is not loaded for its help


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A guarantee as it is typed."""

    epsilon: Annotated[float | None, option("--epsilon", "EPS", "Privacy parameter epsilon: smaller is safer.")] = None
    delta: Annotated[
        float | None,
        option(
            "--delta",
            "DELTA",
            "Privacy parameter delta, far below 1/rows; 0 asks for pure privacy. With a risk in place of --epsilon "
            f"it may be left out, and is {RISK_DELTA:g}.",
        ),
    ] = None
    advantage: Annotated[
        float | None,
        option(
            "--advantage",
            "A",
            "In place of --epsilon: the most by which any attacker's true alarms may exceed the false ones, as 0.1.",
        ),
    ] = None
    true_positive: Annotated[
        float | None,
        option(
            "--true-positive",
            "RATE",
            "In place of --epsilon: the highest rate of true alarms of any attacker, with --false-positive.",
        ),
    ] = None
    false_positive: Annotated[
        float | None, option("--false-positive", "RATE", "The rate of false alarms that --true-positive is for.")
    ] = None

    def read(self, neighbours: "Neighbours | None" = None) -> "Privacy":
        """The guarantee that was asked for."""
        from kernelease.privacy.accounting import Privacy

        risk = {
            "advantage": self.advantage,
            "true_positive": self.true_positive,
            "false_positive": self.false_positive,
        }
        by_risk = any(value is not None for value in risk.values())
        if self.epsilon is not None and by_risk:
            raise ParameterError("--epsilon and a risk both say how much privacy. Give one of them.")
        if by_risk:
            delta = RISK_DELTA if self.delta is None else self.delta
            return Privacy.from_risk(**risk, delta=delta, neighbours=neighbours)
        if self.epsilon is None:
            raise ParameterError(
                "How much privacy? Give --epsilon EPS and --delta DELTA, or what an attacker may do: --advantage A, or "
                "--true-positive RATE with --false-positive RATE."
            )
        if self.delta is None:
            raise ParameterError(
                "Give --delta, too: far below 1/rows, as --delta 1e-6; --delta 0 asks for pure privacy, with more "
                "noise."
            )
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=neighbours)


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


# ---- What `measure` and `release` are both asked for.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TypedOrder:
    """An order as it is typed: `kernelease.cli.work.request` makes a `kernelease.arguments.Order` of it."""

    schema: SchemaFile
    out: Out
    privacy: Promise
    ledger: LedgerPath = None
    cap: Annotated[
        str | None,
        option(
            "--cap",
            "EPS,DELTA",
            "Make the ledger, if it is not there, with this cap: the most that all releases together may ever spend.",
        ),
    ] = None
    seed: Seed = 0
    query: Query = None
    spark: Annotated[
        str | None,
        option("--spark", "MASTER", "Where DATA is a table of Spark (spark:TABLE): its master, as spark://host:7077."),
    ] = None
    key: SigningKey = None
    target: Annotated[
        str | None,
        option("--target", "COLUMN", "A column that the release should predict well: more of the budget goes to it."),
    ] = None
    analysis: Analyses = None
    push_down: Annotated[
        bool, typer.Option("--push-down", help="Let DuckDB or PostgreSQL count by itself: rows never leave it. Slower.")
    ] = False
    overwrite: Overwrite = False
    accept_damage: Annotated[
        bool,
        typer.Option(
            "--accept-damage",
            help="Don't look first whether the source can be read as the schema declares it: take it as it is.",
        ),
    ] = False


# ---- How the rows of a source are written: the keys of [source] in a schema file.


_TAB = ("tab", "\\t")  # how a tab is typed


def _writing(name: str, metavar: str, text: str) -> Any:
    return option(name, metavar, text, rich_help_panel="How the rows are written")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How rows are written, as it is typed."""

    records: Annotated[
        RecordEnd | None,
        _writing(
            "--records",
            "quoted|lines",
            "Where a record of a CSV file ends: at a newline outside quotes, as RFC 4180 says, or at every newline. "
            "By default, as all of these, as the schema says, else quoted.",
        ),
    ] = None
    separator: Annotated[
        str | None, _writing("--separator", "SIGN", "Between the cells of a CSV file: , or ; or | or tab.")
    ] = None
    quote: Annotated[
        str | None, _writing("--quote", "SIGN", "Around cells of a CSV file: a double quote, ' or empty, for none.")
    ] = None
    encoding: Annotated[
        str | None, _writing("--encoding", "NAME", "Of a CSV file: utf-8, latin-1, cp1252 and others.")
    ] = None
    names: Annotated[
        str | None, _writing("--names", "A,B,C", "The columns of a CSV file that has no header line, in order.")
    ] = None
    null: Annotated[
        list[str] | None,
        _writing("--null", "TEXT", "A text that means NULL in a CSV file or a workbook; may be given several times."),
    ] = None
    decimal: Annotated[str | None, _writing("--decimal", "SIGN", "Before the decimals of numbers in texts: . or ,")] = (
        None
    )
    thousands: Annotated[
        str | None, _writing("--thousands", "SIGN", "Between thousands of numbers in texts: , . ' or a blank.")
    ] = None
    mark: Annotated[
        list[str] | None,
        _writing("--mark", "TEXT", "Around numbers in texts, as $ or %; may be given several times."),
    ] = None
    dates: Annotated[
        list[str] | None,
        _writing("--dates", "FORMAT", "How dates are written in texts, as %d/%m/%Y; may be given several times."),
    ] = None

    @property
    def is_given(self) -> bool:
        """Whether anything was said."""
        return any(getattr(self, field.name) not in (None, []) for field in fields(self))

    def read(self) -> "Written":
        """The same as a schema declares it."""
        from kernelease.table.written import Written

        return Written(
            separator="\t" if self.separator in _TAB else self.separator,
            names=None if self.names is None else tuple(name.strip() for name in self.names.split(",")),
            nulls=None if not self.null else tuple(self.null),
            marks=None if not self.mark else tuple(self.mark),
            **{key: getattr(self, key) for key in ("records", "quote", "encoding", "decimal", "thousands", "dates")},
        )


def read_declared(data: str, schema: Path, writing: Writing) -> "Schema":
    """The schema in a file, with what the options say, for a source that is there.

    Whatever is wrong with them is told before anything is loaded that reads rows or works with them.
    """
    from kernelease.sources.source import refuse_missing
    from kernelease.table.schema import Schema

    declared = Schema.load(schema).written_as(writing.read())
    refuse_missing(data)
    return declared


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

    dictionary: Annotated[
        Path | None,
        option(
            "--from-dictionary",
            "FILE",
            "Take types, bounds and categories from the code book: CSV, Frictionless, JSON Schema, DDI, or the "
            "labels of an SPSS, Stata or SAS file.",
            exists=True,
        ),
    ] = None
    public: Annotated[
        Path | None,
        option("--from-public", "FILE", "Take bounds and categories from this PUBLIC table.", exists=True),
    ] = None
    epsilon: Annotated[
        float | None,
        option("--private-bounds", "EPS", "Measure bounds of numbers and frequent texts with noise, for this epsilon."),
    ] = None
    look: Annotated[
        bool, typer.Option("--look", help="LOOK AT THE PRIVATE ROWS and propose: you decide which lines are public.")
    ] = False
    ledger: Annotated[Path | None, option("--ledger", "FILE", "The ledger that --private-bounds is charged to.")] = None
    dataset: Annotated[
        str | None, option("--dataset", "NAME", "The name of the table, as in its ledger; by default that of its file.")
    ] = None

    def __post_init__(self) -> None:
        if len(self._given_options) > 1:
            raise ParameterError(f"{' and '.join(self._given_options[:2])} both give bounds. Give one of them.")
        if self.epsilon is not None and self.ledger is None:
            raise ParameterError(
                "--private-bounds spends budget: give its --ledger (`kernelease budget create` makes one)."
            )

    @property
    def _given_options(self) -> list[str]:
        given = {
            "--from-dictionary": self.dictionary is not None,
            "--from-public": self.public is not None,
            "--private-bounds": self.epsilon is not None,
            "--look": self.look,
        }
        return [name for name, there in given.items() if there]

    def ask(self) -> "Knowledge":
        """What was given; on a terminal, where nothing was, what the owner answers."""
        if self._given_options or not on_a_terminal():
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
