"""Which skills are active, where they lie, and which of their servers a session gets."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from settings.ground import Ground
from support.requirements import requirement
from switchboard.core.origins import Scope
from switchboard.settings.scopes.session_servers import servers_in_scope
from switchboard.settings.scopes.skills import content_digest
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust


def sidecar(**servers: Any) -> dict[str, Any]:
    return {"mcpServers": servers}


def activate(ground: Ground, *names: str, more: str = "") -> None:
    ground.put(ground.home / "config.toml", f"[skills]\nactive = {json.dumps(names)}\n{more}")


def commands(settings: Settings) -> dict[str, str]:
    return {entry.name: entry.command for entry in settings.servers}


@requirement("S4.15", "S4.68", "S4.87")
def test_the_servers_of_an_active_skill_are_those_of_the_session(ground: Ground) -> None:
    ground.put(ground.home / "skills" / "docs" / "mcp.json", sidecar(x={"command": "skill"}))
    assert commands(ground.load()) == {}
    activate(ground, "docs")
    settings = ground.load()
    assert commands(settings) == {"x": "skill"}
    assert settings.servers[0].origin.scope is Scope.SKILL
    assert str(ground.home / "skills" / "docs" / "mcp.json") in settings.watched


def test_the_environment_chooses_skills_too(ground: Ground) -> None:
    for name in ("a", "b"):
        ground.put(ground.home / "skills" / name / "mcp.json", sidecar(**{name: {"command": name}}))
    activate(ground, "a")
    settings = ground.load(variables={"SWITCHBOARD_SKILLS": "b"})
    assert commands(settings) == {"b": "b"}


@requirement("S4.58", "S4.70")
def test_a_skill_replaces_whole_servers_and_inherits_no_secret(ground: Ground) -> None:
    """A remote one keeps its transport, its URL and its login."""
    ground.put(
        ground.home / "mcp.json",
        sidecar(x={"command": "mine", "args": ["a"], "secret_env": {"T": "env:T"}}),
    )
    auth = {"type": "oauth2_pkce", "client_id": "c", "issuer_url": "https://auth.example"}
    far = {"transport": "sse", "url": "https://a.example/sse", "auth": auth}
    ground.put(ground.home / "skills" / "docs" / "mcp.json", sidecar(x=far))
    activate(ground, "docs")
    (x,) = ground.load().servers
    assert (x.transport, x.url, x.command, x.args) == ("sse", "https://a.example/sse", "", ())
    assert x.secret_env == {}
    assert x.auth is not None
    assert x.auth.issuer_url == "https://auth.example"


@requirement("S4.67", "S4.68")
def test_a_skill_stands_above_an_agent(ground: Ground) -> None:
    agent = ground.home / "agents" / "r"
    ground.put(agent / "AGENT.md", "---\nname: r\n---\n")
    ground.put(agent / "mcp.json", sidecar(x={"command": "agent"}, y={"command": "agent"}))
    ground.put(ground.home / "skills" / "docs" / "mcp.json", sidecar(x={"command": "skill"}))
    activate(ground, "docs")
    scoped = servers_in_scope(ground.load(), agent=str(agent))
    assert {each.name: each.command for each in scoped.servers} == {"x": "skill", "y": "agent"}


def test_a_skill_of_the_workspace_waits_for_trust(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", sidecar(x={"command": "mine"}))
    ground.put(ground.own / "skills" / "docs" / "mcp.json", sidecar(x={"command": "theirs"}))
    activate(ground, "docs")
    settings = ground.load(trusted=False)
    assert commands(settings) == {}
    assert [entry.command for entry in settings.untrusted] == ["theirs"]
    assert settings.replaced == {"x"}
    trust(settings)
    assert commands(ground.load(trusted=False)) == {"x": "theirs"}


def test_a_repository_takes_the_place_of_no_skill_and_activates_none(ground: Ground) -> None:
    ground.put(ground.home / "skills" / "docs" / "mcp.json", sidecar(x={"command": "mine"}))
    ground.put(ground.own / "skills" / "docs" / "mcp.json", sidecar(x={"command": "theirs"}))
    ground.put(ground.own / "config.toml", '[skills]\nactive = ["docs"]\n')
    settings = ground.load()
    assert commands(settings) == {}
    assert any("only its user may decide this" in each.message for each in settings.warnings)
    activate(ground, "docs")
    assert commands(ground.load(trusted=False)) == {"x": "mine"}


@pytest.mark.parametrize("name", ["docz", "../docs", ".docs", "a/b"])
def test_a_name_that_no_skill_has_is_warned_of(ground: Ground, name: str) -> None:
    ground.put(ground.home / "skills" / "docs" / "mcp.json", sidecar(x={"command": "a"}))
    ground.put(ground.home / "docs" / "mcp.json", sidecar(x={"command": "a"}))
    activate(ground, name)
    settings = ground.load(settled=True)
    assert commands(settings) == {}
    (told,) = [each for each in settings.warnings if f"no skill `{name}`" in each.message]
    place = (str(ground.home / "config.toml"), 2, "skills.active")
    assert (told.path, told.line, told.key) == place


def installed(ground: Ground, mark: str) -> Path:
    folder = ground.home / "skills" / "docs"
    ground.put(folder / "mcp.json", sidecar(x={"command": "skill"}))
    ground.put(folder / ".agh-meta.json", mark)
    return folder


@requirement("S4.88")
@pytest.mark.parametrize("allowed", ["search", "hub:search", "digest"])
def test_a_marketplace_skill_is_blocked_until_it_is_allowed(ground: Ground, allowed: str) -> None:
    folder = installed(ground, '{"slug": "search", "registry": "hub", "hash": "?"}')
    activate(ground, "docs")
    settings = ground.load()
    assert commands(settings) == {}
    assert any("blocked" in each.message for each in settings.warnings)
    key = content_digest(str(folder)) if allowed == "digest" else allowed
    activate(ground, "docs", more=f'allowed_marketplace_mcp = ["{key}"]\n')
    assert commands(ground.load()) == {"x": "skill"}
    ground.put(folder / "run.sh", "other")
    assert commands(ground.load()) == ({} if allowed == "digest" else {"x": "skill"})


@requirement("S4.88")
def test_a_mark_that_cannot_be_read_still_marks(ground: Ground) -> None:
    installed(ground, "{")
    activate(ground, "docs", more='allowed_marketplace_mcp = ["docs"]\n')
    assert commands(ground.load()) == {}


@requirement("S4.88")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", [".agh-meta.json", "data"])
def test_a_pipe_in_a_skill_does_not_hold_up_the_load(ground: Ground, name: str) -> None:
    folder = installed(ground, '{"slug": "docs"}')
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    activate(ground, "docs")
    settings = ground.load()
    assert commands(settings) == {}
    assert any("blocked" in each.message for each in settings.warnings)
    # What is in a pipe is never known, so nobody can have allowed it.
    assert bool(content_digest(str(folder))) == (name == ".agh-meta.json")
