"""What is kept on disk: replaced as one step, rebuilt when broken, private to its user."""

import json
import os
import socket
import threading
from pathlib import Path

import pytest
from yardlab import Lab, free_port

from switchkit.platform.linux import ports as listeners
from switchkit.platform.ports import holder, is_free
from switchyard.config.shapes import Ports
from switchyard.core.fault import YardFault
from switchyard.files import write_json
from switchyard.project.home import Home
from switchyard.project.registry import Registry
from switchyard.runtime.ports import PortTable

SERVE = '[services.web]\ncommand = [SVC, "serve"]\nport = 0\n'


def test_a_broken_registry_is_kept_aside_and_rebuilt(lab: Lab) -> None:
    lab.config(SERVE)
    lab.repository()
    tree = lab.json("create", "side")["path"]
    lab.json("mcp", "config", "--name", "mine")
    path = lab.home / "state.json"
    path.write_text('{"version": 1, "proj')
    assert [one["path"] for one in lab.json("list")["worktrees"]] == [tree]
    assert path.read_text() == '{"version": 1, "proj'
    assert "damaged" in str(lab.json("doctor", code=1)["problems"])
    lab.json("create", "third")
    rows = lab.json("list")["worktrees"]
    assert [one["branch"] for one in rows] == ["side", "third"]
    assert [one["name"] for one in lab.json("mcp", "projects")["projects"]] == ["mine"]
    kept = list(lab.home.glob("state.corrupt-*.json"))
    assert [one.read_text() for one in kept] == ['{"version": 1, "proj']


def test_a_newer_registry_is_not_touched(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("mcp", "config")
    path = lab.home / "state.json"
    path.write_text('{"version": 99}')
    assert lab.json("up", code=1)["error"]["code"] == "state-newer"
    assert path.read_text() == '{"version": 99}'


def test_state_is_for_its_user_alone(lab: Lab) -> None:
    lab.config(SERVE)
    lab.json("up")
    for path in (lab.home, *lab.home.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": object()})
    assert json.loads(path.read_text()) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")

    def register(number: int) -> None:
        root = tmp_path / f"p{number}"
        Registry(home).register(root, f"p{number}")
        Registry(home).alias(f"a{number}", root)

    threads = [threading.Thread(target=register, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = Registry(home).read()
    assert len(state.projects) == len(state.aliases) == 12


def test_a_port_is_free_only_when_both_families_are(tmp_path: Path) -> None:
    port = free_port()
    assert is_free(port, strict=True)
    with socket.create_server(("::1", port), family=socket.AF_INET6):
        assert not is_free(port, strict=True)
        assert not is_free(port, strict=False)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port, strict=True)
    bounds = Ports(port, port)
    table = PortTable(Home(tmp_path / "home"))
    assert table.reserve(tmp_path, "main", ["a"], bounds) == {"a": port}
    with pytest.raises(YardFault) as caught:
        table.reserve(tmp_path, "side", ["a"], bounds)
    assert caught.value.code == "no-free-port"
    table.release(tmp_path, "main")
    assert table.reserve(tmp_path, "side", ["a"], bounds) == {"a": port}


def test_both_ways_to_ask_for_listeners_agree() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as four,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
    ):
        for sock in (four, six):
            port = sock.getsockname()[1]
            inode = os.fstat(sock.fileno()).st_ino
            assert inode in listeners.asked()[port]
            assert inode in listeners.tabled()[port]
            found = holder({inode})
            assert found
            assert found.pid == os.getpid()
