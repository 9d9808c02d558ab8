"""Agent files in a home and a workspace, and what they come to."""

from collections.abc import Mapping
from pathlib import Path

from settings.ground import Ground
from support.sources import agents
from switchboard.core.catalog.tools import ToolSpec
from switchboard.daemon.board.assemble import assemble
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.profiles import AgentPlan
from switchboard.settings.sections import Settings


class Lab(Ground):
    """A ground on which agents are found."""

    def agent(self, text: str, *, name: str = "one.toml") -> Path:
        """A file in `.agents` of the workspace."""
        return self.put(self.workspace / ".agents" / name, text)

    def claude(self, text: str, *, name: str = "one.agent.md") -> Path:
        return self.put(self.workspace / ".claude" / "agents" / name, text)

    def chat_mode(self, text: str, *, name: str = "one.chatmode.md") -> Path:
        return self.put(self.workspace / ".github" / "chatmodes" / name, text)

    def found(self, **variables: str) -> FoundAgents:
        """What is found where the whole workspace is trusted."""
        return agents(self.load(variables=variables))

    def found_by_record(self) -> FoundAgents:
        """What is found where only that is trusted which the record holds."""
        return agents(self.load(trusted=False))

    def only(self, **variables: str) -> Agent:
        found = self.found(**variables)
        assert [problem.message for problem in found.problems if problem.severity == "error"] == []
        (agent,) = found.usable.values()
        return agent

    def plan(self, **variables: str) -> AgentPlan:
        """How the only agent is run."""
        found = self.found(**variables)
        (agent,) = found.usable.values()
        return found.plan(agent)

    def told(self, **variables: str) -> dict[str, object]:
        """The fields that the only agent hands to its engine: what is set, and nothing else."""
        fields = self.plan(**variables).profile.fields
        return {
            name: value
            for name in fields.__struct_fields__
            if (value := getattr(fields, name)) is not None
        }

    def tools(self, **variables: str) -> dict[str, ToolSpec]:
        """What clients see where the whole workspace is trusted."""
        return _agents_of(self.load(variables=variables), self.environ(**variables))

    def tools_by_record(self) -> dict[str, ToolSpec]:
        """What clients see where only that is trusted which the record holds."""
        return _agents_of(self.load(trusted=False), self.environ())

    def refusal(self, **variables: str) -> str:
        """The one problem of the one file that cannot be used, with its place."""
        found = self.found(**variables)
        assert found.usable == {}
        (problem,) = (each for each in found.problems if each.severity == "error")
        name = Path(problem.path).name
        return f"{name}:{problem.line}:{problem.column}: {problem.message}"


def _agents_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, ToolSpec]:
    """The tools that are agents, without those that lead to their runs."""
    tools = assemble(settings, environ).catalog.tools
    return {name: spec for name, spec in tools.items() if not name.startswith("run_")}
