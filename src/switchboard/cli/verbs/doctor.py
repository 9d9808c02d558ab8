"""`switchboard doctor`: everything that is or will be wrong, each with what to type next."""

import asyncio
import os
import platform
import shlex
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

from msgspec import Struct

from switchboard import __version__
from switchboard.children.secrets.texts import references_of, texts_with_secrets
from switchboard.cli.render import hint, shown_origin
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.egress.findings import egress_findings
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.own_board import own_caller
from switchboard.cli.verbs.parts.servers import program_of, target_of
from switchboard.config.locate import find_places
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.control.requests import IntrospectRequest
from switchboard.daemon.board.assemble import sandbox_refusals
from switchboard.providers.source import Finding
from switchboard.providers.table import configured
from switchboard.sandbox.limits import limits_in_words
from switchboard.sandbox.sandbox import platform_sandbox
from switchboard.settings.sections import Settings
from switchkit.cli.columns import counted, visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage

USAGE = Usage(
    verb="doctor",
    summary="Find what is wrong, and say what to type next.",
    options=(Option(name="deep", about="start every server and ask for its tools"),),
    details="The exit code is 1 when something is wrong, not when it could be better.",
)

_PACKAGES = ("msgspec", "uvloop", "jsonschema-rs", "uvicorn", "httpx2")


class Server(Struct, frozen=True, kw_only=True):
    """A server that was started."""

    suite: str
    tools: int


class DoctorReport(Report, frozen=True, kw_only=True, tag="switchboard.doctor/1"):
    """What was looked at and what was found."""

    versions: dict[str, str]
    loop: str
    workspace: str
    home: str
    sandbox: str
    servers: int
    left_out: int = 0
    # Where the vault is and what opens it; empty where there is none and nobody asks for one.
    vault: str = ""
    findings: tuple[Finding, ...]
    started: tuple[Server, ...] = ()

    def exit_code(self) -> int:
        return FAILED if any(each.severity == "error" for each in self.findings) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        names = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        yield f"versions   {names}"
        yield f"loop       {self.loop}"
        yield f"workspace  {self.workspace}"
        yield f"home       {self.home}"
        yield f"sandbox    {self.sandbox}"
        if self.vault:
            yield f"vault      {self.vault}"
        left_out = f", {self.left_out} left out" if self.left_out else ""
        yield f"servers    {self.servers}{left_out}"
        for server in self.started:
            yield f"started    {server.suite}: {counted(server.tools, 'tool')}"
        # Beside what every configuration has: what is there of each provider.
        for note in self._with("note"):
            yield f"{note.subject:<10} {note.message}"
            if note.hint:
                yield hint(style, note.hint)
        for finding in self._with("error", "warning"):
            yield ""
            mark = style.red if finding.severity == "error" else style.yellow
            yield f"{mark(finding.severity + ':')} {finding.subject}: {finding.message}"
            if finding.hint:
                yield hint(style, finding.hint)
        if not self._with("error", "warning"):
            yield ""
            yield style.green("nothing is wrong")

    def _with(self, *severities: str) -> list[Finding]:
        return [each for each in self.findings if each.severity in severities]


def run(request: CommandRequest) -> Report:
    findings: list[Finding] = []
    settings: Settings | None = None
    started: tuple[Server, ...] = ()
    vault = ""
    try:
        settings = settings_for(request)
    except ConfigInvalid as error:
        findings += [_finding(each, error.workspace) for each in error.problems]
    if settings is not None:
        findings += [_finding(each, settings.workspace) for each in settings.warnings]
        findings += _about_trust(settings)
        findings += _about_folder(settings)
        findings += _about_servers(settings, request.environ)
        findings += _about_sandbox(settings)
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
        for source in configured(settings):
            findings += source.findings(settings, request.environ)
        if request.arguments.has("deep"):
            started = asyncio.run(_start(request, settings, findings))
    places = find_places(request.environ, request.workspace, [])
    return DoctorReport(
        versions=_versions(),
        loop="uvloop" if "uvloop" in _versions() else "asyncio",
        workspace=places.workspace,
        home=places.home,
        sandbox=platform_sandbox().describe(),
        servers=len(settings.servers) + len(settings.untrusted) if settings else 0,
        left_out=len(settings.omitted) if settings else 0,
        vault=vault,
        findings=tuple(findings),
        started=started,
    )


def _finding(problem: Problem, workspace: str) -> Finding:
    place = shown_origin("", problem.path, problem.line, workspace)
    subject = f"{place} {problem.key}" if problem.key else place
    return Finding(
        severity=problem.severity, subject=subject, message=problem.message, hint=problem.hint
    )


def _about_trust(settings: Settings) -> Iterator[Finding]:
    for entry in settings.untrusted:
        yield Finding(
            severity="warning",
            subject=entry.name,
            message=f"not trusted, so it is not shown; it would run `{visible(target_of(entry))}`",
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
            hint='`start_in = "workspace"` in an entry' if trusted else "switchboard trust",
        )


def _about_servers(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    if not (settings.servers or settings.untrusted or settings.omitted or settings.sources):
        yield Finding(
            severity="warning",
            subject=settings.workspace,
            message="no server is configured",
            hint="switchboard add NAME -- COMMAND",
        )
    for entry in settings.servers:
        if entry.transport == "stdio" and program_of(entry, environ) is None:
            yield Finding(
                severity="error",
                subject=entry.name,
                message=f"the command `{entry.command}` was not found",
                hint=f"install it, or: switchboard config explain mcp_servers.{entry.name}.command",
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
    for entry in settings.servers:
        if entry.sandbox_profile != "none" and entry.limits:
            (words,) = limits_in_words(entry.limits)
            yield Finding(severity="note", subject="limits", message=f"{entry.name}: {words}")


async def _start(
    request: CommandRequest, settings: Settings, findings: list[Finding]
) -> tuple[Server, ...]:
    request.talk.progress(f"starting {counted(len(settings.servers), 'server')} …")
    async with own_caller(settings, request.environ) as caller:
        suites = (await caller.introspect(IntrospectRequest())).suites
    for suite in suites:
        if suite.failure:
            text = "".join(f"; {key}: {value}" for key, value in suite.failure.details.items())
            findings.append(
                Finding(
                    severity="error",
                    subject=suite.suite,
                    message=suite.failure.message + text,
                    hint=suite.failure.hint,
                )
            )
    return tuple(
        Server(suite=each.suite, tools=len(each.tools)) for each in suites if not each.failure
    )


def _versions() -> dict[str, str]:
    found = {"switchboard": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version_of(name)
        except PackageNotFoundError:
            continue
    return found
