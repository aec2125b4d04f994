"""answers: what a release can and can't answer."""

import pytest

from kernelease.answers.release import load


def test_it_gives_the_library_s_numbers(bundle, run):
    answer = run.json("answers", bundle)
    found = load(bundle).answers()
    assert answer["rows"] == 400
    assert len(answer["answers"]) == 4 + 6
    for item, expected in zip(answer["answers"], found.items, strict=True):
        assert item["columns"] == list(expected.columns)
        assert item["measured"] is expected.is_measured
        assert item["noise"] == expected.noise
        assert item["smallest_group"] == expected.smallest
        if expected.is_measured:
            assert item["smallest_share"] == pytest.approx(expected.smallest / 400)


def test_people_get_a_table_and_what_it_means(bundle, run):
    shown = run("answers", bundle).stdout
    assert "age × hours" in shown
    assert "usable group" in shown
    assert "quarter" not in run("answers", bundle, "--quiet").stdout


def test_the_best_pairs_are_shown_first(bundle, run, monkeypatch):
    monkeypatch.setattr("kernelease.cli.answers_command._PAIRS", 2)
    shown = run("answers", bundle).stdout
    assert "Shares of single columns are known to ±" in shown
    assert "and 4 pairs that show less (--all-pairs lists them)" in shown
    assert shown.count(" × ") == 2
    assert run("answers", bundle, "--all-pairs").stdout.count(" × ") == 6
