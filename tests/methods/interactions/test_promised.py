"""Promised analyses: what they need is measured in every release, and everybody can see why."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease import pipeline
from kernelease.answers.promises import GROUP, promised_answers, promised_widths
from kernelease.bundle.verify import verify
from kernelease.errors import ParameterError, SchemaError
from kernelease.methods.retracing import retrace
from kernelease.pipeline import Shape
from kernelease.table.expressions.formulas import Analysis
from kernelease.table.schema import Schema

SCHEMA = """
[table]
name = "trial"
[analyses]
effect = "ill ~ age + arm * period"
[columns.age]
type = "integer"
min = 18
max = 90
[columns.arm]
type = "category"
values = ["drug", "placebo"]
[columns.period]
type = "category"
values = ["before", "after"]
[columns.ill]
type = "boolean"
[columns.site]
type = "category"
values = ["a", "b", "c"]
"""


def trial(rows=3000, seed=0):
    generator = np.random.default_rng(seed)
    age, arm, after = generator.integers(18, 91, rows), generator.random(rows) < 0.5, generator.random(rows) < 0.5
    ill = generator.random(rows) < 0.2 + 0.003 * (age - 18) - 0.2 * (arm & after)
    return pa.table(
        {
            "age": age,
            "arm": np.where(arm, "drug", "placebo"),
            "period": np.where(after, "after", "before"),
            "ill": ill,
            "site": np.array(["a", "b", "c"])[generator.integers(0, 3, rows)],
        }
    )


def released(seed, schema=SCHEMA, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a quick fit of few rows is a rough one
        return ke.release(
            trial(seed=seed),
            schema=Schema.parse(schema),
            privacy=(1.0, 1e-6),
            noise=ke.SeededNoise(seed),
            fast=True,
            rows=500,
            **options,
        )


@pytest.mark.parametrize("seed", range(3))
def test_a_promised_model_is_answered_in_every_release(seed):
    release = released(seed)
    found = release.logistic("ill ~ age + arm * period")
    assert list(found)[-1] == "arm[placebo]:period[after]"
    sets = {part.block.columns for part in release.measurements.measured.blocks}
    assert (0, 1, 2, 3) in sets
    assert list(release.regression("ill ~ age + arm * period")) == list(found)


def test_promises_are_retraced(tmp_path):
    """The bundle verifies; with a promise taken out of the method, the steps are not those that were taken."""
    release = released(1, out=tmp_path / "bundle", analyses=["mean age by site, arm"])
    made = release.measurements
    assert set(made.method.analyses) == {"mean age by site, arm", "ill ~ age + arm * period"}
    checks = verify(tmp_path / "bundle")
    assert checks
    assert [check.detail[:11] for check in checks if not check.holds] == ["NOT PRIVATE"]  # seeded noise, and no more
    stated = made.certificate
    privacy = ke.Privacy(epsilon=stated.epsilon, delta=stated.delta, neighbours=stated.neighbours)
    options = {"domain": made.domain, "privacy": privacy, "seed": ke.PublicSeed(stated.seed)}
    again, spent = retrace(made.method, made.measured, **options)
    assert [part.block.columns for part in again.blocks] == [part.block.columns for part in made.measured.blocks]
    assert spent.delta(1.0) <= 1e-6
    with pytest.raises(ParameterError):
        retrace(replace(made.method, analyses=()), made.measured, **options)


def test_schemas_keep_them_and_refuse_what_they_can_not():
    schema = Schema.parse(SCHEMA)
    assert schema.analyses == ("ill ~ age + arm * period",)
    assert Schema.parse(schema.to_toml()) == Schema.from_dict(schema.to_dict()) == schema
    with pytest.raises(SchemaError, match="Did you mean"):
        Schema.parse(SCHEMA.replace("ill ~ age", "ill ~ agee"))
    with pytest.raises(SchemaError, match="at most 4"):
        Schema.parse(SCHEMA.replace("+ arm * period", "* arm + period + site"))
    with pytest.raises(ParameterError, match="can't read"):
        ke.Interactions(analyses=("income per year",))


def test_numbers_may_be_promised():
    """Their grids are looked at in tables of some columns, which know of no analyses."""
    schema = SCHEMA.replace('[columns.age]\ntype = "integer"', '[columns.age]\ntype = "number"')
    measured = ke.measure(trial(), schema=Schema.parse(schema), privacy=(1.0, 1e-6), noise=ke.SeededNoise(0))
    assert (0, 1, 2, 3) in {part.block.columns for part in measured.measured.blocks}


def test_an_analysis_may_say_which_model_it_is():
    assert Analysis.parse("poisson visits ~ age").kind == "poisson"
    assert Analysis.parse("visits ~ age").kind is None
    assert Analysis.parse('"poisson visits" ~ age').columns == ("poisson visits", "age")
    assert Analysis.parse("difference in age by arm, site").columns == ("age", "arm", "site")
    with pytest.raises(ParameterError, match="difference in income by sex"):
        Analysis.parse("difference in age")
    with pytest.raises(ParameterError, match="at most 4"):
        Analysis.parse("logistic ill ~ a + b + c + d")
    with pytest.raises(ParameterError, match="at most 4"):
        Analysis.parse("mean age by a, b, c, d")


def plan_of(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that noise is seeded
        return ke.plan(Schema.parse(SCHEMA), privacy=(1.0, 1e-6), rows=rows, **options)


@pytest.mark.slow
def test_a_plan_says_how_far_off_they_are():
    analyses = ["mean age by site", "difference in age by arm", "share site by arm", "mean age"]
    plan = plan_of(3000, analyses=analyses, like=trial(seed=5))
    assert [one.analysis for one in plan.promises] == [*analyses, "ill ~ age + arm * period"]
    model = plan.promises[-1]
    assert list(model.half_widths) == ["age", "arm[placebo]", "period[after]", "arm[placebo]:period[after]"]
    assert model.rows_for("age", model.half_widths["age"] / 2) == 6000
    assert model.epsilon_for("age", model.half_widths["age"] / 2) == pytest.approx(2.0)
    with pytest.raises(ParameterError, match="and no 'sex'"):
        model.rows_for("sex", 1.0)
    assert any("ill ~ age" in line for line in plan.advice)
    found = promised_answers(released(3), Analysis.parse(model.analysis))
    low, high = found["age"].interval(0.95)
    assert 0.5 < (high - low) / 2 / model.half_widths["age"] < 2.0  # noise and like are seeded: 1.0 within a quarter


@pytest.mark.slow
def test_many_rows_are_rehearsed_as_fewer_with_more_noise(monkeypatch):
    monkeypatch.setattr(pipeline, "REHEARSALS", 2)
    whole = plan_of(6000).promises[0].half_widths
    monkeypatch.setattr(pipeline, "REHEARSED", 2000)
    fewer = plan_of(6000).promises[0].half_widths
    assert all(0.5 < fewer[term] / whole[term] < 2.0 for term in whole)


def test_what_would_be_refused_is_infinite():
    release = released(0)
    assert promised_widths([release], Analysis.parse("mean arm by a, b")) == {GROUP: math.inf}
    assert promised_widths([release], Analysis.parse("poisson site ~ age")) == {"site": math.inf}


def test_plans_need_rows_that_the_rules_allow():
    impossible = Schema.parse(SCHEMA.replace('name = "trial"', 'name = "trial"\nconstraints = ["age > 200"]'))
    with pytest.raises(ParameterError, match="no drawn row keeps"):
        pipeline._of_nobody(impossible, 10, 0, shape=Shape.EVEN)
    with pytest.raises(ParameterError, match="empty"):
        plan_of(3000, like=trial().slice(0, 0))


def test_rows_of_nobody_have_several_shapes():
    """Even; ever rarer; near the middle of what has an order; and even, but for outcomes that are rare."""
    schema = Schema.parse(SCHEMA)
    age, arm, ill = (schema.column(name) for name in ("age", "arm", "ill"))
    rare = pipeline._rare(schema, schema.analyses)
    assert rare == {"ill"}
    assert pipeline._rare(schema, ("age ~ arm", "poisson age ~ arm", "mean ill by arm")) == {"age"}
    assert {shape: shape.shares(ill, rare)[1] for shape in Shape} == pytest.approx(
        {Shape.EVEN: 0.5, Shape.FALLING: 1 / 3, Shape.MIDDLING: 0.5, Shape.RARE: 0.2}
    )
    assert {shape: shape.shares(arm, rare)[1] for shape in (Shape.MIDDLING, Shape.RARE)} == pytest.approx(
        {Shape.MIDDLING: 0.5, Shape.RARE: 0.5}
    )
    places = np.arange(age.size)
    spread = {shape: np.sqrt(np.cov(places, aweights=shape.shares(age, rare))) / age.size for shape in Shape}
    assert spread[Shape.MIDDLING] == pytest.approx(1 / 6, rel=0.05)
    assert spread[Shape.EVEN] == spread[Shape.RARE] == pytest.approx(1 / math.sqrt(12.0), rel=0.05)


def test_a_plan_from_the_schema_alone_is_a_range(monkeypatch):
    """Over rows of several shapes; public rows in their place give one width."""
    monkeypatch.setattr(pipeline, "REHEARSALS", 1)
    model = plan_of(3000, analyses=["mean age by arm"]).promises[0]
    assert list(model.between) == list(model.half_widths) == [GROUP]
    low, high = model.between[GROUP]
    assert low <= model.half_widths[GROUP] <= high
    assert low < high  # noise is seeded
    assert f"a group ± {low:.2g} to {high:.2g} (by how rows are distributed" in model.told
    model = plan_of(3000, analyses=["mean age by arm"], like=trial()).promises[0]
    assert not model.between
    assert f"a group ± {model.half_widths[GROUP]:.2g};" in model.told


@pytest.mark.parametrize("triples", [1, 2])
def test_many_promises_leave_sets_of_three_their_share_where_rows_are_counted(triples: int) -> None:
    """What the number of rows costs was taken twice out of what is not set aside: a set of three had to pay it."""
    names, generator = [f"c{i}" for i in range(8)], np.random.default_rng(0)
    ill = generator.random(2000) < 0.5
    rows = pa.table({name: ill ^ (generator.random(2000) < 0.2) for name in names})
    columns = "".join(f'[columns.{name}]\ntype = "boolean"\n' for name in names)
    method = ke.Interactions(
        solver=ke.fit.MixtureSolver(components=3, steps=5),
        triples=triples,
        analyses=tuple(f"c0 ~ {name}" for name in names[1:7]),
    )
    schema = Schema.parse('[table]\nneighbours = "add-remove"\n' + columns)
    made = ke.measure(rows, schema=schema, privacy=(4.0, 1e-6), method=method, noise=ke.SeededNoise(7))
    assert max(len(one.block.columns) for one in made.measured.blocks) == 3
    spent, total = made.certificate.spent, made.certificate.asked.total(made.certificate.coordinates)
    assert 0.999 < spent.mu_squared / total.mu_squared <= 1.0
