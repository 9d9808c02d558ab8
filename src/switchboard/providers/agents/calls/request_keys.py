"""Whose a request is, and how it is known when it is sent again."""

import hashlib

import msgspec

from switchboard.core.calls import Call
from switchboard.core.sessions import Era, Session
from switchboard.core.strict import canonical, read_strictly


def request_key(call: Call) -> str:
    """The same for a request that is sent again: the same session, tool and arguments."""
    session = call.session
    given = canonical(read_strictly(bytes(call.arguments)))
    whole = (_bound(session), call.tool.name, given.decode())
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()


def owner_of(session: Session) -> str:
    """The client that a run belongs to. A client without a session has shown the token."""
    if session.via == "http" and session.era is Era.MODERN:
        return f"http:{session.workspace}:{session.client}"
    return session.id


def _bound(session: Session) -> str:
    # Over HTTP a client of the modern era has no session, and comes back as anybody.
    return session.id if session.via != "http" else f"http:{session.workspace}:{session.client}"
