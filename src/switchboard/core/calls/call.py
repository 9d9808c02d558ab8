"""One call on its way through the gates, and what comes back."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Raw, Struct, field

from switchboard.core.calls.borrowed import Borrowed, Quoted
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.calls.clock import Clock
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.channels.channel import Channel
from switchboard.core.questions import Answer, Approval, Asker
from switchboard.core.sessions import Session

EMPTY_OBJECT = Raw(b"{}")


class Call(Struct, frozen=True, kw_only=True, eq=False):
    """A request to run one tool. A gate that changes it passes on a new one."""

    id: str
    session: Session
    tool: ToolSpec
    arguments: Raw = EMPTY_OBJECT
    # What it starts or reaches, once that is known; nothing when it runs no code but ours.
    launch: Launch | None = None
    # The way back to the client, for what happens before the call ends.
    channel: Channel | None = None
    # The suite that a narrowed call came through.
    via: ToolSpec | None = None
    # The tool by which it could write, where it came by one that only reads; empty elsewhere.
    writing_face: str = ""
    # The sentence from which a model chose this call; empty where the client chose it.
    chosen_for: str = ""
    # Whether it is nothing but several calls, each of which takes the road by itself.
    is_bundle: bool = False
    # What of the arguments was taken from earlier results, not written by the client.
    borrowed: tuple[Borrowed, ...] = ()
    # The kept result that it reads again.
    quotes: Quoted | None = None
    # The smaller of this and the tool's own limit applies.
    client_timeout_s: float | None = None
    # How much of it is left. Whatever is told through the channel touches this clock.
    clock: Clock = field(default_factory=Clock)
    # How the person behind this client can be asked, if at all.
    asker: Asker | None = None
    # Entered with the id of the question for as long as a person is asked about this call.
    while_asked: Callable[[str], AbstractContextManager[None]] | None = None
    # Told what was decided, whoever decided it.
    on_decided: Callable[[Answer], None] | None = None
    # Told what goes on meanwhile, where a person watches who has no channel.
    tell: Callable[[CallStep], None] | None = None
    # Set by the approval gate on a call that needed an answer and got it.
    approval: Approval | None = None
    # Whether the client can be told an id in place of the answer, and asks for that later.
    takes_tasks: bool = False
    # When it came, by the monotonic clock: its client has waited since.
    began_at: float = field(default_factory=time.monotonic)


class TextBlock(Struct, frozen=True):
    """Text that Switchboard wrote."""

    text: str


class WireBlock(Struct, frozen=True):
    """A content block of a child (image, audio, resource), carried unopened."""

    raw: Raw


Block = TextBlock | WireBlock


class Figures(Struct, frozen=True, kw_only=True):
    """How the process of a call ended, for the audit log."""

    exit_status: int | None = None
    bytes_stdout: int | None = None
    bytes_stderr: int | None = None
    redactions: int | None = None
    # Protected files that are there since.
    appeared: tuple[str, ...] = ()


class Outcome(Struct, frozen=True, kw_only=True, eq=False):
    """What a tool answered."""

    blocks: tuple[Block, ...] = ()
    structured: Raw | None = None
    is_error: bool = False
    # What programs are told beside it, in `_meta`.
    meta: Mapping[str, Any] = {}
    # A child's whole result, passed on as it is; `is_modern` tells which era it was written for.
    raw: Raw | None = None
    is_modern: bool = False
    # The same where it is not passed on: the first block is the text that was made of it.
    result: Raw | None = None
    # The id of the task that goes on in place of an answer; only if the call takes tasks.
    task_id: str = ""
    # To be told once the client has this answer, however it got there.
    on_delivered: Callable[[], None] | None = None
    # The call whose answer this is, where the same one was sent again.
    repeats: str = ""
    # Known when a process ran for this call alone.
    figures: Figures | None = None

    @property
    def size(self) -> int:
        """How many bytes a tool answered with; text counts by its letters."""
        if self.raw is not None:
            return len(self.raw)
        size = len(self.structured) if self.structured is not None else 0
        for block in self.blocks:
            size += len(block.text) if isinstance(block, TextBlock) else len(block.raw)
        return size


class Interrupted(asyncio.CancelledError):
    """A call was cancelled; this is what can be told of it."""

    def __init__(self, details: Mapping[str, Any]) -> None:
        super().__init__()
        self.details = details
