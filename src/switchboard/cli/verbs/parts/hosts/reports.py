"""What the verbs about hosts answer."""

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct

from switchboard.cli.render import hint, warning
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.verbs.parts.hosts.found_servers import FoundServer
from switchboard.cli.verbs.parts.hosts.plan import HostPlan
from switchboard.cli.verbs.parts.importing.foreign_servers import FOREIGN_FILES
from switchkit.cli.columns import counted, visible, wrapped
from switchkit.cli.style import Style


class HostLine(Struct, frozen=True, kw_only=True):
    """A host, and what becomes of its file."""

    host: str
    title: str
    file: str
    # `written`, `planned`, `kept` where nothing had to change, `declined`, `told` where somebody
    # has to write it, `unread` where its file cannot be understood, or `failed`.
    state: str
    # Other files of the host that are written as well.
    beside: tuple[str, ...] = ()
    # Servers that moved out of it.
    moved: tuple[str, ...] = ()
    # Whether it leaves asking to us: `written`, `planned`, `offered` where it goes on to ask, or
    # nothing where it does already, or cannot.
    allows: str = ""
    reason: str = ""
    remark: str = ""
    difference: str = ""
    # Whether the host lists us itself; nothing where it was not asked.
    is_listed: bool | None = None
    # The command that lists them, where it gave no answer.
    unanswered: str = ""
    # What to write, where we do not.
    entry: str = ""


class ServerLine(Struct, frozen=True, kw_only=True):
    """A server, where it was found, and what becomes of it."""

    name: str
    found_in: tuple[str, ...]
    # `taken`, `planned`, `known` or `left`.
    state: str
    into: str = ""
    # References of secrets that are in the vault now.
    secrets: tuple[str, ...] = ()
    reason: str = ""
    remarks: tuple[str, ...] = ()


class TokensSaved(Struct, frozen=True, kw_only=True):
    """What a model reads of the servers that could be asked: directly, and behind Switchboard."""

    servers: int
    direct: int
    # What is listed with the settings that are in use.
    shown: int
    # Servers that could not be started, or not soon.
    failed: tuple[str, ...] = ()


class SetupReport(Report, frozen=True, kw_only=True, tag="switchboard.setup/1"):
    """What was done, or would be."""

    dry_run: bool
    servers: tuple[ServerLine, ...]
    hosts: tuple[HostLine, ...]
    # Files of your home that were written.
    ours: tuple[str, ...] = ()
    # Files of this project that name servers too.
    projects: tuple[str, ...] = ()
    # Processes that hosts would start for themselves, and those that are left.
    processes_before: int = 0
    processes_after: int = 0
    # Those that run now, and their memory.
    running: int = 0
    running_bytes: int = 0
    # Processes of servers that hosts have left behind, and their memory.
    left_behind: int = 0
    left_bytes: int = 0
    # Counted at a terminal only: every server is started for it.
    tokens: TokensSaved | None = None

    def exit_code(self) -> int:
        return FAILED if any(each.state in {"failed", "unread"} for each in self.hosts) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        for server in self.servers:
            yield from told_server(server, style)
        yield from (f"wrote {style.paths(file)}" for file in self.ours)
        for host in self.hosts:
            yield from _host_lines(host, style)
        if self.processes_before > self.processes_after:
            yield ""
            yield (
                f"{counted(self.processes_before, 'process', 'processes')} of servers become"
                f" {self.processes_after}, however many hosts are open"
            )
        if self.running:
            yield (
                f"{counted(self.running, 'of them runs', 'of them run')} now, in"
                f" {self.running_bytes >> 20} MB; they end when their hosts are restarted"
            )
        if self.tokens is not None and self.tokens.servers:
            told = (
                f"a model reads {self.tokens.shown:,} tokens of"
                f" {counted(self.tokens.servers, 'server')} before its first word;"
                f" directly it reads {self.tokens.direct:,}"
            )
            yield from rows(told, style)

    def notes(self, style: Style) -> Iterator[str]:
        if self.tokens is not None and self.tokens.failed:
            failed = self.tokens.failed
            yield warning(style, f"{len(failed)} did not answer: {', '.join(failed)}")
            yield hint(style, "switchboard doctor --deep")
        if self.left_behind:
            number = counted(self.left_behind, "server")
            yield f"{number} that hosts have left behind can go, with {self.left_bytes >> 20} MB"
            yield hint(style, "switchboard sweep")
        for file in self.projects:
            yield f"{style.paths(file)} names servers of this project, and stays as it is"
        if any(each.endswith(FOREIGN_FILES) for each in self.projects):
            yield hint(style, "to take them over here: switchboard init --import")
        unread = [style.paths(each.file) for each in self.hosts if each.state == "unread"]
        if unread:
            yield hint(style, f"correct {', '.join(unread)}, then run this again")
        if not self.servers and not self.hosts:
            yield "no host was found on this machine"
            yield hint(style, "switchboard help setup")
        elif self.dry_run:
            yield from self._dry_notes(style)
        elif any(each.state == "written" for each in self.hosts):
            yield hint(style, "restart your hosts; to take it all back: switchboard revert")
            if self.tokens is None:
                yield hint(style, "what a model reads now, and read before: switchboard tokens")

    def _dry_notes(self, style: Style) -> Iterator[str]:
        states = {each.state for each in (*self.servers, *self.hosts)}
        if "planned" in states or any(each.allows == "planned" for each in self.hosts):
            yield hint(style, "nothing was changed; to do it, run it without `--dry-run`")
        else:
            yield "nothing was changed"


class ImportReport(SetupReport, frozen=True, kw_only=True, tag="switchboard.import/1"):
    """The same for servers alone."""


class InstallReport(SetupReport, frozen=True, kw_only=True, tag="switchboard.install/1"):
    """The same for our entry alone."""


# Before what a row has no room for.
_BELOW = "    "
_SERVER_WORDS = {"taken": "took over", "planned": "would take over", "known": "has already"}
_HOST_WORDS = {
    "written": "wrote",
    "planned": "would write",
    "kept": "already up to date:",
    "declined": "left as it is:",
    "failed": "could not write",
    "unread": "could not read",
    "told": "write yourself into",
}
_ALLOWS = {
    "written": "{0} leaves asking to Switchboard",
    "planned": "{0} leaves asking to Switchboard only if you agree to that, too",
    "offered": "{0} asks before each call itself; to leave that to Switchboard:"
    " switchboard install {1} --allow",
}


def told_server(server: ServerLine, style: Style) -> Iterator[str]:
    """A server, and what becomes of it, in lines."""
    for line in _server_lines(server, style):
        yield from rows(line, style)


def rows(line: str, style: Style) -> Iterator[str]:
    """A line of prose in rows that break between words, where it goes to a terminal."""
    return wrapped(line, style.columns, _BELOW) if style.columns else iter((line,))


def _server_lines(server: ServerLine, style: Style) -> Iterator[str]:
    places = ", ".join(server.found_in)
    name = style.bold(visible(server.name) or '""')
    if server.state == "left":
        yield f"left {name} in {places}: {visible(server.reason)}"
    elif server.state == "known":
        yield f"Switchboard has {name} already, also in {places}"
    else:
        yield f"{_SERVER_WORDS[server.state]} {name} from {places}"
    if server.secrets:
        verb = "would go into" if server.state == "planned" else "are kept in"
        yield f"  its secrets {verb} the vault: {', '.join(server.secrets)}"
    yield from (f"  {visible(remark)}" for remark in server.remarks)


def _host_lines(host: HostLine, style: Style) -> Iterator[str]:
    yield ""
    yield f"{style.bold(host.title)}: {_HOST_WORDS[host.state]} {style.paths(host.file)}"
    yield from (f"  {_HOST_WORDS[host.allows]} {style.paths(each)}" for each in host.beside)
    if host.difference:
        yield from told_difference(host.difference, style)
    if host.entry:
        yield from (f"  {line}" for line in host.entry.splitlines())
    if host.reason:
        yield from rows(f"  {style.paths(host.reason)}", style)
    if host.remark and host.state in {"written", "planned", "told"}:
        yield from rows(f"  {host.remark}", style)
    if host.allows:
        yield from rows(f"  {_ALLOWS[host.allows].format(host.title, host.host)}", style)
    if host.is_listed is False:
        yield warning(style, f"{host.title} does not list Switchboard yet")
    elif host.is_listed:
        yield f"  {host.title} lists it"
    elif host.unanswered:
        said = f"`{host.unanswered}` gave no answer"
        yield from rows(f"  whether it lists Switchboard is not known: {said}", style)


def told_difference(difference: str, style: Style) -> Iterator[str]:
    """The lines of a difference, in colours."""
    for line in difference.splitlines():
        if line.startswith(("--- ", "+++ ")):
            yield f"  {style.bold(style.paths(line))}"
        elif line.startswith("+"):
            yield "  " + style.green(line)
        elif line.startswith("-"):
            yield "  " + style.red(line)
        else:
            yield f"  {line}"


def server_line(server: FoundServer, state: str) -> ServerLine:
    """A server as it is told."""
    state = "left" if server.reason else "known" if server.is_known else state
    return ServerLine(
        name=server.name,
        found_in=tuple(dict.fromkeys(each.title for each in server.sources)),
        state=state,
        into=server.into,
        secrets=tuple(each.place for each in server.secrets),
        reason=server.reason,
        remarks=server.remarks,
    )


def host_line(
    plan: HostPlan,
    state: str,
    *,
    allows: str = "",
    reason: str = "",
    difference: str = "",
    is_listed: bool | None = None,
) -> HostLine:
    """A host as it is told."""
    others = (each.place.path for each in plan.allowing if each.place.path != plan.file)
    return HostLine(
        host=plan.host.id,
        title=plan.host.title,
        file=plan.file,
        state=state,
        beside=tuple(others) if allows else (),
        moved=tuple(name for each in plan.changes for name in each.taken_out),
        allows=allows,
        reason=reason or plan.reason,
        remark=plan.host.remark,
        difference=difference,
        is_listed=is_listed,
        entry=json.dumps({"switchboard": plan.told}, indent=2) if plan.told else "",
    )


def processes(servers: Iterable[FoundServer]) -> tuple[int, int]:
    """How many processes hosts would start of these by themselves, and how many are left."""
    moved = [each for each in servers if "command" in each.fields]
    before = sum(len({source.host for source in each.sources}) for each in moved)
    return before, len(moved)
