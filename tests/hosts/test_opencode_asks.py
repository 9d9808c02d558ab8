"""When opencode asks before a call of ours, and when it leaves that to us."""

import json
from pathlib import Path
from typing import Any

import pytest

from hosts.ground import named
from support.hosts import opencode_program, run_opencode
from support.models.responses import responses_model
from support.models.script import say, use
from support.workspace import Workspace, child_command, server
from switchboard.hosts.granting import granted_with_entry

OPENCODE = named("opencode")
PASSES, ASKS = {"*": "allow"}, {"*": "ask"}


def granted(settings: dict[str, Any], *, is_guarded: bool = True) -> dict[str, Any]:
    """Give the rules that are offered to somebody with these settings."""
    raw = json.dumps(settings).encode()
    found = granted_with_entry(OPENCODE, raw, is_guarded=is_guarded, reading=("notes_read",))
    assert {each.keys for each in found} <= {("permission",)}
    return {each.name: each.value for each in found}


@pytest.mark.parametrize(
    ("permission", "is_offered"),
    [
        (None, False),
        ({}, False),
        ("ask", False),
        ({"bash": "ask"}, False),
        ({"notes_*": "ask"}, False),
        (PASSES, False),
        (ASKS, True),
        ({"*": "ask", "switch*": "allow"}, False),
        ({"*": "allow", "switch*": "ask"}, True),
        ({"*": {"*": "ask"}}, True),
    ],
)
def test_a_rule_is_offered_only_where_another_would_have_opencode_ask(
    permission: object, is_offered: bool
) -> None:
    settings = {} if permission is None else {"permission": permission}
    assert granted(settings) == ({"switchboard_*": "allow"} if is_offered else {})
    expected = {"switchboard_notes_read": "allow"} if is_offered else {}
    assert granted(settings, is_guarded=False) == expected


@pytest.mark.parametrize(
    ("permission", "is_called"),
    [({}, True), (ASKS, False), ({**ASKS, **granted({"permission": ASKS})}, True)],
)
async def test_the_real_opencode_asks_by_its_rules_alone(
    permission: dict[str, Any], is_called: bool, tmp_path: Path
) -> None:
    script = (use("switchboard_echo", text="hello-there"), say("done"))
    servers = {"switchboard": server(child_command("echo_child", "echo"))}
    with responses_model(*script) as model:
        more = {"permission": permission}
        await run_opencode(opencode_program(), model, Workspace(tmp_path), servers, more)
    assert any("hello-there" in each for each in model.results) == is_called
