"""Whoever types a command at a terminal is asked there; everybody else is told where to answer."""

import sys
from typing import Literal

from switchboard.approvals.wording.names import named
from switchboard.cli.printer import Talk
from switchboard.cli.verbs.parts.questions import question_lines
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.questions import Question
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes

# What a name that its server chose takes of a line at most.
_NAME = 48


def can_ask() -> bool:
    """Whether a person sits at this command."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def tell_news(talk: Talk, news: ApprovalAsked | CallStep) -> None:
    """Say what goes on, and where to answer what somebody else is asked."""
    if isinstance(news, CallStep):
        talk.step(news.text, is_passing=news.is_passing, ending=news.ending)
        return
    if news.host:
        talk.say(
            f"`{named(news.tool, _NAME)}` wants to reach {news.host}, which is not on its list:"
            f" switchboard approvals approve {news.approval_id}"
        )
        return
    talk.say(
        f"`{named(news.tool, _NAME)}` waits for the approval of a person:"
        f" switchboard approvals approve {news.approval_id}"
    )


class Terminal:
    """The terminal of the command itself."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def show(self, question: Question) -> None:
        for line in question_lines(question, self._talk.style):
            self._talk.say(line)
        ask_at_terminal("\nAllow it? [y/N] ")

    def take(self) -> Literal["approved", "denied"]:
        """The answer, for which something was typed already."""
        return "approved" if says_yes() else "denied"
