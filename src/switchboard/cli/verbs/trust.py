"""`switchboard trust`: servers that a workspace brings along run only after their user agreed."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.cli.render import columns, hint, shown_origin
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import entries, listed_servers, whole_target_of
from switchboard.providers.source import ItemKind
from switchboard.providers.table import TABLE, configured
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import no_server, server_left_out
from switchboard.settings.trust import grant_for, trust, trust_folder, untrust, untrust_folder
from switchkit.cli.columns import counted, visible
from switchkit.cli.style import Style
from switchkit.cli.usage import Arguments, Option, Usage, UsageError, Word

# Files of a workspace that are trusted as a whole.
_FILES = tuple(f"`{row.file}`" for row in TABLE.values() if row.file)

USAGE = Usage(
    verb="trust",
    summary="Let the servers of this workspace run.",
    words=(
        Word(
            name="NAME",
            about=" or ".join(("servers, command tools", *_FILES)),
            optional=True,
            many=True,
            is_name=True,
        ),
    ),
    options=(
        Option(name="all", about="everything of this workspace, and its folder"),
        Option(name="folder", about="the folder as a whole: your own servers may start in it"),
        Option(name="list", about="only show what is trusted and what waits"),
        Option(name="revoke", about="take trust back instead"),
    ),
    details=(
        "A server of a workspace can run any program, so it waits until you have looked at it.\n"
        "Trust holds for exactly what is shown: a change of the command asks again.\n"
        "The folder is trusted apart from it: your own servers do not start in one that is not."
    ),
    examples=("switchboard trust", "switchboard trust notes", "switchboard trust --all"),
)


class Trustee(Struct, frozen=True, kw_only=True):
    """Something of the workspace that runs only when it is trusted."""

    name: str
    kind: ItemKind
    state: Literal["trusted", "waiting"]
    runs: str
    origin: str = ""
    # What its sandbox opens; empty where nothing confines it.
    sandbox: str = ""
    # How a model chooses its calls; empty where none does.
    natural_language: str = ""
    # Why it cannot be used, trusted or not.
    left_out: str = ""
    # The secrets that it asks for, and where they would go.
    secrets: tuple[str, ...] = ()
    secrets_to: str = ""
    # Whether it takes the place of a server of the user's own.
    replaces: bool = False


class TrustReport(Report, frozen=True, kw_only=True, tag="switchboard.trust/1"):
    """What was changed, and how things stand now."""

    workspace: str
    # Whether your own servers may start in the folder, and whether that was changed now.
    folder_trusted: bool = False
    folder_changed: bool = False
    changed: tuple[str, ...]
    revoked: bool
    entries: tuple[Trustee, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if self.entries:
            rows = [(each.name, each.state, each.origin, each.runs) for each in self.entries]
            yield from columns(("NAME", "TRUST", "FROM", "RUNS"), rows, style)

    def notes(self, style: Style) -> Iterator[str]:
        if self.changed:
            done = "no longer trusts" if self.revoked else "now trusts"
            yield f"this workspace {done} {', '.join(f'`{name}`' for name in self.changed)}"
        elif not self.entries:
            yield "this workspace brings nothing along that needs trust"
        yield self._of_the_folder()
        for each in self.entries:
            if each.replaces:
                yield style.yellow(f"`{each.name}` replaces your own `{each.name}` here")
            for secret in each.secrets:
                verb = "asks for" if each.state == "waiting" else "has"
                yield f"`{each.name}` {verb} the secret {secret}, {each.secrets_to}"
            if each.sandbox:
                yield f"sandbox of {each.name}: {each.sandbox}"
            if each.natural_language:
                yield f"natural language of {each.name}: {each.natural_language}"
            if each.left_out:
                yield f"left out: {each.name}: {each.left_out}"
        waiting = [
            each.name for each in self.entries if each.state == "waiting" and not each.left_out
        ]
        if waiting and not self.revoked:
            yield f"{counted(len(waiting), 'entry').replace('entrys', 'entries')} not trusted yet"
            yield hint(style, f"look at what would run, then: switchboard trust {_words(waiting)}")

    def _of_the_folder(self) -> str:
        now = "now " if self.folder_changed else ""
        if self.folder_trusted:
            return f"the folder is {now}trusted: your own servers may start in it"
        return f"the folder is {now}not trusted: your own servers do not start in it"


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    names = arguments.words
    with_folder = _check(arguments)
    # Only the record counts here, not a variable that trusts everything.
    settings = settings_for(request, trust_workspace="0")
    environ = request.environ
    # What was trusted once may be gone from the files, and its trust can still be taken back.
    known = {trustee.name for trustee in _trustees(settings, environ)} | _recorded(settings)
    for name in names:
        if name not in known:
            raise no_server(name, known, "this workspace brings nothing along that needs trust")
    if not arguments.has("revoke"):
        for trustee in _trustees(settings, environ):
            if trustee.name in names and trustee.state == "waiting" and trustee.left_out:
                raise server_left_out(trustee.name, trustee.left_out)
    wanted = names or None
    changed: tuple[str, ...] = ()
    if names or arguments.has("all"):
        done = (
            untrust(settings, wanted)
            if arguments.has("revoke")
            else trust(settings, wanted, environ=request.environ)
        )
        changed = tuple(dict.fromkeys(each.name for each in done))
    folder_changed = False
    if with_folder:
        decide = untrust_folder if arguments.has("revoke") else trust_folder
        folder_changed = decide(settings.home, settings.workspace)
    if changed or folder_changed:
        settings = settings_for(request, trust_workspace="0")
    return TrustReport(
        workspace=settings.workspace,
        folder_trusted=settings.folder_trusted,
        folder_changed=folder_changed,
        changed=changed,
        revoked=arguments.has("revoke"),
        entries=tuple(_trustees(settings, environ)),
    )


def _check(arguments: Arguments) -> bool:
    """Whether the folder is meant, too. Raises `UsageError`."""
    names = arguments.words
    if names and arguments.has("all"):
        raise UsageError("`--all` needs no names", f"switchboard trust {' '.join(names)}")
    with_folder = arguments.has("folder") or arguments.has("all")
    if arguments.has("list") and (names or with_folder or arguments.has("revoke")):
        raise UsageError("`--list` stands alone", "switchboard trust --list")
    if arguments.has("revoke") and not names and not with_folder:
        raise UsageError("`--revoke` needs names, or `--all`", "switchboard trust --revoke --all")
    return with_folder


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    settings = settings_for(request, trust_workspace="0")
    return (each.name for each in _trustees(settings, request.environ))


def _trustees(settings: Settings, environ: Mapping[str, str]) -> Iterator[Trustee]:
    by_name = {entry.name: entry for entry in entries(settings)}
    for server in listed_servers(settings, whole_target_of):
        if server.trust != "own":
            yield Trustee(
                name=server.name,
                kind="server",
                state=server.trust,
                runs=server.target,
                origin=server.origin,
                sandbox=server.sandbox,
                natural_language=server.natural_language,
                left_out=server.left_out,
                secrets=references_of(by_name[server.name]),
                secrets_to=_destination(by_name[server.name], environ),
                replaces=server.name in settings.replaced,
            )
    for source in configured(settings):
        for item in source.trust_items(settings):
            if item.trust != "own":
                place = item.origin
                yield Trustee(
                    name=item.name,
                    kind=item.kind,
                    state=item.trust,
                    runs=item.runs,
                    origin=shown_origin(place.scope, place.path, place.line, settings.workspace),
                    sandbox=visible(item.sandbox),
                    # One without a fingerprint is nothing that could be trusted.
                    left_out="" if item.fingerprint else item.left_out,
                )


def _destination(entry: ServerEntry, environ: Mapping[str, str]) -> str:
    """Where the secrets of a server go, in words."""
    if entry.url:
        return f"to be sent to {visible(grant_for(entry, environ).to)}"
    return f"to be given to {visible(whole_target_of(entry))}"


def _recorded(settings: Settings) -> set[str]:
    return read_trust(settings.home, []).names(settings.workspace)


def _words(names: list[str]) -> str:
    return shlex.join(names) if len(names) == 1 else "--all"
