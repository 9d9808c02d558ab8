"""What all processes of a sandbox use together is counted in a group of its own.

The tree is one in memory. Where this machine has a real one that may be divided, forks are refused
in that by the kernel.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sandbox.den import PATIENCE, Den
from sandbox.group_trees import PIDS, ROOT, MemoryTree, PidsTree
from sandbox.test_limits import FORKS
from support.processes import until_gone
from switchboard.core.faults import Fault
from switchboard.sandbox.groups.control_groups import ControlGroups
from switchboard.sandbox.groups.group_tree import KernelTree
from switchboard.sandbox.groups.left_groups import LEAF, group_name, sweep_groups
from switchboard.sandbox.probe import Unusable
from switchboard.sandbox.sandbox import Sandbox

HOLDS = "import sys; print(1, flush=True); sys.stdin.read()"


async def test_a_child_with_limits_is_in_a_group_before_it_begins_and_leaves_none(
    den: Den,
) -> None:
    tree = MemoryTree()
    den.sandbox = Sandbox(groups=ControlGroups(tree))
    limits: dict[str, int | str] = {"memory": "1G", "processes": 20}
    async with den.started((sys.executable, "-c", HOLDS), limits=limits) as running:
        leaf, child = tree.groups
        assert leaf == LEAF
        assert set(tree.files[f"{ROOT}/{LEAF}"]["cgroup.procs"].split()) == {
            str(pid) for pid in tree.ours
        }
        files = tree.files[f"{ROOT}/{child}"]
        assert (files["memory.max"], files["memory.swap.max"]) == (str(1 << 30), "0")
        assert (files["pids.max"], files["cgroup.procs"]) == ("21", str(running.pid))
        # The process comes last: nothing of it is ever there without its limits.
        assert [name for folder, name, _ in tree.writes if folder == child][-1] == "cgroup.procs"
    assert tree.groups == [LEAF]


async def test_what_cannot_join_its_group_never_begins(den: Den) -> None:
    class Refusing(MemoryTree):
        def write(self, folder: str, name: str, text: str) -> None:
            if name == "cgroup.procs" and "child" in folder:
                raise PermissionError(13, "Permission denied")
            super().write(folder, name, text)

    tree = Refusing()
    den.sandbox = Sandbox(groups=ControlGroups(tree))
    began = den.workspace / "began"
    with pytest.raises(Fault, match="control group could not be made"):
        await den.python("open('began', 'w')", limits={"processes": 20})
    assert not began.exists()
    assert tree.groups == [LEAF]


@pytest.mark.parametrize("limits", [{}, {"files": 100}, {"cpu": 60, "disk": "1M"}])
async def test_a_child_without_limits_of_this_kind_needs_no_group(
    den: Den, limits: dict[str, int | str]
) -> None:
    tree = MemoryTree()
    den.sandbox = Sandbox(groups=ControlGroups(tree))
    assert (await den.python("print(1)", limits=limits)).status == 0
    assert tree.writes == []


async def test_who_ran_out_of_memory_together_is_told_so(den: Den) -> None:
    tree = MemoryTree()
    den.sandbox = Sandbox(groups=ControlGroups(tree))
    program = "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"
    async with den.started((sys.executable, "-c", program), limits={"memory": "1G"}) as running:
        child = tree.groups[-1]
        tree.files[f"{ROOT}/{child}"]["memory.events"] = "max 3\noom 1\noom_kill 1\n"
        await running.exited
    told = running.denial()
    assert told is not None
    assert (told.reason, told.details["knob"]) == ("sandbox-limit", "limits")


def test_a_group_that_others_are_in_is_not_divided() -> None:
    tree = MemoryTree(others=4_000_000)
    groups = ControlGroups(tree)
    found = groups.look()
    assert isinstance(found, Unusable)
    assert "other processes" in found.why
    assert groups.group({"memory": "1G"}) is None
    assert tree.writes == []


def test_one_that_is_not_ours_or_has_no_controllers_is_not_divided() -> None:
    tree = MemoryTree()
    tree.is_writable = False
    found = ControlGroups(tree).look()
    assert isinstance(found, Unusable)
    assert "somebody else" in found.why
    found = ControlGroups(MemoryTree(controllers="cpu io")).look()
    assert isinstance(found, Unusable)
    assert "neither" in found.why


def test_the_root_of_all_groups_needs_nobody_to_step_aside() -> None:
    tree = MemoryTree(others=4_000_000)
    del tree.files[ROOT]["cgroup.type"]
    assert ControlGroups(tree).group({"memory": "1G"}) is not None
    assert tree.files[ROOT]["cgroup.subtree_control"] == "memory pids"
    assert tree.groups == []


def test_what_a_killed_daemon_left_is_removed_by_the_next_and_what_lives_is_not() -> None:
    tree = MemoryTree()
    tree.files[ROOT]["cgroup.procs"] = ""
    mine = group_name(1)
    prefix, namespace, pid, began, _ = mine.split(".")
    gone = f"{prefix}.{namespace}.{pid}.{int(began) + 1}.4"
    elsewhere = f"{prefix}.{int(namespace) + 1}.{pid}.{int(began) + 1}.5"
    for name in (LEAF, mine, gone, elsewhere, f"{prefix}.not.ours"):
        tree.make(f"{ROOT}/{name}")
    tree.files[f"{ROOT}/{gone}"]["cgroup.procs"] = "4000000"
    # The next daemon may find itself where the first one went.
    tree.at = f"{ROOT}/{LEAF}"
    sweep_groups(tree)
    assert tree.groups == [LEAF, mine, elsewhere, f"{prefix}.not.ours"]


DOOMED = """
import asyncio, pathlib, sys
sys.path.insert(0, sys.argv[2])
from sandbox.den import Den
from sandbox.test_control_groups import HOLDS, real_tree
from switchboard.sandbox.groups.control_groups import ControlGroups
from switchboard.sandbox.sandbox import Sandbox

async def main():
    den = Den(pathlib.Path(sys.argv[1]))
    den.sandbox = Sandbox(groups=ControlGroups(real_tree()))
    async with den.started((sys.executable, "-c", HOLDS), limits={"processes": 20}) as running:
        print(running.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def real_tree() -> KernelTree:
    """Give the tree of this machine in which processes may be counted, if there is one."""
    return PidsTree() if os.access(f"{PIDS}/cgroup.procs", os.W_OK) else KernelTree()


async def test_what_is_left_of_a_process_that_was_killed_goes_with_the_next_sweep(
    tmp_path: Path,
) -> None:
    tests = str(Path(__file__).parents[1])
    doomed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DOOMED, str(tmp_path), tests), stdout=asyncio.subprocess.PIPE
    )
    assert doomed.stdout is not None
    child = int(await asyncio.wait_for(doomed.stdout.readline(), PATIENCE))
    tree = real_tree()

    is_counted = not isinstance(ControlGroups(tree).look(), Unusable)

    def left() -> list[str]:
        names = tree.names(tree.own()) if is_counted else []
        return [name for name in names if f".{doomed.pid}." in name]

    assert len(left()) == int(is_counted)
    doomed.kill()
    await doomed.wait()
    await until_gone([child])
    sweep_groups(tree)
    assert left() == []


async def test_the_kernel_refuses_a_fork_beyond_the_limit_even_to_root(den: Den) -> None:
    tree = real_tree()
    groups = ControlGroups(tree)
    den.sandbox = Sandbox(groups=groups)
    found = groups.look()
    made = int((await den.python(FORKS, limits={"processes": 20})).stdout)
    if not isinstance(found, Unusable) and "pids" in found:
        # The program, and the first process of its namespace, are counted too.
        assert made == 18
        assert not [name for name in tree.names(tree.own()) if str(os.getpid()) in name.split(".")]
    else:
        assert made == (60 if os.getuid() == 0 else 18)
