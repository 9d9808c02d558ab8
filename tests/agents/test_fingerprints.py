"""What a run is bound to: an agent of the user's own is known by what it comes to."""

import pytest

from agents.lab import Lab
from switchboard.core.catalog.tools import ToolSpec
from switchboard.providers.agents.calls.runnable import RunnableAgent

HOME = """name = "mine"
description = "{description}"
instructions = "{instructions}"
tools = {tools}
{top}
[run]
model = "{model}"
{run}
"""
FIELDS = {
    "description": "reviews",
    "instructions": "Be brief.",
    "tools": '["talk::echo"]',
    "model": "gpt-5",
    "run": "",
    "top": "",
}
SERVER = '[mcp_servers.talk]\ncommand = "talk"\n'


def print_of(lab: Lab, specs: dict[str, ToolSpec], text: str) -> str:
    """The fingerprint of the only agent, which is the user's own."""
    lab.put(lab.user_home / ".agents" / "mine.toml", text)
    found = lab.found()
    (agent,) = found.usable.values()
    # Its file needs no trust, so it has none of its own.
    assert agent.fingerprint == ""
    plan = found.plan(agent)
    return RunnableAgent(
        agent=agent,
        spec=specs[agent.tool],
        engine=plan.engine,
        profile=plan.profile,
        references=(*plan.tools.references, *plan.tools.bare),
        injected=plan.injected,
    ).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"instructions": "Be long."},
        {"model": "gpt-5-codex"},
        {"tools": '["talk::fail"]'},
        {"run": 'sandbox_mode = "read-only"'},
        {"top": 'engine = "claude"'},
        {"run": SERVER},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_agent_of_the_home_is_another_one_when_it_would_do_something_else(
    lab: Lab, change: dict[str, str]
) -> None:
    lab.put(lab.user_home / ".agents" / "mine.toml", HOME.format(**FIELDS))
    specs = lab.tools()
    before = print_of(lab, specs, HOME.format(**FIELDS))
    assert print_of(lab, specs, HOME.format(**FIELDS)) == before
    # Neither a comment nor what clients are told of it decides what runs.
    said = HOME.format(**{**FIELDS, "description": "looks"})
    assert print_of(lab, specs, f"# mine\n{said}") == before
    assert print_of(lab, specs, HOME.format(**{**FIELDS, **change})) != before
