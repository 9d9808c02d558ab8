"""From an agent to what its engine is told: only what somebody wrote down is set."""

from msgspec import Struct
from msgspec.structs import replace

from switchboard.engines.profile import AgentProfile, AttachedServer, RunFields
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.maps.engine_choice import chosen_engine
from switchboard.providers.agents.maps.model_map import ModelMap
from switchboard.providers.agents.maps.tool_map import TOOL_MAP, MappedTools, map_tools
from switchboard.providers.agents.options import AgentOptions

_CLAUDE, _CODEX = "claude", "codex"
_SHELL = "Bash"


class AgentPlan(Struct, frozen=True, kw_only=True):
    """How an agent is run: the engine, and what it is told. Its servers are attached later."""

    engine: str
    # Without servers: which of them count is decided when the agent is used.
    profile: AgentProfile
    # What its tools came to; the references decide over servers.
    tools: MappedTools = MappedTools()
    # Servers that names of tools stand for.
    injected: tuple[AttachedServer, ...] = ()
    # What the map of models changed, and what it does not know, in words.
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # Tools that the agent must not have, and that its engine cannot take away.
    unheld: tuple[str, ...] = ()


def plan_for(agent: Agent, options: AgentOptions, models: ModelMap) -> AgentPlan:
    """The plan of an agent. Starts nothing and reads nothing."""
    tools = map_tools(
        agent.format,
        agent.tools,
        is_on=options.toolmap_enable,
        may_inject=options.toolmap_allow_custom_servers,
    )
    fields = agent.run
    # The first model that the map knows; the one that the agent prefers where it knows none.
    if options.model_map_enable and fields.model is not None and not models.knows(fields.model):
        known = next((each for each in agent.models if models.knows(each)), fields.model)
        fields = replace(fields, model=known)
    rewrite = models.rewrite(fields, options)
    # What the tools switch on, beside what `[run]` says: either turns a tool on.
    fields = replace(rewrite.fields, **dict.fromkeys(tools.toggles, True))
    engine = chosen_engine(agent.engine, rewrite.engine, options.engine, fields)
    config: dict[str, object] = {}
    unheld: tuple[str, ...] = ()
    if engine != _CLAUDE:
        # Claude Code knows its own words; others are held to what they have for them.
        fields, config, unheld = _without(agent.refused_tools, fields, engine)
    return AgentPlan(
        engine=engine,
        profile=AgentProfile(
            name=agent.safe_name,
            fields=fields,
            base_instructions=agent.instructions,
            config=config,
            vendor_tools=agent.tools if agent.format == "anthropic" else (),
            refused_tools=agent.refused_tools,
        ),
        tools=tools,
        injected=tools.injected,
        changes=rewrite.changes,
        warnings=rewrite.warnings,
        unheld=unheld,
    )


def _without(
    refused: tuple[str, ...], fields: RunFields, engine: str
) -> tuple[RunFields, dict[str, object], tuple[str, ...]]:
    """The fields and further settings of an agent without tools of Claude Code, and what is left.

    Rather too little is allowed than too much: who may not edit gets a sandbox for reading.
    """
    changes: dict[str, object] = {}
    config: dict[str, object] = {}
    unheld: list[str] = []
    for name in refused:
        meaning = TOOL_MAP["anthropic"].get(name)
        if meaning is None:
            unheld.append(name)
        elif meaning.toggle == "include_apply_patch_tool":
            changes |= {meaning.toggle: None, "sandbox_mode": "read-only"}
        elif meaning.toggle is not None:
            changes[meaning.toggle] = False
        elif name == _SHELL and engine == _CODEX:
            config["features.shell_tool"] = False
        else:
            unheld.append(name)
    return replace(fields, **changes), config, tuple(unheld)
