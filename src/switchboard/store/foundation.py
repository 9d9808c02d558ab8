"""The first steps of a log: its key, and a head that says that there is nothing yet."""

import fcntl
import os
import secrets

from switchboard.store.chain import START
from switchboard.store.head import HeadFile
from switchboard.store.key import KEY_BYTES, AuditKey, read_key
from switchboard.store.places import AuditPlaces
from switchboard.store.private import open_private, private_folder


def founded(places: AuditPlaces) -> AuditKey:
    """The key of a home, made if there is none. Raises as `read_key` does."""
    try:
        return read_key(places)
    except FileNotFoundError:
        private_folder(places.state)
    folder = os.open(places.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Of two who make a key at once, one wins and both read the same.
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not places.key.exists():
            _make(places)
            os.fsync(folder)
    finally:
        os.close(folder)
    return read_key(places)


def _make(places: AuditPlaces) -> None:
    secret = secrets.token_bytes(KEY_BYTES)
    with HeadFile(places) as head:
        found = head.read()
        # Before the key: where a key is but no head, the head was taken away. A head that tells of
        # records stays as it is, for it shows that there was another key.
        if found is None or found.seq <= 0:
            head.write(START, AuditKey(secret))
            head.sync()
    draft = places.state / ".audit.key.new"
    draft.unlink(missing_ok=True)
    handle = open_private(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.write(handle, secret)
        os.fsync(handle)
    finally:
        os.close(handle)
    draft.rename(places.key)
