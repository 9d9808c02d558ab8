"""What a person is told of what waits for them: which tool, whose, where and since when."""

import time
from typing import Any

from msgspec import Struct

from switchboard.approvals.wording.names import named, of_server, placed
from switchboard.core.privacy.cleaning import cleaned_line
from switchboard.core.questions import Question
from switchboard.core.stores import Held

_SCHEMA = "switchboard.notice/1"
_MOST_LETTERS = 300
_COLUMNS = 60
_MINUTE = 60


class QuestionNotice(Struct, frozen=True, kw_only=True):
    """One message. No value of an argument is in it, unless the home wants the detail."""

    # The question, as a person may type it; empty where several wait.
    id: str = ""
    tool: str = ""
    server: str = ""
    workspace: str = ""
    asked_at: float = 0.0
    # Nothing where it waits for as long as it takes.
    expires_at: float = 0.0
    # Not a call: the server has changed the tool, which nobody can call meanwhile.
    is_change: bool = False
    # In one line, only where it is wanted.
    detail: str = ""
    # How many wait, where this one message stands for them.
    count: int = 1
    # Where it is answered, and where it is only refused; empty where nobody listens for that.
    answer_url: str = ""
    deny_url: str = ""
    # The token of a no, for buttons that come back to us.
    no: str = ""

    @property
    def title(self) -> str:
        if self.count > 1:
            return f"Switchboard: {self.count} questions wait for your answer"
        if self.is_change:
            server, tool = named(self.server, _COLUMNS), named(self.tool, _COLUMNS)
            return f"Switchboard: {server} has changed its tool {tool}"
        return f"Switchboard: {of_server(self.server, self.tool, columns=_COLUMNS)} waits for you"

    @property
    def text(self) -> str:
        """The lines below the title."""
        if self.count > 1:
            return "See them all with: switchboard approvals"
        now = time.time()
        age, left = max(0.0, now - self.asked_at), max(0.0, self.expires_at - now)
        if self.is_change:
            return f"noticed {_span(age)} ago, it cannot be called until you agree"
        lines = [
            f"{named(self.server, _COLUMNS)} in {placed(self.workspace, _COLUMNS)}",
            f"asked {_span(age)} ago, no answer in {_span(left)} is a no",
        ]
        return "\n".join((*lines, *filter(None, (self.detail,))))

    def fields(self) -> dict[str, Any]:
        """The same for a program."""
        now = time.time()
        found: dict[str, Any] = {
            "schema": _SCHEMA,
            "title": self.title,
            "text": self.text,
            "count": self.count,
        }
        if self.count == 1:
            found |= {
                "kind": "definition" if self.is_change else "call",
                "id": self.id,
                "tool": self.tool,
                "server": self.server,
                "age_s": round(max(0.0, now - self.asked_at), 1),
            }
            if not self.is_change:
                found |= {
                    "workspace": self.workspace,
                    "expires_in_s": round(max(0.0, self.expires_at - now), 1),
                }
        more = {"detail": self.detail, "answer": self.answer_url, "deny": self.deny_url}
        return found | {name: value for name, value in more.items() if value}


def notice_of(question: Question, *, with_detail: bool) -> QuestionNotice:
    """What is told of a question, without a way to answer it."""
    detail = ""
    if with_detail:
        first = question.brief or question.exactly or question.arguments
        detail = cleaned_line(first, _MOST_LETTERS)
    return QuestionNotice(
        id=question.id,
        tool=question.tool,
        server=question.facts.server or question.suite,
        workspace=question.workspace or question.facts.cwd,
        asked_at=question.asked_at,
        expires_at=question.expires_at,
        detail=detail,
    )


def notice_of_change(held: Held) -> QuestionNotice:
    """What is told of a tool that its server has changed. It is answered where it can be read."""
    return QuestionNotice(
        id=held.id, tool=held.tool, server=held.server, asked_at=held.at, is_change=True
    )


def _span(seconds: float) -> str:
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min"
