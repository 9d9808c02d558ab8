"""A `switchyard.toml` runs commands, so nothing of it is shown or run before its user trusts it."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from boarded import SIMPLE, Boarded, called, simple
from yardlab import Json

from cli.commands import trust_shown
from support.mcp_stdio import RpcError, StdioClient
from support.requirements import requirement


def told(board: Boarded, *words: str, cwd: Path | None = None) -> Json:
    """Run a command of Switchboard; gives its report."""
    done = subprocess.run(
        board.workspace.command(*words, "--json"),
        cwd=cwd or board.lab.root,
        env=board.workspace.env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def trust(board: Boarded, *words: str, cwd: Path | None = None) -> Json:
    if not words or "--revoke" in words:
        return told(board, "trust", *words, cwd=cwd)
    done = trust_shown(board.workspace, *words, "--json", env={}, cwd=cwd or board.lab.root)
    return done.report


def states(report: Json) -> dict[str, tuple[str, str]]:
    return {each["name"]: (each["kind"], each["state"]) for each in report["entries"]}


async def listed_again(client: StdioClient) -> dict[str, Json]:
    await client.message("notifications/tools/list_changed")
    return await client.tools()


async def refused(client: StdioClient, name: str) -> str:
    """Give the reason why a tool that is shown does nothing."""
    result = await client.call(f"switchyard_{name}", {})
    assert result["isError"], result
    return result["_meta"]["switchboard/error"]["reason"]


async def test_untrusted_nothing_is_shown_and_nothing_can_be_called(board: Boarded) -> None:
    board.untrusting()
    simple(board.lab)
    async with board.client() as client:
        assert await client.tools() == {}
        asked: list[tuple[str, Json]] = [
            ("tools/call", {"name": "switchyard_brief", "arguments": {}}),
            ("resources/list", {}),
            ("resources/read", {"uri": "switchyard://project/brief"}),
            ("prompts/list", {}),
        ]
        for method, params in asked:
            with pytest.raises(RpcError):
                await client.request(method, params)
    assert not board.lab.home.exists()


async def test_the_client_is_told_that_something_waits(own_process: Boarded) -> None:
    own_process.untrusting()
    simple(own_process.lab)
    [finding] = [
        each for each in told(own_process, "doctor")["findings"] if "switchyard" in str(each)
    ]
    assert "switchboard trust switchyard.toml" in finding["hint"]
    async with own_process.client() as client:
        first = await client.request("initialize", {"protocolVersion": "2025-11-25"})
    assert "waits for trust" in first["instructions"]
    assert "shop" not in first["instructions"]
    trust(own_process, "--all")
    async with own_process.client() as client:
        then = await client.request("initialize", {"protocolVersion": "2025-11-25"})
    assert "waits for trust" not in then["instructions"]
    assert "Every other tool takes its own arguments." in then["instructions"]


async def test_trust_shows_the_tools_and_a_change_hides_them_again(board: Boarded) -> None:
    board.untrusting()
    simple(board.lab)
    assert states(trust(board)) == {"switchyard.toml": ("project", "waiting")}
    async with board.client() as client:
        assert await client.tools() == {}
        assert states(trust(board, "switchyard.toml"))["switchyard.toml"][1] == "trusted"
        assert len(await listed_again(client)) == 13
        assert (await called(client, "up"))["services"][0]["phase"] == "ready"
        await called(client, "down")
        board.lab.config(SIMPLE.replace("{port}", "0") + "# another line\n")
        assert await listed_again(client) == {}
        trust(board, "--all")
        assert len(await listed_again(client)) == 13
        trust(board, "--revoke", "switchyard.toml")
        assert await listed_again(client) == {}


async def test_a_change_that_nobody_has_noticed_yet_runs_nothing(own_process: Boarded) -> None:
    own_process.untrusting()
    lab = own_process.lab
    simple(lab)
    trust(own_process, "--all")
    async with own_process.client() as client:
        assert len(await client.tools()) == 13
        await called(client, "brief")
        lab.config(f'[services.web]\ncommand = ["touch", "{lab.folder / "harm"}"]\n')
        # At once, before anybody had a look at the file.
        with suppress(RpcError):
            # Somebody may have looked meanwhile; then the tool is gone.
            assert await refused(client, "up") == "project-not-trusted"
    assert not (lab.folder / "harm").exists()


@requirement("S1.07")
async def test_a_worktree_needs_the_trust_of_the_file_that_governs_it(board: Boarded) -> None:
    board.untrusting()
    lab = board.lab
    simple(lab)
    path = lab.folder / lab.json("create", "feature")["path"]
    trust(board, "--all", cwd=path)
    async with board.client(cwd=path) as client:
        assert len(await client.tools()) == 13
        # Its own copy is trusted; what would run is decided at the root.
        assert await refused(client, "up") == "project-not-trusted"
        trust(board, "--all")
        assert (await called(client, "up"))["branch"] == "feature"
        await called(client, "down")


async def test_a_worktree_that_decides_for_itself_needs_trust_of_its_own(board: Boarded) -> None:
    board.untrusting()
    lab = board.lab
    simple(lab)
    file = lab.root / "switchyard.toml"
    file.write_text(file.read_text().replace("[project]", '[project]\nconfig = "worktree"'))
    lab.git("commit", "-qam", "each for itself")
    path = lab.folder / lab.json("create", "feature")["path"]
    trust(board, "--all")
    async with board.client() as client:
        result = await client.call("switchyard_up", {"branch": "feature"})
        assert result["_meta"]["switchboard/error"]["reason"] == "project-not-trusted"
        assert (await called(client, "up", branch="main"))["branch"] == "main"
        trust(board, "--all", cwd=path)
        assert (await called(client, "up", branch="feature"))["branch"] == "feature"
        await called(client, "down")


async def test_a_link_that_leads_out_of_the_workspace_is_no_project(own_process: Boarded) -> None:
    lab = own_process.lab
    elsewhere = lab.folder / "switchyard.toml"
    elsewhere.write_text('[services.web]\ncommand = ["true"]\n')
    (lab.root / "switchyard.toml").symlink_to(elsewhere)
    async with own_process.client() as client:
        assert await client.tools() == {}


async def test_it_can_be_turned_off_and_a_workspace_cannot_turn_it_on(board: Boarded) -> None:
    simple(board.lab)
    own = board.lab.root / ".switchboard" / "config.toml"
    own.parent.mkdir()
    async with board.client() as client:
        assert len(await client.tools()) == 13
        own.write_text("[yard]\nenabled = false\n")
        assert await listed_again(client) == {}
        own.write_text("[yard]\nenabled = true\n")
        assert len(await listed_again(client)) == 13
        board.workspace.config_toml("[yard]\nenabled = false\n", scope="home")
        assert await listed_again(client) == {}


async def test_deny_lists_hold_for_the_yard_too(own_process: Boarded) -> None:
    simple(own_process.lab)
    own_process.workspace.config_toml('[tools]\ndeny = ["switchyard_up"]\n', scope="home")
    async with own_process.client() as client:
        tools = await client.tools()
        assert len(tools) == 12
        assert "switchyard_up" not in tools
