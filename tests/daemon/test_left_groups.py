"""A daemon that was killed leaves control groups behind, and the next one removes them."""

from contextlib import suppress
from pathlib import Path

from support.daemons import shim
from support.processes import until_true
from support.workspace import Workspace
from switchboard.sandbox.groups.group_tree import KernelTree
from switchboard.sandbox.groups.left_groups import base_of, group_name


async def test_a_new_daemon_removes_the_group_of_one_that_has_ended(workspace: Workspace) -> None:
    """Where nobody may make groups none is left, and the daemon starts as well."""
    mine = group_name(1)
    prefix, namespace, pid, began, _ = mine.split(".")
    gone = f"{prefix}.{namespace}.{pid}.{int(began) + 1}.1"
    left: list[Path] = []
    with suppress(OSError):
        folder = Path(base_of(KernelTree()))
        for name in (mine, gone):
            (folder / name).mkdir()
            left.append(folder / name)
    try:
        async with shim(workspace) as client:
            assert await client.tools()
            await until_true(lambda: not any(each.name == gone and each.exists() for each in left))
        assert all(each.exists() for each in left if each.name == mine)
    finally:
        for each in left:
            with suppress(FileNotFoundError):
                each.rmdir()
