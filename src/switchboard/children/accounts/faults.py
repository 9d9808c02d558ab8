"""What goes wrong with accounts, as faults."""

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode


def no_account(entry: ServerEntry, name: str) -> Fault:
    """Somebody named an account that the server does not have."""
    names = ", ".join(each.name for each in entry.accounts)
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "unknown-account",
        f"`{entry.name}` has no account `{name}`",
        hint=f"it has: {names}" if names else "it has no accounts: call it without naming one",
    )
