"""The servers of a session: provider, agent and skills over the top level."""

from pathlib import Path
from typing import Any

import pytest

from settings.ground import Ground
from support.requirements import requirement
from switchboard.config.problems import ConfigInvalid
from switchboard.core.origins import Scope
from switchboard.settings.scopes.session_servers import ScopedServers, servers_in_scope
from switchboard.settings.scopes.skill import Skill
from switchboard.settings.trust import trust


def endpoint(text: str) -> str:
    return f"---\n{text}\n---\n# Body\n"


def commands(scoped: ScopedServers) -> dict[str, str]:
    return {entry.name: entry.command for entry in scoped.servers}


def sidecar(**servers: Any) -> dict[str, Any]:
    return {"mcpServers": servers}


@requirement("S4.65", "S4.66", "S4.67", "S4.68", "S4.14", "S4.15", "S4.86", "S4.87", "S4.02")
def test_a_session_goes_top_level_provider_agent_skills(ground: Ground) -> None:
    agent, skill = ground.home / "agents" / "reviewer", ground.home / "skills" / "docs-search"
    toml = '[mcp_servers.x]\ncommand = "top"\nargs = ["kept"]\n'
    ground.put(ground.home / "config.toml", toml)
    assert commands(servers_in_scope(ground.load())) == {"x": "top"}
    ground.put(
        ground.home / "config.toml", toml + '[providers.p.mcp_servers.x]\ncommand = "provider"\n'
    )
    settings = ground.load()
    scoped = servers_in_scope(settings, provider="p")
    assert commands(scoped) == {"x": "provider"}
    assert scoped.servers[0].args == ("kept",)
    assert scoped.servers[0].origin.scope is Scope.PROVIDER
    ground.put(
        agent / "AGENT.md", endpoint("name: reviewer\nmcp_servers:\n  x:\n    command: inline")
    )
    scoped = servers_in_scope(settings, provider="p", agent=str(agent))
    assert commands(scoped) == {"x": "inline"}
    assert scoped.servers[0].args == ("kept",)
    ground.put(agent / "mcp.json", sidecar(x={"command": "agent"}))
    scoped = servers_in_scope(settings, provider="p", agent=str(agent))
    assert commands(scoped) == {"x": "agent"}
    assert scoped.servers[0].args == ()
    ground.put(skill / "SKILL.md", endpoint("name: docs-search"))
    ground.put(skill / "mcp.json", sidecar(x={"command": "skill"}))
    scoped = servers_in_scope(
        settings, provider="p", agent=str(agent), skills=[Skill(directory=str(skill))]
    )
    assert commands(scoped) == {"x": "skill"}
    assert scoped.servers[0].origin.scope is Scope.SKILL


@requirement("S4.69")
def test_inline_servers_merge_field_by_field(ground: Ground) -> None:
    ground.put(ground.home / "mcp.json", sidecar(x={"command": "a", "env": {"A": "1", "B": "1"}}))
    agent = ground.home / "agents" / "r"
    ground.put(
        agent / "AGENT.md",
        endpoint("mcp_servers:\n  - name: x\n    env: {B: '2'}\n  - name: new\n    command: n"),
    )
    scoped = servers_in_scope(ground.load(), agent=str(agent))
    x, new = scoped.servers
    assert (x.command, x.env) == ("a", {"A": "1", "B": "2"})
    assert new.command == "n"


@requirement("S4.57", "S4.70")
def test_the_sidecar_of_an_agent_replaces_its_inline_server_as_a_whole(ground: Ground) -> None:
    agent = ground.home / "agents" / "r"
    ground.put(agent / "AGENT.md", endpoint("mcp_servers:\n  x: {command: a, args: [b]}"))
    ground.put(agent / "mcp.json", sidecar(x={"url": "https://a.example"}))
    (x,) = servers_in_scope(ground.load(), agent=str(agent)).servers
    assert (x.transport, x.command, x.args) == ("http", "", ())


@requirement("S4.58", "S4.70")
def test_the_sidecar_of_a_skill_replaces_its_front_matter_server_as_a_whole(ground: Ground) -> None:
    skill = ground.home / "skills" / "s"
    inline = "metadata:\n  mcp_servers:\n    x: {command: a, args: [b]}\n    y: {command: y}"
    ground.put(skill / "SKILL.md", endpoint(inline))
    ground.put(skill / "mcp.json", sidecar(x={"transport": "sse", "url": "https://a.example"}))
    scoped = servers_in_scope(ground.load(), skills=[Skill(directory=str(skill))])
    x, y = sorted(scoped.servers, key=lambda entry: entry.name)
    assert (x.transport, x.args, y.command) == ("sse", (), "y")


def test_a_skill_inherits_no_secret_of_a_server_of_the_same_name(ground: Ground) -> None:
    ground.put(
        ground.home / "mcp.json", sidecar(gh={"command": "gh", "secret_env": {"T": "env:T"}})
    )
    skill = ground.home / "skills" / "s"
    ground.put(skill / "SKILL.md", endpoint("mcp_servers:\n  gh: {command: thief}"))
    (gh,) = servers_in_scope(ground.load(), skills=[Skill(directory=str(skill))]).servers
    assert (gh.command, gh.secret_env) == ("thief", {})


def test_a_later_skill_wins(ground: Ground) -> None:
    skills: list[Skill] = []
    for name in ("one", "two"):
        folder = ground.home / "skills" / name
        ground.put(folder / "mcp.json", sidecar(x={"command": name}))
        skills.append(Skill(directory=str(folder)))
    assert commands(servers_in_scope(ground.load(), skills=skills)) == {"x": "two"}


@requirement("S4.14")
@pytest.mark.parametrize("name", ["a.agent.md", "a.toml", "a.chatmode.md", "a.md"])
def test_a_flat_agent_has_its_sidecar_by_its_stem(ground: Ground, name: str) -> None:
    text = (
        '[mcp_servers.x]\ncommand = "inline"\n'
        if name.endswith("toml")
        else endpoint("mcp_servers:\n  x: {command: inline}")
    )
    path = ground.put(ground.home / "agents" / name, text)
    assert commands(servers_in_scope(ground.load(), agent=str(path))) == {"x": "inline"}
    ground.put(ground.home / "agents" / "a.mcp.json", sidecar(x={"command": "beside"}))
    assert commands(servers_in_scope(ground.load(), agent=str(path))) == {"x": "beside"}


@requirement("S4.88")
@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ("[]", {}),
        ('["other"]', {}),
        ('["docs"]', {"x": "skill"}),
        ('["hub:docs"]', {"x": "skill"}),
        ('["sha256:abc"]', {"x": "skill"}),
    ],
)
def test_servers_of_a_marketplace_skill_are_blocked_unless_allowed(
    ground: Ground, allowed: str, expected: dict[str, str]
) -> None:
    ground.put(ground.home / "config.toml", f"[skills]\nallowed_marketplace_mcp = {allowed}\n")
    folder = ground.home / "skills" / "docs"
    ground.put(folder / "mcp.json", sidecar(x={"command": "skill"}))
    skill = Skill(
        directory=str(folder),
        source="marketplace",
        slug="docs",
        registry="hub",
        digest="sha256:abc",
    )
    scoped = servers_in_scope(ground.load(), skills=[skill])
    assert commands(scoped) == expected
    assert bool(scoped.warnings) is not bool(expected)


@requirement("S4.89")
def test_a_sidecar_may_be_a_link_inside_its_skill(ground: Ground) -> None:
    folder = ground.home / "skills" / "s"
    real = ground.put(folder / "conf" / "real.json", sidecar(x={"command": "a"}))
    (folder / "mcp.json").symlink_to(real)
    scoped = servers_in_scope(ground.load(), skills=[Skill(directory=str(folder))])
    assert commands(scoped) == {"x": "a"}


@requirement("S4.89", "S4.90")
@pytest.mark.parametrize("kind", ["absolute", "relative", "chained"])
def test_a_sidecar_that_leaves_its_skill_is_refused(
    ground: Ground, tmp_path: Path, kind: str
) -> None:
    folder = ground.home / "skills" / "s"
    folder.mkdir(parents=True)
    outside = ground.put(tmp_path / "out.json", sidecar(x={"command": "evil"}))
    if kind == "absolute":
        (folder / "mcp.json").symlink_to(outside)
    elif kind == "relative":
        ground.put(ground.home / "skills" / "out.json", sidecar(x={"command": "evil"}))
        (folder / "mcp.json").symlink_to("../out.json")
    else:
        (folder / "step").symlink_to(outside)
        (folder / "mcp.json").symlink_to("step")
    with pytest.raises(ConfigInvalid) as caught:
        servers_in_scope(ground.load(), skills=[Skill(directory=str(folder))])
    assert "outside" in caught.value.problems[0].message


def test_agents_and_skills_of_the_workspace_wait_for_trust(ground: Ground) -> None:
    folder = ground.workspace / "skills" / "s"
    ground.put(folder / "mcp.json", sidecar(x={"command": "a"}))
    skill = Skill(directory=str(folder), source="workspace")
    scoped = servers_in_scope(ground.load(), skills=[skill])
    assert commands(scoped) == {}
    assert [entry.name for entry in scoped.untrusted] == ["x"]
    trust(ground.load(), also=scoped.untrusted)
    assert commands(servers_in_scope(ground.load(), skills=[skill])) == {"x": "a"}


def test_a_trusted_server_that_an_agent_changes_is_asked_for_again(ground: Ground) -> None:
    ground.put(ground.own / "mcp.json", sidecar(x={"command": "a"}))
    trust(ground.load(trusted=False))
    agent = ground.home / "agents" / "r"
    ground.put(agent / "AGENT.md", endpoint("mcp_servers:\n  x: {args: ['--more']}"))
    scoped = servers_in_scope(ground.load(trusted=False), agent=str(agent))
    assert commands(scoped) == {}
    assert scoped.untrusted[0].args == ("--more",)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("no front matter", "no front matter", 1),
        ("---\nname: x\n", "not closed", 1),
        ("---\na: 1\na: 2\n---\n", "twice", 3),
        ("---\nmcp_servers:\n  x: {comand: a}\n---\n", "unknown field `comand`", 3),
        ("---\nmcp_servers:\n  x: {args: [1]}\n---\n", "a string", 3),
        ("---\nmcp_servers: 5\n---\n", "an object", 2),
        ("---\na: [1\n---\n", "not valid YAML", 2),
        ("---\n- a\n---\n", "a mapping", 2),
        ("---\na: &x [1]\nb: *x\n---\n", "aliases", 2),
        ("---\n1: x\n---\n", "a key must be a string", 2),
        ("---\na: !!python/object:os.system x\n---\n", "not valid YAML", 2),
        ("---\nmcp_servers:\n  x: {command: a, url: 'https://a'}\n---\n", "not allowed", 3),
        ("---\nmcp_servers:\n  x: {args: [a]}\n---\n", "`command` is required", 3),
    ],
)
def test_wrong_front_matter_is_refused_where_it_shows(
    ground: Ground, text: str, words: str, line: int
) -> None:
    agent = ground.home / "agents" / "r"
    ground.put(agent / "AGENT.md", text)
    with pytest.raises(ConfigInvalid) as caught:
        servers_in_scope(ground.load(), agent=str(agent))
    (problem,) = caught.value.problems
    assert words in problem.message
    assert problem.line == line


@requirement("S4.07", "S4.83")
def test_agents_and_skills_without_files_change_nothing(ground: Ground, tmp_path: Path) -> None:
    scoped = servers_in_scope(
        ground.load(),
        provider="none",
        agent=str(tmp_path / "none"),
        skills=[Skill(directory=str(tmp_path / "no-skill"))],
    )
    assert scoped == ScopedServers(servers=())
