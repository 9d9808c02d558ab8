"""Keys in files: one that the user names, or one of ours beside the vault."""

import hashlib
import os
import re
import secrets
from contextlib import suppress

from switchboard.vault.envelope import KEY_BYTES, KeyNote
from switchboard.vault.faults import fault_from_access, fault_from_lost_key, fault_from_wrong_key
from switchkit.files import make_private_folder, open_private, replace_file, sync_folder

_LONGEST = 1024
# As `_id_of` has it: what somebody else calls `key-of-mine` is not ours.
_OWN_NAME = r"key-[0-9a-f]{32}"


class GivenKeyFile:
    """A key in a file that its user made and keeps."""

    def __init__(self, path: str) -> None:
        self._path = path

    def find(self, note: KeyNote) -> bytes:
        if not self._path:
            raise fault_from_lost_key(
                "its key is in a key file, and none is named",
                "set `key_file` in `[vault]` of `config.toml`, or SWITCHBOARD_VAULT_KEY_FILE",
            )
        key = read_key(self._path, "the key file of the vault")
        if _id_of(key) != note.id:
            raise fault_from_wrong_key("the key file holds another key")
        return key

    def make(self) -> tuple[KeyNote, bytes]:
        key = read_key(self._path, "the key file of the vault")
        return KeyNote(kind="key-file", id=_id_of(key)), key

    def forget(self, note: KeyNote) -> None:
        """It is not ours to remove."""


class OwnKeyFile:
    """A key beside the vault. It keeps copies of the vault closed, not the vault itself."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find(self, note: KeyNote) -> bytes:
        return read_key(self._path(note), "the key file beside the vault")

    def make(self) -> tuple[KeyNote, bytes]:
        key = secrets.token_bytes(KEY_BYTES)
        note = KeyNote(kind="own-key-file", id=_id_of(key))
        try:
            make_private_folder(self._folder)
            replace_file(self._path(note), key.hex().encode() + b"\n")
            sync_folder(self._folder)
        except OSError as error:
            raise fault_from_access("the key file beside the vault", error) from error
        return note, key

    def forget(self, note: KeyNote) -> None:
        with suppress(OSError):
            os.unlink(self._path(note))

    def forget_others(self, kept: KeyNote) -> None:
        """Remove every key that was made here, but for this one."""
        with suppress(OSError):
            for name in os.listdir(self._folder):
                path = os.path.join(self._folder, name)
                if re.fullmatch(_OWN_NAME, name) and path != self._path(kept):
                    os.unlink(path)

    def _path(self, note: KeyNote) -> str:
        # The id stands in a file that somebody may have changed.
        name = hashlib.sha256(note.id.encode()).hexdigest()[:16] if "/" in note.id else note.id
        return os.path.join(self._folder, f"key-{name}")


def read_key(path: str, what: str) -> bytes:
    """A key of 32 bytes, raw or as 64 hex digits. Raises a fault."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False), "rb") as file:
            data = file.read(_LONGEST)
    except FileNotFoundError:
        raise fault_from_lost_key(f"{what} is not there", private=path) from None
    except OSError as error:
        raise fault_from_access(what, error) from error
    if len(data) != KEY_BYTES:
        try:
            data = bytes.fromhex(data.decode("ascii"))
        except ValueError:
            data = b""
    if len(data) != KEY_BYTES:
        raise fault_from_lost_key(
            f"{what} holds no key", "a key is 64 hex digits, as of `openssl rand -hex 32`"
        )
    return data


def _id_of(key: bytes) -> str:
    """Tells keys apart, and nothing of a key."""
    return hashlib.sha256(b"switchboard.vault/key-id\0" + key).hexdigest()[:32]
