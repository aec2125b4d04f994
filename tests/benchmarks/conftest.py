from pathlib import Path

import pytest

PUBLISHED_FILES = Path(__file__).resolve().parents[3] / "shared" / "data" / "paper"


@pytest.fixture
def published_files() -> Path:
    """The authors' result files and arrays, where they lie beside the checkout."""
    if not PUBLISHED_FILES.is_dir():
        pytest.skip("the authors' files do not lie beside this checkout (shared/data/paper)")
    return PUBLISHED_FILES
