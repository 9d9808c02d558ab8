"""Agents as the configuration has them, and as tools that clients see. Starts nothing."""

import hashlib
import os
import shlex
import time
from collections.abc import Iterator, Mapping

from msgspec import Raw, to_builtins
from msgspec.structs import replace

from switchboard.config.documents import is_inside
from switchboard.config.locate import Places, expand_user
from switchboard.config.problems import Problem
from switchboard.core.catalog.tools import Effects, Policy, ToolSpec
from switchboard.core.privacy.cleaning import written_out
from switchboard.ipc.environment import BASE_NAMES
from switchboard.providers.agents.agent import Agent, AgentFormat
from switchboard.providers.agents.calls.answers import fault_text
from switchboard.providers.agents.files.agent_file import AgentReading
from switchboard.providers.agents.files.collection import agent_from, collect
from switchboard.providers.agents.files.discovery import (
    MAP_NAME,
    AgentFolder,
    FoundFile,
    agent_files_in,
    agent_folders,
    read_agent,
)
from switchboard.providers.agents.files.file_cache import AgentFileCache
from switchboard.providers.agents.formats.parts import Parts
from switchboard.providers.agents.found_agents import FoundAgents, MapFile
from switchboard.providers.agents.maps.model_map import read_model_map
from switchboard.providers.agents.options import AgentOptions
from switchboard.providers.agents.section import SECTION, options_from
from switchboard.providers.agents.servers.agent_seal import seal_of_agent
from switchboard.settings.consent.sealed_files import files_to_watch
from switchboard.settings.fingerprints import fingerprint
from switchboard.settings.servers import Resolution
from switchkit.platform.paths import true_path

PROVIDER = "agents"
INPUT_SCHEMA = Raw(
    b'{"type":"object","properties":{'
    b'"task":{"type":"string","description":"What the agent is to do."},'
    b'"cwd":{"type":"string","description":"Where it works: the absolute path of a folder."}},'
    b'"required":["task","cwd"],"additionalProperties":false}'
)
# An agent does what its model decides, with a terminal.
_EFFECTS = Effects(read_only=False, destructive=True, idempotent=False, open_world=True)
_LONGEST_DESCRIPTION = 4_000
# For files of a workspace that are not known yet, all together: a client waits for its listing.
_LONGEST_READ_S = 2.0
_DIRECTORIES: dict[AgentFormat, str] = {
    "codex": "AGENTS_DIRS",
    "anthropic": "ANTHROPIC_AGENTS_DIRS",
    "vscode": "VSCODE_CHATMODES_DIRS",
}
_ENGINES = {"codex": "Codex", "claude": "Claude Code"}


def read_agents(resolution: Resolution) -> FoundAgents:
    """Every agent that the files and the settings come to. Blocks: files are read."""
    options = options_from(resolution.merged.tree.get(SECTION.name, {}))
    places = resolution.places
    replaced: frozenset[AgentFormat] = frozenset(
        kind for kind, name in _DIRECTORIES.items() if resolution.environ.get(name, "").strip()
    )
    folders = agent_folders(options, places, replaced)
    problems: list[Problem] = []
    map_file, map_path = _map_file(options, resolution, problems)
    readings = _readings(folders, places, frozenset({map_path}))
    agents: list[Agent] = []
    for found, reading in readings:
        problems += reading.problems
        agent = agent_from(found, reading, options)
        if agent is not None:
            is_theirs = agent.is_workspace or _borrows(reading, places)
            if is_theirs:
                agent = _bound(agent, reading, map_file, resolution)
            agents.append(agent)
        elif reading.agent is not None:
            problems.append(_unnamable(reading))
    collected = collect(
        agents,
        lambda agent: bool(agent.fingerprint) and resolution.waits(agent.fingerprint),
        options.filter,
    )
    _warn(problems, resolution.problems)
    return FoundAgents(
        options=options,
        usable=collected.usable,
        untrusted=collected.untrusted,
        omitted=collected.omitted,
        problems=tuple(problems),
        map_file=map_file,
        trusts_workspace=resolution.record is None,
        user_home=places.user_home,
        host_variables=_host_variables(options, resolution, collected.usable),
        watched=(
            *_watched(folders, readings, map_path),
            *(
                path
                for agent in agents
                if agent.seal is not None
                for path in files_to_watch(agent.seal, places.workspace)
            ),
        ),
    )


def _host_variables(
    options: AgentOptions, resolution: Resolution, agents: Mapping[str, Agent]
) -> frozenset[str]:
    """The variables of other hosts' servers, each looked up: a client is asked for them by that."""
    if not options.mcp_discovery or not any(
        agent.tools or not options.limit_mcp_to_referenced for agent in agents.values()
    ):
        return frozenset()
    # Only agents that may be given servers of others need to know of hosts.
    from switchboard.providers.agents.servers.host_trust import print_of  # noqa: PLC0415
    from switchboard.providers.agents.servers.hosts import (  # noqa: PLC0415
        HostPlaces,
        variables_in_hosts,
    )

    places = HostPlaces.of(resolution.workspace, resolution.environ, options.vscode_user_mcp)
    names = variables_in_hosts(
        places,
        lambda file, read: (
            not resolution.waits(
                print_of(file, read, resolution.workspace, resolution.places.user_home)
            )
        ),
    )
    return frozenset(
        name for name in names if resolution.environ.get(name) and name not in BASE_NAMES
    )


def _readings(
    folders: tuple[AgentFolder, ...], places: Places, maps: frozenset[str]
) -> list[tuple[FoundFile, AgentReading]]:
    """What every file says, each read once for as long as it does not change."""
    files = [found for folder in folders for found in agent_files_in(folder, maps)]
    if not files:
        return []
    cache = AgentFileCache(places.home)
    readings: list[tuple[FoundFile, AgentReading]] = []
    until, is_told = time.monotonic() + _LONGEST_READ_S, False
    for found in files:
        key = "\n".join(
            (
                found.folder.format,
                places.workspace,
                "workspace" if found.folder.is_workspace else "own",
                found.path,
            )
        )
        is_late = found.folder.is_workspace and time.monotonic() > until
        read = _unread if is_late else read_agent
        reading = cache.get(key, lambda found=found, read=read: read(found, places.workspace))
        if reading.parts or not is_told:
            readings.append((found, reading))
        is_told = is_told or not reading.parts
    cache.save()
    return readings


def _unread(found: FoundFile, _workspace: str) -> AgentReading:
    """A file that is not read this time. Those before it are known the next time."""
    says = "the agents of this workspace take too long to be read, from this one on"
    problem = Problem(path=found.path, message=says, hint="try again, or keep fewer of them here")
    return AgentReading(problems=(problem,))


def _map_file(
    options: AgentOptions, resolution: Resolution, problems: list[Problem]
) -> tuple[MapFile | None, str]:
    """The file of the map of models, if it is there and right, and where it would be."""
    places = resolution.places
    named = expand_user(options.model_map_file, places.user_home)
    path = os.path.normpath(os.path.join(places.workspace, named or f".agents/{MAP_NAME}"))
    if not options.model_map_enable:
        return None, path
    is_theirs = is_inside(path, places.workspace) and not is_inside(path, places.home)
    # In the user's own folder, `.agents` is the user's.
    is_theirs = is_theirs and os.path.dirname(path) != os.path.join(places.user_home, ".agents")
    parts = Parts(within=places.workspace if is_theirs else "")
    document = parts.toml(path, problems)
    read = None if document is None else read_model_map(document, problems)
    if document is None or read is None:
        return None, path
    print_ = _digest("agent-models", places.workspace, document.digest) if is_theirs else ""
    waits = bool(print_) and resolution.waits(print_)
    return MapFile(path=path, map=read, fingerprint=print_, waits=waits), path


def _borrows(reading: AgentReading, places: Places) -> bool:
    """Whether an agent of the user is made of a file of the workspace, too."""
    if is_inside(places.user_home, places.workspace):
        return False
    return any(
        is_inside(path, places.workspace) and not is_inside(path, places.home)
        for part in reading.parts
        if part.digest
        for path in (os.path.normpath(part.path), true_path(part.path))
    )


def _bound(
    agent: Agent, reading: AgentReading, map_file: MapFile | None, resolution: Resolution
) -> Agent:
    """With the fingerprint of everything that decides what an agent of the workspace runs."""
    places, written = resolution.places, reading.agent
    where = agent.path.removeprefix(places.workspace + os.sep)
    models = map_file.fingerprint if map_file is not None else ""
    print_ = _digest("agent", places.workspace, where, agent.tool, reading.digest_text, models)
    seal = seal_of_agent(
        print_,
        written.servers.values() if written is not None else (),
        places.workspace,
        binding=resolution.record is not None,
    )
    if seal is not None:
        print_ = fingerprint(seal, places.workspace)
    return replace(agent, fingerprint=print_, seal=seal, is_workspace=True)


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def _unnamable(reading: AgentReading) -> Problem:
    assert reading.agent is not None
    file = reading.agent
    return Problem(
        path=file.path,
        line=file.line,
        column=file.column,
        key="name",
        message=f"the name `{file.name}` has no letter or digit that a tool could be named by",
        hint="use letters from `a` to `z` or digits",
    )


def _warn(problems: list[Problem], warnings: list[Problem]) -> None:
    """One warning for each file that is left out: the first thing that is wrong with it."""
    told: set[str] = set()
    for problem in problems:
        if problem.severity == "error" and problem.path not in told:
            told.add(problem.path)
            warnings.append(replace(problem, severity="warning"))


def _watched(
    folders: tuple[AgentFolder, ...], readings: list[tuple[FoundFile, AgentReading]], map_path: str
) -> Iterator[str]:
    for folder in folders:
        yield folder.path
    yield map_path
    for found, reading in readings:
        yield found.path
        for part in reading.parts:
            yield part.path


def agent_specs(entry: FoundAgents) -> tuple[ToolSpec, ...]:
    """The tool of each agent that may be used."""
    return tuple(_spec(agent, entry.plan(agent).engine) for agent in entry.usable.values())


def rewrites(entry: FoundAgents) -> Iterator[str]:
    """What the map of models made of the agents that may be used, and what it does not know."""
    for agent in entry.usable.values():
        plan = entry.plan(agent)
        yield from (f"agent `{agent.tool}`: {each}" for each in (*plan.changes, *plan.warnings))


def _spec(agent: Agent, engine: str) -> ToolSpec:
    return ToolSpec(
        name=agent.tool,
        provider=PROVIDER,
        title=agent.name,
        description=described(agent, engine),
        input_schema=INPUT_SCHEMA,
        effects=_EFFECTS,
        policy=Policy(timeout_key="run_minutes", knows_repeats=True),
        origin=agent.origin,
        fault_text=fault_text,
    )


def described(agent: Agent, engine: str) -> str:
    """What clients read of an agent."""
    words = agent.description
    if words == f"Agent '{agent.name}': Execute tasks":
        words += f" via {_ENGINES.get(engine, engine)}"
    if len(words) > _LONGEST_DESCRIPTION:
        words = words[: _LONGEST_DESCRIPTION - 1] + "…"
    tags = f" [tags: {', '.join(agent.tags)}]" if agent.tags else ""
    return f"task, cwd: string — {words}{tags}"


def _as_toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def summary_of(agent: Agent, entry: FoundAgents) -> str:
    """Everything that an agent would run, in one line, for whoever is to trust it."""
    plan = entry.plan(agent)
    fields: Mapping[str, object] = to_builtins(plan.profile.fields)
    said = [plan.engine]
    said += [f"{key}={_as_toml(value)}" for key, value in fields.items()]
    said += [f"tool {each}" for each in (*plan.tools.references, *plan.tools.bare)]
    for server in (*agent.servers, *plan.injected):
        # In the words of a shell: nothing in them can be taken for another server.
        words = [f"{name}={value}" for name, value in server.env.items()]
        words += (server.command, *server.args)
        said.append(f"server {shlex.quote(server.name)}: {shlex.join(words)}")
    for each in agent.remote_servers:
        secrets = f" (with {', '.join(map(written_out, each.secrets))})" if each.secrets else ""
        name, target = shlex.quote(each.name), written_out(each.target)
        said.append(f"server {name} through Switchboard: {target}{secrets}")
    if agent.instructions:
        digest = hashlib.sha256(agent.instructions.encode()).hexdigest()[:12]
        said.append(f"instructions of {len(agent.instructions)} characters (sha256 {digest})")
    return "; ".join(said)
