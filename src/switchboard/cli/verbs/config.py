"""`switchboard config check|show|explain`: what the configuration says, and where it says it."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from switchboard.cli.render import as_json, shown_origin, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.config.problems import Problem, render_problems
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Origin
from switchboard.settings.explain import UnknownKey, explain, show
from switchboard.settings.load import Loading, load
from switchboard.settings.sections import Settings
from switchkit.cli.columns import counted
from switchkit.cli.style import Style
from switchkit.cli.usage import Usage, UsageError, Word

USAGE = Usage(
    verb="config",
    summary="Check, show or explain the configuration.",
    words=(
        Word(
            name="ACTION",
            about="check: every mistake; show: every value; explain: one value and its origin",
            choices=("check", "show", "explain"),
        ),
        Word(name="KEY", about="the value to explain, such as `timeouts.rpcMs`", optional=True),
    ),
    details="Values that look like secrets are never shown.",
    examples=("switchboard config check", "switchboard config explain mcp_servers.time.command"),
)


class LeftOut(Struct, frozen=True, kw_only=True):
    """A server that is declared and cannot be used."""

    name: str
    reason: str


class ConfigCheckReport(Report, frozen=True, kw_only=True, tag="switchboard.config-check/1"):
    """A configuration that can be used."""

    workspace: str
    files: tuple[str, ...]
    servers: int
    waiting: int
    warnings: tuple[Problem, ...]
    left_out: tuple[LeftOut, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        servers = counted(self.servers, "server")
        if self.left_out:
            yield f"the configuration can be used: {servers}, {len(self.left_out)} left out"
        else:
            yield f"the configuration is fine: {servers}"
        yield from (f"  {path}" for path in self.files)
        for each in self.left_out:
            yield warning(style, f"left out: {each.name}: {each.reason}")

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.warnings:
            yield ""
            yield render_problems(self.warnings, workspace=self.workspace).rstrip()


class ShownValue(Struct, frozen=True, kw_only=True):
    """One value and where it was set."""

    key: str
    value: Any
    scope: str
    origin: str


class ConfigShowReport(Report, frozen=True, kw_only=True, tag="switchboard.config-show/1"):
    """Every value that has an effect."""

    workspace: str
    values: tuple[ShownValue, ...]

    def lines(self, style: Style) -> Iterator[str]:
        for each in self.values:
            yield f"{each.key} = {as_json(each.value)}{style.dim(f'  # {each.origin}')}"


class ConfigExplainReport(Report, frozen=True, kw_only=True, tag="switchboard.config-explain/1"):
    """One value, where it came from, and what it replaced, newest first."""

    key: str
    value: Any
    scope: str
    origin: str
    replaced: tuple[ShownValue, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"{style.bold(self.key)} = {as_json(self.value)}"
        yield f"  from {self.origin}"
        for step in self.replaced:
            yield f"  instead of {as_json(step.value)} from {step.origin}"


def run(request: CommandRequest) -> Report:
    action, key = request.arguments.word(0), request.arguments.word(1)
    if action == "explain" and not key:
        raise UsageError("`KEY` is missing", "switchboard config show")
    if action != "explain" and key:
        raise UsageError(f"`config {action}` takes no key", f"switchboard config explain {key}")
    settings, loading = load(
        workspace=request.workspace, environ=request.environ, config=request.config
    )
    if action == "check":
        return _check(settings)
    if action == "show":
        values = tuple(
            _shown(each.key, each.value, each.origin, settings.workspace) for each in show(loading)
        )
        return ConfigShowReport(workspace=settings.workspace, values=values)
    return _explain(loading, key, settings.workspace)


def _check(settings: Settings) -> ConfigCheckReport:
    return ConfigCheckReport(
        workspace=settings.workspace,
        files=tuple(
            shown_origin("", source.path, 0, settings.workspace) for source in settings.files
        ),
        servers=len(settings.servers) + len(settings.untrusted),
        waiting=len(settings.untrusted),
        warnings=settings.warnings,
        left_out=tuple(
            LeftOut(name=each.entry.name, reason=each.reason) for each in settings.omitted
        ),
    )


def _explain(loading: Loading, key: str, workspace: str) -> ConfigExplainReport:
    try:
        found = explain(loading, key)
    except UnknownKey as unknown:
        raise Fault(
            FaultCode.NOT_FOUND,
            "unknown-key",
            str(unknown),
            hint=unknown.hint or "switchboard config show",
        ) from None
    value = _shown(found.key, found.value, found.origin, workspace)
    return ConfigExplainReport(
        key=value.key,
        value=value.value,
        scope=value.scope,
        origin=value.origin,
        replaced=tuple(
            _shown(found.key, step.value, step.origin, workspace) for step in found.replaced
        ),
    )


def _shown(key: str, value: Any, origin: Origin, workspace: str) -> ShownValue:
    scope = str(origin.scope)
    place = shown_origin("", origin.path, origin.line, workspace)
    return ShownValue(
        key=key, value=value, scope=scope, origin=f"{scope}, {place}" if place else scope
    )
