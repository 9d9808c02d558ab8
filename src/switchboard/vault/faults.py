"""What keeps a vault from being used, as faults.

None of them names a file: `switchboard vault doctor` does, and the log.
"""

from switchboard.core.faults import Fault, FaultCode
from switchkit.files import NotPrivate

_DOCTOR = "look at it with `switchboard vault doctor`"


def fault_from_access(what: str, error: OSError) -> Fault:
    """A file cannot be opened, or must not be used."""
    if isinstance(error, NotPrivate):
        return Fault(
            FaultCode.FAILED_PRECONDITION,
            "vault-not-private",
            f"{what} is not used: it {error.why}",
            hint=_DOCTOR,
            private=str(error),
        )
    return Fault(
        FaultCode.UNAVAILABLE,
        "vault-unavailable",
        f"{what} cannot be used: {error.strerror or 'the disk failed'}",
        hint=_DOCTOR,
        private=str(error),
    )


def fault_from_damage(how: str) -> Fault:
    """The file is there, and is not what was written."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "vault-damaged",
        f"the vault is damaged: {how}",
        hint="put back a copy of the file, or move it away and enter the secrets again",
    )


def fault_from_wrong_passphrase() -> Fault:
    """The key that was made from a passphrase is not of this vault."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "vault-key-wrong",
        "the passphrase of the vault is wrong",
        hint="try again",
    )


def fault_from_wrong_key(source: str) -> Fault:
    """The key is one, but not of this vault."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "vault-key-wrong",
        f"the key of the vault does not open it: {source}",
        hint=_DOCTOR,
    )


def fault_from_lost_key(why: str, hint: str = _DOCTOR, *, private: str = "") -> Fault:
    """There is a vault, and its key cannot be had."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "vault-locked",
        f"the vault cannot be opened: {why}",
        hint=hint,
        private=private,
    )


def fault_from_busy() -> Fault:
    """Another process has held the vault for too long."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "vault-busy",
        "another process is writing to the vault and does not end",
        hint="try again; `switchboard vault doctor` shows where the vault is",
    )


def fault_from_size(most: int) -> Fault:
    """The vault would become larger than what is read of one."""
    return Fault(
        FaultCode.RESOURCE_EXHAUSTED,
        "vault-full",
        f"the vault is full: it takes {most // 1024 // 1024} MiB, and nothing was changed",
        hint="see what it holds with `switchboard vault list`; remove with"
        " `switchboard vault delete NAME`",
    )


def fault_from_value(why: str, hint: str) -> Fault:
    """A value that cannot be kept."""
    return Fault(
        FaultCode.INVALID_ARGUMENT, "secret-invalid", f"this is no secret: {why}", hint=hint
    )
