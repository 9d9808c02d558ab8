"""Clones attack the servers that their user has in the home, by what lies in the clone."""

import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.commands import UNTRUSTING, switchboard
from support.requirements import attack, requirement
from support.workspace import Json, Workspace, child_command, server
from switchboard.settings.trust import trust_folder

MODULES = ("mcp_server_time", "json", "socketserver")


@contextmanager
def _listening() -> Generator[tuple[int, list[bytes]]]:
    """A registry of the clone: who asks it is written down."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(1024))

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def _clone(workspace: Workspace, registry: int) -> Path:
    """All that a program could take from its folder; gives where it shows if one did."""
    owned = workspace.root.parent / "owned"
    owned.mkdir()
    for name in MODULES:
        workspace.write(f"{name}.py", f"open({str(owned / name)!r}, 'w')\n")
    for name in ("some-package", "node", "python3", "sh"):
        _program(workspace.root / "node_modules/.bin" / name, f": > {owned}/bin-{name}")
    for place in ("own-tool", "bin/own-tool", "server.sh"):
        _program(workspace.root / place, f": > {owned}/{place.replace('/', '-')}")
    hook = workspace.write("hook.cjs", f"require('fs').writeFileSync('{owned}/hook', '')\n")
    workspace.write("node_modules/plugin/index.js", hook.read_text("utf-8"))
    workspace.write("package.json", '{"name": "clone", "scripts": {"serve": "./server.sh"}}')
    workspace.write("Makefile", "serve:\n\t./server.sh\n")
    workspace.write(
        ".npmrc",
        f"registry=http://127.0.0.1:{registry}/\nnode-options=--require {hook}\n"
        f"script-shell={workspace.root}/server.sh\nfetch-retries=0\n",
    )
    return owned


def _servers() -> dict[str, Json]:
    return {
        "time": server([sys.executable, "-m", "mcp_server_time"]),
        "ignoring": server([sys.executable, "-E", "-m", "mcp_server_time"]),
        "package": server(["npx", "-y", "some-package"]),
        "script": server(["npm", "run", "serve"]),
        "shell": server(["sh", "-c", "exec ./server.sh"]),
        "text": server(["sh", "-c", "exec python3 -m mcp_server_time"]),
        "made": server(["make", "serve"]),
        "plugged": server(["node", "-r", "plugin", "/dev/null"]),
        "relative": server(["./server.sh"]),
        "interpreted": server(["sh", "server.sh"]),
        "tool": server(["own-tool"]),
        "echo": server(child_command("echo_child", "echo")),
    }


@requirement("S3.75")
@pytest.mark.parametrize("is_trusted", [False, True], ids=["untrusted", "trusted"])
@attack("B2")
def test_nothing_of_a_clone_runs_in_servers_of_its_users_home(
    tmp_path: Path, is_trusted: bool
) -> None:
    """Attempted by the files of the clone, and by a search path that leads into it.

    They are modules under the names of a server and of the standard library, programs in
    `node_modules/.bin`, hooks, shells and registries in `.npmrc`, scripts of `package.json` and of
    a makefile, modules that Node is told to load, and relative scripts. The search path has '.',
    an empty entry and folders of the clone.
    """
    workspace = Workspace(tmp_path)
    workspace.env["PATH"] = f".::bin:{workspace.root}/bin:{workspace.env['PATH']}"
    # Traffic that is not the clone's fault ends here, at a port that nobody listens on.
    (workspace.user_home / ".npmrc").write_text("registry=http://127.0.0.1:9/\nfetch-retries=0\n")
    if is_trusted:
        trust_folder(str(workspace.home), str(workspace.root))
    with _listening() as (registry, heard):
        owned = _clone(workspace, registry)
        workspace.mcp_json(_servers(), scope="home")
        done = switchboard(workspace, "doctor", "--deep", "--json", env=UNTRUSTING)
    assert [each.name for each in owned.iterdir()] == []
    assert heard == []
    started = {each["suite"]: each["tools"] for each in done.report["started"]}
    # The servers themselves are none the worse for it.
    assert {"time_suite", "ignoring_suite", "echo_suite"} <= set(started)
    assert started["time_suite"] == 2
    left_out = " ".join(each["message"] for each in done.report["findings"])
    for name in ("relative", "interpreted"):
        assert f"the server `{name}` is left out" in left_out
    folders = {each["subject"]: each["message"] for each in done.report["findings"]}
    assert ("not trusted" in folders["folder"]) is not is_trusted


def test_a_server_starts_where_it_is_said_to(tmp_path: Path) -> None:
    """Elsewhere in a folder that nobody trusts, in a private folder; in a trusted one, there."""
    workspace = Workspace(tmp_path)
    echo = " ".join(child_command("echo_child", "x"))
    report = _program(tmp_path / "report", f'pwd -P > "{tmp_path}/$1"; exec {echo}')
    workspace.mcp_json(
        {
            "plain": server([report, "plain"]),
            "inside": server([report, "inside"], start_in="workspace"),
            "apart": server([report, "apart"], start_in="neutral"),
        },
        scope="home",
    )
    done = switchboard(workspace, "doctor", "--deep", env=UNTRUSTING)
    assert "the server `inside` is left out" in done.out
    assert not (tmp_path / "inside").exists()
    where = Path((tmp_path / "plain").read_text("utf-8").strip())
    assert where.is_relative_to(workspace.home / "start")
    assert where.stat().st_mode & 0o077 == 0
    assert where != Path((tmp_path / "apart").read_text("utf-8").strip())
    trust_folder(str(workspace.home), str(workspace.root))
    switchboard(workspace, "doctor", "--deep", env=UNTRUSTING)
    places = {name: (tmp_path / name).read_text("utf-8").strip() for name in ("plain", "inside")}
    assert set(places.values()) == {str(workspace.root)}
    assert workspace.home / "start" in Path((tmp_path / "apart").read_text("utf-8")).parents


@attack("B22")
def test_a_package_runner_without_network_fails_at_once_and_names_the_key(tmp_path: Path) -> None:
    """Otherwise it tries for a minute, and ends as a server that is slow to answer."""
    workspace = Workspace(tmp_path)
    entry = server(["npx", "-y", "some-package"], sandbox_profile="default")
    workspace.mcp_json({"package": entry}, scope="home")
    workspace.config_json({"timeouts": {"rpcMs": 55_000, "childSpawnMs": 30_000}})
    done = switchboard(workspace, "doctor", "--deep", "--json")
    findings = {each["severity"]: each for each in done.report["findings"]}
    assert "it wanted the network" in findings["error"]["message"]
    assert "allow_network" in findings["error"]["hint"]
    assert "`npx` fetches packages" in findings["warning"]["message"]
    assert "fetches packages" in switchboard(workspace, "config", "check").err
