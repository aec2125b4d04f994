"""Bundles and pages, each made once, and the browser that reads them."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from kernelease.answers.release import Release
from kernelease.report.page import report_bundle
from tests.report import releases
from tests.report.browser import Reader, chromium, launched


@pytest.fixture(scope="session")
def people() -> tuple[Release, pa.Table]:
    return releases.people()


@pytest.fixture(scope="session")
def bundle(people: tuple[Release, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return releases.signed(people[0], tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def tiny_table() -> tuple[Release, pa.Table]:
    return releases.tiny()


@pytest.fixture(scope="session")
def tiny(tiny_table: tuple[Release, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return releases.signed(tiny_table[0], tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def page(bundle: Path) -> Path:
    written, holds = report_bundle(bundle, bundle.parent / "people.html")
    assert holds
    return written


@pytest.fixture(scope="session")
def _browser() -> Iterator[object]:
    with launched(chromium()) as browser:
        yield browser


@pytest.fixture
def reader(_browser: object) -> Iterator[Reader]:
    """Whoever looks at a page; afterwards, nothing that it should not do has been seen."""
    found = Reader(_browser)
    yield found
    assert found.wrong == []
