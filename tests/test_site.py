"""The documentation builds as a site: every page is in its menu, no link is broken, nothing comes from another host."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelease.report.page import page

ROOT = Path(__file__).resolve().parent.parent
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
ASKED_FOR = re.compile(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?(https?://[^"'\s>]+)""")


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_asks_no_other_host(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_quiet(), check=False)
    assert done.returncode == 0, done.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    asked = {url for one in pages for url in ASKED_FOR.findall(one.read_text())}
    assert not asked
    reference = (tmp_path / "site" / "api.html").read_text()
    assert "kernelease.release.release.Release" in reference
    demo = (tmp_path / "site" / "demo.html").read_text(encoding="utf-8")
    data = json.loads(DATA.search(demo)[1])
    assert page(data) == demo
    assert all(finding["holds"] for finding in data["seals"]["findings"])
    assert all('href="demo.html"' in (tmp_path / "site" / name).read_text() for name in ("index.html", "explorer.html"))


def _quiet() -> dict[str, str]:
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
