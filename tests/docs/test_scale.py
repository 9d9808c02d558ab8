"""The page on how far a team reaches has what the reckoning gives."""

import subprocess
import sys

from support.workspace import CHECKOUT


def test_the_figures_of_the_page_are_those_of_the_reckoning() -> None:
    words = [sys.executable, str(CHECKOUT / "bench" / "fleet.py")]
    table = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert len(table.splitlines()) == 5
    page = (CHECKOUT / "docs" / "scale.md").read_text("utf-8")
    assert table in page
