"""`switchboard add`: put a server into the `mcp.json` of the workspace, or of the home."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from switchboard.cli.render import hint, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import program_of, target_of
from switchboard.cli.verbs.parts.trusting.consent import TrustOffer, is_below_client, write_down
from switchboard.cli.verbs.parts.trusting.trustees import trustees
from switchboard.config.locate import Places
from switchboard.config.problems import ConfigInvalid, shown_path
from switchboard.config.writing import refuse_linked_folders
from switchboard.core.origins import Scope
from switchboard.settings.edit import add_server
from switchboard.settings.freeze import entry_from_fields
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust
from switchboard.settings.validate import shown_name
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

USAGE = Usage(
    verb="add",
    summary="Put an MCP server behind Switchboard.",
    words=(Word(name="NAME", about="the name of the server; its suite is NAME_suite"),),
    rest="COMMAND…",
    options=(
        Option(name="url", value="URL", about="a remote server instead of a command"),
        Option(
            name="transport",
            value="KIND",
            about="how a remote server is reached: http (the default) or sse",
            choices=("stdio", "http", "sse"),
        ),
        Option(name="env", value="K=V", many=True, about="a variable of the server; repeatable"),
        Option(
            name="secret-env",
            value="K=REF",
            many=True,
            about="a variable looked up at the start: K=env:NAME; repeatable",
        ),
        Option(name="description", value="TEXT", about="what the server is for"),
        Option(name="global", about="for every workspace: write to your home"),
        Option(name="replace", about="replace a server of this name"),
    ),
    details="You type the command yourself, so the server is trusted in this workspace.",
    examples=(
        "switchboard add time -- uvx mcp-server-time",
        "switchboard add github --secret-env GITHUB_TOKEN=env:GITHUB_TOKEN -- github-mcp stdio",
        "switchboard add docs --url https://example.com/mcp",
    ),
)


class AddReport(Report, frozen=True, kw_only=True, tag="switchboard.add/1"):
    """The server as it stands in the file."""

    name: str
    suite: str
    path: str
    scope: str
    trusted: bool
    runs: str
    warnings: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"added {style.bold(self.name)} to {self.path}; its suite is {self.suite}"

    def notes(self, style: Style) -> Iterator[str]:
        yield from (warning(style, text) for text in self.warnings)
        if self.trusted:
            yield hint(style, f"switchboard introspect {self.suite}")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    fields = _fields(request)
    places = places_for(request)
    scope = Scope.HOME if request.arguments.has("global") else Scope.WORKSPACE
    folder = places.home if scope is Scope.HOME else os.path.join(places.workspace, ".switchboard")
    path = os.path.join(folder, "mcp.json")
    try:
        if scope is Scope.WORKSPACE:
            refuse_linked_folders(path, places.workspace)
        add_server(path, name, fields, scope=scope, replace=request.arguments.has("replace"))
    except ConfigInvalid as error:
        raise _placed(error, places) from None
    shown = shown_path(path, workspace=places.workspace, user_home=places.user_home)
    return _report(request, name, scope, shown, fields)


def _placed(error: ConfigInvalid, places: Places) -> ConfigInvalid:
    """The same problems, told with paths as short as they can be."""
    return ConfigInvalid(error.problems, workspace=places.workspace, user_home=places.user_home)


def _trusted_or_why_not(
    request: CommandRequest, settings: Settings, name: str, fields: Mapping[str, Any]
) -> str:
    """Trust what was typed, as it was typed. Gives the reason where nobody has agreed to it."""
    entry = next((each for each in settings.untrusted if each.name == name), None)
    if entry is None:
        return ""
    if is_below_client(request):
        return "a client of Switchboard has added it, which cannot trust it"
    typed = entry_from_fields(name, fields, entry.origin, settings.workspace)
    if replace(typed, fingerprint=entry.fingerprint, seal=entry.seal) != entry:
        # Other files of the workspace may say more of a server than its own entry does.
        return "files of this workspace change what it does, so it waits for trust"
    shown = (
        each
        for each in trustees(settings, request.environ)
        if each.fingerprint == entry.fingerprint
    )
    offer = TrustOffer(workspace=settings.workspace, entries=tuple(shown))
    write_down(settings.home, offer, "approved", "add")
    trust(settings, prints={entry.fingerprint}, environ=request.environ)
    return ""


def _report(
    request: CommandRequest, name: str, scope: Scope, path: str, fields: Mapping[str, Any]
) -> AddReport:
    try:
        settings = settings_for(request, trust_workspace="0")
    except ConfigInvalid:
        broken = "other parts of the configuration are wrong, so the server cannot be used yet"
        return AddReport(
            name=name,
            suite=f"{name}_suite",
            path=path,
            scope=scope,
            trusted=False,
            runs="",
            warnings=(f"{broken}: switchboard config check",),
        )
    known = (*settings.untrusted, *settings.servers)
    entry = next((each for each in known if each.name == name), None)
    doubt = _trusted_or_why_not(request, settings, name, fields)
    warnings = [
        f"{problem.message} (`{problem.key}`)"
        for problem in settings.warnings
        if name in problem.key.split(".")
    ]
    if doubt:
        warnings.append(f"{doubt}: switchboard trust {shlex.quote(name)}")
    if entry is None:
        warnings.append(f"`{name}` cannot be used yet: switchboard doctor")
    elif entry.transport == "stdio" and program_of(entry, request.environ) is None:
        warnings.append(f"the command `{entry.command}` was not found")
    return AddReport(
        name=name,
        suite=shown_name(entry, settings.suites) if entry else f"{name}_suite",
        path=path,
        scope=scope,
        trusted=entry is not None and not doubt,
        runs=target_of(entry) if entry else "",
        warnings=tuple(warnings),
    )


def _fields(request: CommandRequest) -> dict[str, Any]:
    arguments = request.arguments
    name, command, url = arguments.word(0), arguments.rest, arguments.one("url")
    if bool(command) == bool(url):
        what = "either a command or `--url`, not both" if url else "a command or `--url`"
        raise UsageError(
            f"`switchboard add` needs {what}", f"switchboard add {name} -- npx -y {name}"
        )
    transport = arguments.one("transport")
    if command and transport not in {None, "stdio"}:
        raise UsageError(f"a command is reached by stdio, not by `{transport}`")
    if url and transport == "stdio":
        raise UsageError("a URL is reached by `http` or `sse`, not by `stdio`")
    fields: dict[str, Any] = {}
    if url:
        fields["transport"] = transport or "http"
        fields["url"] = url
    else:
        fields["command"] = command[0]
        if command[1:]:
            fields["args"] = list(command[1:])
    if env := _pairs("env", arguments.all("env")):
        fields["env"] = env
    if secrets := _pairs("secret-env", arguments.all("secret-env")):
        fields["secret_env"] = secrets
    if description := arguments.one("description"):
        fields["description"] = description
    return fields


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in given:
        key, equals, value = word.partition("=")
        if not equals or not key:
            # The word is not repeated: it may be a secret whose name was forgotten.
            raise UsageError(f"`--{option}` wants `NAME=VALUE`")
        pairs[key] = value
    return pairs
