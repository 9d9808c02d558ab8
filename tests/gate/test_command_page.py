"""The section on command tools of docs/security.md: what it tells to try comes out as it says."""

import re

from gate.ground import Gate, answered, asked, fault, questions_to
from support.mcp_stdio import text_of
from support.requirements import requirement
from support.workspace import CHECKOUT

PAGE = (CHECKOUT / "docs" / "security.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## Command tools\n") : PAGE.index("## A network of chosen hosts\n")]


def test_every_section_says_what_is_defended_what_is_not_and_how_to_check_it() -> None:
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert titles == [
        "The sandbox",
        "The folder that a server starts in",
        "Command tools",
        "A network of chosen hosts",
        "Secrets",
        "The vault",
        "Words of servers, and clients beside each other",
        "Trust in a workspace",
        "What is not defended",
    ]
    *sections, last = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    for section in sections:
        heads = re.findall(r"^### (.*)$", section, re.MULTILINE)
        wanted = ["What is defended", "How to check it"]
        assert [head for head in heads if head in wanted] == wanted
    assert last.startswith("What is not defended\n")
    assert PAGE.count("What is not defended") == 1


def test_one_table_says_of_each_section_what_is_not_defended() -> None:
    heads = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    rows = re.findall(r"^\| \[(.*?)\]\(#(.*?)\) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert {area for area, *_ in rows} == {*heads} - {"What is not defended"}
    for area, link, *_ in rows:
        assert link == re.sub(r"[^\w -]", "", area.lower()).replace(" ", "-")
    table = PAGE.partition("## What is not defended\n")[2]
    assert len(rows) == table.count("\n| [") >= len(heads)


def test_the_tests_that_the_page_names_are_there() -> None:
    named = re.findall(r"\btests/[\w/.]+\w", PAGE)
    assert named
    assert [each for each in named if not (CHECKOUT / each).exists()] == []


@requirement("S3.18", "S3.26", "S3.63", "S3.85", "S3.96")
async def test_what_the_page_tells_to_try_comes_out_as_it_says(gate: Gate) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", SECTION, re.DOTALL)
    texts = ["$(touch owned) *", "--help", "/etc/passwd"]
    assert all(f"`{text}`" in SECTION for text in texts)
    gate.workspace.config_toml(f"enable_mcp_server_surface = true\n{example}", scope="home")
    keys = gate.workspace.user_home / ".ssh"
    keys.mkdir()
    (keys / "id_of_mine").touch()
    async with gate.window() as client:
        params = {"name": "peek", "arguments": {"text": texts[0]}}
        begun = client.begin("tools/call", params)
        answered(client, await asked(client), "allow_once")
        told = text_of((await client.answer_to(begun))["result"])
        assert told.splitlines()[-1] == texts[0]
        assert "id_of_mine" not in told
        reasons = [fault(await client.call("peek", {"text": text}))["reason"] for text in texts[1:]]
        assert reasons == ["argument-refused", "path-outside-workspace"]
        assert len(questions_to(client)) == 1
    assert not list(gate.workspace.root.parent.rglob("owned"))
    noted = [record["event"] for record in await gate.records(tool="peek")]
    assert noted.count("tool.call.finished") == 1
    assert noted.count("tool.call.refused") == len(reasons)
