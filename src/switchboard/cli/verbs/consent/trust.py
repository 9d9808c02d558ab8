"""`switchboard trust`: servers that a workspace brings along run only after their user agreed."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home, told_of_home
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.trusting.consent import TrustOffer, agreed, write_down
from switchboard.cli.verbs.parts.trusting.trust_items import TrustItem, trust_items
from switchboard.providers.table import TABLE
from switchboard.settings.consent.trust_record import folder_now, is_unbound, read_trust
from switchboard.settings.consent.wording import ANY_CHANGE, DEV
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import no_server, server_left_out
from switchboard.settings.trust import (
    trust,
    trust_folder,
    untrust,
    untrust_folder,
    written_prints,
)
from switchkit.cli.columns import counted
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
        Option(
            name="fingerprint",
            value="HEX",
            about="what you were shown, as `--json` tells it; needed without a terminal",
        ),
        Option(
            name="dev",
            about="what you write or work in: a change of files does not ask again",
        ),
        Option(name="revoke", about="take trust back instead"),
    ),
    details=(
        "A server of a workspace can run any program, so it waits until you have looked at it.\n"
        "Trust holds for exactly what is shown: a change of the command asks again.\n"
        "You are shown all of it, and asked; a client of Switchboard cannot answer for you.\n"
        "Where nobody can tell which files a command runs, any change in the folder asks again.\n"
        "With --dev whoever can write here, an agent too, decides what those entries run, with\n"
        "your rights unless they have a sandbox; a change of their entries still asks again.\n"
        "The folder is trusted apart from it: in one that is not, your own servers start in empty\n"
        "folders, not there."
    ),
    examples=(
        "switchboard trust",
        "switchboard trust notes",
        "switchboard trust --all",
        "switchboard trust --dev notes",
    ),
)


class Done(Struct, frozen=True, kw_only=True):
    """What was changed."""

    names: tuple[str, ...] = ()
    folder: bool = False


class TrustReport(Report, frozen=True, kw_only=True, tag="switchboard.trust/1"):
    """What was changed, and how things stand now."""

    is_paged: ClassVar[bool] = True
    workspace: str
    # Of everything that waits, the folder with it: what `--all` agrees to.
    fingerprint: str = ""
    # Whether your own servers may start in the folder, and whether that was changed now.
    folder_trusted: bool = False
    folder_fingerprint: str = ""
    folder_changed: bool = False
    changed: tuple[str, ...]
    revoked: bool
    entries: tuple[TrustItem, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if self.entries:
            rows = [(each.name, each.state, each.origin, each.runs) for each in self.entries]
            yield from columns(("NAME", "TRUST", "FROM", "RUNS"), rows, style, elastic=(2, 3))
        for each in self.entries:
            if each.is_untrusted:
                yield ""
                yield from each.about(style)

    def notes(self, style: Style) -> Iterator[str]:
        if self.changed:
            done = "no longer trusts" if self.revoked else "now trusts"
            yield f"this workspace {done} {', '.join(f'`{name}`' for name in self.changed)}"
        elif not self.entries:
            yield "this workspace brings nothing along that needs trust"
        yield self._of_the_folder()
        if not self.folder_trusted and not self.revoked:
            yield hint(style, "to let them start here: switchboard trust --folder")
        for each in self.entries:
            if each.state == "trusted":
                yield from each.reminders()
            if each.left_out:
                yield f"left out: {each.name}: {each.left_out}"
        waiting = [each.name for each in self.entries if each.waits]
        if waiting and not self.revoked:
            yield f"{counted(len(waiting), 'entry', 'entries')} not trusted yet"
            yield hint(style, f"look at what would run, then: switchboard trust {_words(waiting)}")

    def _of_the_folder(self) -> str:
        now = "now " if self.folder_changed else ""
        if self.folder_trusted:
            return f"the folder is {now}trusted: your own servers may start in it"
        return f"the folder is {now}not trusted: your own servers start in empty folders, not here"


def run(request: CommandRequest) -> Report:
    arguments = request.arguments
    with_folder = _check(arguments)
    is_changing = bool(arguments.words) or with_folder
    if is_changing:
        check_home(request)
    else:
        told_of_home(request)
    # Only the record counts here, not a variable that trusts everything.
    settings = settings_for(request, trust_workspace="0")
    # What was trusted once may be gone from the files, and its trust can still be taken back.
    known = {each.name for each in trust_items(settings, request.environ)} | _recorded(settings)
    for name in arguments.words:
        if name not in known:
            raise no_server(name, known, "this workspace brings nothing along that needs trust")
    done = Done()
    if is_changing:
        decide = _revoke if arguments.has("revoke") else _trust
        done = decide(request, settings, with_folder=with_folder)
        settings = settings_for(request, trust_workspace="0")
    shown = tuple(trust_items(settings, request.environ))
    waiting = [each for each in shown if each.waits]
    return TrustReport(
        workspace=settings.workspace,
        fingerprint=_offer(settings, waiting, with_folder=True).fingerprint,
        folder_trusted=settings.folder_trusted,
        folder_fingerprint=_offer(settings, (), with_folder=True).fingerprint,
        folder_changed=done.folder,
        changed=done.names,
        revoked=arguments.has("revoke"),
        entries=shown,
    )


def _check(arguments: Arguments) -> bool:
    """Whether the folder is meant, too. Raises `UsageError`."""
    names = arguments.words
    if arguments.has("fingerprint") and (arguments.has("list") or arguments.has("revoke")):
        raise UsageError("`--fingerprint` is for what is to be trusted", "leave it out")
    if arguments.has("dev") and (not names or arguments.has("revoke")):
        raise UsageError("`--dev` is for entries by name", "switchboard trust --dev NAME")
    if arguments.has("dev") and arguments.has("fingerprint"):
        raise UsageError("`--dev` is asked about at a terminal", "leave `--fingerprint` out")
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
    return (each.name for each in trust_items(settings, request.environ))


def _trust(request: CommandRequest, settings: Settings, *, with_folder: bool) -> Done:
    """Let a person agree to what waits, and trust exactly what they were shown."""
    names = request.arguments.words
    wanted = [
        each
        for each in trust_items(settings, request.environ)
        if each.is_untrusted and (each.name in names or request.arguments.has("all"))
    ]
    is_dev = request.arguments.has("dev")
    if is_dev:
        wanted = [_as_written(each, settings) for each in wanted]
    for each in wanted:
        if each.left_out and names:
            raise server_left_out(each.name, each.left_out)
    waiting = [each for each in wanted if each.waits]
    offer = _offer(settings, waiting, with_folder=with_folder)
    if not (offer.entries or offer.folder):
        return Done()
    channel = agreed(request, offer)
    write_down(settings.home, offer, "approved", channel)
    prints = {each.fingerprint for each in offer.entries}
    done = trust(settings, prints=prints, environ=request.environ, is_dev=is_dev) if prints else []
    changed = bool(offer.folder) and trust_folder(
        settings.home, settings.workspace, identity=offer.folder
    )
    return Done(names=tuple(dict.fromkeys(each.name for each in done)), folder=changed)


def _as_written(item: TrustItem, settings: Settings) -> TrustItem:
    """The same as something that its user writes, however much its folder holds."""
    print_ = written_prints(settings).get((item.name, item.fingerprint))
    if print_ is None:
        raise UsageError(
            f"`{item.name}` is no server and no command tool, and `--dev` is for those",
            "leave it out",
        )
    return replace(
        item,
        details=(*(each for each in item.details if ANY_CHANGE not in each), DEV),
        files=(),
        fingerprint=print_,
        left_out="" if is_unbound(item.fingerprint) else item.left_out,
    )


def _revoke(request: CommandRequest, settings: Settings, *, with_folder: bool) -> Done:
    names = request.arguments.words
    takes_all = request.arguments.has("all")
    done = untrust(settings, names or None) if names or takes_all else []
    changed = with_folder and untrust_folder(settings.home, settings.workspace)
    taken = [
        TrustItem(name=name, kind="server", state="waiting", runs="", fingerprint=print_)
        for name, print_ in ((each.name, each.fingerprint) for each in done)
    ]
    folder = folder_now(settings.workspace) if changed else ""
    offer = TrustOffer(workspace=settings.workspace, entries=tuple(taken), folder=folder)
    write_down(settings.home, offer, "denied", "cli")
    return Done(names=tuple(dict.fromkeys(each.name for each in done)), folder=changed)


def _offer(settings: Settings, waiting: Sequence[TrustItem], *, with_folder: bool) -> TrustOffer:
    asks_folder = with_folder and not settings.folder_trusted
    folder = folder_now(settings.workspace) if asks_folder else ""
    return TrustOffer(workspace=settings.workspace, entries=tuple(waiting), folder=folder)


def _recorded(settings: Settings) -> set[str]:
    return read_trust(settings.home, []).names(settings.workspace)


def _words(names: list[str]) -> str:
    return shlex.join(names) if len(names) == 1 else "--all"
