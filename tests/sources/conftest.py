from collections.abc import Iterator

import pytest

from tests.sources.postgres_server import NoServer, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URI of a real server, started once for each worker."""
    try:
        with postgres_server() as uri:
            yield uri
    except NoServer as reason:
        pytest.skip(str(reason))
