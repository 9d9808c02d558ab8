"""Hosts that run without their user: they say that they can ask, and then answer by themselves.

Nobody reads as fast as they answer, and that is how most are known. On a busy machine a program may
take longer: a host of the table of `headless_modes` is known by its command line as well. Its no is
nobody's then. A yes is not in the table, as none of them gives one: somebody must have said it.
"""

from switchboard.core.sessions import Session
from switchboard.surface.asking.headless_modes import MODES
from switchkit.platform.facts import command_words

# The least time in which a person sees a question and answers it.
READING_S = 0.5
# No program takes longer over a question that it shows to nobody.
_SLOW_S = 5.0


def is_unattended(session: Session, action: str, seconds: float) -> bool:
    """Whether a host of the table has answered in place of its user."""
    if seconds > _SLOW_S:
        return False
    # The client, and what started us for it.
    pids = dict.fromkeys((session.client_pid, *session.on_behalf_of))
    return any(
        session.client.lower().startswith(mode.client)
        and mode.answers == action
        and any(mode.is_of(command_words(pid)) for pid in pids if pid > 0)
        for mode in MODES
    )
