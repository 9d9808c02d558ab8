"""What a confined program leaves in the workspace opens nothing to it at its next start."""

import sys
from typing import Any

import pytest

from sandbox.den import PATH, SECRET, Den
from support.requirements import attack
from switchboard.core.faults import Fault

# Of names that nothing hides for what they are: all that hides them is that their folder is closed.
PAPERS = ("papers/notes", "papers/deep/notes")


@pytest.fixture(autouse=True)
def papers(den: Den) -> None:
    for name in PAPERS:
        path = den.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SECRET, "utf-8")


def reads(den: Den, name: str) -> tuple[str, ...]:
    return ("cat", str(den.home / name))


@pytest.mark.parametrize("name", PAPERS)
async def test_the_papers_are_read_where_their_folder_is_opened(den: Den, name: str) -> None:
    """So that each test below shows that its folder stayed closed."""
    ended = await den.run(reads(den, name), read_roots=(str(den.home / "papers"),))
    assert ended.stdout == SECRET
    assert (await den.run(reads(den, name))).status == 1


@pytest.mark.parametrize(
    ("home", "name"),
    [
        ("papers", "papers/notes"),
        ("papers/deep/..", "papers/deep/notes"),
        # The folder above `bin` is that of the program.
        ("papers/deep/bin", "papers/deep/notes"),
    ],
)
@attack("B3")
async def test_a_home_in_the_settings_of_a_virtual_environment_opens_no_folder(
    den: Den, home: str, name: str
) -> None:
    """As `pyvenv.cfg` names it, once or twice."""
    venv = den.workspace / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to("/usr/bin/python3")
    settings = f"home = /usr/bin\nhome = {den.home}/{home}\n"
    (venv / "pyvenv.cfg").write_text(settings, "utf-8")
    program = f"print(open({str(den.home / name)!r}).read())"
    ended = await den.run((str(venv / "bin" / "python"), "-c", program))
    assert SECRET not in ended.stdout
    assert ended.status == 1


@pytest.mark.parametrize("line", ["{bait}", "/usr/bin/env {bait}", "/usr/bin/env -S cat x {bait}"])
@attack("B32")
async def test_the_interpreter_of_a_script_in_the_workspace_opens_no_folder(
    den: Den, line: str
) -> None:
    bait = den.home / "papers" / "bin" / "x"
    bait.parent.mkdir()
    bait.write_text(f"#!/bin/cat\n{SECRET}\n", "utf-8")
    bait.chmod(0o755)
    script = den.workspace / "tool"
    script.write_text(f"#!{line.format(bait=bait)}\n", "utf-8")
    script.chmod(0o755)
    try:
        ended = await den.run((str(script),))
    except OSError:
        # Not even its interpreter is there.
        return
    assert SECRET not in ended.stdout


@attack("T24")
async def test_a_command_that_became_a_link_opens_no_folder(den: Den) -> None:
    tool = den.workspace / "tool"
    bait = den.home / "papers" / "tool"
    bait.write_text("#!/bin/sh\ncat ~/papers/notes\n", "utf-8")
    bait.chmod(0o755)
    tool.symlink_to(bait)
    try:
        ended = await den.run((str(tool),))
    except OSError:
        return
    assert SECRET not in ended.stdout


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (".venv/bin", "papers/notes"),
        (".venv/bin/deep", "papers/deep/notes"),
        ("node_modules/.bin", "papers/notes"),
    ],
)
@attack("B5")
async def test_an_entry_of_the_search_path_in_the_workspace_opens_no_folder(
    den: Den, entry: str, name: str
) -> None:
    linked = den.workspace / entry.removesuffix("/deep")
    linked.parent.mkdir(parents=True)
    linked.symlink_to(den.home / "papers")
    path = f"{den.workspace / entry}:{PATH}"
    ended = await den.run(reads(den, name), env={"PATH": path}, path=path)
    assert SECRET not in ended.stdout


@attack("T24")
async def test_an_entry_that_leads_through_the_workspace_opens_no_folder(den: Den) -> None:
    """Named by a link of the home into the workspace, where another link leads back."""
    (den.home / "tools").symlink_to(den.workspace / "tools")
    (den.workspace / "tools").symlink_to(den.home / "papers")
    path = f"{den.home / 'tools'}:{PATH}"
    ended = await den.run(reads(den, "papers/notes"), env={"PATH": path}, path=path)
    assert SECRET not in ended.stdout


@pytest.mark.parametrize("kind", ["writable_roots", "read_roots"])
@pytest.mark.parametrize("place", ["build", "out/build"])
@attack("B4")
async def test_a_root_that_became_a_link_out_of_the_workspace_is_refused(
    den: Den, kind: str, place: str
) -> None:
    root = den.workspace / place
    root.parent.mkdir(exist_ok=True)
    root.symlink_to(den.home / ".ssh")
    roots: dict[str, Any] = {kind: (str(root),)}
    with pytest.raises(Fault, match="a link in a folder that programs may write"):
        await den.run(("touch", str(root / "owned")), **roots)
    assert not (den.home / ".ssh" / "owned").exists()


async def test_a_root_may_be_a_link_that_stays_in_the_workspace(den: Den) -> None:
    (den.workspace / "real").mkdir()
    (den.workspace / "build").symlink_to("real")
    root = str(den.workspace / "build")
    assert (await den.run(("touch", f"{root}/made"), writable_roots=(root,))).status == 0
    assert (den.workspace / "real" / "made").exists()


async def test_a_virtual_environment_of_the_workspace_runs_on_a_python_of_the_home(
    den: Den,
) -> None:
    """A whole installation holds nothing but Python, so that it may be opened."""
    installed = den.home / ".pythons" / "v3"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = installed / "lib" / version
    library.mkdir(parents=True)
    (library / "os.py").write_text("# part of the library\n", "utf-8")
    python = installed / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\necho it runs\n", "utf-8")
    python.chmod(0o755)
    venv = den.workspace / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(python)
    (venv / "pyvenv.cfg").write_text(f"home = {python.parent}\n", "utf-8")
    assert (await den.run((str(venv / "bin" / "python"),))).stdout == "it runs\n"
