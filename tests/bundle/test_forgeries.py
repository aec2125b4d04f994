"""Forgeries by name. Sums always fit, and the forger writes every document to match: what is left betrays them."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import kernelease as ke
from kernelease.answers.release import contents_of
from kernelease.bundle.saving import documents
from kernelease.bundle.verify import ON_TRUST
from kernelease.certificate import Measurements
from kernelease.exact.persons import UnitCap
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.measured import NoisyBlock, NoisyBlocks, NoisyEmbeddings
from kernelease.measured.blocks import estimated_rows
from kernelease.seeds import PublicSeed
from tests.bundle.every_bundle import SteadyNoise, honest, patients, vectors
from tests.bundle.forging import failures, forged, written

ADD, REPLACE = ke.Neighbours.ADD_REMOVE, ke.Neighbours.REPLACE_ONE


def blocks_of(release: ke.Release) -> NoisyBlocks:
    assert isinstance(release.measurements.measured, NoisyBlocks)
    return release.measurements.measured


def with_blocks(release: ke.Release, change: Callable[[NoisyBlock], NoisyBlock], **others: Any) -> NoisyBlocks:
    noisy = blocks_of(release)
    return dataclasses.replace(noisy, blocks=tuple(map(change, noisy.blocks)), **others)


def with_step(block: NoisyBlock, **changes: Any) -> NoisyBlock:
    measurement = block.measurement
    step = dataclasses.replace(measurement.step, **changes)
    return dataclasses.replace(block, measurement=dataclasses.replace(measurement, step=step))


# ------------------------------------------------------------------------------------------------------- the guarantee


def test_add_remove_noise_certified_as_replace_one() -> None:
    """The noise is too small by √2: no sensitivity can be stated that is both large enough and paid for."""
    release = honest("one column under add-remove")  # several columns have no counts of their own
    names = {"schema": {"neighbours": "replace-one"}, "neighbours": REPLACE}
    rows = float(round(blocks_of(release).rows))
    measured = dataclasses.replace(blocks_of(release), neighbours=REPLACE, rows=rows)
    assert "is the least" in failures(written(forged(release, measured=measured, rows=rows, **names)))["measurements"]

    wider = with_blocks(
        release,
        lambda block: with_step(block, sensitivity=block.measurement.step.sensitivity * np.sqrt(2.0)),
        neighbours=REPLACE,
        rows=rows,
    )
    found = failures(written(forged(release, measured=wider, rows=rows, steps=wider.steps, **names)))
    assert "guarantee" in found
    assert "another share" in found["measurements"]


def test_columns_without_their_mean_certified_as_replace_one() -> None:
    release = honest("counts under add-remove")
    names = {"schema": {"neighbours": "replace-one"}, "neighbours": REPLACE}
    rows = float(round(blocks_of(release).rows))
    measured = dataclasses.replace(blocks_of(release), neighbours=REPLACE, rows=rows)
    found = failures(written(forged(release, measured=measured, rows=rows, **names)))
    assert "which was not measured apart" in found["content"]


def test_replace_one_noise_certified_as_add_remove() -> None:
    """Its noise is large enough. But cells were planned with the exact number of rows, and the sensitivity shows it."""
    release = honest("counts")
    noisy = blocks_of(release)
    names = {"schema": {"neighbours": "add-remove"}, "neighbours": ADD}
    exact = dataclasses.replace(noisy, neighbours=ADD)
    assert "number of rows" in failures(written(forged(release, measured=exact, **names)))["content"]

    rows = estimated_rows(noisy.blocks)
    estimated = dataclasses.replace(exact, rows=rows)
    found = failures(written(forged(release, measured=estimated, rows=rows, **names)), refit=True)
    assert "another relation" in found["measurements"]
    assert "not taken again" in found["steps"]


def test_add_remove_vectors_certified_as_replace_one() -> None:
    """The noisy count would be one number too many."""
    release = honest("random features under add-remove")
    assert isinstance(release.measurements.measured, NoisyEmbeddings)
    (stage,) = release.measurements.measured.stages
    measured = dataclasses.replace(
        release.measurements.measured, stages=(dataclasses.replace(stage, neighbours=REPLACE),)
    )
    assert "content" in failures(written(forged(release, measured=measured, neighbours=REPLACE)))


def test_row_noise_certified_for_persons() -> None:
    release = honest("counts")
    words = "each person (up to 1000 rows)"
    assert "unit of protection" in failures(written(forged(release, unit=words)))["agreement"]

    declared = {"unit": "who", "max_rows_per_unit": 16}
    consistent = {"schema": declared, "unit": "each person (up to 16 rows of one who)"}
    assert "another unit" in failures(written(forged(release, **consistent)))["measurements"]

    assert release.schema is not None
    total = UnitCap.of(dataclasses.replace(release.schema, **declared)).total
    measured = with_blocks(release, lambda block: dataclasses.replace(block, unit=total))
    assert failures(written(forged(release, measured=measured, **consistent)))


def test_a_unit_of_two_beside_sixteen_rows() -> None:
    release = honest("counts of persons")
    consistent = {"schema": {"max_rows_per_unit": 16}, "unit": "each person (up to 16 rows of one who)"}
    assert "another unit" in failures(written(forged(release, **consistent)))["measurements"]


def test_another_cap_than_was_measured() -> None:
    release = honest("counts of persons under add-remove")
    consistent = {"schema": {"max_rows_per_unit": 1}, "unit": "each person (up to 1 rows of one who)"}
    assert failures(written(forged(release, **consistent)))


@pytest.mark.parametrize("name", ["counts", "two stages", "small database"])
def test_seeded_noise_with_a_private_certificate(name: str) -> None:
    """Here the honest noise is marked as seeded: the two documents then disagree, whichever of them lies."""
    release = honest(name)
    assert "noise" in failures(written(forged(release, private=False)))
    rest = json.loads(written(release)["measurements.json"])
    text = json.dumps(rest, separators=(",", ":")).replace('"private":true', '"private":false', 1)
    assert "do not agree" in failures({**written(release), "measurements.json": f"{text}\n".encode()})["noise"]


def test_less_noise_than_stated() -> None:
    release = honest("counts")
    measured = with_blocks(release, lambda block: with_step(block, scale=block.measurement.step.scale / 2))
    assert "measurements" in failures(written(forged(release, measured=measured)))
    assert "guarantee" in failures(written(forged(release, measured=measured, steps=measured.steps)))


def test_a_smaller_epsilon_than_was_spent() -> None:
    release = honest("subspace")
    promised = ke.Privacy(epsilon=0.5, delta=1e-6).total(release.certificate.coordinates)
    assert "guarantee" in failures(written(forged(release, epsilon=0.5, mu=promised.mu)))


def test_another_loss_on_the_books_than_was_charged() -> None:
    release = honest("subspace")
    entry = release.certificate.entry
    for change in ({"tau": 2.0 * entry.spent.tau}, {"delta_zero": 1e-9}, {"mu_squared": 2.0 * entry.spent.mu_squared}):
        other = dataclasses.replace(entry, spent=dataclasses.replace(entry.spent, **change))
        assert failures(written(forged(release, entry=other)), refit=True)


def test_a_larger_epsilon_than_was_spent() -> None:
    """It promises less than holds. Still it is not what was measured: the noise would have been smaller."""
    release = honest("subspace")
    promised = ke.Privacy(epsilon=9.0, delta=1e-6).total(release.certificate.coordinates)
    assert "steps" in failures(written(forged(release, epsilon=9.0, mu=promised.mu)), refit=True)


@pytest.mark.parametrize("name", ["counts", "counts with rules, pure", "small database"])
def test_an_epsilon_beyond_all_arithmetic(name: str) -> None:
    """It is refused in words, and ends nothing."""
    files = written(honest(name))
    certificate = {**json.loads(files["certificate.json"]), "epsilon": 1.7e308}
    assert "content" in failures({**files, "certificate.json": json.dumps(certificate).encode()})


# ------------------------------------------------------------------------------------------------------- the documents


@pytest.mark.parametrize(
    ("document", "old", "new"),
    [
        ("certificate.json", "Each row is protected", "Each person is protected"),
        ("registry.yaml", "epsilon: 4.0", "epsilon: 0.1"),
        ("registry.yaml", 'unit_of_privacy: "each row"', 'unit_of_privacy: "each person"'),
        ("datasheet.md", "epsilon 4 and delta 1e-06", "epsilon 0.001 and delta 0"),
        ("datapackage.json", "epsilon 4 and delta 1e-06", "epsilon 0.001 and delta 0"),
        ("croissant.json", "epsilon 4 and delta 1e-06", "epsilon 0.001 and delta 0"),
    ],
)
def test_a_false_statement(document: str, old: str, new: str) -> None:
    files = written(honest("counts"))
    text = files[document].decode()
    assert old in text
    found = failures({**files, document: text.replace(old, new).encode()})
    assert document in found["documents"]


def test_a_false_sheet_behind_another_version() -> None:
    """What another version writes can't be written again, so it is not taken for true."""
    files = written(forged(honest("counts"), version="9.9.9"))
    sheet = files["datasheet.md"].replace(b"epsilon 4 and delta 1e-06", b"epsilon 0.001 and delta 0")
    found = failures({**files, "datasheet.md": sheet})
    assert "9.9.9" in found["version"]
    assert "datasheet.md" in found["documents"]


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("subspace", {"kernel": "Gaussian(lengthscale=9.0)"}, "the kernel"),
        ("counts", {"kernel": "Gaussian(lengthscale=9.0)"}, "the kernel"),
        ("counts", {"rows": 301.0}, "the number of rows"),
        ("published vectors", {"published_rows": 7}, "the published rows"),
        ("weighted rows, published", {"published_rows": 0}, "the published rows"),
        ("counts", {"method": "Subspace"}, "the method"),
        ("counts", {"settings": "Interactions()"}, "the method's settings"),
        ("two stages", {"choices": ()}, "the choices"),
        ("counts with rules, pure", {"calibration": ke.privacy.Calibration.CLASSIC}, "the calibration"),
        ("counts under add-remove", {"neighbours": REPLACE}, "the declared neighbour relation"),
    ],
)
def test_a_false_line_of_the_certificate(name: str, change: dict[str, Any], words: str) -> None:
    assert words in failures(written(forged(honest(name), **change)))["agreement"]


def test_a_false_kernel_in_all_documents() -> None:
    """The subspace itself was spanned with the other one."""
    release = honest("subspace")
    old = release.measurements
    kernel = ke.kernels.Gaussian(lengthscale=9.0)
    domain = type(old.domain)(kernel)  # type: ignore[call-arg]  # of vectors
    certificate = dataclasses.replace(old.certificate, kernel=repr(kernel))
    new = Measurements(certificate=certificate, domain=domain, method=old.method, measured=old.measured)
    found = failures(documents(contents_of(dataclasses.replace(release, measurements=new))))
    assert "the kernel of the measurements" in found["agreement"]


def test_a_sum_that_is_not_the_integers() -> None:
    """There is no such field: sums come from the integers."""
    files = written(honest("random features"))
    content = json.loads(files["measurements.json"])
    content["measured"]["stages"][0]["sum"] = [0.0] * 8
    found = failures({**files, "measurements.json": json.dumps(content).encode()})
    assert "'sum' is unknown" in found["content"]


# ------------------------------------------------------------------------------------------------ what only steps show


def test_cells_that_were_chosen_in_sight_of_private_rows() -> None:
    """Cells of pairs follow from noisy single columns. Others of the same size show when the steps are taken again."""
    release = honest("counts")

    def moved(block: NoisyBlock) -> NoisyBlock:
        if len(block.block.columns) != 2 or block.block.columns[0] != 0:
            return block
        cells = block.block.groups[0][::-1].copy()
        groups = (cells.max() - cells if (cells == block.block.groups[0]).all() else cells, *block.block.groups[1:])
        return dataclasses.replace(block, block=dataclasses.replace(block.block, groups=groups))

    files = written(forged(release, measured=with_blocks(release, moved)))
    assert not failures(files)
    assert "steps" in failures(files, refit=True)


def test_another_set_of_three_than_was_chosen() -> None:
    release = honest("sets of three that were chosen")
    noisy = blocks_of(release)
    first, *rest = noisy.selections
    other = dataclasses.replace(first, index=(first.index + 1) % first.step.coordinates)
    files = written(forged(release, measured=dataclasses.replace(noisy, selections=(other, *rest))))
    assert "steps" in failures(files, refit=True)


def test_a_set_of_four_that_was_chosen_is_read_and_taken_again() -> None:
    coins = np.random.default_rng(0).integers(0, 2, (5, 2000)).astype(bool)
    coins[3] = coins[0] ^ coins[1] ^ coins[2]
    names = [f"c{i}" for i in range(5)]
    release = ke.release(
        pa.table(dict(zip(names, coins, strict=True))),
        schema=ke.Schema.parse("\n".join(f'[columns.{name}]\ntype = "boolean"' for name in names)),
        privacy=ke.Privacy(epsilon=8.0, delta=1e-6),
        method=ke.Interactions(solver=MixtureSolver(components=40, steps=20), triples=2),
        noise=SteadyNoise(),
    )
    assert (0, 1, 2, 3) in [block.block.columns for block in blocks_of(release).blocks]
    assert not failures(written(release), refit=True)
    three = "c0 == true and c1 == true and c2 == true"
    some, none = (release.count(f"{three} and c3 == {last}") for last in ("true", "false"))
    assert some.interval()[0] > 200.0  # of 250
    assert none.interval()[1] < 30.0


def test_points_of_stage_two_that_do_not_follow_from_stage_one() -> None:
    release = honest("two stages")
    assert isinstance(release.measurements.measured, NoisyEmbeddings)
    first, second = release.measurements.measured.stages
    integers = first.measurement.integers[::-1].copy()
    other = dataclasses.replace(first, measurement=dataclasses.replace(first.measurement, integers=integers))
    files = written(
        forged(release, measured=dataclasses.replace(release.measurements.measured, stages=(other, second)))
    )
    assert "steps" in failures(files, refit=True)


# ------------------------------------------------------------------------------------------------------------ the rows


def test_private_rows_in_place_of_synthetic_ones() -> None:
    release = honest("counts")
    private = patients().drop_columns(["who"])
    weighed = private.append_column("weight", pa.array(np.full(len(private), 1.0 / len(private))))
    files = written(dataclasses.replace(release, table=weighed.cast(release.table.schema)))
    assert "more digits" in failures(files)["rows"]  # a score to the last bit is none that is released
    few = weighed.set_column(2, "score", pc.round(private.column("score"), 2))
    files = written(dataclasses.replace(release, table=few.cast(release.table.schema)))
    assert not failures(files)  # they keep the schema, and nothing else is asked of them
    assert "refit" in failures(files, refit=True)


def test_private_vectors_in_place_of_synthetic_ones() -> None:
    release = honest("subspace")
    points = vectors()[: release.table.num_rows]
    table = pa.table({"x0": points[:, 0], "x1": points[:, 1], "weight": release.weights})
    assert "refit" in failures(written(dataclasses.replace(release, table=table)), refit=True)


def test_more_rows_than_were_asked_for() -> None:
    release = honest("counts")
    assert release.settings is not None
    settings = dataclasses.replace(release.settings, rows=10**12)
    found = failures(written(dataclasses.replace(release, settings=settings)), refit=True)
    assert "are said to have been made" in found["refit"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": PublicSeed(9)},
        {"method": ke.Interactions(solver=MixtureSolver(components=9, steps=30))},
        {"method": ke.Interactions(solver=MixtureSolver(components=6, steps=3))},
        {"method": ke.Subspace(points=ke.fit.NormalPoints(dimension=4))},
    ],
)
def test_another_fit_than_was_made(change: dict[str, Any]) -> None:
    release = honest("counts")
    assert release.settings is not None
    other = dataclasses.replace(release, settings=dataclasses.replace(release.settings, **change))
    assert "refit" in failures(written(other), refit=True)


def test_rows_that_nobody_says_how_they_were_made() -> None:
    release = dataclasses.replace(honest("counts"), settings=None)
    assert not failures(written(release))
    assert "does not say" in failures(written(release), refit=True)["refit"]


# ------------------------------------------------------------------------------------------- what can't be noticed


def test_invented_numbers_are_on_trust() -> None:
    """Who writes noise flags and ledger entries, or all noisy numbers, is beyond any check; it says so."""
    release = honest("random features")
    entry = dataclasses.replace(release.certificate.entry, ledger="0123456789abcdef")
    assert not failures(written(forged(release, entry=entry)), refit=True)
    assert any("somebody made up" in words for words in ON_TRUST)
    assert any("this is the entry" in words for words in ON_TRUST)
