"""Which hosts are here, and which servers each of their files names."""

import os
from collections.abc import Iterator, Mapping
from shutil import which
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.hosts.change import Placed
from switchboard.hosts.edits.edit import decoded, read_tree
from switchboard.hosts.edits.trees import value_at
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.host import Host, ServersFile
from switchboard.hosts.places import HostRoots
from switchboard.hosts.plain_file import read_plain
from switchboard.hosts.spelled import ForeignServer, read_server
from switchkit.platform.paths import true_path


class FoundHostFile(Struct, frozen=True, kw_only=True):
    """A file of a host as it is now."""

    host: Host
    file: ServersFile
    # As the host names it, and where its links lead.
    path: str
    target: str
    # `None` when it is not there.
    raw: bytes | None = None
    servers: tuple[ForeignServer, ...] = ()
    # Those that are for this project alone, though the file is the user's.
    local_servers: tuple[ForeignServer, ...] = ()
    # Why it cannot be read, with its place; nothing is changed in such a file.
    problem: str = ""

    @property
    def exists(self) -> bool:
        """Whether the host has such a file."""
        return self.raw is not None or bool(self.problem)

    @property
    def place(self) -> Placed:
        """Where a change of its servers stands."""
        return Placed(
            host=self.host.id,
            path=self.path,
            target=self.target,
            form=self.file.form,
            servers=self.file.servers,
        )


class FoundHost(Struct, frozen=True, kw_only=True):
    """A host of this machine."""

    host: Host
    files: tuple[FoundHostFile, ...]
    # Whether there is a folder that only this host makes.
    has_folder: bool = False

    @property
    def own_file(self) -> FoundHostFile:
        """The file of the user that our entry belongs into."""
        mine = [each for each in self.files if each.file.scope == "user"]
        new = next(each for each in mine if not each.file.is_only_if_there)
        return next((each for each in mine if each.exists), new)

    @property
    def project_file(self) -> FoundHostFile | None:
        """The file of a project that our entry belongs into, if the host has such files."""
        shared = [each for each in self.files if each.file.scope == "project"]
        return next((each for each in shared if each.exists), shared[0] if shared else None)


def find_host(host: Host, places: HostRoots) -> FoundHost:
    """Everything that a host keeps here; its files may all be absent."""
    files = tuple(_read(host, file, places) for file in host.files if not places.is_dead(file))
    folders = {os.path.dirname(each.path) for each in files if each.file.scope == "user"}
    return FoundHost(
        host=host,
        files=files,
        has_folder=any(os.path.isdir(each) and not places.is_common(each) for each in folders),
    )


def is_here(found: FoundHost, path: str | None, versions: Mapping[str, str] | None = None) -> bool:
    """Whether the host has left a trace: a file, the folder of one, or a program on the `PATH`.

    `versions` are what programs say of themselves, for those that two hosts go by.
    """
    host = found.host
    program = bool(host.program) and which(host.program, path=path) is not None
    if not program and not found.has_folder and not any(_own_files(found)):
        return False
    if not host.version:
        return True
    version = (versions or {}).get(host.program, "").strip().removeprefix("v")
    if version:
        return version.split(".")[0] == host.version
    return _shape_version(found) == host.version


def _own_files(found: FoundHost) -> Iterator[bool]:
    for each in found.files:
        if each.file.scope == "user":
            yield each.exists


def _shape_version(found: FoundHost) -> str:
    """The version that a file is written for, where no program says its own: the older, mostly."""
    for each in found.files:
        if each.raw is None or each.problem:
            continue
        tree = read_tree(decoded(each.raw), each.file.form)
        servers = value_at(tree, ("mcp", "servers"))
        if isinstance(servers, dict) and not {"type", "command", "url"} & servers.keys():
            return "2"
    return "1"


def _read(host: Host, file: ServersFile, places: HostRoots) -> FoundHostFile:
    path = places.path_of(file)
    found = FoundHostFile(host=host, file=file, path=path, target=true_path(path))
    raw: bytes | None = None
    try:
        raw = read_plain(found.target)
        if raw is None:
            return found
        tree = read_tree(decoded(raw), file.form)
        return replace(
            found,
            raw=raw,
            servers=tuple(_servers(tree, found, places.project)),
            local_servers=tuple(_local_servers(tree, found, places.project)),
        )
    except UnfitFile as wrong:
        where = f":{wrong.line}:{wrong.column}" if wrong.column else ""
        where = where or (f":{wrong.line}" if wrong.line else "")
        return replace(found, raw=raw, problem=f"{path}{where}: {wrong.message}")
    except OSError as refused:
        problem = f"{path}: it cannot be read: {(refused.strerror or '').lower()}"
        return replace(found, problem=problem)


def servers_at(tree: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The servers at these keys; none where there is no such object."""
    there = value_at(tree, keys)
    if not isinstance(there, dict):
        return {}
    # A name in YAML may be a number.
    return {str(name): each for name, each in cast("dict[Any, Any]", there).items()}


def _servers(tree: dict[str, Any], found: FoundHostFile, project: str) -> Iterator[ForeignServer]:
    file = found.file
    there = value_at(tree, file.servers)
    if there is not None and not isinstance(there, dict):
        raise UnfitFile(f"`{'.'.join(file.servers)}` is not an object")
    only, off = _names(tree, file.only), _names(tree, file.off)
    off_here = _off_in_project(tree, file, project)
    for name, raw in servers_at(tree, file.servers).items():
        server = read_server(name, raw, found.host.spelling)
        if name in off or (only and name not in only):
            server = replace(server, is_off=True)
        if name in off_here:
            server = replace(server, remarks=(*server.remarks, "it is off in this project"))
        yield server


def _local_servers(
    tree: dict[str, Any], found: FoundHostFile, project: str
) -> Iterator[ForeignServer]:
    file = found.file
    if not file.projects:
        return
    off = _off_in_project(tree, file, project)
    for name, raw in servers_at(tree, (file.projects, project, *file.servers)).items():
        server = read_server(name, raw, found.host.spelling)
        yield replace(server, is_off=True) if name in off else server


def _off_in_project(tree: dict[str, Any], file: ServersFile, project: str) -> set[str]:
    return _names(tree, (file.projects, project, file.off_in_project)) if file.projects else set()


def _names(tree: dict[str, Any], keys: tuple[str, ...]) -> set[str]:
    there = value_at(tree, keys) if keys else None
    return {str(each) for each in cast("list[Any]", there)} if isinstance(there, list) else set()
