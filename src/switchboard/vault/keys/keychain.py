"""The key in the keychain of the operating system.

`keyring` takes whatever backend it finds, also one that writes plain text to a file. So it is not
asked to choose: only those named here are used.
"""

import importlib
import secrets
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from switchboard.vault.envelope import KEY_BYTES, KeyNote
from switchboard.vault.faults import fault_from_lost_key, fault_from_wrong_key
from switchboard.vault.keys.bounded import Bounded, TookTooLong

SERVICE = "switchboard vault"
# Each encrypts what it keeps, or has the system do so.
BACKENDS = (
    ("keyring.backends.SecretService", "Keyring"),
    ("keyring.backends.kwallet", "DBusKeyring"),
    ("keyring.backends.macOS", "Keyring"),
)
UNLOCK = "unlock the keychain, or log in to the desktop, and try again"
Answer = TypeVar("Answer")


class KeychainBackend(Protocol):
    """What we want of a keychain."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def system_keychain() -> KeychainBackend | None:
    """The keychain of this system, or nothing where there is none that may be used."""
    for module, name in BACKENDS:
        try:
            kind: Any = getattr(importlib.import_module(module), name)
            if kind.viable:
                return cast("KeychainBackend", kind())
        except Exception:  # noqa: BLE001, S112 - whatever a backend raises, it is not there
            continue
    return None


class Keychain:
    """Keeps keys in a keychain. It may have to ask a person, so it is given only so long."""

    def __init__(
        self,
        patience_s: float,
        find_backend: Callable[[], KeychainBackend | None] = system_keychain,
    ) -> None:
        self._bounded = Bounded(patience_s)
        self._find_backend = find_backend

    def find(self, note: KeyNote) -> bytes:
        text = self._ask(lambda backend: backend.get_password(SERVICE, note.id))
        if text is None:
            raise fault_from_lost_key("its key is not in the keychain any more")
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise fault_from_wrong_key("the keychain holds something else")
        return key

    def make(self) -> tuple[KeyNote, bytes]:
        key = secrets.token_bytes(KEY_BYTES)
        note = KeyNote(kind="keychain", id=secrets.token_hex(16))

        def keep(backend: KeychainBackend) -> str | None:
            backend.set_password(SERVICE, note.id, key.hex())
            # A keychain that forgets would close the vault for ever.
            return backend.get_password(SERVICE, note.id)

        if self._ask(keep) != key.hex():
            raise fault_from_lost_key("the keychain did not keep its key")
        return note, key

    def forget(self, note: KeyNote) -> None:
        self._ask(lambda backend: backend.delete_password(SERVICE, note.id))

    def is_there(self) -> bool:
        """Whether there is a keychain that may be used."""
        try:
            return self._bounded(self._find_backend) is not None
        except TookTooLong:
            return False

    def _ask(self, do: Callable[[KeychainBackend], Answer]) -> Answer:
        def work() -> Answer:
            backend = self._find_backend()
            if backend is None:
                raise fault_from_lost_key("its key is in a keychain, and there is none here")
            try:
                return do(backend)
            except Exception as error:  # noqa: BLE001 - see below
                # Each backend has errors of its own, and some tell of what they were given.
                kind = type(error).__name__
                raise fault_from_lost_key(f"the keychain refused ({kind})", UNLOCK) from None

        try:
            return self._bounded(work)
        except TookTooLong:
            raise fault_from_lost_key(
                "the keychain does not answer; it may be asking for its password", UNLOCK
            ) from None
