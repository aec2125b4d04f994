"""docs/security.md names what holds each claim: files that are there, and audits that are run."""

import re
from pathlib import Path

import pytest

from audits.catalogue import all_cases

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "security.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)")
ROW = re.compile(r"^\| (?P<claim>[^|]+) \| (?P<held>[^|]+) \|$", re.MULTILINE)
CLAIMS = [(row["claim"], row["held"]) for row in ROW.finditer(TEXT) if row["held"].strip("- ") not in ("", "held by")]
NAMES = {case.name for case in all_cases()}


def audits_named(text: str) -> set[str]:
    """What stands between single asterisks."""
    return set(re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", text))


def test_there_are_claims() -> None:
    assert len(CLAIMS) >= 10


@pytest.mark.parametrize(("claim", "held"), CLAIMS, ids=[claim for claim, _ in CLAIMS])
def test_every_claim_is_held_by_what_is_there(claim: str, held: str) -> None:
    links, audits = LINK.findall(held), audits_named(held)
    assert any(link.startswith("../tests/") for link in links) or audits
    assert all((DOCS / link).exists() for link in links)
    assert audits <= NAMES


def test_every_audit_of_the_guarantee_holds_a_claim() -> None:
    guarantee = {case.name for case in all_cases() if case.kind in ("audit", "attack")}
    assert guarantee <= audits_named(TEXT)


def test_all_links_lead_somewhere() -> None:
    page = DOCS.parent / "SECURITY.md"
    for base, text in ((DOCS, TEXT), (page.parent, page.read_text(encoding="utf-8"))):
        assert all((base / link).exists() for link in LINK.findall(text))
