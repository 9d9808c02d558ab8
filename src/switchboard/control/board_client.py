"""The board of one workspace in the daemon, as one command uses it.

No event loop: a command that asks once should not wait for one to load.
"""

import contextlib
import select
import sys
from collections.abc import Callable
from typing import Literal, Protocol, TypeVar

from msgspec import Struct

from switchboard.control.client import hear, read_answer, read_aside, say
from switchboard.control.messages import ApprovalReply, line_of
from switchboard.control.requests import ControlRequest, ListenRequest
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Question
from switchboard.ipc.lines import Gone, Line
from switchboard.ipc.protocol import BEAT, END, GREETING_S, LISTENING, SECOND_SILENCE_S, SILENCE_S

T = TypeVar("T", bound=Struct)


class PersonAtTerminal(Protocol):
    """Where the person who makes a call can be asked."""

    def show(self, question: Question) -> None:
        """Put a question."""
        ...

    def take(self) -> Literal["approved", "denied"]:
        """What was typed on standard input, which has something to read."""
        ...


class BoardClient:
    """A connection to the daemon that is attached to a board."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def ask(
        self,
        request: ControlRequest,
        kind: type[T],
        *,
        terminal: PersonAtTerminal | None = None,
        hear: Callable[[ApprovalAsked | CallStep], None] = lambda _: None,
    ) -> T:
        """The answer to one request. Raises a fault."""
        say(self._line, request)
        return self.answer(kind, terminal=terminal, hear=hear)

    def answer(
        self,
        kind: type[T],
        *,
        terminal: PersonAtTerminal | None,
        hear: Callable[[ApprovalAsked | CallStep], None],
    ) -> T:
        """The answer to the request that was made. Raises a fault."""
        question: Question | None = None
        # Not told in the middle of a question: its answer is being typed there.
        steps: list[CallStep] = []
        while True:
            while question is None and steps:
                hear(steps.pop(0))
            if question is not None and terminal is not None and self._was_typed():
                say(self._line, ApprovalReply(id=question.id, verdict=terminal.take()))
                question = None
                continue
            text = self._hear()
            if text == BEAT:
                continue
            aside = read_aside(text, self._line.pid)
            if aside.ask is not None and terminal is not None:
                question = aside.ask
                terminal.show(question)
            elif aside.withdrawn:
                question = None
            elif aside.asked is not None:
                hear(aside.asked)
            elif aside.step is not None:
                steps.append(aside.step)
            elif aside.error:
                raise Fault(FaultCode.INTERNAL, "request-refused", aside.error)
            else:
                return read_answer(text, kind, self._line.pid)

    def listen(self, listening: int, request: ListenRequest) -> None:
        """Hand over the descriptor of a listening socket, for HTTP. Raises a fault."""
        # If it has gone, what it said before tells more.
        with contextlib.suppress(OSError):
            self._line.hand_over(line_of(request), (listening,))
        self._until(LISTENING)

    def until_ended(self) -> None:
        """Wait while the daemon serves the socket. Raises a fault when the daemon goes away."""
        self._until(END)

    def leave(self) -> None:
        """Have the daemon end what it serves for us, and wait for that."""
        try:
            self._line.say(b"leave\n")
            while not self._line.hear(GREETING_S).startswith(END):
                pass
        except (Gone, OSError):
            # It has ended, or takes its time: the end of this connection will tell it.
            return

    def close(self) -> None:
        self._line.close()

    def _hear(self) -> str:
        return hear(self._line, SILENCE_S, SECOND_SILENCE_S)

    def _until(self, word: str) -> None:
        """Wait for a word. Raises a fault, also one that comes instead."""
        while not (text := self._hear()).startswith(word):
            if text != BEAT:
                read_aside(text, self._line.pid)

    def _was_typed(self) -> bool:
        """Whether a line was typed before the daemon said anything more."""
        if self._line.has_line:
            return False
        ready, _, _ = select.select([sys.stdin, self._line], [], [], SILENCE_S)
        return sys.stdin in ready and self._line not in ready
