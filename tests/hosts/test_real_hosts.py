"""The hosts themselves say whether they see us: by their own lists, without a network.

What they answer with their exit codes says nothing: most end well with a file that they cannot
read, or with servers that do not start.
"""

import json
from pathlib import Path

import pytest

from hosts.ground import Ground, named, servers_of
from hosts.real import HOSTS, PATIENCE, RealHost, said
from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.found import find_host, is_here


@pytest.fixture(params=HOSTS)
def real(request: pytest.FixtureRequest) -> RealHost:
    return HOSTS[request.param]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    (tmp_path / "user").mkdir()
    (tmp_path / "project").mkdir()
    return Ground(tmp_path)


@pytest.mark.timeout(3 * PATIENCE)
def test_a_host_lists_us_from_the_entry_to_the_revert(real: RealHost, ground: Ground) -> None:
    host = named(real.host)
    path = ground.put(host, real.before)
    assert host.lists[1:] == ("mcp", "list")
    assert [each.reason for each in ground.enter(host)] == [""]
    listed = said(ground, real, *host.lists[1:])
    assert OUR_NAME in listed
    assert "notes" in listed

    expected = "parts" if real.is_rewritten else "whole"
    assert [each.how for each in ground.take_back()] == [expected]
    listed = said(ground, real, *host.lists[1:])
    assert OUR_NAME not in listed
    assert "notes" in listed
    if real.is_rewritten:
        now = json.loads(path.read_bytes())
        before = json.loads(real.before)
        assert {key: now[key] for key in before} == before
    else:
        assert path.read_bytes() == real.before


@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize("name", ["codex", "claude-code"])
def test_a_host_sees_us_in_the_place_of_the_server_that_moved(name: str, ground: Ground) -> None:
    real = HOSTS[name]
    host = named(real.host)
    path = ground.put(host, real.before)
    ground.enter(host, ("notes",))
    listed = said(ground, real, *host.lists[1:])
    assert OUR_NAME in listed
    assert "notes" not in listed
    ground.take_back()
    assert [*servers_of(path.read_bytes(), ground.file(host))] == ["notes"]


def test_the_version_of_opencode_says_which_of_both_it_is(ground: Ground) -> None:
    version = said(ground, HOSTS["opencode"], "--version")
    ground.put(named("opencode"), b"{}")
    here = [
        name
        for name in ("opencode", "opencode-2")
        if is_here(find_host(named(name), ground.places), "", {"opencode": version})
    ]
    assert here == ["opencode"]


@pytest.mark.parametrize(
    ("name", "understood"),
    [
        (
            "codex",
            (
                "startup_timeout_sec: 30",
                "tool_timeout_sec: 3600",
                "default_tools_approval_mode: approve",
                "XDG_RUNTIME_DIR=",
            ),
        ),
        ("claude-code", ("Scope: User config", "Type: stdio", "Timeout: 3600000ms")),
    ],
)
def test_a_host_understands_what_our_entry_says(
    name: str, understood: tuple[str, ...], ground: Ground
) -> None:
    ground.enter(named(name))
    told = said(ground, HOSTS[name], "mcp", "get", OUR_NAME)
    assert [words for words in understood if words not in told] == []
