"""The reference that is made from the code says what the code says."""

import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from support.printed_commands import usage_of
from support.workspace import CHECKOUT
from switchboard.cli.options import PROGRAM
from switchkit.cli.usage import read_arguments, split_verb

FAULTS = CHECKOUT / "docs" / "reference" / "faults"
REMEDIES: dict[str, str] = tomllib.loads(
    (CHECKOUT / "tools" / "fault_remedies.toml").read_text("utf-8")
)


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


def test_every_fault_has_a_page_that_says_what_to_do() -> None:
    pages = {path.stem: path.read_text("utf-8") for path in FAULTS.glob("*.md")}
    del pages["README"]
    assert [
        name for name, page in pages.items() if not re.search("What to do:\n\n- ..", page)
    ] == []
    # A line about a fault that has a hint in the code, or is none, would be read by nobody.
    alone = {name for name, text in REMEDIES.items() if f"What to do:\n\n- {text}\n" in pages[name]}
    assert REMEDIES.keys() - alone == set()


@pytest.mark.parametrize(
    "reason",
    # Handed on by name, chosen in a branch, of a table, of an engine, and of a login.
    ["child-timeout", "approval-denied", "sandbox-network", "quota-exceeded", "scope-missing"],
)
def test_a_fault_has_a_page_however_its_reason_is_said(reason: str) -> None:
    assert (FAULTS / f"{reason}.md").is_file()


def test_no_test_expects_a_fault_that_has_no_page() -> None:
    expected = re.compile(
        r"""\[?"reason"\]? ?== ?"([a-z]+(?:-[a-z]+)+)"|\.reason == "([a-z-]+)\""""
    )
    # Of the local runtime, and of a stream of bytes.
    others = {"branch-switched", "outside-project", "project-moved", "too-large"}
    found: set[str] = set()
    for path in (CHECKOUT / "tests").glob("*/test_*.py"):
        if path.parent.name != "switchyard":
            found |= {a or b for a, b in expected.findall(path.read_text("utf-8"))}
    assert len(found) > 50
    assert {each for each in found - others if not (FAULTS / f"{each}.md").is_file()} == set()


@pytest.mark.parametrize("reason", sorted(REMEDIES))
def test_the_commands_of_a_remedy_can_be_typed(reason: str) -> None:
    for command in re.findall(r"`switchboard ([^`]+)`", REMEDIES[reason]):
        verb, rest = split_verb(PROGRAM, shlex.split(command))
        read_arguments(PROGRAM, usage_of(verb), rest)
