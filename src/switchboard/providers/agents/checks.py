"""What is to be known of an agent before it runs: what engines lack, and what is ignored."""

from switchboard.engines.acp import mapping as acp
from switchboard.engines.acp.agents import AcpAgent, agent_named
from switchboard.engines.claude import mapping as claude
from switchboard.engines.codex import mapping as codex
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.profiles import AgentPlan


def notes_on(agent: Agent, found: FoundAgents) -> tuple[str, ...]:
    """Everything of an agent that is not taken literally, each in a sentence."""
    plan = found.plan(agent)
    said = [f"{change[:1].upper()}{change[1:]}, by the map of models." for change in plan.changes]
    said += [f"{warning[:1].upper()}{warning[1:]}." for warning in plan.warnings]
    said += [f"`{key}` means nothing to {plan.engine}, and is ignored." for key in agent.unused]
    if plan.tools.bare:
        names = ", ".join(f"`{each}`" for each in plan.tools.bare)
        said.append(f"No table knows {names}: a server may have a tool of that name.")
    limited = [each for each in agent.tools if "(" in each]
    if limited and plan.engine != "claude":
        names = ", ".join(f"`{each}`" for each in limited)
        said.append(f"{plan.engine} does not keep the limits of {names}.")
    if plan.unheld:
        names = ", ".join(f"`{each}`" for each in plan.unheld)
        said.append(f"{plan.engine} cannot be kept from {names}, which the agent must not have.")
    return (*said, *lacks(plan))


def lacks(plan: AgentPlan) -> tuple[str, ...]:
    """What the engine of a plan has no counterpart for."""
    if plan.engine == "codex":
        return codex.lacking(plan.profile)
    if plan.engine == "claude":
        return claude.unsupported(plan.profile)
    name = plan.engine.removeprefix("acp:")
    return acp.unsupported(agent_named(name) or AcpAgent(name=name, command=(name,)), plan.profile)
