"""Write docs/mistakes.md by making every mistake: `python docs/make_mistakes.py`. A test compares the two."""

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

import kernelease as ke
from kernelease.cli import app

TARGET = Path(__file__).with_name("mistakes.md")
CELLS = ("Xyzzypril", "Plughumab", "4711", "1987-06-05")
"""What the private rows hold. None of it may show, but where the owner asks for a private look."""

_OPENING = """\
# A hundred and sixty mistakes, and what is said about them

<!-- Written by docs/make_mistakes.py, which makes each of them. Change the commands, not this file. -->

Each was made as it stands here, on a small table of patients. A message says what was expected, what came, and what to
do next; none shows a cell, and none depends on one. The private look at the end is the exception: it quotes cells,
since it is for the owner's eyes alone; and a release that can't be read as declared stops, without quoting any.

First come an owner's mistakes, then an analyst's commands, then both in Python, where `release` is a release of that
table.
"""
_SCHEMA = """\
[table]
name = "patients"

[columns.age]
type = "integer"
min = 0
max = 120

[columns.drug]
type = "category"
values = ["Aspirin", "Heparin"]
other = true

[columns.seen]
type = "date"
min = 1980-01-01
max = 2024-12-31
"""
_ROWS = (
    "age,drug,seen\n"
    + "4711,Xyzzypril,1987-06-05\n" * 30
    + "41,Plughumab,1987-06-05\n" * 30
    + "41,Aspirin,1987-06-05\n" * 70
)
_RELEASE = "release patients.csv --schema patients.toml --epsilon 1 --delta 1e-6 --out bundle"


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A command, or a line of Python, that fails, after something was written wrongly."""

    title: str
    command: str
    change: Callable[[], object] = lambda: None
    private: bool = False
    python: bool = False


def schema(old: str, new: str) -> Callable[[], object]:
    return lambda: Path("patients.toml").write_text(_SCHEMA.replace(old, new, 1), encoding="utf-8")


def rows(text: str | bytes) -> Callable[[], object]:
    data = text if isinstance(text, bytes) else text.encode()
    return lambda: Path("patients.csv").write_bytes(data)


def file(name: str, text: str | bytes) -> Callable[[], object]:
    data = text if isinstance(text, bytes) else text.encode()
    return lambda: Path(name).write_bytes(data)


def ran(*commands: str) -> Callable[[], object]:
    return lambda: [CliRunner().invoke(app, shlex.split(command)) for command in commands]


def both(*changes: Callable[[], object]) -> Callable[[], object]:
    return lambda: [change() for change in changes]


def asked(title: str, command: str) -> Mistake:
    """A command about a bundle that is there."""
    return Mistake(title=title, command=command, change=ran(_RELEASE))


def python(title: str, code: str) -> Mistake:
    return Mistake(title=title, command=code, python=True)


_CHECK = "check patients.csv --schema patients.toml"
_LEDGER = "budget create ledger --epsilon 1 --delta 1e-6"
GROUPS: dict[str, tuple[Mistake, ...]] = {
    "The file": (
        Mistake(title="A wrong name", command=_RELEASE.replace("patients.csv", "patient.csv")),
        Mistake(
            title="Semicolons between cells", command=_RELEASE, change=rows(_ROWS.replace(",", ";")),
        ),
        Mistake(title="Tabs between cells", command=_RELEASE, change=rows(_ROWS.replace(",", "\t"))),
        Mistake(title="UTF-16", command=_RELEASE, change=rows(_ROWS.encode("utf-16"))),
        Mistake(title="An empty first line", command=_RELEASE, change=rows("\n" + _ROWS)),
        Mistake(title="No header line", command=_RELEASE, change=rows(_ROWS.split("\n", 1)[1])),
        Mistake(
            title="Two columns of one name", command=_RELEASE, change=rows(_ROWS.replace("age,drug", "age,age", 1))
        ),
        Mistake(title="A kind of file that is not read", command=_RELEASE.replace("patients.csv", "patients.pdf"),
                change=file("patients.pdf", b"%PDF")),
        Mistake(title="A query for a file", command=_RELEASE + " --query patients"),
        Mistake(title="A separator of two signs", command=_RELEASE + " --separator ;;"),
        Mistake(title="An encoding that is not known", command=_RELEASE + " --encoding utf-32"),
        Mistake(
            title="Options that contradict the schema",
            command=_RELEASE + " --separator ,",
            change=schema("[columns.age]", '[source]\nseparator = ";"\n\n[columns.age]'),
        ),
        Mistake(title="A format of dates that says no year", command=_RELEASE + " --dates %d/%m"),
        Mistake(title="One sign for decimals and for thousands", command=_RELEASE + " --decimal , --thousands ,"),
        Mistake(title="A web page under the name of a table", command=_RELEASE,
                change=rows("<!doctype html><title>Sign in</title>\n")),
        Mistake(title="A file of nothing but its first line", command=_RELEASE, change=rows("age,drug,seen\n")),
        Mistake(title="A CSV file under another name", command=_RELEASE.replace("patients.csv", "patients.parquet"),
                change=file("patients.parquet", _ROWS)),
        Mistake(title="A file of nothing at all", command=_RELEASE, change=rows("")),
        Mistake(title="A quote that is never closed", command=_RELEASE,
                change=rows(_ROWS.replace("41,Aspirin", '41,"Aspirin', 1))),
        Mistake(title="Lines with fewer cells than the first", command=_RELEASE,
                change=rows("age,drug,seen\n" + "41,Aspirin\n" * 30)),
        Mistake(title="Another encoding", command=_RELEASE,
                change=rows(b"age,drug,seen\n" + "41,Ménadione,1987-06-05\n".encode("latin-1") * 30)),
        Mistake(title="A CSV file under Stata's name", command=_RELEASE.replace("patients.csv", "patients.dta"),
                change=file("patients.dta", _ROWS)),
        Mistake(title="A database, and not which table", command=_RELEASE.replace("patients.csv", "patients.sqlite"),
                change=file("patients.sqlite", b"")),
        Mistake(title="A release in place of the private table",
                command=_RELEASE.replace("patients.csv", "bundle").replace("--out bundle", "--out other"),
                change=ran(_RELEASE)),
    ),
    "The schema": (
        Mistake(title="A draft that is not filled in", command="schema check draft.toml",
                change=ran("schema draft patients.csv -o draft.toml")),
        Mistake(title="A draft over another file", command="schema draft patients.csv -o patients.toml"),
        Mistake(title="A misspelt key", command="schema check patients.toml", change=schema("min = 0", "mni = 0")),
        Mistake(title="A type that there is not", command="schema check patients.toml",
                change=schema('"integer"', '"int"')),
        Mistake(title="Bounds the wrong way round", command="schema check patients.toml",
                change=schema("max = 120", "max = -1")),
        Mistake(title="A line that is not TOML", command="schema check patients.toml",
                change=schema("min = 0", "min = ")),
        Mistake(title="A value that is listed twice", command="schema check patients.toml",
                change=schema('"Heparin"', '"Aspirin"')),
        Mistake(title="Two columns from one of the file", command="schema check patients.toml",
                change=schema("[columns.drug]", '[columns.drug]\nfrom = "age"')),
        Mistake(title="A column that the file lacks", command=_RELEASE,
                change=schema("[columns.age]", "[columns.Age]")),
        Mistake(title="An identifier among the columns", command="schema check patients.toml",
                change=schema('name = "patients"', 'name = "patients"\nunit = "age"\nmax_rows_per_unit = 3')),
        Mistake(title="Persons without a cap on their rows", command="schema check patients.toml",
                change=schema('name = "patients"', 'name = "patients"\nunit = "patient"')),
        Mistake(title="A rule about a column that there is not", command="schema check patients.toml",
                change=schema('name = "patients"', 'name = "patients"\nconstraints = ["ages >= 18"]')),
        Mistake(title="A draft from the private rows that nobody has confirmed", command=_RELEASE,
                change=schema('name = "patients"', 'name = "patients"\nconfirmed = false')),
        Mistake(title="A code book without names", command="schema draft patients.csv --from-dictionary book.csv",
                change=file("book.csv", "label,kind\nAge,integer\n")),
        Mistake(title="The table in place of its schema", command=_RELEASE.replace("patients.toml", "patients.csv")),
        Mistake(title="One value where a list is meant", command="schema check patients.toml",
                change=schema('["Aspirin", "Heparin"]', '"Aspirin"')),
        Mistake(title="A date with points", command="schema check patients.toml",
                change=schema("min = 1980-01-01", 'min = "01.01.1980"')),
        Mistake(title="A number without its upper end", command="schema check patients.toml",
                change=schema("max = 120\n", "")),
        Mistake(title="Yes in place of true", command="schema check patients.toml",
                change=schema("max = 120", 'max = 120\nnullable = "yes"')),
        Mistake(title="An analysis of a column that there is not", command="schema check patients.toml",
                change=schema('name = "patients"', 'name = "patients"\nanalyses = ["age ~ drugs"]')),
        Mistake(title="Measured bounds without a ledger", command="schema draft patients.csv --private-bounds 0.1"),
        Mistake(title="A schema of nothing", command="schema check patients.toml", change=file("patients.toml", "")),
        Mistake(title="A number in quotes", command="schema check patients.toml",
                change=schema("min = 0", 'min = "0"')),
        Mistake(title="A text without quotes", command="schema check patients.toml",
                change=schema('"category"', "category")),
        Mistake(title="A name with a blank", command="schema check patients.toml",
                change=schema("[columns.age]", "[columns.my age]")),
        Mistake(title="A column that is declared twice", command="schema check patients.toml",
                change=schema("[columns.drug]", "[columns.age]")),
        Mistake(title="A section that there is not", command="schema check patients.toml",
                change=schema("[columns.age]", "[column.age]")),
        Mistake(title="A list of no values", command="schema check patients.toml",
                change=schema('["Aspirin", "Heparin"]', "[]")),
        Mistake(title="Numbers among texts", command="schema check patients.toml", change=schema('"Heparin"', "2")),
        Mistake(title="A default beyond the bounds", command="schema check patients.toml",
                change=schema("max = 120", "max = 120\ndefault = 200")),
        Mistake(title="Missing, and yet with a default", command="schema check patients.toml",
                change=schema("max = 120", "max = 120\nnullable = true\ndefault = 40")),
        Mistake(title="Groups that nobody names", command="schema check patients.toml",
                change=schema('"category"', '"hierarchy"')),
        Mistake(title="A comparison written backwards", command="schema check patients.toml",
                change=schema('name = "patients"', 'name = "patients"\nconstraints = ["age => 18"]')),
    ),
    "The budget": (
        Mistake(title="No delta", command=_RELEASE.replace(" --delta 1e-6", "")),
        Mistake(title="An epsilon of zero", command=_RELEASE.replace("--epsilon 1", "--epsilon 0")),
        Mistake(title="A delta above one", command=_RELEASE.replace("1e-6", "2")),
        Mistake(title="A ledger that nobody has made", command=_RELEASE + " --ledger ledger"),
        Mistake(title="A ledger with too little left", command=_RELEASE.replace("--epsilon 1", "--epsilon 3")
                + " --ledger ledger", change=ran(_LEDGER)),
        Mistake(title="The ledger of another table", command=_RELEASE + " --ledger ledger",
                change=ran(_LEDGER + " --dataset visits")),
        Mistake(title="A ledger of the other relation", command=_RELEASE + " --ledger ledger",
                change=ran(_LEDGER + " --neighbours add-remove")),
        Mistake(title="A bundle over another one", command=_RELEASE, change=ran(_RELEASE)),
        Mistake(title="A comma for a decimal point", command=_RELEASE.replace("--epsilon 1", "--epsilon 0,5")),
        Mistake(title="An epsilon that promises nothing", command=_RELEASE.replace("--epsilon 1", "--epsilon 100000")),
        Mistake(title="Two ways to say how much", command=_RELEASE + " --advantage 0.1"),
        Mistake(title="A target that there is not", command=_RELEASE + " --target drgu"),
        Mistake(title="No rows at all", command=_RELEASE + " --rows 0"),
        Mistake(title="The public key in place of the private one", command=_RELEASE + " --key keys/public_key.pem",
                change=ran("keys make keys")),
        Mistake(title="A folder that there is not", command=_RELEASE.replace("--out bundle", "--out no/such/bundle")),
        Mistake(title="A misspelt option", command=_RELEASE.replace("--epsilon", "--epsilom")),
        Mistake(title="A misspelt command", command=_RELEASE.replace("release", "relese", 1)),
        Mistake(title="No schema", command="release patients.csv --epsilon 1 --delta 1e-6 --out bundle"),
        Mistake(title="A table in place of a ledger", command=_RELEASE + " --ledger patients.csv"),
        Mistake(title="A ledger over another one", command=_LEDGER, change=ran(_LEDGER)),
        Mistake(title="A cap below the release", command=_RELEASE + " --ledger ledger --cap 0.5,1e-6"),
        Mistake(title="A key that there is not", command=_RELEASE + " --key signing_key.pem"),
        Mistake(title="Keys over other keys", command="keys make keys", change=ran("keys make keys")),
        Mistake(title="The relation as an option", command=_RELEASE + " --neighbours add-remove"),
        Mistake(title="A comma in a number of rows",
                command="plan --schema patients.toml --rows 1,000 --epsilon 1 --delta 1e-6"),
    ),
    "The private look": (
        Mistake(title="Values beyond the bounds, and values that are not declared", command=_CHECK, private=True),
        Mistake(title="Dates with the day first", command=_CHECK, private=True,
                change=rows("age,drug,seen\n" + "41,Aspirin,05/06/1987\n" * 30)),
        Mistake(title="A release of cells that can't be read", command=_RELEASE, private=True,
                change=rows("age,drug,seen\n" + "n/a,Aspirin,1987-06-05\n" * 30)),
    ),
    "An analyst's commands": (
        asked("A question that there is not", "query bundle meen age"),
        asked("A question about nothing", "query bundle mean"),
        asked("A column in other letters", "query bundle mean Age"),
        asked("The mean of words", "query bundle mean drug"),
        asked("A comparison without groups", "query bundle mean age --minus Aspirin"),
        asked("A text without quotes", 'query bundle probability "drug == Aspirin"'),
        asked("A file of another kind", "export bundle --out rows.txt"),
        asked("Ninety-five for a level", "query bundle mean age --level 95"),
        asked("A value in other letters", "query bundle probability \"drug == 'aspirin'\""),
        asked("A date as an office writes it", "query bundle probability \"seen > '01.02.2020'\""),
        asked("A comparison that there is not", "query bundle probability \"drug like 'Asp%'\""),
        asked("A column for a condition", "query bundle mean age --where drug"),
        asked("A formula with =", 'query bundle regression "age = drug"'),
        asked("A page of private rows that does not say so", "report bundle -o page.html --private patients.csv"),
        asked("A quantile without its share", "query bundle quantile age"),
        asked("A bracket that is never closed", 'query bundle mean age --where "(age > 30"'),
        asked("Equal to nothing", 'query bundle probability "age = null"'),
        asked("A number beside a text", "query bundle probability \"age > 'old'\""),
        asked("A model of words", 'query bundle regression "drug ~ age"'),
        asked("A comparison with a release that is not there", "report bundle --compare other -o page.html"),
        asked("A demonstration over a release", "demo --out bundle"),
        Mistake(title="A table in place of a bundle", command="fit patients.csv --out bundle"),
        Mistake(title="A bundle on the web", command="verify https://example.org/bundle.zip"),
        Mistake(title="A table on the web", command=_RELEASE.replace("patients.csv", "https://example.org/patients.csv")),
    ),
    "A release in Python": tuple(python(title, code) for title, code in {
        "Epsilon alone": "ke.release(epsilon=1)",
        "No privacy": 'ke.release("patients.csv", schema="patients.toml")',
        "A schema without its name": 'ke.release("patients.csv", "patients.toml", privacy=(1, 1e-6))',
        "A misspelt option": 'ke.release("patients.csv", schema="patients.toml", privcy=(1, 1e-6))',
        "One number for privacy": 'ke.release("patients.csv", schema="patients.toml", privacy=1)',
        "A schema that is a dict": 'ke.release("patients.csv", schema={"age": int}, privacy=(1, 1e-6))',
        "Rows without a fit": 'ke.measure("patients.csv", schema="patients.toml", privacy=(1, 1e-6), rows=9)',
        "Nothing said about the columns": 'ke.Synthesizer(privacy=(1, 1e-6)).fit("patients.csv")',
        "Bounds in a text": 'ke.Synthesizer(bounds={"age": "0-120"}, privacy=(1, 1e-6)).fit("patients.csv")',
        "A setting that there is not": "ke.Synthesizer().set_params(epsilon=1)",
        "Values without their names": "ke.Privacy(1, 1e-6)",
        "A number in a text": 'ke.Privacy(epsilon="1", delta=1e-6)',
        "A plan without the number of rows": 'ke.plan("patients.toml", privacy=(1, 1e-6))',
        "A path where a schema is parsed": 'ke.Schema.parse("patients.toml")',
        "A misspelt name of the library": "ke.relese",
        "A test with a delta": 'ke.private_independence_test("patients.csv", "age", "drug", schema="patients.toml", '
        "privacy=(1, 1e-6))",
        "Rows in a list": 'ke.release([[41, "Aspirin"]], schema="patients.toml", privacy=(1, 1e-6))',
        "Two targets": 'ke.release("patients.csv", schema="patients.toml", privacy=(1, 1e-6), target=["drug", "age"])',
        "A column from the wrong place": 'ke.Integer(name="age", min=0, max=120)',
        "A bundle that there is not": 'ke.load("bundel")',
    }.items()),
    "Questions in Python": tuple(python(title, code) for title, code in {
        "A column as an attribute": "release.age",
        "Rows chosen by a comparison": 'release[release["age"] > 30]',
        "A place in the rows": "release.iloc[0]",
        "The largest value": 'release.max("age")',
        "A sum": 'release.sum("age")',
        "What is missing": "release.isna()",
        "A file by pandas' name": 'release.to_csv("rows.csv")',
        "The mean of everything": "release.mean()",
        "The mean of a list": 'release.mean(["age", "seen"])',
        "Two columns for one": 'release.mean("age", "seen")',
        "A keyword that there is not": 'release.mean("age", bye="drug")',
        "A condition that is no text": 'release.mean("age", where=lambda row: row.age > 30)',
        "A misspelt question": 'release.meen("age")',
        "A question that is elsewhere": 'release.gini("age")',
        "Groups where they are not taken": 'release.ask.gini("age", by="drug")',
        "Two columns of groups": 'release.groupby("drug")[["age", "seen"]].mean()',
        "All correlations at once": "release.corr()",
        "A quantile of what": 'release.quantile("age")',
        "Per cent for a share": 'release.quantile("age", 50)',
        "Whose mean": 'release.of("everyone")',
        "A column that there is not": 'release["Age"]',
        "Several quantiles at once": 'release.quantile("age", [0.25, 0.5, 0.75])',
        "A name of pandas for rows": "release.drop_duplicates()",
        "A group that there is not": 'release.mean("age", by="drug")["Asprin"]',
        "A sample of a part of a row": "release.sample(1.5)",
        "The budget of a release": "release.epsilon",
        "An estimate and a text": 'release.mean("age") + " years"',
        "A sample that is a path": 'release.tests.two_sample("sample.csv")',
        "Groups by a function": 'release.mean("age", by=len)',
        "A test of one column": 'release.tests.independence("age")',
        "The path of a key for a key": 'release.save("bundle", key="signing_key.pem")',
    }.items()),
}  # fmt: skip


def message(mistake: Mistake) -> str:
    """What is said about a mistake, made in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("patients.toml").write_text(_SCHEMA, encoding="utf-8")
        Path("patients.csv").write_text(_ROWS, encoding="utf-8")
        mistake.change()
        if mistake.python:
            return python_message(mistake)
        result = CliRunner().invoke(app, shlex.split(mistake.command), env={"COLUMNS": "200", "NO_COLOR": "1"})
        said = result.stderr if not mistake.private else result.stdout + result.stderr
        if result.exit_code == 0 or (result.exception and not isinstance(result.exception, SystemExit)):
            raise AssertionError(f"{mistake.title}: must fail in words, and ended with {result.exit_code}: {said}")
        return _plain(said).replace(f"{os.path.realpath(folder)}/", "").strip()


@cache
def _release() -> ke.Release:
    """A release of the same table: what is said about it does not depend on its numbers."""
    return ke.release("patients.csv", schema="patients.toml", privacy=(1.0, 1e-6), noise=ke.SeededNoise(0), fast=True)


def python_message(mistake: Mistake) -> str:
    """What Python says, in its last line."""
    try:
        eval(mistake.command, {"ke": ke, "release": _release()})  # noqa: S307  # the lines above
    except (ke.KerneleaseError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError(f"{mistake.title}: must fail in words, and did not.")


def _plain(text: str) -> str:
    """Without the frame that surrounds a message about usage."""
    framed = [line.strip("│ ").rstrip() for line in text.splitlines() if line.startswith("│")]
    return " ".join(framed) if framed else re.sub(r"[ \t]+\n", "\n", text)


def page() -> str:
    return "\n".join([_OPENING, *_sections()])


def _sections() -> Iterator[str]:
    number = 0
    for heading, mistakes in GROUPS.items():
        yield f"## {heading}\n"
        for mistake in mistakes:
            number += 1
            sign = ">>>" if mistake.python else "$ kernelease"
            yield f"### {number}. {mistake.title}\n\n```text\n{sign} {mistake.command}\n{message(mistake)}\n```\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
