"""`switchboard doctor`: everything that is or will be wrong, each with what to type next."""

import asyncio
import os
import platform
import shlex
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

import msgspec
from msgspec.structs import replace

from switchboard import __version__
from switchboard.children.secrets.texts import references_of, texts_with_secrets
from switchboard.cli.moments import took
from switchboard.cli.render import hint, shown_origin
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.approving.lasting_rules import rule_by_name
from switchboard.cli.verbs.parts.daemon_answer import DATABASE
from switchboard.cli.verbs.parts.doctor.deep import StartedServer, start_servers
from switchboard.cli.verbs.parts.doctor.login_shell import about_path
from switchboard.cli.verbs.parts.doctor.notices import about_notices
from switchboard.cli.verbs.parts.doctor.own_servers import about_open_secrets
from switchboard.cli.verbs.parts.doctor.privacy import about_privacy
from switchboard.cli.verbs.parts.doctor.promises import ShownPromise, shown_promises
from switchboard.cli.verbs.parts.doctor.remedies import Fixed, run_remedy
from switchboard.cli.verbs.parts.doctor.slow import about_calls
from switchboard.cli.verbs.parts.doctor.surroundings import (
    about_daemons,
    about_groups,
    about_home,
    about_port,
)
from switchboard.cli.verbs.parts.egress.findings import egress_findings
from switchboard.cli.verbs.parts.hosts.here import dead_entries, idle_rules
from switchboard.cli.verbs.parts.hosts.tool_names import unfit_names
from switchboard.cli.verbs.parts.loading import usable_for
from switchboard.cli.verbs.parts.servers import program_of, target_of
from switchboard.cli.verbs.parts.trusting.consent import check_consent
from switchboard.config.locate import find_places
from switchboard.config.problems import ConfigInvalid, Problem, place
from switchboard.daemon.board.assemble import sandbox_refusals
from switchboard.daemon.desk.refused_tools import refused_findings
from switchboard.daemon.desk.runner_versions import runner_versions
from switchboard.ipc.paths import places_from
from switchboard.providers.source import Finding
from switchboard.providers.table import configured
from switchboard.sandbox.limits import limits_in_words
from switchboard.sandbox.sandbox import platform_sandbox
from switchboard.settings.sections import Settings
from switchkit.cli.columns import counted, visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage
from switchkit.commands import words_in_command
from switchkit.platform.promises import promise_lines

USAGE = Usage(
    verb="doctor",
    summary="Find what is wrong, and say what to type next.",
    options=(
        Option(name="deep", about="start every server and ask for its tools"),
        Option(
            name="fix", about="run the commands that mend something and change nothing of yours"
        ),
        Option(name="db", about="look at the database of a team, which SWITCHBOARD_DB names"),
    ),
    details="The exit code is 1 when something is wrong, not when it could be better.",
    examples=("switchboard doctor", "switchboard doctor --deep", "switchboard doctor --fix"),
)

_PACKAGES = ("msgspec", "uvloop", "jsonschema-rs", "uvicorn", "httpx2")


class DoctorReport(Report, frozen=True, kw_only=True, tag="switchboard.doctor/1"):
    """What was looked at and what was found."""

    versions: dict[str, str]
    # Of the programs that start the configured servers: `node`, `npx`, `uv` and the like.
    runners: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    loop: str
    workspace: str
    home: str
    sandbox: str
    # Whether calls are judged, and who says so; empty where the settings cannot be read.
    guard: str = ""
    servers: int
    left_out: int = 0
    # Those that their user has switched off.
    off: int = 0
    # Where the vault is and what opens it; empty where there is none and nobody asks for one.
    vault: str = ""
    # What holds on this system, and how far.
    promises: tuple[ShownPromise, ...] = msgspec.field(default_factory=shown_promises)
    findings: tuple[Finding, ...]
    started: tuple[StartedServer, ...] = ()
    # Commands that were run, and what one said that failed.
    fixed: tuple[Fixed, ...] = ()

    def exit_code(self) -> int:
        return FAILED if any(each.severity == "error" for each in self.findings) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        names = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        yield f"versions   {names}"
        if self.runners:
            told = ", ".join(f"{name} {number}" for name, number in self.runners.items())
            yield f"runners    {told}"
        yield f"loop       {self.loop}"
        yield f"workspace  {style.paths(self.workspace)}"
        yield f"home       {style.paths(self.home)}"
        yield f"sandbox    {self.sandbox}"
        if self.guard:
            yield f"guard      {self.guard}"
        if self.vault:
            yield f"vault      {style.paths(self.vault)}"
        left_out = f", {self.left_out} left out" if self.left_out else ""
        off = f", {self.off} off" if self.off else ""
        yield f"servers    {self.servers}{left_out}{off}"
        first, *less = promise_lines()
        yield f"promises   {first}"
        for line in less:
            yield f"           {line}"
        for server in self.started:
            after = "" if server.seconds is None else f", after {took(server.seconds)}"
            yield f"started    {server.suite}: {counted(server.tools, 'tool')}{after}"
        # Beside what every configuration has: what is there of each provider.
        for note in self._with("note"):
            yield f"{note.subject:<10} {note.message}"
            if note.hint:
                yield hint(style, note.hint)
        yield from self._wrongs(style)

    def _wrongs(self, style: Style) -> Iterator[str]:
        for finding in self._with("error", "warning"):
            yield ""
            mark = style.red if finding.severity == "error" else style.yellow
            subject = style.paths(finding.subject)
            yield f"{mark(finding.severity + ':')} {subject}: {finding.message}"
            if finding.hint:
                yield hint(style, finding.hint)
        if self.fixed:
            yield ""
        for each in self.fixed:
            yield f"ran `{each.command}`" + (f": {each.reason}" if each.reason else "")
        if not self._with("error", "warning"):
            yield ""
            yield style.green("nothing is wrong")

    def _with(self, *severities: str) -> list[Finding]:
        return [each for each in self.findings if each.severity in severities]


def run(request: CommandRequest) -> Report:
    report = _look(request)
    if not request.arguments.has("fix"):
        return report
    check_consent(request)
    remedies = dict.fromkeys(each.remedy for each in report.findings if each.remedy)
    fixed = tuple(run_remedy(each, request) for each in remedies)
    # What is left is told as it is now.
    return replace(_look(request) if fixed else report, fixed=fixed)


def _look(request: CommandRequest) -> DoctorReport:
    places = find_places(request.environ, request.workspace, [])
    # Where nothing can be kept, what else is wrong follows from that.
    findings = [
        *about_home(places.home),
        *about_privacy(places.workspace, places.user_home),
    ]
    settings: Settings | None = None
    started: tuple[StartedServer, ...] = ()
    vault = ""
    try:
        settings = usable_for(request)
    except ConfigInvalid as error:
        findings += [_finding(each, error.workspace, error.user_home) for each in error.problems]
    if settings is not None:
        broken = (each for file in settings.broken for each in file.problems)
        findings += [
            _finding(each, settings.workspace, settings.user_home)
            for each in (*broken, *settings.warnings)
        ]
        findings += _about_trust(settings)
        findings += _about_folder(settings)
        findings += _about_servers(settings, request.environ)
        findings += about_path(settings, request.environ)
        findings += about_open_secrets(places)
        findings += about_calls(settings)
        findings += _about_rules(settings)
        findings += about_notices(settings, request)
        findings += _about_sandbox(settings)
        if any(each.limits and each.sandbox_profile != "none" for each in settings.servers):
            findings += about_groups(places_from(dict(request.environ)))
        findings += about_port(settings.listener)
        if has_vault(settings):
            # Ciphers take a while to load, and few have a vault.
            from switchboard.cli.verbs.parts.vault.findings import vault_findings  # noqa: PLC0415

            vault, about_vault = vault_findings(settings, request)
            findings += about_vault
        if any(entry.transport != "stdio" for entry in settings.servers):
            # It loads what remote servers need, and few workspaces have one.
            from switchboard.cli.verbs.parts.auth.checks import login_findings  # noqa: PLC0415

            findings += login_findings(settings, request.environ)
        findings += egress_findings(request)
        findings += refused_findings(settings, request.environ)
        findings += unfit_names(request, places, settings)
        for source in configured(settings):
            findings += source.findings(settings, request.environ)
        if request.arguments.has("deep"):
            started = asyncio.run(start_servers(request, settings, findings))
    if request.arguments.has("db"):
        # Few have a team, and the driver of a database takes a while to load.
        from switchboard.daemon.team.check import team_findings  # noqa: PLC0415

        people = settings.people if settings is not None else None
        findings += team_findings(
            request.environ.get(DATABASE, ""),
            request.environ,
            needs_token=people is None or people.shared_token or not people.is_on,
        )
    findings += about_daemons(places_from(dict(request.environ)))
    findings += dead_entries(request, places)
    findings += idle_rules(request, places)
    return DoctorReport(
        versions=_versions(),
        runners=runner_versions(settings.servers, request.environ) if settings else {},
        loop="uvloop" if "uvloop" in _versions() else "asyncio",
        workspace=places.workspace,
        home=places.home,
        sandbox=platform_sandbox().describe(settings.sandbox_fallback if settings else "none"),
        guard=_guard(settings) if settings else "",
        servers=len(settings.servers) + len(settings.untrusted) if settings else 0,
        left_out=sum(not each.is_off for each in settings.omitted) if settings else 0,
        off=sum(each.is_off for each in settings.omitted) if settings else 0,
        vault=vault,
        findings=tuple(findings),
        started=started,
    )


def _finding(problem: Problem, workspace: str, user_home: str) -> Finding:
    where = place(problem, workspace=workspace, user_home=user_home)
    subject = f"{where} {problem.key}" if problem.key else where
    return Finding(
        severity=problem.severity, subject=subject, message=problem.message, hint=problem.hint
    )


def _guard(settings: Settings) -> str:
    origin = settings.guard_from
    place = "by default"
    if origin is not None:
        roots = (settings.workspace, settings.user_home)
        place = f"from {shown_origin(origin.scope, origin.path, origin.line, *roots)}"
    return f"{'on' if settings.is_guarded else 'off'} ({place})"


def _about_trust(settings: Settings) -> Iterator[Finding]:
    for entry in settings.untrusted:
        why = visible(settings.changed.get(entry.name, "")) or "not trusted"
        yield Finding(
            severity="warning",
            subject=entry.name,
            message=f"{why}, so it is not shown; it would run `{visible(target_of(entry))}`",
            hint=f"switchboard trust {shlex.quote(entry.name)}",
        )


def _about_folder(settings: Settings) -> Iterator[Finding]:
    if any(entry.neutral and not entry.fingerprint for entry in settings.servers):
        trusted = settings.folder_trusted
        yield Finding(
            severity="note",
            subject="folder",
            message=(
                "trusted; your own package runners and shells start elsewhere all the same"
                if trusted
                else "not trusted: your own servers start in empty folders, not here"
            ),
            hint='`start_in = "workspace"` in an entry'
            if trusted
            else "switchboard trust --folder",
        )


def _about_servers(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    found = settings.servers or settings.untrusted or settings.omitted or settings.sources
    # What stands in a file that cannot be read is no less configured.
    if not (found or settings.broken):
        yield Finding(
            severity="warning",
            subject=settings.workspace,
            message="no server is configured",
            hint="switchboard add NAME -- COMMAND",
        )
    for entry in settings.servers:
        at = f"mcp_servers.{entry.name}"
        if entry.transport == "stdio" and program_of(entry, environ) is None:
            yield Finding(
                severity="error",
                subject=entry.name,
                message=f"the command `{entry.command}` was not found",
                hint=words_in_command(entry.command)
                or "install it, or see who names it: "
                + shlex.join(("switchboard", "config", "explain", f"{at}.command")),
            )
        for name, reference in texts_with_secrets(entry):
            kind, _, variable = reference.partition(":")
            if kind == "env" and not environ.get(variable):
                yield Finding(
                    severity="error",
                    subject=entry.name,
                    message=f"the secret `{name}` has no value: `{variable}` is not set",
                    hint=f"export {variable}=…",
                )


def _about_rules(settings: Settings) -> Iterator[Finding]:
    for name in settings.approvals.allow:
        rule = rule_by_name(name, settings)
        for wrong in rule.wrongs():
            yield Finding(severity="warning", subject="approvals.allow", message=wrong)
        if rule.covers:
            yield Finding(
                severity="note",
                subject="rule",
                message=f"`{visible(name)}` means tools of {', '.join(map(visible, rule.covers))}",
                hint="switchboard approvals rules --tools",
            )


def has_vault(settings: Settings) -> bool:
    """Whether there is a vault, or a server that wants one."""
    return os.path.lexists(os.path.join(settings.home, "vault")) or any(
        reference.startswith("vault:")
        for entry in settings.servers
        for reference in references_of(entry)
    )


def _about_sandbox(settings: Settings) -> Iterator[Finding]:
    for name, (why, fix) in sandbox_refusals(settings).items():
        yield Finding(severity="error", subject=name, message=f"not shown: {why}", hint=fix)
    sandbox = platform_sandbox()
    weaker = sandbox.weaker("default", settings.sandbox_fallback)
    if weaker and (unusable := sandbox.refusal("default")) is not None:
        yield Finding(
            severity="warning",
            subject="sandbox_fallback",
            message=f"what is confined runs in {weaker}: {unusable.why}",
            hint=unusable.fix,
        )
    for entry in settings.servers:
        if entry.sandbox_profile != "none" and entry.limits:
            (words,) = limits_in_words(entry.limits)
            yield Finding(severity="note", subject="limits", message=f"{entry.name}: {words}")


def _versions() -> dict[str, str]:
    found = {"switchboard": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version_of(name)
        except PackageNotFoundError:
            continue
    return found
