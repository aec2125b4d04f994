"""That other linear algebra is as valid as the machine's own, and that it and other seeds find what hangs on them."""

import random
import subprocess

import numpy as np
import pytest
import scipy.linalg

from kernelease import PublicSeed
from kernelease.noises import SeededNoise
from tests.anywhere import SETTINGS, Shift, main, other_linear_algebra, other_seeds

RNG = np.random.default_rng(0)
TALL = RNG.standard_normal((7, 4))
REPEATED = np.linalg.qr(RNG.standard_normal((6, 6)))[0]  # eigenvalues 1, 1, 1, 4, 4, 9 below
DEGENERATE = (REPEATED * [1.0, 1.0, 1.0, 4.0, 4.0, 9.0]) @ REPEATED.T


@pytest.mark.parametrize("module", [np.linalg, scipy.linalg])
@pytest.mark.parametrize("matrix", [DEGENERATE, np.eye(5), np.zeros((3, 3)), TALL @ TALL.T, np.ones((1, 1))])
def test_eigenvectors_stay_eigenvectors(module, matrix):
    with other_linear_algebra():
        values, vectors = module.eigh(matrix)
    assert vectors.T @ vectors == pytest.approx(np.eye(len(matrix)), abs=1e-12)
    assert (vectors * values) @ vectors.T == pytest.approx(matrix, abs=1e-12 * max(1.0, np.abs(matrix).max()))


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("module", [np.linalg, scipy.linalg])
@pytest.mark.parametrize("matrix", [TALL, TALL.T, DEGENERATE, np.eye(5)[:, :3], np.zeros((2, 4))])
def test_singular_vectors_stay_singular_vectors(module, matrix, full):
    with other_linear_algebra():
        left, values, right = module.svd(matrix, full_matrices=full)
    count = len(values)
    assert left.T @ left == pytest.approx(np.eye(left.shape[1]), abs=1e-12)
    assert right @ right.T == pytest.approx(np.eye(len(right)), abs=1e-12)
    assert (left[:, :count] * values) @ right[:count] == pytest.approx(matrix, abs=1e-12)


@pytest.mark.parametrize("module", [np.linalg, scipy.linalg])
@pytest.mark.parametrize("matrix", [TALL, TALL.T, DEGENERATE])
def test_a_triangular_factor_stays_one(module, matrix):
    with other_linear_algebra():
        q, r = module.qr(matrix)
    assert q @ r == pytest.approx(matrix, abs=1e-12)
    assert q.T @ q == pytest.approx(np.eye(q.shape[1]), abs=1e-12)
    assert np.array_equal(r, np.triu(r))


def test_matrices_in_a_stack_and_results_without_vectors():
    stack = np.stack([DEGENERATE, np.eye(6)])
    with other_linear_algebra():
        found = np.linalg.eigh(stack)
        left, values, right = np.linalg.svd(stack)
        q, r = np.linalg.qr(stack)
        alone = np.linalg.svd(stack, compute_uv=False), scipy.linalg.eigh(DEGENERATE, eigvals_only=True)
    rebuilt = (found.eigenvectors * found.eigenvalues[:, None]) @ found.eigenvectors.transpose(0, 2, 1)
    assert rebuilt == pytest.approx(stack, abs=1e-12)
    assert (left * values[:, None]) @ right == pytest.approx(stack, abs=1e-12)
    assert q @ r == pytest.approx(stack, abs=1e-12)
    assert alone[0] == pytest.approx(values)
    assert alone[1] == pytest.approx(found.eigenvalues[0])


@pytest.mark.parametrize(
    ("leans", "differs"),
    [
        (lambda matrix: np.linalg.eigh(matrix)[1][0, -1], True),  # a sign
        (lambda matrix: np.linalg.eigh(matrix)[1][0, 0] ** 2, True),  # a basis of equal eigenvalues
        (lambda matrix: scipy.linalg.svd(matrix)[0][0, -1] ** 2, True),
        (lambda matrix: np.linalg.qr(matrix)[1][0, 0], True),
        (lambda matrix: (np.linalg.eigh(matrix)[1][:, :3] ** 2).sum(axis=1)[0], False),  # an eigenspace is what it is
        (lambda matrix: np.linalg.eigh(matrix)[1][0, -1] ** 2, False),  # and so is an axis
    ],
)
def test_what_leans_on_a_choice_is_caught(leans, differs):
    matrices = [DEGENERATE * scale for scale in np.linspace(1.0, 2.0, 20)]
    machine = [leans(matrix) for matrix in matrices]
    with other_linear_algebra():
        other, again = ([leans(matrix) for matrix in matrices] for _ in range(2))
    assert other == again  # one machine gives one answer
    assert (other != pytest.approx(machine, abs=1e-9)) is differs


def draws() -> list[float]:
    return [
        float(np.random.default_rng(3).random()),
        float(np.random.default_rng([1, 2]).random()),
        float(np.random.default_rng(np.random.SeedSequence(4)).random()),
        float(PublicSeed(5).generator("frequencies").random()),
        float(SeededNoise(6).gaussian(1e9, 1)[0]),
        random.Random(7).random(),
    ]


@pytest.mark.golden
def test_every_kind_of_seed_is_shifted_and_zero_shifts_none():
    written = draws()
    shifted = {}
    for amount in range(4):
        with other_seeds(Shift(amount)):
            shifted[amount] = draws()
            assert shifted[amount] == draws()
    assert shifted[0] == draws() == written
    assert all(len({shifted[amount][kind] for amount in range(4)}) == 4 for kind in range(len(written)))


@pytest.mark.golden
def test_a_suspended_shift_leaves_seeds_as_written():
    written, shift = draws(), Shift(1)
    with other_seeds(shift):
        with shift.suspended():
            assert draws() == written
        assert draws() != written


@pytest.mark.golden
def test_generators_pass_and_no_seed_stays_none():
    generator = np.random.default_rng(0)
    with other_seeds(Shift(1)):
        assert np.random.default_rng(generator) is generator
        assert np.random.default_rng().random() != np.random.default_rng().random()
        assert random.Random().random() != random.Random().random()


@pytest.mark.golden
def test_a_lucky_draw_is_caught():
    """Broken twin: a bound of one standard deviation, which the seed as written happens to keep."""
    lucky = [abs(float(np.random.default_rng(0).standard_normal())) < 1.0]
    for amount in range(1, 6):
        with other_seeds(Shift(amount)):
            lucky.append(abs(float(np.random.default_rng(0).standard_normal())) < 1.0)
    assert lucky[0]
    assert not all(lucky)


@pytest.mark.golden
def test_a_golden_test_sees_its_seed_as_written():
    """Under any --seed-shift."""
    assert np.random.default_rng(0).random() == np.random.Generator(np.random.PCG64(0)).random()


def test_every_setting_is_run_and_those_that_fail_are_named(monkeypatch, capsys):
    ran = []

    def run(command, *, env, check):
        ran.append((command[3:], env))
        return subprocess.CompletedProcess(
            command, int("--adversarial" in command or env.get("OPENBLAS_CORETYPE") == "Zen")
        )

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["-x"]) == 2
    assert "12 settings; tests failed under: Zen, other linear algebra" in capsys.readouterr().out
    assert len(ran) == len(SETTINGS) == 12
    assert all(options[-1] == "-x" and env["OPENBLAS_NUM_THREADS"] in ("1", "8") for options, env in ran)
    assert [options[0] for options, _ in ran[-5:]] == [f"--seed-shift={n}" for n in range(1, 6)]
