"""Which values a vault keeps, whatever its engine."""

from switchboard.vault.faults import fault_from_value

LONGEST_BYTES = 256 * 1024
_HINT = f"a secret is a text in UTF-8 of 1 to {LONGEST_BYTES} bytes"


def check_value(value: str) -> None:
    """Raises a fault where a value cannot be kept."""
    if not value:
        raise fault_from_value("it is empty", _HINT)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise fault_from_value("it is not text", _HINT) from None
    if size > LONGEST_BYTES:
        raise fault_from_value(f"it is longer than {LONGEST_BYTES} bytes", _HINT)
