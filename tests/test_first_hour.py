"""A first hour as it goes: a file as an office writes it, wrong turns on purpose, and a verified bundle at the end."""

import html
import json
import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kernelease.cli import app
from kernelease.drafting.findings import PRIVATE
from kernelease.table.draft import MARK

NAMES = "patient_id;alter;größe;geschlecht;visite;kosten;weight"


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Semicolons, latin-1, decimal commas, European dates, two spellings of NULL, persons with several rows."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    rows = [NAMES]
    for row in range(600):
        age = draw.choice(["n/a", *(str(draw.randint(18, 89)) for _ in range(9))])
        sex = draw.choice(["männlich", "weiblich"])
        day = f"{draw.randint(13, 28):02d}.{draw.randint(1, 12):02d}.{draw.randint(2019, 2023)}"
        cost = draw.choice(["-", f"{draw.randint(1, 4)}.{draw.randint(100, 999)},50", f"{draw.randint(0, 99)},25"])
        height = f"1,{draw.randint(50, 99)}"
        rows.append(f"P{row // 3:04d};{age};{height};{sex};{day};{cost};{draw.randint(50, 99)}")
    (tmp_path / "visits.csv").write_bytes("\n".join([*rows, ""]).encode("latin-1"))
    return tmp_path


def run(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result


RELEASE = ("release", "visits.csv", "--schema", "visits.toml", "--epsilon", "2", "--delta", "1e-6", "--out", "bundle")


@pytest.mark.slow
def test_a_first_hour(office: Path) -> None:
    schema = office / "visits.toml"
    by_hand(schema)
    looked_at(schema)
    with_persons(schema)
    released(office)


def by_hand(schema: Path) -> None:
    # Without a schema there is nothing to release, and the draft from names says what is left to do.
    drafted = run("schema", "draft", "visits.csv", "-o", "empty.toml")
    assert "parted by ';'" in drafted.stderr
    assert "not in UTF-8: give --encoding" in drafted.stderr
    assert "is not filled in yet" in run("schema", "check", "empty.toml", code=2).stderr

    # A schema by hand that knows nothing of the file's ways.
    schema.write_text(
        '[table]\nname = "visits"\n\n[columns.alter]\ntype = "integer"\nmin = 0\nmax = 120\n\n'
        '[columns.geschlecht]\ntype = "category"\nvalues = ["Männlich", "Weiblich"]\n\n'
        '[columns.visite]\ntype = "date"\nmin = 2019-01-01\nmax = 2023-12-31\n\n'
        '[columns.kosten]\ntype = "number"\nmin = 0.0\nmax = 5000.0\n\n'
        '[columns.weight]\ntype = "integer"\nmin = 0\nmax = 200\n',
        encoding="utf-8",
    )
    run("schema", "check", "visits.toml")
    refused = run(*RELEASE, code=2)
    assert "--separator" in refused.stderr
    assert "P0001" not in refused.output


def looked_at(schema: Path) -> None:
    # The private look finds every damage, and says the line to write; no budget is spent on it.
    look = run("check", "visits.csv", "--schema", "visits.toml", "--separator", ";", code=1)
    assert all(line.startswith(f"[{PRIVATE}]") for line in look.stdout.splitlines())
    report = json.loads(
        run("check", "visits.csv", "--schema", "visits.toml", "--separator", ";", "--json", code=1).stdout
    )
    lines = " ".join(finding["remedy"] for finding in report["findings"])
    for line in ('encoding = "latin-1"', 'dates = "%d.%m.%Y"', 'nulls = ["n/a"]', 'decimal = ","', 'nulls = ["-"]'):
        assert line in lines, line
    run(*RELEASE, "--separator", ";", "--check", "--ledger", "books", "--cap", "4,1e-6", code=2)
    assert not schema.with_name("bundle").exists()

    # What it says is written down: the way the file is written, then what is possible.
    written = (
        '\n[source]\nseparator = ";"\nencoding = "latin-1"\nnulls = ["n/a", "-"]\ndecimal = ","\nthousands = "."\n'
        'dates = "%d.%m.%Y"\n'
    )
    schema.write_text(schema.read_text("utf-8") + written, "utf-8")
    report = json.loads(run("check", "visits.csv", "--schema", "visits.toml", "--json", code=1).stdout)
    respelt = next(finding["remedy"] for finding in report["findings"] if finding["where"] == "geschlecht")
    assert respelt.endswith('values = ["männlich", "weiblich"]')
    text = schema.read_text("utf-8").replace("Männlich", "männlich").replace("Weiblich", "weiblich")
    text = text.replace("max = 120\n", "max = 120\nnullable = true\n").replace(
        "max = 5000.0\n", "max = 5000.0\nnullable = true\n"
    )
    schema.write_text(text, "utf-8")
    persons = run("check", "visits.csv", "--schema", "visits.toml", "--strict", "--html", "look.html", code=1)
    assert "They look like persons" in persons.stdout
    assert PRIVATE in html.unescape(schema.with_name("look.html").read_text("utf-8"))


def with_persons(schema: Path) -> None:
    # Patients come back: without a unit each visit alone is protected; with a cap that is too low, rows are lost.
    text = schema.read_text("utf-8")
    unit = text.replace('name = "visits"\n', 'name = "visits"\nunit = "patient_id"\nmax_rows_per_unit = 2\n')
    schema.write_text(unit, "utf-8")
    capped = run("check", "visits.csv", "--schema", "visits.toml", code=1).stdout
    assert "have more than 2 rows" in " ".join(capped.split())
    schema.write_text(unit.replace("max_rows_per_unit = 2", "max_rows_per_unit = 3"), "utf-8")
    assert "600 rows of 200 persons" in run("check", "visits.csv", "--schema", "visits.toml", "--strict").stdout
    assert "below 1/200" in " ".join(
        run("check", "visits.csv", "--schema", "visits.toml", "--delta", "0.1", code=1).stdout.split()
    )


def released(office: Path) -> None:
    # The release, with its books, and a bundle that verifies.
    done = run(*RELEASE, "--ledger", "books", "--cap", "4,1e-6", "--check")
    assert "Each person (up to 3 rows of one patient_id) is protected" in done.stdout
    assert "ran first, on your screen only" in done.stdout
    verified = run("verify", "bundle", "--ledger", "books")
    assert "– signature" in verified.stdout
    assert "not signed" in verified.stdout
    assert "✓ rows" in verified.stdout
    for file in (office / "bundle").iterdir():
        assert PRIVATE.encode() not in file.read_bytes()
        assert not re.search(rb"P0\d\d\d", file.read_bytes())


@pytest.mark.slow
def test_a_first_quarter_of_an_hour(office: Path) -> None:
    """By looking: the draft is unusable until it is confirmed, and the release says where its domain came from."""
    schema = office / "visits.toml"
    run("schema", "draft", "visits.csv", "--look", "-o", "visits.toml")
    text = schema.read_text("utf-8")
    assert 'separator = ";"' in text
    assert 'encoding = "latin-1"' in text
    assert "P0001" not in text  # an identifier is left out
    marked = [line for line in text.splitlines() if line.startswith(("min", "max", "values", "dates", "nulls"))]
    assert marked
    assert all("is it public?" in line for line in marked)
    assert "confirmed is false" in run("schema", "check", "visits.toml", code=2).stderr
    assert "confirmed is false" in run(*RELEASE, code=2).stderr
    run("check", "visits.csv", "--schema", "visits.toml", "--strict")
    schema.write_text(text.replace("confirmed = false", "confirmed = true"), "utf-8")
    done = run(*RELEASE)
    assert "the source reads as declared" in done.stdout
    run("verify", "bundle")
    certificate = json.loads((office / "bundle" / "certificate.json").read_text("utf-8"))
    assert certificate["domain"].startswith("drafted by looking at the private rows")


def panel(path: Path) -> None:
    """545 persons, each in eight years: what varies with the year, and what stays the same."""
    draw = random.Random(1)
    lines = ["nr,year,black,educ,exper,hours,married,union,lwage"]
    for nr in draw.sample(range(13, 12_600), 545):
        black, educ, first, base = (
            int(draw.random() < 0.12),
            draw.randint(6, 16),
            draw.randint(0, 6),
            draw.gauss(1.2, 0.4),
        )
        for year in range(1980, 1988):
            now = f"{first + year - 1980},{draw.randint(1000, 3500)},{draw.randint(0, 1)},{int(draw.random() < 0.25)}"
            lines.append(f"{nr},{year},{black},{educ},{now},{base + draw.gauss(0.0, 0.3):.4f}")
    path.write_text("\n".join([*lines, ""]))


def test_a_panel_is_a_table_of_persons_from_the_draft_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4,360 rows of 545 persons: draft, check and release each speak of persons."""
    monkeypatch.chdir(tmp_path)
    panel(tmp_path / "panel.csv")
    drafted = run("schema", "draft", "panel.csv", "--look", "-o", "panel.toml")
    assert "Column 'nr' looks like the name of persons with several rows" in drafted.stderr
    text = (tmp_path / "panel.toml").read_text()
    assert (tmp_path / "panel.toml").stat().st_mode & 0o777 == 0o600
    assert f'unit = "nr"  # {MARK}\nmax_rows_per_unit = 8  # {MARK}\n' in text
    assert "[columns.nr]" not in text
    assert "nullable" not in text  # no cell is missing

    confirmed = text.replace("confirmed = false", "confirmed = true")
    (tmp_path / "panel.toml").write_text(confirmed)
    assert "4,360 rows of 545 persons" in run("check", "panel.csv", "--schema", "panel.toml", "--strict").stdout
    (tmp_path / "rows.toml").write_text(re.sub("(?m)^(unit|max_rows_per_unit) = .*$", "", confirmed))
    forgotten = " ".join(run("check", "panel.csv", "--schema", "rows.toml", "--strict", code=1).stdout.split())
    assert "545 values repeat, most on up to 8 rows, the same within each: black, educ" in forgotten
    assert 'unit = "nr" and max_rows_per_unit = 8 in [table]' in forgotten

    promise = ("--schema", "panel.toml", "--epsilon", "1", "--delta", "1e-6")
    assert "finds a given person" in run("plan", "--rows", "545", *promise).stdout
    released = run("release", "panel.csv", *promise, "--fast", "--out", "bundle").stdout
    assert "Each person (up to 8 rows of one nr) is protected" in released
    assert "finds a given person" in released
    assert "given row" not in (tmp_path / "bundle" / "datasheet.md").read_text("utf-8")
