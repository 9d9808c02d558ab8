"""`serve --http` attaches a listener to the daemon, and the daemon answers for itself there."""

import asyncio
import json
import signal
import socket
import time
from pathlib import Path

import httpx2
import pytest

from cli.commands import switchboard
from control.results import pid_in
from support.daemons import daemon_pid, shim, status, under_way
from support.endpoints import PATIENCE, message, serving
from support.processes import alive, until_true
from support.workspace import Workspace


async def until_refused(url: str) -> None:
    """Wait until nobody listens there any more."""
    port = int(url.removesuffix("/mcp").rsplit(":", 1)[1])
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                return
            await asyncio.sleep(0.02)


async def test_clients_over_http_and_stdio_share_children(workspace: Workspace) -> None:
    async with shim(workspace) as client, serving(workspace) as endpoint:
        ours = pid_in(await client.call_subtool("echo_suite", "report"))
        assert pid_in(await endpoint.call("report")) == ours
        found = status(workspace)
        assert found is not None
        clients = {session["client"] for session in found["sessions"]}
        assert clients == {"switchboard-tests 1", "http-tests 1"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_the_listener_ends_with_its_command(
    workspace: Workspace, number: signal.Signals
) -> None:
    async with serving(workspace) as endpoint:
        pid = daemon_pid(workspace)
        assert await endpoint.ends(number) == 0
        with pytest.raises(httpx2.ConnectError):
            await endpoint.call("echo", text="x")
        assert alive(pid)


async def test_who_starts_a_listener_is_told_where_it_writes(workspace: Workspace) -> None:
    # Two servers under one name: one of them is left out, with a warning.
    workspace.echo_child("one", suiteName="same")
    workspace.echo_child("two", suiteName="same")
    async with serving(workspace) as endpoint:
        assert endpoint.report["log"] == workspace.daemon_places.log
        assert endpoint.report["warnings"]
    async with serving(workspace, "--in-process") as endpoint:
        assert not endpoint.report["log"]
    process = await asyncio.create_subprocess_exec(
        *workspace.command("serve", "--http", "--port", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
    )
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        said = (await process.stderr.readuntil(b"Ctrl-C stops it")).decode()
        process.terminate()
        await process.communicate()
    assert "switchboard daemon logs" in said
    assert said.startswith("warning: ")


async def test_the_listener_ends_with_a_command_that_is_killed(workspace: Workspace) -> None:
    async with serving(workspace) as endpoint:
        await endpoint.ends(signal.SIGKILL)
        await until_refused(endpoint.url)


async def test_a_daemon_that_is_stopped_ends_the_command(workspace: Workspace) -> None:
    async with serving(workspace) as endpoint:
        await asyncio.to_thread(switchboard, workspace, "daemon", "stop")
        async with asyncio.timeout(PATIENCE):
            _, err = await endpoint.process.communicate()
        assert endpoint.process.returncode in {0, 1}
        await until_refused(endpoint.url)
        del err


async def test_a_daemon_with_a_listener_is_not_idle(workspace: Workspace) -> None:
    env = {"SWITCHBOARD_DAEMON_IDLE_MS": "100"}
    async with serving(workspace, env=env) as endpoint:
        pid = daemon_pid(workspace)
        # It looks once a second whether it is idle.
        await asyncio.sleep(2.5)
        assert alive(pid)
        await endpoint.call("report")
        assert await endpoint.ends(signal.SIGINT) == 0
        await until_true(lambda: not alive(pid))


async def test_the_board_is_that_of_the_command(workspace: Workspace, tmp_path: Path) -> None:
    other = Workspace(tmp_path)
    other.echo_child("other")
    async with (
        serving(workspace, "--workspace", str(other.root)) as endpoint,
        endpoint.control() as c,
    ):
        (suite,) = (await c.ask("introspect"))["suites"]
        assert suite["suite"] == "other_suite"


async def test_in_process_serves_without_a_daemon_and_without_control(workspace: Workspace) -> None:
    async with serving(workspace, "--in-process") as endpoint:
        assert status(workspace) is None
        assert (await endpoint.call("report"))["content"]
        async with endpoint.http(endpoint.token()) as http:
            assert (await http.post(f"{endpoint.base}/control/status", json={})).status_code == 404
        assert await endpoint.ends(signal.SIGINT) == 0


def test_other_machines_are_not_served_by_accident(workspace: Workspace) -> None:
    done = switchboard(workspace, "serve", "--http", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out) == (1, "")
    assert "0.0.0.0" in done.err


def test_a_port_that_is_taken_is_told(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = switchboard(workspace, "serve", "--http", "--port", port, "--json")
    assert (done.code, done.report["reason"]) == (1, "port-in-use")


# The control API


async def test_the_daemon_tells_of_itself_over_http(workspace: Workspace) -> None:
    async with serving(workspace) as endpoint, endpoint.control() as control:
        assert (await control.ask("status"))["pid"] == daemon_pid(workspace)
        called = await control.ask("call", name="echo", subtool="echo", arguments={"text": "hi"})
        assert called["result"]["content"][0]["text"] == "echo: hi"
        assert (await control.ask("sessions")) == {"sessions": []}
        assert (await control.ask("child", action="stop", name="echo")) == {"count": 1}
        events = [each["event"] for each in (await control.ask("events", last=100))["events"]]
        assert {"SessionOpened", "ChildStarted", "ChildExited"} <= set(events)
        assert (await control.ask("reload")) == {"count": 1}
        (server,) = (await control.ask("tokens"))["servers"]
        assert server["suite"] == "echo_suite"


async def test_events_can_be_followed_over_http(workspace: Workspace) -> None:
    async with (
        serving(workspace) as endpoint,
        endpoint.control() as control,
        control.http.stream("GET", f"{endpoint.base}/control/events") as response,
    ):
        assert response.status_code == 200
        lines = response.aiter_lines()
        await anext(lines)
        await control.ask("call", name="echo", subtool="echo", arguments={"text": "hi"})
        async for line in lines:
            if line.startswith("data:") and json.loads(line[5:])["event"] == "CallFinished":
                break


async def test_a_stop_ends_streams_and_answers_calls_at_once(workspace: Workspace) -> None:
    async with (
        serving(workspace) as endpoint,
        endpoint.control() as control,
        control.http.stream("GET", f"{endpoint.base}/control/events") as response,
    ):
        lines = response.aiter_lines()
        await anext(lines)
        call = asyncio.ensure_future(control.post("call", name="echo", subtool="stall"))
        await until_true(lambda: under_way(workspace) == 1)
        began = time.monotonic()
        stopping = asyncio.ensure_future(
            asyncio.to_thread(switchboard, workspace, "daemon", "stop")
        )
        # Both to their proper end, which a broken connection is not.
        assert (await call).status_code == 503
        async for _ in lines:
            pass
        assert (await stopping).code == 0
        # What is left open is cut off after two seconds.
        assert time.monotonic() - began < 1.9


async def test_faults_are_told_with_a_status_of_their_own(workspace: Workspace) -> None:
    async with serving(workspace) as endpoint, endpoint.control() as control:
        missing = await control.post("call", name="nobody", subtool="x")
        assert (missing.status_code, missing.json()["fault"]["reason"]) == (404, "unknown-server")
        assert (await control.post("call", name="echo")).status_code == 400
        assert (await control.post("somersault")).status_code == 400
        assert (await control.post("call", name=7)).status_code == 400
        listed = await control.http.get(f"{endpoint.base}/control/status")
        assert listed.status_code == 405


async def test_a_token_for_tools_is_none_for_the_daemon(workspace: Workspace) -> None:
    async with serving(workspace) as endpoint:
        control_token, token = endpoint.token("control-token"), endpoint.token()
        assert control_token != token
        for wrong in (token, "x"):
            async with endpoint.http(wrong) as http:
                refused = await http.post(f"{endpoint.base}/control/stop", json={})
                assert refused.status_code == 401
        async with endpoint.http(control_token) as http:
            assert (await http.post(endpoint.url, json=message("ping", {}))).status_code == 401
        assert (endpoint.workspace.home / "control-token").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
async def test_pages_of_elsewhere_do_not_reach_the_daemon(
    workspace: Workspace, headers: dict[str, str], code: int
) -> None:
    async with serving(workspace) as endpoint, endpoint.control(**headers) as control:
        assert (await control.post("status")).status_code == code


async def test_control_is_for_this_machine_alone(workspace: Workspace) -> None:
    words = ("--host", "0.0.0.0", "--allow-remote")
    async with serving(workspace, *words) as endpoint:
        async with endpoint.http(endpoint.token()) as http:
            refused = await http.post(f"{endpoint.base}/control/status", json={})
            assert refused.status_code == 404
        assert not (workspace.home / "control-token").exists()
