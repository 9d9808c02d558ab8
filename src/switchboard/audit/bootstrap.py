"""The first start of a log: its key, and a head that says that there is nothing yet."""

import fcntl
import os
import secrets

from switchboard.audit.chain import START
from switchboard.audit.head import HeadFile
from switchboard.audit.key import KEY_BYTES, AuditKey, read_key
from switchboard.audit.paths import AuditPaths
from switchboard.audit.private import open_private, private_folder


def ensure_key(paths: AuditPaths) -> AuditKey:
    """The key of a home, made if there is none. Raises as `read_key` does."""
    try:
        return read_key(paths)
    except FileNotFoundError:
        private_folder(paths.state)
    folder = os.open(paths.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Of two who make a key at once, one wins and both read the same.
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not paths.key.exists():
            _make(paths)
            os.fsync(folder)
    finally:
        os.close(folder)
    return read_key(paths)


def _make(paths: AuditPaths) -> None:
    secret = secrets.token_bytes(KEY_BYTES)
    with HeadFile(paths) as head:
        found = head.read()
        # Before the key: where a key is but no head, the head was taken away. A head that tells of
        # records stays as it is, for it shows that there was another key.
        if found is None or found.seq <= 0:
            head.write(START, AuditKey(secret))
            head.sync()
    draft = paths.state / ".audit.key.new"
    draft.unlink(missing_ok=True)
    handle = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(handle, secret)
        os.fsync(handle)
    finally:
        os.close(handle)
    draft.rename(paths.key)
