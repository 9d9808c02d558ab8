"""Whether two calls are the same, sent twice: by the same client, to do the same to the same."""

from msgspec import MsgspecError, Raw
from msgspec.json import decode, encode

from switchboard.approvals.digest import call_digest
from switchboard.core.calls.call import Call
from switchboard.core.catalog.definition import definition_hash, sha256_of
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.principal import this_user
from switchboard.core.text.strict import canonical, read_strictly

# Where a call of a session is looked for: whose it is, the tool as it is now, and the arguments.
Place = tuple[str, ToolSpec, bytes]
# Larger ones count as the same only byte by byte.
_MOST_SORTED = 64 * 1024


def place_of(call: Call) -> Place:
    """What two calls that are the same have in common at least. Every call that writes pays it."""
    session, given = call.session, bytes(call.arguments)
    # Where there is no comma there is one member, which has one order.
    if b"," in given and len(given) <= _MOST_SORTED:
        given = _sorted(given)
    return (session.holder if session.entrance else session.id, call.tool, given)


def _sorted(given: bytes) -> bytes:
    try:
        return encode(decode(given), order="sorted")
    except (MsgspecError, RecursionError):
        # It stands for itself, down to the last byte.
        return given


def is_same(one: Call, other: Call) -> bool:
    """Whether two calls of one place are the same in everything."""
    claim = session_claim(one)
    return bool(claim) and claim == session_claim(other)


def session_claim(call: Call) -> str:
    """What a call has in common with itself, sent again in the same session."""
    return _claim(call, f"session:{call.session.holder}")


def successor_claim(call: Call) -> str:
    """The same, for the client that comes back after its session has ended.

    A name is what anybody says of itself, so it is the same client only where the same process
    started both of its sessions. Over HTTP nobody knows the process: there only the session itself
    is known again.
    """
    session = call.session
    if not session.client or not session.host:
        return ""
    return _claim(call, f"again:{session.workspace}:{session.client}:{session.host}")


def _claim(call: Call, whose: str) -> str:
    """Nothing for a call whose arguments have several readings."""
    given, launch = _given(call), call.launch
    if given is None:
        return ""
    if launch is None:
        session = call.session
        return sha256_of(
            {
                "session_id": whose,
                "principal": str(this_user()),
                "provider": call.tool.provider,
                "tool_def_hash": definition_hash(call.tool),
                "cwd": session.cwd,
                "overrides": (session.overrides.cwd, session.overrides.env),
                "arguments": Raw(given),
            }
        )
    return call_digest(
        launch,
        session=whose,
        principal=str(this_user()),
        cwd=launch.cwd,
        arguments=given,
        links={},
    )


def _given(call: Call) -> bytes | None:
    """The arguments in the one form that all their spellings have."""
    try:
        return canonical(read_strictly(bytes(call.arguments)))
    except Fault:
        return None
