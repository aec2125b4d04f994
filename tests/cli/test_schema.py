"""schema draft, check and json."""

import json
import tomllib

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kernelease.table import json_schema
from tests.cli.conftest import people


def test_a_draft_of_a_csv_knows_names_only(here, run):
    result = run("schema", "draft", "people.csv")
    drafted = tomllib.loads(result.stdout)
    assert list(drafted["columns"]) == ["age", "sex", "hours", "employed"]
    assert {column["type"] for column in drafted["columns"].values()} == {"FILL IN"}
    assert drafted["table"]["name"] == "people"


def test_a_draft_of_parquet_knows_declared_types(here, run):
    pq.write_table(people(), "people.parquet")
    assert run("schema", "draft", "people.parquet", "-o", "draft.toml").stderr.startswith("draft.toml: replace every")
    drafted = tomllib.loads((here / "draft.toml").read_text())
    assert [column["type"] for column in drafted["columns"].values()] == ["integer", "category", "number", "boolean"]
    assert "not filled in yet" in run("schema", "check", "draft.toml", code=2).stderr


def test_the_rows_do_not_show_in_a_draft(here, run):
    first = run("schema", "draft", "people.csv").stdout
    pyarrow.csv.write_csv(people(9, seed=1), "people.csv")
    assert run("schema", "draft", "people.csv").stdout == first


def test_a_draft_from_a_public_table(here, run):
    pyarrow.csv.write_csv(people(50, seed=5).drop_columns(["employed"]), "public.csv")
    answer = run.json("schema", "draft", "people.csv", "--from-public", "public.csv", "--out", "draft.toml")
    drafted = tomllib.loads(answer["schema"])
    assert drafted["columns"]["sex"]["values"] == ["female", "male"]
    assert drafted["columns"]["hours"]["nullable"]
    assert drafted["columns"]["employed"]["type"] == "FILL IN"
    assert (here / "draft.toml").read_text() == answer["schema"]


def test_private_bounds_are_charged(here, run):
    pq.write_table(people(4000), "people.parquet")
    run("budget", "create", "ledger", "--epsilon", "3", "--delta", "1e-6", "--quiet")
    words = ("schema", "draft", "people.parquet", "--private-bounds", "2", "--ledger", "ledger")
    done = run(*words)
    drafted = tomllib.loads(done.stdout)
    paid = "epsilon 1 for bounds of 2 columns (entry 1) and epsilon 1 for frequent values of 1 columns (entry 2)"
    assert f"{paid}. That is 27 % of what the ledger's cap of epsilon = 3 allows" in done.stderr
    assert "27 % of what the ledger's cap" in " ".join(done.stdout.replace("\n#", "").split())
    assert "left: one release of epsilon up to 2.5" in done.stderr
    assert drafted["columns"]["age"]["type"] == "integer"
    # What is too narrow by this much would have cut a tenth of the rows, 15 standard deviations of the noise.
    assert drafted["columns"]["age"]["min"] <= 25
    assert drafted["columns"]["age"]["max"] >= 82
    assert drafted["columns"]["hours"]["max"] >= 38
    assert "% at most, lie outside and are clamped" in done.stdout
    assert drafted["columns"]["sex"]["values"] == ["female", "male"]
    bounds, values = run.json("budget", "show", "ledger")["entries"]
    assert bounds["epsilon"] == values["epsilon"] == 1.0
    assert bounds["delta"] == values["delta"] == 1e-6
    assert values["loss"]["delta_zero"] == pytest.approx(2e-9)


def test_private_bounds_leave_a_ledger_what_a_release_of_their_size_would(here, run):
    """Half a quarter of a (2, 1e-6) ledger for each kind; then a release that takes most of the rest still fits."""
    run("budget", "create", "ledger", "--epsilon", "2", "--delta", "1e-6", "--quiet")
    run("schema", "draft", "people.csv", "--private-bounds", "0.5", "--ledger", "ledger", "--quiet")
    left = run.json("budget", "show", "ledger")["remaining_epsilon"]
    assert left > 1.9
    run(
        *("measure", "people.csv", "--schema", "people.toml", "--epsilon", "1.9", "--delta", "1e-6"),
        *("--out", "m", "--ledger", "ledger", "--quiet"),
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--private-bounds", "1"), "give its --ledger"),
        (("--private-bounds", "1", "--ledger", "nothing"), "There is no ledger"),
        (("--private-bounds", "1", "--ledger", "ledger", "--from-public", "people.csv"), "Give one of them"),
        (("-o", "people.toml"), "already exists"),
        (("-o", "missing/draft.toml"), "can't be written"),
        (("--from-public", "other.csv"), "no column of the private one"),
    ],
)
def test_drafts_that_are_refused(here, run, words, message):
    (here / "other.csv").write_text("x,y\n1,2\n")
    assert message in run("schema", "draft", "people.csv", *words, code=2).stderr


def test_check_lists_columns_and_sizes(here, run):
    answer = run.json("schema", "check", "people.toml")
    assert [(column["name"], column["atoms"]) for column in answer["columns"]] == [
        ("age", 8),
        ("sex", 2),
        ("hours", 9),
        ("employed", 2),
    ]
    shown = run("schema", "check", "people.toml").stdout
    assert "hours     number    yes           9" in shown
    assert f"{answer['atoms']:,} of all columns" in shown


def test_check_lists_what_is_derived(here, run):
    text = (here / "people.toml").read_text(encoding="utf-8")
    more = "[columns.adult]\ntype = 'boolean'\ncomputed = 'age >= 18'\n"
    (here / "more.toml").write_text(f"{text}\n{more}", encoding="utf-8")
    answer = run.json("schema", "check", "more.toml")
    assert answer["derived"] == [
        {"name": "adult", "type": "boolean", "told": "computed as age >= 18", "nullable": False}
    ]
    assert "computed as age >= 18" in run("schema", "check", "more.toml").stdout


def test_the_json_schema_is_printed(run):
    assert json.loads(run("schema", "json").stdout) == json_schema()


def test_a_database_address_names_no_table(here, run, monkeypatch):
    monkeypatch.setattr("kernelease.cli.work.drafting.open_source", lambda *_, **__: _Named())
    result = run("schema", "draft", "postgresql://me:secret@host/db")
    assert 'name = "table"' in result.stdout
    assert "secret" not in result.stdout + result.stderr


class _Named:
    def names(self):
        return ("a",)

    def declared_schema(self):
        return None


def test_a_draft_of_several_tables_finds_their_keys(here, run):
    folder = here / "tables"
    folder.mkdir()
    (folder / "homes.csv").write_text("home,ward\n1,north\n2,south\n3,north\n")
    (folder / "people.csv").write_text("home,ill\n1,yes\n1,no\n2,no\n")
    drafted = tomllib.loads(run("schema", "draft", "tables", "--tables").stdout)
    assert drafted["unit"]["table"] == "homes"
    assert drafted["tables"]["people"]["foreign_key"] == "home"
    run("schema", "draft", "tables", "--tables", "--look", "-o", "draft.toml")
    looked = tomllib.loads((here / "draft.toml").read_text())
    assert looked["unit"]["confirmed"] is False
    assert looked["tables"]["people"]["max_rows"] == 2
    checked = run.json("schema", "check", "draft.toml")
    assert checked["unit"] == "each home with all its people"
    assert [table["name"] for table in checked["tables"]] == ["homes", "people"]
    (folder / "homes.csv").write_text("home,ward\n7,east\n")
    assert tomllib.loads(run("schema", "draft", "tables", "--tables").stdout) == drafted


def test_a_draft_of_several_tables_takes_nothing_that_is_for_one(here, run):
    (here / "tables").mkdir()
    (here / "book.csv").write_text("name\nage\n")
    told = run("schema", "draft", "tables", "--tables", "--from-dictionary", "book.csv", code=2).stderr
    assert "is drafted from names, or with --look" in told
    told = run("schema", "draft", "tables", "--tables", "--separator", ";", code=2).stderr
    assert "[tables.NAME.source]" in told
