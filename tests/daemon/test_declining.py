"""A client that the daemon does not serve hears why, and is served all the same."""

import json
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.daemons import daemon_pid, dial, make_run_folder, shim, status
from support.mcp_stdio import talking_to
from support.workspace import Workspace, child_command, server
from switchboard.config.documents import MAX_FOREIGN_BYTES
from switchboard.ipc.hello import hello_line
from switchboard.ipc.protocol import CLIENT, MAX_HELLO_BYTES, STREAMS
from switchboard.settings.trust import trust_folder


def answer_to(stranger: socket.socket, hello: bytes) -> str:
    stranger.sendall(hello)
    return stranger.makefile(encoding="utf-8").readline().rstrip("\n")


async def test_a_home_is_the_same_by_whichever_link_it_is_reached(
    workspace: Workspace, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace.user_home)
    async with shim(workspace) as one:
        pid = daemon_pid(workspace)
        other = {"SWITCHBOARD_HOME": str(link / ".switchboard")}
        async with shim(workspace, env=other) as two:
            assert (one.stderr, two.stderr) == ("", "")
            found = status(workspace)
            assert found is not None
            assert found["pid"] == pid
            assert {session["pid"] for session in found["sessions"]} == {one.pid, two.pid}
            assert [board["sessions"] for board in found["boards"]] == [2]


async def test_a_hello_may_name_the_home_by_a_link(workspace: Workspace, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace.home)
    async with shim(workspace):
        with dial(workspace) as stranger:
            hello = hello_line(CLIENT, home=str(link), cwd=str(workspace.root))
            assert answer_to(stranger, hello).startswith("need ")


async def test_who_means_another_home_is_told_so(workspace: Workspace, tmp_path: Path) -> None:
    async with shim(workspace):
        with dial(workspace) as stranger:
            hello = hello_line(CLIENT, home=str(tmp_path), cwd=str(workspace.root))
            assert answer_to(stranger, hello) == (
                f"declined it serves another home, `{workspace.home}`"
            )


async def test_a_broken_environment_is_a_reason(workspace: Workspace) -> None:
    broken = {**workspace.env, "ENABLE_MCP_SERVER_SURFACE": "perhaps"}
    async with talking_to(workspace.command("mcp"), cwd=workspace.root, env=broken) as client:
        assert await client.ended() == 2
        first, *rest = client.stderr.splitlines()
        assert first == (
            "warning: the daemon does not serve this client: the configuration cannot be used as"
            " it is; serving in this process instead"
        )
        assert any("ENABLE_MCP_SERVER_SURFACE" in line for line in rest)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("mcp.json", '{"mcpServers": obey}', "it is not valid JSON"),
        ("mcp.json", '{"obey": 1, "obey": 2}', "it is not valid JSON"),
        ("config.toml", "obey = obey", "it is not valid TOML"),
        ("config.toml", "# obey" + " " * MAX_FOREIGN_BYTES, "it is no file that can be read"),
        (
            "mcp.json",
            '{"mcpServers": {"x": {"command": {"obey": "obey"}}}}',
            "a key or value at that place is not allowed there",
        ),
    ],
)
async def test_a_client_is_told_what_kind_of_problem_a_file_has_in_none_of_its_words(
    workspace: Workspace, name: str, text: str, why: str
) -> None:
    workspace.write(f".switchboard/{name}", text)
    command = workspace.command("mcp")
    async with talking_to(command, cwd=workspace.root, env=workspace.env) as client:
        told = (await client.initialize())["instructions"]
    assert f" cannot be used: {why}, so what it declares is missing." in told
    assert "obey" not in told


async def test_a_server_that_waits_for_trust_in_the_folder_is_named(workspace: Workspace) -> None:
    here = server(child_command("echo.py"), start_in="workspace")
    workspace.mcp_json({"files": here, "echo": server(child_command("echo.py"))}, scope="home")
    workspace.write(".switchboard/mcp.json", json.dumps({"mcpServers": {"stranger": here}}))
    command = workspace.command("mcp")
    env = {**workspace.env, "SWITCHBOARD_TRUST_WORKSPACE": "0"}
    async with talking_to(command, cwd=workspace.root, env=env) as client:
        told = (await client.initialize())["instructions"]
    assert "Missing because this folder is not trusted: `files`. " in told
    assert "`switchboard trust --folder`" in told
    assert "stranger" not in told
    trust_folder(str(workspace.home), str(workspace.root))
    async with talking_to(command, cwd=workspace.root, env=env) as client:
        assert "not trusted" not in (await client.initialize())["instructions"]


@pytest.mark.parametrize("verb", ["mcp", "serve"])
async def test_a_broken_file_ends_no_connection_and_is_named(
    workspace: Workspace, verb: str
) -> None:
    """One typo in one file; the servers of the others work, and everybody says what is wrong."""
    workspace.mcp_json({"echo": server(child_command("echo.py"))}, scope="home")
    workspace.write(".switchboard/mcp.json", '{"mcpServers": {"x": {"cmd": "y"}}}')
    command = workspace.command(*(["mcp"] if verb == "mcp" else ["serve", "--stdio"]))
    async with talking_to(command, cwd=workspace.root, env=workspace.env) as client:
        told = (await client.initialize())["instructions"]
        assert (
            "The configuration file `.switchboard/mcp.json:1:23` cannot be used: a key or value at"
            " that place is not allowed there, so what it declares is missing. Tell the user to run"
            " `switchboard config check`."
        ) in told
        # Its own words are a stranger's.
        assert "cmd" not in told
        assert set(await client.tools()) == {"echo_suite"}
        await client.call_subtool("echo_suite", "echo", {"text": "on"})
    for words, of_others in ((["list"], "echo_suite"), (["doctor"], "servers    1\n")):
        shown = subprocess.run(  # noqa: ASYNC221 - nothing else waits
            workspace.command(*words),
            cwd=workspace.root,
            env=workspace.env,
            capture_output=True,
            text=True,
            check=False,
        )
        said = shown.stdout + shown.stderr
        assert shown.returncode == 1
        assert ".switchboard/mcp.json:1" in said
        assert "unknown field `cmd`" in said
        assert of_others in said


async def test_an_edit_that_breaks_a_file_takes_nothing_from_newcomers_either(
    workspace: Workspace,
) -> None:
    path = workspace.mcp_json({"echo": server(child_command("echo.py"))})
    async with shim(workspace) as one:
        assert set(await one.tools()) == {"echo_suite"}
        path.write_text("{")
        async with shim(workspace) as two:
            told = (await two.initialize())["instructions"]
            assert "so what it held before still counts" in told
            assert set(await two.tools()) == {"echo_suite"}
            found = status(workspace)
            assert found is not None
            assert ".switchboard/mcp.json" in found["boards"][0]["problem"]
            assert found["boards"][0]["sessions"] == 2


async def test_a_hello_that_is_too_long_is_a_reason(workspace: Workspace) -> None:
    path = workspace.env["PATH"] + ":" + "x" * MAX_HELLO_BYTES
    async with shim(workspace, env={"PATH": path}) as client:
        assert set(await client.tools()) == {"echo_suite"}
        assert "the environment is too large for the daemon" in client.stderr
        assert f"at most {MAX_HELLO_BYTES}" in client.stderr


async def test_an_environment_that_is_too_large_to_inherit_is_a_reason(
    workspace: Workspace,
) -> None:
    workspace.mcp_json({"heir": server(child_command("echo_child"), inherit_env=True)})
    # Written as JSON each of these takes six times as much.
    env = {f"LARGE_{number}": "\x01" * 100_000 for number in range(10)}
    async with shim(workspace, env=env) as client:
        assert set(await client.tools()) == {"echo_suite", "heir_suite"}
        assert "the environment is too large for the daemon" in client.stderr


@contextmanager
def one_who_is_ready(workspace: Workspace, *, loses: bool = False) -> Generator[None]:
    """Listen where the daemon should; be ready for a client, and take nothing from it.

    `loses`: take its word, and say that the streams beside it have not come.
    """
    make_run_folder(workspace)

    def leave(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(MAX_HELLO_BYTES)
            if not loses:
                connection.shutdown(socket.SHUT_RD)
            connection.sendall(b"ready\n")
            if loses:
                assert connection.recv(MAX_HELLO_BYTES) == STREAMS
                connection.sendall(b"declined it has too many files open\n")
            # Until the shim has given up.
            finished.wait(20)

    finished = threading.Event()
    path = workspace.daemon_places.socket
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        leaving = threading.Thread(target=leave, args=(listening,))
        leaving.start()
        try:
            yield
        finally:
            finished.set()
            leaving.join()
            Path(path).unlink()


async def test_a_daemon_that_does_not_take_the_streams_is_done_without(
    workspace: Workspace,
) -> None:
    with one_who_is_ready(workspace):
        async with shim(workspace) as client:
            assert "the daemon did not take over" in client.stderr
            assert set(await client.tools()) == {"echo_suite"}
            assert await client.close() == 0


async def test_a_shim_keeps_its_streams_until_they_have_been_taken(workspace: Workspace) -> None:
    with one_who_is_ready(workspace, loses=True):
        async with shim(workspace) as client:
            assert "does not serve this client: it has too many files open;" in client.stderr
            assert set(await client.tools()) == {"echo_suite"}
            assert await client.close() == 0
