"""The rows that need nothing but the checkout: the base, the floors and Switchboard."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .row import BENCH, CHILD, SCRIPTS, Row, Site, always, as_suite
from .trust import trust_workspace

TOKEN = "bench-only-on-loopback"
BASE = "direct"
FLOOR = "floor asyncio"
OURS = "switchboard stdio"
# Ends the names of the rows of another Switchboard.
BEFORE = " before"


def _floor(site: Site) -> list[str]:
    return [sys.executable, str(BENCH / "floor.py"), str(site.config)]


def _serve(program: str, site: Site) -> list[str]:
    return [program, "serve", "--stdio", "--config", str(site.config)]


def _serve_http(program: str, site: Site) -> list[str]:
    command = [program, "serve", "--http", "--host", "127.0.0.1", "--port", str(site.port)]
    return [*command, "--config", str(site.config)]


def _token(_site: Site) -> dict[str, str]:
    # In its own process: a daemon would stay behind, and has figures of its own.
    return {"SWITCHBOARD_TOKEN": TOKEN, "SWITCHBOARD_IN_PROCESS": "1"}


def _plain(site: Site) -> None:
    """Switch the gate off, which no floor and no peer has: its price has figures of its own."""
    settings = site.home / ".switchboard"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text("guard = false\n", "utf-8")


def _workspace(scripts: Path, site: Site) -> None:
    """Make the folder a workspace whose owner has trusted its servers."""
    _plain(site)
    settings = site.folder / ".switchboard"
    settings.mkdir()
    site.config.rename(settings / "mcp.json")
    program = str(scripts / "switchboard")
    trust_workspace(program, site.folder, str(site.home), str(scripts))


def switchboard_rows(scripts: Path, suffix: str = "") -> tuple[Row, ...]:
    """The Switchboard whose programs lie in this folder, in every way that it is reached."""
    program = str(scripts / "switchboard")
    serve: Callable[[Site], list[str]] = partial(_serve, program)
    put = as_suite("_suite")
    return (
        Row(OURS + suffix, "ours", serve, put=put, compact=True, prepare=_plain),
        Row(
            "switchboard mcp" + suffix,
            "ours",
            always(program, "mcp", "--in-process"),
            put=put,
            prepare=partial(_workspace, scripts),
        ),
        Row("switchboard modern" + suffix, "ours", serve, put=put, modern=True, prepare=_plain),
        Row(
            "switchboard http" + suffix,
            "ours",
            partial(_serve_http, program),
            put=put,
            front="http",
            headers={"Authorization": f"Bearer {TOKEN}"},
            environ=_token,
            prepare=_plain,
        ),
    )


OUR_ROWS = (
    Row(BASE, "base", always(*CHILD), most_children=1),
    Row(FLOOR, "floor", _floor, put=as_suite("")),
    Row(
        "floor sdk server",
        "floor",
        always(sys.executable, str(BENCH / "sdk_floor.py")),
        most_children=1,
        relays=False,
    ),
    *switchboard_rows(SCRIPTS),
)
