"""Everything that reads a file or a query: it is read, or refused by a `KerneleaseError`, whatever it holds.

The readers are those of `audits.targets`; `make fuzz` feeds them for longer, guided by coverage.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from audits import fuzzing, targets
from audits.case import Effort
from audits.targets import SECRET, TARGETS, Target

ROOT = Path(__file__).resolve().parents[2]
BOUNDED = settings(max_examples=40, deadline=10_000)


def read(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        TARGETS[name].read(data, Path(folder))


# ---------------------------------------------------------------------------------------------------- honest beginnings


@pytest.mark.parametrize("name", TARGETS)
def test_the_honest_examples_are_read(name: str) -> None:
    """Fuzzing that begins with refused input would only ever see the first line of a reader."""
    for seed in TARGETS[name].seeds():
        read(name, seed)


def test_the_honest_examples_are_accepted(tmp_path: Path) -> None:
    assert len(targets.Schema.parse(targets.SCHEMA_TEXT).constraints) == 3
    assert targets.Rule.parse(targets.RULE, targets.declared()).columns == ("smoker", "age", "hours")
    assert targets.parse_condition(targets.QUERY, targets.declared()) is not None
    assert {"certificate.json", "measurements.json", "data.parquet", "datasheet.md"} <= set(targets.honest_files())
    bundle = targets.write_bundle(tmp_path / "bundle", targets.honest_files())
    assert all(finding.holds for finding in targets.verify(bundle))


# --------------------------------------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=2000))
@BOUNDED
def test_bytes_without_sense(name: str, data: bytes) -> None:
    read(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
@given(seed=st.integers(0, 2**32))
@example(seed=914)  # once an integer beyond 2⁵³ in the rows of a bundle
@BOUNDED
def test_honest_bytes_with_changes(name: str, seed: int) -> None:
    for data, _ in zip(fuzzing.mutations(TARGETS[name], seed), range(3), strict=False):
        read(name, data)


# ------------------------------------------------------------------------------------------------------------- schemas

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["integer", "number", "category", "ordinal", "string", "boolean", "date", "datetime", "drop"]),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4), max_leaves=6)
KEYS = st.sampled_from(
    ["type", "min", "max", "cells", "values", "nullable", "default", "resolution", "other", "vocabulary", "zzz"]
)


@pytest.mark.slow
@given(
    columns=st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(["a", "b", ""]) | SCALARS}, optional={}).flatmap(
            lambda named: st.dictionaries(KEYS, VALUES, max_size=5).map(lambda body: {**named, **body})
        ),
        max_size=3,
    ),
    table=st.dictionaries(
        st.sampled_from(["name", "neighbours", "unit", "max_rows_per_unit", "rows_without_unit", "constraints", "zzz"]),
        VALUES,
        max_size=3,
    ),
)
@settings(max_examples=150, deadline=10_000)
def test_schemas_of_any_values(columns: list[dict[str, Any]], table: dict[str, Any]) -> None:
    data = b"schema.json\n" + json.dumps({"format": 1, **table, "columns": columns}).encode()
    read("what bundles hold", data)


# ------------------------------------------------------------------------------------------------------------- queries

WORDS = ["age", "hours", "sex", "grade", "born", "seen", "smoker", "and", "or", "not", "in", "is", "null", "true", "("]
WORDS += [
    ")",
    ",",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "'f'",
    "'low'",
    "'2000-01-01'",
    "7",
    "-1.5",
    "1e999",
    "''",
    '"age"',
    "+",
    "-",
    "*",
    "/",
    "if",
    "then",
]
WORDS += ["9" * 400, "\x00", "\ud800", "`", "é", "'\ud800'", "'9999999-01-01'"]


@pytest.mark.slow
@given(words=st.lists(st.sampled_from(WORDS), max_size=14))
@settings(max_examples=300, deadline=10_000)
def test_sentences_of_the_query_language(words: list[str]) -> None:
    read("queries", " ".join(words).encode(errors="surrogatepass"))


@pytest.mark.slow
@given(
    depth=st.integers(0, 4000), word=st.sampled_from(["(", "not ", "-", "age > 3 and (", "age + (", "if age > 3 then "])
)
@BOUNDED
def test_deep_nesting_ends(depth: int, word: str) -> None:
    read("queries", (word * depth + "age > 3" + ")" * depth).encode())


@pytest.mark.parametrize(
    "rule",
    [
        "age > " + "9" * 5000,
        "age == " + "9" * 5000 + " + 1",
        "(" * 100_000 + "age > 3" + ")" * 100_000,
        "age" + " + age" * 3000 + " > 3",
        "sex == '" + "x" * 100_000 + "'",
        "age > 3\x00",
        "age > 3\ud800",
    ],
)
def test_rules_of_a_stranger(rule: str, tmp_path: Path) -> None:
    """They come with the schema of a bundle, and a recipient opens it before anything was verified."""
    files = dict(targets.honest_files())
    files["schema.json"] = json.dumps({**json.loads(files["schema.json"]), "constraints": [rule]}).encode()
    bundle = targets.write_bundle(tmp_path / "bundle", files)
    assert targets.verify(bundle)
    with contextlib.suppress(targets.KerneleaseError):
        assert targets.load(bundle).schema.constraints[0].text == rule


# ---------------------------------------------------------------------------------------------------------------- rows

CELLS = st.one_of(
    st.text(max_size=12), st.sampled_from([SECRET, '"', '""', '"\n', "\r", "\x00", "NA", "1e999", "\ufeff"])
)


@given(lines=st.lists(st.lists(CELLS, max_size=5), max_size=8))
@BOUNDED
def test_no_cell_of_a_csv_file_is_refused(lines: list[list[str]]) -> None:
    read("rows of CSV files", "\n".join(",".join(cells) for cells in lines).encode(errors="surrogatepass"))


# ---------------------------------------------------------------------------------------------- what was found by now

FOUND = sorted((Path(__file__).parent / "inputs").iterdir())
_READ = """
import sys
from pathlib import Path
from audits.targets import read_parquet
read_parquet(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_once_ended_the_process(path: Path, tmp_path: Path) -> None:
    """In a process of its own: the first of these brought down the whole interpreter, by a C++ exception."""
    command = [sys.executable, "-c", _READ, str(path), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------------------------------------- the fuzzer itself


def test_a_reader_that_trusts_its_input_is_caught() -> None:
    found = fuzzing.attack(fuzzing.TWIN, 60)
    assert len(found) > 20
    assert any(SECRET in finding.what for finding in found)


def test_a_reader_that_hangs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "SLOWEST", 0.0)
    quiet = Target(read=lambda *_: None, seeds=lambda: (b"x",))
    assert "it took" in fuzzing.attack(quiet, 1)[0].what


def test_a_message_with_a_private_cell_is_caught() -> None:
    hidden = targets.KerneleaseError("can't be read")
    hidden.__cause__ = ValueError(f"bad cell: {SECRET}")
    with pytest.raises(targets.PrivacyLeak):
        targets._check_secrecy(hidden)


def test_mutations_are_the_same_for_the_same_seed() -> None:
    target = TARGETS["queries"]
    one, two = (
        [next(stream) for _ in range(20)] for stream in (fuzzing.mutations(target, 3), fuzzing.mutations(target, 3))
    )
    assert one == two
    assert len(set(one)) > 10


def test_every_reader_is_a_case() -> None:
    assert [case.name for case in fuzzing.CASES] == [f"damaged {name}" for name in TARGETS]
    assert fuzzing.TRIALS[Effort.FULL] > fuzzing.TRIALS[Effort.FAST]
