"""The vault that needs no server: one encrypted file in the home of Switchboard."""

import threading
import time
from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Raw

from switchboard.core.faults import Fault
from switchboard.core.stores import VaultEntry
from switchboard.vault.envelope import (
    DataKey,
    KeyNote,
    VaultContent,
    read_content,
    read_entry,
    written_entry,
)
from switchboard.vault.faults import fault_from_lost_key
from switchboard.vault.plain_entry import PlainEntry
from switchboard.vault.references import check_name
from switchboard.vault.usage import UsageNotes
from switchboard.vault.values import check_value
from switchboard.vault.vault_file import Signature, VaultFile


class Keys(Protocol):
    """Where the keys of vaults come from. Its methods may ask a person, and take their time."""

    def find(self, note: KeyNote, /) -> bytes:
        """The key that a vault was closed with. Raises a fault."""
        ...

    def make(self) -> tuple[KeyNote, bytes]:
        """A new key, kept where it will be found again. Raises a fault."""
        ...

    def forget(self, note: KeyNote, kept: KeyNote, /) -> None:
        """Remove a key in whose place another is kept now, if that is ours to do.

        With it those that a change left which was killed: they open copies of the vault.
        """
        ...


class _Opened:
    """A state of the file, with the key that opens it."""

    def __init__(self, signature: Signature | None, content: VaultContent, key: DataKey) -> None:
        self.signature = signature
        self.content = content
        self.key = key


class FileVault:
    """A `VaultStore` in one file. Threads and processes may share it."""

    def __init__(self, folder: str, keys: Keys) -> None:
        self._file = VaultFile(folder)
        self._keys = keys
        self._usage = UsageNotes(folder)
        self._lock = threading.Lock()
        # By the id of the key: to ask a keychain takes long, and may ask a person.
        self._known: dict[str, bytes] = {}
        self._opened: _Opened | None = None

    def get(self, reference: str, /) -> str | None:
        opened = self._current()
        entry = None if opened is None else opened.content.entries.get(reference)
        if opened is None or entry is None:
            return None
        value = opened.key.value(reference, read_entry(entry))
        self._usage.note(reference, opened.content.entries)
        return value

    def put(self, reference: str, value: str, /) -> None:
        check_name(reference)
        check_value(value)
        with self._file.writing():
            opened = self._fresh() or self._founded()
            old = opened.content.entries.get(reference)
            now = time.time()
            entry = opened.key.entry(
                reference,
                value,
                created_at=now if old is None else read_entry(old).created_at,
                changed_at=now,
            )
            self._write(opened, {**opened.content.entries, reference: written_entry(entry)})

    def delete(self, reference: str, /) -> bool:
        # Asked first: where there is nothing, no folder has to be made.
        if self.note is None:
            return False
        with self._file.writing():
            opened = self._fresh()
            if opened is None or reference not in opened.content.entries:
                return False
            rest = {
                name: entry for name, entry in opened.content.entries.items() if name != reference
            }
            self._write(opened, rest)
        self._usage.forget(reference)
        return True

    def entries(self) -> list[VaultEntry]:
        # No key is needed for what is no secret.
        data = self._file.read()
        if data is None:
            return []
        used = self._usage.times()
        return [
            VaultEntry(
                reference=reference,
                created_at=entry.created_at,
                changed_at=entry.changed_at,
                used_at=used.get(reference, 0.0),
            )
            for reference, raw in sorted(read_content(data).entries.items())
            for entry in (read_entry(raw),)
        ]

    def mark(self) -> object:
        try:
            return self._file.signature()
        except Fault:
            # Whoever looks again is told why.
            return None

    def close(self) -> None:
        with self._lock:
            self._opened = None
            self._known.clear()

    def check(self) -> None:
        """Open everything, and keep nothing of it. Raises a fault when something is wrong."""
        opened = self._fresh()
        if opened is not None:
            for reference, entry in opened.content.entries.items():
                opened.key.value(reference, read_entry(entry))

    def contents(self) -> dict[str, PlainEntry]:
        """Every value, which counts as no use of it. Raises a fault when one cannot be opened."""
        opened = self._fresh()
        if opened is None:
            return {}
        return {
            reference: PlainEntry(
                created_at=entry.created_at,
                changed_at=entry.changed_at,
                value=opened.key.value(reference, entry),
            )
            for reference, raw in sorted(opened.content.entries.items())
            for entry in (read_entry(raw),)
        }

    def take_in(self, added: Mapping[str, PlainEntry], dropped: Collection[str] = ()) -> None:
        """Keep values of another vault with their dates, and drop others: all of it or nothing."""
        if not added and not dropped:
            return
        with self._file.writing():
            opened = self._fresh() or self._founded()
            kept = {
                reference: entry
                for reference, entry in opened.content.entries.items()
                if reference not in dropped
            }
            for reference, entry in added.items():
                sealed = opened.key.entry(
                    reference,
                    entry.value,
                    created_at=entry.created_at,
                    changed_at=entry.changed_at,
                )
                kept[reference] = written_entry(sealed)
            self._write(opened, kept)

    def opening_key(self) -> tuple[str, bytes]:
        """The key that opens it, and its id. Raises a fault where none does."""
        opened = self._fresh()
        if opened is None:
            raise fault_from_lost_key("there is none")
        note = opened.content.key
        return note.id, self._key_of(note)

    @property
    def note(self) -> KeyNote | None:
        """Which key opens it; nothing where there is no vault yet. Raises a fault."""
        data = self._file.read()
        return None if data is None else read_content(data).key

    @property
    def path(self) -> str:
        """Where the file lies, or will."""
        return self._file.path

    def rotate_key(self, keys: Keys | None = None) -> bool:
        """Close the vault with a new key, of another source if one is given.

        The values stay as they are encrypted. False where there is no vault yet. Until the file is
        written the old key opens it, from then on the new one; there is no moment without either.
        """
        if self.note is None:
            return False
        with self._file.writing():
            opened = self._fresh()
            if opened is None:
                return False
            old = opened.content.key
            note, key = (keys or self._keys).make()
            data = opened.key.written(
                opened.content.entries,
                generation=opened.content.generation + 1,
                key=note,
                data_key=opened.key.wrapped(note, key),
            )
            self._file.write(data)
            with self._lock:
                self._known = {note.id: key}
                self._opened = None
            if old.id != note.id:
                self._keys.forget(old, note)
        return True

    def rotate_data_key(self) -> bool:
        """Encrypt every value anew. False where there is no vault yet."""
        if self.note is None:
            return False
        with self._file.writing():
            opened = self._fresh()
            if opened is None:
                return False
            anew = DataKey.new()
            entries = {
                reference: written_entry(
                    anew.entry(
                        reference,
                        opened.key.value(reference, entry),
                        created_at=entry.created_at,
                        changed_at=entry.changed_at,
                    )
                )
                for reference, raw in opened.content.entries.items()
                for entry in (read_entry(raw),)
            }
            note = opened.content.key
            data = anew.written(
                entries,
                generation=opened.content.generation + 1,
                key=note,
                data_key=anew.wrapped(note, self._key_of(note)),
            )
            self._file.write(data)
            with self._lock:
                self._opened = None
        return True

    def _current(self) -> _Opened | None:
        """The vault as it is on disk now, read again only if it was written since."""
        opened = self._opened
        signature = self._file.signature()
        if opened is not None and signature is not None and opened.signature == signature:
            return opened
        return self._fresh()

    def _fresh(self) -> _Opened | None:
        # Before the bytes: if they change in between, the next look finds that out.
        signature = self._file.signature()
        data = self._file.read()
        if data is None:
            return None
        content = read_content(data)
        try:
            key = DataKey.opened(content, self._key_of(content.key))
        except Fault:
            # A key that opens nothing is asked for again next time.
            self.close()
            raise
        self._opened = opened = _Opened(signature, content, key)
        return opened

    def _founded(self) -> _Opened:
        """A vault with nothing in it yet, and a new key."""
        note, key = self._keys.make()
        with self._lock:
            self._known[note.id] = key
        data_key = DataKey.new()
        data = data_key.written({}, generation=0, key=note, data_key=data_key.wrapped(note, key))
        return _Opened(None, read_content(data), data_key)

    def _key_of(self, note: KeyNote) -> bytes:
        # One at a time: of many threads that come first, one asks the keychain.
        with self._lock:
            key = self._known.get(note.id)
            if key is None:
                key = self._known[note.id] = self._keys.find(note)
            return key

    def _write(self, opened: _Opened, entries: dict[str, Raw]) -> None:
        data = opened.key.written(
            entries,
            generation=opened.content.generation + 1,
            key=opened.content.key,
            data_key=opened.content.data_key,
        )
        self._file.write(data)
        self._opened = None
