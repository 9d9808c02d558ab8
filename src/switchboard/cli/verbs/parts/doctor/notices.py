"""What `doctor` finds about the ways in which a person is told of questions."""

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.control.requests import StatusRequest
from switchboard.control.status import DaemonStatus, NoticeStatus
from switchboard.core.faults import Fault
from switchboard.core.text.stamps import stamped
from switchboard.pocket.notices.ways import Way, read_way
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings

_NOTIFY_SEND = "notify-send"
_BUS = "DBUS_SESSION_BUS_ADDRESS"


def about_notices(settings: Settings, request: CommandRequest) -> Iterator[Finding]:
    """What is missing for a way, and what the daemon could not tell in it."""
    ways = [read_way(each, number) for number, each in enumerate(settings.approvals.notify, 1)]
    if not ways:
        return
    kinds = ", ".join(each.kind for each in ways)
    yield Finding(
        severity="note", subject="notify", message=f"you are told of questions by {kinds}"
    )
    for way in ways:
        yield from _missing(way, request.environ)
    for status in _statuses(request):
        if status.is_failing:
            at = stamped(status.last_error_at)
            yield Finding(
                severity="warning",
                subject=f"notify {status.number} ({status.way})",
                message=f"the latest message was lost at {at}: {status.last_error}",
                hint="switchboard events --json | grep NoticeFailed",
            )


def _missing(way: Way, environ: Mapping[str, str]) -> Iterator[Finding]:
    path = environ.get("PATH", os.defpath)
    if way.kind == "desktop":
        if shutil.which(_NOTIFY_SEND, path=path) is None:
            yield Finding(
                severity="warning",
                subject=way.name,
                message=f"there is no `{_NOTIFY_SEND}`, so the desktop shows nothing",
                hint="apt install libnotify-bin, or the same of your system",
            )
        elif not environ.get(_BUS) and not os.path.exists(
            os.path.join(environ.get("XDG_RUNTIME_DIR") or "/nowhere", "bus")
        ):
            yield Finding(
                severity="warning",
                subject=way.name,
                message="there is no session bus here, so no desktop shows anything",
                hint="start the daemon from your desktop: switchboard daemon restart",
            )
    if way.kind == "command":
        try:
            program = shlex.split(way.to)[0]
        except (ValueError, IndexError):
            program = ""
        if not program or shutil.which(program, path=path) is None:
            yield Finding(
                severity="warning",
                subject=way.name,
                message="its program was not found",
                hint="write the whole path of it into `approvals.notify`",
            )


def _statuses(request: CommandRequest) -> tuple[NoticeStatus, ...]:
    try:
        found = daemon_answer(request, StatusRequest(), DaemonStatus)
    except Fault:
        # Told by somebody else.
        return ()
    return found.notices if found is not None else ()
