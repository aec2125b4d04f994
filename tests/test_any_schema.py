"""Whatever a schema declares together, what was charged for is delivered: released, saved, verified, asked.

A declaration that some step after the charge can't take costs the budget. So declarations of all kinds are put together
at random, over a table whose numbers are looked at closely (spikes, grids, skew), and nothing may fail.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings, strategies as st

import kernelease as ke
from kernelease.errors import SchemaError

_AMOUNT, _TOWNS = "min = 0\nmax = 100000\n", 'values = ["a1", "a2", "b1", "b2"]\n'
COLUMNS = {  # what each column may be declared as
    "income": (
        f'type = "number"\n{_AMOUNT}decimals = 2',
        f'type = "number"\n{_AMOUNT}decimals = 2\nscale = "log"',
        f'type = "integer"\n{_AMOUNT}',
        'type = "number"\nmin = 0\nmax = 3e6',
    ),
    "age": (
        'type = "integer"\nmin = 0\nmax = 110',
        'type = "integer"\nmin = 0\nmax = 110\ncells = 8',
        'type = "integer"\nvalues = [0, 18, 30, 65, 110]',
    ),
    "sex": ('type = "category"\nvalues = ["f", "m"]', 'type = "string"\nvalues = ["f", "m"]\nother = true'),
    "town": (f'type = "category"\n{_TOWNS}', f'type = "hierarchy"\n{_TOWNS}prefix = 1', f'type = "ordinal"\n{_TOWNS}'),
    "born": ('type = "date"\nmin = 1920-01-01\nmax = 2024-12-31',),
    "seen": ('type = "datetime"\nmin = 2020-01-01T00:00:00\nmax = 2024-12-31T00:00:00\nnullable = true',),
    "score": tuple(
        f'type = "number"\nnullable = true\n{more}'
        for more in (
            "min = -4\nmax = 4",
            "min = -4\nmax = 4\nresolution = 0.25",
            "values = [-4, -1.5, 0, 0.7, 3.14, 4]",
        )
    ),
    "member": ('type = "boolean"',),
    "stay": (
        'type = "integer"\nfrom = "left"\nminus = "seen"\nmin = 0\nmax = 90000\nnullable = true',
        'type = "number"\nfrom = "left"\nminus = "seen"\nmin = 0\nmax = 9000\nresolution = 60\nnullable = true',
    ),
}
MINUS = {"stay": "seen"}  # what is taken off where rows are read
DERIVED = {
    "adult": 'type = "boolean"\ncomputed = "age >= 18"',
    "yearly": 'type = "number"\ncomputed = "12 * income"',
    "region": 'type = "category"\ndetermined_by = "town"\nmapping = {a1 = "A", a2 = "A", b1 = "B", b2 = "B"}',
    "year": 'type = "integer"\ncomputed = "year(born)"',
    "left": 'type = "datetime"\ncomputed = "seen + stay"',
}
NULL_WHEN = ("age < 18", "sex == 'm'", "adult == false", "region == 'B'", "not member")
RULES = ("seen >= born", "age < 100 or income == 0", "score <= 4")
ANALYSES = ("income ~ age + sex", "mean income by town", "mean score by sex", "income ~ age * sex")


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """A schema with some of everything. What names a column that is not there would be refused, and is left out."""
    chosen = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=2, unique=True))
    names = [*chosen, *(off for name, off in MINUS.items() if name in chosen and off not in chosen)]
    declared = {name: draw(st.sampled_from(COLUMNS[name])) for name in names}
    needs = {"adult": "age", "yearly": "income", "region": "town", "year": "born", "left": "stay"}
    derived = [name for name, origin in needs.items() if origin in names and draw(st.booleans())]
    known = {*names, *derived}
    for name in draw(st.sets(st.sampled_from(["income", "score", "seen"]))) & known:
        conditions = [one for one in NULL_WHEN if _about(one) <= known]
        if conditions:
            nullable = "" if "nullable" in declared[name] else "nullable = true\n"
            declared[name] += f'\n{nullable}null_when = "{draw(st.sampled_from(conditions))}"'
    if "null_when" in declared.get("income", ""):  # then what is computed of it would have to be nullable, too
        derived = [name for name in derived if name != "yearly"]
    rules = [rule for rule in RULES if _about(rule) <= known and draw(st.booleans())]
    analyses = [one for one in ANALYSES if _about(one) <= known and draw(st.booleans())]
    head = [f'neighbours = "{draw(st.sampled_from(["replace-one", "add-remove"]))}"']
    if draw(st.booleans()):
        head += ['unit = "id"', f"max_rows_per_unit = {draw(st.integers(1, 3))}"]
    head += [f"constraints = {rules!r}".replace("'", '"')] if rules else []
    parts = ["[table]", *head]
    parts += [f"[columns.{name}]\n{text}" for name, text in declared.items()]
    parts += [f"[columns.{name}]\n{DERIVED[name]}" for name in derived]
    parts += ["[analyses]", *(f'a{place} = "{one}"' for place, one in enumerate(analyses))] if analyses else []
    return "\n".join(parts)


def _about(text: str) -> set[str]:
    every = {*COLUMNS, *DERIVED}
    return {word for word in every if word in text.replace("(", " ").replace("==", " ").split()}


def _table(rows: int) -> pa.Table:
    """A spike at 0, prices in quarters, dates, NULLs; each person has about two rows."""
    g = np.random.default_rng(rows)
    born = np.datetime64("1930-01-01") + g.integers(0, 30_000, rows)
    seen = np.datetime64("2020-02-01T00:00:00") + g.integers(0, 10**8, rows).astype("timedelta64[s]")
    income = np.where(g.random(rows) < 0.3, 0.0, np.round(g.lognormal(8.0, 1.0, rows) * 4.0) / 4.0)
    return pa.table(
        {
            "id": g.integers(0, max(1, rows // 2), rows),
            "income": income,
            "age": g.integers(0, 100, rows),
            "sex": g.choice(["f", "m"], rows),
            "town": g.choice(["a1", "a2", "b1", "b2"], rows),
            "born": pa.array(born, type=pa.date32()),
            "seen": pa.array(seen, type=pa.timestamp("us"), mask=g.random(rows) < 0.2),
            "left": pa.array(seen + (60 * g.geometric(0.02, rows)).astype("timedelta64[s]"), type=pa.timestamp("us")),
            "score": pa.array(np.round(g.normal(size=rows), 2), mask=g.random(rows) < 0.1),
            "member": g.random(rows) < 0.4,
        }
    )


@pytest.mark.slow
@settings(max_examples=int(os.environ.get("KERNELEASE_SCHEMAS", "5")), derandomize=True)
@given(text=schemas(), rows=st.sampled_from([3, 60, 900]), epsilon=st.sampled_from([0.3, 2.0, 20.0]))
def test_what_is_charged_for_is_delivered(text: str, rows: int, epsilon: float) -> None:
    try:
        schema = ke.Schema.parse(text)
    except SchemaError:  # refused before anything is charged
        reject()
    made = ke.release(
        _table(rows), schema=schema, privacy=ke.Privacy(epsilon=epsilon, delta=1e-6), noise=ke.SeededNoise(rows)
    )
    assert made.to_pandas(weights=False).columns.tolist() == list(schema.order)
    with TemporaryDirectory() as folder:
        path = made.save(Path(folder) / "bundle")
        wrong = [found for found in ke.verify(path, refit=True) if not found.holds and found.check != "noise"]
    assert not wrong, wrong
    assert len(made.describe()) == len(schema.columns)
    assert made.answers() is not None
