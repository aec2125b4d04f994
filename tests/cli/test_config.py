"""The configuration file fills in options; the command line wins; mistakes are told with their line."""

import pytest

CONFIG = """\
[release]
data = "people.csv"
schema = "people.toml"
epsilon = 2.0
delta = 1e-6
out = "configured"
json = true

[schema.draft]
out = "draft.toml"

[plan]
schema = "people.toml"
rows = 100
all-pairs = true
"""


@pytest.fixture
def config(here):
    (here / "kernelease.toml").write_text(CONFIG)
    return here / "kernelease.toml"


def test_options_and_arguments_come_from_the_file(config, run):
    answer = run("--config", "kernelease.toml", "release").stdout
    assert '"bundle": "configured"' in answer
    assert '"epsilon": 2.0' in answer
    run("--config", "kernelease.toml", "schema", "draft", "people.csv")
    assert (config.parent / "draft.toml").is_file()


def test_what_is_typed_wins(config, run):
    answer = run("--config", "kernelease.toml", "release", "--epsilon", "0.5", "--out", "typed").stdout
    assert '"bundle": "typed"' in answer
    assert '"epsilon": 0.5' in answer


def test_what_the_file_leaves_out_is_still_required(config, run):
    assert "--epsilon" in run("--config", "kernelease.toml", "plan", code=2).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[release]\nepsilom = 1", "kernelease.toml, line 2: 'release' has no option 'epsilom'. Did you mean epsilon?"),
        ("\n[relaese]\nepsilon = 1", "kernelease.toml, line 2: there is no command 'relaese'. Did you mean release?"),
        ("release = 3", "line 1: must be a table of options: [release]."),
        ("[schema.draf]\n", "there is no command 'schema draf'. Did you mean draft?"),
        ("[release.epsilon]\nx = 1", "epsilon must be a value"),
        ("[release]\nversion = true", "no option 'version'"),
        ("[release]\nepsilon = ", "is not valid TOML"),
    ],
)
def test_mistakes_in_the_file(config, run, text, message):
    config.write_text(text)
    assert message in run("--config", "kernelease.toml", "release", code=2).stderr


def test_a_value_of_the_wrong_type_is_a_usage_error(config, run):
    config.write_text('[plan]\nrows = "many"\nschema = "people.toml"\nepsilon = 1\ndelta = 0')
    assert "--rows" in run("--config", "kernelease.toml", "plan", code=2).stderr


def test_a_missing_file(here, run):
    assert "nothing.toml can't be read" in run("--config", "nothing.toml", "schema", "json", code=2).stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("relese",), "error: There is no command relese. Did you mean 'release'? `kernelease --help` lists"),
        (("release", "a.csv"), "error: --schema is missing. `kernelease release --help` lists"),
        (("release", "a.csv", "--epsilom", "1"), "There is no option --epsilom. Did you mean --epsilon?"),
        (("plan", "--rows", "1,5"), "--rows must be a whole number"),
        (("plan", "--rows", "5", "--epsilon", "0,5"), "--epsilon must be a number, with a point: 0.5 or 1e-6."),
        (("release", "a.csv", "--epsilon"), "--epsilon needs a value after it."),
        (("verify", ".", "b", "c"), "Too many words: b c. A text with spaces goes in quotes."),
        (("verify", "nowhere"), "there is no file or folder nowhere. Check its name."),
        (("verify", "https://example.org/a"), "error: https://example.org/a is on the web"),
        (("--foo",), "error: There is no option --foo."),
        (("query", ".", "mean", "age", "--of", "them"), "--of must be one of 'table', 'population', got 'them'."),
        (("plan", "--rows", "0", "--schema", "a", "--epsilon", "1"), "--rows must be at least 1."),
    ],
)
def test_a_wrong_call_is_one_line(words, told, run):
    said = run(*words, code=2).stderr
    assert told in said
    assert said.count("\n") == 1


def test_help_says_no_type_of_an_option_that_takes_none(run):
    for words in (("--help",), ("query", "--help"), ("schema", "draft", "--help")):
        assert "<bool>" not in run(*words).stdout
