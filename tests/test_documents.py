"""Every Python block of the documents runs, in order, as a reader would run it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("document", [path for path in DOCUMENTS if BLOCK.search(path.read_text())], ids=name)
def test_python_blocks_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, block in enumerate(BLOCK.findall(document.read_text()), start=1):
        exec(compile(block, f"{document.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("document", [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCUMENTS], ids=name)
def test_links_lead_somewhere(document):
    targets = [link for link in LINK.findall(document.read_text()) if "://" not in link]
    missing = [link for link in targets if not (document.parent / link).exists()]
    assert not missing
