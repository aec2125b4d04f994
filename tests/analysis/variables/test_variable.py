"""Random variables: joint within a release, independent between releases, reduced at a known cost."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.analysis.variables import LARGEST_PRODUCT, Origin, RandomVariable
from kernelease.errors import UncertaintyWarning

GENERATOR = np.random.default_rng(0)
HEIGHT, WEIGHT = GENERATOR.normal(1.7, 0.1, 40), GENERATOR.normal(70.0, 10.0, 30)
MASS = WEIGHT * 0.5 + GENERATOR.normal(0.0, 1.0, 30)
SHARES = GENERATOR.dirichlet(np.ones(40))
PEOPLE, THINGS = Origin(SHARES, name="people"), Origin(np.full(30, 1 / 30), name="things")
X = RandomVariable.of(HEIGHT, PEOPLE)
Y, Z = RandomVariable.of(WEIGHT, THINGS), RandomVariable.of(MASS, THINGS)


def large(seed: int, rows: int = 3_000) -> tuple[RandomVariable, np.ndarray]:
    values = np.random.default_rng(seed).gamma(4.0, 1.0, rows)
    return RandomVariable.of(values, Origin(np.full(rows, 1 / rows), name=f"release {seed}")), values


def test_one_release_is_joint():
    assert (Y - 2.0 * Z).variance() == pytest.approx(np.var(WEIGHT - 2.0 * MASS))
    assert (X - X).variance() == pytest.approx(0.0, abs=1e-20)


def test_two_releases_are_independent():
    grid = WEIGHT[None, :] / HEIGHT[:, None] ** 2
    assert (Y / X**2).mean() == pytest.approx(SHARES @ grid.mean(axis=1))
    assert (Y / X**2 > 25.0).probability() == pytest.approx(SHARES @ (grid > 25.0).mean(axis=1))


def test_dependence_through_a_shared_variable_is_kept():
    grid = HEIGHT[:, None] * WEIGHT[None, :] - HEIGHT[:, None] * 70.0
    direct = SHARES @ (grid**2).mean(axis=1) - (SHARES @ grid.mean(axis=1)) ** 2
    assert (X * Y - 70.0 * X).variance() == pytest.approx(direct)


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        (X + 1, HEIGHT + 1),
        (1 - X, 1 - HEIGHT),
        (2 / X, 2 / HEIGHT),
        (2**X, 2**HEIGHT),
        (-X, -HEIGHT),
        (abs(X - 1.7), abs(HEIGHT - 1.7)),
        (np.log1p(X), np.log1p(HEIGHT)),
        (np.maximum(X, 1.7), np.maximum(HEIGHT, 1.7)),
        (np.multiply(3.0, X), 3.0 * HEIGHT),
        (RandomVariable.joint(lambda x: np.sort(x, axis=None).reshape(x.shape) * 0 + x, X), HEIGHT),
        ((X > 1.7) & ~(X >= 1.8), (HEIGHT > 1.7) & ~(HEIGHT >= 1.8)),
        ((X < 1.6) | (X <= 1.5), (HEIGHT < 1.6) | (HEIGHT <= 1.5)),
    ],
)
def test_operators(variable, values):
    assert variable.mean() == pytest.approx(SHARES @ values)


def test_text_and_truth():
    ward = RandomVariable.of(np.array(["a", "b", None, "a"], dtype=object), Origin(np.array([0.1, 0.2, 0.3, 0.4])))
    assert (ward == "a").probability() == pytest.approx(0.5)
    assert (ward != "a").probability() == pytest.approx(0.5)
    assert ward.probability(lambda values: values == "b") == pytest.approx(0.2)
    assert set(ward.sample(10)) <= {"a", "b", None}
    with pytest.raises(ke.errors.ParameterError, match="not numbers"):
        ward.mean()
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(ward == "a")


def test_several_columns_at_once():
    both = RandomVariable.of(np.column_stack([WEIGHT, MASS]), THINGS)
    assert both.mean() == pytest.approx([WEIGHT.mean(), MASS.mean()])


def test_conditioning():
    tall = Y.given(Z > 35.0)
    assert tall.mean() == pytest.approx(WEIGHT[MASS > 35.0].mean())
    with pytest.raises(ke.errors.ParameterError, match="same rows"):
        Y.given(X > 1.0)
    with pytest.raises(ke.errors.ParameterError, match="true of some weight"):
        Y.given(Z > 1e9)
    with pytest.raises(ke.errors.ParameterError, match="depend on each other"):
        _ = tall + Z


def test_values_that_are_missing():
    broken = RandomVariable.of(np.array([1.0, np.nan, 3.0, 0.0]), Origin(np.full(4, 0.25)))
    with pytest.raises(ke.errors.ParameterError, match=r"25.00% of the weight has no finite value"):
        broken.mean()
    with pytest.raises(ke.errors.ParameterError, match="no finite value"):
        (1.0 / broken).reduced(2)
    assert broken.given(np.isfinite(broken)).mean() == pytest.approx(4.0 / 3.0)


@pytest.mark.slow
def test_too_many_combinations_are_reduced_at_a_known_cost():
    (x, first), (y, second) = large(1), large(2)
    product = x * y
    assert product.size > LARGEST_PRODUCT
    values, weights = product.points()
    assert len(values) <= LARGEST_PRODUCT
    assert weights.sum() == pytest.approx(1.0)
    assert len(product.reductions) == 2
    assert all(reduction.error < 0.2 * reduction.independent for reduction in product.reductions)
    assert product.mean() == pytest.approx(first.mean() * second.mean(), rel=2e-3)
    assert (product + x).mean() == pytest.approx(first.mean() * second.mean() + first.mean(), rel=2e-3)
    assert product.error == sum(reduction.error for reduction in product.reductions) > 0.0
    assert "RKHS error" in repr(product)


@pytest.mark.slow
def test_a_sum_of_many_variables():
    variables = [large(seed, 200) for seed in range(6)]
    total = variables[0][0]
    for variable, _ in variables[1:]:
        total = total + variable
    assert total.mean() == pytest.approx(sum(values.mean() for _, values in variables), rel=2e-3)
    assert total.variance() == pytest.approx(sum(values.var() for _, values in variables), rel=2e-2)
    with pytest.raises(ke.errors.ParameterError, match="has lost its rows"):
        _ = total + variables[0][0]
    assert (total + variables[0][0].independent_copy()).mean() > total.mean()


@pytest.mark.statistical
def test_reduced():
    """Ten rows of forty are nearer than ten that are drawn: half as far, of 30 variables as good as always."""
    few = X.reduced(10)
    assert few.size <= 10
    assert few.reductions[0].before == 40
    errors = []
    for seed in range(30):
        variable, values = large(seed, 40)
        errors.append((variable.reduced(10).mean() - values.mean()) / (values.std() / np.sqrt(10)))
    assert np.sqrt(np.mean(np.square(errors))) < 0.75
    assert X.reduced(100).reductions == ()
    with pytest.raises(ke.errors.ParameterError, match="at least 1"):
        X.reduced(0)


def test_signed_weights():
    weights = np.array([0.8, 0.5, -0.3] * 20)
    signed = RandomVariable.of(np.arange(60.0), Origin(weights))
    assert signed.mean() == pytest.approx(weights @ np.arange(60.0) / weights.sum())
    assert signed.reduced(30).mean() == pytest.approx(signed.mean(), abs=6.0)


def test_embeddings():
    kernel = ke.kernels.Gaussian(lengthscale=0.1)
    embedded = X.embedding(kernel)
    direct = np.exp(-0.5 * ((1.7 - HEIGHT) / 0.1) ** 2) @ SHARES
    assert embedded.at([[1.7]]) == pytest.approx([direct])
    assert embedded.distance(X.embedding(kernel)) == pytest.approx(0.0, abs=1e-7)
    assert embedded.distance((X + 0.2).embedding(kernel)) > 0.5
    assert large(1)[0].embedding(count=200).reductions[0].after <= 200


def test_samples_keep_the_distribution():
    values = X.sample(4_000)
    assert values.shape == (4_000,)
    assert values.mean() == pytest.approx(X.mean(), abs=2e-3)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RandomVariable.of(np.zeros(3), PEOPLE), "needs 40 values"),
        (lambda: RandomVariable.joint(np.add), "at least one variable"),
        (X.probability, "true or false"),
        (lambda: X.probability(lambda x: x), "true or false"),
    ],
)
def test_refuses(ask, message):
    with pytest.raises(ke.errors.ParameterError, match=message):
        ask()


def test_unknown_ufunc_methods_are_refused():
    with pytest.raises(TypeError):
        np.add.reduce(X)


def test_numbers_of_released_rows_warn_that_they_have_no_interval():
    origin = Origin(np.full(4, 0.25), released=True)
    released = RandomVariable.of(np.arange(4.0), origin)
    for one in (released, released.independent_copy(), released.reduced(2), released.given(released > 0.5)):
        with pytest.warns(UncertaintyWarning, match="release.mean"):
            one.mean()
    with pytest.warns(UncertaintyWarning):
        (released > 1.0).probability()


@pytest.mark.slow
def test_a_copy_of_many_rows_can_be_subtracted():
    many = RandomVariable.of(np.random.default_rng(0).exponential(size=30_000), Origin(np.full(30_000, 1 / 30_000)))
    assert abs(many - many.independent_copy()).mean() == pytest.approx(1.0, rel=0.1)
