"""budget and keys."""

import pytest

from kernelease.ledgers import LedgerFile

CREATE = ("budget", "create", "ledger", "--dataset", "census", "--epsilon", "1", "--delta", "1e-6")


def test_create_and_show(here, run):
    made = run.json(*CREATE, "--neighbours", "add-remove", "--unit", "person")
    assert made["cap"] == {"epsilon": 1.0, "delta": 1e-6}
    assert made == run.json("budget", "show", "ledger")
    ledger = LedgerFile.open("ledger")
    assert (ledger.dataset, ledger.unit, ledger.cap.neighbours.value) == ("census", "person", "add-remove")
    shown = run("budget", "show", "ledger").stdout
    assert "each person" in shown
    assert "no entries yet" in shown


def test_entries_are_listed(here, run):
    run(*(word if word != "census" else "people" for word in CREATE), "--quiet")
    run(
        *("measure", "people.csv", "--schema", "people.toml", "--epsilon", "0.4", "--delta", "1e-7"),
        *("--out", "m", "--ledger", "ledger", "--quiet"),
    )
    answer = run.json("budget", "show", "ledger")
    assert answer["entries"][0]["purpose"] == "Interactions on people"
    assert answer["entries"][0]["loss"]["pure_epsilon"] is None
    assert 0.0 < answer["remaining_epsilon"] < 1.0
    assert (answer["entries"][0]["epsilon"], answer["entries"][0]["delta"]) == (0.4, 1e-7)
    assert (answer["entries"][0]["dataset"], answer["entries"][0]["unit"]) == ("people", None)
    shown = run("budget", "show", "ledger").stdout
    (listed,) = (text for text in shown.splitlines() if "Interactions" in text)
    for cell in ("Interactions on people", "each row", "replace-one", " 0.4 ", " 1e-07 "):
        assert cell in listed
    assert answer["remaining"] in shown


def test_a_ledger_of_another_data_set_refuses(here, run):
    run(*CREATE, "--quiet")
    words = ("measure", "people.csv", "--schema", "people.toml", "--epsilon", "0.4", "--delta", "1e-7", "--out", "m")
    refused = run(*words, "--ledger", "ledger", code=3).stderr
    assert "This ledger is of the data set 'census', the release is of 'people'" in refused
    assert run.json("budget", "show", "ledger")["entries"] == []


def test_a_ledger_without_a_name_goes_by_the_first_that_is_charged(here, run):
    run("budget", "create", "ledger", "--epsilon", "1", "--delta", "1e-6", "--quiet")
    assert "not named" in run("budget", "show", "ledger").stdout
    words = ("measure", "people.csv", "--schema", "people.toml", "--epsilon", "0.4", "--delta", "1e-7")
    run(*words, "--out", "m", "--ledger", "ledger", "--quiet")
    assert run.json("budget", "show", "ledger")["dataset"] == "people"
    (here / "other.toml").write_text((here / "people.toml").read_text().replace('name = "people"', 'name = "others"'))
    refused = run(*words[:3], "other.toml", *words[4:], "--out", "n", "--ledger", "ledger", code=3).stderr
    assert "of the data set 'people', the release is of 'others'" in refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("budget", "show", "nothing"), "There is no ledger"),
        (("budget", "show", "people.csv"), "not a"),
        (("budget", "create", "people.csv", "--epsilon", "1", "--delta", "0"), "already exists"),
        (("budget", "create", "ledger", "--epsilon", "-1", "--delta", "0"), "epsilon must be"),
        (("budget", "create", "ledger", "--epsilon", "1", "--delta", "0", "--dataset", ""), "printable text"),
        (("keys", "show", "people.toml"), "not a public key"),
        (("keys", "make", "people.toml"), "can't be made"),
    ],
)
def test_refusals(here, run, words, message):
    assert message in run(*words, code=2).stderr


def test_keys(here, run):
    made = run.json("keys", "make", "keys")
    assert (here / made["private_key"]).stat().st_mode & 0o077 == 0
    for file in (made["private_key"], made["public_key"]):
        assert run.json("keys", "show", file)["fingerprint"] == made["fingerprint"]
    assert made["fingerprint"][:4] in run("keys", "show", made["public_key"]).stdout
    assert "never overwritten" in run("keys", "make", "keys", code=2).stderr


@pytest.mark.slow
def test_a_timeline_shows_what_was_left_in_the_words_of_what_was_asked(run, here):
    run("budget", "create", "books", "--dataset", "people", "--epsilon", "2", "--delta", "1e-6")
    for epsilon in ("0.5", "1"):
        run(
            *("measure", "people.csv", "--schema", "people.toml", "--epsilon", epsilon, "--delta", "1e-6"),
            *("--ledger", "books", "--out", f"m{epsilon}", "--quiet"),
        )
    shown = run("budget", "show", "books", "--timeline").stdout
    left = [entry["remaining_epsilon"] for entry in run.json("budget", "show", "books")["entries"]]
    assert 2.0 > left[0] > left[1] > 0.0
    lines = shown.splitlines()
    begin = next(i for i, text in enumerate(lines) if text.startswith("entry") and "epsilon left" in text)
    assert [text.split()[-2] for text in lines[begin + 1 : begin + 4]] == ["2", *(f"{value:.3g}" for value in left)]
    assert lines[begin + 1].count("█") == 30
    assert run.json("budget", "show", "books")["remaining_epsilon"] == left[-1]


RELEASE = ("measure", "people.csv", "--schema", "people.toml", "--epsilon", "1", "--delta", "1e-6", "--out", "m")


def test_a_ledger_that_is_not_there_wants_its_cap(here, run):
    refused = run(*RELEASE, "--ledger", "books", code=2).stderr
    assert "`kernelease budget create books --dataset people --epsilon EPS --delta 1e-06`" in refused
    assert "--cap EPS,DELTA" in refused
    assert not (here / "books").exists()
    run(*RELEASE, "--ledger", "books", "--cap", "3", "--quiet")
    assert run.json("budget", "show", "books")["cap"] == {"epsilon": 3.0, "delta": 1e-6}
    again = (*RELEASE, "--overwrite", "--ledger", "books", "--cap")
    assert "a cap never changes" in run(*again, "4,1e-6", code=2).stderr
    run(*again, "3,1e-6", "--quiet")


def test_a_terminal_is_asked_for_the_cap(here, run, monkeypatch):
    monkeypatch.setattr("kernelease.cli.work.request.on_a_terminal", lambda: True)
    asked = run(*RELEASE, "--ledger", "books", input="5,1e-5\n")
    assert "all releases of 'people' together may ever spend" in asked.output
    assert run.json("budget", "show", "books")["cap"] == {"epsilon": 5.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cap", "3,1e-6"), "say where with --ledger FILE"),
        (("--ledger", "books", "--cap", "much"), "--cap must be EPS,DELTA, as 3,1e-6; got 'much'"),
        (("--ledger", "books", "--cap", "0,1e-6"), "epsilon must be"),
    ],
)
def test_caps_that_are_refused(here, run, words, message):
    assert message in run(*RELEASE, *words, code=2).stderr


def test_measured_bounds_are_charged_to_the_ledger_of_their_table_alone(here, run):
    run("budget", "create", "books", "--dataset", "visits", "--epsilon", "3", "--delta", "1e-6", "--quiet")
    words = ("schema", "draft", "people.csv", "--private-bounds", "0.5", "--ledger", "books")
    assert "is of the data set 'visits', the release is of 'people'" in run(*words, code=3).stderr
    assert run.json("budget", "show", "books")["entries"] == []
    assert 'name = "visits"' in run(*words, "--dataset", "visits").stdout
    assert {entry["dataset"] for entry in run.json("budget", "show", "books")["entries"]} == {"visits"}
