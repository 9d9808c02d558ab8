"""What we tell a child that its client can do."""

from collections.abc import Mapping
from typing import Any

from switchboard.children.schema import Sharing
from switchboard.core.sessions import Session

_RELAYED = ("elicitation", "sampling", "roots")
# Nobody knows yet who will use a child that many share; who cannot answer says so when asked.
_SHARED: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}


def relayed(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a client's capabilities that reaches a child."""
    return {name: capabilities[name] for name in _RELAYED if name in capabilities}


def declared(session: Session | None, scope: Sharing, *, is_own: bool) -> dict[str, Any]:
    """The capabilities for a handshake, which holds for as long as the child runs."""
    own = relayed(session.capabilities) if session is not None else {}
    if is_own:
        return own
    # Sessions of one workspace work in the same folders; those of one user do not.
    with_roots = scope != "user" and "roots" in own
    return {**_SHARED, "roots": own["roots"]} if with_roots else dict(_SHARED)
