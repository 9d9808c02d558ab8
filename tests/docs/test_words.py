"""What our pages show of our own words is what we say."""

import json
import re
import shlex
from pathlib import Path

import pytest

from approvals.ground import a_tool
from docs.pages import KNOWN, LEAN, Block, blocks_of
from docs.story import Story, in_order
from support.mcp_stdio import talking_to
from support.workspace import CHECKOUT, NODE_MODULES, SCRIPTS, child_command, server
from switchboard.cli.options import PROGRAM
from switchboard.cli.table import VERBS, loaded
from switchboard.providers.find.answers import signatures
from switchboard.providers.find.catalogue import KnownTool
from switchboard.results.excerpt import excerpt
from switchboard.results.inlining import Share
from switchboard.search.signature import signature
from switchkit.cli.usage import read_arguments, split_verb

_MEMORY = NODE_MODULES / "@modelcontextprotocol/server-memory/dist/index.js"
_SERVERS = {
    "git": [str(SCRIPTS / "mcp-server-git")],
    "time": [str(SCRIPTS / "mcp-server-time")],
    "memory": ["node", str(_MEMORY)],
}
# Words of ours that a block shows, and where they are from; tests there say when they are told.
_WORDS = {
    ("docs/agents.md", "Agent reviewer wants"): (
        "src/switchboard",
        ["wants to run a command", "unknown until it runs", "a command can do anything"],
    ),
    ("docs/approvals.md", "DESTROYS"): (
        "src/switchboard/approvals",
        ["DESTROYS", "no sandbox", "leaves the workspace", "switchboard approvals show"],
    ),
    ("docs/find.md", KNOWN): (
        "src/switchboard",
        ["for tools that only read.", "Known already:", "Find tools by what they do, one step of"],
    ),
    ("docs/find.md", LEAN): (
        "src/switchboard",
        ["for tools that only read.", "Call a tool that", "Answers signatures"],
    ),
    ("docs/find.md", "Not searched"): (
        "src/switchboard",
        [
            "Not searched: ",
            "needs a login: ",
            "failed, ",
            "still starting: search again in a moment",
            "of this workspace not trusted yet (`switchboard trust`)",
        ],
    ),
    ("docs/results.md", "From earlier results"): (
        "src/switchboard",
        ["From earlier results:", "letters", "change"],
    ),
    ("docs/switchyard/state.md", "state.json"): (
        "src/switchyard",
        ["state.json", "ports.json", "projects", "certificates"],
    ),
    ("docs/vault.md", "$ switchboard vault unlock"): (
        "src/switchboard",
        [
            "Passphrase of the vault: ",
            "the vault is open for the daemon, process ",
            ", until it ends",
        ],
    ),
}


def the(page: str, begins: str) -> Block:
    [found] = [each for each in blocks_of(page) if each.text.startswith(begins)]
    return found


@pytest.mark.parametrize(("page", "begins"), _WORDS)
def test_the_words_of_a_block_are_ours(page: str, begins: str) -> None:
    folder, words = _WORDS[page, begins]
    block = the(page, begins)
    sources = "\n".join(path.read_text("utf-8") for path in (CHECKOUT / folder).rglob("*.py"))
    assert [word for word in words if word.strip() not in block.text] == []
    assert [word for word in words if word not in sources] == []


async def test_the_signatures_of_known_tools_are_those_of_the_real_servers(tmp_path: Path) -> None:
    known: set[str] = set()
    for name, command in _SERVERS.items():
        async with talking_to(command, cwd=tmp_path) as client:
            await client.initialize()
            for tool in (await client.tools()).values():
                known.add(signature(f"{name}.{tool['name']}", tool["inputSchema"]))
    shown = re.findall(r"\w+\.\w+\(.*\)$", the("docs/find.md", KNOWN).text, re.MULTILINE)
    assert len(shown) > len(_SERVERS)
    assert [each for each in shown if each not in known] == []


def test_a_search_answers_with_the_lines_of_the_page() -> None:
    text = {"type": "string"}
    state = {"type": "string", "enum": ["open", "closed"], "default": "open"}
    issue = {"repo": text, "title": text, "body": text}
    create = a_tool(
        "create_issue",
        description="Open a new issue in a repository.",
        schema={"type": "object", "properties": issue, "required": ["repo", "title"]},
    )
    listing = a_tool(
        "list_issues",
        description="List the issues of a repository.",
        schema={
            "type": "object",
            "properties": {"repo": text, "state": state},
            "required": ["repo"],
        },
    )
    found = [
        KnownTool(address=f"github.{each.name}", server="github", spec=each)
        for each in (create, listing)
    ]
    assert f"{signatures(found, is_sure=False)}\n" == the("docs/find.md", "github.create").text


def test_a_wrapper_has_the_files_of_the_page(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.workspace.child("memory", child_command("echo_child", "memory"))
    code, said = story.types("switchboard wrap memory")
    assert code == 0, said
    folder, *lines = the("docs/natural-language.md", ".switchboard/mcps").text.splitlines()
    made = {path.name for path in (story.workspace.root / folder).rglob("*")}
    assert {re.split(r"  +", line.strip("├└─│ "))[0].rstrip("/") for line in lines} == made


def test_a_long_result_is_told_in_the_words_of_the_page() -> None:
    head, shape, *_, left, _ = the("docs/results.md", "[Switchboard keeps").text.splitlines()
    rows = [{"id": number, "title": f"row {number}"} for number in range(600)]
    document = {"title": "Home", "body": rows, "note": "x"}
    said = excerpt(document, "r1-6f0c2a91b3de", Share(2_000), is_error=False)
    pattern = re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(head).replace("r1\\-6f0c2a91b3de", "\\S+"))
    assert re.match(pattern, said), said
    assert shape in said
    assert re.search(re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(left)), said), said


def test_the_commands_about_runs_can_be_typed() -> None:
    for line in the("docs/runs.md", "switchboard runs").text.splitlines():
        verb, rest = split_verb(PROGRAM, shlex.split(re.split("  +", line)[0])[1:])
        read_arguments(PROGRAM, loaded(VERBS[verb].module).USAGE, rest)


def test_the_folder_of_a_skill_is_where_skills_are_read_from(tmp_path: Path) -> None:
    folder, *files = the("docs/skills.md", "~/.switchboard").text.split()
    story = Story(tmp_path)
    for name in files:
        path = story.path_of(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        servers = {"docs": server(child_command("echo_child", "docs"))}
        skill = "---\nname: docs-search\n---\n"
        path.write_text(json.dumps({"mcpServers": servers}) if name == "mcp.json" else skill)
    [active] = [each for each in blocks_of("docs/skills.md") if each.text.startswith("# ~")]
    story.put(active)
    assert "docs" in story.runs("switchboard list")


def test_trust_shows_which_secret_a_server_asks_for(tmp_path: Path) -> None:
    story = Story(tmp_path)
    secret = {"GITHUB_TOKEN": "vault:mcp/github/env/GITHUB_TOKEN"}
    own = server(child_command("echo_child"), secret_env=secret)
    story.workspace.mcp_json({"github": own}, scope="home")
    (story.workspace.home / "config.toml").unlink(missing_ok=True)
    story.workspace.mcp_json({"github": server(["node", "server.js"], secret_env=secret)})
    command, *lines = the("docs/vault.md", "$ switchboard trust").text.splitlines()
    _, said = story.types(command.removeprefix("$ "), answer="n")
    assert in_order([line for line in lines if line.strip() != "…"], said), said
