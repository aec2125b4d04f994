"""A secret in every place of a bundle: `verify` refuses each, or prints the line that leaves it on trust.

`python -m audits.hider` prints the table: the place, and the line by which `verify` refuses or admits it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from audits.case import Case, Effort, Verdict
from audits.hiding_places import (
    KEY,
    PARQUET,
    ROWS_ON_TRUST,
    Place,
    documents_with,
    honest,
    in_choices,
    in_containers,
    in_documents,
    in_parquet,
    in_rows,
    in_seals,
)
from audits.tracer import memory_disk
from kernelease.bundle import saving as bundle
from kernelease.bundle.container import read_bundle, write_bundle
from kernelease.bundle.verify import Finding, on_trust, verify
from kernelease.errors import BundleError


def places(effort: Effort) -> list[Place]:
    """All of them; where there is little time, those of vectors that are as for a table are left out."""
    found = [*in_rows(), *in_choices()]
    for kind in ("table", "vectors") if effort is Effort.FULL else ("table",):
        found += [*in_parquet(kind), *in_documents(kind), *in_seals(kind), *in_containers(kind)]
    return found


def as_it_lies(path: Path) -> tuple[Finding, ...]:
    """The twin: a `verify` that takes data.parquet as it lies, and compares what is decoded from it."""
    try:
        data = read_bundle(path).get("data.parquet", b"")
    except BundleError:
        return verify(path)
    with patch.object(bundle, "write_rows", lambda _: data):
        return verify(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a place: the line that refuses it, or the line that admits it; neither, where it is hidden."""

    place: Place
    refused: str
    admitted: str

    @property
    def hidden(self) -> bool:
        """Whether nobody is told."""
        return not self.refused and not self.admitted


def outcome(place: Place, check: Callable[[Path], tuple[Finding, ...]] = verify) -> Outcome:
    """Hide, verify, and look at what is said."""
    with tempfile.TemporaryDirectory(dir=memory_disk()) as folder:
        path = place.hide(Path(folder))
        found = check(path)
        refused = next((f"{one.check}: {one.detail}" for one in found if not one.holds), "")
        said = [line for line in on_trust(found, refit=False) if place.admitted and line.startswith(place.admitted)]
        if not refused and place.admitted == ROWS_ON_TRUST and all(one.holds for one in verify(path, refit=True)):
            said = []  # said to be seen by those who refit, and it is not
    return Outcome(place=place, refused=refused, admitted=said[0] if said and not refused else "")


def nothing_hidden(effort: Effort) -> Verdict:
    """Every place, and those of data.parquet once more against the twin."""
    tried = places(effort)
    met = [outcome(place) for place in tried]
    hidden = [one.place.name for one in met if one.hidden]
    unmoved = [kind for kind in ("table", "vectors") if not _passes(kind)]
    fooled = [place.name for place in in_parquet("table") if outcome(place, as_it_lies).hidden]
    refused = sum(bool(one.refused) for one in met)
    return Verdict(
        trials=len(tried),
        holds=not hidden and not unmoved,
        measured="; ".join(f"{name} is not noticed" for name in [*hidden[:3], *unmoved])
        or f"{refused} places are refused, {len(tried) - refused} are printed as on trust; honest bundles pass",
        twin=f"a check that takes data.parquet as it lies: {len(fooled)} of {len(PARQUET)} places fool it",
        twin_caught=bool(fooled),
    )


def _passes(kind: str) -> bool:
    """Whether honest bundles hold: a folder, a zip, and both signed."""
    with tempfile.TemporaryDirectory(dir=memory_disk()) as folder:
        written = [
            write_bundle(Path(folder, form), documents_with(honest(kind)), key=key)
            for form, key in (("a", None), ("b.zip", None), ("c", KEY), ("d.zip", KEY))
        ]
        return all(one.holds for path in written for one in verify(path, refit=path.name == "a"))


CASES = (
    Case(
        name="a secret in every place of a bundle",
        kind="hostile",
        claim="Every byte of a bundle is accounted for: what does not follow from its numbers is refused or printed.",
        run=nothing_hidden,
    ),
)


def main() -> int:
    """Print what became of each place."""
    met = [outcome(place) for place in places(Effort.FULL)]
    console = Console(width=220, highlight=False, markup=False)
    for one in met:
        told = f"refused by {one.refused}" if one.refused else f"on trust: {one.admitted}" if one.admitted else "HIDDEN"
        console.print(f"{one.place.kind:8} {one.place.name:55} {told[:150]}")
    hidden = sum(one.hidden for one in met)
    refused = sum(bool(one.refused) for one in met)
    console.print(f"{len(met)} places: {refused} refused, {len(met) - refused - hidden} on trust, {hidden} hidden.")
    return 1 if hidden else 0


if __name__ == "__main__":
    sys.exit(main())
