"""A temporary workspace and home for one test, with Switchboard's files in them."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from support.measuring import measured, measured_daemon
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.ipc.paths import DaemonPlaces, places_from

Json = dict[str, Any]
Scope = Literal["workspace", "home"]

CHECKOUT = Path(__file__).parents[2]
CHILDREN = Path(__file__).parent / "children"
SCRIPTS = Path(sys.prefix) / "bin"
SWITCHBOARD = SCRIPTS / "switchboard"
NODE_MODULES = CHECKOUT / "tests" / "node" / "node_modules"

_COUNTS = "\ntrust_variable = true\n"
_GATE = "ENABLE_MCP_SERVER_SURFACE"


def child_command(script: str, *args: str) -> list[str]:
    """Give the command of one of the small children: `echo_child`, `misbehaving_child`."""
    return [sys.executable, str(CHILDREN / f"{script}.py"), *args]


def server(command: Sequence[str | Path], **more: Any) -> Json:
    """Write a command as an entry of `mcp.json`."""
    first, *rest = map(str, command)
    return {"command": first, "args": rest, **more}


class Workspace:
    """Builds the files; `env` and `root` are what a program under test gets.

    `switchboard mcp` serves in its own process unless the test asks for a daemon, which it then
    ends with `stop_daemon`.
    """

    def __init__(self, folder: Path, *, daemon: bool = False) -> None:
        self.root = folder / "workspace"
        self.user_home = folder / "user"
        self.home = self.user_home / ".switchboard"
        self.settings = self.root / ".switchboard"
        for made in (self.settings, self.home):
            made.mkdir(parents=True)
        self.env: dict[str, str] = {
            "HOME": str(self.user_home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([str(SCRIPTS), os.environ["PATH"]]),
            "SWITCHBOARD_HOME": str(self.home),
            "SWITCHBOARD_TRUST_WORKSPACE": "1",
            # Off, but for tests that write about it into the `config.toml` of the home.
            _GATE: "0",
            # Of no concern to anything that is started here; see `canaries`.
            "UNRELATED_API_KEY": "canary-of-an-environment",
            **(measured_daemon() if daemon else measured()),
        }
        if not daemon:
            self.env["SWITCHBOARD_IN_PROCESS"] = "1"

    @property
    def daemon_places(self) -> DaemonPlaces:
        """Where the socket, the locks and the log of this home are."""
        return places_from(self.env)

    def stop_daemon(self) -> None:
        """End the daemons of this home, if there are any, each by its own door."""
        places = self.daemon_places
        for client in (running_daemon(places), *draining_daemons(places)):
            if client is not None:
                client.stop()
                client.close()

    def write(self, place: str, text: str) -> Path:
        """Write a file of the workspace, with the folders above it."""
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def mcp_json(self, servers: Mapping[str, Json], *, scope: Scope = "workspace") -> Path:
        """Write the `mcp.json` of a scope."""
        folder = self.settings if scope == "workspace" else self.home
        path = folder / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}, indent=2), "utf-8")
        if scope == "home" and not (self.home / "config.toml").exists():
            self._settle()
        return path

    def config_toml(self, text: str, *, scope: Scope = "workspace") -> Path:
        folder = self.settings if scope == "workspace" else self.home
        if scope == "home" and ("guard" in text or _GATE.lower() in text):
            # A variable would decide over the file.
            self.env.pop(_GATE, None)
        path = folder / "config.toml"
        path.write_text(text, "utf-8")
        if scope == "home":
            self._settle(text)
        return path

    def _settle(self, text: str = "") -> None:
        """Let the variable count that trusts everything, also in a home with settings."""
        if "trust_variable" in text or "SWITCHBOARD_TRUST_WORKSPACE" not in self.env:
            return
        # Behind everything, so that lines stay where they are; but never in a table.
        has_table = any(line.startswith("[") for line in text.splitlines())
        parts = (_COUNTS.lstrip(), text) if has_table else (text, _COUNTS)
        (self.home / "config.toml").write_text("".join(parts), "utf-8")

    def config_json(self, tree: Json) -> Path:
        """Write `switchboard.config.json`."""
        return self.write("switchboard.config.json", json.dumps(tree, indent=2))

    def child(
        self, name: str, command: Sequence[str | Path], *, env: Json | None = None, **more: Any
    ) -> Path:
        """Write `.switchboard/mcps/<name>/.mcp.json`; gives the folder that the child runs in."""
        first, *rest = map(str, command)
        entry: Json = {"cmd": first, "args": rest}
        if env is not None:
            entry["env"] = env
        place = f".switchboard/mcps/{name}/.mcp.json"
        return self.write(place, json.dumps({"name": name, "command": entry, **more})).parent

    def echo_child(self, name: str = "echo", **more: Any) -> Path:
        """Write a child that behaves well."""
        return self.child(name, child_command("echo_child", name), **more)

    def command(self, *args: str) -> list[str]:
        """Give a command line of Switchboard."""
        return [str(SWITCHBOARD), *args]
