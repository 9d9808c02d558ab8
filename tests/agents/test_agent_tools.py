"""Agents as tools: what clients see, and what waits for trust."""

from typing import Any

import msgspec
import pytest

from agents.lab import Lab
from support.requirements import requirement
from support.sources import agents
from switchboard.core.catalog.tools import Effects
from switchboard.core.faults import Fault
from switchboard.pipeline.schemas import check_for
from switchboard.providers.agents.source import SOURCE
from switchboard.settings.trust import trust

TEXT = 'name = "a"\ninstructions = "one"\n'


@requirement("S0.02", "S0.03", "S0.115")
def test_every_agent_takes_a_task_and_a_folder(lab: Lab) -> None:
    lab.agent(TEXT)
    lab.claude("---\nname: a\n---\n")
    lab.chat_mode("---\ndescription: a\n---\n")
    tools = lab.tools().values()
    assert len(tools) == 3
    for tool in tools:
        schema: dict[str, Any] = msgspec.json.decode(tool.input_schema)
        assert {name: each["type"] for name, each in schema["properties"].items()} == {
            "task": "string",
            "cwd": "string",
        }
        assert schema["required"] == ["task", "cwd"]
        assert schema["additionalProperties"] is False
        assert tool.effects == Effects(
            read_only=False, destructive=True, idempotent=False, open_world=True
        )


@requirement("S0.04", "S0.05", "S0.07")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"task": "x"},
        {"cwd": "/"},
        {"task": 5, "cwd": "/"},
        {"task": "x", "cwd": None},
        {"task": "x", "cwd": "/", "model": "y"},
    ],
)
def test_anything_else_does_not_fit_the_schema(lab: Lab, arguments: dict[str, Any]) -> None:
    lab.agent(TEXT)
    (tool,) = lab.tools().values()
    check = check_for(tool)
    check(msgspec.Raw(b'{"task": "x", "cwd": "/"}'))
    with pytest.raises(Fault) as fault:
        check(msgspec.Raw(msgspec.json.encode(arguments)))
    assert fault.value.reason == "arguments-invalid"


def test_an_agent_of_the_workspace_waits_for_trust_and_is_only_counted(lab: Lab) -> None:
    lab.agent(TEXT)
    lab.put(lab.home / "agents" / "mine.toml", 'name = "mine"\n')
    assert list(lab.tools_by_record()) == ["agent_mine"]
    settings = lab.load(trusted=False)
    said = SOURCE.instructions(settings, {})
    assert "1 agent waits for trust" in said
    assert "agent_a" not in said
    (item,) = SOURCE.trust_items(settings)
    assert (item.name, item.kind, item.trust) == ("agent_a", "agent", "waiting")
    # The other agent's engine is not installed here, which is told too.
    told = list(SOURCE.findings(settings, {}))
    note, engine, finding = told
    assert (note.severity, note.message) == ("note", "1, 1 not trusted")
    assert engine.subject == "engine codex"
    assert (finding.subject, finding.hint) == ("agent_a", "switchboard trust agent_a")


def test_what_would_run_is_told_before_trust(lab: Lab) -> None:
    lab.agent(
        'name = "a"\ninstructions = "one"\ntools = ["x::y", "z"]\nengine = "claude"\n'
        '[run]\nmodel = "m"\nsandbox_mode = "read-only"\n'
        '[mcp_servers.s]\ncommand = "run"\nargs = ["it"]\n'
        '[mcp_servers.far]\nurl = "https://example.com/mcp"\n'
        'headers = { Authorization = "Bearer ${FAR_TOKEN}" }\n'
    )
    (item,) = SOURCE.trust_items(lab.load(trusted=False))
    assert item.runs == (
        "claude; model=m; sandbox_mode=read-only; tool x::y; tool z; server s: run it;"
        " server far through Switchboard: https://example.com/mcp (with Authorization);"
        " instructions of 3 characters (sha256 7692c3ad3540)"
    )


def test_trust_holds_until_anything_of_the_agent_changes(lab: Lab) -> None:
    lab.agent('name = "a"\ninstructions_file = "p.md"\n')
    prompt = lab.put(lab.workspace / "p.md", "one")

    def asked() -> bool:
        """Whether it waits now; then it is trusted."""
        settings = lab.load(trusted=False)
        waits = "agent_a" in agents(settings).untrusted
        trust(settings)
        assert list(lab.tools_by_record()) == ["agent_a"]
        return waits

    assert asked()
    assert not asked()
    prompt.write_text("two")
    assert asked()
    lab.agent('{"mcpServers": {"x": {"command": "y"}}}', name="one.mcp.json")
    assert asked()
    lab.agent('[[mappings]]\ntoken = "x"\nto_model = "y"\n', name="model-map.toml")
    assert asked()
    lab.agent('name = "a"\ninstructions_file = "p.md"\ntools = ["plan"]\n')
    assert asked()
    assert not asked()


def test_an_untrusted_agent_hides_none_of_its_user(lab: Lab) -> None:
    lab.agent('name = "a"\ndescription = "theirs"\n')
    lab.put(lab.home / "agents" / "a.toml", 'name = "a"\ndescription = "mine"\n')
    assert "mine" in lab.tools_by_record()["agent_a"].description
    trust(lab.load(trusted=False))
    assert "theirs" in lab.tools_by_record()["agent_a"].description


def test_an_untrusted_map_of_models_changes_no_agent_of_its_user(lab: Lab) -> None:
    lab.agent('[[mappings]]\ntoken = "sonnet"\nto_model = "evil"\n', name="model-map.toml")
    lab.put(lab.home / "agents" / "a.toml", 'name = "a"\n[run]\nmodel = "sonnet"\n')

    def model() -> str | None:
        found = lab.found_by_record()
        return found.plan(found.usable["agent_a"]).profile.fields.model

    assert model() == "gpt-5"
    trust(lab.load(trusted=False), ["model-map.toml"])
    assert model() == "evil"


def test_a_link_does_not_make_a_strangers_folder_ones_own(lab: Lab) -> None:
    elsewhere = lab.user_home / "elsewhere"
    lab.put(elsewhere / "x.toml", 'name = "x"\n')
    (lab.workspace / ".agents").symlink_to(elsewhere)
    assert lab.tools_by_record() == {}
    assert lab.tools() == {}


def test_in_the_users_own_folder_the_agents_are_the_users(lab: Lab) -> None:
    lab.put(lab.user_home / ".agents" / "x.toml", 'name = "x"\n')
    lab.put(lab.user_home / ".claude" / "agents" / "y.md", "---\nname: y\n---\n")
    lab.workspace = lab.user_home
    assert list(lab.tools_by_record()) == ["agent_x", "anth_y"]


def test_a_long_description_is_cut(lab: Lab) -> None:
    lab.agent(f'name = "a"\ndescription = "{"x" * 10_000}"\n')
    (tool,) = lab.tools().values()
    assert len(tool.description) < 4_100
    assert tool.description.endswith("…")
