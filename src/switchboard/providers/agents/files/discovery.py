"""Which files are agents: every folder of every format, in the order in which they count."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from msgspec import Struct

from switchboard.config.documents import is_inside
from switchboard.config.locate import Places, expand_user
from switchboard.config.problems import Problem
from switchboard.providers.agents.agent import AgentFormat
from switchboard.providers.agents.files.agent_file import AgentFile, AgentReading
from switchboard.providers.agents.formats.front_matter_agents import (
    CHAT_MODE,
    CLAUDE,
    CUSTOM_AGENT,
    Dialect,
    read_front_matter_agent,
)
from switchboard.providers.agents.formats.parts import Parts
from switchboard.providers.agents.formats.switchboard_toml import (
    read_directory_agent,
    read_toml_agent,
)
from switchboard.providers.agents.options import AgentOptions
from switchkit.git.ground import ground_of
from switchkit.platform.paths import true_path

MAP_NAME = "model-map.toml"
# More files than this in one folder are no agents that somebody wrote.
_MOST_FILES = 1000
# What lies among agents and is none of them.
_NO_AGENTS = ("README.md", "readme.md", "AGENTS.md", "CLAUDE.md", "*.prompt.md", MAP_NAME)


class AgentFolder(Struct, frozen=True, kw_only=True):
    """A folder in which agents of one format lie."""

    path: str
    format: AgentFormat
    # How the files are named; `*/AGENT.md` is one in each folder.
    patterns: tuple[str, ...]
    # Whether it lies in the workspace, and so waits for trust.
    is_workspace: bool = False


class FoundFile(Struct, frozen=True, kw_only=True):
    """A file that is named as an agent."""

    path: str
    folder: AgentFolder


_TOML = ("*.toml", "*/AGENT.md")
_DOCUMENTED = ("*.agent.md",)
_PLAIN = ("*.agent.md", "*.md")
_CHAT = ("*.chatmode.md",)


def agent_folders(
    options: AgentOptions, places: Places, replaced: frozenset[AgentFormat]
) -> tuple[AgentFolder, ...]:
    """The folders of every format that is wanted, in their order.

    `replaced` are the formats whose folders a variable names: the usual ones do not count then.
    """
    work, home, user = places.workspace, places.home, places.user_home
    usual: dict[AgentFormat, tuple[tuple[str, tuple[str, ...]], ...]] = {
        "codex": (
            (f"{work}/.agents", _TOML),
            (f"{work}/.agh/agents", _TOML[1:]),
            (f"{home}/agents", _TOML),
            (f"{places.agh_home}/agents", _TOML[1:]),
            (f"{user}/.agents", _TOML),
        ),
        "anthropic": (
            (f"{work}/.claude/agents", _PLAIN),
            (f"{home}/agents", _DOCUMENTED),
            (f"{user}/.claude/agents", _PLAIN),
        ),
        "vscode": (
            (f"{work}/.github/chatmodes", _CHAT),
            (f"{work}/.github/agents", _DOCUMENTED),
            (f"{home}/chatmodes", _CHAT),
            (f"{user}/.chatmodes", _CHAT),
        ),
    }
    further: dict[AgentFormat, tuple[str, ...]] = {
        "codex": _TOML,
        "anthropic": _PLAIN,
        "vscode": (*_CHAT, *_DOCUMENTED),
    }
    own = {
        true_path(path)
        for folders in usual.values()
        for path, _ in folders
        if not path.startswith(work + os.sep) or is_inside(path, home)
    } | {true_path(f"{user}/{each}") for each in (".agents", ".claude/agents", ".chatmodes")}
    around = ground_of(work, user)
    found: dict[tuple[AgentFormat, str], AgentFolder] = {}
    for kind, folders in usual.items():
        if not options.is_enabled(kind):
            continue
        named = tuple(
            (os.path.normpath(os.path.join(work, expand_user(each, user))), further[kind])
            for each in options.folders(kind)
        )
        for path, patterns in named if kind in replaced else (*folders, *named):
            real = true_path(path)
            # By its name too: a link must not make a stranger's folder the user's own.
            is_theirs = real not in own and any(
                is_inside(each, folder) for each in (real, path) for folder in (work, around)
            )
            # What is believed to be the user's own is read there, not through a link that the
            # workspace may turn to another place meanwhile.
            read = path if is_theirs or not is_inside(path, work) else real
            folder = AgentFolder(path=read, format=kind, patterns=patterns, is_workspace=is_theirs)
            # The workspace may be the user's own folder: then both lead to the same files.
            found.setdefault((kind, real), folder)
    return tuple(found.values())


def agent_files_in(folder: AgentFolder, maps: frozenset[str]) -> Iterator[FoundFile]:
    """The files of a folder that are named as agents, by name. `maps` are maps of models."""
    try:
        names = sorted(os.listdir(folder.path))[:_MOST_FILES]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder.path, name)
        for pattern in folder.patterns:
            if pattern.startswith("*/"):
                inner = path + pattern[1:]
                if os.path.lexists(inner):
                    yield FoundFile(path=inner, folder=folder)
                    break
            elif fnmatchcase(name, pattern):
                if path not in maps and not any(fnmatchcase(name, each) for each in _NO_AGENTS):
                    yield FoundFile(path=path, folder=folder)
                break


def read_agent(found: FoundFile, workspace: str) -> AgentReading:
    """Read one file, and whatever belongs to it. Blocks: to be done on a thread."""
    within = workspace if is_inside(found.path, workspace) else ground_of(workspace)
    parts = Parts(within=within if found.folder.is_workspace else "")
    problems: list[Problem] = []
    agent = _read(found, workspace, parts, problems)
    if agent is None and not problems:
        problems.append(Problem(path=found.path, message="the file cannot be read"))
    return AgentReading(agent=agent, problems=tuple(problems), parts=parts.found)


def _read(
    found: FoundFile, workspace: str, parts: Parts, problems: list[Problem]
) -> AgentFile | None:
    match found.folder.format:
        case "codex" if found.path.endswith("/AGENT.md"):
            return read_directory_agent(found.path, workspace, parts, problems)
        case "codex":
            return read_toml_agent(found.path, workspace, parts, problems)
        case "anthropic":
            return read_front_matter_agent(found.path, CLAUDE, parts, problems)
        case "vscode":
            dialect = _vscode_dialect(found.path)
            return read_front_matter_agent(found.path, dialect, parts, problems)


def _vscode_dialect(path: str) -> Dialect:
    return CHAT_MODE if path.endswith(".chatmode.md") else CUSTOM_AGENT
