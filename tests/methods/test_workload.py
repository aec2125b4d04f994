"""What is expected of a release's stages, and what then happens: the same names, in the same order."""

import itertools

import pytest

import kernelease as ke
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.methods.interactions.rounds import CHOSEN, DRAWING, FITTING, READING, ROUGHLY, TOGETHER, Workload
from kernelease.noises import SeededNoise
from kernelease.privacy import Neighbours, Privacy
from kernelease.table import Schema
from tests.cli.conftest import SCHEMA, people

METHOD = ke.Interactions(solver=MixtureSolver(components=20, steps=5))


class Heard:
    """A progress that remembers."""

    def __init__(self):
        self.expected, self.stages, self.steps = [], [], 0

    def expect(self, stages):
        self.expected.append(dict(stages))

    def stage(self, name, steps=None):
        self.stages.append(name)

    def step(self):
        self.steps += 1


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_release_names_each_stage_once_and_says_before_what_is_ahead(neighbours):
    schema = Schema.parse(SCHEMA.replace("replace-one", neighbours.value))
    heard, privacy = Heard(), Privacy(epsilon=5.0, delta=1e-6)
    ke.release(people(2000), schema=schema, privacy=privacy, method=METHOD, noise=SeededNoise(0), progress=heard)
    named = [name for name, _ in itertools.groupby(heard.stages)]
    assert named == [READING, TOGETHER, ROUGHLY, CHOSEN, FITTING, DRAWING]
    before, after = heard.expected
    assert list(before) == named[1:]
    assert list(after) == named[4:]
    assert heard.steps == 15


def test_more_to_do_takes_longer():
    solver = MixtureSolver()
    few, many = (Workload(rows=rows, columns=9, blocks=(), signal=100.0, solver=solver) for rows in (1e3, 1e6))
    assert all(few.seconds()[stage] < many.seconds()[stage] for stage in (READING, DRAWING))
    assert few.seconds()[FITTING] == many.seconds()[FITTING]
    assert list(few.seconds()) == [READING, FITTING, DRAWING]
