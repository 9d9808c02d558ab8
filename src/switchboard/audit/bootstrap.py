"""The first start of a log: its key, and a head that says that there is nothing yet."""

import secrets

from switchboard.audit.chain import START
from switchboard.audit.head import HeadFile
from switchboard.audit.key import KEY_BYTES, AuditKey, read_key
from switchboard.audit.paths import AuditPaths
from switchkit.files import make_private_folder, replace_file, sync_folder
from switchkit.locks import FolderLock


def ensure_key(paths: AuditPaths) -> AuditKey:
    """The key of a home, made if there is none. Raises as `read_key` does."""
    try:
        return read_key(paths)
    except FileNotFoundError:
        make_private_folder(paths.state)
    # Of two who make a key at once, one wins and both read the same.
    with FolderLock(paths.state):
        if not paths.key.exists():
            _make(paths)
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
    replace_file(paths.key, secret)
    sync_folder(paths.state)
