"""The reference that is made from the code says what the code says."""

import subprocess
import sys

from support.workspace import CHECKOUT

FAULTS = CHECKOUT / "docs" / "reference" / "faults"


def test_every_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "tools" / "reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fault_has_a_page_that_says_what_to_do() -> None:
    page = (FAULTS / "server-not-trusted.md").read_text("utf-8")
    assert "Code `failed_precondition`: something has to be done first." in page
    assert "switchboard trust" in page
