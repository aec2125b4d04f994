"""What a notebook shows: small, escaped, and the same numbers as in text."""

import pytest

import kernelease as ke
from kernelease import html
from tests.cli.conftest import SCHEMA, people

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    ledger = ke.LedgerFile.create(tmp_path_factory.mktemp("b") / "l", cap=ke.Privacy(epsilon=3.0, delta=1e-6))
    schema = ke.Schema.parse(SCHEMA.replace('"male"', f'"{HOSTILE}"').replace("people", HOSTILE, 1))
    return schema, ke.release(people(), schema=schema, privacy=(2.0, 1e-6), ledger=ledger), ledger


def views(made):
    schema, release, ledger = made
    memory = ke.MemoryLedger(ke.Privacy(epsilon=1.0, delta=0.0))
    plan = ke.plan(schema, privacy=(1.0, 1e-6), rows=400)
    return {
        "schema": schema._repr_html_(),
        "release": release._repr_html_(),
        "certificate": release.certificate._repr_html_(),
        "estimate": release.mean("age")._repr_html_(),
        "plan": plan._repr_html_(),
        "ledger": ledger._repr_html_(),
        "memory": memory._repr_html_(),
    }


def test_views_are_small_and_escaped(made):
    for name, text in views(made).items():
        assert "<script" not in text, name
        assert 20 < len(text) < 10_000, name


def test_views_say_what_matters(made):
    shown = views(made)
    assert "differentially private with epsilon 2 and delta 1e-06" in shown["release"]
    assert "400 of 4 columns" in shown["release"]
    assert "Not promised" in shown["certificate"]
    assert "left: one release of epsilon up to" in shown["ledger"]
    assert "<td" in shown["ledger"].split("purpose")[1]
    assert "answers shares of one column" in shown["plan"]
    assert "age" in shown["schema"]


def test_long_tables_are_cut():
    assert "and 5 more" in html.grid(("a",), [(i,) for i in range(35)])
    assert "more" not in html.grid(("a",), [(i,) for i in range(30)])
