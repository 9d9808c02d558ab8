"""Hosts that run without their user: they say that they can ask, and then answer by themselves.

| host and mode | answers | measured |
|---|---|---|
| Claude Code, `claude -p` | cancel | 10 to 60 ms |
| Codex, `codex exec` | decline | 5 ms |

Nobody reads as fast as that, and that is how most are known. On a busy machine a program may take
longer: a host of this table, in this mode, is known by its command line as well. Its no is nobody's
then. A yes is not in the table, as none of them gives one: somebody must have said it.
"""

from typing import NamedTuple

from switchboard.core.sessions import Session
from switchkit.platform.system import command_line

# The least time in which a person sees a question and answers it.
READING_S = 0.5
# No program takes longer over a question that it shows to nobody.
_SLOW_S = 5.0


class HeadlessMode(NamedTuple):
    """How a host is started without its user, and what it then says to every question."""

    # How its name begins, in its own words.
    client: str
    words: frozenset[str]
    answers: str


MODES = (
    HeadlessMode("claude-code", frozenset({"-p", "--print"}), "cancel"),
    HeadlessMode("codex", frozenset({"exec", "e"}), "decline"),
)


def is_unattended(session: Session, action: str, seconds: float) -> bool:
    """Whether a host of the table has answered in place of its user."""
    if seconds > _SLOW_S:
        return False
    return any(
        session.client.lower().startswith(mode.client)
        and mode.answers == action
        and any(mode.words & words for words in _command_lines(session))
        for mode in MODES
    )


def _command_lines(session: Session) -> list[set[str]]:
    """The words that the client, and what started us for it, were started with."""
    pids = dict.fromkeys((session.client_pid, *session.on_behalf_of))
    return [set(command_line(pid).split()) for pid in pids if pid > 0]
