"""Write docs/mistakes.md by making every mistake: `python docs/make_mistakes.py`. A test compares the two."""

import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from kernelease.cli import app

TARGET = Path(__file__).with_name("mistakes.md")
CELLS = ("Xyzzypril", "Plughumab", "4711", "1987-06-05")
"""What the private rows hold. None of it may show, but where the owner asks for a private look."""

_OPENING = """\
# Forty mistakes, and what is said about them

<!-- Written by docs/make_mistakes.py, which makes each of them. Change the commands, not this file. -->

Each was made as it stands here, on a small table of patients. A message says what was expected, what came, and what to
do next; none shows a cell, and none depends on one. The private look at the end is the exception: it quotes cells,
since it is for the owner's eyes alone; and a release that can't be read as declared stops, without quoting any.
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
    """A command that fails, after something was written wrongly."""

    title: str
    command: str
    change: Callable[[], object] = lambda: None
    private: bool = False


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
        Mistake(title="Measured bounds without a ledger", command="schema draft patients.csv --private-bounds 0.1"),
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
    ),
    "The private look": (
        Mistake(title="Values beyond the bounds, and values that are not declared", command=_CHECK, private=True),
        Mistake(title="Dates with the day first", command=_CHECK, private=True,
                change=rows("age,drug,seen\n" + "41,Aspirin,05/06/1987\n" * 30)),
        Mistake(title="A release of cells that can't be read", command=_RELEASE, private=True,
                change=rows("age,drug,seen\n" + "n/a,Aspirin,1987-06-05\n" * 30)),
    ),
}  # fmt: skip


def message(mistake: Mistake) -> str:
    """What is said about a mistake, made in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("patients.toml").write_text(_SCHEMA, encoding="utf-8")
        Path("patients.csv").write_text(_ROWS, encoding="utf-8")
        mistake.change()
        result = CliRunner().invoke(app, shlex.split(mistake.command), env={"COLUMNS": "200", "NO_COLOR": "1"})
        said = result.stderr if not mistake.private else result.stdout + result.stderr
        if result.exit_code == 0 or (result.exception and not isinstance(result.exception, SystemExit)):
            raise AssertionError(f"{mistake.title}: must fail in words, and ended with {result.exit_code}: {said}")
        return _plain(said).replace(f"{os.path.realpath(folder)}/", "").strip()


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
            yield f"### {number}. {mistake.title}\n\n```text\n$ kernelease {mistake.command}\n{message(mistake)}\n```\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
