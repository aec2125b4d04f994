"""Promised analyses: what they need is measured in every release, and everybody can see why."""

import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.bundle.verify import verify
from kernelease.errors import ParameterError, SchemaError
from kernelease.methods.retracing import retraced
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
    again, spent = retraced(made.method, made.measured, **options)
    assert [part.block.columns for part in again.blocks] == [part.block.columns for part in made.measured.blocks]
    assert spent.delta(1.0) <= 1e-6
    with pytest.raises(ParameterError):
        retraced(replace(made.method, analyses=()), made.measured, **options)


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


def test_a_plan_says_how_far_off_they_are():
    plan = ke.plan(Schema.parse(SCHEMA), privacy=(1.0, 1e-6), rows=3000, analyses=["mean age by site"])
    assert [one.analysis for one in plan.promises] == ["mean age by site", "ill ~ age + arm * period"]
    more = ke.plan(Schema.parse(SCHEMA), privacy=(1.0, 1e-6), rows=30_000, analyses=["mean age by site"])
    assert more.promises[0].half_width < 0.5 * plan.promises[0].half_width
    assert plan.promises[0].rows_for(plan.promises[0].half_width / 2) == 6000
    assert any("ill ~ age" in line for line in plan.advice)
