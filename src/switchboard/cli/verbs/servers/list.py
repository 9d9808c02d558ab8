"""`switchboard list`: the configured servers and command tools. Starts none of them."""

import shlex
from collections.abc import Iterator, Mapping

from msgspec import Struct

from switchboard.cli.render import columns, hint, shown_origin
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import told_of_home
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.parts.servers import ListedServer, listed_servers
from switchboard.config.problems import Problem, place
from switchboard.daemon.board.assemble import usable_here
from switchboard.daemon.desk.refused_tools import refused_findings
from switchboard.providers.source import Trust
from switchboard.providers.table import configured
from switchboard.settings.sections import Settings
from switchboard.settings.validate import RENAME
from switchkit.cli.columns import visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage

USAGE = Usage(
    verb="list",
    summary="Show the configured servers and command tools, where they come from, their trust.",
    details="No server is started.",
)

# More than these are told by `config check`, which has what to do about each.
_MOST = 5
_TRUST = {"own": "yours", "trusted": "trusted", "waiting": "NOT TRUSTED", "changed": "CHANGED"}


class ListedCommand(Struct, frozen=True, kw_only=True):
    """One configured command tool."""

    name: str
    trust: Trust
    origin: str
    runs: str = ""
    description: str = ""
    sandbox: str = ""
    # Why it cannot be used although it is configured, and what to do about it.
    left_out: str = ""
    hint: str = ""


class ListReport(Report, frozen=True, kw_only=True, tag="switchboard.list/1"):
    """Every server and every command tool."""

    workspace: str
    servers: tuple[ListedServer, ...]
    commands: tuple[ListedCommand, ...] = ()
    # Whether programs that are not from the folder may start in it.
    folder_trusted: bool = False
    # The servers of the user's own that start in an empty folder instead.
    starts_apart: tuple[str, ...] = ()
    # Why nothing can be kept in the home.
    home_problem: str = ""
    # What in the configuration is not as it should be, each in one line.
    warnings: tuple[str, ...] = ()
    # Why files are left out.
    problems: tuple[str, ...] = ()

    def exit_code(self) -> int:
        return FAILED if self.problems else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if self.servers:
            yield from self._servers(style)
        if self.servers and self.commands:
            yield ""
        if self.commands:
            yield from self._commands(style)

    def _commands(self, style: Style) -> Iterator[str]:
        heads = ("COMMAND TOOL", "SANDBOX", "TRUST", "FROM", "RUNS")
        rows = [
            (
                command.name,
                command.sandbox,
                "LEFT OUT" if command.left_out else _TRUST[command.trust],
                style.paths(command.origin),
                style.paths(command.runs),
            )
            for command in self.commands
        ]
        yield from columns(heads, rows, style, elastic=(0, 1, 3, 4), spare=(1,))

    def _servers(self, style: Style) -> Iterator[str]:
        heads = ("SERVER", "SUITE", "TRANSPORT", "SANDBOX", "TRUST", "FROM", "RUNS")
        rows = [
            (
                server.name,
                server.suite,
                server.transport,
                _sandbox_word(server),
                _state_of(server),
                style.paths(server.origin),
                style.paths(server.target),
            )
            for server in self.servers
        ]
        yield from columns(heads, rows, style, elastic=(0, 1, 5, 6), spare=(2, 1))
        opened = [each for each in self.servers if each.sandbox != _sandbox_word(each)]
        if any(each.sandbox for each in opened):
            yield ""
        yield from (f"sandbox of {each.name}: {each.sandbox}" for each in opened if each.sandbox)

    def _about_files(self, style: Style) -> Iterator[str]:
        if not self.servers and not self.commands:
            # What stands in a file that cannot be read is no less configured.
            yield "no server can be used" if self.problems else "no server is configured"
            if not self.warnings and not self.problems:
                yield hint(style, "switchboard add NAME -- COMMAND")
        yield from (f"{style.red('error:')} {each}" for each in self.problems[:_MOST])
        if self.problems:
            yield (
                "files with errors are left out here; a daemon that runs already goes on with what"
                " they said before"
            )
        warnings = self._other_warnings()
        yield from (f"{style.yellow('warning:')} {each}" for each in warnings[:_MOST])
        if self.problems or warnings:
            yield hint(style, "switchboard config check")

    def _other_warnings(self) -> list[str]:
        """Without those about servers that are left out, which have a line of their own below."""
        told = tuple(
            f"the server `{server.name}` is left out: {server.left_out}"
            for server in self.servers
            if server.left_out
        )
        return [each for each in self.warnings if not each.endswith(told)]

    def notes(self, style: Style) -> Iterator[str]:
        yield from self._about_files(style)
        left_out = [server for server in self.servers if server.left_out]
        if left_out:
            yield ""
            yield from (f"left out: {each.name}: {each.left_out}" for each in left_out)
            for each in dict.fromkeys(server.hint or RENAME for server in left_out):
                yield hint(style, each)
        for command in self.commands:
            if command.left_out:
                yield ""
                yield f"left out: {command.name}: {command.left_out}"
                if command.hint:
                    yield hint(style, command.hint)
        waiting = [
            server.name
            for server in self.servers
            if server.trust in ("waiting", "changed") and not server.left_out and not server.is_off
        ] + [command.name for command in self.commands if command.trust == "waiting"]
        if self.starts_apart:
            yield ""
            why = "" if self.folder_trusted else " because this one is not trusted"
            yield f"started in an empty folder{why}: {', '.join(self.starts_apart)}"
            here = '`start_in = "workspace"` in an entry'
            yield hint(style, here if self.folder_trusted else "switchboard trust --folder")
        changed = [server for server in self.servers if server.changed]
        if changed:
            yield ""
            yield from (f"{each.name}: {each.changed}" for each in changed)
        if waiting:
            yield ""
            yield hint(style, f"switchboard trust {shlex.join(waiting)}")
        if off := [server.name for server in self.servers if server.is_off]:
            yield hint(style, f"switchboard enable {shlex.join(off)}")


def _state_of(server: ListedServer) -> str:
    if server.is_off:
        return "off"
    return "LEFT OUT" if server.left_out else _TRUST[server.trust]


def run(request: CommandRequest) -> Report:
    home_problem = told_of_home(request)
    settings = usable_here(usable_for(request))
    return ListReport(
        workspace=settings.workspace,
        home_problem=home_problem,
        servers=listed_servers(settings),
        folder_trusted=settings.folder_trusted,
        starts_apart=tuple(
            entry.name for entry in settings.servers if entry.neutral and not entry.fingerprint
        ),
        commands=_listed_commands(settings, request.environ),
        warnings=(
            *(_in_a_line(each, settings) for each in (*_beside(settings), *settings.warnings)),
            *(
                f"{each.subject}: {each.message}"
                for each in refused_findings(settings, request.environ)
            ),
        ),
        problems=tuple(_in_a_line(each, settings) for each in _errors(settings)),
    )


def _sandbox_word(server: ListedServer) -> str:
    """Which sandbox a server has, in a word; what it opens stands below the table."""
    if server.transport != "stdio":
        return ""
    return server.sandbox.partition(",")[0].partition(" ")[0] or "none"


def _errors(settings: Settings) -> Iterator[Problem]:
    found = (each for file in settings.broken for each in file.problems)
    return (each for each in found if each.severity == "error")


def _beside(settings: Settings) -> Iterator[Problem]:
    """What else is said of broken files."""
    found = (each for file in settings.broken for each in file.problems)
    return (each for each in found if each.severity != "error")


def _in_a_line(problem: Problem, settings: Settings) -> str:
    where = place(problem, workspace=settings.workspace, user_home=settings.user_home)
    return visible(f"{where}: {problem.message}")


def _listed_commands(settings: Settings, environ: Mapping[str, str]) -> tuple[ListedCommand, ...]:
    """Every tool that is configured one by one, with those that wait for trust or are left out."""
    items = (item for source in configured(settings) for item in source.rows(settings, environ))
    return tuple(
        ListedCommand(
            name=item.name,
            trust=item.trust,
            origin=shown_origin(
                item.origin.scope, item.origin.path, item.origin.line, settings.workspace
            ),
            runs=item.runs,
            description=item.description,
            sandbox=visible(item.sandbox),
            left_out=item.left_out,
            hint=item.hint,
        )
        for item in sorted(items, key=lambda item: item.name)
    )
