"""`switchboard add`: put a server into the `mcp.json` of the workspace, or of the home."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.cli.render import hint, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.servers import entries, program_of, target_of
from switchboard.cli.verbs.parts.trusting.consent import (
    TrustOffer,
    check_consent,
    why_no_consent,
    write_down,
)
from switchboard.cli.verbs.parts.trusting.trust_items import trust_items
from switchboard.cli.verbs.servers.typed_server import (
    OPTIONS,
    URL_BEGINNINGS,
    TypedServer,
    typed_server,
)
from switchboard.config.locate import Places
from switchboard.config.problems import ConfigInvalid, Problem, shown_path
from switchboard.config.writing import put_back_on_failure, refuse_linked_folders
from switchboard.core.origins import Scope
from switchboard.settings.freeze import entry_from_fields
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings
from switchboard.settings.trust import trust
from switchboard.settings.validate import shown_name
from switchboard.settings.writing.edit import add_server
from switchboard.settings.writing.first_config import first_home_config, write_config
from switchkit.cli.style import Style, is_terminal
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="add",
    summary="Put an MCP server behind Switchboard.",
    words=(
        Word(name="NAME", about="the name of the server; its suite is NAME_suite"),
        Word(
            name="URL",
            about="a remote server instead of a command, as with `--url`",
            optional=True,
            begins=URL_BEGINNINGS,
        ),
    ),
    rest="COMMAND…",
    options=(
        *OPTIONS,
        Option(name="global", about="for every workspace: write to your home"),
        Option(name="replace", about="replace a server of this name, or hide yours of the home"),
    ),
    details=(
        "What you type at a terminal is trusted in this workspace. Added by a script, or below a\n"
        "client of Switchboard, it waits for `switchboard trust`.\n"
        "If your home has no settings yet, it also writes a config.toml there, with better values\n"
        "than the defaults and the reason for each."
    ),
    examples=(
        "switchboard add time -- uvx mcp-server-time",
        "switchboard add github --secret-env GITHUB_TOKEN=env:GITHUB_TOKEN -- github-mcp stdio",
        "switchboard add docs https://example.com/mcp --header Authorization=env:DOCS_AUTH",
        "switchboard add files --sandbox default --scope user --timeout 5m -- files-mcp",
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
    # The first settings of somebody who had none, if they were written.
    settings: str = ""
    # What is not written down as it was typed.
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        yield f"added {style.bold(self.name)} to {self.path}; its suite is {self.suite}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.settings:
            yield f"wrote {self.settings}: settings for all your workspaces, with the reasons"
        yield from self.remarks
        yield from (warning(style, text) for text in self.warnings)
        if self.trusted:
            yield hint(style, f"switchboard introspect {self.suite}")
        if self.trusted and self.runs.startswith(URL_BEGINNINGS):
            yield hint(style, f"if it wants a login: switchboard login {shlex.quote(self.name)}")


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    typed = typed_server(request.arguments, request.environ)
    check_home(request)
    if request.arguments.has("global"):
        # What is in the home runs without another question.
        check_consent(request)
    places = places_for(request)
    scope = Scope.HOME if request.arguments.has("global") else Scope.WORKSPACE
    folder = places.home if scope is Scope.HOME else os.path.join(places.workspace, ".switchboard")
    path = os.path.join(folder, "mcp.json")
    shown = shown_path(path, workspace=places.workspace, user_home=places.user_home)
    try:
        if scope is Scope.WORKSPACE:
            refuse_linked_folders(path, places.workspace)
        config = _first_settings(request, places, scope)
        # Where it cannot be trusted, as in a home that cannot be written, it is not added either.
        with put_back_on_failure(path), put_back_on_failure(config or path):
            replaces = request.arguments.has("replace")
            add_server(path, name, typed.fields, scope=scope, replace=replaces)
            if config:
                write_config(config, "home")
            report = _report(request, name, scope, shown, typed)
        told = shown_path(config, workspace=places.workspace, user_home=places.user_home)
        return replace(report, settings=told) if config else report
    except ConfigInvalid as error:
        raise _placed(error, places) from None


def _hidden(
    request: CommandRequest, settings: Settings, name: str, scope: Scope
) -> tuple[str, ...]:
    """What is to be said of a server of this name elsewhere: only one of them is seen here.

    A server of the workspace takes the place of the user's own, and not before they say so.
    """
    if scope is Scope.HOME:
        others = (each for each in entries(settings) if each.name == name)
        theirs = (each for each in others if each.origin.scope is Scope.WORKSPACE)
        return tuple(f"in this workspace it is hidden by {_told(one, settings)}" for one in theirs)
    if name not in settings.replaced:
        return ()
    # As it is seen from where no workspace says anything.
    elsewhere = load_settings(
        workspace=settings.home, environ=request.environ, config=request.config, is_home=True
    )
    own = next(each for each in entries(elsewhere) if each.name == name)
    if request.arguments.has("replace"):
        return (f"in this workspace it hides your own {_told(own, settings)}",)
    raise ConfigInvalid(
        [
            Problem(
                path=own.origin.path,
                line=own.origin.line,
                key=f"mcpServers.{name}",
                message=f"in this workspace the new one would hide your own {_told(own, settings)}",
                hint="choose another name, or say `--replace` to use the new one in its place here",
            )
        ]
    )


def _told(entry: ServerEntry, settings: Settings) -> str:
    origin = entry.origin
    where = shown_path(origin.path, workspace=settings.workspace, user_home=settings.user_home)
    return f"`{entry.name}` of {where}:{origin.line}, which runs `{target_of(entry)}`"


def _first_settings(request: CommandRequest, places: Places, scope: Scope) -> str:
    """Where settings are written for whoever has none: by a person alone, as all of the home."""
    is_persons = scope is Scope.HOME or (is_terminal(sys.stdin) and not why_no_consent(request))
    return first_home_config(places) if is_persons else ""


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
    if reason := why_no_consent(request):
        return reason
    if not is_terminal(sys.stdin):
        return "it is not trusted, because nobody is at a terminal to agree to it"
    typed = entry_from_fields(name, fields, entry.origin, settings.workspace)
    if replace(typed, fingerprint=entry.fingerprint, seal=entry.seal) != entry:
        # Other files of the workspace may say more of a server than its own entry does.
        return "files of this workspace change what it does, so it waits for trust"
    shown = (
        each
        for each in trust_items(settings, request.environ)
        if each.fingerprint == entry.fingerprint
    )
    offer = TrustOffer(workspace=settings.workspace, entries=tuple(shown))
    write_down(settings.home, offer, "approved", "add")
    trust(settings, prints={entry.fingerprint}, environ=request.environ)
    return ""


def _report(
    request: CommandRequest, name: str, scope: Scope, path: str, typed: TypedServer
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
            remarks=typed.notes,
            warnings=(*typed.warnings, f"{broken}: switchboard config check"),
        )
    known = (*settings.untrusted, *settings.servers)
    entry = next((each for each in known if each.name == name), None)
    hidden = _hidden(request, settings, name, scope)
    doubt = _trusted_or_why_not(request, settings, name, typed.fields)
    warnings = [
        *hidden,
        *typed.warnings,
        *(
            f"{problem.message} (`{problem.key}`)"
            for problem in settings.warnings
            if name in problem.key.split(".") and problem.key.split(".")[-1] not in typed.keys
        ),
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
        remarks=typed.notes,
        warnings=tuple(warnings),
    )
