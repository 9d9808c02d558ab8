"""Every agent of a configuration, by what can be done with it."""

from functools import cached_property

from msgspec import Struct

from switchboard.config.problems import Problem
from switchboard.core.origins import Origin
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.maps.model_map import ModelMap, built_in_map
from switchboard.providers.agents.options import AgentOptions
from switchboard.providers.agents.profiles import AgentPlan, plan_for


class AgentOmission(Struct, frozen=True, kw_only=True):
    """An agent that was found and is not shown."""

    name: str
    tool: str
    reason: str
    hint: str = ""
    origin: Origin = Origin()


class MapFile(Struct, frozen=True, kw_only=True):
    """The file of the map of models."""

    path: str
    map: ModelMap
    # What is trusted; empty where it is the user's own.
    fingerprint: str = ""
    # Nobody has trusted it yet: only agents that were trusted together with it use it.
    waits: bool = False


class FoundAgents(Struct, frozen=True, kw_only=True, dict=True):
    """What `[agents]` and the agent files come to."""

    options: AgentOptions = AgentOptions()
    # By the names of their tools.
    usable: dict[str, Agent] = {}
    # Those of the workspace that its owner has not trusted yet.
    untrusted: dict[str, Agent] = {}
    # Those that another one hides, that share a name, or that the filter leaves out.
    omitted: tuple[AgentOmission, ...] = ()
    # What is wrong with files: everything, in the order of the files.
    problems: tuple[Problem, ...] = ()
    map_file: MapFile | None = None
    # Whether the user trusts everything that the workspace holds.
    trusts_workspace: bool = False
    user_home: str = ""
    # The variables that the servers of other hosts are filled from.
    host_variables: frozenset[str] = frozenset()
    # Files and folders whose change may change any of this.
    watched: tuple[str, ...] = ()

    def models_for(self, agent: Agent) -> ModelMap:
        """The map of models that counts for an agent."""
        file = self.map_file
        if file is None or (file.waits and not agent.is_workspace):
            return built_in_map()
        return file.map.over(built_in_map())

    def plan(self, agent: Agent) -> AgentPlan:
        """How an agent is run."""
        key = (agent.format, agent.path)
        if key not in self._plans:
            self._plans[key] = plan_for(agent, self.options, self.models_for(agent))
        return self._plans[key]

    @cached_property
    def _plans(self) -> dict[tuple[str, str], AgentPlan]:
        """Plans that were made already: a listing needs each of them several times."""
        return {}

    def find(self, name: str) -> Agent | None:
        """An agent by its tool, its name or its safe name."""
        every = [*self.usable.values(), *self.untrusted.values()]
        named = (
            *((each.tool, each) for each in every),
            *((each.name, each) for each in every),
            *((each.safe_name, each) for each in every),
        )
        exact = next((agent for known, agent in named if known == name), None)
        if exact is not None:
            return exact
        folded = {each.tool: each for known, each in named if known.casefold() == name.casefold()}
        # Two that differ in nothing else are for whoever asks to tell apart.
        return next(iter(folded.values())) if len(folded) == 1 else None
