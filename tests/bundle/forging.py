"""What a forger does: change objects or documents, write the rest to match, and seal it all anew."""

import dataclasses
from typing import Any

import kernelease as ke
from kernelease.answers.release import contents_of
from kernelease.bundle.container import sums_file
from kernelease.bundle.saving import documents
from kernelease.bundle.verify import findings
from kernelease.certificate import Measurements
from kernelease.table.domains import TableDomain


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """With sums that fit."""
    return {**files, "SHA256SUMS": sums_file(files)}


def failures(files: dict[str, bytes], *, refit: bool = False) -> dict[str, str]:
    """What `verify` holds against a bundle of these files: each check with its words."""
    return {found.check: found.detail for found in findings(sealed(files), refit=refit) if not found.holds}


def forged(
    release: ke.Release, *, schema: dict[str, Any] | None = None, measured: Any = None, **certificate: Any
) -> Any:
    """The release with parts of its certificate, its schema or its measurements replaced, and nothing else."""
    old = release.measurements
    domain = old.domain
    if schema is not None:
        assert domain.schema is not None
        domain = TableDomain(dataclasses.replace(domain.schema, **schema))
    measured = old.measured if measured is None else measured
    new = Measurements(
        certificate=dataclasses.replace(old.certificate, **certificate),
        domain=domain,
        method=old.method,
        measured=measured,
    )
    return dataclasses.replace(release, measurements=new)


def written(release: ke.Release) -> dict[str, bytes]:
    """All documents of it, by the project's own writer."""
    return documents(contents_of(release))
