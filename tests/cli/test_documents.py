"""docs/cli.md is what the commands say of themselves, and the tutorial runs as it stands."""

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from kernelease.cli import app

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"\s+# exit code ([0-9]+)$")


def commands(command, path=("kernelease",)):
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(get_command(app)))


def test_the_reference_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_cli_reference", DOCS / "make_cli_reference.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    written = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert written == maker.reference(), "run: python docs/make_cli_reference.py"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_and_option_is_in_the_reference(path):
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert " ".join(path) in text
    section = text.partition(f"### {' '.join(path)}\n")[2].partition("\n### ")[0] or text
    missing = [option for item in COMMANDS[path].params for option in item.opts if option.startswith("-")]
    missing = [option for option in missing if f"`{option}`" not in section and f"`{option} " not in section]
    assert not missing


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_option_and_argument_has_help(path):
    command = COMMANDS[path]
    assert command.help
    assert all(item.help for item in command.params)


def test_the_tutorial_runs(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    assert len(blocks) > 8
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = part.rstrip("\n").split("\n")
            actual = output(line, run)
            for expected in shown:
                assert expected.rstrip("…") in actual, line


def output(line, run):
    """What a line of the tutorial prints. kernelease itself runs in this process."""
    ends = EXIT.search(line)
    words = shlex.split(EXIT.sub("", line))
    if words[0] == "kernelease":
        result = run(*words[1:], code=int(ends[1]) if ends else 0)
        return result.stdout + result.stderr
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout
