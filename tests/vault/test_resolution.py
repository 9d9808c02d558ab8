"""Servers get their secrets from the vault, when they start and when they are asked."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fakes.boards import Desk, json_of
from fakes.events import MemoryEvents
from settings.ground import Ground
from support.kv_server import TOKEN as KV_TOKEN
from support.kv_server import kv_server
from support.requirements import requirement
from support.workspace import child_command, server
from switchboard.core.bus import EventBus
from switchboard.core.events import ChildExited, ChildStarted
from switchboard.core.faults import FaultCode
from switchboard.daemon.board.runtime import running
from switchboard.vault.file_vault import FileVault
from vault.remote import header_server

CANARY = "canary-of-the-vault-7741"
ROTATED = "rotated-canary-of-the-vault-0093"
KEY = "mcp/echo/env/API_KEY"


@asynccontextmanager
async def desk_of(ground: Ground, **variables: str) -> AsyncGenerator[Desk]:
    """Put up the board of the files that there are."""
    environ = {"PATH": "/usr/bin:/bin", **ground.environ(), **variables}
    # The gate has tests of its own.
    variables = {"ENABLE_MCP_SERVER_SURFACE": "0", **variables}
    settings = ground.load(trusted=False, variables=variables, PATH=environ["PATH"])
    events = MemoryEvents()
    async with running(settings, environ=environ, events=EventBus(events.emit)) as runtime:
        yield Desk(runtime, events)


def words_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text("latin-1")


async def env_of(desk: Desk, suite: str = "echo_suite") -> dict[str, str]:
    told = json_of(await desk.subtool(suite, "report"))
    return json.loads(told["content"][0]["text"])["env"]


def put_servers(ground: Ground, **servers: object) -> None:
    ground.put(ground.home / "mcp.json", {"mcpServers": servers})


def echo(**more: object) -> dict[str, object]:
    return server(child_command("echo_child"), **more)


@requirement("S4.40", "S4.41", "S3.48", "S4.91")
async def test_a_server_is_started_with_its_secret_of_the_vault(
    ground: Ground, vault: FileVault
) -> None:
    put_servers(ground, echo=echo(secret_env={"API_KEY": f"vault:{KEY}"}))
    vault.put(KEY, CANARY)
    async with desk_of(ground) as desk:
        assert (await env_of(desk))["API_KEY"] == CANARY
        [started] = desk.events.of(ChildStarted)
        # Whoever lists processes sees their words.
        assert CANARY not in words_of(started.pid)
        assert CANARY not in str(desk.events.seen)
    [entry] = vault.entries()
    assert entry.used_at > 0


@requirement("S3.54", "S3.51")
async def test_a_missing_secret_fails_one_server_by_its_name_and_no_other(
    ground: Ground, vault: FileVault
) -> None:
    put_servers(
        ground, echo=echo(secret_env={"API_KEY": f"vault:{KEY}"}), other=echo(), third=echo()
    )
    async with desk_of(ground) as desk:
        fault = await desk.fault("echo_suite", action="introspect")
        assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, "secret-missing")
        assert "`API_KEY` of `echo`" in fault.message
        assert fault.hint == f"switchboard vault put {KEY}"
        assert "API_KEY" not in await env_of(desk, "other_suite")
        assert await env_of(desk, "third_suite")
        # Once it is there, the same call works, and nobody starts anything anew by hand.
        vault.put(KEY, CANARY)
        assert (await env_of(desk))["API_KEY"] == CANARY


@requirement("S3.52", "S3.53")
async def test_a_server_that_runs_has_a_rotated_secret_from_the_next_call_on(
    ground: Ground, vault: FileVault
) -> None:
    put_servers(ground, echo=echo(secret_env={"API_KEY": f"vault:{KEY}"}))
    vault.put(KEY, CANARY)
    async with desk_of(ground) as desk:
        assert (await env_of(desk))["API_KEY"] == CANARY
        vault.put("mcp/another/env/X", "not of this server")
        assert (await env_of(desk))["API_KEY"] == CANARY
        assert len(desk.events.of(ChildStarted)) == 1
        vault.put(KEY, ROTATED)
        assert (await env_of(desk))["API_KEY"] == ROTATED
        assert len(desk.events.of(ChildStarted)) == 2
        # A vault that is damaged meanwhile ends nobody who runs.
        (ground.home / "vault" / "vault.json").write_text("{", "utf-8")
        assert (await env_of(desk))["API_KEY"] == ROTATED
    exits = desk.events.of(ChildExited)
    assert all(event.expected for event in exits)


@requirement("S3.45", "S3.46", "S3.47", "S3.53")
async def test_headers_are_looked_up_for_each_request(ground: Ground, vault: FileVault) -> None:
    with header_server() as remote:
        put_servers(
            ground,
            linear={
                "url": remote.url,
                "headers": {
                    "Authorization": "vault:mcp/linear/header/Authorization",
                    "X-Team": "env:TEAM_KEY",
                    "X-Plain": "plain",
                },
            },
        )
        ground.put(
            ground.home / "config.toml",
            f'[mcp_servers.toml]\nurl = "{remote.url}"\n[mcp_servers.toml.headers]\n'
            'Authorization = "Bearer ${vault:mcp/toml/env/TOKEN}"\n'
            'X-Team = "${TEAM_KEY}"\nX-Literal = "$${vault:mcp/toml/env/TOKEN}"\n',
        )
        vault.put("mcp/linear/header/Authorization", f"Bearer {CANARY}")
        vault.put("mcp/toml/env/TOKEN", CANARY)
        async with desk_of(ground, TEAM_KEY="team-key-of-the-session") as desk:
            for suite in ("linear_suite", "toml_suite"):
                await desk.subtool(suite, "echo")
                call = remote.calls[-1]
                assert call["authorization"] == f"Bearer {CANARY}"
                assert call["x-team"] == "team-key-of-the-session"
            assert remote.calls[0]["x-plain"] == "plain"
            assert remote.calls[1]["x-literal"] == "${vault:mcp/toml/env/TOKEN}"
            vault.put("mcp/linear/header/Authorization", f"Bearer {ROTATED}")
            vault.put("mcp/toml/env/TOKEN", ROTATED)
            for suite in ("linear_suite", "toml_suite"):
                await desk.subtool(suite, "echo")
                assert remote.calls[-1]["authorization"] == f"Bearer {ROTATED}"
            # A secret that is taken away is missed at once, and nothing empty is sent.
            vault.delete("mcp/toml/env/TOKEN")
            before = len(remote.all)
            fault = await desk.fault("toml_suite", action="call", subtool="echo", args={})
            assert (fault.code, fault.reason) == (FaultCode.UNAUTHENTICATED, "secret-missing")
            assert len(remote.all) == before
            assert CANARY not in str(desk.events.seen)


async def test_a_secret_inside_a_variable_is_filled_in_at_the_start(
    ground: Ground, vault: FileVault
) -> None:
    command, *args = child_command("echo_child")
    ground.put(
        ground.home / "config.toml",
        f"[mcp_servers.echo]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
        "[mcp_servers.echo.env]\n"
        'DSN = "postgres://u:${vault:mcp/echo/env/PASSWORD}@${HOST_OF_DB}/x"\n',
    )
    vault.put("mcp/echo/env/PASSWORD", CANARY)
    # What a variable holds is not looked up, whatever it looks like.
    host = "h${vault:mcp/echo/env/OTHER}"
    async with desk_of(ground, HOST_OF_DB=host) as desk:
        assert (await env_of(desk))["DSN"] == f"postgres://u:{CANARY}@{host}/x"
        with desk.runtime.boards.lease() as board:
            assert CANARY not in str(board)
    assert CANARY not in str(desk.events.seen)


@requirement("S3.55")
async def test_a_vault_server_that_is_away_fails_one_server_and_sends_nothing(
    ground: Ground,
) -> None:
    with kv_server() as kv, header_server() as remote:
        ground.put(
            ground.home / "config.toml",
            f'[vault]\nengine = "hashicorp"\naddress = "{kv.address}"\ntimeout_ms = 3000\n',
        )
        put_servers(
            ground,
            echo=echo(secret_env={"API_KEY": f"vault:{KEY}"}),
            linear={"url": remote.url, "headers": {"X-Key": "vault:mcp/linear/header/X-Key"}},
            other=echo(),
        )
        for path, value in ((KEY, CANARY), ("mcp/linear/header/X-Key", CANARY)):
            kv.versions[f"switchboard/{path}"] = [{"value": value}]
            kv.times[f"switchboard/{path}"] = ["2026-01-01T00:00:00.000000000Z"]
        kv.is_sealed = True
        async with desk_of(ground, VAULT_TOKEN=KV_TOKEN) as desk:
            for name in ("echo", "linear"):
                fault = await desk.fault(f"{name}_suite", action="introspect")
                assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "vault-unavailable")
                assert f"of `{name}` cannot be had: the vault server is sealed" in fault.message
                assert KV_TOKEN not in f"{fault.message}{fault.private}"
            assert remote.all == []
            assert await env_of(desk, "other_suite")
            kv.is_sealed = False
            assert (await env_of(desk))["API_KEY"] == CANARY
            await desk.subtool("linear_suite", "echo")
            assert remote.calls[-1]["x-key"] == CANARY


@requirement("S3.49", "S3.50")
async def test_what_is_handed_out_is_written_down_by_name_alone(
    ground: Ground, vault: FileVault
) -> None:
    put_servers(ground, echo=echo(secret_env={"API_KEY": f"vault:{KEY}"}))
    ground.put(ground.home / "config.toml", "guard = true\n")
    vault.put(KEY, CANARY)
    async with desk_of(ground, ENABLE_MCP_SERVER_SURFACE="1") as desk:
        await desk.call("echo_suite", {"action": "introspect"})
    written = b"".join(path.read_bytes() for path in ground.home.rglob("*") if path.is_file())
    assert b"secret.resolved" in written
    assert f"vault:{KEY}".encode() in written
    assert CANARY.encode() not in written


@pytest.mark.parametrize(
    "line",
    [
        'args = ["--token=${vault:mcp/echo/env/K}"]',
        'command = "${vault:mcp/echo/env/K}"',
        'env = { K = "${vault:mcp/other/env/K}" }',
        'env = { K = "${vault:oauth/x}" }',
        'secret_env = { K = "vault:oauth/x" }',
        'secret_env = { K = "vault:mcp/other/env/K" }',
        'secret_env = { K = "vault:mcp/echo/env/K/../x" }',
    ],
)
def test_a_secret_is_named_where_nobody_reads_it_and_by_its_own_server(
    ground: Ground, line: str
) -> None:
    command = "" if line.startswith("command") else 'command = "true"\n'
    ground.put(ground.home / "config.toml", f"[mcp_servers.echo]\n{command}{line}\n")
    [problem] = ground.refused()
    assert "vault:" in f"{problem.message}{problem.hint}"
    assert problem.line == (2 if line.startswith("command") else 3)


@pytest.mark.parametrize("value", ["vault:mcp/other/header/X", "vault:x", "vault:oauth/x"])
def test_a_header_that_begins_as_a_reference_is_one_of_its_own_server(
    ground: Ground, value: str
) -> None:
    entry = {"url": "https://a.example/mcp", "headers": {"X-Key": value}}
    put_servers(ground, linear=entry)
    [problem] = ground.refused()
    assert "vault:mcp/linear/header/X-Key" in problem.hint or "mcp/linear" in problem.hint
