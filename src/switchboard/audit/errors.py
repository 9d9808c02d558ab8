"""Why the log cannot be written, in words for people, and the fault that stops a call."""

import errno
import sqlite3

from switchboard.audit.key import KeyUnusable
from switchboard.core.faults import Fault, FaultCode
from switchkit.files import NotPrivate

_FULL = "the disk is full"
_FORBIDDEN = "its folder cannot be written"
_NOT_OURS = "one of its files is a link, or belongs to somebody else"
_LOCKED = "another process holds it"
_REFUSED = "the disk refuses it"
_NO_KEY = "its key file holds no key"
_AWAY = "its database cannot be used"

_BY_ERRNO = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
}
_BY_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _REFUSED,
    sqlite3.SQLITE_READONLY: _FORBIDDEN,
    sqlite3.SQLITE_CANTOPEN: _FORBIDDEN,
    sqlite3.SQLITE_PERM: _FORBIDDEN,
    sqlite3.SQLITE_BUSY: _LOCKED,
}
_HINTS = {
    _FULL: "free some disk space and call again",
    _FORBIDDEN: "make `audit` and `state` in the home of Switchboard writable for you",
    _NOT_OURS: "look at `audit` and `state` in the home of Switchboard: they must be yours alone",
    _LOCKED: "a stopped process of Switchboard may hold it: `switchboard status`, then call again",
    _REFUSED: "look at the disk: its space, its limits, its health",
    _AWAY: "switchboard doctor --db",
    _NO_KEY: "move `state/audit.key` out of the home of Switchboard; the log will note that",
}


class LogAway(Exception):
    """The database of the log cannot be used now; says why, for the log of the process."""


def explained(error: Exception) -> str:
    """The cause in a few words, without a path."""
    match error:
        case NotPrivate():
            return _NOT_OURS
        case KeyUnusable():
            return _NO_KEY
        case LogAway():
            return _AWAY
        case OSError():
            return _BY_ERRNO.get(error.errno or 0, error.strerror or "it failed")
        case sqlite3.Error():
            # The low byte is the kind; the rest says where.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            return _BY_SQLITE.get(code, str(error))
        case _:
            return "something went wrong inside Switchboard"


def unwritable(cause: str, *, private: str = "") -> Fault:
    """The fault of a call that did not start because nobody could have known of it later."""
    return Fault(
        FaultCode.UNAVAILABLE,
        "audit-unwritable",
        f"the audit log cannot be written ({cause}), so nothing was started",
        hint=_HINTS.get(cause, "switchboard audit verify"),
        private=private,
    )
