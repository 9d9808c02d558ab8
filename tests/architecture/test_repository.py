"""Promises of the repository as a whole: locks without addresses, tests that all run."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

_EXCUSE = re.compile(r"mark\.(skip|skipif|xfail)|pytest\.(skip|xfail|importorskip)\(")


def test_locks_do_not_say_where_packages_came_from() -> None:
    python = "".join(path.read_text("utf-8") for path in ROOT.glob("*.lock"))
    node = (TESTS / "node" / "package-lock.json").read_text("utf-8")
    assert "://" not in python
    assert '"resolved"' not in node


def test_every_locked_python_package_has_a_hash() -> None:
    for path in ROOT.glob("*.lock"):
        text = path.read_text("utf-8")
        entries = re.findall(r"^[\w.-]+==.*(?:\n .*)*", text, re.MULTILINE)
        assert entries
        assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_no_link_is_part_of_the_repository() -> None:
    """One in the place of a folder that git ignores would take the folder's place in a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = listed.stdout.splitlines()
    assert lines
    assert [line for line in lines if line.startswith("120000 ")] == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    excused = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if "node_modules" not in path.parts and path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if _EXCUSE.search(line)
    ]
    assert excused == []


def test_what_the_quick_part_of_the_tests_leaves_out_is_there() -> None:
    """A folder that was renamed would silently be a part of it."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    _, _, named = makefile.partition("\nSLOW_TESTS := ")
    folders = named.partition("\n")[0].split()
    assert folders
    assert [each for each in folders if not (ROOT / "tests" / each).is_dir()] == []
    assert "$(SLOW_TESTS:%=--ignore=tests/%)" in makefile
