"""From an agent to what its engine is told: only what somebody wrote down is set."""

from msgspec import Struct
from msgspec.structs import replace

from switchboard.engines.profile import AgentProfile, AttachedServer
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.maps.engine_choice import chosen_engine
from switchboard.providers.agents.maps.model_map import ModelMap
from switchboard.providers.agents.maps.tool_map import MappedTools, map_tools
from switchboard.providers.agents.options import AgentOptions


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
    return AgentPlan(
        engine=chosen_engine(agent.engine, rewrite.engine, options.engine, fields),
        profile=AgentProfile(
            name=agent.safe_name,
            fields=fields,
            base_instructions=agent.instructions,
            vendor_tools=agent.tools if agent.format == "anthropic" else (),
        ),
        tools=tools,
        injected=tools.injected,
        changes=rewrite.changes,
        warnings=rewrite.warnings,
    )
