"""Every field of every document of every kind of bundle: change one, and `verify` notices.

The forger reads the changed document, writes all others to match, and seals the bundle anew. What can't be noticed then
is listed here with the reason, and `verify` says it in `ON_TRUST`; even of these a change of one document alone shows.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from kernelease.answers.release import contents_of
from kernelease.bundle.saving import documents, read_contents
from kernelease.bundle.verify import findings
from kernelease.errors import KerneleaseError
from kernelease.measured.blocks import Block, RowSums
from tests.bundle.changes import Change, changes
from tests.bundle.every_bundle import NAMES, honest
from tests.bundle.forging import failures, sealed

ON_TRUST = {
    "certificate.json:entry.ledger": "the ledger is with the owner, who may ask it (`verify --ledger`)",
    "certificate.json:entry.dataset": "the same; of a table it is the declared name",
    "certificate.json:entry.number": "the same, where there is a ledger",
    "certificate.json:entry.spent.mu_squared": "the same, and at least what this release cost",
    "certificate.json:entry.spent.delta_zero": "the same, where there is a ledger",
    "certificate.json:entry.spent.tau": "the same, where there is a ledger",
    "certificate.json:machine": "a kind of machine: digits that it would explain are printed as on trust",
    "certificate.json:seed": "nothing was drawn with it: SmallDatabase has no public randomness",
    "measurements.json:measured.moments.*.measurement.integers": "noise that nobody else saw: no row follows it",
    "measurements.json:measured.paths.moments.*.measurement.integers": "the same, of several tables",
    "measurements.json:measured.looks.*.measurement.integers": "the same, of a look that lays nothing otherwise",
    "measurements.json:measured.paths.looks.*.measurement.integers": "the same, of several tables",
    "schema.json:name": "a name",
    "schema.json:tables.*.aggregates.*.name": "a name of what no row has",
    "schema.json:rows_without_unit": "how the private rows were read",
    "schema.json:columns.*.default": "how the private rows were read",
    "schema.json:columns.*.other": "how the private rows were read, and a label that no row has",
    "schema.json:columns.*.from": "how the private rows were read",
    "schema.json:columns.*.minus": "how the private rows were read",
    "schema.json:columns.*.max_length": "how the private rows were read",
    "schema.json:constraints": "a rule that no row would have broken",
    "fit.json": "it says that these settings make these rows: where changed ones make the same, that is still true",
}
NOWHERE_ELSE = (  # but in the sums of the bundle's files
    "certificate.json:machine",
    "measurements.json:measured.moments.*.measurement.integers",
    "measurements.json:measured.paths.moments.*.measurement.integers",
    "measurements.json:measured.looks.*.measurement.integers",
    "measurements.json:measured.paths.looks.*.measurement.integers",
)
PRIMARY = ("certificate.json", "measurements.json", "schema.json", "fit.json")
QUICK = 9  # changes of each bundle in a quick run
EACH = 2  # changes of each kind in any run; `make audit` tries them all


def unnoticed(name: str, sample: Iterator[Change] | list[Change]) -> Iterator[str]:
    """The changes that pass, and are not on trust."""
    files = documents(contents_of(honest(name)))
    for change in sample:
        alone = {**files, change.document: change.data}
        try:
            together = documents(read_contents(alone))
        except KerneleaseError:
            assert failures(alone), str(change)
            continue
        if together != files and seen(together):  # then `alone` shows as well: it says the same, and differs in more
            continue
        if together != files and change.place not in ON_TRUST and change.document not in ON_TRUST:
            yield f"together: {change}"
        elif change.place in NOWHERE_ELSE:
            continue
        elif (together == files or change.document != "fit.json") and not seen(alone):
            yield f"alone: {change}"


def seen(files: dict[str, bytes]) -> bool:
    """Whether `verify` holds anything against it; steps and rows are made again only if nothing else tells."""
    return bool(failures(files) or failures(files, refit=True))


def test_every_sum_that_gets_noise_is_in_a_bundle() -> None:
    """Kinds of blocks, sums of vectors, and records of one parent: what is in no bundle, nobody tries to change."""
    files = [documents(contents_of(honest(name)))["measurements.json"] for name in NAMES]
    kinds = {"Counts", "Contrasts", "Moments", "Sides", "Spread", "Ball", "Fourier", "Nystrom", "ClassMoments"}
    ours = [
        one for one in (*Block.__subclasses__(), *RowSums.__subclasses__()) if one.__module__.startswith("kernelease.")
    ]
    assert {one.__name__ for one in ours} - {"RowSums"} <= kinds  # other tests define kinds of their own
    assert [kind for kind in sorted(kinds) if not any(f'"tag":"{kind}"'.encode() in data for data in files)] == []
    assert honest("records of one parent").measurements.measured.siblings


@cache
def chosen() -> dict[str, list[Change]]:
    """Of each kind of change that a bundle allows, a few at random, from whichever bundles allow it."""
    kinds = defaultdict[str, list[tuple[str, Change]]](list)
    for name in NAMES:
        for change in changes(documents(contents_of(honest(name)))):
            kinds[change.kind].append((name, change))
    found, pick = defaultdict[str, list[Change]](list), random.Random(0)
    for alike in kinds.values():
        few = EACH if alike[0][1].document.endswith(".json") else 10 * EACH  # lines are all of a kind
        for name, change in pick.sample(alike, min(few, len(alike))):
            found[name].append(change)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_changed_field_is_noticed(name: str) -> None:
    """A sample, the same every time: of each document a part."""
    every = list(changes(documents(contents_of(honest(name)))))
    pick = random.Random(name)
    primary = [change for change in every if change.document in PRIMARY]
    other = [change for change in every if change.document not in PRIMARY]
    assert list(unnoticed(name, [*pick.sample(primary, QUICK), *pick.sample(other, QUICK // 3)])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_change_is_noticed(name: str) -> None:
    assert list(unnoticed(name, chosen()[name])) == []


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize("name", NAMES)
def test_every_changed_field_is_noticed(name: str) -> None:
    """All of what a bundle says. What is written from it is all changed in two of the bundles."""
    whole = name in ("counts", "subspace")
    every = (change for change in changes(documents(contents_of(honest(name)))) if whole or change.document in PRIMARY)
    assert list(unnoticed(name, every)) == []


@pytest.mark.slow
@pytest.mark.parametrize("checks", [("documents",), ("agreement", "measurements", "steps", "refit")], ids="-".join)
def test_a_check_that_looks_away_is_found_out(checks: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: without some of its checks, `verify` misses changes that the sample holds."""
    assert set(checks) <= {
        found.check for found in findings(sealed(documents(contents_of(honest("subspace")))), refit=True)
    }

    def blind(files: dict[str, bytes], **options: bool) -> set[str]:
        return failures(files, **options).keys() - set(checks)

    monkeypatch.setitem(globals(), "seen", lambda files: bool(blind(files) or blind(files, refit=True)))
    assert list(unnoticed("subspace", chosen()["subspace"]))
