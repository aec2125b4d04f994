"""measure, fit, release, verify, export: the way of a table."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from kernelease.answers.release import load
from kernelease.bundle.saving import load_measurements
from kernelease.cli import app
from kernelease.table import Schema
from tests.cli.conftest import PROMISE, SCHEMA, people, write_people

pytestmark = pytest.mark.slow

RELEASE = ("release", "people.csv", "--schema", "people.toml", *PROMISE, "--out", "out")


def test_release_says_what_was_done(here, run):
    result = run(*RELEASE, "--ledger", "ledger", "--cap", "2,1e-6")
    for words in (
        "differentially private with epsilon 2 and delta 1e-06",
        "Interactions: no public rows",
        "400 of 4 columns",
        "entry 1",
    ):
        assert words in result.stdout
    assert result.stderr == ""
    assert load("out").table.num_rows == 400


def test_release_as_json(here, run):
    answer = run.json(*RELEASE, "--rows", "50")
    assert answer["rows"] == 50
    assert answer["columns"] == ["age", "sex", "hours", "employed"]
    assert (answer["epsilon"], answer["delta"], answer["private"]) == (2.0, 1e-6, True)
    assert 0.01 < answer["attacker"]["0.01"] < 1.0


def test_quiet_says_nothing(here, run):
    result = run(*RELEASE, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


def test_bars_show_stages_on_a_terminal_only(here, run):
    assert "fitting" not in run(*RELEASE[:-1], "one").stderr
    on_terminal = {"FORCE_COLOR": "1", "TERM": "xterm"}
    shown = run(*RELEASE[:-1], "two", env=on_terminal)
    for stage in ("reading rows", "noisy counts of pairs", "fitting", "drawing rows"):
        assert stage in shown.stderr
        assert stage not in shown.stdout
    assert run(*RELEASE[:-1], "three", "--quiet", env=on_terminal).stderr == ""


def test_stdout_is_the_same_each_time_but_for_what_noise_decides(here, run):
    """How many numbers are measured follows from noisy counts, and is in the bundle too."""
    outputs = [run(*RELEASE[:-1], "out", "--overwrite").stdout.splitlines() for _ in range(2)]
    first, second = ([line for line in lines if not line.startswith("noisy numbers")] for lines in outputs)
    assert first == second
    assert len(outputs[0]) == len(first) + 1


def test_a_zip_is_one_file(here, run):
    run(*RELEASE[:-1], "out.zip", "--quiet")
    assert (here / "out.zip").is_file()
    run("verify", "out.zip")


def test_measure_then_fit_costs_no_budget(here, run):
    measured = run.json("measure", *RELEASE[1:], "--ledger", "ledger", "--cap", "2,1e-6")
    assert "rows" not in measured
    run("export", "out", "--out", "x.csv", code=2)
    for number in range(2):
        answer = run.json(
            *("fit", "out", "--out", f"fit{number}", "--rows", "30", "--components", "20", "--steps", "20"),
            *("--goal", "0.9", "--seed", number),
        )
        assert answer["rows"] == 30
    assert len(run.json("budget", "show", "ledger")["entries"]) == 1


def test_a_fit_with_the_same_seed_is_the_same(bundle, run):
    for name in ("one", "two"):
        run("fit", bundle, "--out", name, "--steps", "20", "--components", "20", "--quiet")
    one, two = (load(name).table for name in ("one", "two"))
    assert one.equals(two)


def test_public_rows(here, run):
    pq.write_table(people(60, seed=8), "public.parquet")
    answer = run.json(*RELEASE, "--public", "public.parquet", "--ledger", "ledger", "--cap", "2,1e-6")
    assert answer["method"] == "Subspace"
    assert answer["published_rows"] == 0
    assert "public rows were given" in answer["why"]
    assert answer["rows"] <= 60
    run("verify", "out")
    exported = run.json("export", "out", "--rows", "25", "--out", "synth.csv")
    assert exported["rows"] == 25


def test_published_rows_have_no_guarantee(here, run):
    pyarrow.csv.write_csv(people().slice(0, 40), "published.csv")
    result = run(*RELEASE, "--published-rows", "published.csv", "--method", "subspace")
    assert "for the 40 rows published before" in result.stdout
    assert load("out").certificate.published_rows == 40


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "subspace"), "needs public rows"),
        (("--method", "interactions", "--public", "people.csv"), "no use for public rows"),
        (("--public", "people.csv", "--published-rows", "people.csv"), "two different promises"),
        (("--public", "people.csv", "--rows", "10"), "weighted, not drawn"),
        (("--query", "people"), "databases"),
        (("--key", "people.toml"), "not a private key"),
    ],
)
def test_options_that_contradict_each_other(here, run, words, message):
    assert message in run(*RELEASE, *words, code=2).stderr
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"people.csv": "nothing.csv"}, "There is no file nothing.csv"),
        ({"people.toml": "nothing.toml"}, "nothing.toml: can't be read"),
        ({"2": "0"}, "epsilon must be"),
        ({"1e-6": "2"}, "delta must be"),
        ({"out": "missing/out"}, "folder is missing"),
    ],
)
def test_wrong_input_spends_nothing(here, run, change, message):
    result = run(*(change.get(word, word) for word in RELEASE), "--ledger", "ledger", "--cap", "2,1e-6", code=2)
    assert message in result.stderr
    assert result.stdout == ""
    assert sorted(os.listdir(here)) == ["people.csv", "people.toml"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max = 99", "mx = 99", "people.toml, line 8: column 'age': unknown key 'mx'"),
        ("max = 99", "max = ", "people.toml, line 8: is not valid TOML"),
        ("[columns.sex]", "[columns.gender]", "column 'gender': the source has no column 'gender'"),
    ],
)
def test_a_wrong_schema_is_told_with_its_line(here, run, old, new, message):
    (here / "people.toml").write_text(SCHEMA.replace(old, new))
    result = run(*RELEASE, "--ledger", "ledger", "--cap", "2,1e-6", code=2)
    assert message in result.stderr
    assert not (here / "ledger").exists()


def test_over_budget_is_refused_and_nothing_is_written(here, run):
    run(*RELEASE, "--ledger", "ledger", "--cap", "2,1e-6", "--quiet")
    again = [*RELEASE[:-1], "second", "--ledger", "ledger", "--cap", "2,1e-6"]
    result = run(*again, code=3)
    assert "Nothing was spent" in result.stderr
    assert result.stdout == ""
    assert not (here / "second").exists()
    assert len(run.json("budget", "show", "ledger")["entries"]) == 1


def test_another_unit_than_the_ledger_is_refused(here, run):
    run("budget", "create", "ledger", "--epsilon", "9", "--delta", "1e-5", "--unit", "person", "--quiet")
    assert (
        "counts the loss of each person, the release protects each row"
        in run(*RELEASE, "--ledger", "ledger", code=3).stderr
    )


def test_an_existing_bundle_is_not_replaced_unasked(bundle, run):
    words = [*RELEASE[:-1], "release", "--ledger", "ledger", "--cap", "2,1e-6"]
    assert "already exists" in run(*words, code=2).stderr
    assert not (bundle.parent / "ledger").exists()
    assert run.json(*words, "--overwrite")["ledger"]["entry"] == 1


def test_a_folder_that_is_no_bundle_is_never_replaced(here, run):
    (here / "out").mkdir()
    (here / "out" / "thesis.txt").write_text("years of work")
    result = run(*RELEASE, "--overwrite", "--ledger", "ledger", "--cap", "2,1e-6", code=2)
    assert "not overwritten" in result.stderr
    assert not (here / "ledger").exists()


def test_a_large_delta_warns(here, run):
    result = run("release", "people.csv", "--schema", "people.toml", *("--epsilon", 1, "--delta", 0.01, "--out", "out"))
    assert result.stderr.startswith("warning: delta = 0.01 is not below 1/N")


def test_an_unsatisfiable_constraint_keeps_the_measurements(here, run):
    (here / "people.toml").write_text(SCHEMA.replace("[columns.age]", 'constraints = ["age < 18"]\n\n[columns.age]'))
    result = run(*RELEASE, "--rows", 5, code=2)
    assert "The measurements are safe in out" in result.stderr
    assert "contradict" in result.stderr
    assert "measurements.json" in os.listdir("out")


def test_signed_and_verified(here, run):
    made = run.json("keys", "make", "keys")
    run.json("keys", "make", "others")
    signed = run.json(*RELEASE, "--key", made["private_key"])
    assert signed["signed_by"] == made["fingerprint"] == run.json("keys", "show", made["public_key"])["fingerprint"]
    assert "which you trust" in run("verify", "out", "--key", made["public_key"]).stdout
    assert "not the key you trust" in run("verify", "out", "--key", "others/public_key.pem", code=1).stdout


def test_verify_names_what_does_not_hold(bundle, run):
    result = run("verify", bundle)
    assert result.stdout.count("✓") == 10  # and no signature
    (bundle / "certificate.json").write_bytes((bundle / "certificate.json").read_bytes() + b" ")
    answer = run.json("verify", bundle, code=1)
    assert not answer["holds"]
    assert "certificate.json: changed" in answer["findings"][1]["detail"]
    assert run("verify", bundle, "--quiet", code=1).stdout == ""
    assert "✗ sums" in run("verify", bundle, code=1).stdout


@pytest.mark.parametrize("name", ["synth.csv", "synth.parquet", "synth.feather"])
def test_export_has_the_columns_types_and_order_of_the_schema(bundle, run, name):
    run("export", bundle, "--rows", 123, "--out", name)
    schema = Schema.parse(SCHEMA).arrow_schema()
    if name.endswith(".csv"):
        table = pyarrow.csv.read_csv(name)
        assert table.schema.names == schema.names
    else:
        table = pq.read_table(name) if name.endswith(".parquet") else pyarrow.feather.read_table(name)
        assert table.schema.equals(schema)
    assert table.num_rows == 123


def test_export_of_the_rows_themselves(bundle, run):
    release = load(bundle)
    run("export", bundle, "--out", "plain.parquet", "--quiet")
    assert pq.read_table("plain.parquet").equals(release.rows)
    run("export", bundle, "--weights", "--out", "weighted.parquet", "--quiet")
    assert pq.read_table("weighted.parquet").column_names[-1] == "weight"


def test_an_exported_csv_can_be_released_again(bundle, run):
    run("export", bundle, "--out", "synth.csv", "--quiet")
    run("release", "synth.csv", *RELEASE[2:], "--quiet")
    run("verify", "out")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "synth.pdf"), "must end in .csv"),
        (("--out", "people.csv"), "already exists"),
        (("--out", "missing/synth.csv"), "could not be written"),
        (("--out", "synth.csv", "--rows", "5", "--weights"), "leave out --rows"),
    ],
)
def test_exports_that_are_refused(bundle, run, words, message):
    assert message in run("export", bundle, *words, code=2).stderr


def test_usage_errors_exit_with_2(here, run):
    for words in (("nonsense",), ("release",), ("export", "nowhere", "--out", "x.csv"), ("fit", "people.csv")):
        run(*words, code=2)


def test_a_defect_keeps_its_traceback(here, run, monkeypatch):
    def defect(*_, **__):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("kernelease.cli.work.request.release", defect)
    with pytest.raises(ZeroDivisionError):
        run(*RELEASE)


@pytest.mark.slow
def test_the_installed_command(here):
    def kernelease(*words):
        command = [sys.executable, "-m", "kernelease", *words]
        environment = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "1"}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    shown = kernelease("schema", "check", "people.toml")
    assert shown.returncode == 0, shown.stderr
    assert "\x1b[3" not in shown.stdout  # no colour
    refused = kernelease("release", "nothing.csv", *RELEASE[2:])
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


NEIGHBOURS = {
    "one more row": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "one row less": lambda table: table.slice(1),
    "an extreme value": lambda table: _changed(table, "age", "1e308"),
    "a new category": lambda table: _changed(table, "sex", "x"),
    "a NULL": lambda table: _changed(table, "hours", None),
    "an unparsable cell": lambda table: _changed(table, "employed", "maybe, ☃"),
}


def _changed(table, name, value):
    texts = [str(cell).lower() if cell is not None else None for cell in table.column(name).to_pylist()]
    texts[7] = value
    return table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))


@pytest.fixture
def made(tmp_path, run, monkeypatch):
    """All that a release shows of a table: stdout, stderr, and the bytes of its bundle."""

    def make(name, table):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(write_people(folder, schema=SCHEMA.replace("replace-one", "add-remove"), table=table))
        monkeypatch.setattr("secrets.token_hex", lambda size: "a" * 2 * size)  # a ledger's identity is its own
        result = run(*RELEASE, "--ledger", "ledger", "--cap", "2,1e-6")
        return result.stdout, result.stderr, {file.name: file.read_bytes() for file in (folder / "out").iterdir()}

    return make


@pytest.mark.parametrize("change", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_neighbours_look_alike_but_for_the_noisy_numbers(made, fixed_mechanism, change):
    assert made("one", people()) == made("other", change(people()))


def test_that_comparison_sees_a_single_row(made, fixed_noise):
    assert made("one", people()) != made("other", people().slice(1))


def test_a_database_may_count_by_itself(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.sql("CREATE TABLE people AS SELECT range % 7 AS kind, range % 3 AS place FROM range(900)")
    (tmp_path / "schema.toml").write_text(
        "[columns.kind]\ntype = 'integer'\nmin = 0\nmax = 6\n[columns.place]\ntype = 'integer'\nmin = 0\nmax = 2\n"
    )
    words = ["measure", str(tmp_path / "people.duckdb"), "--query", "people", "--schema", str(tmp_path / "schema.toml")]
    words += ["--epsilon", "9", "--delta", "1e-6", "--quiet", "--push-down", "--out"]
    result = CliRunner().invoke(app, [*words, str(tmp_path / "bundle")])
    assert result.exit_code == 0, result.output
    assert load_measurements(tmp_path / "bundle").certificate.rows == 900.0


def test_what_can_t_count_by_itself_says_so(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("kind\n1\n2\n")
    (tmp_path / "schema.toml").write_text("[columns.kind]\ntype = 'integer'\nmin = 0\nmax = 6\n")
    words = ["measure", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "schema.toml"), "--push-down"]
    result = CliRunner().invoke(app, [*words, "--epsilon", "1", "--delta", "0", "--out", str(tmp_path / "bundle")])
    assert result.exit_code == 2
    assert not (tmp_path / "bundle").exists()
