"""`switchboard vault unlock` and `lock`: the daemon is told the key of a vault, or to forget it."""

import base64

from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.starting import ready_daemon
from switchboard.cli.verbs.parts.vault.input import passphrase_from, passphrase_on_stdin
from switchboard.cli.verbs.parts.vault.reports import VaultLockReport, VaultUnlockReport
from switchboard.control.answers import Changed, Nothing
from switchboard.control.client import running_daemon
from switchboard.control.requests import VaultLockRequest, VaultUnlockRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.paths import places_from
from switchboard.settings.sections import Settings
from switchboard.vault.opening import open_file_vault


def unlock(request: CommandRequest, settings: Settings) -> Report:
    """Make the key from the passphrase, see that it fits, and hand it to the daemon."""
    if settings.vault.engine != "file":
        raise _never_locked("it is on a server")
    note = open_file_vault(settings.home, settings.vault).note
    if note is None:
        raise _never_locked("there is none yet")
    if note.kind != "passphrase":
        raise _never_locked("its key is not made from a passphrase")
    ask = passphrase_from(request) or passphrase_on_stdin
    key_id, key = open_file_vault(settings.home, settings.vault, ask=ask).opening_key()
    client = ready_daemon(places_from(dict(request.environ)), request.environ)
    try:
        wanted = VaultUnlockRequest(id=key_id, key=base64.b64encode(key).decode("ascii"))
        if client.answer(wanted, Nothing) is None:
            raise _too_old()
    finally:
        client.close()
    return VaultUnlockReport(pid=client.pid)


def lock(request: CommandRequest) -> Report:
    """Have the daemon forget the key."""
    client = running_daemon(places_from(dict(request.environ)))
    if client is None:
        return VaultLockReport(was_unlocked=False)
    try:
        # One that is too old to know the word has never been told a key.
        forgotten = client.answer(VaultLockRequest(), Changed)
        return VaultLockReport(was_unlocked=forgotten is not None and forgotten.count > 0)
    finally:
        client.close()


def _too_old() -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "daemon-too-old",
        "the daemon that runs is older than this command, and cannot be told a key",
        hint="switchboard daemon restart",
    )


def _never_locked(why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "vault-never-locked",
        f"there is nothing to unlock in this vault: {why}",
        hint="switchboard vault doctor",
    )
