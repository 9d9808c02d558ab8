"""A host that was started without a search path still finds the programs that its user has."""

import asyncio
from pathlib import Path

from daemon.test_scopes import report
from support.daemons import shim, status
from support.requirements import attack
from support.workspace import Workspace, child_command, server

# What a desktop gives the programs that it starts.
SPARSE = {"PATH": "/usr/bin:/bin"}


def own_program(workspace: Workspace) -> Path:
    """Write a server that only a login shell finds; gives the folder that it lies in."""
    tools = workspace.user_home / "tools"
    tools.mkdir()
    program, *args = child_command("echo_child")
    path = tools / "my-server"
    path.write_text(f"#!/bin/sh\nexec {program} {' '.join(args)}\n", "utf-8")
    path.chmod(0o755)
    workspace.mcp_json({"mine": server(["my-server"])})
    return tools


def login_says(workspace: Workspace, text: str) -> None:
    # Every shell that an account may have reads it, if it has no other.
    (workspace.user_home / ".profile").write_text(text, "utf-8")


async def test_the_path_of_the_login_shell_is_added_at_the_end(workspace: Workspace) -> None:
    tools = own_program(workspace)
    asked = workspace.user_home / "asked"
    login_says(
        workspace,
        f'echo asked >> "{asked}"\necho "welcome home"\nexport PATH="{tools}:$PATH" TOKEN=hush\n',
    )
    for _ in range(2):
        async with shim(workspace, env=SPARSE) as client:
            env = (await report(client, "mine_suite"))["env"]
            folders = env["PATH"].split(":")
            assert folders[:2] == ["/usr/bin", "/bin"]
            assert str(tools) in folders[2:]
            assert "TOKEN" not in env
    # Once is enough for every session of a daemon.
    assert asked.read_text("utf-8") == "asked\n"
    assert len((status(workspace) or {})["boards"]) == 1


async def test_a_shell_is_not_asked_where_every_program_is_found(workspace: Workspace) -> None:
    asked = workspace.user_home / "asked"
    login_says(workspace, f'echo asked >> "{asked}"\n')
    async with shim(workspace) as client:
        await report(client)
    assert not asked.exists()


async def test_a_shell_that_never_ends_keeps_nobody_waiting(workspace: Workspace) -> None:
    own_program(workspace)
    login_says(workspace, "sleep 1000\n")
    async with asyncio.timeout(30), shim(workspace, env=SPARSE) as client:
        result = await client.call("mine_suite", {"action": "introspect"})
        assert result["isError"]
        assert "boards" in (status(workspace) or {})
    workspace.stop_daemon()


@attack("T5")
async def test_the_shell_is_that_of_the_account_whatever_a_client_says(
    workspace: Workspace,
) -> None:
    tools = own_program(workspace)
    login_says(workspace, f'export PATH="{tools}:$PATH"\n')
    ran = workspace.user_home / "ran"
    evil = workspace.root / "evil.sh"
    evil.write_text(f'#!/bin/sh\ntouch "{ran}"\n', "utf-8")
    evil.chmod(0o755)
    for shell in (str(evil), "evil.sh", "./evil.sh"):
        async with shim(workspace, env={**SPARSE, "SHELL": shell}) as client:
            await report(client, "mine_suite")
    assert not ran.exists()
