"""`*.toml` agents: every key, and what is wrong with one."""

import pytest

from agents.lab import Lab
from support.requirements import requirement
from switchboard.engines.profile import AttachedServer, RunFields

# As the reference of agents has it.
WORKED = """
name = "Explain Build Failures"
description = "Diagnose failing builds and propose fixes"
tags = ["triage", "build"]
tools = ["plan", "apply_patch", "web_search"]
instructions_file = ".agents/explain.prompt.md"

[run]
model = "gpt-4o-mini"            # optional; omit to use Codex defaults
model_provider = "openai"         # optional
tools_web_search_request = true    # optional toggle

[mcp_servers.memory]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-memory"]
env = { FOO = "BAR" }
"""
BRIDGED = """
name = "wiki"
[mcp_servers.deepwiki]
command = "mcp-proxy"
args = ["--transport", "streamablehttp", "https://mcp.deepwiki.com/mcp"]
[mcp_servers.events]
command = "mcp-proxy"
args = ["https://mcp.deepwiki.com/sse"]
env = { API_ACCESS_TOKEN = "x" }
"""


@requirement("S0.57", "S0.28", "S0.102", "S0.103", "S0.104")
def test_the_worked_example_loads_whole(lab: Lab) -> None:
    lab.agent(WORKED)
    lab.agent("Read the log first.\n", name="explain.prompt.md")
    agent = lab.only()
    assert (agent.name, agent.tool) == ("Explain Build Failures", "agent_explain_build_failures")
    assert agent.description == "Diagnose failing builds and propose fixes"
    assert agent.tags == ("triage", "build")
    assert agent.tools == ("plan", "apply_patch", "web_search")
    assert agent.instructions == "Read the log first."
    assert agent.run == RunFields(
        model="gpt-4o-mini", model_provider="openai", tools_web_search_request=True
    )
    args = ("-y", "@modelcontextprotocol/server-memory")
    assert agent.servers == (
        AttachedServer(name="memory", command="npx", args=args, env={"FOO": "BAR"}),
    )
    assert lab.told() == {
        "model": "gpt-4o-mini",
        "model_provider": "openai",
        "include_plan_tool": True,
        "include_apply_patch_tool": True,
        "tools_web_search_request": True,
    }


@requirement("S0.113", "S0.105", "S0.112")
def test_the_examples_of_a_bridge_load(lab: Lab) -> None:
    lab.agent(BRIDGED)
    wiki, events = lab.only().servers
    assert wiki.args == ("--transport", "streamablehttp", "https://mcp.deepwiki.com/mcp")
    assert events.args == ("https://mcp.deepwiki.com/sse",)
    assert events.env == {"API_ACCESS_TOKEN": "x"}


@requirement("S0.20")
def test_a_file_without_a_name_is_not_shown(lab: Lab) -> None:
    lab.agent('description = "nobody"\n')
    assert lab.refusal() == "one.toml:1:1: `name` is required"
    assert lab.tools() == {}


@requirement("S0.21")
def test_a_description_is_optional(lab: Lab) -> None:
    lab.agent('name = "a"\n')
    assert lab.tools()["agent_a"].description == "task, cwd: string — Agent"
    lab.agent('name = "a"\ndescription = ""\n')
    words = "task, cwd: string — Agent 'a': Execute tasks via Codex"
    assert lab.tools()["agent_a"].description == words
    lab.agent('name = "a"\ndescription = "Looks."\ntags = ["x", "y"]\n')
    assert lab.tools()["agent_a"].description == "task, cwd: string — Looks. [tags: x, y]"


@requirement("S0.22", "S0.23")
@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ('["a b", "c"]', ("a b", "c")),
        ('" a, b  c ,,"', ("a", "b", "c")),
        ("[]", ()),
    ],
)
def test_tags_are_a_list_or_words(lab: Lab, written: str, tags: tuple[str, ...]) -> None:
    lab.agent(f'name = "a"\ntags = {written}\n')
    assert lab.only().tags == tags


@requirement("S0.24", "S0.48")
def test_instructions_come_from_the_file_first_of_the_workspace(lab: Lab) -> None:
    lab.agent('name = "a"\ninstructions_file = "deep/prompt.md"\ninstructions = "inline"\n')
    lab.agent("beside the agent", name="deep/prompt.md")
    assert lab.only().instructions == "beside the agent"
    lab.put(lab.workspace / "deep" / "prompt.md", "of the workspace")
    assert lab.only().instructions == "of the workspace"


@requirement("S0.25", "S0.49")
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_inline_instructions_count_where_the_file_cannot(lab: Lab, content: str | None) -> None:
    lab.agent('name = "a"\ninstructions_file = "gone.md"\ninstructions = "inline"\n')
    if content is not None:
        lab.put(lab.workspace / "gone.md", content)
    assert lab.only().instructions == "inline"
    (problem,) = lab.found().problems
    assert (problem.severity, problem.line) == ("warning", 2)
    assert "`instructions` is used instead" in problem.message


def test_the_prompt_beside_the_file_counts_where_it_says_nothing(lab: Lab) -> None:
    lab.agent('name = "a"\n')
    lab.agent("from beside", name="one.prompt.md")
    assert lab.only().instructions == "from beside"
    lab.agent('name = "a"\ninstructions = "inline"\n')
    assert lab.only().instructions == "inline"


@requirement("S0.116")
def test_without_instructions_the_engine_is_told_none(lab: Lab) -> None:
    lab.agent('name = "a"\ninstructions = "  "\n')
    assert lab.plan().profile.base_instructions == ""
    lab.agent('name = "a"\ninstructions = "Be brief."\n')
    assert lab.plan().profile.base_instructions == "Be brief."


@requirement("S0.26")
@pytest.mark.parametrize("written", ['["plan", "x::y"]', '"plan, x::y"', '"plan x::y"'])
def test_tools_are_a_list_or_words(lab: Lab, written: str) -> None:
    lab.agent(f'name = "a"\ntools = {written}\n')
    assert lab.only().tools == ("plan", "x::y")


FIELDS: list[tuple[str, str, object]] = [
    ("S0.33", 'model = "m"', "m"),
    ("S0.34", 'model_provider = "p"', "p"),
    ("S0.35", 'approval_policy = "on-request"', "on-request"),
    ("S0.36", "disable_response_storage = true", True),
    ("S0.37", 'model_reasoning_effort = "minimal"', "minimal"),
    ("S0.38", 'model_reasoning_summary = "concise"', "concise"),
    ("S0.39", 'model_verbosity = "low"', "low"),
    ("S0.40", 'chatgpt_base_url = "http://127.0.0.1:1/"', "http://127.0.0.1:1/"),
    ("S0.41", 'sandbox_mode = "read-only"', "read-only"),
    ("S0.42", "include_plan_tool = false", False),
    ("S0.43", "include_apply_patch_tool = true", True),
    ("S0.44", "include_view_image_tool = true", True),
    ("S0.45", "tools_web_search_request = false", False),
]


@pytest.mark.parametrize(
    ("line", "value"),
    [pytest.param(line, value, marks=requirement(id_, "S0.27")) for id_, line, value in FIELDS],
)
def test_a_field_of_run_is_handed_on_as_it_is_and_alone(lab: Lab, line: str, value: object) -> None:
    lab.agent(f'name = "a"\n[run]\n{line}\n')
    assert lab.told() == {line.partition(" ")[0]: value}


@requirement("S0.12", "S0.14", "S0.15", "S0.46", "S0.51", "S0.52", "S0.56", "S0.117", "S0.119")
@pytest.mark.parametrize("text", ["", "[run]\n"])
def test_what_nobody_wrote_is_not_set(lab: Lab, text: str) -> None:
    lab.agent(f'name = "a"\n{text}')
    plan = lab.plan()
    assert lab.told() == {}
    assert plan.engine == "codex"
    assert (plan.profile.base_instructions, plan.profile.config) == ("", {})


@requirement("S0.13", "S0.47", "S0.114")
def test_the_profile_is_the_safe_name(lab: Lab) -> None:
    lab.agent('name = "Über-Prüfer 2.0!"\n')
    assert lab.plan().profile.name == "ber_pr_fer_2_0"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            'sandbox_mode = "readonly"',
            "`sandbox_mode` must be `read-only`, `workspace-write` or `danger-full-access`, not",
        ),
        ('sandbox_mod = "read-only"', "unknown field `sandbox_mod`"),
        ("model = 5", "`model` must be a string, not a number"),
    ],
)
def test_an_agent_never_runs_with_half_of_its_limits(lab: Lab, line: str, says: str) -> None:
    lab.agent(f'name = "a"\n[run]\nmodel_verbosity = "low"\n{line}\n')
    assert lab.refusal().startswith(f"one.toml:4:1: {says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = \n", "one.toml:1:8: not valid TOML: invalid value"),
        ("name = 5\n", "one.toml:1:1: `name` must be a string, not a number"),
        ('name = "a"\ntags = 5\n', "one.toml:2:1: `tags` must be a list of strings, not a number"),
        ('name = "日本"\n', "one.toml:1:1: the name `日本` has no letter or digit"),
        (
            'name = "a"\nengine = "gemini"\n',
            "one.toml:2:1: `engine` must be `codex`, `claude` or `acp:NAME`, not `gemini`",
        ),
        (
            'name = "a"\n[mcp_servers.x]\nargs = ["y"]\n',
            "one.toml:2:1: `command` is required when `transport` is `stdio`",
        ),
    ],
)
def test_a_bad_file_has_one_problem_with_its_place_and_hides_no_other(
    lab: Lab, text: str, says: str
) -> None:
    lab.agent(text)
    assert lab.refusal().startswith(says)
    lab.agent('name = "good"\n', name="two.toml")
    assert list(lab.tools()) == ["agent_good"]
    (warning,) = lab.load().warnings
    assert warning.path.endswith("one.toml")


def test_an_unknown_key_is_only_a_warning(lab: Lab) -> None:
    lab.agent('name = "a"\ndescripton = "x"\n')
    (problem,) = lab.found().problems
    assert (problem.severity, problem.hint) == ("warning", "did you mean `description`?")
    assert list(lab.tools()) == ["agent_a"]


def test_a_folder_with_its_own_servers_is_an_agent(lab: Lab) -> None:
    text = (
        "---\ndescription: Reviews\ntools: [plan]\nrun:\n  sandbox_mode: read-only\n"
        "mcp_servers:\n  kept: {command: inline}\n  both: {command: inline}\n---\nLook twice.\n"
    )
    lab.put(lab.home / "agents" / "reviewer" / "AGENT.md", text)
    beside = {"mcpServers": {"both": {"command": "beside"}}}
    lab.put(lab.home / "agents" / "reviewer" / "mcp.json", beside)
    agent = lab.only()
    assert (agent.tool, agent.instructions) == ("agent_reviewer", "Look twice.")
    assert agent.run == RunFields(sandbox_mode="read-only")
    assert {each.name: each.command for each in agent.servers} == {
        "kept": "inline",
        "both": "beside",
    }


def test_a_flat_file_has_its_servers_beside_it_by_its_stem(lab: Lab) -> None:
    lab.agent('name = "a"\n[mcp_servers.x]\ncommand = "inline"\n')
    lab.agent('{"mcpServers": {"x": {"command": "beside"}}}', name="one.mcp.json")
    (server,) = lab.only().servers
    assert server.command == "beside"
    lab.agent('{"mcpServers": {"x": {"comand": "beside"}}}', name="one.mcp.json")
    assert lab.refusal().startswith("one.mcp.json:1:")


def test_what_is_ours_may_stand_in_the_file(lab: Lab) -> None:
    lab.agent('name = "a"\nengine = "claude"\non_crash = "resume"\nrun_minutes = 5\n')
    agent = lab.only()
    assert (agent.engine, agent.on_crash, agent.limit_s) == ("claude", "resume", 300.0)
    assert lab.plan().engine == "claude"


def test_a_file_that_is_too_large_is_left_out(lab: Lab) -> None:
    lab.agent('name = "a"\ninstructions = """' + "x" * (1 << 16) + '"""\n')
    assert lab.refusal() == "one.toml:0:0: the file is larger than 64 KiB"


def test_a_link_out_of_the_workspace_is_not_followed(lab: Lab) -> None:
    secret = lab.put(lab.user_home / "secret.toml", 'name = "stolen"\n')
    lab.agent('name = "a"\n')
    (lab.workspace / ".agents" / "two.toml").symlink_to(secret)
    assert list(lab.tools()) == ["agent_a"]
    prompt = lab.put(lab.user_home / "secret.md", "secret words")
    (lab.workspace / ".agents" / "prompt.md").symlink_to(prompt)
    lab.agent('name = "a"\ninstructions_file = ".agents/prompt.md"\n')
    assert lab.found().usable["agent_a"].instructions == ""
    lab.agent(f'name = "a"\ninstructions_file = "{prompt}"\n')
    assert lab.found().usable["agent_a"].instructions == ""
