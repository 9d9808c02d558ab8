"""A child's ends and errors, as faults."""

from switchboard.children.link import Link
from switchboard.children.schema import ServerEntry
from switchboard.children.starting.known_causes import known_cause
from switchboard.children.starting.silent_start import SLOW, trial
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.excerpts import client_excerpt, server_words
from switchboard.core.privacy.secrets import Redact, without_secrets
from switchboard.wire.messages import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from switchboard.wire.pipes import Loss


def fault_from_timeout(name: str, doing: str, limit_s: float, reason: str) -> Fault:
    """It took too long."""
    return Fault(
        FaultCode.DEADLINE_EXCEEDED,
        reason,
        f"`{name}` did not {doing} within {limit_s:g} s",
        hint=SLOW,
    )


def fault_from_rpc(name: str, error: RpcError, hidden: Redact) -> Fault:
    """It answered with an error of the protocol."""
    message = f"`{name}` answered: {server_words(error.message, hidden)}"
    if error.code == INVALID_PARAMS:
        return Fault(FaultCode.INVALID_ARGUMENT, "child-rejected", message)
    if error.code == METHOD_NOT_FOUND:
        return Fault(FaultCode.UNIMPLEMENTED, "child-lacks-tools", message)
    return Fault(FaultCode.INTERNAL, "child-error", message, details={"rpc_code": error.code})


def fault_from_restart(name: str) -> Fault:
    """The process whose tool was judged is not the one that runs."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "server-restarted",
        f"`{name}` was restarted after this call was judged, and may mean something else by it",
        hint="nothing was run; call again",
    )


def fault_from_unreadable(name: str) -> Fault:
    """It answered with bytes that are no message."""
    return Fault(
        FaultCode.INTERNAL,
        "result-malformed",
        f"`{name}` sent an answer that is not valid JSON in UTF-8",
        hint="tell whoever maintains the server; other calls are not affected",
    )


def fault_from_stray(name: str) -> Fault:
    """It answered, but not what it was asked."""
    return Fault(
        FaultCode.INTERNAL,
        "result-malformed",
        f"`{name}` sent an answer with an id that it was not given, while one call waited",
        hint="tell whoever maintains the server: an answer has the id of its request",
    )


def discreet_error(error: RpcError, hidden: Redact) -> RpcError:
    """The same error with nothing in its data that no client may read."""
    return RpcError(error.code, error.message, without_secrets(error.data, hidden))


async def fault_from_loss(entry: ServerEntry, link: Link, loss: Loss) -> Fault:
    """It went away."""
    name = entry.name
    if loss.reason == "too-large":
        return Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "message-too-large",
            f"`{name}` was ended: {loss.message}",
            hint="ask it for less at a time",
        )
    if loss.reason == "not-reading":
        return Fault(
            FaultCode.RESOURCE_EXHAUSTED,
            "child-not-reading",
            f"`{name}` was ended: {loss.message}",
            hint="it is started again on the next call",
        )
    if loss.reason == "stopped":
        return Fault(
            FaultCode.UNAVAILABLE,
            "child-stopped",
            f"`{name}` went away before it answered: {loss.message}",
            hint="call it again, if what it did meanwhile may be done twice",
        )
    ended, private = await link.diagnosis()
    excerpt = client_excerpt(private, link.hidden)
    if (denied := link.denial()) is not None:
        return Fault(
            denied.code,
            denied.reason,
            f"`{name}` went away before it answered: {denied.message}",
            hint=denied.hint,
            details={**denied.details, **({"stderr": excerpt} if excerpt else {})},
            private=private,
            owner=denied.owner,
        )
    cause = known_cause(entry.command, private) if entry.command else None
    by_hand = "" if cause or not entry.command else trial(entry, link)[1]
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-exited",
        f"`{name}` went away before it answered: {ended}" + (f": {cause.what}" if cause else ""),
        hint=cause.fix if cause else "it is started again on the next call",
        details={"stderr": excerpt} if excerpt else None,
        private=private,
        owner_hint=by_hand,
    )


def fault_from_malformed_listing(name: str, error: Exception) -> Fault:
    """It listed its tools in a way that cannot be read."""
    return Fault(
        FaultCode.INTERNAL,
        "listing-malformed",
        f"`{name}` answered `tools/list` with something that is not a list of tools",
        private=str(error),
    )


def fault_from_back_off(name: str, failures: int, wait_s: float, last: Fault | None) -> Fault:
    """It failed too often to be tried again at once."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-backing-off",
        f"`{name}` failed {failures} times in a row" + (f": {last.message}" if last else ""),
        hint=f"it is tried again in {wait_s:.0f} s",
        details=last.details if last else None,
    )


def fault_from_old_protocol(name: str) -> Fault:
    """It does not speak the era that its entry demands."""
    return Fault(
        FaultCode.UNIMPLEMENTED,
        "child-not-modern",
        f"`{name}` does not speak the protocol that `protocol` demands",
        hint="set `protocol` to `auto`",
    )


def fault_from_end(name: str) -> Fault:
    """It has been given up for good, by a reload or at the end."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "child-ended",
        f"`{name}` is not configured any more",
        hint="list the tools again",
    )


def fault_from_exchange(name: str) -> Fault:
    """What it runs was exchanged between the look at it and its first answer."""
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "server-changed",
        f"a file that `{name}` runs was exchanged while it started, so it was ended",
        hint="find out what writes there, look with `switchboard trust`, then call again",
    )


def fault_from_change(name: str) -> Fault:
    """It is not what its owner trusted any more."""
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "server-changed",
        f"what `{name}` runs has changed since it was trusted",
        hint="look at it with `switchboard trust`",
    )
