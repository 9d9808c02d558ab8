"""The servers that Claude Code, VS Code and Cursor are set up with."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from switchboard.config.itself import is_switchboard
from switchboard.config.locate import expand_user
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.servers.host_fields import (
    EntryUnusable,
    HostFields,
    is_local,
    launch_from,
    variables_of,
)
from switchboard.providers.agents.servers.host_file import (
    HostFile,
    HostTree,
    members,
    read_host_file,
    words,
)
from switchboard.providers.agents.servers.host_seal import HostSeal
from switchkit.platform.paths import true_path

CLAUDE_VARIABLE = "CLAUDE_CONFIG_DIR"
_CLAUDE_PROJECT = ".mcp.json"
_CLAUDE_LOCAL = (".claude/settings.json", ".claude/settings.local.json")
_VSCODE_PROJECT = ".vscode/mcp.json"
_CURSOR_USER = ".cursor/mcp.json"
_ENABLED, _DISABLED = "enabledMcpjsonServers", "disabledMcpjsonServers"

# Whether the user trusts a file of the workspace with exactly what it holds and names.
TrustsFile = Callable[[HostFile, HostTree], bool]


class HostPlaces(Struct, frozen=True, kw_only=True):
    """Where the files of hosts are looked for."""

    workspace: str
    user_home: str
    # The `mcp.json` of a VS Code profile; empty when nobody named one.
    vscode_user: str = ""
    # Where Claude Code keeps its own files, if not in the home.
    claude_folder: str = ""

    @classmethod
    def of(cls, workspace: str, environ: Mapping[str, str], vscode_user: str) -> "HostPlaces":
        """The places that an environment means."""
        home = environ.get("HOME") or "/"
        named = expand_user(vscode_user.strip(), home)
        return cls(
            workspace=workspace,
            user_home=home,
            vscode_user=os.path.join(workspace, named) if named else "",
            claude_folder=environ.get(CLAUDE_VARIABLE, ""),
        )

    @property
    def claude_user(self) -> HostFile:
        path = os.path.join(self.claude_folder or self.user_home, ".claude.json")
        return HostFile(path=path, host="Claude Code")

    def in_workspace(self) -> Iterator[HostFile]:
        """The files of the workspace that declare servers, if it is not the home itself."""
        if true_path(self.workspace) != true_path(self.user_home):
            join = os.path.join
            yield HostFile(
                path=join(self.workspace, _CLAUDE_PROJECT), host="Claude Code", is_workspace=True
            )
            yield HostFile(
                path=join(self.workspace, _VSCODE_PROJECT), host="VS Code", is_workspace=True
            )


class FoundServers(Struct, frozen=True, kw_only=True):
    """What the hosts have, by name, and what is to be told of the rest."""

    servers: dict[str, AttachedServer] = {}
    notices: tuple[str, ...] = ()


def discovered(
    places: HostPlaces, environ: Mapping[str, str], trusts: TrustsFile, *, skip_self: bool
) -> FoundServers:
    """The commands that hosts start as servers. Blocks: files are read.

    Lowest first: Cursor, Claude Code for the user, for the project, VS Code for the project, and
    for the user.
    """
    found: dict[str, AttachedServer] = {}
    notices: list[str] = []
    for file, entries in _entries(places, trusts, notices):
        fill = HostFields(file.host, environ, places.workspace, places.user_home)
        theirs = {name: fields for name, fields in entries.items() if is_local(fields)}
        seal = HostSeal(file, theirs, places.workspace, places.user_home)
        for name, fields in theirs.items():
            try:
                launch = launch_from(name, fields, fill)
                if file.is_workspace:
                    seal.check(launch)
            except EntryUnusable as why:
                notices.append(f"`{name}` of {_shown(file, places)} is left out: {why}")
                continue
            if not (skip_self and is_switchboard(name, launch.command, launch.args)):
                # What the workspace names lies there, and is trusted; nothing else starts there.
                place = places.workspace if file.is_workspace else ""
                found[name] = replace(launch, start_in=place)
    return FoundServers(servers=found, notices=tuple(notices))


def variables_in_hosts(places: HostPlaces, trusts: TrustsFile) -> set[str]:
    """The variables of the environment that the servers of hosts are filled from."""
    return {
        name
        for file, entries in _entries(places, trusts, [])
        for fields in entries.values()
        if is_local(fields)
        for name in variables_of(fields, file.host)
    }


def waiting_files(places: HostPlaces) -> Iterator[tuple[HostFile, HostTree, dict[str, Any]]]:
    """The files of the workspace that name commands, with their digests and their entries."""
    for file in places.in_workspace():
        read = read_host_file(file)
        entries = local_entries(read.tree)
        if entries:
            yield file, read, entries


def local_entries(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a file that are commands in use."""
    return {name: fields for name, fields in _servers(tree).items() if is_local(fields)}


def _entries(
    places: HostPlaces, trusts: TrustsFile, notices: list[str]
) -> Iterator[tuple[HostFile, dict[str, Any]]]:
    """Each file that counts and the entries in it, lowest first."""

    def tree_of(file: HostFile) -> dict[str, Any]:
        read = read_host_file(file)
        if read.problem:
            notices.append(f"{_shown(file, places)} is not used: it {read.problem}")
        elif read.tree and file.is_workspace and not trusts(file, read):
            if local_entries(read.tree):
                notices.append(
                    f"{_shown(file, places)} is not trusted, so its servers are not attached;"
                    f" look at it, then: switchboard trust {_shown(file, places)}"
                )
            return {}
        return read.tree

    cursor = HostFile(path=os.path.join(places.user_home, _CURSOR_USER), host="Cursor")
    yield cursor, _servers(tree_of(cursor))
    claude = places.claude_user
    user = tree_of(claude)
    yield claude, members(user, "mcpServers")
    project = _project_of(user, places.workspace)
    yield claude, members(project, "mcpServers")
    for file in places.in_workspace():
        entries = _servers(tree_of(file))
        if file.host == "Claude Code":
            entries = _agreed_to(entries, project, places)
        yield file, entries
    if places.vscode_user:
        file = HostFile(path=places.vscode_user, host="VS Code")
        yield file, _servers(tree_of(file))


def _servers(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a file, under the key of VS Code or that of the others."""
    return members(tree, "servers") or members(tree, "mcpServers")


def _project_of(user: Mapping[str, Any], workspace: str) -> dict[str, Any]:
    """What the user's file of Claude Code says of a workspace."""
    projects = members(user, "projects")
    folder = true_path(workspace)
    named = next((path for path in projects if true_path(path) == folder), "")
    return members(projects, named)


def _agreed_to(
    entries: dict[str, Any], project: Mapping[str, Any], places: HostPlaces
) -> dict[str, Any]:
    """The entries of a project's `.mcp.json` that its user lets Claude Code start."""
    folder = places.claude_folder or os.path.join(places.user_home, ".claude")
    paths = [os.path.join(places.workspace, each) for each in _CLAUDE_LOCAL]
    paths.append(os.path.join(folder, "settings.json"))
    trees = [project]
    trees += [read_host_file(HostFile(path=path, host="Claude Code")).tree for path in paths]
    enabled = {name for tree in trees for name in words(tree, _ENABLED)}
    disabled = {name for tree in trees for name in words(tree, _DISABLED)}
    return {
        name: fields
        for name, fields in entries.items()
        if name not in disabled and (not enabled or name in enabled)
    }


def _shown(file: HostFile, places: HostPlaces) -> str:
    """A file as people name it, without where the home is."""
    for root, prefix in ((places.workspace, ""), (places.user_home, "~/")):
        if file.path.startswith(root.rstrip("/") + "/"):
            return prefix + os.path.relpath(file.path, root)
    return os.path.basename(file.path)
