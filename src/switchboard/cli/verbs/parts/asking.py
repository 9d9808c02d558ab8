"""Whoever types a command at a terminal is asked there; everybody else is told where to answer."""

import asyncio
import sys
import time

from switchboard.cli.request import Request
from switchboard.cli.verbs.parts.questions import question_lines
from switchboard.core.events import ApprovalAsked, Event
from switchboard.core.questions import Answer, Asker, Question
from switchboard.settings.sections import Settings
from switchkit.cli.style import is_terminal


class Asking:
    """How the person behind one command learns of a question."""

    def __init__(self, request: Request, settings: Settings) -> None:
        self._request = request
        asks_here = (
            settings.approval_channel == "any"
            and is_terminal(sys.stdin)
            and is_terminal(sys.stderr)
        )
        self.asker: Asker | None = TerminalAsker(request) if asks_here else None

    def heard(self, event: Event) -> None:
        if isinstance(event, ApprovalAsked) and self.asker is None:
            self._request.talk.say(
                f"`{event.tool}` waits for the approval of a person:"
                f" switchboard approvals approve {event.approval_id}"
            )


class TerminalAsker:
    """Asks at the terminal of the command itself."""

    def __init__(self, request: Request) -> None:
        self._talk = request.talk

    async def ask(self, question: Question, /) -> Answer:
        for line in question_lines(question, self._talk.style):
            self._talk.say(line)
        sys.stderr.write("\nAllow it? [y/N] ")
        sys.stderr.flush()
        agrees = (await _line()).strip().lower() in {"y", "yes"}
        verdict = "approved" if agrees else "denied"
        return Answer(verdict=verdict, by="client", at=time.time())


async def _line() -> str:
    """What is typed next. A thread that reads could not be stopped when time is up."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
