"""`doctor` looks at the daemons of a home too."""

from pathlib import Path

from cli.commands import switchboard
from support.daemons import another_version, shim
from support.workspace import Json, Workspace


def about_daemons(workspace: Workspace) -> list[Json]:
    report = switchboard(workspace, "doctor", "--json").report
    return [each for each in report["findings"] if each["subject"] == "daemon"]


async def test_a_daemon_of_another_version_is_found(workspace: Workspace, tmp_path: Path) -> None:
    async with shim(workspace, env=another_version(tmp_path)) as client:
        (finding,) = about_daemons(workspace)
        assert "version 9.9.9" in finding["message"]
        assert finding["hint"] == "switchboard daemon restart"
        await client.tools()


async def test_a_daemon_that_drains_is_found(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        assert about_daemons(workspace) == []
        assert switchboard(workspace, "daemon", "stop", "--drain").code == 0
        (finding,) = about_daemons(workspace)
        assert "1 old daemon" in finding["message"]
        assert finding["hint"] == "switchboard daemon restart"
        await client.tools()


async def test_what_changes_nothing_of_its_user_is_mended(workspace: Workspace) -> None:
    async with shim(workspace) as client:
        assert switchboard(workspace, "daemon", "stop", "--drain").code == 0
        done = switchboard(workspace, "doctor", "--fix", apart=True)
        assert "ran `switchboard daemon restart`\n" in done.out, done.out + done.err
        assert about_daemons(workspace) == []
        await client.tools()
