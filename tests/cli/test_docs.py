"""The pages are complete: every command and option in docs/cli.md, every page in the list."""

import re
import subprocess
import sys

import pytest

from support.workspace import CHECKOUT
from switchboard.cli.options import GLOBAL_OPTIONS
from switchboard.cli.table import VERBS, loaded
from switchboard.hosts.table import HOSTS
from switchkit.cli.usage import Usage

PAGE = (CHECKOUT / "docs" / "cli.md").read_text("utf-8")


def test_every_command_has_a_heading() -> None:
    headings = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))
    assert [verb for verb in VERBS if f"`{verb}" not in headings] == []


def test_every_option_is_explained() -> None:
    options = {option.flag for option in GLOBAL_OPTIONS}
    for verb in VERBS.values():
        usage: Usage = loaded(verb.module).USAGE
        options |= {option.flag for option in usage.options}
    assert [flag for flag in sorted(options) if f"{flag}" not in PAGE] == []


def test_the_table_of_verbs_and_their_own_words_agree() -> None:
    for name, verb in VERBS.items():
        usage: Usage = loaded(verb.module).USAGE
        assert usage.verb == name
        assert usage.summary.endswith(".")
        assert not verb.summary.endswith(".")


def test_the_page_about_setup_names_every_host_and_which_of_them_it_writes() -> None:
    page = (CHECKOUT / "docs" / "setup.md").read_text("utf-8")
    section = page.partition("## Hosts\n")[2].partition("\n## ")[0]
    written, _, told = section.partition(" Of ")
    for text, is_told in ((written, False), (told, True)):
        ids = sorted(host.id for host in HOSTS if bool(host.only_told) == is_told)
        assert sorted(re.findall(r"`([a-z0-9-]+)`", text)) == ids


def test_it_is_installed_in_a_way_that_every_system_allows() -> None:
    """Debian, Ubuntu and Homebrew close the Python of the system to pip (PEP 668)."""
    pages = [CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md")]
    texts = {str(page.relative_to(CHECKOUT)): page.read_text("utf-8") for page in pages}
    assert "\nuv tool install . " in texts["README.md"]
    assert "`pipx install .`" in texts["README.md"]
    outside = re.compile(r"(?<!pipx )(?<!tool )\bpip install ")
    assert [name for name, text in texts.items() if outside.search(text)] == []


def test_every_page_is_in_the_list_of_pages() -> None:
    text = (CHECKOUT / "docs" / "README.md").read_text("utf-8")
    linked = {page.partition("#")[0] for page in re.findall(r"\]\(([^)]+)\)", text)}
    pages = {page.name for page in (CHECKOUT / "docs").glob("*.md")} - {"README.md"}
    assert pages - linked == set()


@pytest.mark.timeout(180)
def test_the_picture_shows_what_the_command_shows() -> None:
    done = subprocess.run(
        [sys.executable, str(CHECKOUT / "tools" / "picture.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = (CHECKOUT / "docs" / "setup.svg").read_text("utf-8")
    assert len(drawn) < 100_000
    assert "took over" in drawn
    assert re.findall(r"/(?:tmp|home|work|root)/", drawn) == []
    assert "](docs/setup.svg)" in (CHECKOUT / "README.md").read_text("utf-8")
