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
