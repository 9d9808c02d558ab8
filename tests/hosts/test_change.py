"""A change as people see it before they agree to it."""

import json
from pathlib import Path

import pytest

from hosts.ground import Ground, named
from switchboard.hosts.change import OUR_NAME, changed

CURSOR = named("cursor")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_a_difference_shows_the_lines_that_change(ground: Ground) -> None:
    path = ground.put(CURSOR, b'{\n  "mcpServers": {\n    "a": { "command": "x" }\n  }\n}\n')
    told = ground.change(CURSOR).difference()
    assert told.startswith(f"--- {path}\n+++ {path}\n")
    assert '-    "a": { "command": "x" }\n+    "a": { "command": "x" },\n' in told
    assert '+    "switchboard": {\n' in told


def test_a_file_that_is_not_there_is_shown_as_all_new(ground: Ground) -> None:
    assert ground.change(CURSOR).difference().startswith("--- /dev/null\n+++ ")


def test_no_secret_is_in_a_difference_however_it_is_written(ground: Ground) -> None:
    secrets = ("canary-one", 'canary "two"', "canary-три")
    servers = {"a": {"command": "x", "env": {f"K{n}": each for n, each in enumerate(secrets)}}}
    ground.put(CURSOR, json.dumps({"mcpServers": servers}, indent=2).encode())
    told = ground.change(CURSOR, ("a",)).difference([*secrets, ""])
    assert "canary" not in told
    assert told.count("•••") == len(secrets)


def test_what_looks_like_a_secret_beside_a_change_is_not_shown(ground: Ground) -> None:
    token = "ghp_" + "c4n4ry" * 6
    servers = {"a": {"command": "x", "env": {"GITHUB_TOKEN": token}}}
    ground.put(CURSOR, json.dumps({"mcpServers": servers}, indent=2).encode())
    told = ground.change(CURSOR).difference()
    assert "GITHUB_TOKEN" in told
    assert token not in told


def test_a_change_of_nothing_is_none(ground: Ground) -> None:
    found = ground.file(CURSOR)
    assert not changed(found.place, None, {}).is_needed
    ground.put(CURSOR, b'{"mcpServers": {}}')
    found = ground.file(CURSOR)
    gone = changed(found.place, found.raw, {}, ["a", OUR_NAME])
    assert not gone.is_needed
    assert gone.taken_out == ()
