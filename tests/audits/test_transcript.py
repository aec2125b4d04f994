"""Transcripts: the likelihood ratio of all that a run lets through, and runs that give themselves away."""

import math
from typing import Any

import numpy as np
import pytest

from audits.attacker import normal_mu_bound
from audits.mechanisms import COUNT, open_budget, promise
from audits.transcript import Event, log_ratios, record, replay
from audits.twins import BulkNoise
from kernelease.privacy import NoiseSource
from kernelease.privacy.mechanisms import measure, select

GAUSSIAN, PURE = promise(5.0, 1e-6), promise(2.0)


def counted(table: Any, noise: NoiseSource) -> object:
    """One noisy vector."""
    exact = np.array(table, dtype=object)
    return measure(exact, COUNT, budget=open_budget(GAUSSIAN, 8), share=1.0, noise=noise, label="a test")


def adaptive(table: Any, noise: NoiseSource) -> object:
    """Two noisy counts; the second is of the place that the first sum's sign points to."""
    budget = open_budget(GAUSSIAN, 8)
    first = measure(np.array([sum(table)], dtype=object), COUNT, budget=budget, share=0.5, noise=noise, label="first")
    place = int(first.values[0] > 0)
    return measure(np.array([table[place]], dtype=object), COUNT, budget=budget, share=0.5, noise=noise, label="second")


def chosen(table: Any, noise: NoiseSource) -> object:
    return select(list(table), 1, budget=open_budget(PURE, 1), share=1.0, noise=noise, label="a test")


def test_a_gaussian_ratio_is_that_of_two_normal_laws() -> None:
    (event,) = record(counted, [3, 0], BulkNoise())
    (other,) = replay(counted, [3, 1], BulkNoise(), [event])
    assert (other.output == event.output).all()
    noise, shift = float(event.output[1] - event.exact[1]), float(other.exact[1] - event.exact[1])
    expected = (2 * noise * shift - shift**2) / (2 * event.scale**2)
    assert other.log_likelihood - event.log_likelihood == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_choice_has_the_ratio_of_two_softmaxes() -> None:
    scores = np.array([1, 0, 0], dtype=object)
    event = Event("noisy_max", 2.0, scores, np.array([0], dtype=object))
    assert event.log_likelihood == pytest.approx(0.5 - math.log(math.exp(0.5) + 2))
    a, b = log_ratios(chosen, ([1, 0], [0, 1]), BulkNoise(), 50)
    assert set(np.abs(np.concatenate([a, b])).round(6)) == {round(1.0, 6)}  # ε/2, up or down


def test_laplace_laws_are_normalised() -> None:
    outputs = np.arange(-200, 201)
    total = sum(
        math.exp(Event("laplace", 3.0, np.array([0], dtype=object), np.array([k], dtype=object)).log_likelihood)
        for k in outputs.tolist()
    )
    assert total == pytest.approx(1.0)


@pytest.mark.slow
def test_an_adaptive_run_is_followed_or_refused() -> None:
    tables = ([0, 0], [0, 1])
    a, b = log_ratios(adaptive, tables, BulkNoise(), 200, adaptive=True)
    assert b.mean() > a.mean()
    with pytest.raises(ValueError, match="adaptive"):
        log_ratios(adaptive, ([0, 1], [0, 2]), BulkNoise(), 200)


def test_a_run_that_asks_for_other_numbers_gives_itself_away() -> None:
    a, b = log_ratios(counted, ([1], [1, 1]), BulkNoise(), 5)
    assert (a == -math.inf).all()
    assert (b == math.inf).all()
    assert normal_mu_bound(a, b) == math.inf


def test_noise_around_numbers_that_no_door_has_seen_is_an_error() -> None:
    with pytest.raises(AssertionError, match="did not shift"):
        record(lambda table, noise: noise.gaussian(2.0**35, 3), None, BulkNoise())
