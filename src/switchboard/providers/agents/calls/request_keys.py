"""Whose a request is, and how it is known when it is sent again."""

import hashlib

import msgspec
from msgspec.structs import replace

from switchboard.core.calls.call import Call
from switchboard.core.people import key_of
from switchboard.core.sessions import Era, Session
from switchboard.core.text.strict import canonical, read_strictly
from switchboard.runs.run import RunSpec


def asked_by(call: Call, spec: RunSpec) -> RunSpec:
    """A run with what it keeps of the request that started it."""
    session = call.session
    by_name = f"{_whose(session)}{session.workspace}:{session.client}"
    # A name is what anybody says of itself: the same client has the same process above it.
    host = session.host
    # Over HTTP a client of the modern era has no session, and comes back as anybody.
    bound = f"http:{by_name}" if session.via == "http" else session.id
    return replace(
        spec,
        request_key=_key(call, bound),
        repeat_key=_key(call, f"again:{by_name}:{host}") if session.client and host else "",
        owner=owner_of(session),
        called=call.tool.name,
        person=session.person,
    )


def owner_of(session: Session) -> str:
    """The client that a run belongs to. A client without a session has shown the token."""
    if session.via == "http" and session.era is Era.MODERN:
        return f"http:{_whose(session)}{session.workspace}:{session.client}"
    return session.id


def _whose(session: Session) -> str:
    """Whoever names their client as somebody else does is not them."""
    key = key_of(session.person)
    return f"{key}:" if key else ""


def _key(call: Call, bound: str) -> str:
    """The same for a request that is sent again: the same client, tool and arguments."""
    given = canonical(read_strictly(bytes(call.arguments)))
    whole = (bound, call.tool.name, given.decode())
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()
