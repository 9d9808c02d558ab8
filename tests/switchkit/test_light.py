"""What the shim needs of a system: each answers as its kernel does."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from switchkit import sockets
from switchkit.platform import light
from switchkit.sockets import is_abandoned

NOBODY = 2**22 - 3


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A socket that nobody listens behind."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("left.sock")
    return "left.sock"


def test_where_a_crowd_is_refused_too_a_socket_is_its_makers_while_that_runs(
    refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_abandoned(refusing, os.getpid())
    monkeypatch.setattr(sockets, "REFUSED_IS_GONE", False)
    assert not is_abandoned(refusing, os.getpid())
    assert not is_abandoned(refusing, 1)
    assert is_abandoned(refusing, NOBODY)


@pytest.mark.parametrize("refuses", [False, True])
def test_macos_is_asked_to_reach_the_disk_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    asked: list[Any] = []

    def full(handle: int, number: int) -> int:
        asked.append((handle, number))
        if refuses:
            raise OSError(45, "Operation not supported")
        return 0

    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("fcntl.fcntl", full)
    monkeypatch.setattr(os, "fsync", asked.append)
    with (tmp_path / "file").open("wb") as file:
        light.sync_file(file.fileno())
        assert asked == [(file.fileno(), 51), *([file.fileno()] if refuses else [])]
