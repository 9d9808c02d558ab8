"""What a vault file holds: values, each sealed by itself, and one seal over all of them.

Every value is encrypted with the data key of the vault, which is in the file too, encrypted with a
key that is not. A value is bound to its reference and its dates, the whole to the data key: what
was moved, taken out or put back from an older file is found out. Nothing here touches a disk.
"""

import os
from typing import Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Raw, Struct

from switchboard.vault.faults import (
    fault_from_damage,
    fault_from_wrong_key,
    fault_from_wrong_passphrase,
)

SCHEMA = "switchboard.vault/1"
KEY_BYTES = 32
_NONCE_BYTES = 12

KeyKind = Literal["keychain", "key-file", "own-key-file", "passphrase"]


class KeyNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which key opens a vault, and where it is. Not the key."""

    kind: KeyKind
    id: str
    # For a key that is made from a passphrase.
    salt: bytes = b""
    cost: int = 0


class Sealed(Struct, frozen=True):
    """Bytes that only a key makes readable, and that nobody else can change."""

    nonce: bytes
    text: bytes


class SealedEntry(Struct, frozen=True, kw_only=True):
    """A value, and what may be known of it."""

    created_at: float
    changed_at: float
    value: Sealed


class _Body(Struct, frozen=True, kw_only=True):
    # Grows with each write.
    generation: int
    # Each is read when it is wanted: of a thousand, mostly one is.
    entries: dict[str, Raw]


class _File(Struct, frozen=True, kw_only=True):
    schema: str
    key: KeyNote
    data_key: Sealed
    seal: Sealed
    # As it is written: the seal is over these very bytes.
    body: Raw


class VaultContent(Struct, frozen=True, kw_only=True):
    """The content of a vault file, as far as it can be read without a key."""

    key: KeyNote
    data_key: Sealed
    seal: Sealed
    body: bytes
    generation: int
    # Unread: see `read_entry`.
    entries: dict[str, Raw]


class DataKey:
    """What the values of one vault are encrypted with. It never shows what it is."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher = AESGCM(key)

    def __repr__(self) -> str:
        return "DataKey(…)"

    @classmethod
    def new(cls) -> "DataKey":
        return cls(AESGCM.generate_key(KEY_BYTES * 8))

    @classmethod
    def opened(cls, envelope: VaultContent, key: bytes) -> "DataKey":
        """The data key of a vault, by the key that opens it. Raises a fault; so when tampered."""
        try:
            inner = _open(AESGCM(key), envelope.data_key, _bound("data-key", envelope.key.id))
        except InvalidTag:
            if envelope.key.kind == "passphrase":
                raise fault_from_wrong_passphrase() from None
            raise fault_from_wrong_key(_where(envelope.key)) from None
        found = cls(inner)
        try:
            _open(found._cipher, envelope.seal, _bound("body", envelope.body))
        except InvalidTag:
            raise fault_from_damage("something in it was changed from outside") from None
        return found

    def wrapped(self, note: KeyNote, key: bytes) -> Sealed:
        """This key, to be opened by another."""
        return _seal(AESGCM(key), self._key, _bound("data-key", note.id))

    def value(self, reference: str, entry: SealedEntry) -> str:
        """The value of an entry. Raises a fault when it is another's, or was changed."""
        try:
            return _open(self._cipher, entry.value, _about(reference, entry)).decode()
        except (InvalidTag, UnicodeDecodeError):
            raise fault_from_damage("an entry in it was changed from outside") from None

    def entry(
        self, reference: str, value: str, *, created_at: float, changed_at: float
    ) -> SealedEntry:
        """A value, ready to be kept under its reference."""
        plain = SealedEntry(
            created_at=created_at, changed_at=changed_at, value=Sealed(nonce=b"", text=b"")
        )
        sealed = _seal(self._cipher, value.encode(), _about(reference, plain))
        return msgspec.structs.replace(plain, value=sealed)

    def written(
        self,
        entries: dict[str, Raw],
        *,
        generation: int,
        key: KeyNote,
        data_key: Sealed,
    ) -> bytes:
        """The bytes of a vault file."""
        body = msgspec.json.encode(_Body(generation=generation, entries=entries))
        seal = _seal(self._cipher, b"", _bound("body", body))
        file = _File(schema=SCHEMA, key=key, data_key=data_key, seal=seal, body=Raw(body))
        return msgspec.json.encode(file) + b"\n"


def read_content(data: bytes) -> VaultContent:
    """The content of a vault file. Raises a fault when it is none."""
    try:
        file = msgspec.json.decode(data, type=_File)
        body = msgspec.json.decode(file.body, type=_Body)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise fault_from_damage("the file is cut off, or is not a vault") from None
    if file.schema != SCHEMA:
        raise fault_from_damage("another version of Switchboard wrote it")
    return VaultContent(
        key=file.key,
        data_key=file.data_key,
        seal=file.seal,
        body=bytes(file.body),
        generation=body.generation,
        entries=body.entries,
    )


def read_entry(raw: Raw) -> SealedEntry:
    """One entry of a vault file. Raises a fault when it is none."""
    try:
        return msgspec.json.decode(raw, type=SealedEntry)
    except (msgspec.DecodeError, ValueError):
        raise fault_from_damage("an entry in it cannot be read") from None


def written_entry(entry: SealedEntry) -> Raw:
    """The same entry, as it stands in the file."""
    return Raw(msgspec.json.encode(entry))


def _seal(cipher: AESGCM, plain: bytes, about: bytes) -> Sealed:
    nonce = os.urandom(_NONCE_BYTES)
    return Sealed(nonce=nonce, text=cipher.encrypt(nonce, plain, about))


def _open(cipher: AESGCM, sealed: Sealed, about: bytes) -> bytes:
    if len(sealed.nonce) != _NONCE_BYTES:
        raise InvalidTag
    return cipher.decrypt(sealed.nonce, sealed.text, about)


def _about(reference: str, entry: SealedEntry) -> bytes:
    return _bound("entry", f"{reference}\0{entry.created_at!r}\0{entry.changed_at!r}")


def _bound(what: str, to: str | bytes) -> bytes:
    """What a seal is bound to, so that it fits in no other place."""
    return f"{SCHEMA}\0{what}\0".encode() + (to.encode() if isinstance(to, str) else to)


def _where(note: KeyNote) -> str:
    return {
        "keychain": "the one in the keychain",
        "key-file": "the one in the key file",
        "own-key-file": "the one in the key file beside it",
    }[note.kind]
