"""Looking at a project starts no program that only its git settings name."""

from collections.abc import Callable

import pytest
from yardlab import Lab

from support.requirements import attack


def by_fsmonitor(lab: Lab, trap: str) -> None:
    lab.git("config", "core.fsmonitor", trap)


def by_filter(lab: Lab, trap: str) -> None:
    lab.git("config", "filter.evil.clean", f"{trap}; cat")


def by_included_filter(lab: Lab, trap: str) -> None:
    (lab.root / "more").write_text(f'[filter "evil"]\nclean = "{trap}; cat"\n')
    lab.git("config", "include.path", "../more")


def by_submodule(lab: Lab, trap: str) -> None:
    other = lab.folder / "other"
    other.mkdir()
    lab.git("init", "-q", cwd=other)
    lab.git("commit", "-q", "-m", "first", "--allow-empty", cwd=other)
    lab.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "inner")
    inner = lab.root / "inner"
    (inner / ".gitattributes").write_text("* filter=evil\n")
    (inner / "notes").write_text("one\n")
    lab.git("add", "-A", cwd=inner)
    lab.git("commit", "-q", "-m", "second", cwd=inner)
    lab.git("config", "filter.evil.clean", f"{trap}; cat", cwd=inner)
    (inner / "notes").write_text("two\n")


@attack("T73")
@pytest.mark.parametrize("set_trap", [by_fsmonitor, by_filter, by_included_filter, by_submodule])
@pytest.mark.parametrize("words", [("brief",), ("status",), ("doctor",)])
def test_no_trap_of_a_repository_goes_off(
    lab: Lab, set_trap: Callable[[Lab, str], None], words: tuple[str, ...]
) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    (lab.root / ".gitattributes").write_text("* filter=evil\n")
    notes = lab.root / "notes"
    notes.write_text("one\n")
    lab.repository()
    notes.write_text("two\n")
    canary = lab.folder / "canary"
    set_trap(lab, f"touch {canary}")
    lab.sy(*words, "--json", code=None)
    assert not canary.exists()
    # It is a trap: whoever looks without care steps into it.
    lab.git("status")
    assert canary.exists()


def test_a_status_still_tells_what_has_changed(lab: Lab) -> None:
    lab.config('[services.web]\ncommand = ["sleep", "100"]\n')
    lab.repository()
    lab.git("config", "filter.evil.clean", "cat")
    (lab.root / "notes").write_text("new\n")
    [changed] = lab.json("brief")["changed_files"]
    assert changed.endswith("notes")
