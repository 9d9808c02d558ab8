"""`logs` and `restart`: what a server prints is kept, and it is started anew, by name."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from cli.commands import Finished, switchboard
from support.daemons import shim, status, under_way
from support.processes import until_gone, until_true
from support.workspace import Workspace, child_command, server

# Says what it is told on stderr as well, and its key in two pieces.
LOUD = """
import os, sys
sys.path.insert(0, {children!r})
from common_tools import common_server
sys.stderr.write("ready, with " + os.environ.get("API_KEY", "")[:9])
sys.stderr.flush()
sys.stderr.write(os.environ.get("API_KEY", "")[9:] + "\\nhome is " + os.getcwd() + "\\n")
sys.stderr.flush()
common_server("loud").run()
"""


# Says on stderr what it is asked to echo.
TELLTALE = """
import sys
sys.path.insert(0, {children!r})
from common_tools import common_server
server = common_server("telltale")
echo = server.tools["echo"]
def told(args):
    print("heard " + args["text"], file=sys.stderr, flush=True)
    return echo.handler(args)
server.tools["echo"] = echo._replace(handler=told)
server.run()
"""


def loud(workspace: Workspace) -> None:
    script = workspace.write("loud.py", LOUD.format(children=child_command("x")[1][:-5]))
    key = "canary-of-a-loud-server"
    workspace.env["LOUD_KEY"] = key
    entry = server([sys.executable, script], secret_env={"API_KEY": "env:LOUD_KEY"})
    workspace.mcp_json({"loud": entry})


async def test_what_a_server_prints_is_shown_without_its_secrets(workspace: Workspace) -> None:
    loud(workspace)
    async with shim(workspace) as client:
        before = await asyncio.to_thread(switchboard, workspace, "logs", "loud")
        assert (before.code, before.out) == (0, "")
        assert "the daemon has not started `loud` yet" in before.err
        await client.call_subtool("loud_suite", "echo", {"text": "x"})
        done = await asyncio.to_thread(switchboard, workspace, "logs", "loud", "--json")
        found = status(workspace)
        assert found is not None
        (pid,) = [each["pid"] for each in found["children"] if each["name"] == "loud"]
        texts = [line["text"] for line in done.report["log"]]
        # Nothing is hidden from the user but the secret.
        assert f"home is {workspace.root}" in texts
        assert "canary" not in done.out
        assert any(text.startswith("ready, with ") and len(text) > 12 for text in texts)
        assert {line["pid"] for line in done.report["log"]} == {pid}
        assert all(line["time"].endswith("Z") for line in done.report["log"])
        last = await asyncio.to_thread(switchboard, workspace, "logs", "loud_suite", "--lines", "1")
        assert last.out.count("\n") == 1


async def test_a_log_is_followed_across_a_restart(workspace: Workspace) -> None:
    loud(workspace)
    async with shim(workspace) as client:
        await client.call_subtool("loud_suite", "echo", {"text": "x"})
        found = status(workspace)
        assert found is not None
        (first,) = [each["pid"] for each in found["children"] if each["name"] == "loud"]
        follow = await asyncio.create_subprocess_exec(
            *workspace.command("logs", "-f", "loud", "--json"),
            stdout=asyncio.subprocess.PIPE,
            env=workspace.env,
            cwd=workspace.root,
        )
        assert follow.stdout is not None
        done = await asyncio.to_thread(switchboard, workspace, "restart", "loud")
        assert (done.code, done.out) == (0, "restarted loud\n")
        await until_gone([first])
        seen: list[int] = []
        async with asyncio.timeout(30):
            while len(set(seen)) < 2:
                report = json.loads(await follow.stdout.readline())
                assert report["schema"] == "switchboard.logs-line/1"
                seen.append(report["line"]["pid"])
        follow.terminate()
        await follow.wait()
        assert await client.call_subtool("loud_suite", "echo", {"text": "x"})


async def test_a_log_stays_small(workspace: Workspace) -> None:
    flood = (
        "import sys; sys.stderr.write('x' * 70 + chr(10)); "
        "[sys.stderr.write(f'line {n} ' + 'y' * 200 + chr(10)) for n in range(20000)]"
    )
    workspace.mcp_json({"flood": server([sys.executable, "-c", flood])})
    async with shim(workspace) as client:
        await client.call_subtool("flood_suite", "any")
        done = await asyncio.to_thread(
            switchboard, workspace, "logs", "flood", "--lines", "100000", "--json"
        )
        texts = [line["text"] for line in done.report["log"]]
        assert 500 < len(texts) <= 2_000
        assert sum(map(len, texts)) <= 256 * 1024
        assert any(text.startswith("line 19999 ") for text in texts)
        assert any("has ended with status 0" in text for text in texts)


async def test_a_restart_spares_calls_unless_it_is_forced(workspace: Workspace) -> None:
    workspace.mcp_json({"slow": server(child_command("slow_child"))})
    async with shim(workspace) as client:
        call = asyncio.create_task(
            client.call_subtool("slow_suite", "wait", {"seconds": 60}),
        )
        await until_true(lambda: under_way(workspace) == 1)
        done = await asyncio.to_thread(switchboard, workspace, "restart", "slow", "--json")
        assert (done.code, done.report["reason"]) == (1, "calls-under-way")
        assert done.report["message"] == "`slow` works on 1 call, which would get no answer"
        assert not call.done()
        forced = await asyncio.to_thread(switchboard, workspace, "restart", "slow", "--force")
        assert forced.code == 0, forced.err
        answer = json.dumps(await call)
        assert "its user has restarted it" in answer


def test_without_a_daemon_there_is_nothing_to_restart_or_show(workspace: Workspace) -> None:
    for verb in ("restart", "logs"):
        done = switchboard(workspace, verb, "echo", "--json")
        assert (done.code, done.report["reason"]) == (1, "no-daemon")
    assert switchboard(workspace, "logs", "nobody", "--json").report["reason"] == "unknown-server"


@pytest.mark.parametrize("share", ["strict", "loose"])
async def test_what_a_shared_server_prints_for_one_workspace_is_not_shown_in_another(
    workspace: Workspace, tmp_path: Path, share: str
) -> None:
    script = tmp_path / "telltale.py"
    script.write_text(TELLTALE.format(children=child_command("x")[1][:-5]), "utf-8")
    entry = server([sys.executable, script], scope="user", share=share)
    workspace.mcp_json({"telltale": entry}, scope="home")
    other = tmp_path / "other"
    other.mkdir()

    async def logs(folder: Path, *words: str) -> Finished:
        return await asyncio.to_thread(
            switchboard, workspace, "logs", "telltale", *words, cwd=folder
        )

    async with shim(workspace) as one, shim(workspace, cwd=other) as two:
        await one.call_subtool("telltale_suite", "echo", {"text": "plans of one"})
        assert "heard plans of one" in (await logs(workspace.root)).out
        there = await logs(other)
        assert "plans of one" not in there.out
        assert "has started" in there.out
        assert "1 line is not shown: all workspaces share one process" in there.err
        assert (await logs(other, "--json")).report["withheld"] == 1
        await two.call_subtool("telltale_suite", "echo", {"text": "plans of two"})
        assert "plans of two" not in (await logs(workspace.root)).out
        assert "plans of one" not in (await logs(other)).out
