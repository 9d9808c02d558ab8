"""The board of the workspace that a command is about: the daemon's, or one in this process."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.asking import Terminal, tell_news
from switchboard.control.api import Hear
from switchboard.control.board_client import BoardClient
from switchboard.control.requests import USAGE, BoardRequest, CallRequest
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.faults import Fault
from switchboard.ipc.paths import places_from
from switchboard.shim.main import Stranded, introduce
from switchkit.cli.usage import Option, UsageError

T = TypeVar("T", bound=Struct)

WORKTREE = Option(name="worktree", value="W", about="look at this worktree: branch, name or path")
ACCOUNT = Option(name="account", value="A", about="use this account of the server")
IN_PROCESS = Option(name="in-process", about="do without the daemon, in this process alone")


def ask_board(
    request: CommandRequest,
    wanted: BoardRequest,
    kind: type[T],
    *,
    on_step: Callable[[CallStep], None] = lambda _: None,
) -> T:
    """What the board answers; `on_step` hears what a call does meanwhile, which is said as well.

    Raises `UsageError`, `ConfigInvalid` or a fault.
    """

    def hear(news: ApprovalAsked | CallStep) -> None:
        if isinstance(news, CallStep):
            on_step(news)
        tell_news(request.talk, news)

    request.check_directory()
    try:
        if request.is_in_process:
            return _ask_own(request, wanted, kind, hear)
        try:
            client = attach(request) if request.asked is None else BoardClient(request.asked)
        except Stranded as stranded:
            return _ask_own(request, wanted, kind, hear, str(stranded))
        request.talk.progress(progress_of(wanted))
        terminal = Terminal(request.talk)
        try:
            if request.asked is not None:
                return client.answer(kind, terminal=terminal, hear=hear)
            return client.ask(wanted, kind, terminal=terminal, hear=hear)
        finally:
            # Ctrl-C, too: the daemon then cancels what it does for us.
            client.close()
    except Fault as fault:
        if fault.reason == USAGE:
            raise UsageError(fault.message, fault.hint) from None
        raise


def attach(request: CommandRequest) -> BoardClient:
    """The daemon, ready with our board; it is started if need be.

    Raises `Stranded` when it cannot be had.
    """
    environ = dict(request.environ)
    flags = {"workspace": request.workspace or "", "config": request.config or ""}
    return BoardClient(introduce(places_from(environ), flags, environ))


def progress_of(wanted: BoardRequest) -> str:
    """What is going on meanwhile."""
    if isinstance(wanted, CallRequest):
        return f"calling {' of '.join(filter(None, (wanted.subtool, wanted.name)))} …"
    return "asking the servers …"


def _ask_own(
    request: CommandRequest, wanted: BoardRequest, kind: type[T], hear: Hear, why: str = ""
) -> T:
    # A board is large, and whoever asks the daemon needs none.
    from switchboard.cli.verbs.parts.own_board import ask_own_board  # noqa: PLC0415

    return ask_own_board(request, wanted, kind, hear, why)
