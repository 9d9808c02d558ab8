"""A key that is made from a passphrase each time, and lies nowhere."""

import hashlib
import secrets
from collections.abc import Callable, Mapping

from switchboard.vault.envelope import KEY_BYTES, KeyNote
from switchboard.vault.faults import fault_from_lost_key, fault_from_value

# Asks a person. True when it is a new one, which a person types twice.
AskPassphrase = Callable[[bool], str]

# Of scrypt: 128 MiB of memory and some tenths of a second for each guess.
_COST = 2**17
_BLOCK = 8
_MOST_MEMORY = 2**31 - 1
_SALT_BYTES = 16
_SHORTEST = 8


class Passphrase:
    """Makes keys from what somebody types."""

    def __init__(self, ask: AskPassphrase | None, told: Mapping[str, bytes] | None = None) -> None:
        self._ask = ask
        # Keys that were made elsewhere; nothing where nobody can tell us any.
        self._told = told

    def find(self, note: KeyNote) -> bytes:
        if self._told is not None and (key := self._told.get(note.id)) is not None:
            return key
        return _stretched(self._asked(is_new=False), note.salt, note.cost)

    def make(self) -> tuple[KeyNote, bytes]:
        phrase = self._asked(is_new=True)
        if len(phrase) < _SHORTEST:
            raise fault_from_value(
                f"a passphrase has at least {_SHORTEST} characters", "choose a longer one"
            )
        salt = secrets.token_bytes(_SALT_BYTES)
        note = KeyNote(kind="passphrase", id=secrets.token_hex(16), salt=salt, cost=_COST)
        return note, _stretched(phrase, salt, _COST)

    def forget(self, note: KeyNote) -> None:
        """There is nothing to remove."""

    def _asked(self, *, is_new: bool) -> str:
        if self._ask is None and self._told is not None:
            raise fault_from_lost_key(
                "it is locked, and wants its passphrase", "switchboard vault unlock"
            )
        if self._ask is None:
            raise fault_from_lost_key(
                "it wants a passphrase, and there is nobody to ask",
                "let it have a key of its own: `switchboard vault rotate --key keychain`",
            )
        return self._ask(is_new)


def _stretched(phrase: str, salt: bytes, cost: int) -> bytes:
    # The cost stands in a file that somebody may have changed.
    if not salt or not _COST <= cost <= _COST * 8 or cost & (cost - 1):
        raise fault_from_lost_key("the note of its passphrase is damaged")
    return hashlib.scrypt(
        phrase.encode(), salt=salt, n=cost, r=_BLOCK, p=1, maxmem=_MOST_MEMORY, dklen=KEY_BYTES
    )
