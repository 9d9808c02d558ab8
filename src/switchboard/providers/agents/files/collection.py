"""From the agent files that were found to the agents that are shown: names, filters, collisions."""

import hashlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from switchboard.children.secrets.texts import is_reference
from switchboard.core.catalog.names import fold, tool_name
from switchboard.core.origins import Origin, Scope
from switchboard.core.privacy.cleaning import written_out
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.agent import Agent, RemoteServer
from switchboard.providers.agents.files.agent_file import AgentFile, AgentReading
from switchboard.providers.agents.files.discovery import FoundFile
from switchboard.providers.agents.found_agents import AgentOmission
from switchboard.providers.agents.options import AgentOptions
from switchboard.providers.table import is_reserved

_LONGEST_NAME = 200
_LONGEST_DESCRIPTION = 8_000
_MOST_TAGS = 50


class Collected(Struct, frozen=True, kw_only=True):
    """The agents that can be shown, those that wait, and those that are left out."""

    usable: dict[str, Agent]
    untrusted: dict[str, Agent]
    omitted: tuple[AgentOmission, ...]


def safe_name(name: str) -> str:
    """Letters and digits of ASCII in lower case, `_` for each other character, none at the ends."""
    return re.sub(r"[^a-z0-9]", "_", re.sub(r"[A-Z]", _lowered, name)).strip("_")


def _lowered(letter: re.Match[str]) -> str:
    return letter[0].lower()


def agent_from(found: FoundFile, reading: AgentReading, options: AgentOptions) -> Agent | None:
    """The agent of a file; nothing where no client could name it."""
    file = reading.agent
    if file is None or not safe_name(file.name):
        return None
    folder = found.folder
    safe = safe_name(file.name)
    return Agent(
        # Clean and short from here on: it is shown to people, to models and in questions.
        name=_shown(file.name),
        safe_name=safe,
        tool=tool_name(options.prefix(file.format) + safe),
        format=file.format,
        description=_description(file, safe),
        tags=tuple(map(_shown, file.tags[:_MOST_TAGS])),
        instructions=file.instructions,
        run=file.run,
        models=file.models,
        tools=file.tools,
        refused_tools=file.refused_tools,
        servers=tuple(_attached(file)),
        remote_servers=tuple(
            _remote(name, each) for name, each in file.servers.items() if _is_ours(each)
        ),
        engine=file.engine,
        on_crash=file.on_crash or options.on_crash,
        limit_s=None if file.run_minutes is None else file.run_minutes * 60.0,
        origin=Origin(
            scope=Scope.WORKSPACE if folder.is_workspace else Scope.HOME,
            path=file.path,
            line=file.line,
            column=file.column,
        ),
        path=file.path,
        files=tuple(part.path for part in reading.parts if part.digest),
        is_workspace=folder.is_workspace,
        unused=file.unused,
    )


def _description(file: AgentFile, safe: str) -> str:
    """What the file says; what a format without a word stands for."""
    if file.description is None and file.format == "codex":
        return "Agent"
    said = (file.description or "").strip()[:_LONGEST_DESCRIPTION]
    lines = (written_out(line) for line in said.splitlines())
    return "\n".join(lines) or f"Agent '{_shown(file.name or safe)}': Execute tasks"


def _shown(word: str) -> str:
    """A word with nothing in it that is not seen, and no longer than anybody reads."""
    word = written_out(word[:_LONGEST_NAME])
    return word if len(word) <= _LONGEST_NAME else word[: _LONGEST_NAME - 1] + "…"


def _is_ours(fields: Mapping[str, Any]) -> bool:
    """Whether only Switchboard reaches a server: over the network, or with secrets that it has."""
    return bool(fields.get("url") or fields.get("secret_env"))


def _remote(name: str, fields: Mapping[str, Any]) -> RemoteServer:
    words = (str(fields.get("command") or ""), *map(str, fields.get("args") or ()))
    written = msgspec.json.encode(fields, order="sorted")
    return RemoteServer(
        name=name,
        target=str(fields.get("url") or shlex.join(words)),
        secrets=tuple(sorted({*_given(fields.get("headers")), *_given(fields.get("secret_env"))})),
        digest=hashlib.sha256(written).hexdigest(),
    )


def _given(values: Mapping[str, str] | None) -> Iterator[str]:
    """What is given to a server: whoever trusts it gives it the secrets that are named here."""
    for name, text in (values or {}).items():
        yield f"{name} from {text}" if is_reference(text) else name


def _attached(file: AgentFile) -> Iterable[AttachedServer]:
    for name, fields in file.servers.items():
        if fields.get("command") and not _is_ours(fields):
            yield AttachedServer(
                name=name,
                command=fields["command"],
                args=tuple(fields.get("args") or ()),
                env=dict(fields.get("env") or {}),
            )


def passes(agent: Agent, wanted: str) -> bool:
    """Whether a filter shows an agent: by its name, its safe name or a tag, in any case."""
    words = {fold(word) for word in re.split(r"[,\s]+", wanted) if word}
    names = (agent.name, agent.safe_name, *agent.tags)
    return not words or any(fold(each) in words for each in names)


def collect(agents: Iterable[Agent], waits: Callable[[Agent], bool], wanted: str) -> Collected:
    """Decide which agents are shown. They come in the order in which they count.

    A stranger's agent takes no name away: what waits for trust neither hides nor collides.
    """
    omitted: list[AgentOmission] = []
    usable: dict[str, list[Agent]] = {}
    untrusted: dict[str, Agent] = {}
    for agent in agents:
        if not passes(agent, wanted):
            omitted.append(_omission(agent, "the filter leaves it out", "see `[agents] filter`"))
        elif is_reserved(agent.tool):
            omitted.append(_omission(agent, f"the name `{agent.tool}` is reserved", "rename it"))
        elif waits(agent):
            # Of several that wait under one name, the first is the one to look at.
            untrusted.setdefault(agent.tool, agent)
        else:
            usable.setdefault(fold(agent.tool), []).append(agent)
    shown: dict[str, Agent] = {}
    for group in usable.values():
        first, *others = group
        rivals = [each for each in others if not _is_same(first, each)]
        for each in others:
            if _is_same(first, each) and not rivals:
                message = f"hidden by the agent of the same name in {_place(first)}"
                omitted.append(_omission(each, message, "rename one of them"))
        if not rivals:
            shown[first.tool] = first
            continue
        for each in group:
            rest = " and ".join(f"`{one.name}` ({_place(one)})" for one in group if one is not each)
            message = f"its tool would be named `{each.tool}`, as is that of {rest}"
            omitted.append(_omission(each, message, "rename one of them"))
    return Collected(usable=shown, untrusted=untrusted, omitted=tuple(omitted))


def _is_same(first: Agent, later: Agent) -> bool:
    """Whether a later agent is another version of an earlier one: its kind and name, elsewhere."""
    return (
        first.format == later.format
        and first.name == later.name
        and _folder(first) != _folder(later)
    )


def _folder(agent: Agent) -> str:
    path = agent.path.removesuffix("/AGENT.md")
    return path.rpartition("/")[0]


def _place(agent: Agent) -> str:
    return str(agent.origin)


def _omission(agent: Agent, reason: str, hint: str) -> AgentOmission:
    return AgentOmission(
        name=agent.name, tool=agent.tool, reason=reason, hint=hint, origin=agent.origin
    )
