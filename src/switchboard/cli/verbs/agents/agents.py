"""`switchboard agents`: the agents of this workspace and of its user, one by one."""

import os
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, to_builtins

from switchboard.cli.render import as_json, columns, hint, shown_origin, warning
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import IN_PROCESS
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.runs.agent_runs import AgentRunReport, run_agent
from switchboard.config.problems import Problem, render_problems
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Origin
from switchboard.core.privacy.redaction import redacted_text
from switchboard.providers.agents.agent import Agent
from switchboard.providers.agents.checks import notes_on
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.listing import described
from switchboard.providers.agents.source import SOURCE
from switchboard.providers.source import Trust
from switchboard.settings.sections import Settings
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word
from switchkit.suggest import did_you_mean

_ACTIONS = ("list", "show", "check", "run")
_TRUST = {"own": "yours", "trusted": "trusted", "waiting": "NOT TRUSTED"}

USAGE = Usage(
    verb="agents",
    summary="Show, check or run the agents that clients have as tools.",
    words=(
        Word(
            name="ACTION",
            about="list: all; show: one, whole; check: every mistake; run: give one a task",
            choices=_ACTIONS,
            optional=True,
        ),
        Word(name="NAME", about="an agent, by its name or its tool", optional=True, is_name=True),
    ),
    options=(
        Option(name="task", value="TEXT", about="run: what the agent is to do"),
        Option(name="cwd", value="DIR", about="run: where it works; here by default"),
        IN_PROCESS,
    ),
    details=(
        "`list`, `show` and `check` start nothing. `run` says on stderr what the agent does, and\n"
        "prints its answer on stdout; Ctrl-C cancels the run."
    ),
    examples=(
        "switchboard agents",
        "switchboard agents show reviewer",
        "switchboard agents check",
        "switchboard agents run reviewer --task 'Look at the last commit'",
    ),
)


class ListedAgent(Struct, frozen=True, kw_only=True):
    """One line of the list."""

    tool: str
    name: str
    format: str
    engine: str
    trust: Trust
    origin: str
    description: str = ""
    model: str = ""
    tags: tuple[str, ...] = ()


class OmittedAgent(Struct, frozen=True, kw_only=True):
    """An agent that was found and is not shown."""

    tool: str
    name: str
    reason: str
    hint: str = ""
    origin: str = ""


class AgentsReport(Report, frozen=True, kw_only=True, tag="switchboard.agents/1"):
    """Every agent that was found."""

    workspace: str
    agents: tuple[ListedAgent, ...]
    omitted: tuple[OmittedAgent, ...] = ()
    # How many files are no agents because of a mistake.
    broken: int = 0

    def lines(self, style: Style) -> Iterator[str]:
        if self.agents:
            heads = ("TOOL", "AGENT", "ENGINE", "MODEL", "TRUST", "FROM")
            rows = [
                (
                    each.tool,
                    each.name,
                    each.engine,
                    each.model or "-",
                    _TRUST[each.trust],
                    each.origin,
                )
                for each in self.agents
            ]
            yield from columns(heads, rows, style, elastic=(1, 3, 5))

    def notes(self, style: Style) -> Iterator[str]:
        if not self.agents:
            yield "there are no agents"
            yield hint(style, "write `.agents/NAME.toml`; docs/agents.md says what it holds")
        for each in self.omitted:
            yield f"left out: {each.name} ({each.origin}): {each.reason}"
        if self.broken:
            noun = counted(self.broken, "file")
            yield f"{noun} cannot be used"
            yield hint(style, "switchboard agents check")
        waiting = [each.tool for each in self.agents if each.trust == "waiting"]
        if waiting:
            yield hint(
                style, f"look at what would run, then: switchboard trust {shlex.join(waiting)}"
            )


class ShownServer(Struct, frozen=True, kw_only=True):
    """A server that an agent brings along. Values of variables are not shown."""

    name: str
    runs: str
    env: tuple[str, ...] = ()


class AgentReport(Report, frozen=True, kw_only=True, tag="switchboard.agents-show/1"):
    """One agent, as its engine is told of it."""

    agent: ListedAgent
    # What clients read.
    description: str
    files: tuple[str, ...]
    # What is set, and nothing else.
    run: dict[str, Any]
    tools: tuple[str, ...]
    references: tuple[str, ...]
    servers: tuple[ShownServer, ...]
    instructions: str
    notices: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        agent = self.agent
        yield style.bold(agent.tool)
        yield f"  {self.description}"
        yield f"  engine: {agent.engine}"
        yield f"  trust: {_TRUST[agent.trust]}"
        for path in self.files:
            yield f"  file: {path}"
        for key, value in self.run.items():
            yield f"  {key} = {as_json(value)}"
        if self.tools:
            yield f"  tools: {', '.join(self.tools)}"
        if self.references:
            yield f"  tools of servers: {', '.join(self.references)}"
        for server in self.servers:
            names = f" (sets {', '.join(server.env)})" if server.env else ""
            yield f"  server {server.name}: {server.runs}{names}"
        if self.instructions:
            yield ""
            yield self.instructions

    def notes(self, style: Style) -> Iterator[str]:
        yield from (warning(style, each) for each in self.notices)
        if self.agent.trust == "waiting":
            yield hint(style, f"switchboard trust {shlex.quote(self.agent.tool)}")


class CheckedAgent(Struct, frozen=True, kw_only=True):
    """What is to be known of one agent."""

    tool: str
    notices: tuple[str, ...]


class AgentsCheckReport(Report, frozen=True, kw_only=True, tag="switchboard.agents-check/1"):
    """Every mistake in agent files, and what is not taken literally."""

    workspace: str
    agents: int
    # How many of them nobody has trusted yet.
    waiting: int = 0
    problems: tuple[Problem, ...]
    omitted: tuple[OmittedAgent, ...]
    notices: tuple[CheckedAgent, ...]

    def exit_code(self) -> int:
        wrong = any(problem.severity == "error" for problem in self.problems)
        return FAILED if wrong else DONE

    def lines(self, style: Style) -> Iterator[str]:
        del style
        yield _counted_agents(self.agents, self.waiting)
        for each in self.notices:
            yield f"  {each.tool}"
            yield from (f"    {notice}" for notice in each.notices)

    def notes(self, style: Style) -> Iterator[str]:
        for each in self.omitted:
            yield f"left out: {each.name} ({each.origin}): {each.reason}"
            if each.hint:
                yield hint(style, each.hint)
        if self.problems:
            yield render_problems(self.problems, workspace=self.workspace).rstrip()
        if self.waiting:
            yield hint(style, "look at what would run: switchboard trust")


def run(request: CommandRequest) -> Report:
    action, name = request.arguments.word(0) or "list", request.arguments.word(1)
    if action in ("show", "run") and not name:
        raise UsageError("`NAME` is missing", "switchboard agents list")
    if action in ("list", "check") and name:
        raise UsageError(f"`agents {action}` takes no name", f"switchboard agents show {name}")
    given = [each for each in ("task", "cwd") if request.arguments.one(each) is not None]
    if given and action != "run":
        raise UsageError(f"`--{given[0]}` belongs to `agents run`")
    settings = settings_for(request)
    found = SOURCE.agents(settings)
    match action:
        case "list":
            return _list(settings, found)
        case "check":
            return _check(settings, found)
        case "show":
            return _show(settings, found, _named(found, name))
        case _:
            return _run(request, _named(found, name), found)


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    found = SOURCE.agents(settings_for(request))
    return (*found.usable, *found.untrusted)


def _named(found: FoundAgents, name: str) -> Agent:
    agent = found.find(name)
    if agent is not None:
        return agent
    every = (*found.usable.values(), *found.untrusted.values())
    # Names first: they are what people know, and what is nearest to a slip of theirs.
    meant = did_you_mean(name, [each.name for each in every]) or did_you_mean(
        name, [each.tool for each in every]
    )
    hint_ = f"did you mean `{meant}`?" if meant else "switchboard agents list"
    message = f"there is no agent `{name}`"
    raise Fault(FaultCode.NOT_FOUND, "unknown-agent", message, hint=hint_)


def _counted_agents(number: int, waiting: int) -> str:
    if not waiting:
        return f"{counted(number, 'agent')} can be used"
    wait = "waits" if waiting == 1 else "wait"
    return f"{counted(number, 'agent')} without a mistake; {waiting} {wait} for your trust"


def _list(settings: Settings, found: FoundAgents) -> AgentsReport:
    every = (*found.usable.values(), *found.untrusted.values())
    return AgentsReport(
        workspace=settings.workspace,
        agents=tuple(_listed(settings, found, each) for each in every),
        omitted=_omitted(settings, found),
        broken=len({each.path for each in found.problems if each.severity == "error"}),
    )


def _listed(settings: Settings, found: FoundAgents, agent: Agent) -> ListedAgent:
    plan = found.plan(agent)
    waits = found.untrusted.get(agent.tool) is agent
    return ListedAgent(
        tool=agent.tool,
        name=agent.name,
        format=agent.format,
        engine=plan.engine,
        trust="waiting" if waits else "trusted" if agent.fingerprint else "own",
        origin=_place(agent.origin, settings),
        description=agent.description,
        model=plan.profile.fields.model or "",
        tags=agent.tags,
    )


def _omitted(settings: Settings, found: FoundAgents) -> tuple[OmittedAgent, ...]:
    return tuple(
        OmittedAgent(
            tool=each.tool,
            name=each.name,
            reason=each.reason,
            hint=each.hint,
            origin=_place(each.origin, settings),
        )
        for each in found.omitted
    )


def _check(settings: Settings, found: FoundAgents) -> AgentsCheckReport:
    every = (*found.usable.values(), *found.untrusted.values())
    notices = tuple(CheckedAgent(tool=each.tool, notices=notes_on(each, found)) for each in every)
    return AgentsCheckReport(
        workspace=settings.workspace,
        agents=len(every),
        waiting=len(found.untrusted),
        problems=found.problems,
        omitted=_omitted(settings, found),
        notices=tuple(each for each in notices if each.notices),
    )


def _show(settings: Settings, found: FoundAgents, agent: Agent) -> AgentReport:
    plan = found.plan(agent)
    servers = tuple(
        ShownServer(
            name=each.name, runs=shlex.join((each.command, *each.args)), env=tuple(sorted(each.env))
        )
        for each in (*agent.servers, *plan.injected)
    )
    remote = tuple(
        ShownServer(name=each.name, runs=redacted_text(each.target), env=each.secrets)
        for each in agent.remote_servers
    )
    return AgentReport(
        agent=_listed(settings, found, agent),
        description=described(agent, plan.engine),
        files=tuple(shown_origin("", path, 0, settings.workspace) for path in agent.files),
        run=to_builtins(plan.profile.fields),
        tools=agent.tools,
        references=(*plan.tools.references, *plan.tools.bare),
        servers=(*servers, *remote),
        instructions=agent.instructions,
        notices=notes_on(agent, found),
    )


def _run(request: CommandRequest, agent: Agent, found: FoundAgents) -> AgentRunReport:
    task = request.arguments.one("task")
    if not task:
        raise UsageError("`--task` is missing", f"switchboard agents run {agent.tool} --task TEXT")
    if found.untrusted.get(agent.tool) is agent:
        message = f"the agent `{agent.tool}` is not trusted yet"
        fix = f"switchboard trust {shlex.quote(agent.tool)}"
        raise Fault(FaultCode.PERMISSION_DENIED, "not-trusted", message, hint=fix)
    cwd = os.path.abspath(request.arguments.one("cwd") or os.getcwd())
    return run_agent(request, agent.tool, task, cwd)


def _place(origin: Origin, settings: Settings) -> str:
    return shown_origin(origin.scope, origin.path, origin.line, settings.workspace)
