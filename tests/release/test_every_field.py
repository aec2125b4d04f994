"""Every field of every document of every kind of bundle: change one, and `verify` notices.

The forger reads the changed document, writes all others to match, and seals the bundle anew. What can't be noticed then
is listed here with the reason, and `verify` says it in `ON_TRUST`; even of these a change of one document alone shows.
"""

import random
from collections.abc import Iterator

import pytest

from kernelease.errors import KerneleaseError
from kernelease.release.bundle import documents, release_of
from tests.release.changes import Change, changes
from tests.release.every_bundle import NAMES, honest
from tests.release.forging import failures

ON_TRUST = {
    "certificate.json:entry.ledger": "the ledger is with the owner, who may ask it (`verify --ledger`)",
    "certificate.json:entry.dataset": "the same; of a table it is the declared name",
    "certificate.json:entry.number": "the same, where there is a ledger",
    "certificate.json:entry.spent.mu_squared": "the same, and at least what this release cost",
    "certificate.json:entry.spent.delta_zero": "the same, where there is a ledger",
    "certificate.json:entry.spent.tau": "the same, where there is a ledger",
    "certificate.json:seed": "nothing was drawn with it: SmallDatabase has no public randomness",
    "measurements.json:measured.moments.*.measurement.integers": "noise that nobody else saw: no row follows it",
    "schema.json:name": "a name",
    "schema.json:rows_without_unit": "how the private rows were read",
    "schema.json:columns.*.default": "how the private rows were read",
    "schema.json:columns.*.other": "how the private rows were read, and a label that no row has",
    "schema.json:columns.*.max_length": "how the private rows were read",
    "schema.json:constraints": "a rule that no row would have broken",
    "fit.json": "it says that these settings make these rows: where changed ones make the same, that is still true",
}
NOWHERE_ELSE = ("measurements.json:measured.moments.*.measurement.integers",)  # but in the sums of the bundle's files
PRIMARY = ("certificate.json", "measurements.json", "schema.json", "fit.json")
QUICK = 30  # changes of each bundle in a quick run


def unnoticed(name: str, sample: Iterator[Change] | list[Change]) -> Iterator[str]:
    """The changes that pass, and are not on trust."""
    files = documents(honest(name))
    for change in sample:
        alone = {**files, change.document: change.data}
        try:
            together = documents(release_of(alone), data=files["data.parquet"])
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


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_field_is_noticed(name: str) -> None:
    """A sample, the same every time: of each document a part."""
    every = list(changes(documents(honest(name))))
    chosen = random.Random(name)
    primary = [change for change in every if change.document in PRIMARY]
    other = [change for change in every if change.document not in PRIMARY]
    sample = [*chosen.sample(primary, min(QUICK, len(primary))), *chosen.sample(other, 10)]
    assert list(unnoticed(name, sample)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_changed_field_is_noticed(name: str) -> None:
    """All of what a bundle says. What is written from it is all changed in two of the bundles."""
    whole = name in ("counts", "subspace")
    every = (change for change in changes(documents(honest(name))) if whole or change.document in PRIMARY)
    assert list(unnoticed(name, every)) == []
