"""The rows that need nothing but the checkout: the base, the floors and Switchboard."""

import subprocess
import sys

from .row import BENCH, CHILD, SCRIPTS, Row, Site, always, as_suite

SWITCHBOARD = str(SCRIPTS / "switchboard")
TOKEN = "bench-only-on-loopback"
BASE = "direct"
FLOOR = "floor asyncio"
OURS = "switchboard stdio"


def _floor(site: Site) -> list[str]:
    return [sys.executable, str(BENCH / "floor.py"), str(site.config)]


def _serve(site: Site) -> list[str]:
    return [SWITCHBOARD, "serve", "--stdio", "--config", str(site.config)]


def _serve_http(site: Site) -> list[str]:
    command = [SWITCHBOARD, "serve", "--http", "--host", "127.0.0.1", "--port", str(site.port)]
    return [*command, "--config", str(site.config)]


def _token(_site: Site) -> dict[str, str]:
    return {"SWITCHBOARD_TOKEN": TOKEN}


def _workspace(site: Site) -> None:
    """Make the folder a workspace whose owner has trusted its servers."""
    settings = site.folder / ".switchboard"
    settings.mkdir()
    site.config.rename(settings / "mcp.json")
    subprocess.run(
        [SWITCHBOARD, "trust", "--all"],
        cwd=site.folder,
        env={"HOME": str(site.home), "PATH": str(SCRIPTS)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=True,
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
    Row(OURS, "ours", _serve, put=as_suite("_suite"), compact=True),
    Row(
        "switchboard mcp",
        "ours",
        always(SWITCHBOARD, "mcp", "--in-process"),
        put=as_suite("_suite"),
        prepare=_workspace,
    ),
    Row("switchboard modern", "ours", _serve, put=as_suite("_suite"), modern=True),
    Row(
        "switchboard http",
        "ours",
        _serve_http,
        put=as_suite("_suite"),
        front="http",
        headers={"Authorization": f"Bearer {TOKEN}"},
        environ=_token,
    ),
)
