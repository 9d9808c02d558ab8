"""Whatever a session may call is found in one place: `find_tool` needs nothing else."""

import asyncio
from pathlib import Path

from fakes.calls import a_call, a_session
from fakes.events import MemoryEvents
from support.processes import wait_until_none_mention
from support.workspace import Workspace, child_command, server
from switchboard.core.bus import EventBus
from switchboard.core.events import ChildStarted
from switchboard.core.ports import Directory
from switchboard.core.sessions import Session
from switchboard.daemon.board.runtime import running
from switchboard.settings.load import load_settings

PATIENCE = 5.0


async def find_tools(word: str, directory: Directory, session: Session) -> list[str]:
    """Search the names and descriptions of everything that the session may call."""
    tools = await directory.offers("tools", session, None)
    subtools = await directory.offers("subtools", session, None)
    return [
        f"{offer.via.name}/{offer.name}" if offer.via is not None else offer.name
        for offer in (*tools, *subtools)
        if offer.spec is not None
        and not offer.withheld
        and word in f"{offer.name} {offer.spec.description}".lower()
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


async def test_tools_of_a_suite_that_is_hidden_are_not_found_and_its_server_is_not_started(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.mcp_json(
        {
            "open": server(child_command("echo_child", "open")),
            "secret": server(child_command("echo_child", "secret")),
        }
    )
    workspace.config_toml("[tools]\ndeny = ['secret*']\n", scope="home")
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    events = MemoryEvents()
    async with running(settings, environ=workspace.env, events=EventBus(events.emit)) as runtime:
        board = runtime.boards.current
        assert board.directory is not None
        subtools = await board.directory().offers("subtools", a_session(), None)
        assert {each.via.name for each in subtools if each.via} == {"open_suite"}
        assert {each.child for each in events.of(ChildStarted)} == {"open"}
    wait_until_none_mention(str(tmp_path))


async def test_who_has_contents_of_its_own_answers_without_waiting_for_a_server(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.mcp_json({"slow": server(["sleep", "60"])})
    workspace.write("switchyard.toml", "")
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(
        settings, environ=workspace.env, events=EventBus(MemoryEvents().emit)
    ) as runtime:
        board = runtime.boards.current
        assert board.directory is not None
        spec = board.directory().spec("prompts/get")
        assert spec is not None
        wanted = {"name": "switchyard_runtime_handoff"}
        async with asyncio.timeout(PATIENCE):
            outcome = await board.pipeline(a_call(spec, arguments=wanted))
        assert outcome.raw is not None
        assert b"messages" in bytes(outcome.raw)
    wait_until_none_mention(str(tmp_path))
