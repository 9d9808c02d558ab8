"""The secret of this installation: it seals the log, and salts what the log says of arguments."""

import hmac
import os
from collections.abc import Sequence
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
    """Seals and fingerprints. It never shows what it is.

    What is made is made with `secret`; what one of the `older` ones made counts as well.
    """

    def __init__(self, secret: bytes, older: Sequence[bytes] = ()) -> None:
        self._secret = secret
        self._older = tuple(AuditKey(each) for each in older)
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

    def which_sealed(self, seq: int, found: bytes, seal: bytes) -> int | None:
        """Which of the secrets a seal was made with, 0 for the one in use; nothing for none."""
        for place, each in enumerate((self, *self._older)):
            if hmac.compare_digest(seal, each.seal(seq, found)):
                return place
        return None

    def has_signed_head(self, seq: int, found: bytes, signature: str) -> bool:
        """Whether one of the secrets says that the log ends here."""
        return any(
            hmac.compare_digest(each.sign_head(seq, found).hex(), signature)
            for each in (self, *self._older)
        )

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
