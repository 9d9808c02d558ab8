"""The secret of this installation: it seals the log, and salts what the log says of arguments."""

import hmac
import os
from functools import lru_cache
from hashlib import sha256

from switchboard.audit.paths import AuditPaths
from switchkit.files import open_private

KEY_BYTES = 32
# Of the last groups: what a writer finds at the end of the log it has mostly signed itself.
_SIGNATURES_REMEMBERED = 8


class KeyUnusable(Exception):
    """The key file holds no key."""


class AuditKey:
    """Seals and fingerprints. It never shows what it is."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        salt = hmac.digest(secret, b"switchboard.audit.arguments/1", "sha256")
        self._salted = sha256(salt)
        self._sign = lru_cache(_SIGNATURES_REMEMBERED)(self._signature)

    def __repr__(self) -> str:
        return "AuditKey(…)"

    def seal(self, seq: int, found: bytes) -> bytes:
        """Says that a group ends here."""
        return self._sign(b"switchboard.audit.seal/1", seq, found)

    def sign_head(self, seq: int, found: bytes) -> bytes:
        """Says that the log ends here.

        Another domain than `seal`: otherwise whoever cuts the log at an old group would find the
        signature of a fitting head in its last record.
        """
        return self._sign(b"switchboard.audit.head/1", seq, found)

    def fingerprint(self, payload: bytes) -> str:
        """A salted hash of a payload."""
        salted = self._salted.copy()
        salted.update(payload)
        return salted.hexdigest()

    def _signature(self, domain: bytes, seq: int, found: bytes) -> bytes:
        return hmac.digest(self._secret, domain + seq.to_bytes(8, "big") + found, "sha256")


def read_key(paths: AuditPaths) -> AuditKey:
    """The key of a home. Raises `KeyUnusable`, `NotPrivate` or `OSError`."""
    handle = open_private(paths.key, os.O_RDONLY)
    try:
        secret = os.read(handle, KEY_BYTES + 1)
    finally:
        os.close(handle)
    if len(secret) != KEY_BYTES:
        raise KeyUnusable("the key file of the audit log holds no key")
    return AuditKey(secret)
