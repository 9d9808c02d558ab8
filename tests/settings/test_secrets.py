"""A secret is named in the configuration, looked up at the start, and told to the child alone."""

import json
from pathlib import Path

import msgspec

from fakes.boards import Desk, json_of
from fakes.events import MemoryEvents
from settings.ground import Ground
from support.requirements import requirement
from support.workspace import child_command, server
from switchboard.core.bus import EventBus
from switchboard.daemon.board.runtime import running
from switchboard.daemon.logs.log import log_for
from switchboard.settings.explain import show
from switchboard.settings.load import load

VALUE = "s3cret-that-nobody-may-see"
TELLTALE = ["/bin/sh", "-c", "echo my key is $API_KEY >&2; exit 3"]


def _environ(ground: Ground, logs: Path) -> dict[str, str]:
    return ground.environ(
        PATH="/usr/bin:/bin",
        VAULT_OF_MINE=VALUE,
        LOG_TO_FILE="1",
        LOG_DIR=str(logs),
        TRACING_FILTER="trace",
    )


def _put(ground: Ground) -> None:
    secret = {"API_KEY": "env:VAULT_OF_MINE"}
    ground.put(
        ground.home / "mcp.json",
        {
            "mcpServers": {
                "echo": server(child_command("echo_child"), secret_env=secret),
                "telltale": server(TELLTALE, secret_env=secret),
            }
        },
    )


@requirement("S4.35")
async def test_a_secret_is_looked_up_at_launch_and_not_before(
    ground: Ground, tmp_path: Path
) -> None:
    _put(ground)
    environ = _environ(ground, tmp_path / "logs")
    settings, _ = load(workspace=str(ground.workspace), environ=environ)
    assert settings.servers[0].secret_env == {"API_KEY": "env:VAULT_OF_MINE"}
    assert VALUE not in str(settings)
    # It changes between the load and the start, as a rotated secret does.
    later = {**environ, "VAULT_OF_MINE": "rotated"}
    events = MemoryEvents()
    async with running(settings, environ=later, events=EventBus(events.emit)) as runtime:
        told = json_of(await Desk(runtime, events).subtool("echo_suite", "report"))
    assert json.loads(told["content"][0]["text"])["env"]["API_KEY"] == "rotated"


@requirement("S4.36")
async def test_a_secret_is_in_no_report_no_fault_and_no_log(ground: Ground, tmp_path: Path) -> None:
    _put(ground)
    logs = tmp_path / "logs"
    environ = _environ(ground, logs)
    settings, loading = load(workspace=str(ground.workspace), environ=environ)
    shown = {each.key: each.value for each in show(loading)}
    assert shown["mcp_servers.echo.secret_env.API_KEY"] == "env:VAULT_OF_MINE"
    assert VALUE not in str(shown)
    events = MemoryEvents()
    with log_for(settings) as log:
        bus = EventBus(log, events.emit)
        async with running(settings, environ=environ, events=bus) as runtime:
            desk = Desk(runtime, events)
            told = json_of(await desk.subtool("echo_suite", "report"))
            fault = await desk.fault("telltale_suite", action="introspect")
    # The child has it, and its own answer is its own business.
    assert VALUE in json.dumps(told)
    assert "my key is" in str(fault.details)
    assert VALUE not in f"{fault} {fault.hint} {fault.details}"
    assert VALUE not in str([msgspec.to_builtins(event) for event in events.seen])
    written = "".join(path.read_text("utf-8") for path in logs.iterdir())
    assert "telltale" in written
    assert VALUE not in written
