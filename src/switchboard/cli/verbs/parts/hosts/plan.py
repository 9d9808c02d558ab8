"""What would be done: servers into our home, our entry into the files of hosts."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from shutil import which
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.found_servers import FoundServer, found_servers
from switchboard.cli.verbs.parts.hosts.programs import version_of
from switchboard.cli.verbs.parts.hosts.reading_tools import reading_tools
from switchboard.cli.verbs.parts.importing.foreign_servers import FOREIGN_FILES, candidates
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.config.locate import Places
from switchboard.config.problems import ConfigInvalid
from switchboard.config.writing import refuse_linked_folders
from switchboard.hosts.applying import OURS
from switchboard.hosts.change import OUR_NAME, FileChange, Placed, changed
from switchboard.hosts.edits.edit import Format, decoded, read_tree
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.found import FoundHost, FoundHostFile, find_host, is_here, servers_at
from switchboard.hosts.granting import changes_beside, granted_with_entry
from switchboard.hosts.host import Host
from switchboard.hosts.places import HostRoots
from switchboard.hosts.spelled import our_entry
from switchboard.hosts.table import HOSTS
from switchboard.settings.sections import Settings
from switchboard.settings.writing.first_config import first_config, first_home_config
from switchkit.platform.light import system_name
from switchkit.platform.paths import true_path

HOME_VARIABLE = "SWITCHBOARD_HOME"
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,100})[:}]")


class HostPlan(Struct, frozen=True, kw_only=True):
    """One host, and what would change in its file."""

    found: FoundHostFile
    # One after the other: each begins with what the one before it leaves.
    changes: tuple[FileChange, ...] = ()
    # What has the host not ask about us, which needs a yes of its own.
    allowing: tuple[FileChange, ...] = ()
    # What somebody has to write who wants it, where we do not write.
    told: dict[str, Any] | None = None
    # Why nothing is changed.
    reason: str = ""

    @property
    def host(self) -> Host:
        return self.found.host

    @property
    def file(self) -> str:
        """As the host names it."""
        return self.found.path


class SetupPlan(Struct, frozen=True, kw_only=True):
    """Everything that would be done."""

    hosts: tuple[HostPlan, ...]
    servers: tuple[FoundServer, ...] = ()
    # Files of projects that name servers too, which stay as they are.
    projects: tuple[FoundHostFile, ...] = ()


def project_plan(request: CommandRequest, only: Sequence[str]) -> SetupPlan:
    """Our entry in files of this project. It names no path of this machine: a team shares them."""
    places = places_for(request)
    every = every_host(host_roots(request, places))
    is_guarded = settings_for(request).is_guarded
    hosts = [each for each in every if each.host.id in only]
    return SetupPlan(
        hosts=tuple(_in_project(each, places, is_guarded=is_guarded) for each in hosts)
    )


def make_plan(
    request: CommandRequest, *, only: Sequence[str] = (), imports: bool, enters: bool
) -> SetupPlan:
    """What there is to do for the hosts of this machine, or for those that are named."""
    places = places_for(request)
    settings = settings_for(request)
    roots = host_roots(request, places)
    every = every_host(roots)
    hosts = [each for each in every if each.host.id in only] or [*hosts_here(every, request)]
    known = own_servers(places)
    servers = found_servers(hosts, known, places.workspace, request.environ) if imports else []
    ours = OurEntry(
        program=own_program(),
        home=request.environ.get(HOME_VARIABLE, ""),
        is_guarded=settings.is_guarded,
        variables=tuple(sorted(_named_in([*known.values(), *(each.fields for each in servers)]))),
        reading=tuple(reading_tools(settings, known)),
    )
    return SetupPlan(
        hosts=tuple(_host_plan(each, servers, ours, roots) for each in hosts) if enters else (),
        servers=tuple(servers),
        projects=tuple(_of_projects(every, _imported(request, settings))),
    )


def _imported(request: CommandRequest, settings: Settings) -> set[str]:
    """The files of this project that `init --import` has nothing to take over from any more."""
    workspace = places_for(request).workspace
    taken = {each.name for each in entries(settings)}
    found, _ = candidates(workspace, request.environ)
    left = {each.file for each in found if not each.reason and each.name not in taken}
    return {os.path.join(workspace, file) for file in FOREIGN_FILES if file not in left}


def _of_projects(every: Sequence[FoundHost], imported: set[str]) -> Iterator[FoundHostFile]:
    """Files of this project that have servers. Several hosts read one, here or not."""
    # In the home itself the files of its user are where those of a project would be.
    told = {file.path for host in every for file in host.files if file.file.scope == "user"}
    told |= imported
    for host in every:
        for file in host.files:
            if file.file.scope == "project" and file.servers and file.path not in told:
                told.add(file.path)
                yield file


def host_roots(request: CommandRequest, places: Places) -> HostRoots:
    """Where the hosts of this user keep their files."""
    return HostRoots(
        user_home=places.user_home,
        project=places.workspace,
        environ=request.environ,
        is_darwin=system_name() == "Darwin",
    )


def every_host(roots: HostRoots) -> list[FoundHost]:
    """Every host that we know, with what it keeps here, which may be nothing."""
    return [find_host(host, roots) for host in HOSTS]


def hosts_here(every: Sequence[FoundHost], request: CommandRequest) -> Iterator[FoundHost]:
    """The hosts of this machine. A program that two of them go by is asked for its version."""
    path = request.environ.get("PATH")
    programs = {each.host.program for each in every if each.host.version}
    found = (name for name in programs if which(name, path=path))
    versions = {name: version_of(name, request.environ) for name in found}
    return (each for each in every if is_here(each, path, versions))


def first_settings(places: Places) -> Iterator[FileChange]:
    """The settings that somebody begins with who has none yet."""
    if path := first_home_config(places):
        place = _our_place(path, "toml", "mcp_servers")
        yield FileChange(place=place, before=None, after=first_config("home").encode())


def home_changes(servers: Sequence[FoundServer], places: Places) -> Iterator[FileChange]:
    """Our own files with the servers that come in. Raises `UnfitFile`."""
    kinds: tuple[tuple[str, Format, str], ...] = (
        ("mcp.json", "json", "mcpServers"),
        ("config.toml", "toml", "mcp_servers"),
    )
    for name, form, key in kinds:
        wanted = {each.name: each.fields for each in servers if each.into == name}
        if not wanted:
            continue
        path = os.path.join(places.home, name)
        yield changed(_our_place(path, form, key), _bytes(path), wanted)


def _our_place(path: str, form: Format, key: str) -> Placed:
    return Placed(host=OURS, path=path, target=true_path(path), form=form, servers=(key,))


def own_program() -> str:
    """This very Switchboard by a path that holds without a `PATH`: few windows have the shell's."""
    own = os.path.join(sys.prefix, "bin", "switchboard")
    on_path = which("switchboard")
    if on_path is not None and true_path(on_path) == true_path(own):
        return os.path.abspath(on_path)
    return own


class OurEntry(Struct, frozen=True, kw_only=True):
    """What our entry says in every host."""

    program: str
    # Where our home is, if it is not where everybody's is.
    home: str
    is_guarded: bool
    # Names of variables that servers refer to. Of no file of a workspace, which anybody may have
    # written.
    variables: tuple[str, ...]
    # Tools that only read.
    reading: tuple[str, ...]


def _host_plan(
    found: FoundHost, servers: Sequence[FoundServer], ours: OurEntry, roots: HostRoots
) -> HostPlan:
    host, file = found.host, found.own_file
    entry = our_entry(
        host,
        (ours.program, "mcp"),
        is_guarded=ours.is_guarded,
        variables=_variables(host, ours),
        reading=() if ours.is_guarded else ours.reading,
    )
    if file.problem:
        return HostPlan(found=file, reason=file.problem)
    if host.only_told:
        return HostPlan(found=file, told=entry, reason=host.only_told)
    try:
        changes = tuple(_changes(file, entry, servers, roots.project))
        raw = changes[-1].after if changes else file.raw
        allowing = tuple(_allowing(host, file.place, raw, ours, roots))
    except UnfitFile as wrong:
        return HostPlan(found=file, reason=wrong.message)
    except OSError as refused:
        return HostPlan(found=file, reason=(refused.strerror or "").lower())
    return HostPlan(found=file, changes=changes, allowing=allowing)


def _in_project(found: FoundHost, places: Places, *, is_guarded: bool) -> HostPlan:
    host, file = found.host, found.project_file
    if file is None:
        return HostPlan(found=found.own_file, reason="it has no file for a project")
    try:
        refuse_linked_folders(file.path, places.workspace)
    except ConfigInvalid as wrong:
        return HostPlan(found=file, reason=wrong.problems[0].message)
    if file.problem:
        return HostPlan(found=file, reason=file.problem)
    command = (OUR_NAME, "mcp")
    entry = our_entry(host, command, is_guarded=is_guarded, variables={}, in_project=True)
    if host.only_told:
        return HostPlan(found=file, told=entry, reason=host.only_told)
    try:
        changes = tuple(_changes(file, entry, (), places.workspace))
    except UnfitFile as wrong:
        return HostPlan(found=file, reason=wrong.message)
    return HostPlan(found=file, changes=changes)


def _changes(
    file: FoundHostFile, entry: dict[str, Any], servers: Sequence[FoundServer], project: str
) -> Iterator[FileChange]:
    """Our entry in, and servers out that are ours now. Raises `UnfitFile`."""
    now = servers_at(read_tree(decoded(file.raw or b""), file.file.form), file.file.servers)
    put_in = {} if now.get(OUR_NAME) == entry else {OUR_NAME: entry}
    moved = [
        source
        for server in servers
        if not server.reason
        for source in server.sources
        if source.file == file.path
    ]
    everywhere = [each.name for each in moved if not each.is_local]
    change = changed(file.place, file.raw, put_in, everywhere)
    if change.is_needed:
        yield change
    if here := [each.name for each in moved if each.is_local]:
        place = replace(file.place, servers=(file.file.projects, project, *file.file.servers))
        yield changed(place, change.after, {}, here)


def _allowing(
    host: Host, place: Placed, raw: bytes | None, ours: OurEntry, roots: HostRoots
) -> Iterator[FileChange]:
    """Permissions for us in files of the host. Raises `UnfitFile` or `OSError`."""
    granted = granted_with_entry(host, raw, is_guarded=ours.is_guarded, reading=ours.reading)
    for change in (
        changed(place, raw, {}, granted=granted),
        *changes_beside(host, roots, is_guarded=ours.is_guarded, reading=ours.reading),
    ):
        if change.granted:
            yield change


def _variables(host: Host, ours: OurEntry) -> dict[str, str]:
    """The variables that a host must hand on: where our home is, and what servers refer to."""
    named = {HOME_VARIABLE: ours.home} if ours.home else {}
    # By name alone: no value of them is ever written.
    return {**dict.fromkeys(ours.variables, ""), **named} if host.spelling.env_names else named


def _named_in(value: Any) -> set[str]:
    """The variables that fields of a server refer to, in either way."""
    if isinstance(value, str):
        if value.startswith("env:"):
            return {value.removeprefix("env:")}
        return set(_PLACEHOLDER.findall(value))
    if isinstance(value, Mapping):
        inner = list(cast("Mapping[str, Any]", value).values())
    else:
        inner = cast("list[Any]", value) if isinstance(value, list) else []
    return {name for each in inner for name in _named_in(each)}


def own_servers(places: Places) -> dict[str, Mapping[str, Any]]:
    """The servers of our own home, as they are written."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, form, keys in (
        ("config.toml", "toml", ("mcp_servers",)),
        ("mcp.json", "json", ("mcp_servers", "mcpServers")),
    ):
        raw = _bytes(os.path.join(places.home, name))
        if raw is None:
            continue
        try:
            tree = read_tree(decoded(raw), "toml" if form == "toml" else "json")
        except UnfitFile:
            # Whoever reads the settings says what is wrong with it.
            continue
        for key in keys:
            for server, fields in servers_at(tree, (key,)).items():
                if isinstance(fields, dict):
                    found[server.strip()] = cast("dict[str, Any]", fields)
    return found


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
