"""What a confined program leaves in the workspace opens nothing to it at its next start."""

import sys
from typing import Any

import pytest

from sandbox.den import PATH, SECRET, Den
from support.requirements import attack
from switchboard.core.faults import Fault

KEY = ".ssh/id_ed25519"


def reads_key(den: Den) -> tuple[str, ...]:
    return ("cat", str(den.home / KEY))


@pytest.mark.parametrize("home", ["{home}/.ssh", "{home}/.ssh/x/..", "{home}/.config/vault"])
@attack("B3")
async def test_a_home_in_the_settings_of_a_virtual_environment_opens_no_folder(
    den: Den, home: str
) -> None:
    """As `pyvenv.cfg` names it, once or twice."""
    venv = den.workspace / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to("/usr/bin/python3")
    named = home.format(home=den.home)
    (venv / "pyvenv.cfg").write_text(f"home = /usr/bin\nhome = {named}\n", "utf-8")
    program = f"print(open({str(den.home / KEY)!r}).read())"
    ended = await den.run((str(venv / "bin" / "python"), "-c", program))
    assert SECRET not in ended.stdout
    assert ended.status == 1


@attack("B32")
async def test_the_interpreter_of_a_script_in_the_workspace_opens_no_folder(den: Den) -> None:
    for line in (f"{den.home}/.ssh/bin/x", f"/usr/bin/env -S cat x {den.home}/.ssh/bin/x"):
        script = den.workspace / "tool"
        script.write_text(f"#!{line}\n", "utf-8")
        script.chmod(0o755)
        bait = den.home / ".ssh" / "bin" / "x"
        bait.parent.mkdir(exist_ok=True)
        bait.write_text(f"#!/bin/cat\n{SECRET}\n", "utf-8")
        bait.chmod(0o755)
        try:
            ended = await den.run((str(script),))
        except OSError:
            # Not even its interpreter is there.
            continue
        assert SECRET not in ended.stdout


@attack("T24")
async def test_a_command_that_became_a_link_opens_no_folder(den: Den) -> None:
    tool = den.workspace / "tool"
    bait = den.home / ".ssh" / "tool"
    bait.write_text("#!/bin/sh\ncat ~/.ssh/id_ed25519\n", "utf-8")
    bait.chmod(0o755)
    tool.symlink_to(bait)
    try:
        ended = await den.run((str(tool),))
    except OSError:
        return
    assert SECRET not in ended.stdout


@pytest.mark.parametrize("entry", [".venv/bin", ".venv/bin/deeper", "node_modules/.bin"])
@attack("B5")
async def test_an_entry_of_the_search_path_in_the_workspace_opens_no_folder(
    den: Den, entry: str
) -> None:
    linked = den.workspace / entry.removesuffix("/deeper")
    linked.parent.mkdir(parents=True)
    linked.symlink_to(den.home / ".ssh")
    (den.home / ".ssh" / "deeper").mkdir()
    path = f"{den.workspace / entry}:{PATH}"
    ended = await den.run(reads_key(den), env={"PATH": path}, path=path)
    assert SECRET not in ended.stdout


@attack("T24")
async def test_an_entry_that_leads_through_the_workspace_opens_no_folder(den: Den) -> None:
    """Named by a link of the home into the workspace, where another link leads back."""
    (den.home / "tools").symlink_to(den.workspace / "tools")
    (den.workspace / "tools").symlink_to(den.home / ".ssh")
    path = f"{den.home / 'tools'}:{PATH}"
    ended = await den.run(reads_key(den), env={"PATH": path}, path=path)
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
