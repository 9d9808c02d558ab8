"""`sweep` and containers: what a client that was killed has left in its engine.

The engine is a fake that behaves as Docker's is documented to; see `support.fake_docker`.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli.commands import switchboard
from support.fake_docker import FakeDocker
from support.workspace import Workspace
from switchkit.containers import LABEL
from switchkit.processes import living

_PATIENCE = 20.0
# Every client on the machine counts, those of other runs of these tests too: none has this image.
_IMAGE = f"mcp/left-{uuid4().hex}"
# Goes on when its input has ended, as some servers do.
_DEAF = "import signal\nwhile True: signal.pause()"
_COMMAND = [sys.executable, "-c", _DEAF]


@pytest.fixture
def docker(tmp_path: Path, workspace: Workspace) -> Iterator[FakeDocker]:
    fake = FakeDocker(tmp_path)
    workspace.env["PATH"] = fake.path
    yield fake
    fake.close()


def _line(*options: str) -> list[str]:
    return ["docker", "run", *options, "-i", "--rm", _IMAGE, *_COMMAND]


def _host_file(workspace: Workspace, command: Sequence[str]) -> None:
    path = workspace.user_home / ".cursor" / "mcp.json"
    path.parent.mkdir(exist_ok=True)
    entry = {"command": command[0], "args": [*command[1:]]}
    path.write_text(json.dumps({"mcpServers": {"left": entry}}), "utf-8")


def _started(docker: FakeDocker, line: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a client, and wait until its container runs."""
    before = len(docker.containers)
    client = subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={"PATH": docker.path},
        start_new_session=True,
    )
    deadline = time.monotonic() + _PATIENCE
    while len(docker.containers) == before:
        assert time.monotonic() < deadline
    return client


def _kill(client: "subprocess.Popen[bytes]") -> None:
    with client:
        client.send_signal(signal.SIGKILL)


def _found(workspace: Workspace, *words: str) -> list[dict[str, Any]]:
    return switchboard(workspace, "sweep", "--json", *words, apart=True).report["found"]


def test_a_container_whose_client_was_killed_is_found_and_removed(
    workspace: Workspace, docker: FakeDocker, tmp_path: Path
) -> None:
    line = _line("-e", "API_TOKEN", "-v", f"{tmp_path}:/data")
    _host_file(workspace, line)
    _kill(_started(docker, line))
    (container,) = docker.containers
    (found,) = _found(workspace, "--dry-run")
    assert found["container"] == container["id"]
    assert (found["pid"], found["host"], found["server"]) == (0, "Cursor", "left")
    assert found["holds"] == [str(tmp_path)]
    assert 0 <= found["age_seconds"] < _PATIENCE
    assert found["memory_bytes"] > 0
    shown = switchboard(workspace, "sweep", "--dry-run")
    assert container["id"][:12] in shown.out
    assert living(container["first"])

    assert [each["state"] for each in _found(workspace, "--yes")] == ["ended"]
    assert docker.is_empty()
    assert living(container["first"]) is None
    assert ["rm", "-f", container["id"]] in docker.asked


def test_a_container_with_a_client_stays(workspace: Workspace, docker: FakeDocker) -> None:
    _host_file(workspace, _line())
    client = _started(docker, _line())
    assert _found(workspace, "--yes") == []
    # The client that lives may have started either: it began before both.
    _kill(_started(docker, _line()))
    assert _found(workspace, "--yes") == []
    assert len(docker.containers) == 2
    _kill(client)
    assert len(_found(workspace, "--yes")) == 2
    assert docker.is_empty()


def test_without_words_of_its_own_a_server_is_what_its_image_says(
    workspace: Workspace, docker: FakeDocker
) -> None:
    line = ["docker", "run", "-i", "--rm", _IMAGE]
    _host_file(workspace, line)
    _kill(_started(docker, [*line, *_COMMAND, "more"]))
    assert _found(workspace, "--yes") == []
    _kill(_started(docker, line))
    assert len(_found(workspace, "--yes")) == 1
    assert len(docker.containers) == 1


@pytest.mark.parametrize(
    "line",
    [
        ["docker", "run", "-i", "--rm", "mcp/other", *_COMMAND],
        ["docker", "run", "-i", "--rm", _IMAGE, *_COMMAND, "more"],
        ["docker", "run", "-i", _IMAGE, *_COMMAND],
        ["docker", "run", "--rm", _IMAGE, *_COMMAND],
        ["docker", "run", "-i", "--rm", "--label", f"{LABEL}=one", _IMAGE, *_COMMAND],
    ],
    ids=["image", "words", "kept", "no input", "ours"],
)
def test_a_container_that_is_not_the_server_of_a_host_stays(
    line: list[str], workspace: Workspace, docker: FakeDocker
) -> None:
    _host_file(workspace, _line())
    _kill(_started(docker, line))
    assert _found(workspace, "--yes") == []
    assert len(docker.containers) == 1


def test_an_engine_elsewhere_and_one_that_is_not_there_are_not_asked(
    workspace: Workspace, docker: FakeDocker
) -> None:
    _host_file(workspace, _line())
    _kill(_started(docker, _line()))
    workspace.env["DOCKER_HOST"] = "tcp://127.0.0.1:9"
    assert _found(workspace, "--yes") == []
    del workspace.env["DOCKER_HOST"]
    asked = len(docker.asked)
    _host_file(workspace, ["docker", "-H", "tcp://127.0.0.1:9", *_line()[1:]])
    assert _found(workspace, "--yes") == []
    _host_file(workspace, ["uvx", "mcp-server-time"])
    assert _found(workspace, "--yes") == []
    assert len(docker.asked) == asked
    _host_file(workspace, _line())
    workspace.env["PATH"] = "/usr/bin:/bin"
    assert _found(workspace, "--yes") == []
    assert len(docker.asked) == asked
