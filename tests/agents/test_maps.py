"""What the names of tools and models mean, and which engine runs them."""

import pytest

from agents.lab import Lab
from support.requirements import requirement
from switchboard.daemon.board.assemble import assemble

MAP = """
[[mappings]]
token = "GPT-4.1"
to_model = "gpt-4.1"
to_provider = "openai"

[[mappings]]
token = "sonnet"
to_model = "claude-3-5-sonnet-latest"
to_provider = "anthropic"

[[mappings]]
token = "o3"
to_model = "o3"
to_provider = "openai"
aliases = ["O3", "OpenAI O3"]

[provider_aliases]
OpenAI = "openai"
Anthropic = "anthropic"
Claude = "anthropic"
Mine = "my-own"
"""


def claude(lab: Lab, **fields: str) -> None:
    lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
    lab.claude(f"---\nname: a\n{lines}---\n")


def chat(lab: Lab, **fields: str) -> None:
    lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
    lab.chat_mode(f"---\nname: a\ndescription: x\n{lines}---\n")


TOML_TOOLS = [
    ("S0.29", "plan", "include_plan_tool"),
    ("S0.30", "apply_patch", "include_apply_patch_tool"),
    ("S0.30", "apply-patch", "include_apply_patch_tool"),
    ("S0.31", "view_image", "include_view_image_tool"),
    ("S0.31", "view-image", "include_view_image_tool"),
    ("S0.32", "web_search", "tools_web_search_request"),
    ("S0.32", "web-search", "tools_web_search_request"),
]


@pytest.mark.parametrize(
    ("name", "toggle"),
    [pytest.param(name, each, marks=requirement(id_, "S0.54")) for id_, name, each in TOML_TOOLS],
)
def test_a_tool_of_a_toml_agent_switches_on_its_toggle_alone(
    lab: Lab, name: str, toggle: str
) -> None:
    lab.agent(f'name = "a"\ntools = ["{name}"]\n')
    assert lab.told() == {toggle: True}


@requirement("S0.54", "S0.55")
def test_tools_and_toggles_add_up(lab: Lab) -> None:
    lab.agent(
        'name = "a"\ntools = ["plan"]\n'
        "[run]\ninclude_view_image_tool = true\ninclude_apply_patch_tool = false\n"
    )
    assert lab.told() == {
        "include_plan_tool": True,
        "include_view_image_tool": True,
        "include_apply_patch_tool": False,
    }


CLAUDE_TOOLS = [
    *(("S0.74", name, "include_apply_patch_tool") for name in ("Edit", "MultiEdit", "Write")),
    ("S0.74", "NotebookEdit", "include_apply_patch_tool"),
    ("S0.75", "WebSearch", "tools_web_search_request"),
    ("S0.75", "WebFetch", "tools_web_search_request"),
    ("S0.76", "TodoWrite", "include_plan_tool"),
]


@pytest.mark.parametrize(
    ("name", "toggle"),
    [
        pytest.param(name, each, marks=requirement(id_, "S0.73", "S0.78"))
        for id_, name, each in CLAUDE_TOOLS
    ],
)
def test_a_tool_of_claude_switches_on_its_toggle(lab: Lab, name: str, toggle: str) -> None:
    claude(lab, tools=name)
    assert lab.told() == {toggle: True}
    assert lab.plan().tools.bare == ()


@requirement("S0.77")
@pytest.mark.parametrize("name", ["Bash", "Glob", "Grep", "Read", "BashOutput", "KillBash"])
def test_the_terminal_needs_no_toggle(lab: Lab, name: str) -> None:
    claude(lab, tools=name)
    assert lab.told() == {}
    assert (lab.plan().tools.terminal, lab.plan().tools.bare) == ((name,), ())


def test_a_limit_of_a_tool_does_not_hide_which_tool_it_is(lab: Lab) -> None:
    claude(lab, tools="Bash(git diff:*), Edit(src/**)")
    assert lab.told() == {"include_apply_patch_tool": True}
    assert lab.plan().tools.terminal == ("Bash",)


@requirement("S0.72", "S0.153")
def test_a_name_that_nobody_knows_stays_bare(lab: Lab) -> None:
    claude(lab, tools="Read, create_issue, mcp__github__search")
    tools = lab.plan().tools
    assert tools.bare == ("create_issue",)
    assert tools.references == ("github::search",)


@requirement("S0.137", "S0.73")
def test_without_the_tool_map_every_name_of_a_vendor_is_bare(lab: Lab) -> None:
    claude(lab, tools="Read, Edit")
    plan = lab.plan(AGENTS_TOOLMAP_ENABLE="0")
    assert plan.tools.bare == ("Read", "Edit")
    assert lab.told(AGENTS_TOOLMAP_ENABLE="0") == {}


VSCODE_TOOLS = [
    ("S0.93", "edit", "include_apply_patch_tool"),
    ("S0.93", "new", "include_apply_patch_tool"),
    ("S0.94", "search", "tools_web_search_request"),
    ("S0.94", "fetch", "tools_web_search_request"),
    ("S0.94", "githubRepo", "tools_web_search_request"),
]


@pytest.mark.parametrize(
    ("name", "toggle"),
    [
        pytest.param(name, each, marks=requirement(id_, "S0.90", "S0.92"))
        for id_, name, each in VSCODE_TOOLS
    ],
)
def test_a_tool_of_vs_code_switches_on_its_toggle(lab: Lab, name: str, toggle: str) -> None:
    chat(lab, tools=f"[{name}]")
    assert lab.told() == {toggle: True}


@requirement("S0.95", "S0.96")
def test_the_terminal_is_consumed_and_placeholders_stay(lab: Lab) -> None:
    chat(lab, tools="[runCommands, openSimpleBrowser, usages, problems]")
    assert lab.told() == {}
    assert lab.plan().tools.terminal == ("runCommands",)
    assert lab.plan().tools.bare == ("openSimpleBrowser", "usages", "problems")


@requirement("S0.91")
@pytest.mark.parametrize("mapping", ["1", "0"])
def test_a_pinned_tool_is_never_mapped(lab: Lab, mapping: str) -> None:
    chat(lab, tools="['memory::memory', 'edit::edit']")
    plan = lab.plan(AGENTS_TOOLMAP_ENABLE=mapping)
    assert plan.tools.references == ("memory::memory", "edit::edit")
    assert plan.injected == ()
    assert lab.told(AGENTS_TOOLMAP_ENABLE=mapping) == {}


@requirement("S0.97", "S0.92")
def test_memory_brings_its_server_along(lab: Lab) -> None:
    chat(lab, tools="[memory]")
    plan = lab.plan()
    assert plan.tools.references == ("memory::memory",)
    (server,) = plan.injected
    assert (server.name, server.command) == ("memory", "npx")
    assert server.args == ("-y", "@modelcontextprotocol/server-memory")


@requirement("S0.138")
def test_servers_are_brought_along_only_where_that_is_allowed(lab: Lab) -> None:
    chat(lab, tools="[memory]")
    plan = lab.plan(AGENTS_TOOLMAP_ALLOW_CUSTOM_SERVERS="false")
    assert (plan.injected, plan.tools.bare) == ((), ("memory",))


MODELS = [
    ("S0.147", "sonnet", "gpt-5"),
    ("S0.147", "opus", "gpt-5"),
    ("S0.147", "haiku", "gpt-5-mini"),
    ("S0.148", "Claude Sonnet 3.5", "gpt-5"),
    ("S0.148", "Gemini 2.5 Pro", "gpt-5"),
    ("S0.148", "Auto", "gpt-5"),
    ("S0.149", "GPT-4.1", "gpt-4.1"),
    ("S0.149", "GPT-4o", "gpt-4o"),
    ("S0.149", "o3-mini", "o3-mini"),
    ("S0.150", "GPT-5 mini (Preview)", "gpt-5-mini"),
    ("S0.150", "GPT-5 mini", "gpt-5-mini"),
]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        pytest.param(name, each, marks=requirement(id_, "S0.139", "S0.152"))
        for id_, name, each in MODELS
    ],
)
def test_a_known_model_is_rewritten_in_any_case(lab: Lab, name: str, model: str) -> None:
    for written in (name, name.upper(), name.lower()):
        chat(lab, model=written)
        assert lab.told() == {"model": model, "model_provider": "openai"}
        assert lab.plan().engine == "codex"


@requirement("S0.12", "S0.119")
def test_an_agent_without_a_model_gets_none(lab: Lab) -> None:
    claude(lab, description="x")
    assert lab.told() == {}
    assert lab.plan().changes == ()


def test_every_rewrite_is_told(lab: Lab) -> None:
    claude(lab, model="sonnet", provider="OpenAI")
    changes = ("provider `OpenAI` is `openai`", "model `sonnet` is `gpt-5`")
    assert lab.plan().changes == changes
    listed = assemble(lab.load(), lab.environ()).listed["agents"]
    assert listed.notices == tuple(f"agent `anth_a`: {each}" for each in changes)


@requirement("S0.139")
def test_the_map_can_be_switched_off(lab: Lab) -> None:
    claude(lab, model="sonnet", provider="Claude")
    told = lab.told(AGENTS_MODEL_MAP_ENABLE="no")
    assert told == {"model": "sonnet", "model_provider": "Claude"}


@requirement("S0.140", "S0.144", "S0.145", "S0.146", "S0.151")
def test_the_map_of_the_workspace_is_laid_over_the_built_in_one(lab: Lab) -> None:
    lab.agent(MAP, name="model-map.toml")
    for written, model, provider in (
        ("sonnet", "claude-3-5-sonnet-latest", "anthropic"),
        ("openai o3", "o3", "openai"),
        ("haiku", "gpt-5-mini", "openai"),
    ):
        claude(lab, model=written)
        assert lab.told() == {"model": model, "model_provider": provider}
    claude(lab, provider="mine")
    assert lab.told() == {"model_provider": "my-own"}


@requirement("S0.140")
@pytest.mark.parametrize("written", ["maps/mine.toml", "{user}/mine.toml", "~/mine.toml"])
def test_the_map_may_be_named(lab: Lab, written: str) -> None:
    text = '[[mappings]]\ntoken = "x"\nto_model = "y"\n'
    lab.put(lab.workspace / "maps" / "mine.toml", text)
    lab.put(lab.user_home / "mine.toml", text)
    lab.agent(MAP, name="model-map.toml")
    claude(lab, model="x")
    named = written.format(user=lab.user_home)
    assert lab.told(AGENTS_MODEL_MAP_FILE=named) == {"model": "y"}


@requirement("S0.141")
def test_a_strict_map_warns_of_what_it_does_not_know(lab: Lab) -> None:
    claude(lab, model="strange")
    assert lab.plan().warnings == ()
    plan = lab.plan(AGENTS_MODEL_MAP_STRICT="1")
    (warning,) = plan.warnings
    assert "`strange`" in warning
    assert lab.told(AGENTS_MODEL_MAP_STRICT="1") == {"model": "strange"}


@requirement("S0.142")
def test_a_provider_that_the_agent_names_stays_unless_the_map_may_replace_it(lab: Lab) -> None:
    claude(lab, model="sonnet", provider="anthropic")
    assert lab.told() == {"model": "sonnet", "model_provider": "anthropic"}
    assert "stays" in lab.plan().warnings[0]
    told = lab.told(AGENTS_MODEL_MAP_OVERRIDE_PROVIDER="1")
    assert told == {"model": "gpt-5", "model_provider": "openai"}


@requirement("S0.143")
@pytest.mark.parametrize(("switch", "provider"), [("1", "anthropic"), ("0", "Claude")])
def test_providers_have_other_names(lab: Lab, switch: str, provider: str) -> None:
    claude(lab, provider="Claude")
    told = lab.told(AGENTS_MODEL_MAP_NORMALIZE_PROVIDER=switch)
    assert told == {"model_provider": provider}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("mappings = 5\n", "model-map.toml:1:1"),
        ('[[mappings]]\ntoken = "x"\n', "model-map.toml:1:1"),
        ('[[mappings]]\ntoken = "x"\nto_model = 5\n', "model-map.toml:3:1"),
    ],
)
def test_a_bad_map_is_one_problem_and_leaves_the_built_in_one(
    lab: Lab, text: str, place: str
) -> None:
    lab.agent(text, name="model-map.toml")
    claude(lab, model="sonnet")
    assert lab.told()["model"] == "gpt-5"
    (problem,) = lab.found().problems
    assert f"{problem.path.rpartition('/')[2]}:{problem.line}:{problem.column}" == place


@pytest.mark.parametrize(
    ("named", "model", "engine"),
    [
        (("acp:mine", "claude", "claude"), "gpt-5", "acp:mine"),
        (("", "acp:theirs", "claude"), "gpt-5", "acp:theirs"),
        (("", "", "claude"), "gpt-5", "claude"),
        (("", "", ""), "gpt-5", "codex"),
        (("", "", ""), "claude-sonnet-4-5", "claude"),
        (("", "", ""), "strange", "codex"),
        (("", "", ""), "", "codex"),
    ],
)
def test_the_engine_is_chosen_from_the_agent_down_to_the_model(
    lab: Lab, named: tuple[str, str, str], model: str, engine: str
) -> None:
    agent, mapping, default = (f'engine = "{each}"\n' if each else "" for each in named)
    if model:
        lab.agent(
            f'[[mappings]]\ntoken = "{model}"\nto_model = "{model}"\n{mapping}',
            name="model-map.toml",
        )
    lab.put(lab.home / "config.toml", f"[agents]\n{default}")
    run = f'[run]\nmodel = "{model}"\n' if model else ""
    lab.agent(f'name = "a"\n{agent}{run}')
    assert lab.plan().engine == engine


def test_a_provider_decides_over_the_engine_first(lab: Lab) -> None:
    lab.agent('name = "a"\n[run]\nmodel = "x"\nmodel_provider = "Claude"\n')
    assert lab.plan().engine == "claude"
