"""The benchmark of intervals: what it takes for true, how it goes on, and what it counts."""

import math

import numpy as np
import pytest

from benchmarks import inference
from benchmarks.households import SCHEMA, households
from benchmarks.inference import Tally, answer, answered, cell, read, report, run
from benchmarks.questions import HOUSEHOLDS, arrays

ANSWERS = [[1.0, 0.0, 2.0, 0.5, False], [1.0, 0.0, 2.0, 2.5, False], [0.0, -math.inf, math.inf, 0.0, True]]


def test_the_law_has_what_makes_intervals_hard():
    table = arrays(households(20_000, np.random.default_rng(0)))
    assert (table["cost"] == 0.0).mean() > 0.7
    assert np.nanmean(table["wage"]) > 1.15 * np.nanmedian(table["wage"])
    assert [np.isnan(table["wage"]).any(), (table["job"] == "").any()] == [True, True]
    assert [column.size for column in SCHEMA if column.tag == "category"] == [2, 5, 21]


@pytest.mark.slow
def test_what_is_taken_for_true_is_what_a_release_with_little_noise_says(monkeypatch, tmp_path):
    """Within three times half the 95 % interval: an estimate of what is asked is beyond that once in 10⁸ times."""
    few = arrays(households(2_000, np.random.default_rng(1)))
    law = {question.words: question.truth(few) for question in HOUSEHOLDS}
    monkeypatch.setattr(inference, "law", lambda name: law)
    line = answer(("households", 2_000, 500.0, 0), list(law), tmp_path)
    for words, answers in line["table"].items():
        for value, low, high, truth, *_ in answers:
            assert abs(value - truth) <= 1.5 * (high - low), words
    assert set(line["table"]) == set(law)


def test_coverage_and_width_are_of_answers_that_say_something():
    tally = Tally(ANSWERS)
    assert tally.held.tolist() == [True, False, True]
    errors = math.sqrt((0.5**2 + 1.5**2) / 2.0)
    assert math.isnan(tally.width)  # of two answers nothing is known
    assert Tally(ANSWERS[:2] * 3).width == pytest.approx(1.0 / (1.96 * errors))
    assert cell([Tally(ANSWERS[:2] * 3)]).startswith("50.0 ± 20.4 / 0.46")
    assert cell([tally]).endswith("(33%)")


def test_a_run_goes_on_where_it_ended(tmp_path, monkeypatch):
    results, asked = tmp_path / "lines.jsonl", tmp_path / "asked"
    monkeypatch.setattr(inference, "law", lambda name: {})
    monkeypatch.setattr(inference, "answer", lambda unit, words, folder, targets: _line(unit, words, asked))
    units = [("households", 5_000, 1.0, repeat) for repeat in range(3)]
    run(units[:2], results, 1)
    whole = results.read_text(encoding="utf-8")
    results.write_text(whole + '{"unit": ["house', encoding="utf-8")  # killed while it wrote
    run(units, results, 1, seconds=0.0)
    assert asked.read_text().split() == ["0", "1"]  # there was no time to begin another
    run(units, results, 1)
    assert asked.read_text().split() == ["0", "1", "2"]
    done = answered(read(results))
    assert sorted(unit[3] for unit in done) == [0, 1, 2]
    text = report(done)
    assert "| releases | 3 |" in text
    assert "| mean | 100.0 ± 0.0 / - |" in text  # of three answers no length is told


def _line(unit, words, asked):
    with asked.open("a") as file:
        file.write(f"{unit[3]}\n")
    every = {one: [[1.0, 0.0, 2.0, 1.0, False, 0.0]] for one in words}
    return {"unit": list(unit), "table": every, "population": every}
