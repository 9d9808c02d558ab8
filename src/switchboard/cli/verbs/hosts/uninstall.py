"""`switchboard uninstall`: take Switchboard out of a host, or off this machine."""

import os
import sys
from collections.abc import Iterable, Iterator

from switchboard.cli.render import hint
from switchboard.cli.report import FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.home_check import check_home
from switchboard.cli.verbs.parts.hosts.carrying_out import OPTIONS
from switchboard.cli.verbs.parts.hosts.leaving import (
    ours_in,
    own_installer,
    own_removal,
    remove,
    stop_daemons,
)
from switchboard.cli.verbs.parts.hosts.naming import all_host_ids, host_ids
from switchboard.cli.verbs.parts.hosts.taking_back import RevertReport, confirm, take_back
from switchboard.cli.verbs.parts.loading import places_for
from switchboard.ipc.paths import places_from
from switchkit.cli.style import Style
from switchkit.cli.usage import Option, Usage, UsageError, Word

USAGE = Usage(
    verb="uninstall",
    summary="Take Switchboard out of a host, or everything of it off this machine.",
    words=(
        Word(
            name="HOST",
            about="the host, such as `codex`",
            optional=True,
            many=True,
            is_name=True,
        ),
    ),
    options=(*OPTIONS, Option(name="all", about="every host, the daemon, its state and caches")),
    details=(
        "For a host it is the same as `switchboard revert`: our entry goes, its servers come "
        "back; an entry that you wrote yourself goes, too. With `--all` the daemon is stopped, "
        "and its state and caches are removed. "
        "What you made stays: settings, servers, skills, secrets, what servers keep for you, and "
        "the log of what was called."
    ),
    examples=("switchboard uninstall codex", "switchboard uninstall --all --dry-run"),
)


class LeaveReport(Report, frozen=True, kw_only=True, tag="switchboard.uninstall/1"):
    """What was taken away, or would be."""

    hosts: RevertReport
    dry_run: bool
    daemons: int = 0
    removed: tuple[str, ...] = ()
    # What is left of the home, which is its user's.
    kept: tuple[str, ...] = ()
    home: str

    def exit_code(self) -> int:
        return self.hosts.exit_code()

    def lines(self, style: Style) -> Iterator[str]:
        yield from self.hosts.lines(style)
        if self.daemons:
            yield "stopped the daemon"
        verb = "would remove" if self.dry_run else "removed"
        yield from (f"{verb} {style.paths(each)}" for each in self.removed)

    def notes(self, style: Style) -> Iterator[str]:
        if self.exit_code() == FAILED:
            # Hosts would start a program that is not there any more.
            yield "the daemon and its files stay until every file of a host is put back"
            return
        if self.kept:
            yield f"yours, and still in {style.paths(self.home)}: {', '.join(self.kept)}"
        if not self.dry_run:
            yield hint(style, style.paths(own_removal(sys.prefix, own_installer())))


def run(request: CommandRequest) -> Report:
    check_home(request)
    if not request.arguments.has("all"):
        if not request.arguments.words:
            raise UsageError(
                "`uninstall` needs a host, or `--all`", "switchboard uninstall --all --dry-run"
            )
        return take_back(request, host_ids(request.arguments.words), is_leaving=True)
    if request.arguments.words:
        raise UsageError("`--all` takes no host")
    home = places_for(request).home
    is_dry = request.arguments.has("dry-run")
    if not is_dry:
        confirm(request, [*ours_in(home)], "Remove these, and put all hosts back?")
    hosts = take_back(request, asks=False, is_leaving=True)
    if is_dry or hosts.exit_code() == FAILED:
        removed = tuple(ours_in(home)) if is_dry else ()
        return LeaveReport(hosts=hosts, dry_run=is_dry, removed=removed, home=home)
    daemons = stop_daemons(places_from(dict(request.environ)))
    removed = tuple(ours_in(home))
    for path in removed:
        remove(path)
    return LeaveReport(
        hosts=hosts,
        dry_run=False,
        daemons=daemons,
        removed=removed,
        kept=tuple(sorted(os.listdir(home))),
        home=home,
    )


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    del request
    return all_host_ids()
