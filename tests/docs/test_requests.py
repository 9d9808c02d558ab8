"""What clients and servers say in the examples of our pages is what is listed, taken and sent."""

import json
from pathlib import Path

import jsonschema_rs
import pytest
from msgspec import Raw

from docs.pages import Block, blocks_of
from docs.story import Story
from results.test_borrowing import a_result
from support.mcp_stdio import talking_to
from support.workspace import CHECKOUT, Json, child_command, server
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.oauth.metadata import AUTH_METHODS
from switchboard.providers.agents.calls.answers import approval_facts
from switchboard.providers.suites.results import with_choice
from switchboard.results.borrowing import lent_to, resolve
from switchboard.surface.params import overrides_from

_ECHO = child_command("echo_child", "echo")
_SUITES = {
    "docs/daemon.md": ("code_suite", server(_ECHO, follow="worktree")),
    "docs/natural-language.md": ("memory_suite", server(_ECHO, natural_language=True)),
}


def the(page: str, begins: str) -> Block:
    [found] = [each for each in blocks_of(page) if not each.place and each.text.startswith(begins)]
    return found


async def listed(story: Story) -> dict[str, Json]:
    """What a client is shown."""
    command = story.workspace.command("mcp")
    async with talking_to(command, cwd=story.workspace.root, env=story.env) as client:
        await client.initialize()
        return await client.tools()


@pytest.mark.parametrize("page", _SUITES)
async def test_a_call_of_a_suite_fits_what_the_suite_takes(page: str, tmp_path: Path) -> None:
    suite, entry = _SUITES[page]
    story = Story(tmp_path)
    # One that follows starts in a folder that is trusted.
    story.env["SWITCHBOARD_TRUST_WORKSPACE"] = "1"
    story.workspace.mcp_json({suite.removesuffix("_suite"): entry}, scope="home")
    arguments = json.loads(the(page, '{"action"' if "daemon" in page else '{ "action"').text)
    schema = (await listed(story))[suite]["inputSchema"]
    jsonschema_rs.validate(schema, arguments)
    # A word that it does not know would be refused, and so would this example.
    assert {*arguments} <= {*schema["properties"]}


async def test_a_result_as_an_argument_fits_what_call_tool_takes(tmp_path: Path) -> None:
    story = Story(tmp_path)
    (story.workspace.home / "config.toml").write_text('surface_tokens = "lean"\n')
    story.workspace.mcp_json({"wiki": server(_ECHO)}, scope="home")
    arguments = json.loads(the("docs/results.md", '{"tool"').text)
    schema = (await listed(story))["call_tool"]["inputSchema"]
    jsonschema_rs.validate(schema, arguments)
    assert {*arguments} <= {*schema["properties"]}
    rows = [{"id": number, "title": f"row {number}"} for number in range(5)]
    kept = a_result({"title": "Home", "body": rows})
    made = resolve(arguments["args"], lent_to(arguments["args"], lambda _: kept)).args
    assert made == {"body": [*rows[:3], {"id": 3, "title": "Aims"}, rows[4]]}


def test_a_session_has_what_a_request_says_of_it() -> None:
    member = the("docs/commands.md", '"_meta"').text
    meta = json.loads(f"{{{member}}}")["_meta"]
    overrides = overrides_from(Raw(json.dumps(meta["switchboard/session"]).encode()))
    assert (overrides.cwd, dict(overrides.env)) == ("packages/web", {"STAGE": "test"})


def test_an_answer_to_a_sentence_ends_with_what_was_called() -> None:
    told = json.loads(the("docs/natural-language.md", '{ "natural_language"').text)
    chosen = told["natural_language"]
    args = Raw(json.dumps(chosen["args"]).encode())
    outcome = with_choice(Outcome(blocks=()), chosen["subtool"], args)
    [block] = outcome.blocks
    assert isinstance(block, TextBlock)
    assert json.loads(block.text) == told


def test_a_run_that_waits_for_a_person_says_what_can_be_typed() -> None:
    told = json.loads(the("docs/runs.md", '{"id"').text)
    known = approval_facts("…")
    assert told["approval"]["id"] == known["id"]
    assert {*told["approval"]["commands"]} == {*known["commands"]}
    assert told["approval"]["commands"]["show"] == known["commands"]["show"]


def test_a_published_client_is_the_one_that_we_register() -> None:
    told = json.loads(the("docs/login.md", '{\n  "client_id"').text)
    ours = (CHECKOUT / "src/switchboard/oauth/client_identity.py").read_text("utf-8")
    assert f'"client_name": "{told["client_name"]}"' in ours
    assert json.dumps(told["grant_types"])[:-1] in ours
    assert f'"response_types": {json.dumps(told["response_types"])}' in ours
    assert told["token_endpoint_auth_method"] in AUTH_METHODS
