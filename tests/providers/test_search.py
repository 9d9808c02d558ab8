"""Whatever a session may call is found in one place: `find_tool` needs nothing else."""

from pathlib import Path

from fakes.calls import a_session
from fakes.events import MemoryEvents
from support.processes import wait_until_none_mention
from support.workspace import Workspace, child_command, server
from switchboard.core.bus import EventBus
from switchboard.core.ports import Directory
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import running
from switchboard.settings.load import load_settings


async def find_tools(word: str, directory: Directory, session: Session) -> list[str]:
    """Search the names and descriptions of everything that the session may call."""
    tools = await directory.offers("tools", session, None)
    subtools = await directory.offers("subtools", session, None)
    return [
        f"{offer.via.name}/{offer.name}" if offer.via is not None else offer.name
        for offer in (*tools, *subtools)
        if offer.spec is not None and word in f"{offer.name} {offer.spec.description}".lower()
    ]


async def test_tools_of_every_provider_are_found_and_those_that_are_hidden_are_not(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.mcp_json(
        {
            "one": server(child_command("echo_child", "one")),
            "two": server(child_command("echo_child", "two"), expose="tools", tool_prefix="two_"),
            "three": server(child_command("echo_child", "three")),
        }
    )
    workspace.config_json({"suites": {"three": {"expose": {"deny": ["add"]}}}})
    workspace.config_toml("[tools]\ndeny = ['two_ref*']\n", scope="home")
    workspace.write("switchyard.toml", "")
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    bus = EventBus(MemoryEvents().emit)
    async with running(settings, environ=workspace.env, events=bus) as runtime:
        board = runtime.boards.current
        assert board.directory is not None
        directory, session = board.directory(), a_session()
        assert await find_tools("adds two", directory, session) == ["two_add", "one_suite/add"]
        assert await find_tools("refuse", directory, session) == [
            "one_suite/refuse",
            "three_suite/refuse",
        ]
        assert "switchyard_status" in await find_tools("status", directory, session)
    wait_until_none_mention(str(tmp_path))
